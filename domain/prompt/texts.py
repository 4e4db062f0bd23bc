"""Everything that Fabula itself says to a narrator: one named constant each, in no genre's words.

What is said here may come back in a reply, so whatever reads replies looks for these constants and for nothing else.
"""

NARRATOR_PROMPT = (
    "You are the narrator of an interactive story. The player decides what their own character does and says; you tell "
    "what happens. Go on from the player's latest words in the second person and the present tense. Show what can be "
    "seen, heard and felt, let other characters act for reasons of their own, and let actions have consequences. Keep "
    "to what is established. Never speak or decide for the player's character, never explain the rules, and end where "
    "the player can act."
)
"""The narrator prompt unless the settings hold another."""

CANON_HEADING = "What is true in this story:"
INSTRUCTIONS_HEADING = "How to tell this story:"
PERSONA_HEADING = "The player's character:"
PLOT_HEADING = "What matters in this story:"
AUTHORS_NOTE_HEADING = "Author's note:"
FRONT_MEMORY_HEADING = "Keep in mind now:"

STORY_BEGINS = "[The story so far.]"
"""Stands as the first user message where the history begins with a narration: many templates want a user first."""

CONTINUE_HINT = "[Continue the story from where it stands. The player's character waits and watches for now.]"
"""Stands in the place of an action when the player has asked the narrator to go on."""

SCENE_LABEL = "Scene:"
"""Opens the rendered scene line: `Scene: <summary> (at <location name>)`."""

HEADING_ENTITIES = "Who and what exists:"
HEADING_HELD = "Who holds what:"
HEADING_FACTS = "Established:"
HEADING_WITHDRAWN = "No longer true:"
HEADING_RELATIONSHIPS = "Between them:"
HEADING_THREADS = "Still open:"

STATE_HEADINGS = (
    HEADING_ENTITIES,
    HEADING_HELD,
    HEADING_FACTS,
    HEADING_WITHDRAWN,
    HEADING_RELATIONSHIPS,
    HEADING_THREADS,
)
"""The headings of a rendered state, in their order. Each stands on a line of its own, its entries indented below."""

FENCE_LABEL = "state"
"""The label of the fence that a narrator ends a reply with."""
