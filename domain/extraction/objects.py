"""Objects outside fences: where one that begins a line ends. One pass finds all of them.

The pass reads the text as JSON wherever a brace is open. A string that does not end on its line, a closer that does not
fit and anything that is no JSON end it: whatever was open then is no object, and the pass goes on with the next line.
At a line's start it is never inside a string, so that every object is found wherever the pass began.
"""

import re
from itertools import chain
from typing import NamedTuple

from domain.extraction.payload import MOST_NESTED

_FIRST_BRACE = re.compile(r"(?P<lead>[ \t>]*+)\{")
_LINE_BRACE = re.compile(rf"\n{_FIRST_BRACE.pattern}")
_TO_MARK = re.compile(
    r'(?:[\s>,:]++|"(?:[^"\\\n]++|\\.)*+"|-?\d[\d.eE+-]*+|\[\s*+\]|true\b|false\b|null\b)*+(?P<mark>[{}\[\]])?+'
)
_OPENER = {"}": "{", "]": "["}


class Object(NamedTuple):
    """An outermost object, whose line starts at `start`; it is quoted where a quote mark is before it."""

    start: int
    brace: int
    end: int
    quoted: bool


def objects(text: str) -> list[Object]:
    """The objects that begin a line and are in no other, in order; whatever else is on their lines."""
    ends: dict[int, int] = {}
    begun: list[tuple[int, int]] = []
    at = 0
    for found in chain(filter(None, [_FIRST_BRACE.match(text)]), _LINE_BRACE.finditer(text)):
        brace = found.end("lead")
        begun.append((found.start("lead"), brace))
        if brace >= at:
            at = _read(text, brace, ends)
    return _outermost(text, begun, ends)


def _read(text: str, brace: int, ends: dict[int, int]) -> int:
    """Reads from a brace until nothing is open, and notes where what closes ends; where it had to stop."""
    opened = [("{", brace)]
    at = brace + 1
    while opened and (token := _TO_MARK.match(text, at)):
        mark = token["mark"]
        if mark is None or (mark in _OPENER and opened[-1][0] != _OPENER[mark]) or len(opened) > MOST_NESTED:
            return token.end()
        at = token.end()
        if mark in _OPENER:
            ends[opened.pop()[1]] = at
        else:
            opened.append((mark, at - 1))
    return at


def _outermost(text: str, begun: list[tuple[int, int]], ends: dict[int, int]) -> list[Object]:
    found: list[Object] = []
    at = 0
    for start, brace in begun:
        if brace >= at and brace in ends:
            at = ends[brace]
            found.append(Object(start, brace, at, ">" in text[start:brace]))
    return found
