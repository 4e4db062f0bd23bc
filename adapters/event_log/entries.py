"""The log as views read it: of each event its place, and of its payload what the view has a use for.

Most of the time of building a view goes into reading payloads. What is not asked for is not read from the disk.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Connection, Select, case, null, select

from adapters.event_log.tables import event
from domain.event import EventCatalogue, LogEntry

Reads = Mapping[str, type[BaseModel] | None]


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
    return [_entry(events, reads, row) for row in connection.execute(query)]


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


def _entry(events: EventCatalogue, reads: Reads, row: Sequence[Any]) -> LogEntry:
    position, stream, version, topic, schema_version, at, turn, payload = row
    read: BaseModel | None = None
    if payload is not None:
        model = reads.get(topic, events.topics.get(topic))
        if model is None or model is events.topics.get(topic):
            read = events.decode(topic, schema_version, payload, stream=stream, version=version)
        else:
            read = events.outline(model, topic, schema_version, payload, stream=stream, version=version)
    return LogEntry(position, stream, topic, at, turn, read)
