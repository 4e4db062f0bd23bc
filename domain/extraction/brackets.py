"""Brackets at the end of a text, closed or cut off, found in one pass over it."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

_MOST_CUT_OFF = 4
"""How many brackets that nothing closes are looked at, from the innermost outwards."""

_MARK = re.compile(r"[\[\]]")
_EMPHASIS = "*_"
_MOST_EMPHASIS = 3


class Bracket(NamedTuple):
    """A bracket that ends where a text does, with the emphasis around it; `inner` is where its words begin."""

    start: int
    inner: int
    end: int
    closed: bool


class Brackets:
    """The brackets of a text. A closing one that nothing opened is none."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._marks: list[int] = []
        self._open_behind: list[int] = []
        self._outer: dict[int, int] = {}
        self._opener: dict[int, int] = {}
        self._read()

    def _read(self) -> None:
        innermost = -1
        for found in _MARK.finditer(self._text) if "[" in self._text else ():
            at = found.start()
            if found[0] == "[":
                self._outer[at] = innermost
                innermost = at
            elif innermost >= 0:
                self._opener[at] = innermost
                innermost = self._outer[innermost]
            else:
                continue
            self._marks.append(at)
            self._open_behind.append(innermost)

    def at_end(self, end: int, line_start: int) -> Iterator[Bracket]:
        """The bracket that closes at `end`, then those on its line that nothing closes before it, inside out."""
        if not self._marks:
            return
        closed = self._closed(end)
        if closed is not None:
            yield closed
        yield from islice(self._cut_off(end, line_start), _MOST_CUT_OFF)

    def _closed(self, end: int) -> Bracket | None:
        behind = end
        while behind > max(end - _MOST_EMPHASIS, 1) and self._text[behind - 1] in _EMPHASIS:
            behind -= 1
        opener = self._opener.get(behind - 1)
        if opener is None:
            return None
        emphasis = self._text[behind:end]
        before = opener - len(emphasis)
        start = before if before >= 0 and self._text[before:opener] == emphasis[::-1] else opener
        return Bracket(start, opener + 1, behind - 1, closed=True)

    def _cut_off(self, end: int, line_start: int) -> Iterator[Bracket]:
        last = bisect_left(self._marks, end) - 1
        opener = self._open_behind[last] if last >= 0 else -1
        while opener >= line_start:
            yield Bracket(opener, opener + 1, end, closed=False)
            opener = self._outer[opener]
