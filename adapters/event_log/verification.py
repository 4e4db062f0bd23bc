"""Walking the hash chain: the first event that does not fit, and what is missing at an end.

The chain shows damage and careless edits. It has no key, so it does not show a rewrite by someone who computes it
anew; against that, the head hash can be noted elsewhere and compared.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import NoneType

from sqlalchemy import Connection, Row, RowMapping, func, select, type_coerce
from sqlalchemy.types import NullType

from adapters.event_log import chain, lines
from adapters.event_log.tables import event, stream_head
from domain.campaign.events import CampaignDeleted
from domain.errors import StoreFailure
from domain.event import DomainEvent, EventCatalogue, canonical_json
from domain.log import FirstBad, Verification
from domain.prompt.events import PromptSent
from domain.prompt.stored_body import rebuild

# SQLite keeps any kind of value in any column, and a careless edit leaves text where bytes were: it is read as it is.
_AS_STORED = select(*[type_coerce(column, NullType()).label(column.name) for column in event.c])
_KINDS = {
    column.name: (column.type.python_type, NoneType) if column.nullable else (column.type.python_type,)
    for column in event.c
}


@dataclass
class _Walk:
    """What has been seen so far: each stream's end, each stream's last prompt body, what was deleted."""

    connection: Connection
    events: EventCatalogue
    ends: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    bodies: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    count: int = 0
    deleted: int = 0


def verify(
    connection: Connection,
    events: EventCatalogue,
    positions_given: Callable[[Connection], int],
    stream: str | None = None,
) -> Verification:
    """Checks every event of one stream, or of all, in order of position, and then the ends."""
    walk = _Walk(connection, events)
    query = _AS_STORED.order_by(event.c.position)
    query = query.where(event.c.stream == stream) if stream is not None else query
    with connection.execute(query, execution_options={"yield_per": 500}) as rows:
        for row in rows.mappings():
            why = _misfit(walk, row)
            if why is not None:
                first = FirstBad(str(row["stream"]), row["version"], row["position"], why)
                return Verification(walk.count, _head(walk, stream), first)
    bad = _missing(connection, walk, stream)
    if bad is None and stream is None:
        bad = _wrong_count(connection, walk, positions_given(connection))
    return Verification(walk.count, _head(walk, stream), bad)


def _misfit(walk: _Walk, row: RowMapping) -> str | None:
    version, previous = walk.ends.get(row["stream"], (0, chain.BEGINNING))
    strange = next((name for name, kinds in _KINDS.items() if not isinstance(row[name], kinds)), None)
    if strange is not None:
        return f"its {strange} is not the kind of value that was recorded"
    if row["version"] != version + 1:
        return f"event {version + 1} of the stream should stand here"
    if chain.payload_hash(row["payload"]) != row["payload_hash"]:
        return "its payload is not the one that was recorded"
    if _link(previous, row) != row["chain"]:
        return "it does not follow from the event before it: it, its stamps or its place were changed"
    walk.ends[row["stream"]] = (row["version"], row["chain"])
    walk.count += 1
    return _unreadable(walk, row)


def _link(previous: bytes, row: RowMapping) -> bytes:
    return chain.link(
        previous,
        stream=row["stream"],
        version=row["version"],
        topic=row["topic"],
        schema_version=row["schema_version"],
        event_id=row["event_id"],
        at=row["at"],
        turn=row["turn"],
        actor=row["actor"],
        hash_of_payload=row["payload_hash"],
    )


def _unreadable(walk: _Walk, row: RowMapping) -> str | None:
    try:
        happened = walk.events.decode(
            row["topic"], row["schema_version"], row["payload"], stream=row["stream"], version=row["version"]
        )
    except StoreFailure as error:
        return error.message
    return _follow(walk, row["stream"], happened)


def _follow(walk: _Walk, stream: str, happened: DomainEvent) -> str | None:
    if isinstance(happened, CampaignDeleted):
        walk.deleted += happened.events
    if isinstance(happened, PromptSent):
        name, base = walk.bodies.get(stream, ("", b""))
        try:
            said = lines.payloads(walk.connection, stream, happened.body.words)
            body = rebuild(happened.body, base if happened.body.base == name else None, said)
        except ValueError as error:
            return f"the request that it records cannot be rebuilt: {error}"
        if happened.purpose == "narration":  # no other is what a later one is based on
            walk.bodies[stream] = (happened.turn, body)
    return None


def _missing(connection: Connection, walk: _Walk, stream: str | None) -> FirstBad | None:
    """The first stream that does not end where it should."""
    query = select(stream_head).order_by(stream_head.c.stream)
    query = query.where(stream_head.c.stream == stream) if stream is not None else query
    heads = {row.stream: row for row in connection.execute(query)}
    for name in sorted(heads.keys() | walk.ends.keys()):
        bad = _wrong_end(name, walk.ends.get(name, (0, chain.BEGINNING)), heads.get(name))
        if bad is not None:
            return bad
    return None


def _wrong_end(name: str, found: tuple[int, bytes], head: Row[tuple[str, int, bytes]] | None) -> FirstBad | None:
    version, link = found
    if head is None:
        return FirstBad(name, version, None, "the stream is not among those whose ends are known")
    if (head.version, head.chain) == (version, link):
        return None
    if isinstance(head.version, int) and head.version > version:
        return FirstBad(
            name, version + 1, None, f"the stream should go on to event {head.version}: its end was removed"
        )
    return FirstBad(name, version, None, "the end of the stream is not the one that was recorded")


def _wrong_count(connection: Connection, walk: _Walk, given: int) -> FirstBad | None:
    """Events without a trace: each position that was given has its event, or a tombstone that counts it."""
    newest = connection.execute(select(func.max(event.c.position))).scalar() or 0
    if newest > given:
        return FirstBad("", 0, newest, f"an event stands at position {newest}, and only {given} were ever given")
    gone = given - walk.count - walk.deleted
    if gone == 0:
        return None
    why = f"{given} positions were given, and {gone} of their events are gone without a tombstone"
    return FirstBad("", 0, given if newest < given else None, why)


def _head(walk: _Walk, stream: str | None) -> str:
    """The hash at the end of a stream, or over the ends of all."""
    if stream is not None:
        return walk.ends.get(stream, (0, chain.BEGINNING))[1].hex()
    return hashlib.sha256(canonical_json(_ends(walk.ends.items()))).hexdigest()


def _ends(ends: Iterable[tuple[str, tuple[int, bytes]]]) -> list[list[object]]:
    return [[name, version, link.hex()] for name, (version, link) in sorted(ends)]
