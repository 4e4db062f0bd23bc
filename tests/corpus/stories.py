"""The stories that are played: what each begins with, and what its player does."""

from dataclasses import dataclass, field
from typing import Any, Literal

Deed = tuple[Literal["do", "say", "story", "continue"], str]
"""A turn's kind, and the player's words."""


@dataclass(frozen=True)
class Script:
    """A story to be played: its settings, and deeds that are gone through again and again."""

    name: str
    settings: dict[str, Any] = field(hash=False)
    deeds: tuple[Deed, ...]

    def deed(self, number: int) -> Deed:
        """What the player does in a turn, counted from 0."""
        return self.deeds[number % len(self.deeds)]


STAGE = Script(
    "stage",
    {
        "title": "The understudy",
        "opening": "An hour before the curtain the leading actor has still not come. The director looks at you, and "
        "then at the costume on its hanger.",
        "canon": [
            "The company has one night left to pay the rent of the theatre.",
            "The prompter has never been wrong.",
        ],
        "persona": {"name": "Noor", "pronouns": "she/her", "description": "The understudy, who knows every part."},
    },
    (
        ("do", "I take the costume from its hanger and hold it up against me"),
        ("say", "Where was he last seen?"),
        ("do", "I look through the dressing table for a note"),
        ("continue", ""),
        ("say", "Give me the prompt book. I will do it without a rehearsal."),
        ("do", "I hand the prompt book to the prompter and step behind the curtain"),
        ("story", "Somewhere above the stage a rope begins to creak."),
        ("do", "I climb the ladder to the gallery with the lamp in my hand"),
        ("say", "You were here all the time."),
        ("do", "I give the key of the stage door to the director"),
        ("continue", ""),
        ("do", "I walk out into the light and wait for the first line"),
    ),
)

DESERT = Script(
    "desert",
    {
        "title": "Salt and water",
        "opening": "The well that the map promises is dry. Forty animals kneel down in the sand, and the caravan's "
        "master unrolls the map once more.",
        "canon": ["Water is counted in skins: eleven are left.", "Nobody travels the salt flats by day."],
        "persona": {"name": "Idir", "pronouns": "he/him", "description": "A guide who reads the stars."},
    },
    (
        ("do", "I climb down into the well and feel the stones"),
        ("say", "How many skins of water are left?"),
        ("do", "I take the map from the master and turn it over"),
        ("do", "I give one skin of water to the boy with the goats"),
        ("continue", ""),
        ("say", "We go by night, along the flats, and we leave the salt here."),
        ("do", "I draw the way in the sand with a stick"),
        ("story", "Towards morning a second caravan's fires show in the north."),
        ("do", "I ride ahead to meet their guide"),
        ("say", "Trade me the compass for a sack of salt."),
        ("do", "I hang the compass around my neck and ride back"),
        ("continue", ""),
    ),
)

ARCHIVE = Script(
    "archive",
    {
        "title": "Folio nine",
        "opening": "A folio is missing from the town archive, and the register says that you were the last to sign for "
        "it. The archivist locks the door behind you, politely.",
        "canon": ["The register is written in ink and never corrected.", "The cellar floods every spring."],
        "persona": {"name": "Petra", "pronouns": "she/her", "description": "A clerk with a good memory for hands."},
    },
    (
        ("do", "I lay the register under the lamp and compare the signatures"),
        ("say", "This is not my hand. Who else has a key?"),
        ("do", "I take the second key from the drawer"),
        ("do", "I go down into the cellar with the lamp"),
        ("continue", ""),
        ("say", "The ninth shelf was moved. Help me with it."),
        ("do", "I put the folio on the table and open it at the last page"),
        ("story", "Someone upstairs tries the door twice, and then goes away."),
        ("do", "I give the folio to the archivist"),
        ("say", "Promise me that the register will be left as it is."),
        ("continue", ""),
        ("do", "I write down what I saw, and sign it"),
    ),
)

SCRIPTS = (STAGE, DESERT, ARCHIVE)
