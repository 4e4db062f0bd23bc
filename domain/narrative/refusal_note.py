"""What the narrator is told on the next turn of the changes that were refused."""

import json
from collections.abc import Sequence

from domain.narrative.refusals import Refused
from domain.narrative.vocabulary import LARGEST_NUMBER
from domain.text import without_lone_surrogates

OPENING = "These changes of your last block were refused. Where the story still means them, send them again, mended:"

MOST_NOTED = 6
FIELDS = 8
TEXT_CHARACTERS = 48
LEFT_OUT = "…"
TYPE = "type"


def refusal_note(refused: Sequence[Refused]) -> str:
    """The refused events as they were sent, shortened, each with why; "" when nothing was refused.

    At most MOST_NOTED are listed, and the others counted. Total: any JSON value may have been sent as an event.
    """
    if not refused:
        return ""
    lines = [f"- {_shown(each.event)} {each.detail}" for each in refused[:MOST_NOTED]]
    more = len(refused) - MOST_NOTED
    return "\n".join((OPENING, *lines, *([f"- {LEFT_OUT} and {more} more"] if more > 0 else [])))


def _shown(event: object) -> str:
    """An event as compact JSON, its fields, texts and lists cut short."""
    if not isinstance(event, dict):
        return _json(_short(event))
    # The log keeps no order of fields, so they have one here: the type, then by name.
    names = sorted(event, key=lambda name: (name != TYPE, str(name)))
    return _json({_cut(str(name)): _short(event[name]) for name in names[:FIELDS]})


def _short(value: object) -> object:
    """A value with whatever is long or nested replaced, so that it can be written however deep or large it is."""
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, list):
        return [each if _is_short(each) else LEFT_OUT for each in map(_cut_text, value[:FIELDS])]
    return value if _is_short(value) else LEFT_OUT


def _is_short(value: object) -> bool:
    if isinstance(value, int | float):
        return abs(value) <= LARGEST_NUMBER
    return value is None or isinstance(value, str)


def _cut_text(value: object) -> object:
    return _cut(value) if isinstance(value, str) else value


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_CHARACTERS else f"{text[: TEXT_CHARACTERS - 1]}{LEFT_OUT}"


def _json(value: object) -> str:
    # Escapes keep white space of any kind on the line; everything else stays as it was sent.
    line = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return " ".join(without_lone_surrogates(line)[0].split())
