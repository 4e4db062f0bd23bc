"""Reads what a model server says: the chunks of a streamed completion, or one completion that is not streamed.

`ReplyReader` takes the bytes of a 200 as they arrive. It holds no connection and no clock.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from adapters.event_stream import DONE, MAX_EVENT_BYTES, ReplyDecoder, ServerEvent
from adapters.server_refusal import reason_in, reported_error
from domain.errors import ModelReplyIncomplete
from domain.ports import Ended, Said, Usage

MAX_REPLY_BYTES = 256 * 2**20

_PINGS = frozenset({b"ping", b"heartbeat", b"keepalive", b"keep-alive"})
_FIRST = (None, 0, "0")
_SURROGATE = re.compile("[\ud800-\udfff]")
_HIGH_SURROGATES = ("\ud800", "\udbff")


class ServerError(Exception):
    """The server reported an error in a reply that had begun as a success. Its text is the server's reason."""


@dataclass(repr=False)  # a traceback that shows variables is not to show what a server said
class ReplyReader:
    """One reply, from its first byte to its last. Feed it until `done` or the end of the body, then `finish` it.

    `heard` counts the events; comments and pings are not heard. `text` and `reasoning` are what was said so far.
    Each method raises ServerError where the server reports an error, and ModelReplyIncomplete for what cannot be read.
    """

    event_limit: int = MAX_EVENT_BYTES
    reply_limit: int = MAX_REPLY_BYTES
    done: bool = False
    heard: int = 0
    _bytes: int = 0
    _finish_reason: str | None = None
    _usage: Usage = field(default_factory=Usage)
    _decoder: ReplyDecoder = field(init=False)
    _text: "_Channel" = field(init=False)
    _reasoning: "_Channel" = field(init=False)
    _declined: "_Channel" = field(init=False)

    def __post_init__(self) -> None:
        self._decoder = ReplyDecoder(self.event_limit)
        self._text = _Channel()
        self._reasoning = _Channel()
        self._declined = _Channel()

    @property
    def text(self) -> str:
        return "".join(self._text.pieces)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning.pieces)

    @property
    def complete(self) -> bool:
        """Whether the server has said that the reply is at its end: by a finish reason, or by [DONE] alone."""
        return self.done or self._finish_reason is not None

    def feed(self, chunk: bytes) -> Iterator[Said]:
        """What these bytes say."""
        self._bytes += len(chunk)
        if self._bytes > self.reply_limit:
            raise ModelReplyIncomplete(f"it is longer than {self.reply_limit:,} bytes")
        for event in self._decoder.feed(chunk):
            yield from self._event(event)

    def finish(self) -> Iterator[Said]:
        """What the end of the body completes. A torn event after the end of the reply is let go."""
        try:
            for event in self._decoder.flush():
                yield from self._event(event)
        except ModelReplyIncomplete:
            if not self.complete:
                raise

    def ended(self) -> Ended:
        """The reply's end. Raises ModelReplyIncomplete when the server has not told it, ServerError for a mere refusal."""
        if self._declined.pieces and not self._text.pieces:
            raise ServerError(reason_in("".join(self._declined.pieces)))
        if self.complete:
            return Ended(self._finish_reason, self._usage)
        if not self.heard:
            raise ModelReplyIncomplete(
                "nothing that came from the server reads as a reply; is the endpoint's path right?"
            )
        raise ModelReplyIncomplete("the stream ended without a finish reason")

    def _event(self, event: ServerEvent) -> Iterator[Said]:
        if self.done or event.name in _PINGS:
            return
        for document in _documents(event):
            if self.done:
                return
            self.heard += 1
            yield from self._document(document, named_error=event.name == b"error")

    def _document(self, document: object, *, named_error: bool) -> Iterator[Said]:
        if document is DONE:
            self.done = True
        elif isinstance(document, str):
            raise ServerError(reason_in(document))
        elif isinstance(document, dict):
            yield from self._chunk(document, named_error=named_error)
        elif document is not None:
            raise ModelReplyIncomplete("an event of it is JSON, but not an object")

    def _chunk(self, content: Mapping[str, Any], *, named_error: bool) -> Iterator[Said]:
        error = reported_error(content, named=named_error)
        if error is not None:
            raise ServerError(error)
        if "usage" in content:
            self._usage = _updated(self._usage, usage_in(content["usage"]))
        choices = content.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index") in _FIRST:
                yield from self._choice(choice)

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[Said]:
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish_reason = reason
        part = _part(choice)
        said = Said(
            text=self._text.take(_text(part.get("content")) or _string(choice.get("text"))),
            reasoning=self._reasoning.take(_reasoning_in(part)),
        )
        self._declined.take(_string(part.get("refusal")))
        if said.text or said.reasoning:
            yield said
        if choice.get("error"):
            raise ServerError(reason_in(choice["error"]))


