"""The program's own texts as test cases name them: inputs for extractors are written with placeholders for these."""

from domain.narrative.document import Document, Entity, Fact, Relationship, Scene, Thread
from domain.narrative.rendering import render
from domain.prompt import texts
from domain.prompt.length import length_hint

CASE_OUTPUT_TOKENS = 500

_STATE = Document(
    entities={
        "person-1": Entity("character", "Oren", location="place-1"),
        "person-2": Entity("character", "Vesna", status="tired"),
        "place-1": Entity("location", "The lower deck"),
        "thing-1": Entity("item", "The lamp"),
    },
    possessions={"thing-1": "person-1"},
    facts={
        "f1": Fact("is the only light aboard", subject="thing-1"),
        "f2": Fact("is sealed", subject="place-1", status="withdrawn", reason="Vesna opened it."),
    },
    relationships={"r1": Relationship("person-1", "trusts", "person-2")},
    threads={"log": Thread("Who erased the log")},
    scene=Scene("Oren and Vesna wait.", location="place-1", present=("person-1", "person-2")),
)
"""A state of which every section has something to say."""


def case_texts() -> dict[str, str]:
    """The text of each placeholder, by its name without the braces."""
    return {
        "REMINDER": texts.STATE_REMINDER,
        "REMINDER_CUT": texts.STATE_REMINDER[: len(texts.STATE_REMINDER) * 2 // 3],
        "CONTINUE_HINT": texts.CONTINUE_HINT,
        "CONTINUE_SENTENCE": texts.CONTINUE_SENTENCE,
        "LENGTH_HINT": length_hint(CASE_OUTPUT_TOKENS),
        "LENGTH_HINT_OPENING": texts.LENGTH_OPENING,
        "LENGTH_HINT_TAIL": texts.LENGTH_CLOSING,
        "PASTED_STATE": render(_STATE),
        "HEADING_ENTITIES": texts.HEADING_ENTITIES,
        "HEADING_HELD": texts.HEADING_HELD,
        "HEADING_FACTS": texts.HEADING_FACTS,
        "HEADING_WITHDRAWN": texts.HEADING_WITHDRAWN,
        "HEADING_RELATIONSHIPS": texts.HEADING_RELATIONSHIPS,
        "HEADING_THREADS": texts.HEADING_THREADS,
    }
