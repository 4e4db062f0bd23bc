"""Fences: where one opens, with which label, and where it closes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from domain.prompt import texts

STATE = texts.FENCE_LABEL
JSON = "json"
BARE = ""
OWN = (JSON, BARE)
"""The labels under which a narrator sends a block as well as code of the story."""

_TICKS = re.compile(r"`{3,}+")
_INFO = re.compile(r"[ \t]*+(?P<label>[^\s`{\[\"“]*+)(?P<rest>[^`\n]*+)")
_PAYLOAD = re.compile(r"[ \t]*+(?:\{|\[[\s>]*+(?:[{\[\]\"“]|\Z))")
_PAYLOAD_BELOW = re.compile(r"[\s>]*+(?:\{|\[[\s>]*+(?:[{\[\]\"“]|\Z))")
_CLOSED_AT_ONCE = re.compile(r"[ \t]*+`{3,}+[ \t\r]*+(?:\n|\Z)")
_FENCE_LINE = re.compile(r"^(?P<lead>[ \t>]*+)(?P<ticks>`{3,}+)", re.MULTILINE)
_TO_TICKS = re.compile(r'(?:[^"`]++|"(?:[^"\\\n]++|\\.)*+"|"[^\n]*+|`{1,2}+(?!`))*+')
_LINE_TO_TICKS = re.compile(r'(?:[^"`\n]++|"(?:[^"\\\n]++|\\.)*+"|"[^\n]*+|`{1,2}+(?!`))*+')


@dataclass(frozen=True, slots=True)
class Opening:
    """A fence that opens at `start`, which is its line's start where nothing is before it; `inside` is what it holds."""

    start: int
    inside: int
    label: str
    quoted: bool
    starts_line: bool


def opening_at(text: str, ticks: int, lead: str | None, start: int) -> Opening | None:
    """The fence that opens with these tick marks; `lead` is what is before them on their line if it is only marks.

    One of ours opens where it starts its line and its label ends it, or anywhere straight before a payload. Any other
    label opens a fence of the story's, where it starts its line.
    """
    info = _INFO.match(text, closing_end(text, ticks))
    if info is None:
        return None
    label = info["label"].lower()
    label = label.removesuffix(":") or label
    inside = _inside(text, info, label, starts_line=lead is not None)
    if inside is None:
        return None
    return Opening(start, inside, label, lead is not None and ">" in lead, lead is not None)


def _inside(text: str, info: re.Match[str], label: str, *, starts_line: bool) -> int | None:
    ours = label == STATE or label in OWN
    ends_line = not info["rest"].strip() and text[info.end() : info.end() + 1] in ("", "\n")
    if ours and _PAYLOAD.match(text, info.end("label")):
        return info.end("label")
    if starts_line:
        return _inside_at_line_start(text, info, label, ends_line=ends_line)
    below = ends_line and label in (STATE, JSON) and _PAYLOAD_BELOW.match(text, info.end())
    return min(info.end() + 1, len(text)) if below else None


def _inside_at_line_start(text: str, info: re.Match[str], label: str, *, ends_line: bool) -> int | None:
    if ends_line:
        return min(info.end() + 1, len(text))
    if label == STATE:
        return info.end("label") if _CLOSED_AT_ONCE.match(text, info.end("label")) else None
    is_inline_code = text.startswith("`", info.end())
    return None if label == BARE or is_inline_code else min(info.end() + 1, len(text))


def closing_end(text: str, ticks: int) -> int:
    """The place behind these tick marks."""
    found = _TICKS.match(text, ticks)
    return found.end() if found else ticks


class Closings:
    """Where fences of a text close. Asked in the order of the text, it looks at each character a few times at most."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._from = self._until = -1

    def after(self, inside: int) -> tuple[int, bool]:
        """The place of the tick marks that end what begins at `inside`, and whether they close it.

        They do not where they open another fence; and where there are none, the place is the text's end. Tick marks in
        a JSON string are none: a string ends with its line.
        """
        ticks = self._first_ticks(inside)
        if ticks == len(self._text):
            return ticks, False
        line = self._text.rfind("\n", max(inside - 1, 0), ticks) + 1 or inside
        lead = self._text[line:ticks]
        starts_line = not lead.strip(" \t>") and (line == 0 or self._text[line - 1] == "\n")
        if self._opens_another(ticks, lead if starts_line else None):
            return (line if starts_line else ticks), False
        return ticks, True

    def _first_ticks(self, inside: int) -> int:
        found = _LINE_TO_TICKS.match(self._text, inside)
        at = found.end() if found else inside
        if self._text.startswith("`", at) or at == len(self._text):
            return at
        if not self._from <= at + 1 <= self._until:
            below = _TO_TICKS.match(self._text, at + 1)
            self._from, self._until = at + 1, below.end() if below else at + 1
        return self._until

    def _opens_another(self, ticks: int, lead: str | None) -> bool:
        """Whether a labelled fence opens there. Words behind any other label are story behind tick marks that close."""
        opening = opening_at(self._text, ticks, lead, ticks)
        if opening is None or opening.label == BARE:
            return False
        said = self._text[closing_end(self._text, ticks) : opening.inside]
        return opening.label in (STATE, JSON) or len(said.split()) == 1


@dataclass(frozen=True, slots=True)
class StoryFence:
    """A fence of the story's own, from its line's start to the end of the line that closes it, if one does."""

    opening: Opening
    end: int
    closed: bool


def story_fence(text: str, opening: Opening) -> StoryFence:
    """The fence as Markdown reads it: it closes with a line of bare tick marks, and a labelled one opens another."""
    for found in _FENCE_LINE.finditer(text, opening.inside):
        info = _INFO.match(text, found.end())
        if info is None or text.startswith("`", info.end()):
            continue
        if not info["label"] and not info["rest"].strip():
            return StoryFence(opening, info.end(), closed=True)
        if info["label"] and opening_at(text, found.start("ticks"), found["lead"], found.start()):
            return StoryFence(opening, found.start(), closed=False)
    return StoryFence(opening, len(text), closed=False)


def story_fences(text: str) -> Iterator[StoryFence]:
    """The fences that start their lines, in order: where every block is gone, the story's own."""
    at = 0
    while found := _FENCE_LINE.search(text, at):
        opening = opening_at(text, found.start("ticks"), found["lead"], found.start())
        if opening is None:
            at = found.end()
            continue
        fence = story_fence(text, opening)
        yield fence
        at = max(fence.end, opening.inside)
