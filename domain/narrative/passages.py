"""Where in a narrator's words a state event stands, so that a person can be shown them.

A block was parsed once, with some tolerance, and its events were stored as they were understood. Here its text is read
again for the places of its objects: quoted line by line, or as a JSON string, with typographic quotation marks, trailing
commas and missing closers. An object is an event's when it reads as exactly that event; nothing is ever guessed.

Linear in the length of the text. Positions are in code points, half open.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from domain.extraction.extraction import Removal
from domain.narrative.document import Document
from domain.narrative.judging import judge
from domain.narrative.rules import Event
from domain.text import without_lone_surrogates

_QUOTE_MARKS = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_FENCE_END = re.compile(r"[\s>`~]*")

_TYPOGRAPHIC = "“”„"
_TOKEN = re.compile(rf'[{{}}\[\],"{_TYPOGRAPHIC}]')
_STRING_END = {
    '"': re.compile(r'[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL),
    **dict.fromkeys(_TYPOGRAPHIC, re.compile(r'[^"“”\\]*(?:\\.[^"“”\\]*)*["“”]?', re.DOTALL)),
}
_OPENER = {"}": "{", "]": "["}


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """The words."""
        return text[self.start : self.end]

    def moved(self, by: int) -> "Passage":
        """The same words in a text in which this one begins there."""
        return Passage(self.start + by, self.end + by)


def passage_of(block: str, accepted: Sequence[Event], number: int, document: Document) -> Passage | None:
    """Where the accepted event of this number stands in the block; None where nothing in it reads so.

    `document` is the one that the block was judged on: of two events that read the same, one may have been refused.
    """
    wanted = _comparable(accepted[number])
    for reading in _readings(block):
        found = [(reading.place(bare.start, bare.end), bare.value) for bare in _objects(reading.text)]
        alike = [place for place, value in found if _comparable(value) == wanted]
        if alike:
            return alike[0] if len(alike) == 1 else _accepted_one(found, wanted, number, document) or alike[0]
    return None


def block_in(raw_reply: str, block: str, removals: Iterable[Removal]) -> Passage | None:
    """Where the block that was judged stands in the reply that it was cut from; None where it does not.

    Of several places that read the same it is the last with which a removal ends, but for the fence: what was removed
    with more behind it did not parse.
    """
    places: list[Passage] = []
    ends: list[Passage] = []
    for removal in removals:
        start = raw_reply.rfind(block, removal.start, removal.end) if block else -1
        if start >= 0:
            places.append(Passage(start, start + len(block)))
            if _FENCE_END.fullmatch(raw_reply, places[-1].end, removal.end):
                ends.append(places[-1])
    return next(reversed(ends or places), None)


def _accepted_one(found: Sequence[tuple[Passage, Any]], wanted: str, number: int, document: Document) -> Passage | None:
    """The object that was the accepted event of this number when they were judged one after another."""
    seen = -1
    for place, value in found:
        judgement = judge(document, (value,), by="narrator")
        document, seen = judgement.document, seen + len(judgement.accepted)
        if judgement.accepted and seen == number:
            return place if _comparable(value) == wanted else None
    return None


def _comparable(value: Any) -> str:
    """Equal for what JSON takes for equal; halves of characters read as they are stored."""
    return without_lone_surrogates(json.dumps(value, sort_keys=True, ensure_ascii=False))[0]


# Readings of a block


@dataclass(frozen=True)
class _Reading:
    """A text that was made of a block, and for each of its characters, and its end, where that stands there."""

    text: str
    at: Sequence[int]

    def place(self, start: int, end: int) -> Passage:
        return Passage(self.at[start], self.at[end])


def _readings(block: str) -> Iterator[_Reading]:
    """The block without the marks of a quotation; then what its strings say, where they could hold an object."""
    plain = _replaced(_Reading(block, range(len(block) + 1)), _QUOTE_MARKS, lambda _: "")
    yield plain
    for mark, start, end in _tokens(plain.text):
        if mark in _STRING_END and plain.text.find("{", start, end) >= 0:
            inside = _Reading(plain.text[start + 1 : end - 1], plain.at[start + 1 : end])
            yield _replaced(inside, _ESCAPE, _unescaped)


def _replaced(reading: _Reading, pattern: "re.Pattern[str]", replacement: Any) -> _Reading:
    """What the pattern finds replaced by at most one character, which stands where it stood."""
    text: list[str] = []
    at: list[int] = []
    here = 0
    for found in pattern.finditer(reading.text):
        new = replacement(found)
        text += (reading.text[here : found.start()], new)
        at += reading.at[here : found.start()]
        at += reading.at[found.start() : found.start() + len(new)]
        here = found.end()
    return _Reading("".join((*text, reading.text[here:])), [*at, *reading.at[here:]])


def _unescaped(escape: "re.Match[str]") -> str:
    code, character = escape.groups()
    return chr(int(code, 16)) if code else _ESCAPED.get(character, character)


# Objects in a text


@dataclass
class _Open:
    """A bracket that was opened; `inside` is the innermost object around it, `bare` an object with none in it."""

    mark: str
    start: int
    inside: "_Open | None"
    bare: bool = True


@dataclass(frozen=True)
class _Bare:
    """An object without objects in it, as all events are."""

    start: int
    end: int
    value: Any


@dataclass
class _Objects:
    """The brackets of a text so far. Closers that are missing are supplied where an outer one closes."""

    text: str
    repaired: list[str]
    stack: list[_Open] = field(default_factory=list)
    opened: Counter[str] = field(default_factory=Counter)
    comma: int | None = None

    def read(self) -> Iterator[_Bare]:
        """The objects, in their order."""
        for mark, start, end in _tokens(self.text):
            if mark in _STRING_END:
                self._delimit(start, end)
            elif mark == ",":
                self.comma = start
            elif mark in _OPENER:
                yield from self._close(mark, start)
            else:
                self._open(mark, start)
        yield from self._supply(len(self.text.rstrip()), None)

    def _delimit(self, start: int, end: int) -> None:
        if start < end - 1 and self.text[end - 1] in _STRING_END:
            self.repaired[start] = self.repaired[end - 1] = '"'

    def _open(self, mark: str, start: int) -> None:
        above = self.stack[-1] if self.stack else None
        inside = above.inside if above is not None and above.mark == "[" else above
        if mark == "{" and inside is not None:
            inside.bare = False
        self.stack.append(_Open(mark, start, inside))
        self.opened[mark] += 1

    def _close(self, mark: str, at: int) -> Iterator[_Bare]:
        if self.comma is not None and not self.text[self.comma + 1 : at].strip():
            self.repaired[self.comma] = " "
        self.comma = None
        if self.opened[_OPENER[mark]]:
            yield from self._supply(at, _OPENER[mark])

    def _supply(self, at: int, until: str | None) -> Iterator[_Bare]:
        """Closes all that is open, up to the innermost of the mark; without one, everything."""
        closers = ""
        while self.stack:
            last = self.stack.pop()
            self.opened[last.mark] -= 1
            closers += "]" if last.mark == "[" else "}"
            if last.mark == "{":
                if last.bare:
                    yield from self._parsed(last.start, at, closers, closed=last.mark == until)
                closers = ""
            if last.mark == until:
                return

    def _parsed(self, start: int, at: int, closers: str, *, closed: bool) -> Iterator[_Bare]:
        try:
            value = json.loads("".join(self.repaired[start:at]) + closers, strict=False)
            _comparable(value)
        except (ValueError, RecursionError):
            return
        yield _Bare(start, at + 1 if closed else start + len(self.text[start:at].rstrip()), value)


def _objects(text: str) -> Iterator[_Bare]:
    return _Objects(text, list(text)).read()


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Brackets, commas and whole strings in order, a string under the mark that opens it."""
    at = 0
    while (found := _TOKEN.search(text, at)) is not None:
        mark, start, at = found[0], found.start(), found.end()
        if mark in _STRING_END:
            end = _STRING_END[mark].match(text, at)
            at = end.end() if end is not None else len(text)
        yield mark, start, at
