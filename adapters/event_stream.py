"""Takes a model server's reply apart into the JSON documents it is made of, over bytes, however they are cut.

httpx-sse was considered. Its decoder is right about U+2028 and split CRLF, but it keeps a line without end in memory,
drops an event that the end of the stream leaves unfinished, reads text in whatever charset the header claims, and does
not know the field `error:`, by which llama.cpp told its errors until late in 2025 (its pull request 16109).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from domain.errors import ModelReplyIncomplete

MAX_EVENT_BYTES = 16 * 2**20
DONE = b"[DONE]"

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class ServerEvent:
    """One event: its name, empty for most, and its lines of data."""

    data: tuple[bytes, ...]
    name: bytes = b""


@dataclass
class EventDecoder:
    """Server-sent events. A line ends with CR, LF or CRLF and with nothing else; comments and unknown fields are dropped.

    Raises ModelReplyIncomplete for an event of more than `limit` bytes.
    """

    limit: int = MAX_EVENT_BYTES
    _line: bytearray = field(default_factory=bytearray)
    _data: list[bytes] = field(default_factory=list)
    _name: bytes = b""
    _held: int = 0
    _after_cr: bool = False

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that these bytes complete."""
        for line in self._lines(chunk):
            yield from self._take(line)

    def flush(self) -> Iterator[ServerEvent]:
        """The event that the end of the stream left unfinished, if any: some servers end it without an empty line."""
        yield from self._take(bytes(self._line))
        yield from self._take(b"")

    def _lines(self, chunk: bytes) -> Iterator[bytes]:
        rest_of_crlf = self._after_cr and chunk.startswith(b"\n")
        self._after_cr = chunk.endswith(b"\r")
        *ended, unfinished = _LINE_END.split(chunk.removeprefix(b"\n") if rest_of_crlf else chunk)
        for line in ended:
            yield bytes(self._line) + line
            self._line.clear()
        self._line += unfinished
        self._bound(len(self._line))

    def _take(self, line: bytes) -> Iterator[ServerEvent]:
        if line:
            self._bound(len(line))
            self._keep(*_field(line))
            return
        if self._data:
            yield ServerEvent(tuple(self._data), self._name)
        self._data, self._name, self._held = [], b"", 0

    def _keep(self, name: bytes, value: bytes) -> None:
        if name in {b"event", b"error"}:
            self._name = value if name == b"event" else name
        if name in {b"data", b"error"}:
            self._data.append(value)
            self._held += len(value)

    def _bound(self, more: int) -> None:
        if self._held + more > self.limit:
            raise ModelReplyIncomplete(f"one event of it is longer than {self.limit:,} bytes")


def _field(line: bytes) -> tuple[bytes, bytes]:
    """A line's field and value. Some proxies pass a backend's JSON on bare, in the middle of a stream: that is data."""
    bare = line.removeprefix(_BYTE_ORDER_MARK)
    if bare.startswith(b"{"):
        return b"data", bare
    name, _, value = bare.partition(b":")
    return name, value.removeprefix(b" ")


@dataclass
class WholeBody:
    """One JSON document in place of a stream: some servers do not stream, and some refuse with a 200."""

    limit: int = MAX_EVENT_BYTES
    _body: bytearray = field(default_factory=bytearray)

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Nothing yet. Raises ModelReplyIncomplete for a document of more than `limit` bytes."""
        self._body += chunk
        if len(self._body) > self.limit:
            raise ModelReplyIncomplete(f"it is longer than {self.limit:,} bytes")
        yield from ()

    def flush(self) -> Iterator[ServerEvent]:
        """The document, and then the end, which a document has by itself."""
        yield ServerEvent((bytes(self._body),))
        yield ServerEvent((DONE,))


@dataclass
class ReplyDecoder:
    """A reply of either kind: a document if it opens with a brace, else a stream of events."""

    limit: int = MAX_EVENT_BYTES
    _kind: EventDecoder | WholeBody | None = None

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that these bytes complete. Raises ModelReplyIncomplete for one of more than `limit` bytes."""
        if self._kind is None:
            chunk = chunk.lstrip(_BYTE_ORDER_MARK + b" \t\r\n")
            if not chunk:
                return
            self._kind = WholeBody(self.limit) if chunk.startswith(b"{") else EventDecoder(self.limit)
        yield from self._kind.feed(chunk)

    def flush(self) -> Iterator[ServerEvent]:
        """What the end of the reply completes."""
        if self._kind is not None:
            yield from self._kind.flush()
