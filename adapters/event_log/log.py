"""The event log on SQL: decide and append in one transaction, read by key and by range."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Event, Lock
from typing import Any, TypeVar

import orjson
from eventsourcing.persistence import IntegrityError
from pydantic import ValidationError
from sqlalchemy import Connection, RowMapping, bindparam, delete, func, insert, select, update

from adapters.event_log import chain, decision_tables, history, lines, places, slices, tables
from adapters.event_log.failures import explained
from adapters.event_log.opened_file import OpenedFile
from adapters.event_log.prepared import Prepared, Row, inserting
from adapters.event_log.recorder import SqlRecorder, StampedEvent
from adapters.event_log.sqlite import reading_engine, writing_engine
from adapters.event_log.tables import LOG_FORMAT, campaign, event, setting, stream_head
from adapters.event_log.verification import verify
from domain.campaign.commands import CampaignCommand
from domain.campaign.decide import decide
from domain.campaign.events import CampaignDeleted
from domain.campaign.facts import CampaignFacts, NodeFacts, SavePointFacts, TurnFacts
from domain.catalogue import catalogue
from domain.errors import (
    InvalidInput,
    LogDamaged,
    StoreNewer,
    UnknownBranch,
    UnknownCampaign,
    UnknownNode,
    UnknownTurn,
)
from domain.event import DomainEvent, EventCatalogue, Recorded
from domain.installation import INSTALLATION_STREAM, Settings, SettingsChanged
from domain.log import BranchRow, Execution, Segment, StoredSettings, Tree, Verification
from domain.ports import Clock, IdSource
from domain.prompt.floor import Floor
from domain.prompt.sections import HistoryNode
from domain.prompt.stored_body import Words

_Result = TypeVar("_Result")

_HEAD = Prepared(select(stream_head.c.version, stream_head.c.chain).where(stream_head.c.stream == bindparam("of")))
_NEW_HEAD = inserting(stream_head)
_MOVE_HEAD = Prepared(
    update(stream_head)
    .where(stream_head.c.stream == bindparam("of"))
    .values(version=bindparam("to_version"), chain=bindparam("to_chain"))
)
_LAST_PROMPT = Prepared(
    select(event)
    .join(campaign, campaign.c.last_prompt == event.c.position)
    .where(campaign.c.campaign == bindparam("of"))
)
_TIMES = Prepared(select(campaign.c.created_at, campaign.c.revised_at).where(campaign.c.campaign == bindparam("of")))
_SETTINGS = Prepared(select(setting))
_MAX = Prepared(select(func.max(event.c.position)))
# By version, which the index has in order. The largest position would be looked for among all of the stream's.
_END_OF_STREAM = Prepared(
    select(event.c.position).where(event.c.stream == bindparam("of")).order_by(event.c.version.desc()).limit(1)
)


class SqlEventLog:
    """The log of one store. One thread writes at a time, each in its own name: to wait for another thread to do it
    would cost a third of an append. Reads have connections of their own.

    Closed by `close`. Opening a store that a newer program wrote raises StoreNewer and touches nothing. While the file
    is not where it was opened, every method raises StoreReplaced.
    """

    def __init__(self, path: Path, clock: Clock, ids: IdSource, events: EventCatalogue | None = None) -> None:
        self._where = str(path)
        self._clock = clock
        self._ids = ids
        self._events = events or catalogue()
        self._writes = writing_engine(path)
        self._reads = reading_engine(path)
        self._writing = Lock()
        self._closed = False
        self.recorder = SqlRecorder(self._writes, self._reads)
        try:
            with explained(self._where):
                self._open(path)
        except BaseException:
            self.close()
            raise

    def _open(self, path: Path) -> None:
        if path.exists() and path.stat().st_size > 0:
            self._refuse_newer()
        with self._writes.begin() as connection:
            self._file = OpenedFile(path)
            written_by = self._format(connection)
            if written_by is not None and written_by < LOG_FORMAT:
                self._upgrade(connection)
            tables.metadata.create_all(connection)
            if written_by is None:
                connection.execute(insert(tables.store).values(format=LOG_FORMAT))

    def _upgrade(self, connection: Connection) -> None:
        """Brings an older store up: the events stay as they are, the decision tables are made anew from them."""
        for table in tables.DECISION_TABLES:
            table.drop(connection, checkfirst=True)
        tables.metadata.create_all(connection)
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
        self._writes.dispose()
        self._reads.dispose()

    def listen(self, listener: Event) -> None:
        """Sets this event whenever this process appended something."""
        self.recorder.listen(listener)

    # Writing

    def execute(self, command: CampaignCommand) -> Execution:
        """See EventLog."""

        def decided(connection: Connection) -> Execution:
            facts = slices.load(connection, command)
            events = decide(facts, command)
            return Execution(self._append(connection, command.campaign, events), facts)

        return self._write(decided)

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
        for row in connection.execute(select(event).order_by(event.c.position)).mappings():
            decision_tables.fold(connection, self._recorded(row))

    def _write(self, work: Callable[[Connection], _Result]) -> _Result:
        with self._writing:
            if self._closed:
                raise RuntimeError("the log is closed")
            self._file.must_stand()  # before anything is opened: SQLite would make an empty file in its place
            with explained(self._where), self._writes.begin() as connection:
                result = work(connection)
                self._file.must_stand()  # the lock may have been waited for, and what is committed is acknowledged
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

    # Reading

    def settings(self) -> StoredSettings:
        """See EventLog."""
        return self._read(self._settings)

    def _settings(self, connection: Connection) -> StoredSettings:
        rows = _SETTINGS.rows(connection, {})
        values = {row["name"]: orjson.loads(row["value"]) for row in rows if row["name"] in Settings.model_fields}
        return StoredSettings(Settings.model_validate(values), {row["name"]: row["position"] for row in rows})

    def campaign(self, campaign: str) -> CampaignFacts:  # see EventLog
        return self._read(lambda connection: _known(slices.load_campaign(connection, campaign), campaign))

    def campaign_times(self, campaign: str) -> tuple[str, str]:
        """See EventLog."""

        def times(connection: Connection) -> tuple[str, str]:
            row = _TIMES.row(connection, {"of": campaign})
            if row is None:
                raise UnknownCampaign(campaign)
            return row["created_at"], row["revised_at"]

        return self._read(times)

    def node(self, campaign: str, node: int) -> NodeFacts:
        """See EventLog."""
        return self._read(lambda connection: self._node(connection, campaign, node))

    def _node(self, connection: Connection, of: str, node: int) -> NodeFacts:
        found = slices.load_node(connection, of, node)
        if found is None:
            _known(slices.load_campaign(connection, of), of)
            raise UnknownNode(of, node)
        return found

    def turn(self, campaign: str, turn: str) -> TurnFacts:
        """See EventLog."""

        def found(connection: Connection) -> TurnFacts:
            known = slices.load_turn(connection, campaign, turn)
            if known is None:
                _known(slices.load_campaign(connection, campaign), campaign)
                raise UnknownTurn(campaign, turn)
            return known

        return self._read(found)

    def open_turns(self) -> Sequence[tuple[str, TurnFacts]]:
        """See EventLog."""
        return self._read(slices.load_open_turns)

    def takes(self, campaign: str, node: int) -> Sequence[int]:
        """See EventLog."""
        return self._read(lambda c: lines.takes(c, campaign, self._node(c, campaign, node)))

    def line(self, campaign: str, node: int, *, down_to: int = 1) -> Sequence[Segment]:
        """See EventLog."""
        return self._read(lambda c: lines.segments(c, campaign, self._node(c, campaign, node), down_to))

    def end_of_line(self, campaign: str, node: int, *, limit: int, before: int | None = None) -> Sequence[HistoryNode]:
        """See EventLog."""

        def newest(connection: Connection) -> list[HistoryNode]:
            end = self._node(connection, campaign, node)
            newest_depth = end.depth if before is None else min(end.depth, before - 1)
            line = lines.segments(connection, campaign, end, max(1, newest_depth - limit + 1))
            return lines.newest(connection, campaign, line, limit, before)

        return self._read(newest)

    def tree(self, campaign: str) -> Tree:
        """See EventLog."""

        def whole(connection: Connection) -> Tree:
            facts = _known(slices.load_campaign(connection, campaign), campaign)
            return Tree(
                nodes=places.all_nodes(connection, campaign),
                branches=places.all_branches(connection, campaign),
                save_points=places.all_save_points(connection, campaign),
                head=facts.head,
                tip=facts.tip,
            )

        return self._read(whole)

    def branch(self, campaign: str, branch: int) -> BranchRow:
        """See EventLog."""

        def found(connection: Connection) -> BranchRow:
            row = places.one_branch(connection, campaign, branch)
            if row is None:
                _known(slices.load_campaign(connection, campaign), campaign)
                raise UnknownBranch(campaign, branch)
            return row

        return self._read(found)

    def place_called(self, campaign: str, name: str) -> int | None:
        """See EventLog."""

        def found(connection: Connection) -> int | None:
            _known(slices.load_campaign(connection, campaign), campaign)
            return places.place_called(connection, campaign, name)

        return self._read(found)

    def save_points(self, campaign: str) -> Sequence[SavePointFacts]:
        """See EventLog."""

        def points(connection: Connection) -> list[SavePointFacts]:
            _known(slices.load_campaign(connection, campaign), campaign)
            return places.all_save_points(connection, campaign)

        return self._read(points)

    def head_at(self, campaign: str, position: int) -> int:
        """See EventLog."""

        def head(connection: Connection) -> int:
            found = history.head_at(connection, campaign, position)
            if found is None:
                _known(slices.load_campaign(connection, campaign), campaign)
                raise UnknownCampaign(campaign, at=position)
            return found

        return self._read(head)

    def floor(self, campaign: str, node: int) -> Floor | None:
        """See EventLog."""
        return self._read(lambda connection: lines.floor_near(connection, campaign, node))

    def last_prompt(self, campaign: str) -> Recorded | None:
        """See EventLog."""

        def newest(connection: Connection) -> Recorded | None:
            row = _LAST_PROMPT.row(connection, {"of": campaign})
            return None if row is None else self._recorded(row)

        return self._read(newest)

    def words_of(self, campaign: str, nodes: Sequence[int]) -> Sequence[Words]:
        """See EventLog."""
        return self._read(lambda connection: lines.words_of(connection, campaign, nodes))

    def payloads(self, campaign: str, versions: Sequence[int]) -> bytes:
        """See EventLog."""
        return self._read(lambda connection: lines.payloads(connection, campaign, versions))

    def turn_events(self, campaign: str, turn: str) -> Sequence[Recorded]:
        """See EventLog."""

        def of_turn(connection: Connection) -> list[Recorded]:
            found = slices.load_turn_span(connection, campaign, turn)
            if found is None:
                _known(slices.load_campaign(connection, campaign), campaign)
                raise UnknownTurn(campaign, turn)
            return [self._recorded(row) for row in found]

        return self._read(of_turn)

    def read(
        self, after: int, limit: int, *, stream: str | None = None, topics: Sequence[str] = ()
    ) -> Sequence[Recorded]:
        """See EventLog."""
        # Within a stream the order is the same, and by version there is nothing to sort.
        order = event.c.position if stream is None else event.c.version
        query = select(event).where(event.c.position > after).order_by(order).limit(limit)
        query = query.where(event.c.stream == stream) if stream is not None else query
        query = query.where(event.c.topic.in_(topics)) if topics else query
        return self._read(lambda connection: [self._recorded(row) for row in connection.execute(query).mappings()])

    def max_position(self, stream: str | None = None) -> int:
        """See EventLog."""
        query = _MAX if stream is None else _END_OF_STREAM
        return self._read(lambda connection: query.value(connection, {"of": stream}) or 0)

    def verify(self, stream: str | None = None) -> Verification:
        """See EventLog."""
        return self._read(lambda connection: verify(connection, self._events, stream))

    def _read(self, work: Callable[[Connection], _Result]) -> _Result:
        self._file.must_stand()
        with explained(self._where), self._reads.begin() as connection:
            return work(connection)

    def _recorded(self, row: Row | RowMapping) -> Recorded:
        happened = self._events.decode(
            row["topic"], row["schema_version"], row["payload"], stream=row["stream"], version=row["version"]
        )
        return Recorded(
            position=row["position"],
            stream=row["stream"],
            version=row["version"],
            topic=row["topic"],
            schema_version=row["schema_version"],
            event_id=row["event_id"],
            at=row["at"],
            turn=row["turn"],
            actor=row["actor"],
            event=happened,
            payload_hash=row["payload_hash"],
            chain=row["chain"],
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


def _known(facts: CampaignFacts | None, campaign: str) -> CampaignFacts:
    if facts is None:
        raise UnknownCampaign(campaign)
    return facts


def _differing(stands: Settings, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the changes that change something, as JSON. InvalidInput names the fields that cannot be so."""
    try:
        wanted = Settings.model_validate({**stands.model_dump(), **changes})
    except ValidationError as error:
        raise InvalidInput({".".join(map(str, e["loc"])): e["msg"] for e in error.errors()}) from error
    before, after = stands.model_dump(mode="json"), wanted.model_dump(mode="json")
    return {name: after[name] for name in changes if after[name] != before[name]}