@dataclass
class _Channel:
    """The text or the reasoning, piece by piece.

    A server written in a language of UTF-16 strings may cut a character in two, each half an escape of its own: the
    first half waits for the second. A half that stays alone becomes U+FFFD, or nothing at the very end.
    """

    pieces: list[str] = field(default_factory=list)
    _half: str = ""

    def take(self, piece: str) -> str:
        """The whole characters that are known now."""
        joined, self._half = self._half + piece, ""
        if joined and _HIGH_SURROGATES[0] <= joined[-1] <= _HIGH_SURROGATES[1]:
            joined, self._half = joined[:-1], joined[-1]
        if _SURROGATE.search(joined):
            joined = joined.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if joined:
            self.pieces.append(joined)
        return joined


def _part(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a chat chunk (`delta`) or a whole chat reply (`message`) holds; nothing of a completion, which has a `text`."""
    part = choice.get("delta") or choice.get("message")
    return part if isinstance(part, dict) else {}


def _reasoning_in(part: Mapping[str, Any]) -> str:
    """Servers that rename the field send both for a while, with the same words."""
    told = _string(part.get("reasoning_content")) or _string(part.get("reasoning"))
    return told or "".join(_text(thought) for thought in _parts(part.get("content"), "thinking"))


def _text(content: object) -> str:
    """The text of a content: itself, or a list of parts `{"type": "text", "text"}`."""
    return _string(content) or "".join(_string(text) for text in _parts(content, "text"))


def _parts(content: object, kind: str) -> Iterator[object]:
    """What the parts of this kind hold. Mistral's reasoning comes as parts of the kind `thinking`, which hold parts."""
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == kind:
            yield part.get(kind)


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


_MOST_DIGITS = 4_000
_LARGEST_COUNT = 2**53 - 1
"""The largest count that is believed: beyond it not every reader of our JSON keeps a number exactly."""


def usage_in(usage: object) -> Usage:
    """The counts in a `usage` member, whatever that is. What is no positive integer counts as not told.

    None cached is told, and worth knowing: the server had to read everything anew.
    """
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    return Usage(
        prompt_tokens=_positive(usage.get("prompt_tokens")),
        completion_tokens=_positive(usage.get("completion_tokens")),
        cached_tokens=_counted(details.get("cached_tokens")) if isinstance(details, dict) else None,
    )


def _positive(value: object) -> int | None:
    return _counted(value) or None


def _counted(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _LARGEST_COUNT else None


def _updated(known: Usage, told: Usage) -> Usage:
    """The later figure wins: some servers repeat the usage in every chunk while it grows."""
    return Usage(
        prompt_tokens=told.prompt_tokens or known.prompt_tokens,
        completion_tokens=told.completion_tokens or known.completion_tokens,
        cached_tokens=known.cached_tokens if told.cached_tokens is None else told.cached_tokens,
    )


def _documents(event: ServerEvent) -> Iterator[object]:
    """The JSON documents of an event: its lines together, or, where a server forgot the empty lines, one each."""
    lines = [line for line in event.data if line.strip()]
    if not lines:
        return
    try:
        documents = [_parsed(b"\n".join(lines))]
    except ModelReplyIncomplete:
        if len(lines) == 1:
            raise
        documents = [_parsed(line) for line in lines]
    yield from documents


def _parsed(document: bytes) -> object:
    """The document; DONE itself for the mark of the end. Broken UTF-8 and half characters are let through."""
    if document.strip() == DONE:
        return DONE
    try:
        return orjson.loads(document)
    except orjson.JSONDecodeError:
        return _parsed_leniently(document)


def _parsed_leniently(document: bytes) -> object:
    try:
        return json.loads(document.decode("utf-8", "replace"), parse_int=_whole)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
    raise ModelReplyIncomplete(f"an event of it is not JSON: {reason}")


def _whole(digits: str) -> int | float:
    """A number of more digits than Python turns into an integer is a large one all the same."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)
