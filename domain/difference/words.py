"""Which words two texts share: a longest common subsequence, found with bit vectors.

Each row of the table of longest common subsequences is one integer with a bit for each word of the left text; a zero
says that the length grows there. A row follows from the row before by an addition (Hyyrö 2004, "Bit-Parallel
LCS-length Computation Revisited"), so that two narrations are compared in about a millisecond.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

Side = Literal["same", "left", "right"]

MOST_PAIRS = 500_000_000
"""The most pairs of words, one of each text, that are compared: a bit each. Longer texts differ as a whole."""

_WORD = re.compile(r"\s*\S+|\s+$")


@dataclass(frozen=True)
class Stretch:
    """A run of words on both sides, or on one, where the other's text is empty.

    The left texts of all stretches, joined, are the left text exactly, and the right texts the right one.
    """

    side: Side
    left: str
    right: str


def word_difference(left: str, right: str) -> tuple[Stretch, ...]:
    """The two texts as stretches, in order; where both have words of their own, the left's stand first.

    The white space before a word belongs to it, and does not tell words apart. Of texts with more than MOST_PAIRS between
    their common beginning and their common end, what lies between is not compared.
    """
    ours, theirs = _WORD.findall(left), _WORD.findall(right)
    start = _common(ours, theirs)
    end = _common(ours[start:][::-1], theirs[start:][::-1])
    middle = _middle(ours[start : len(ours) - end], theirs[start : len(theirs) - end])
    words = [*zip(ours[:start], theirs[:start], strict=True), *middle, *_ending(ours, theirs, end)]
    return tuple(_stretch(side, list(run)) for side, run in groupby(words, key=_side))


_Pair = tuple[str, str]
"""A word as it stands on the left and on the right; empty where it does not."""


def _ending(ours: list[str], theirs: list[str], end: int) -> list[_Pair]:
    return list(zip(ours[len(ours) - end :], theirs[len(theirs) - end :], strict=True))


def _side(pair: _Pair) -> Side:
    left, right = pair
    return "same" if left and right else "left" if left else "right"


def _stretch(side: Side, run: list[_Pair]) -> Stretch:
    return Stretch(side, "".join(left for left, _ in run), "".join(right for _, right in run))


def _common(ours: list[str], theirs: list[str]) -> int:
    """How many words the two have in common from their start."""
    pairs = zip(ours, theirs, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a.strip() != b.strip()), min(len(ours), len(theirs)))


def _middle(ours: list[str], theirs: list[str]) -> list[_Pair]:
    """The words of both in order, of each gap first the left's, then the right's."""
    if len(ours) * len(theirs) > MOST_PAIRS:
        return [*((word, "") for word in ours), *(("", word) for word in theirs)]
    pairs = list(_backwards(ours, theirs, _rows(ours, theirs)))[::-1]
    ordered: list[_Pair] = []
    for shared, group in groupby(pairs, key=lambda pair: _side(pair) == "same"):
        run = list(group)
        ordered += run if shared else sorted(run, key=_side)
    return ordered


def _rows(ours: list[str], theirs: list[str]) -> list[int]:
    """For each word of the right text, the row after it; the first row stands before any."""
    where: dict[str, int] = {}
    for at, word in enumerate(ours):
        where[word.strip()] = where.get(word.strip(), 0) | (1 << at)
    full = (1 << len(ours)) - 1
    rows = [full]
    for word in theirs:
        row = rows[-1]
        grows = row & where.get(word.strip(), 0)
        rows.append(((row + grows) | (row - grows)) & full)
    return rows


def _backwards(ours: list[str], theirs: list[str], rows: list[int]) -> Iterator[_Pair]:
    """The words from the end to the start, along one longest common subsequence."""
    left, right = len(ours), len(theirs)
    while left and right:
        bit = 1 << (left - 1)
        if rows[right] & bit:
            left -= 1
            yield ours[left], ""
        elif not rows[right - 1] & bit:
            right -= 1
            yield "", theirs[right]
        else:
            left, right = left - 1, right - 1
            yield ours[left], theirs[right]
    yield from ((word, "") for word in ours[:left][::-1])
    yield from (("", word) for word in theirs[:right][::-1])
