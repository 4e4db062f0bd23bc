"""Request bodies, stored as what differs from an earlier one, and rebuilt to the byte.

Two prompts of one story share most of their bytes: the front, while the floor holds, and a stretch of the middle when
it has moved. So a body is stored as stretches of the earlier body and the literal text between them. That text is what
was said last, and the log holds it already: it is compressed with the payloads of those events, and with the end of the
earlier body, as its dictionary. `make bench` prints what a record then takes.
"""

import base64
import hashlib
import re
import zlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from domain.prompt.events import StoredBody

WHOLE_EVERY = 32
"""Every so many bodies one is stored whole, so that rebuilding one reads at most that many records."""

_ANCHOR = 48
_SHORTEST = 96
_BREAK = re.compile(rb'\{"role"|\\n\\n')
"""Where a message or a piece of one begins: the only places at which a new stretch is looked for."""

_DICTIONARY = 32_768
"""As much as the compression can look back."""

_EFFORT = 6
"""More saves ten bytes a record, and takes seconds over a body that is made of two letters."""


@dataclass(frozen=True)
class Words:
    """An event that holds some of a story's text: its version in the campaign's stream, and its stored payload."""

    version: int
    payload: bytes


@dataclass
class _Difference:
    copies: list[tuple[int, int]] = field(default_factory=list)
    literals: list[int] = field(default_factory=list)
    literal: bytearray = field(default_factory=bytearray)

    def copy(self, start: int, length: int, since: int) -> None:
        self.literals.append(len(self.literal) - since)
        self.copies.append((start, length))


def store(
    body: bytes,
    base: bytes | None = None,
    base_name: str | None = None,
    base_chain: int = 0,
    words: Sequence[Words] = (),
) -> StoredBody:
    """The body as a difference from `base`, or whole without one or when the chain of differences is long enough.

    `words` are the events whose text is new in it. It is rebuilt and compared before it is returned: a record that
    cannot be read back is never written.
    """
    said = b"".join(event.payload for event in words)
    whole = base is None or base_name is None or base_chain + 1 >= WHOLE_EVERY
    before = b"" if whole or base is None else base
    difference = _Difference(literal=bytearray(body)) if whole else _difference(body, before)
    stored = StoredBody(
        sha256=hashlib.sha256(body).hexdigest(),
        length=len(body),
        base=None if whole else base_name,
        words=tuple(event.version for event in words),
        chain=0 if whole else base_chain + 1,
        copies=tuple(difference.copies),
        literals=tuple(difference.literals),
        literal=_packed(bytes(difference.literal), _dictionary(before, said)),
    )
    if rebuild(stored, None if whole else before, said) != body:
        raise AssertionError("a stored body does not rebuild to its bytes")
    return stored


def rebuild(stored: StoredBody, base: bytes | None, said: bytes = b"") -> bytes:
    """The exact bytes. `said` is the payloads of the events that `words` names, in that order, joined.

    ValueError when the bytes do not have the recorded hash, or when the base is missing.
    """
    if stored.base is not None and base is None:
        raise ValueError(f"the body is stored as a difference from {stored.base}, which is missing")
    before = base if stored.base is not None and base is not None else b""
    literal = _unpacked(stored, _dictionary(before, said))
    pieces, at = [], 0
    for (start, length), ahead in zip(stored.copies, stored.literals, strict=True):
        pieces += [literal[at : at + ahead], before[start : start + length]]
        at += ahead
    body = b"".join([*pieces, literal[at:]])
    if hashlib.sha256(body).hexdigest() != stored.sha256:
        raise ValueError("the rebuilt body does not have the recorded SHA-256")
    return body


def common_prefix(one: bytes, other: bytes) -> int:
    """How many bytes the two have in common from their start."""
    return _in_common(one, 0, other, 0)


def _dictionary(base: bytes, said: bytes) -> bytes:
    """What the compression looks back into: the nearest is what it finds most cheaply."""
    return (base[-_DICTIONARY:] + said)[-_DICTIONARY:]


def _packed(literal: bytes, dictionary: bytes) -> str:
    packer = zlib.compressobj(_EFFORT, zdict=dictionary) if dictionary else zlib.compressobj(_EFFORT)
    return base64.b85encode(packer.compress(literal) + packer.flush()).decode("ascii")


def _unpacked(stored: StoredBody, dictionary: bytes) -> bytes:
    """The literal text. Never more than the body's length is unpacked, whatever the record says."""
    unpacker = zlib.decompressobj(zdict=dictionary) if dictionary else zlib.decompressobj()
    try:
        literal = unpacker.decompress(base64.b85decode(stored.literal), stored.length + 1)
    except zlib.error as error:
        raise ValueError(f"the body's text cannot be unpacked ({error})") from error
    whole = unpacker.eof and not unpacker.unused_data
    if not whole or len(literal) + sum(length for _, length in stored.copies) != stored.length:
        raise ValueError("the rebuilt body does not have the recorded length")
    return literal


def _difference(body: bytes, base: bytes) -> _Difference:
    """Stretches of `base` in `body`, and the rest as literal text. Time grows with the lengths, never their product."""
    difference, anchors, at, behind, since = _Difference(), _anchors(base), 0, 0, 0
    while at < len(body):
        start, length = _stretch(body, at, base, behind, anchors)
        if length >= _SHORTEST:
            difference.copy(start, length, since)
            since = len(difference.literal)
            at, behind = at + length, start + length
        else:
            step = _next_break(body, at)
            difference.literal += body[at:step]
            at = step
    return difference


def _anchors(base: bytes) -> Mapping[bytes, Sequence[int]]:
    """The first bytes after each break of the base, and where they stand, in order."""
    places: dict[bytes, list[int]] = {}
    for found in _BREAK.finditer(base):
        places.setdefault(base[found.start() : found.start() + _ANCHOR], []).append(found.start())
    return places


def _stretch(body: bytes, at: int, base: bytes, behind: int, anchors: Mapping[bytes, Sequence[int]]) -> tuple[int, int]:
    """A stretch of the base that stands at this place of the body: from where the last one ended, or from a break."""
    anchor = body[at : at + _ANCHOR]
    if base.startswith(anchor, behind):
        return behind, _in_common(body, at, base, behind)
    places = anchors.get(anchor, ())
    if not places:
        return 0, 0
    start = places[bisect_left(places, behind) % len(places)]
    return start, _in_common(body, at, base, start)


def _in_common(one: bytes, at: int, other: bytes, start: int) -> int:
    """How many bytes are equal from the two places on, in time that grows with their number only."""
    length, step, most = 0, _ANCHOR, min(len(one) - at, len(other) - start)
    while length < most and (one[at + length : at + length + step] == other[start + length : start + length + step]):
        length, step = length + step, step * 2
    low, high = min(length, most), min(length + step, most)
    while low < high:
        middle = (low + high + 1) // 2
        if one[at + low : at + middle] == other[start + low : start + middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _next_break(body: bytes, at: int) -> int:
    found = _BREAK.search(body, at + 1)
    return found.start() if found else len(body)
