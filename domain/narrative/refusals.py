"""Why a state event is refused: a closed list of codes, each with a sentence."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict

from domain.text import without_lone_surrogates

RefusalCode = Literal[
    "unknown_type",
    "unknown_field",
    "missing_field",
    "bad_value",
    "too_large",
    "unknown_reference",
    "wrong_entity_type",
    "duplicate_entity",
    "already_resolved",
    "locked",
]

CODES: tuple[RefusalCode, ...] = get_args(RefusalCode)

SENTENCES: Mapping[RefusalCode, str] = {
    "unknown_type": "It is no object whose type is one of the vocabulary.",
    "unknown_field": "It has a field that its type does not have.",
    "missing_field": "It lacks a field that its type needs.",
    "bad_value": "A field holds what it cannot hold.",
    "too_large": "A field, the block or the document would become larger than it may be.",
    "unknown_reference": "It refers to what does not exist, neither in the state nor by an earlier event of the block.",
    "wrong_entity_type": "It refers to something that cannot stand in that place.",
    "duplicate_entity": "What it would create exists already.",
    "already_resolved": "What it would end has ended already.",
    "locked": "It goes against what the player has established; only the player may change that.",
}


class Refusal(NamedTuple):
    """Why an event is refused: the code, and a sentence that says what to do instead."""

    code: RefusalCode
    detail: str


class Refused(BaseModel):
    """A refused event as it was given, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    event: Any
    code: RefusalCode
    detail: str


QUOTED_CHARACTERS = 64
"""The most characters of somebody else's text that a refusal repeats."""


def quoted(text: str) -> str:
    """Text of others as a refusal names it: on one line, at most so long, and such as can be stored."""
    line = " ".join(without_lone_surrogates(text)[0].split())
    return f"“{line if len(line) <= QUOTED_CHARACTERS else line[: QUOTED_CHARACTERS - 1] + '…'}”"
