"""Lines as narrators write them: indented, quoted with `>`, dressed in Markdown.

A line ends with a line feed; a carriage return before it is white space. Other separators of Unicode end none, since
JSON strings may hold them.
"""

from collections.abc import Iterator
from typing import NamedTuple

_DRESS = str.maketrans("", "", "#*_`")
_NO_STORY = frozenset(" \t>{}[]`#-")
_SENTENCE_ENDS = frozenset(".!?…\"'”’*")
_STATE = "state"
_LONGEST_STATE_HEADING = 40


class Line(NamedTuple):
    """A line's place, without its line feed."""

    start: int
    end: int


def lines_of(text: str, start: int = 0, end: int | None = None) -> Iterator[Line]:
    """The lines from `start`, which counts as the start of one, to `end`."""
    limit = len(text) if end is None else end
    while start < limit:
        found = text.find("\n", start, limit)
        stop = limit if found < 0 else found
        yield Line(start, stop)
        start = stop + 1


def last_line(text: str, limit: int) -> Line:
    """The last line before `limit` that is not white space, to the end of its words; an empty one where there is none."""
    end = limit
    while end and text[end - 1].isspace():
        end -= 1
    return Line(text.rfind("\n", 0, end) + 1, end)


def is_blank(text: str, line: Line) -> bool:
    """Whether nothing but white space and quote marks is on the line."""
    return not text[line.start : line.end].strip(" \t\r\n>")


def trimmed(text: str, line: Line) -> int:
    """The end of the line's words."""
    return line.start + len(text[line.start : line.end].rstrip())


def is_sentence(text: str, line: Line) -> bool:
    """Whether the line reads as story: words that begin at the margin, and end as a sentence does."""
    words = text[line.start : trimmed(text, line)].removeprefix("> ")
    return " " in words and words[0] not in _NO_STORY and words[-1] in _SENTENCE_ENDS


def undressed(line: str) -> str:
    """The words of a line, without quote marks, list marks and Markdown around them."""
    return line.translate(_DRESS).strip(" \t\r>-+")


def is_state_heading(text: str, line: Line) -> bool:
    """Whether the line is the bare word `State`, however it is dressed."""
    if line.end - line.start > _LONGEST_STATE_HEADING:
        return False
    return undressed(text[line.start : line.end]).removesuffix(":").rstrip().lower() == _STATE
