"""The recorder: the persistence interface of the `eventsourcing` library, on SQLAlchemy Core.

From the library we take this interface, its notification order (positions without gaps in the order of commits) and
its test cases. What is ours (stamps, allow-list, versions without gaps, the chain) sits above, in the log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event, Lock
from typing import Any
from uuid import UUID

from eventsourcing.persistence import (
    ApplicationRecorder,
    IntegrityError,
    Notification,
    ProgrammingError,
    StoredEvent,
    Subscription,
)
from sqlalchemy import Connection, Engine, Select, func, select

from adapters.event_log.database import Database, Ears
from adapters.event_log.prepared import Prepared
from adapters.event_log.tables import event

POLL_SECONDS = 0.5
"""How soon a subscription notices what another process appended, where nothing wakes it."""


@dataclass(frozen=True)
class StampedEvent(StoredEvent):
    """A stored event with what our log keeps beside topic and state."""

    schema_version: int = 0
    event_id: str = ""
    at: str = ""
    turn: str | None = None
    actor: str = ""
    payload_hash: bytes = b""
    chain: bytes = b""


_STORED = select(event.c.stream, event.c.version, event.c.topic, event.c.payload)
_NOTIFIED = select(event.c.position, event.c.stream, event.c.version, event.c.topic, event.c.payload)
_LAST = Prepared(select(func.max(event.c.position)))


class SqlRecorder(ApplicationRecorder):
    """Stores events in the `event` table. Stream names are text.

    `insert_into` works inside a transaction of the caller; the other methods have their own.
    """

    def __init__(self, database: Database, writes: Engine, reads: Engine) -> None:
        self._database = database
        self._writes = writes
        self._reads = reads
        self._listeners: set[Event] = set()
        self._ears: Ears | None = None
        self._listening = Lock()

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int]:
        """Appends all or none; the positions they got. IntegrityError when one (stream, version) is taken."""
        with self._writes.begin() as connection:
            positions = self.insert_into(connection, stored_events)
        self.announce()
        return positions

    def insert_into(self, connection: Connection, stored_events: Sequence[StoredEvent]) -> list[int]:
        """As `insert_events`, in the caller's transaction, which holds the write lock."""
        if not stored_events:
            return []
        try:
            return self._database.insert(connection, [_row(stored) for stored in stored_events])
        except connection.dialect.loaded_dbapi.IntegrityError as error:
            raise IntegrityError(str(error)) from error

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """The events of one stream, by version."""
        version = event.c.version
        query = _STORED.where(event.c.stream == str(originator_id)).order_by(version.desc() if desc else version)
        query = query.where(version > gt) if gt is not None else query
        query = query.where(version <= lte) if lte is not None else query
        with self._reads.connect() as connection:
            rows = connection.execute(query.limit(limit))
            return [StoredEvent(row.stream, row.version, row.topic, row.payload) for row in rows]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """The events of all streams, by position."""
        query = _between(_NOTIFIED, start, stop, inclusive_of_start=inclusive_of_start)
        query = query.where(event.c.topic.in_(topics)) if topics else query
        with self._reads.connect() as connection:
            rows = connection.execute(query.order_by(event.c.position).limit(limit))
            return [Notification(row.stream, row.version, row.topic, row.payload, row.position) for row in rows]

    def max_notification_id(self) -> int | None:
        """The newest position, None in an empty log."""
        with self._reads.connect() as connection:
            position: int | None = _LAST.value(connection, {})
            return position

    def subscribe(self, gt: int | None = None, topics: Sequence[str] = ()) -> "LogSubscription":
        """The events after `gt`, those to come included."""
        return LogSubscription(self, gt, topics)

    def listen(self, listener: Event) -> None:
        """Sets this event whenever something was appended by this process; by others too, where the database tells."""
        self._listeners.add(listener)
        with self._listening:
            if self._ears is None:
                self._ears = self._database.ears(self.announce)

    def unlisten(self, listener: Event) -> None:
        """Ends that."""
        self._listeners.discard(listener)

    def close(self) -> None:
        """Hears no other processes any more."""
        with self._listening:
            if self._ears is not None:
                self._ears.close()

    def announce(self) -> None:
        """Wakes whoever listens: something was committed."""
        for listener in tuple(self._listeners):
            listener.set()


class LogSubscription(Subscription[SqlRecorder]):
    """Yields events as they are appended, by this process or another."""

    def __init__(self, recorder: SqlRecorder, gt: int | None = None, topics: Sequence[str] = ()) -> None:
        super().__init__(recorder, gt, topics)
        self._page: list[Notification] = []
        self._woken = Event()
        recorder.listen(self._woken)

    def __next__(self) -> Notification:
        while not self._page:
            if self._has_been_stopped:
                raise StopIteration
            self._woken.clear()
            self._page = list(self._next_page())
            if not self._page:
                self._woken.wait(POLL_SECONDS)
        if self._has_been_stopped:
            raise StopIteration
        self._last_notification_id = self._page[0].id
        return self._page.pop(0)

    def stop(self) -> None:
        """Ends the iteration, also one that waits."""
        super().stop()
        self._recorder.unlisten(self._woken)
        self._woken.set()

    def _next_page(self) -> Sequence[Notification]:
        start = self._last_notification_id or 0
        return self._recorder.select_notifications(start, 500, topics=self._topics, inclusive_of_start=False)


def _between(query: Select[Any], start: int | None, stop: int | None, *, inclusive_of_start: bool) -> Select[Any]:
    position = event.c.position
    if start is not None:
        query = query.where(position >= start if inclusive_of_start else position > start)
    return query.where(position <= stop) if stop is not None else query


def _row(stored: StoredEvent) -> dict[str, object]:
    stamped = stored if isinstance(stored, StampedEvent) else StampedEvent(**vars(stored))
    if not isinstance(stamped.originator_version, int):
        raise ProgrammingError("a version is a whole number")
    return {
        "stream": str(stamped.originator_id),
        "version": stamped.originator_version,
        "topic": stamped.topic,
        "schema_version": stamped.schema_version,
        "event_id": stamped.event_id,
        "at": stamped.at,
        "turn": stamped.turn,
        "actor": stamped.actor,
        "payload_hash": stamped.payload_hash,
        "payload": stamped.state,
        "chain": stamped.chain,
    }
