"""Reading the log: by key and by range, on connections of its own."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import orjson
from sqlalchemy import Connection, RowMapping, bindparam, func, select

from adapters.event_log import history, lines, places, slices, states
from adapters.event_log.database import Database
from adapters.event_log.entries import entries, next_position
from adapters.event_log.prepared import Prepared, Row
from adapters.event_log.tables import campaign, event, setting
from adapters.event_log.verification import verify
from domain.campaign.facts import OPENING, CampaignFacts, NodeFacts, SavePointFacts, TurnFacts
from domain.errors import (
    UnknownBranch,
    UnknownCampaign,
    UnknownNode,
    UnknownTurn,
)
from domain.event import EventCatalogue, LogEntry, Reads, Recorded
from domain.installation import Settings
from domain.log import Activity, BranchRow, Segment, StoredSettings, Tree, Verification
from domain.narrative.document import Document
from domain.narrative.events import NarrationReread, ProposalJudged
from domain.narrative.visual_profile import VisualProfile
from domain.prompt.floor import Floor
from domain.prompt.sections import HistoryNode
from domain.prompt.stored_body import Words

_Result = TypeVar("_Result")

_LAST_PROMPT = Prepared(
    select(event)
    .join(campaign, campaign.c.last_prompt == event.c.position)
    .where(campaign.c.campaign == bindparam("of"))
)
_TIMES = Prepared(select(campaign.c.created_at, campaign.c.revised_at).where(campaign.c.campaign == bindparam("of")))
_ACTIVITY = select(campaign.c.campaign, campaign.c.turns, campaign.c.last_node, campaign.c.played_at).where(
    campaign.c.campaign.in_(bindparam("named", expanding=True))
)
_AT = Prepared(select(event).where(event.c.position == bindparam("at")))
_ADOPTED_AT = Prepared(select(campaign.c.adopted_at).where(campaign.c.campaign == bindparam("of")))
_SETTINGS = Prepared(select(setting))
_MAX = Prepared(select(func.max(event.c.position)))
# By version, which the index has in order. The largest position would be looked for among all of the stream's.
_END_OF_STREAM = Prepared(
    select(event.c.position).where(event.c.stream == bindparam("of")).order_by(event.c.version.desc()).limit(1)
)


class LogReading:
    """The questions that EventLog answers. Raises StoreReplaced while the store is not the one that was opened."""

    def __init__(self, database: Database, events: EventCatalogue) -> None:
        self._database = database
        self._events = events
        self._reads = database.reading_engine()

    def settings(self) -> StoredSettings:
        """See EventLog."""
        return self._read(self._settings)

    def _settings(self, connection: Connection) -> StoredSettings:
        rows = _SETTINGS.rows(connection, {})
        values = {row["name"]: orjson.loads(row["value"]) for row in rows if row["name"] in Settings.model_fields}
        return StoredSettings(Settings.model_validate(values), {row["name"]: row["position"] for row in rows})

    def campaign(self, campaign: str) -> CampaignFacts:  # see EventLog
        return self._read(lambda connection: _found(slices.load_campaign(connection, campaign), campaign))

    def campaign_times(self, campaign: str) -> tuple[str, str]:
        """See EventLog."""

        def times(connection: Connection) -> tuple[str, str]:
            row = _TIMES.row(connection, {"of": campaign})
            if row is None:
                raise UnknownCampaign(campaign)
            return row["created_at"], row["revised_at"]

        return self._read(times)

    def activity(self, campaigns: Sequence[str]) -> Mapping[str, Activity]:
        """See EventLog."""

        def of_these(connection: Connection) -> dict[str, Activity]:
            rows = connection.execute(_ACTIVITY, {"named": list(campaigns)})
            return {row.campaign: Activity(row.turns, row.last_node, row.played_at) for row in rows}

        return self._read(of_these)

    def state(self, campaign: str, node: int) -> Document:
        """See EventLog."""

        def held(connection: Connection) -> Document:
            self._node(connection, campaign, node)
            return states.document_at(connection, campaign, node)

        return self._read(held)

    def state_as_of(self, campaign: str, position: int) -> tuple[int, Document]:
        """See EventLog."""

        def held(connection: Connection) -> tuple[int, Document]:
            at = self._head_at(connection, campaign, position)
            adopted_at = _ADOPTED_AT.value(connection, {"of": campaign})
            if adopted_at is not None and adopted_at > position:
                return at, states.documents_up_to(connection, campaign, position, OPENING)[at]
            version = states.version_at(connection, campaign, at, position)
            return at, states.document_of(connection, campaign, version)

        return self._read(held)

    def state_course(self, campaign: str, node: int) -> Sequence[Recorded]:
        """See EventLog."""

        def led_there(connection: Connection) -> list[Recorded]:
            self._node(connection, campaign, node)
            positions = states.course_to(connection, campaign, node)
            return [self._recorded(_AT.one(connection, {"at": position})) for position in positions]

        return self._read(led_there)

    def reading(self, campaign: str, node: int) -> NarrationReread | None:
        """See EventLog."""
        found = self.judgement(campaign, node)
        return found if isinstance(found, NarrationReread) else None

    def judgement(self, campaign: str, node: int) -> ProposalJudged | NarrationReread | None:
        """See EventLog."""

        def in_force(connection: Connection) -> ProposalJudged | NarrationReread | None:
            self._node(connection, campaign, node)
            row = slices.NODE.one(connection, {"of": campaign, "at": node})
            position = row["judged_at"] if row["reread_at"] is None else row["reread_at"]
            found = None if position is None else self._recorded(_AT.one(connection, {"at": position})).event
            return found if isinstance(found, ProposalJudged | NarrationReread) else None

        return self._read(in_force)

    def visual_profiles(self, campaign: str) -> Mapping[str, VisualProfile]:
        """See EventLog."""

        def found(connection: Connection) -> Mapping[str, VisualProfile]:
            _found(slices.load_campaign(connection, campaign), campaign)
            return slices.load_profiles(connection, campaign)

        return self._read(found)

    def node(self, campaign: str, node: int) -> NodeFacts:
        """See EventLog."""
        return self._read(lambda connection: self._node(connection, campaign, node))

    def _node(self, connection: Connection, of: str, node: int) -> NodeFacts:
        found = slices.load_node(connection, of, node)
        if found is None:
            _found(slices.load_campaign(connection, of), of)
            raise UnknownNode(of, node)
        return found

    def turn(self, campaign: str, turn: str) -> TurnFacts:
        """See EventLog."""

        def found(connection: Connection) -> TurnFacts:
            known = slices.load_turn(connection, campaign, turn)
            if known is None:
                _found(slices.load_campaign(connection, campaign), campaign)
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
            facts = _found(slices.load_campaign(connection, campaign), campaign)
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
                _found(slices.load_campaign(connection, campaign), campaign)
                raise UnknownBranch(campaign, branch)
            return row

        return self._read(found)

    def place_called(self, campaign: str, name: str) -> int | None:
        """See EventLog."""

        def found(connection: Connection) -> int | None:
            _found(slices.load_campaign(connection, campaign), campaign)
            return places.place_called(connection, campaign, name)

        return self._read(found)

    def save_points(self, campaign: str) -> Sequence[SavePointFacts]:
        """See EventLog."""

        def points(connection: Connection) -> list[SavePointFacts]:
            _found(slices.load_campaign(connection, campaign), campaign)
            return places.all_save_points(connection, campaign)

        return self._read(points)

    def head_at(self, campaign: str, position: int) -> int:
        """See EventLog."""
        return self._read(lambda connection: self._head_at(connection, campaign, position))

    @staticmethod
    def _head_at(connection: Connection, campaign: str, position: int) -> int:
        found = history.head_at(connection, campaign, position)
        if found is None:
            _found(slices.load_campaign(connection, campaign), campaign)
            raise UnknownCampaign(campaign, at=position)
        return found

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
                _found(slices.load_campaign(connection, campaign), campaign)
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

    def entries(
        self, after: int, limit: int, reads: Reads, *, stream: str | None = None, up_to: int | None = None
    ) -> Sequence[LogEntry]:
        """See EventLog."""
        return self._read(
            lambda connection: entries(
                connection, self._events, reads, after=after, limit=limit, stream=stream, up_to=up_to
            )
        )

    def next_position(self, after: int, topics: Sequence[str]) -> int | None:
        """See EventLog."""
        return self._read(lambda connection: next_position(connection, after, topics))

    def max_position(self, stream: str | None = None) -> int:
        """See EventLog."""
        query = _MAX if stream is None else _END_OF_STREAM
        return self._read(lambda connection: query.value(connection, {"of": stream}) or 0)

    def verify(self, stream: str | None = None) -> Verification:
        """See EventLog."""
        return self._read(lambda connection: verify(connection, self._events, self._database.positions_given, stream))

    def _read(self, work: Callable[[Connection], _Result]) -> _Result:
        self._database.must_stand()
        with self._database.explained(), self._reads.begin() as connection:
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


def _found(facts: CampaignFacts | None, campaign: str) -> CampaignFacts:
    if facts is None:
        raise UnknownCampaign(campaign)
    return facts
