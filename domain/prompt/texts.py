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

CONTINUE_OPENING = "Continue the story from where it stands."
CONTINUE_SENTENCE = "The player's character waits and watches for now."
"""The most distinctive sentence of the continue hint: no story says it."""

CONTINUE_HINT = f"[{CONTINUE_OPENING} {CONTINUE_SENTENCE}]"
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

FENCE_TOKEN = f"```{FENCE_LABEL}"
"""How that fence opens."""

REMINDER_OPENING = "Reminder:"
REMINDER_CHANGES = "names only what changed in this turn"
REMINDER_EMPTY = "its list of events is empty"
STATE_REMINDER = (
    f"[{REMINDER_OPENING} end this reply with one {FENCE_TOKEN} block, in the form that was shown. The block "
    f"{REMINDER_CHANGES}; when nothing did, {REMINDER_EMPTY}.]"
)
"""Stands last, so that the narrator does not forget the block."""

LENGTH_OPENING = "Hard limit:"
LENGTH_CEILING = "turn must not exceed {ceiling} words"
LENGTH_FLOOR = "Aim for at least {floor} words."
LENGTH_CLOSING = "Then end with the state block, which does not count towards the limit."
"""The last sentence of every length hint. It names the block, which a narrator in haste leaves out."""

LENGTH_HINT = f"[{LENGTH_OPENING} this {LENGTH_CEILING}. {LENGTH_FLOOR} {LENGTH_CLOSING}]"
LENGTH_HINT_WITHOUT_FLOOR = f"[{LENGTH_OPENING} this {LENGTH_CEILING}. {LENGTH_CLOSING}]"
"""The length hints, to be filled in with numbers of words."""

BLOCK_ALONE_PROMPT = (
    "You keep the record of what is established in an interactive story. You are given what is established, and the "
    "newest part of the story. You answer with state events for what that part has changed, and with nothing else."
)
"""Opens the second request, which asks for the block alone."""

BLOCK_ALONE_RULE = (
    "Answer with one JSON object that holds a list of events, an empty one if nothing changed. What is established "
    "exists already and is not created again: use its ids. Only what this part of the story names for the first time is "
    "created, under a short slug of its name. These are the events:"
)
"""Says in the second request what to answer; names no id, since a narrator copies what it sees."""

BLOCK_ALONE_HEADING = "The newest part of the story:"
BLOCK_ALONE_QUESTION = "Which state events does this part of the story make true? Answer with the JSON object alone."
"""Ends the second request."""
