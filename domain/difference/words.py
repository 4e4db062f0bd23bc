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

_WORD = re.compile(r"\s*\S+|\s+$")


@dataclass(frozen=True)
class Stretch:
    """A run of words: on both sides, or on one. The stretches of `same` and `left`, joined, are the left text."""

    side: Side
    text: str


def word_difference(left: str, right: str) -> tuple[Stretch, ...]:
    """The two texts as stretches, in order; where both have words of their own, the left's stand first.

    The white space before a word belongs to it but does not tell words apart; the left's is shown.
    """
    ours, theirs = _WORD.findall(left), _WORD.findall(right)
    start = _common(ours, theirs)
    end = _common(ours[start:][::-1], theirs[start:][::-1])
    middle = _middle(ours[start : len(ours) - end], theirs[start : len(theirs) - end])
    words = [*_same(ours[:start]), *middle, *_same(ours[len(ours) - end :])]
    return tuple(
        Stretch(side, "".join(text for _, text in run)) for side, run in groupby(words, key=lambda word: word[0])
    )


_Tagged = tuple[Side, str]


def _same(words: list[str]) -> list[_Tagged]:
    return [("same", word) for word in words]


def _common(ours: list[str], theirs: list[str]) -> int:
    """How many words the two have in common from their start."""
    pairs = zip(ours, theirs, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a.strip() != b.strip()), min(len(ours), len(theirs)))


def _middle(ours: list[str], theirs: list[str]) -> list[_Tagged]:
    """The words of both in order, of each gap first the left's, then the right's."""
    tagged = list(_backwards(ours, theirs, _rows(ours, theirs)))[::-1]
    rank = {"left": 0, "right": 1}
    ordered: list[_Tagged] = []
    for shared, run in groupby(tagged, key=lambda word: word[0] == "same"):
        ordered += run if shared else sorted(run, key=lambda word: rank[word[0]])
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


def _backwards(ours: list[str], theirs: list[str], rows: list[int]) -> Iterator[_Tagged]:
    """The words from the end to the start, along one longest common subsequence."""
    left, right = len(ours), len(theirs)
    while left and right:
        bit = 1 << (left - 1)
        if rows[right] & bit:
            left -= 1
            yield "left", ours[left]
        elif not rows[right - 1] & bit:
            right -= 1
            yield "right", theirs[right]
        else:
            left, right = left - 1, right - 1
            yield "same", ours[left]
    yield from (("left", word) for word in ours[:left][::-1])
    yield from (("right", word) for word in theirs[:right][::-1])
