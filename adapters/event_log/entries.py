"""The log as views read it: of each event its place, and of its payload what the view has a use for.

Most of the time of building a view goes into reading payloads. What is not asked for is not read from the disk.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from sqlalchemy import Connection, Select, case, null, select

from adapters.event_log.tables import IS_RARE, RARE_TOPICS, event
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
    reader = _Reader(events, reads)
    with connection.execute(query) as result:
        # As the driver has them: hundreds of thousands of rows need no names, and no type here is other than it is stored.
        return reader.entries(result.cursor.fetchall())


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
    query = query.where(event.c.topic.in_(topics)) if topics else query
    return query.where(IS_RARE) if topics and stream is None and set(topics) <= set(RARE_TOPICS) else query


class _Reader:
    """Makes entries of rows, as these topics are to be read."""

    def __init__(self, events: EventCatalogue, reads: Reads) -> None:
        self._events = events
        # Those that are not read as the events that they are; and of what is stored in today's schema, how at once.
        self._outlines: dict[str, type[BaseModel]] = {}
        self._at_once: dict[tuple[str, int], Callable[[bytes], BaseModel]] = {}
        for topic, event_class in events.topics.items():
            model = reads.get(topic) or event_class
            # What `model_validate_json` calls, without the call.
            self._at_once[topic, event_class.schema_version] = model.__pydantic_validator__.validate_json
            if model is not event_class:
                self._outlines[topic] = model

    def entries(self, rows: Iterable[Sequence[Any]]) -> list[LogEntry]:
        """An entry for each row. One loop, and not a function for each: most of the time of a rebuild passes here."""
        at_once, found = self._at_once, list[LogEntry]()
        for position, stream, version, topic, schema_version, at, turn, payload in rows:
            read: BaseModel | None = None
            if payload is not None:
                try:
                    read = at_once[topic, schema_version](payload)
                except (KeyError, ValidationError):  # of another schema, or damaged, which is told properly there
                    read = self._read(stream, version, topic, schema_version, payload)
            found.append(LogEntry(position, stream, topic, at, turn, read))
        return found

    def _read(self, stream: str, version: int, topic: str, schema_version: int, payload: bytes) -> BaseModel:
        outline = self._outlines.get(topic)
        if outline is None:
            return self._events.decode(topic, schema_version, payload, stream=stream, version=version)
        return self._events.outline(outline, topic, schema_version, payload, stream=stream, version=version)
