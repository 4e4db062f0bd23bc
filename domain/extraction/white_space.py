"""White space around what was cut out: at the ends all of it goes, and between two parts of a story one blank line stays."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from domain.extraction.extraction import RULE_WHITESPACE
from domain.extraction.reading import Cut

_LINE_FEEDS = 2
"""Two line feeds are one blank line."""

_Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Gap:
    """A stretch of the raw reply that holds nothing but cuts, which are in order, and white space."""

    start: int
    end: int
    cuts: Sequence[Cut]

    def spaces(self) -> Iterator[_Span]:
        """What of it is white space: before, between and behind the cuts, the empty stretches included."""
        at = self.start
        for cut in self.cuts:
            yield at, cut.start
            at = cut.end
        yield at, self.end


def with_white_space(raw: str, cuts: Iterable[Cut]) -> Iterator[Cut]:
    """The cuts with the white space around them, in order: at the ends of the reply all of it.

    Where a cut parts the story, two line feeds stay: those around it, else of what was cut out. So does the indentation
    of the line that goes on. Where there is no line feed, one space stays.
    """
    for gap in _gaps(raw, cuts):
        parts_story = gap.start > 0 and gap.end < len(raw)
        yield from _without(gap, sorted(_kept(raw, gap)) if parts_story else [])


def _gaps(raw: str, cuts: Iterable[Cut]) -> Iterator[_Gap]:
    """The ends, and every cut with the white space around it; those that touch are one."""
    start, end = 0, _behind_spaces(raw, 0)
    inside: list[Cut] = []
    for cut in cuts:
        before = _before_spaces(raw, cut.start, end)
        if before > end:
            yield _Gap(start, end, inside)
            start, inside = before, []
        inside.append(cut)
        end = _behind_spaces(raw, cut.end)
    before = _before_spaces(raw, len(raw), end)
    if before > end:
        yield _Gap(start, end, inside)
        start, inside = before, []
    yield _Gap(start, len(raw), inside)


def _behind_spaces(raw: str, at: int) -> int:
    while at < len(raw) and raw[at].isspace():
        at += 1
    return at


def _before_spaces(raw: str, at: int, least: int) -> int:
    while at > least and raw[at - 1].isspace():
        at -= 1
    return at


def _kept(raw: str, gap: _Gap) -> Iterator[_Span]:
    """What stays of a gap in the middle."""
    around = chain.from_iterable(_line_feeds(raw, span) for span in gap.spaces())
    within = chain.from_iterable(_line_feeds(raw, (cut.start, cut.end)) for cut in gap.cuts)
    feeds = list(islice(chain(around, within), _LINE_FEEDS))
    yield from feeds
    *_, (start, end) = gap.spaces()
    last = raw.rfind("\n", start, end)
    if last >= 0:
        yield last + 1, end
    elif not feeds:
        yield from islice(((at, at + 1) for at, behind in gap.spaces() if at < behind), 1)


def _line_feeds(raw: str, span: _Span) -> Iterator[_Span]:
    """The line feeds of a stretch, each with the carriage return before it."""
    start, end = span
    while (at := raw.find("\n", start, end)) >= 0:
        yield (at - 1 if at > start and raw[at - 1] == "\r" else at), at + 1
        start = at + 1


def _without(gap: _Gap, kept: Sequence[_Span]) -> Iterator[Cut]:
    """The cuts of a gap and the white space between them, each without what is kept."""
    for (start, end), cut in zip(gap.spaces(), (*gap.cuts, None), strict=True):
        yield from _pieces(Cut(RULE_WHITESPACE, start, end), kept)
        if cut is not None:
            yield from _pieces(cut, kept)


def _pieces(cut: Cut, kept: Sequence[_Span]) -> Iterator[Cut]:
    at = cut.start
    for start, end in kept:
        if cut.start <= start and end <= cut.end:
            if at < start:
                yield Cut(cut.rule, at, start)
            at = end
    if at < cut.end:
        yield Cut(cut.rule, at, cut.end)
