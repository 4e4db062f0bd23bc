"""The one serializer: sections and history to messages to the exact bytes of a request, and where each section stands."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import orjson

from domain.prompt import texts
from domain.prompt.events import Mode
from domain.prompt.sections import HistoryNode, Section, SectionName
from domain.prompt.wording import as_prompted

Role = Literal["system", "user", "assistant"]
_BREAK = b"\\n\\n"


@dataclass(frozen=True)
class Piece:
    """A text in a message, and the section that it belongs to; `transport` for what the client itself adds."""

    section: SectionName | Literal["transport"]
    text: str


@dataclass(frozen=True)
class Message:
    """A chat message made of pieces, with a blank line between them."""

    role: Role
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Body:
    """The bytes of a request, and the byte ranges in which each section's text stands (as JSON string content)."""

    data: bytes
    spans: Mapping[str, tuple[tuple[int, int], ...]]


def messages_of(
    static: Sequence[Section], history: Sequence[HistoryNode], live: Sequence[Section]
) -> tuple[Message, ...]:
    """One system message; actions as user and narrations as assistant messages, equal neighbours merged; the live
    sections at the end of the last user message.
    """
    told = [_told(node) for node in history if node.text]
    begins_with_narration = bool(told) and told[0][0] == "assistant"
    opener = [_by_user(Piece("transport", texts.STORY_BEGINS))] if begins_with_narration else []
    tail = [_by_user(Piece(section.name, section.text)) for section in live]
    system = Message("system", tuple(Piece(section.name, section.text) for section in static))
    return (system, *_merged(opener + told + tail))


def _told(node: HistoryNode) -> tuple[Role, Piece]:
    return "user" if node.is_player else "assistant", Piece("history", as_prompted(node))


def _by_user(piece: Piece) -> tuple[Role, Piece]:
    return "user", piece


def _merged(pieces: Iterable[tuple[Role, Piece]]) -> Iterable[Message]:
    merged: list[Message] = []
    for role, piece in pieces:
        if merged and merged[-1].role == role:
            merged[-1] = Message(merged[-1].role, (*merged[-1].pieces, piece))
        else:
            merged.append(Message(role, (piece,)))
    return merged


def serialize(parameters: Mapping[str, object], messages: Sequence[Message], mode: Mode) -> Body:
    """The request body. Parameters stand first and messages last, so that a longer story only adds to the end."""
    writer = _Writer(parameters)
    if mode == "completion":
        writer.prompt([piece for message in messages for piece in message.pieces])
    else:
        writer.messages(messages)
    return Body(bytes(writer.data), {name: tuple(spans) for name, spans in writer.spans.items()})


class _Writer:
    """Writes JSON piece by piece, so that it knows where each piece went."""

    def __init__(self, parameters: Mapping[str, object]) -> None:
        self.data = bytearray(orjson.dumps(dict(parameters))[:-1])
        self.spans: dict[str, list[tuple[int, int]]] = {}

    def messages(self, messages: Sequence[Message]) -> None:
        self.data += b',"messages":['
        for index, message in enumerate(messages):
            self.data += b'%s{"role":"%s","content":"' % (b"," if index else b"", message.role.encode())
            self._pieces(message.pieces)
            self.data += b'"}'
        self.data += b"]}"

    def prompt(self, pieces: Sequence[Piece]) -> None:
        self.data += b',"prompt":"'
        self._pieces(pieces)
        self.data += _BREAK + b'"}'

    def _pieces(self, pieces: Sequence[Piece]) -> None:
        for index, piece in enumerate(pieces):
            self.data += _BREAK if index else b""
            start = len(self.data)
            self.data += orjson.dumps(piece.text)[1:-1]
            self.spans.setdefault(piece.section, []).append((start, len(self.data)))


def text_at(data: bytes, span: tuple[int, int]) -> str:
    """The text that stands at a byte range of a body. ValueError where the range is not within one string."""
    start, end = span
    text: str = orjson.loads(b'"' + data[start:end] + b'"')
    return text
