"""The rule `pasted-state`: a copy of the rendered state, which a narrator takes for the form that a reply has."""

import re
from bisect import bisect_right
from typing import Literal, NamedTuple

from domain.extraction.context import Context
from domain.extraction.lines import Line, is_blank, lines_of, trimmed, undressed
from domain.extraction.reading import Cut, Reading
from domain.prompt import texts

PASTED_STATE = "pasted-state"

Kind = Literal["blank", "heading", "entry", "other"]

_HEADINGS = frozenset(undressed(heading) for heading in texts.STATE_HEADINGS)
_LONGEST_HEADING = 80
_HEADING = re.compile("|".join(map(re.escape, sorted(_HEADINGS))).replace(":", "[*_`]*+:"))
_HEADING_WORDS = tuple(heading.removesuffix(":") for heading in sorted(_HEADINGS))
_QUOTE_MARK = re.compile(r"[ \t]*+>[ \t]?")
_INDENTED = re.compile(r"[ \t]")
_SCENE = re.compile(rf"[ \t>]*+[#*_]*+{re.escape(texts.SCENE_LABEL)}")


class _Run(NamedTuple):
    """Headings, entries and blank lines below each other, from the line of a heading to the last that is not blank."""

    start: int
    end: int
    headings: int
    has_entries: bool
    goes_on: int


def pasted_state(reading: Reading, _: Context) -> list[Cut]:
    """Each run of headings, entries and blank lines that is a copy, with the scene line directly above it."""
    text = reading.text
    cuts: list[Cut] = []
    at = 0
    if not any(words in text for words in _HEADING_WORDS):
        return cuts
    while found := _HEADING.search(text, at):
        line = _line_around(text, found.start())
        at = max(line.end, found.end())
        if _kind(text, line) == "heading" and not _is_code(reading, line.start):
            run = _run(text, line.start)
            at = max(at, run.goes_on)
            scene = _scene_above(text, line.start)
            if run.headings > 1 or run.has_entries or scene is not None:
                cuts.append(Cut(PASTED_STATE, line.start if scene is None else scene, run.end))
    return cuts


def _run(text: str, start: int) -> _Run:
    end = goes_on = start
    headings, has_entries = 0, False
    for line in lines_of(text, start):
        kind = _kind(text, line)
        if kind == "other":
            break
        goes_on = line.end
        headings += kind == "heading"
        has_entries |= kind == "entry"
        end = end if kind == "blank" else trimmed(text, line)
    return _Run(start, end, headings, has_entries, goes_on)


def _kind(text: str, line: Line) -> Kind:
    if is_blank(text, line):
        return "blank"
    if line.end - line.start <= _LONGEST_HEADING and undressed(text[line.start : line.end]) in _HEADINGS:
        return "heading"
    quoted = _QUOTE_MARK.match(text, line.start, line.end)
    return "entry" if _INDENTED.match(text, quoted.end() if quoted else line.start, line.end) else "other"


def _line_around(text: str, at: int) -> Line:
    end = text.find("\n", at)
    return Line(text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end)


def _scene_above(text: str, start: int) -> int | None:
    """The start of the line directly above, if it is a scene line."""
    above = text.rfind("\n", 0, start - 1) + 1 if start else 0
    return above if start and _SCENE.match(text, above, start) else None


def _is_code(reading: Reading, at: int) -> bool:
    """Whether this is in the story's own code, which nothing of ours is in."""
    fences = reading.fences.story
    number = bisect_right(fences, at, key=lambda fence: fence.marks.start) - 1
    return number >= 0 and fences[number].closed and at < fences[number].end
