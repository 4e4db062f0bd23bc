"""Fences: where one opens, with which label, and where it closes. One pass finds every run of tick marks."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from domain.prompt import texts

STATE = texts.FENCE_LABEL
JSON = "json"
BARE = ""
OWN = (JSON, BARE)
"""The labels under which a narrator sends a block as well as code of the story."""

_BEGINS_PAYLOAD = r"(?:\{|\[[\s>]*+(?:[{\[\]\"“]|\Z))"
_MARKS = re.compile(
    rf"""```(?:`*+)(?P<behind>)[ \t]*+(?P<label>[^\s`{{\["“]*+)
    (?:(?P<payload>(?=[ \t]*+{_BEGINS_PAYLOAD}))
    | [ \t\r]*+(?P<ends_line>(?=\n|\Z))
    | (?P<closed_at_once>(?=[ \t]*+`{{3,}}+[ \t\r]*+(?:\n|\Z)))
    | (?P<words>[^`\n]*+(?:\n|\Z))
    | )""",
    re.VERBOSE,
)
_PAYLOAD_BELOW = re.compile(rf"[\s>]*+{_BEGINS_PAYLOAD}")
_LINE_TO_TICKS = re.compile(r'(?:[^"`\n]++|"(?:[^"\\\n]++|\\.)*+"|"[^\n]*+|`{1,2}+(?!`))*+')
_TO_TICKS = re.compile(r'(?:[^"`]++|"(?:[^"\\\n]++|\\.)*+"|"[^\n]*+|`{1,2}+(?!`))*+')

_JSON_ENDS = ("}", "]", '"', "”")


class Marks(NamedTuple):
    """A run of three tick marks or more, from `start`, its line's start where nothing but quote marks is before it.

    `behind` is the place behind the marks. Where they open a fence, `inside` is where what it holds begins; None where
    they open none. `alone` says that a label, if any, is all that follows on the line.
    """

    start: int
    ticks: int
    behind: int
    label: str
    inside: int | None
    starts_line: bool
    quoted: bool
    alone: bool

    @property
    def is_bare_line(self) -> bool:
        """Whether it is what closes a fence in Markdown."""
        return self.starts_line and self.alone and not self.label


class StoryFence(NamedTuple):
    """A fence of the story's own, to the end of the line that closes it; if none does, to the next, or the text's end."""

    marks: Marks
    inside: int
    end: int
    closed: bool


class Fences:
    """The tick marks of a text, and the fences that they make."""

    def __init__(self, text: str) -> None:
        self.marks = [_marks(text, found) for found in _MARKS.finditer(text)]
        self._text = text
        self._places = [marks.ticks for marks in self.marks]
        self._next_ending = self._endings()
        self._no_ticks_from = self._ticks = -1
        self.story = tuple(self._story())

    def after(self, inside: int) -> tuple[Marks | None, bool]:
        """The marks that end what a fence holds from `inside` on, None at the text's end, and whether they close it.

        They do not where they open another fence. Marks within a JSON string are none; a string ends with its line.
        """
        number = bisect_left(self._places, self._first_ticks(inside))
        ending = self._next_ending[number]
        if ending == len(self.marks):
            return None, False
        return self.marks[ending], not _opens_another(self.marks[ending])

    def at(self, place: int) -> Marks | None:
        """The marks at this place, if any are."""
        number = bisect_left(self._places, place)
        return self.marks[number] if self._places[number : number + 1] == [place] else None

    def _endings(self) -> list[int]:
        """For each run of marks, and behind the last, the number of the first from there that can end a fence."""
        following = [len(self.marks)]
        for number in range(len(self.marks) - 1, -1, -1):
            following.append(number if _can_end(self._text, self.marks[number]) else following[-1])
        return following[::-1]

    def _first_ticks(self, inside: int) -> int:
        """The place of the first marks; what was found for a line's start holds for every line up to them."""
        found = _LINE_TO_TICKS.match(self._text, inside)
        at = found.end() if found else inside
        if not self._text.startswith("\n", at):
            return at
        if not self._no_ticks_from <= at <= self._ticks:
            below = _TO_TICKS.match(self._text, at)
            self._no_ticks_from, self._ticks = at, below.end() if below else at
        return self._ticks

    def story_fence(self, marks: Marks, inside: int) -> StoryFence:
        """The fence as Markdown reads it: it closes with a line of bare marks, and a labelled one opens another."""
        for number in range(bisect_left(self._places, inside), len(self._places)):
            below = self.marks[number]
            if below.is_bare_line:
                return StoryFence(marks, inside, below.behind, closed=True)
            if below.starts_line and below.label and below.inside is not None:
                return StoryFence(marks, inside, below.start, closed=False)
        return StoryFence(marks, inside, len(self._text), closed=False)

    def _story(self) -> Iterator[StoryFence]:
        """The fences that start their lines, in order: where every block is gone, the story's own."""
        at = 0
        for marks in self.marks:
            if marks.starts_line and marks.inside is not None and marks.start >= at:
                fence = self.story_fence(marks, marks.inside)
                yield fence
                at = max(fence.end, marks.inside)


def _marks(text: str, found: re.Match[str]) -> Marks:
    lead = _lead(text, found.start())
    label = found["label"].lower()
    label = label.removesuffix(":") or label
    return Marks(
        found.start() if lead is None else found.start() - len(lead),
        found.start(),
        found.start("behind"),
        label,
        _inside(text, found, label, starts_line=lead is not None),
        lead is not None,
        lead is not None and ">" in lead,
        found["ends_line"] is not None,
    )


def _lead(text: str, ticks: int) -> str | None:
    """The white space and quote marks before tick marks that start their line, None for those that do not."""
    start = ticks
    while start and text[start - 1] in " \t>":
        start -= 1
    return text[start:ticks] if start == 0 or text[start - 1] == "\n" else None


def _inside(text: str, found: re.Match[str], label: str, *, starts_line: bool) -> int | None:
    """Where the fence that opens there begins to hold something.

    One of ours opens where it starts its line and its label ends it, or anywhere straight before a payload. Any other
    label opens a fence of the story's, where it starts its line.
    """
    ours = label == STATE or label in OWN
    if ours and found["payload"] is not None:
        return found.end()
    below = min(found.end() + 1, len(text))
    if not starts_line:
        is_payload = label in (STATE, JSON) and found["ends_line"] is not None and _PAYLOAD_BELOW.match(text, below)
        return below if is_payload else None
    if found["ends_line"] is not None:
        return below
    if label == STATE:
        return found.end() if found["closed_at_once"] is not None else None
    return found.end() if not ours and found["words"] is not None else None


def _can_end(text: str, marks: Marks) -> bool:
    """Whether a fence ends there: at a line's start or end, behind JSON, or where another opens. In a sentence it does not."""
    if marks.starts_line or _opens_another(marks) or (marks.alone and not marks.label):
        return True
    before = marks.ticks
    while before and text[before - 1] in " \t":
        before -= 1
    return text[before - 1 : before] in _JSON_ENDS


def _opens_another(marks: Marks) -> bool:
    """Whether a labelled fence opens. Words behind a label that is not ours are story behind marks that close."""
    if marks.inside is None or marks.label == BARE:
        return False
    return marks.label in (STATE, JSON) or marks.alone
