"""The log as views read it: of each event its place, and of its payload what the view has a use for.

Most of the time of building a view goes into reading payloads. What is not asked for is not read from the disk.
"""

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from sqlalchemy import Connection, Select, case, null, select

from adapters.event_log.tables import event
from domain.event import EventCatalogue, LogEntry, Reads


def entries(
    connection: Connection,
    events: EventCatalogue,
    reads: Reads,
    *,
    after: int,
    limit: int,
    stream: str | None = None,
    up_to: int | None = None,
) -> list[LogEntry]:
    """The events of these topics, or of all and whole, after a position and up to another, in order of position."""
    query = _of(_columns(reads), after, tuple(reads), stream).limit(limit)
    query = query if up_to is None else query.where(event.c.position <= up_to)
    read = _Reader(events, reads)
    with connection.execute(query) as result:
        # As the driver has them: hundreds of thousands of rows need no names, and no type here is other than it is stored.
        return [read(*row) for row in result.cursor.fetchall()]


def next_position(connection: Connection, after: int, topics: Sequence[str]) -> int | None:
    """The position of the first event of these topics, or of all, after a position."""
    position: int | None = connection.execute(_of(select(event.c.position), after, topics, None).limit(1)).scalar()
    return position


def _columns(reads: Reads) -> Select[Any]:
    wanted = [topic for topic, model in reads.items() if model is not None]
    payload = (
        event.c.payload
        if len(wanted) == len(reads)
        else case((event.c.topic.in_(wanted), event.c.payload), else_=null())
    )
    place = (event.c.position, event.c.stream, event.c.version, event.c.topic, event.c.schema_version)
    return select(*place, event.c.at, event.c.turn, payload)


def _of(query: Select[Any], after: int, topics: Sequence[str], stream: str | None) -> Select[Any]:
    # Within a stream the order is the same, and by version there is nothing to sort.
    query = query.where(event.c.position > after).order_by(event.c.position if stream is None else event.c.version)
    query = query if stream is None else query.where(event.c.stream == stream)
    return query.where(event.c.topic.in_(topics)) if topics else query


class _Reader:
    """Makes entries of rows, as these topics are to be read."""

    def __init__(self, events: EventCatalogue, reads: Reads) -> None:
        self._events = events
        # Those that are not read as the events that they are; and of what is stored in today's schema, how at once.
        self._outlines: dict[str, type[BaseModel]] = {}
        self._at_once: dict[tuple[str, int], Callable[[bytes], BaseModel]] = {}
        for topic, model in reads.items():
            event_class = events.topics.get(topic)
            if model is not None and event_class is not None and model is not event_class:
                self._outlines[topic] = model
                self._at_once[topic, event_class.schema_version] = model.model_validate_json

    def __call__(
        self,
        position: int,
        stream: str,
        version: int,
        topic: str,
        schema_version: int,
        at: str,
        turn: str | None,
        payload: bytes | None,
    ) -> LogEntry:
        if payload is None:
            return LogEntry(position, stream, topic, at, turn, None)
        at_once = self._at_once.get((topic, schema_version))
        if at_once is not None:
            try:
                return LogEntry(position, stream, topic, at, turn, at_once(payload))
            except ValidationError:  # which is told properly below
                pass
        return LogEntry(position, stream, topic, at, turn, self._read(stream, version, topic, schema_version, payload))

    def _read(self, stream: str, version: int, topic: str, schema_version: int, payload: bytes) -> BaseModel:
        outline = self._outlines.get(topic)
        if outline is None:
            return self._events.decode(topic, schema_version, payload, stream=stream, version=version)
        return self._events.outline(outline, topic, schema_version, payload, stream=stream, version=version)
