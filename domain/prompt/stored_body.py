"""Request bodies, stored as what differs from an earlier one, and rebuilt to the byte.

Two prompts of one story share most of their bytes: the front, while the floor holds, and a stretch of the middle when
it has moved. So a body is stored as stretches of the earlier body and the literal text between them.
"""

import base64
import hashlib
import zlib
from dataclasses import dataclass, field

from domain.prompt.events import StoredBody

WHOLE_EVERY = 32
"""Every so many bodies one is stored whole, so that rebuilding one reads at most that many records."""

_ANCHOR = 48
_SHORTEST = 96


@dataclass
class _Difference:
    copies: list[tuple[int, int]] = field(default_factory=list)
    literals: list[int] = field(default_factory=list)
    literal: bytearray = field(default_factory=bytearray)

    def copy(self, start: int, length: int, since: int) -> None:
        self.literals.append(len(self.literal) - since)
        self.copies.append((start, length))


def store(body: bytes, base: bytes | None = None, base_name: str | None = None, base_chain: int = 0) -> StoredBody:
    """The body as a difference from `base`, or whole without one or when the chain of differences is long enough.

    It is rebuilt and compared before it is returned: a record that cannot be read back is never written.
    """
    whole = base is None or base_name is None or base_chain + 1 >= WHOLE_EVERY
    difference = _Difference(literal=bytearray(body)) if whole or base is None else _difference(body, base)
    stored = StoredBody(
        sha256=hashlib.sha256(body).hexdigest(),
        length=len(body),
        base=None if whole else base_name,
        chain=0 if whole else base_chain + 1,
        copies=tuple(difference.copies),
        literals=tuple(difference.literals),
        literal=base64.b85encode(zlib.compress(bytes(difference.literal), 9)).decode("ascii"),
    )
    if rebuild(stored, None if whole else base) != body:
        raise AssertionError("a stored body does not rebuild to its bytes")
    return stored


def rebuild(stored: StoredBody, base: bytes | None) -> bytes:
    """The exact bytes. ValueError when they do not have the recorded hash, or when the base is missing."""
    if stored.base is not None and base is None:
        raise ValueError(f"the body is stored as a difference from {stored.base}, which is missing")
    literal = zlib.decompress(base64.b85decode(stored.literal))
    pieces, at = [], 0
    for (start, length), before in zip(stored.copies, stored.literals, strict=True):
        pieces += [literal[at : at + before], (base or b"")[start : start + length]]
        at += before
    body = b"".join([*pieces, literal[at:]])
    if hashlib.sha256(body).hexdigest() != stored.sha256:
        raise ValueError("the rebuilt body does not have the recorded SHA-256")
    return body


def common_prefix(one: bytes, other: bytes) -> int:
    """How many bytes the two have in common from their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _difference(body: bytes, base: bytes) -> _Difference:
    """Stretches of `base` in `body`, in order, each found after the one before; the rest is literal."""
    difference, at, behind, since = _Difference(), 0, 0, 0
    while at < len(body):
        start, length = _stretch(body, at, base, behind)
        if length >= _SHORTEST:
            difference.copy(start, length, since)
            since = len(difference.literal)
            at, behind = at + length, start + length
        else:
            step = _next_break(body, at)
            difference.literal += body[at:step]
            at = step
    return difference


def _stretch(body: bytes, at: int, base: bytes, behind: int) -> tuple[int, int]:
    anchor = body[at : at + _ANCHOR]
    start = behind if base[behind : behind + len(anchor)] == anchor else base.find(anchor, behind)
    return (start, common_prefix(body[at:], base[start:])) if start >= 0 else (0, 0)


def _next_break(body: bytes, at: int) -> int:
    """Where the next message begins: the only places at which a new stretch is looked for."""
    found = body.find(b'{"role"', at + 1)
    return found if found >= 0 else len(body)
