"""A raw reply cut where the readings of two extractors differ: what both keep, what both take out, what one of them does."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

Mark = Literal["kept", "out", "gone", "back"]
"""`out`: taken out before and after. `gone`: taken out now. `back`: taken out before, and now story."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A stretch of the reply; `rule` is the one that takes it out now, or took it out before, empty where none does."""

    mark: Mark
    text: str
    rule: str


def marked(row: Mapping[str, Any]) -> Iterator[Marked]:
    """The whole reply of a row of a report, in order. Removals that overlap or lie outside count as far as they make sense."""
    raw, sides = row["raw_reply"], row["removals"]
    before = _spans(raw, sides["before"])
    after = before if sides["after"] is None else _spans(raw, sides["after"])
    edges = sorted({0, len(raw), *(edge for start, end, _ in (*before, *after) for edge in (start, end))})
    for start, end in pairwise(edges):
        was, now = _rule_at(before, start), _rule_at(after, start)
        yield Marked(_MARKS[was is not None, now is not None], raw[start:end], now or was or "")


_MARKS: Mapping[tuple[bool, bool], Mark] = {
    (False, False): "kept",
    (True, True): "out",
    (False, True): "gone",
    (True, False): "back",
}

_Span = tuple[int, int, str]


def _spans(raw: str, removals: Sequence[Mapping[str, Any]]) -> list[_Span]:
    """The removals in order, each cut to what lies in the reply and behind the one before."""
    spans: list[_Span] = []
    at = 0
    for removal in sorted(removals, key=lambda each: (each["start"], each["end"])):
        start, end = max(at, removal["start"]), min(len(raw), removal["end"])
        if start < end:
            spans.append((start, end, removal["rule"] or "no rule"))
            at = end
    return spans


def _rule_at(spans: Sequence[_Span], place: int) -> str | None:
    number = bisect_right(spans, place, key=lambda span: span[0]) - 1
    return spans[number][2] if number >= 0 and place < spans[number][1] else None
