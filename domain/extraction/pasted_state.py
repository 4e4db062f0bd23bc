"""The rule `pasted-state`: a copy of the rendered state, which a narrator takes for the form that a reply has."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from domain.extraction.context import Context
from domain.extraction.fences import story_fences
from domain.extraction.lines import Line, is_blank, lines_of, trimmed, undressed
from domain.extraction.reading import Cut, Reading
from domain.prompt import texts

PASTED_STATE = "pasted-state"

Kind = Literal["blank", "heading", "entry", "scene", "other"]

_HEADINGS = frozenset(undressed(heading) for heading in texts.STATE_HEADINGS)
_LONGEST_HEADING = 80
_QUOTE_MARK = re.compile(r"[ \t]*+>[ \t]?")
_INDENTED = re.compile(r"[ \t]")
_SCENE = re.compile(rf"[ \t>]*+[#*_]*+{re.escape(texts.SCENE_LABEL)}")


@dataclass(frozen=True, slots=True)
class _Told:
    line: Line
    kind: Kind


def pasted_state(reading: Reading, _: Context) -> list[Cut]:
    """Each run of headings, entries and blank lines that is a copy, with the scene line directly above it."""
    told = list(_told(reading.text))
    cuts: list[Cut] = []
    at = 0
    while at < len(told):
        end = _run_end(told, at) if told[at].kind == "heading" else at + 1
        if _is_copy(told, at, end):
            first = at - 1 if _scene_above(told, at) else at
            last = max(number for number in range(at, end) if told[number].kind != "blank")
            cuts.append(Cut(PASTED_STATE, told[first].line.start, trimmed(reading.text, told[last].line)))
        at = end
    return cuts


def _run_end(told: list[_Told], start: int) -> int:
    at = start
    while at < len(told) and told[at].kind in ("blank", "heading", "entry"):
        at += 1
    return at


def _is_copy(told: list[_Told], start: int, end: int) -> bool:
    """Two headings, or one with the scene line directly above, or one with an entry under it."""
    run = [each.kind for each in told[start:end] if each.kind != "blank"]
    if not run or run[0] != "heading":
        return False
    return run.count("heading") > 1 or _scene_above(told, start) or "entry" in run


def _scene_above(told: list[_Told], start: int) -> bool:
    return start > 0 and told[start - 1].kind == "scene"


def _told(text: str) -> Iterator[_Told]:
    """Every line with what it is; those of the story's own code are nothing of ours."""
    fences = [fence for fence in story_fences(text) if fence.closed]
    number = 0
    for line in lines_of(text):
        while number < len(fences) and fences[number].end < line.start:
            number += 1
        is_code = number < len(fences) and fences[number].opening.start <= line.start
        yield _Told(line, "other" if is_code else _kind(text, line))


def _kind(text: str, line: Line) -> Kind:
    if is_blank(text, line):
        return "blank"
    if line.end - line.start <= _LONGEST_HEADING and undressed(text[line.start : line.end]) in _HEADINGS:
        return "heading"
    if _SCENE.match(text, line.start, line.end):
        return "scene"
    quoted = _QUOTE_MARK.match(text, line.start, line.end)
    return "entry" if _INDENTED.match(text, quoted.end() if quoted else line.start, line.end) else "other"
