"""Stretches of a reply, in code points: what is kept of it, and how two of such differ."""

from collections.abc import Iterator, Sequence

from domain.extraction.extraction import Removal

Span = tuple[int, int]
"""start…end, half open."""


def in_order(raw: str, removals: Sequence[Removal]) -> bool:
    """Whether the removals lie within the reply, one after the other."""
    at = 0
    for removal in removals:
        if not at <= removal.start <= removal.end <= len(raw):
            return False
        at = removal.end
    return True


def kept(raw: str, removals: Sequence[Removal]) -> list[Span]:
    """What the removals, which are in order, leave of the reply."""
    starts = [0, *(removal.end for removal in removals)]
    ends = [*(removal.start for removal in removals), len(raw)]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]


def without(spans: Sequence[Span], others: Sequence[Span]) -> Iterator[Span]:
    """What of the spans is in none of the others; both are in order."""
    number = 0
    for start, end in spans:
        at = start
        while number < len(others) and others[number][1] <= at:
            number += 1
        following = number
        while following < len(others) and others[following][0] < end:
            if at < others[following][0]:
                yield at, others[following][0]
            at = max(at, others[following][1])
            following += 1
        if at < end:
            yield at, end


def solid(text: str) -> int:
    """How many characters are no white space."""
    return sum(map(len, text.split()))


def solid_in(raw: str, spans: Iterator[Span]) -> int:
    """How many characters of these spans are no white space."""
    return sum(solid(raw[start:end]) for start, end in spans)
