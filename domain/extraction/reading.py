"""A reply while it is being read: what rules have left of it so far, and where that stands in the reply."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from domain.extraction.context import Context
from domain.extraction.fences import Fences
from domain.extraction.objects import Object, objects


class Claim(NamedTuple):
    """A block's text, and the events in it; None where they could not be read."""

    block: str
    events: tuple[object, ...] | None


class Cut(NamedTuple):
    """Characters start…end of a text that a rule takes out. One that takes out a block carries what it claims."""

    rule: str
    start: int
    end: int
    claim: Claim | None = None


class Joint(NamedTuple):
    """Where in the text that is left something was cut out, and by which rule."""

    at: int
    rule: str


class Reading:
    """The text that is left of a raw reply by cuts of the raw reply, which do not overlap."""

    def __init__(self, raw: str, cuts: Iterable[Cut] = ()) -> None:
        self.raw = raw
        self.cuts = tuple(sorted(cuts, key=lambda cut: cut.start))
        self._raw_starts: list[int] = []
        self._text_starts: list[int] = []
        self.joints: list[Joint] = []
        self.text = "".join(self._kept())

    def _kept(self) -> list[str]:
        kept: list[str] = []
        at = length = 0
        for cut in self.cuts:
            length += self._keep(kept, at, cut.start, length)
            self.joints.append(Joint(length, cut.rule))
            at = cut.end
        self._keep(kept, at, len(self.raw), length)
        return kept

    def _keep(self, kept: list[str], start: int, end: int, length: int) -> int:
        if start < end:
            kept.append(self.raw[start:end])
            self._raw_starts.append(start)
            self._text_starts.append(length)
        return end - start

    @cached_property
    def fences(self) -> Fences:
        """The tick marks of the text."""
        return Fences(self.text)

    @cached_property
    def objects(self) -> list[Object]:
        """The outermost objects that begin a line of the text."""
        return objects(self.text)

    def without(self, cuts: Sequence[Cut]) -> "Reading":
        """The reading that is left when these characters of the text go as well."""
        if not cuts:
            return self
        return Reading(self.raw, [*self.cuts, *(piece for cut in cuts for piece in self._in_raw(cut))])

    def _in_raw(self, cut: Cut) -> Iterable[Cut]:
        """The same cut in the raw reply: in pieces where something was cut out of its middle, its claim with the first."""
        claim = cut.claim
        number = bisect_right(self._text_starts, cut.start) - 1
        at = cut.start
        while at < cut.end:
            offset = self._raw_starts[number] - self._text_starts[number]
            number += 1
            end = min(cut.end, self._text_starts[number]) if number < len(self._text_starts) else cut.end
            yield Cut(cut.rule, at + offset, end + offset, claim)
            at, claim = end, None


Rule = Callable[[Reading, Context], list[Cut]]
"""Finds what is to be cut out of a reading's text: in order, not overlapping, not empty. Total and linear."""
