"""Objects outside fences: where one that begins a line ends. One pass finds all of them.

The pass reads the text as JSON wherever a brace is open. A string that does not end on its line, a closer that does not
fit and anything that is no JSON end it: whatever was open then is no object, and the pass goes on with the next line.
At a line's start it is never inside a string, so that every object is found wherever the pass began.
"""

import re

from domain.extraction.payload import MOST_NESTED

_LINE_BRACE = re.compile(r"^[ \t>]*+(?=\{)", re.MULTILINE)
_TO_MARK = re.compile(
    r'(?:[\s>,:]++|"(?:[^"\\\n]++|\\.)*+"|-?\d[\d.eE+-]*+|\[\s*+\]|true\b|false\b|null\b)*+(?P<mark>[{}\[\]])?+'
)
_BELOW = re.compile(r".*\n[ \t>]*+", re.DOTALL)
_OPENER = {"}": "{", "]": "["}
_WITHIN_A_LINE = -1


class Objects:
    """The objects of a text that begin a line, by the place of their opening brace. Those within others are among them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: dict[int, int] = {}
        at = 0
        while begun := _LINE_BRACE.search(text, at):
            at = self._read(begun.end())

    def end_of(self, brace: int) -> int | None:
        """The place behind the object that begins here; None where none does."""
        return self._ends.get(brace)

    def _read(self, brace: int) -> int:
        """Reads from a brace at the start of a line until nothing is open; where to go on."""
        opened = [("{", brace)]
        at = brace + 1
        while opened and (token := _TO_MARK.match(self._text, at)):
            mark = token["mark"]
            if mark is None or (mark in _OPENER and opened[-1][0] != _OPENER[mark]) or len(opened) > MOST_NESTED:
                return token.end()
            at = token.end()
            if mark in _OPENER:
                self._ends[opened.pop()[1]] = at
            else:
                below = mark == "{" and _BELOW.fullmatch(self._text, token.start(), at - 1)
                opened.append((mark, at - 1 if below else _WITHIN_A_LINE))
        return at
