"""The end of a reply: rules take things off it, one after another, until nothing more comes off.

One kind of leftover hides another, so after each cut every rule is asked again. Whatever costs a look at more than the
last line is found once for the whole text, or remembered as refused, so that the loop is linear in the text.
"""

from collections.abc import Callable, Sequence
from itertools import islice

from domain.extraction.blocks import BLOCK, UNFINISHED_BLOCK
from domain.extraction.brackets import Bracket, Brackets
from domain.extraction.context import Context
from domain.extraction.event_calls import EVENT_CALL
from domain.extraction.fences import StoryFence
from domain.extraction.lines import Line
from domain.extraction.pasted_state import PASTED_STATE
from domain.extraction.reading import Cut, Joint, Reading, Rule
from domain.extraction.unfinished_objects import unfinished_objects
from domain.extraction.wording import plain

LEFTOVER = "leftover"
ECHO = "echo"
LENGTH_HINT = "R2"
SCENE_LINE = "R3"
EMPTY_FENCE = "R4"
INSTRUCTION_TAIL = "R5"

_PROTOCOL = frozenset({BLOCK, UNFINISHED_BLOCK, PASTED_STATE, ECHO, EVENT_CALL, LENGTH_HINT, INSTRUCTION_TAIL})
"""The rules whose cuts make a last line that reads as a scene line one that was copied."""


class Ending:
    """What is left of a text: all before `end`, which is behind its last word.

    `below` is the rule of the cut directly below that, None where the text's end is; `protocol_below` says whether any
    cut below was of protocol.
    """

    def __init__(self, reading: Reading) -> None:
        self.text = reading.text
        self.end = len(self.text)
        self.cuts: list[Cut] = []
        self.below: str | None = None
        self.protocol_below = False
        self.unfinished_objects = unfinished_objects(reading)
        self._joints: list[Joint] = list(reading.joints)
        self._line_start = self.end + 1
        self._brackets = Brackets(self.text)
        self._fences = [fence for fence in reading.fences.story if not fence.closed]
        self._at_end: tuple[Bracket, ...] = ()
        self._plain: dict[int, str] = {}
        self._refused: set[tuple[str, int]] = set()
        self._settle()

    @property
    def last_line(self) -> Line:
        """The line that is last, as far as it is left."""
        return Line(self._line_start, self.end)

    @property
    def last_fence(self) -> StoryFence | None:
        """The last fence that begins in what is left, if nothing closes it."""
        while self._fences and self._fences[-1].marks.start >= self.end:
            self._fences.pop()
        return self._fences[-1] if self._fences else None

    def top_of_empty_fences(self, last: StoryFence) -> int:
        """The start of the last fence; of the topmost, where fences of its label hold nothing but each other."""
        start = last.marks.start
        for fence in islice(reversed(self._fences), 1, None):
            if fence.marks.label != last.marks.label or self.text[fence.inside : start].strip():
                break
            start = fence.marks.start
        return start

    def bracket(self, rule: str, is_ours: Callable[[str], bool]) -> Cut | None:
        """The cut of the first bracket at the end whose words are ours. What was refused once is not read again.

        A bracket that is refused would be refused with fewer words as well.
        """
        for bracket in self._at_end:
            if (rule, bracket.inner) not in self._refused:
                if is_ours(self._words(bracket)):
                    return Cut(rule, bracket.start, self.end)
                self._refused.add((rule, bracket.inner))
        return None

    def _words(self, bracket: Bracket) -> str:
        if bracket.inner not in self._plain:
            self._plain[bracket.inner] = plain(self.text[bracket.inner : bracket.end])
        return self._plain[bracket.inner]

    def take(self, cut: Cut) -> None:
        """Takes a cut off the end: with what the same rule took off directly below, it is one."""
        goes_on = self.cuts and self.cuts[-1].rule == cut.rule == self.below
        self._pass_joints(cut.start + 1)
        if goes_on:
            self.cuts[-1] = self.cuts[-1]._replace(start=cut.start)
        else:
            self.cuts.append(cut)
        self._is_below(cut.rule)
        self.end = cut.start
        self._settle()

    def _settle(self) -> None:
        while self.end and self.text[self.end - 1].isspace():
            self.end -= 1
        self._pass_joints(self.end)
        if self._line_start > self.end:
            self._line_start = self.text.rfind("\n", 0, self.end) + 1
        self._plain.clear()
        self._at_end = tuple(self._brackets.at_end(self.end, self._line_start))

    def _pass_joints(self, at: int) -> None:
        while self._joints and self._joints[-1].at >= at:
            self._is_below(self._joints.pop().rule)

    def _is_below(self, rule: str) -> None:
        self.protocol_below |= rule in _PROTOCOL
        if rule != LEFTOVER:
            self.below = rule


EndRule = Callable[[Ending], Cut | None]
"""Finds what is to come off the end: from some place to the end, not empty. Total."""


def ending(rules: Sequence[EndRule]) -> Rule:
    """The rule that takes off the end whatever these rules find, in their order, over and over."""

    def from_the_end(reading: Reading, _: Context) -> list[Cut]:
        left = Ending(reading)
        while (cut := _first(rules, left)) is not None:
            left.take(cut)
        return left.cuts[::-1]

    return from_the_end


def _first(rules: Sequence[EndRule], left: Ending) -> Cut | None:
    """The first cut that a rule finds. One that takes nothing off would be found for ever, and is none."""
    found = (rule(left) for rule in rules)
    return next((cut for cut in found if cut is not None and cut.start < left.end), None)
