"""The event log on SQL: decide and append in one transaction."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from threading import Event, Lock
from typing import Any, TypeVar

from eventsourcing.persistence import IntegrityError
from pydantic import ValidationError
from sqlalchemy import Connection, bindparam, delete, insert, select, update

from adapters.event_log import chain, decision_tables, slices, tables
from adapters.event_log.database import Database
from adapters.event_log.prepared import Prepared, inserting
from adapters.event_log.reading import LogReading
from adapters.event_log.recorder import SqlRecorder, StampedEvent
from adapters.event_log.sqlite import SqliteFile
from adapters.event_log.tables import LOG_FORMAT, event, stream_head
from domain.campaign.commands import CampaignCommand
from domain.campaign.decide import decide
from domain.campaign.events import CampaignDeleted
from domain.campaign.facts import CampaignFacts
from domain.catalogue import catalogue
from domain.errors import (
    InvalidInput,
    LogDamaged,
    StoreNewer,
    UnknownCampaign,
)
from domain.event import DomainEvent, EventCatalogue, Recorded
from domain.installation import INSTALLATION_STREAM, Settings, SettingsChanged
from domain.log import Execution
from domain.ports import Clock, IdSource

_Result = TypeVar("_Result")

Execute = Callable[[CampaignCommand], Execution]
"""What executes a command."""

_HEAD = Prepared(select(stream_head.c.version, stream_head.c.chain).where(stream_head.c.stream == bindparam("of")))
_NEW_HEAD = inserting(stream_head)
_MOVE_HEAD = Prepared(
    update(stream_head)
    .where(stream_head.c.stream == bindparam("of"))
    .values(version=bindparam("to_version"), chain=bindparam("to_chain"))
)


class SqlEventLog(LogReading):
    """The log of one store. One thread writes at a time, each in its own name: to wait for another thread to do it
    would cost a third of an append. Reads have connections of their own.

    The store is in a database, or in the SQLite file at a path. Closed by `close`. Opening a store that a newer program
    wrote raises StoreNewer and touches nothing. While it is not the store that was opened, every method raises
    StoreReplaced.
    """

    def __init__(
        self, place: Path | Database, clock: Clock, ids: IdSource, events: EventCatalogue | None = None
    ) -> None:
        super().__init__(SqliteFile(place) if isinstance(place, Path) else place, events or catalogue())
        self._clock = clock
        self._ids = ids
        self._writes = self._database.writing_engine()
        self._writing = Lock()
        self._closed = False
        self.recorder = SqlRecorder(self._database, self._writes, self._reads)
        try:
            with self._database.explained():
                self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        if self._database.holds_a_store():
            self._refuse_newer()
        with self._writes.begin() as connection:
            written_by = self._format(connection)
            if written_by is not None and written_by < LOG_FORMAT:
                self._upgrade(connection)
            tables.metadata.create_all(connection)
            self._database.prepare(connection)
            if written_by is None:
                connection.execute(insert(tables.store).values(format=LOG_FORMAT))

    def _upgrade(self, connection: Connection) -> None:
        """Brings an older store up: the events stay as they are, the decision tables are made anew from them."""
        for table in tables.DECISION_TABLES:
            table.drop(connection, checkfirst=True)
        tables.metadata.create_all(connection)
        for index in event.indexes:  # which does not come with a table that was there
            index.create(connection, checkfirst=True)
        self._refold(connection)
        connection.execute(update(tables.store).values(format=LOG_FORMAT))

    @staticmethod
    def _format(connection: Connection) -> int | None:
        if not connection.dialect.has_table(connection, tables.store.name):
            return None
        written_by: int | None = connection.execute(select(tables.store.c.format)).scalar()
        return written_by

    def _refuse_newer(self) -> None:
        with self._reads.connect() as connection:
            written_by = self._format(connection) or 0
        if written_by > LOG_FORMAT:
            raise StoreNewer(f"a log of format {written_by}")

    def close(self) -> None:
        """Closes every connection, after the write that is under way. Nothing can be written any more."""
        with self._writing:
            self._closed = True
        self.recorder.close()
        self._writes.dispose()
        self._reads.dispose()

    def listen(self, listener: Event) -> None:
        """Sets this event whenever this process appended something; another too, where the database tells."""
        self.recorder.listen(listener)

    def execute(self, command: CampaignCommand) -> Execution:
        """See EventLog."""
        return self._write(lambda connection: self._executed(connection, command))

    def execute_together(self, asking: Callable[[Execute], None]) -> None:
        """Lets `asking` execute any number of commands in one transaction, and keeps out all others meanwhile.

        All or nothing: what `asking` raises undoes every one of them.
        """
        self._write(lambda connection: asking(partial(self._executed, connection)))

    def _executed(self, connection: Connection, command: CampaignCommand) -> Execution:
        facts = slices.load(connection, command)
        return Execution(self._append(connection, command.campaign, decide(facts, command)), facts)

    def change_settings(self, changes: Mapping[str, Any], *, replaced_surrogates: int = 0) -> Execution:
        """See EventLog."""

        def decided(connection: Connection) -> Execution:
            stands = self._settings(connection).settings
            differing = _differing(stands, changes)
            changed = SettingsChanged(changes=differing, replaced_surrogates=replaced_surrogates)
            events = [changed] if differing else []
            return Execution(self._append(connection, INSTALLATION_STREAM, events), CampaignFacts(INSTALLATION_STREAM))

        return self._write(decided)

    def delete_campaign(self, campaign: str) -> Execution:  # see EventLog
        def decided(connection: Connection) -> Execution:
            facts = slices.load_campaign(connection, campaign)
            if facts is None or facts.settings is None:
                raise UnknownCampaign(campaign)
            head = _HEAD.one(connection, {"of": campaign})
            connection.execute(delete(event).where(event.c.stream == campaign))
            connection.execute(delete(stream_head).where(stream_head.c.stream == campaign))
            stone = CampaignDeleted(
                campaign=campaign, title=facts.settings.title, events=head["version"], head=head["chain"].hex()
            )
            return Execution(self._append(connection, INSTALLATION_STREAM, [stone]), facts)

        return self._write(decided)

    def rebuild_decision_tables(self) -> None:
        """Empties the decision tables and folds every event into them again, in one transaction."""

        def rebuilt(connection: Connection) -> None:
            for table in tables.DECISION_TABLES:
                connection.execute(delete(table))
            self._refold(connection)

        self._write(rebuilt)

    def _refold(self, connection: Connection) -> None:
        events = select(event).order_by(event.c.position)
        for row in connection.execute(events, execution_options={"yield_per": 500}).mappings():
            decision_tables.fold(connection, self._recorded(row))

    def _write(self, work: Callable[[Connection], _Result]) -> _Result:
        with self._writing:
            if self._closed:
                raise RuntimeError("the log is closed")
            self._database.must_stand()  # before anything is opened: SQLite would make an empty file in its place
            with self._database.explained(), self._writes.begin() as connection:
                result = work(connection)
                self._database.must_stand()  # the lock may have been waited for, and what is committed is acknowledged
        self.recorder.announce()
        return result

    def _append(self, connection: Connection, stream: str, events: Iterable[DomainEvent]) -> tuple[Recorded, ...]:
        events = list(events)
        if not events:
            return ()
        head = _HEAD.row(connection, {"of": stream})
        version, previous = (head["version"], head["chain"]) if head else (0, chain.BEGINNING)
        at = timestamp(self._clock)
        stamped = []
        for number, happened in enumerate(events, start=version + 1):
            stamped.append(self._stamped(stream, number, previous, at, happened))
            previous = stamped[-1].chain
        try:
            positions = self.recorder.insert_into(connection, stamped)
        except IntegrityError as error:
            # The write lock is held, so nobody came first: the end of the stream is not where it is noted.
            raise LogDamaged(stream, version + 1, "another event stands in its place already") from error
        ending = {"to_version": stamped[-1].originator_version, "to_chain": previous}
        if head:
            _MOVE_HEAD.run(connection, {"of": stream, **ending})
        else:
            _NEW_HEAD.run(connection, {"stream": stream, "version": ending["to_version"], "chain": previous})
        recorded = tuple(
            _as_recorded(stored, position, happened)
            for stored, position, happened in zip(stamped, positions, events, strict=True)
        )
        for one in recorded:
            decision_tables.fold(connection, one)
        return recorded

    def _stamped(self, stream: str, version: int, previous: bytes, at: str, happened: DomainEvent) -> StampedEvent:
        payload = self._events.encode(happened)
        digest = chain.payload_hash(payload)
        event_id = self._ids.new("e")
        turn = getattr(happened, "turn", None)
        link = chain.link(
            previous,
            stream=stream,
            version=version,
            topic=happened.topic,
            schema_version=happened.schema_version,
            event_id=event_id,
            at=at,
            turn=turn,
            actor=happened.actor,
            hash_of_payload=digest,
        )
        return StampedEvent(
            originator_id=stream,
            originator_version=version,
            topic=happened.topic,
            state=payload,
            schema_version=happened.schema_version,
            event_id=event_id,
            at=at,
            turn=turn,
            actor=happened.actor,
            payload_hash=digest,
            chain=link,
        )


def timestamp(clock: Clock) -> str:
    """Now, in RFC 3339 and UTC, to the microsecond."""
    return clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _as_recorded(stored: StampedEvent, position: int, happened: DomainEvent) -> Recorded:
    return Recorded(
        position=position,
        stream=str(stored.originator_id),
        version=stored.originator_version,
        topic=stored.topic,
        schema_version=stored.schema_version,
        event_id=stored.event_id,
        at=stored.at,
        turn=stored.turn,
        actor=stored.actor,
        event=happened,
        payload_hash=stored.payload_hash,
        chain=stored.chain,
    )


def _differing(stands: Settings, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the changes that change something, as JSON. InvalidInput names the fields that cannot be so."""
    try:
        wanted = Settings.model_validate({**stands.model_dump(), **changes})
    except ValidationError as error:
        raise InvalidInput({".".join(map(str, e["loc"])): e["msg"] for e in error.errors()}) from error
    before, after = stands.model_dump(mode="json"), wanted.model_dump(mode="json")
    return {name: after[name] for name in changes if after[name] != before[name]}
