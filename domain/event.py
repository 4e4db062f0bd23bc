"""What an event is, and how stored bytes become one again."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict

from domain.errors import LogDamaged, StoreNewer

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
_Model = TypeVar("_Model", bound=BaseModel)


class DomainEvent(BaseModel):
    """Something that happened. Frozen, past tense, and stored under its `topic` for ever.

    `actor` is who made it happen (`player`, `narrator` or `fabula`), and is stored with each event.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    topic: ClassVar[str]
    schema_version: ClassVar[int] = 1
    actor: ClassVar[str] = "player"


@dataclass(frozen=True)
class Recorded:
    """An event with its place in the log.

    `position` is the place among all events, `version` the place in its own stream (from 1, without gaps). `at` is
    RFC 3339 in UTC. `payload_hash` is sha256 over the stored payload; `chain` links it to the stream's event before.
    """

    position: int
    stream: str
    version: int
    topic: str
    schema_version: int
    event_id: str
    at: str
    turn: str | None
    actor: str
    event: DomainEvent
    payload_hash: bytes
    chain: bytes


Reads = Mapping[str, type[BaseModel] | None]
"""Topic to what a view reads of its events: the event's own class, an outline of it, or None where its place says enough."""


class LogEntry(NamedTuple):
    """An event as a view meets it: its place, and what the view reads of it.

    That is the event itself, or an outline (a model of the few fields that the view needs), or nothing. Most of the time
    of a rebuild goes into reading payloads, so a view does not read what it has no use for.
    """

    position: int
    stream: str
    topic: str
    at: str
    turn: str | None
    event: BaseModel | None


def canonical_json(value: object) -> bytes:
    """JSON as it is hashed: sorted keys, no spaces, UTF-8, NaN and infinities refused (ValueError)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


class EventCatalogue:
    """The allow-list of topics. What is not in it cannot be written and is never decoded.

    `upcasters` maps (topic, schema version) to the function that turns a payload of that version into one of the next.
    """

    def __init__(
        self, events: Iterable[type[DomainEvent]], upcasters: Mapping[tuple[str, int], Upcaster] | None = None
    ) -> None:
        self._upcasters = dict(upcasters or {})
        self._events: dict[str, type[DomainEvent]] = {}
        for event in events:
            if event.topic in self._events:
                raise ValueError(f"two events claim the topic {event.topic!r}")
            missing = [v for v in range(1, event.schema_version) if (event.topic, v) not in self._upcasters]
            if missing:
                raise ValueError(f"{event.topic!r} has no upcaster from schema {missing}")
            self._events[event.topic] = event

    @property
    def topics(self) -> Mapping[str, type[DomainEvent]]:
        """Topic to event class."""
        return self._events

    def encode(self, event: DomainEvent) -> bytes:
        """The payload as stored: compact JSON with sorted keys. ValueError for an event that is not in the list."""
        if self._events.get(event.topic) is not type(event):
            raise ValueError(f"{type(event).__name__} is not in the catalogue of events")
        return orjson.dumps(event.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)

    def decode(
        self, topic: str, schema_version: int, payload: bytes, *, stream: str = "", version: int = 0
    ) -> DomainEvent:
        """The event of a stored payload, brought to today's schema.

        Raises StoreNewer for a topic or schema of a newer program, LogDamaged for bytes that are no such event.
        """
        event_class = self._class_of(topic, schema_version, stream, version)
        try:
            return event_class.model_validate(self._brought_up(event_class, schema_version, payload))
        except _UNINTELLIGIBLE as error:
            raise _no_such(topic, stream, version, error) from error

    def outline(
        self,
        model: type[_Model],
        topic: str,
        schema_version: int,
        payload: bytes,
        *,
        stream: str = "",
        version: int = 0,
    ) -> _Model:
        """Those fields of a stored payload that the model has, whatever else is in it. Raises as `decode`."""
        event_class = self._class_of(topic, schema_version, stream, version)
        try:
            if schema_version == event_class.schema_version:
                return model.model_validate_json(payload)
            return model.model_validate(self._brought_up(event_class, schema_version, payload))
        except _UNINTELLIGIBLE as error:
            raise _no_such(topic, stream, version, error) from error

    def _class_of(self, topic: str, schema_version: int, stream: str, version: int) -> type[DomainEvent]:
        event_class = self._events.get(topic)
        if event_class is None:
            raise StoreNewer(f"an event of the kind {topic!r}")
        if schema_version > event_class.schema_version:
            raise StoreNewer(f"{topic!r} in schema {schema_version}")
        if schema_version < 1:
            raise LogDamaged(stream, version, f"{topic!r} never had a schema {schema_version}")
        return event_class

    def _brought_up(self, event_class: type[DomainEvent], schema_version: int, payload: bytes) -> dict[str, Any]:
        data: dict[str, Any] = orjson.loads(payload)
        for step in range(schema_version, event_class.schema_version):
            data = self._upcasters[event_class.topic, step](data)
        return data


# Upcasters trust the schema they are for; bytes that are not it make them stumble in any of these ways.
_UNINTELLIGIBLE = (ValueError, LookupError, TypeError, AttributeError)


def _no_such(topic: str, stream: str, version: int, error: Exception) -> LogDamaged:
    return LogDamaged(stream, version, f"its payload is no {topic!r} ({type(error).__name__})")
