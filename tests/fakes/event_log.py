"""The event log in memory: what the log promises, kept a second time and in another way.

Nothing here shares the SQL log's decision tables: every answer comes from folding `evolve` over a campaign's whole
stream, or from walking the tree node by node. So where the two disagree, one of them is wrong.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from threading import Condition, RLock
from typing import Any, cast
from uuid import UUID

from eventsourcing.persistence import (
    ApplicationRecorder,
    IntegrityError,
    Notification,
    StoredEvent,
    Subscription,
)
from pydantic import BaseModel, ValidationError

from adapters.event_log.recorder import StampedEvent
from domain.campaign.commands import CampaignCommand
from domain.campaign.decide import decide
from domain.campaign.events import (
    CampaignDeleted,
    CampaignRevised,
    CampaignStarted,
    NarrationAccepted,
    NodeRevised,
    PlayerActed,
    TextCorrected,
    TurnOpened,
)
from domain.campaign.facts import OPENING, CampaignFacts, NodeFacts, SavePointFacts, StoryEvent, TurnFacts, evolve
from domain.campaign.naming import folded
from domain.campaign.story_tree import looked_ahead
from domain.catalogue import catalogue
from domain.errors import InvalidInput, StoreFailure, UnknownBranch, UnknownCampaign, UnknownNode, UnknownTurn
from domain.event import DomainEvent, EventCatalogue, LogEntry, Reads, Recorded
from domain.extraction.extraction import prose_of
from domain.installation import INSTALLATION_STREAM, Settings, SettingsChanged
from domain.log import Activity, BranchRow, Execution, FirstBad, Segment, StoredSettings, Tree, TreeNode, Verification
from domain.narrative.document import Document
from domain.narrative.events import ExtractorAdopted, NarrationReread, ProposalJudged, StateCorrected
from domain.narrative.visual_profile import VisualProfile
from domain.ports import Clock, IdSource
from domain.prompt.events import PromptSent
from domain.prompt.floor import Floor
from domain.prompt.sections import HistoryNode
from domain.prompt.stored_body import Words, rebuild


class MemoryRecorder(ApplicationRecorder):
    """Events by position. A position is given once, also when its event has been dropped."""

    def __init__(self) -> None:
        self.grown = Condition(RLock())
        self.given = 0
        self._events: dict[int, StoredEvent] = {}
        self._streams: dict[str, dict[int, int]] = {}

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int]:
        """Appends all or none; the positions they got. IntegrityError when one (stream, version) is taken."""
        with self.grown:
            self._refuse_doubles(stored_events)
            positions = [self._insert(stored) for stored in stored_events]
            self.grown.notify_all()
        return positions

    def _refuse_doubles(self, stored_events: Sequence[StoredEvent]) -> None:
        places = [(str(stored.originator_id), stored.originator_version) for stored in stored_events]
        taken = [place for place in places if place[1] in self._streams.get(place[0], {})]
        if taken or len(set(places)) < len(places):
            raise IntegrityError(f"not unique: {taken or places}")

    def _insert(self, stored: StoredEvent) -> int:
        self.given += 1
        self._events[self.given] = stored
        self._streams.setdefault(str(stored.originator_id), {})[stored.originator_version] = self.given
        return self.given

    def drop(self, stream: str) -> None:
        """Removes a stream."""
        with self.grown:
            for position in self._streams.pop(stream, {}).values():
                del self._events[position]

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
        with self.grown:
            stream = self._streams.get(str(originator_id), {})
            wanted = [v for v in sorted(stream, reverse=desc) if (gt is None or v > gt) and (lte is None or v <= lte)]
            return [self._events[stream[version]] for version in wanted[:limit]]

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
        first = 1 if start is None else start if inclusive_of_start else start + 1
        with self.grown:
            last = self.given if stop is None else min(stop, self.given)
            found: list[Notification] = []
            for position in range(max(first, 1), last + 1):
                stored = self._events.get(position)
                if len(found) < limit and stored is not None and (not topics or stored.topic in topics):
                    place = (stored.originator_id, stored.originator_version)
                    found.append(Notification(*place, stored.topic, stored.state, position))
                if len(found) == limit:
                    break
            return found

    def max_notification_id(self) -> int | None:
        """The newest position, None in an empty log."""
        with self.grown:
            return max(self._events, default=None)

    def subscribe(self, gt: int | None = None, topics: Sequence[str] = ()) -> "MemorySubscription":
        """The events after `gt`, those to come included."""
        return MemorySubscription(self, gt, topics)

    def stamped(self) -> Iterator[tuple[int, StampedEvent]]:
        """What the log appended, with its positions."""
        return ((position, cast("StampedEvent", stored)) for position, stored in sorted(self._events.items()))


class MemorySubscription(Subscription[MemoryRecorder]):
    """Yields events as they are appended."""

    def __next__(self) -> Notification:
        with self._recorder.grown:
            while not self._has_been_stopped:
                start = self._last_notification_id or 0
                found = self._recorder.select_notifications(start, 1, topics=self._topics, inclusive_of_start=False)
                if found:
                    self._last_notification_id = found[0].id
                    return found[0]
                self._recorder.grown.wait()
        raise StopIteration

    def stop(self) -> None:
        """Ends the iteration, also one that waits."""
        with self._recorder.grown:
            super().stop()
            self._recorder.grown.notify_all()


@dataclass(frozen=True)
class MemoryStore:
    """What outlasts one opening of the log: the events, and each stream's last version and chain hash."""

    recorder: MemoryRecorder = field(default_factory=MemoryRecorder)
    ends: dict[str, tuple[int, bytes]] = field(default_factory=dict)


def _depth(node: NodeFacts) -> int:
    return node.depth


class MemoryEventLog:
    """The log of one store, gone with the process. Without a store it has one of its own."""

    def __init__(
        self, clock: Clock, ids: IdSource, events: EventCatalogue | None = None, store: MemoryStore | None = None
    ) -> None:
        store = store or MemoryStore()
        self.recorder = store.recorder
        self._ends = store.ends
        self._clock = clock
        self._ids = ids
        self._events = events or catalogue()
        self._turns = RLock()
        # Remembered, because a test asks hundreds of questions of one story: each is still answered by the whole fold.
        self._decoded: dict[int, Recorded] = {}
        self._folded: dict[str, tuple[tuple[int, bytes] | None, CampaignFacts]] = {}

    def close(self) -> None:
        """Nothing is open."""

    # Writing

    def execute(self, command: CampaignCommand) -> Execution:
        """See EventLog."""
        with self._turns:
            facts = looked_ahead(self.whole(command.campaign), command)
            return Execution(self._append(command.campaign, decide(facts, command)), facts)

    def change_settings(self, changes: Mapping[str, Any], *, replaced_surrogates: int = 0) -> Execution:
        """See EventLog."""
        with self._turns:
            stands = self.settings().settings
            try:
                wanted = Settings.model_validate(dict(stands) | dict(changes))
            except ValidationError as error:
                raise InvalidInput({".".join(map(str, e["loc"])): e["msg"] for e in error.errors()}) from error
            differing = {name for name in changes if getattr(wanted, name) != getattr(stands, name)}
            as_json = wanted.model_dump(mode="json", include=differing)
            written = {name: as_json[name] for name in changes if name in differing}
            happened = [SettingsChanged(changes=written, replaced_surrogates=replaced_surrogates)]
            appended = self._append(INSTALLATION_STREAM, happened if differing else [])
            return Execution(appended, CampaignFacts(INSTALLATION_STREAM))

    def delete_campaign(self, campaign: str) -> Execution:
        """See EventLog."""
        with self._turns:
            facts = self.campaign(campaign)
            assert facts.settings is not None
            version, head = self._ends.pop(campaign)
            self.recorder.drop(campaign)
            stone = CampaignDeleted(campaign=campaign, title=facts.settings.title, events=version, head=head.hex())
            return Execution(self._append(INSTALLATION_STREAM, [stone]), facts)

    def _append(self, stream: str, events: Iterable[DomainEvent]) -> tuple[Recorded, ...]:
        payloads = [(happened, self._events.encode(happened)) for happened in events]
        if not payloads:
            return ()
        at = f"{self._clock.now():%Y-%m-%dT%H:%M:%S.%fZ}"
        (version, previous), stamped = self._ends.get(stream, (0, b"")), []
        for happened, payload in payloads:
            version += 1
            event = StampedEvent(
                originator_id=stream,
                originator_version=version,
                topic=happened.topic,
                state=payload,
                schema_version=happened.schema_version,
                event_id=self._ids.new("e"),
                at=at,
                turn=getattr(happened, "turn", None),
                actor=happened.actor,
                payload_hash=hashlib.sha256(payload).digest(),
            )
            previous = chained(previous, event)
            stamped.append(StampedEvent(**{**vars(event), "chain": previous}))
        positions = self.recorder.insert_events(stamped)
        self._ends[stream] = (version, previous)
        return tuple(self._recorded(position, event) for position, event in zip(positions, stamped, strict=True))

    def _recorded(self, position: int, stored: StampedEvent) -> Recorded:
        if position not in self._decoded:
            self._decoded[position] = self._read(position, stored)
        return self._decoded[position]

    def _read(self, position: int, stored: StampedEvent) -> Recorded:
        stream, version = str(stored.originator_id), stored.originator_version
        return Recorded(
            position=position,
            stream=stream,
            version=version,
            topic=stored.topic,
            schema_version=stored.schema_version,
            event_id=stored.event_id,
            at=stored.at,
            turn=stored.turn,
            actor=stored.actor,
            event=self._events.decode(
                stored.topic, stored.schema_version, stored.state, stream=stream, version=version
            ),
            payload_hash=stored.payload_hash,
            chain=stored.chain,
        )

    # Reading

    def _stream(self, stream: str) -> list[Recorded]:
        rows = self.recorder.stamped()
        return [self._recorded(position, stored) for position, stored in rows if stored.originator_id == stream]

    def whole(self, campaign: str) -> CampaignFacts:
        """All the facts of a campaign, folded from its events: empty ones when it was never started."""
        if campaign == INSTALLATION_STREAM:
            return CampaignFacts(campaign)
        end, facts = self._folded.get(campaign, (None, CampaignFacts(campaign)))
        if end != self._ends.get(campaign):
            events = (cast("StoryEvent", recorded.event) for recorded in self._stream(campaign))
            facts = reduce(evolve, events, CampaignFacts(campaign))
            self._folded[campaign] = (self._ends.get(campaign), facts)
        return facts

    def _known(self, campaign: str) -> CampaignFacts:
        facts = self.whole(campaign)
        if facts.settings is None:
            raise UnknownCampaign(campaign)
        return facts

    def settings(self) -> StoredSettings:
        """See EventLog."""
        values: dict[str, Any] = {}
        set_at: dict[str, int] = {}
        for recorded in self._stream(INSTALLATION_STREAM):
            if isinstance(recorded.event, SettingsChanged):
                values |= recorded.event.changes
                set_at |= dict.fromkeys(recorded.event.changes, recorded.position)
        return StoredSettings(Settings.model_validate(values), set_at)

    def campaign(self, campaign: str) -> CampaignFacts:
        """See EventLog."""
        whole = self._known(campaign)
        without: dict[str, Any] = {"nodes": {}, "turns": {}, "keys": {}, "save_points": {}, "branch_names": {}}
        state: dict[str, Any] = {"version": 0, "states": {}, "course": (), "readings": {}, "profiles": {}}
        return replace(whole, headed={}, **without, **state)

    def campaign_times(self, campaign: str) -> tuple[str, str]:
        """See EventLog."""
        self._known(campaign)
        times = [
            each.at for each in self._stream(campaign) if isinstance(each.event, CampaignStarted | CampaignRevised)
        ]
        return times[0], times[-1]

    def activity(self, campaigns: Sequence[str]) -> Mapping[str, Activity]:
        """See EventLog."""
        return {
            campaign: self._activity(campaign) for campaign in campaigns if self.whole(campaign).settings is not None
        }

    def _activity(self, campaign: str) -> Activity:
        happened = self._stream(campaign)
        opened = [each.at for each in happened if isinstance(each.event, TurnOpened)]
        told = sum(isinstance(each.event, NarrationAccepted) for each in happened)
        return Activity(told, len(self.whole(campaign).nodes), opened[-1] if opened else None)

    def node(self, campaign: str, node: int) -> NodeFacts:
        """See EventLog."""
        return NodeFacts(**{**vars(self._line(campaign, node)[0]), "said": ""})

    def state(self, campaign: str, node: int) -> Document:
        """See EventLog."""
        self._line(campaign, node)
        return self._known(campaign).states[node]

    def state_as_of(self, campaign: str, position: int) -> tuple[int, Document]:
        """See EventLog."""
        head = self.head_at(campaign, position)
        events = (cast("StoryEvent", one.event) for one in self._stream(campaign) if one.position <= position)
        return head, reduce(evolve, events, CampaignFacts(campaign)).states[head]

    def state_course(self, campaign: str, node: int) -> Sequence[Recorded]:
        """See EventLog."""
        self._line(campaign, node)
        happened = self._stream(campaign)
        adopted = [each.position for each in happened if _is_whole_adoption(each)]
        readings = {
            each.event.node: each
            for each in happened
            if isinstance(each.event, NarrationReread) and each.position <= max(adopted, default=0)
        }
        courses: dict[int, list[Recorded]] = {OPENING: []}
        for each in happened:
            match each.event:
                case PlayerActed(node=made, parent=parent) | NodeRevised(node=made, parent=parent):
                    courses[made] = list(courses[parent])
                case NarrationAccepted(node=made, parent=parent):
                    courses[made] = list(courses[parent])
                    if made in readings and readings[made].event.accepted:  # type: ignore[attr-defined]  # a reading
                        courses[made].append(readings[made])
                case ProposalJudged(node=made, accepted=accepted) if accepted and made not in readings:
                    courses[made].append(each)
                case StateCorrected(node=made):
                    courses[made].append(each)
        return courses[node]

    def reading(self, campaign: str, node: int) -> NarrationReread | None:
        """See EventLog."""
        found = self.judgement(campaign, node)
        return found if isinstance(found, NarrationReread) else None

    def judgement(self, campaign: str, node: int) -> ProposalJudged | NarrationReread | None:
        """See EventLog."""
        self._line(campaign, node)
        found = [one.event for one in self._stream(campaign) if isinstance(one.event, ProposalJudged | NarrationReread)]
        return next((one for one in reversed(found) if one.node == node), None)

    def visual_profiles(self, campaign: str) -> Mapping[str, VisualProfile]:
        """See EventLog."""
        return dict(sorted(self._known(campaign).profiles.items()))

    def turn(self, campaign: str, turn: str) -> TurnFacts:
        """See EventLog."""
        turns = self._known(campaign).turns
        if turn not in turns:
            raise UnknownTurn(campaign, turn)
        return turns[turn]

    def open_turns(self) -> Sequence[tuple[str, TurnFacts]]:
        """See EventLog."""
        campaigns = [self.whole(stream) for stream in self._ends]
        return [(facts.campaign, facts.turns[facts.open_turn]) for facts in campaigns if facts.open_turn is not None]

    def takes(self, campaign: str, node: int) -> Sequence[int]:
        """See EventLog."""
        nodes = self._known(campaign).nodes
        at = self._line(campaign, node)[0]
        siblings = [each.node for each in nodes.values() if (each.parent, each.kind) == (at.parent, at.kind)]
        return sorted(siblings) if at.kind == "narration" else [node]

    def _line(self, campaign: str, node: int) -> list[NodeFacts]:
        """The node and all above it, one by one, newest first."""
        nodes = self._known(campaign).nodes
        if node not in nodes:
            raise UnknownNode(campaign, node)
        line = [nodes[node]]
        while line[-1].parent is not None:
            line.append(nodes[line[-1].parent])
        return line

    def line(self, campaign: str, node: int, *, down_to: int = 1) -> Sequence[Segment]:
        """See EventLog."""
        depths: dict[int, list[int]] = {}
        for each in self._line(campaign, node):
            if each.depth >= down_to:
                depths.setdefault(each.branch, []).append(each.depth)
        return [Segment(branch, min(found), max(found)) for branch, found in depths.items()]

    def end_of_line(self, campaign: str, node: int, *, limit: int, before: int | None = None) -> Sequence[HistoryNode]:
        """See EventLog."""
        line = [each for each in self._line(campaign, node) if before is None or each.depth < before]
        texts = self._texts(campaign)
        newest = line[: max(limit, 0)]
        return [HistoryNode(each.node, each.depth, each.kind, texts[each.node]) for each in reversed(newest)]

    def _texts(self, campaign: str) -> Mapping[int, str]:
        texts, raws = {}, dict[int, str]()
        for recorded in self._stream(campaign):
            match recorded.event:
                case CampaignStarted(opening=opening):
                    texts[OPENING] = opening
                case PlayerActed(node=node, text=text):
                    texts[node] = text
                case NarrationAccepted(node=node, raw_reply=raw, removals=removals):
                    texts[node] = prose_of(raw, removals)
                    raws[node] = raw
                case NodeRevised(node=node, text=text) | TextCorrected(node=node, text=text):
                    texts[node] = text
                    raws.pop(node, None)
                case NarrationReread(node=node, removals=removals, prose=prose) if node in raws:
                    texts[node] = prose_of(raws[node], removals)
                    assert texts[node] == prose
        return texts

    def tree(self, campaign: str) -> Tree:
        """See EventLog."""
        facts = self._known(campaign)
        nodes = [TreeNode(each.node, each.parent, each.kind, each.branch, each.depth) for each in facts.nodes.values()]
        return Tree(nodes, self._branches(facts), list(facts.save_points.values()), facts.head, facts.tip)

    @staticmethod
    def _branches(facts: CampaignFacts) -> list[BranchRow]:
        rows = []
        for branch in range(1, facts.last_branch + 1):
            stretch = [each for each in facts.nodes.values() if each.branch == branch]
            first, last = min(stretch, key=_depth), max(stretch, key=_depth)
            above = None if first.parent is None else facts.nodes[first.parent].branch
            name = facts.branch_names.get(branch, "")
            rows.append(BranchRow(branch, above, first.depth - 1, last.node, last.depth, name))
        return rows

    def branch(self, campaign: str, branch: int) -> BranchRow:
        """See EventLog."""
        for row in self.tree(campaign).branches:
            if row.branch == branch:
                return row
        raise UnknownBranch(campaign, branch)

    def place_called(self, campaign: str, name: str) -> int | None:
        """See EventLog."""
        tree = self.tree(campaign)
        points = [point.node for point in tree.save_points if point.save_point == name]
        points += [point.node for point in tree.save_points if folded(point.name) == folded(name)]
        leaves = [row.leaf for row in tree.branches if row.name and folded(row.name) == folded(name)]
        return next(iter(points + leaves), None)

    def save_points(self, campaign: str) -> Sequence[SavePointFacts]:
        """See EventLog."""
        return list(self._known(campaign).save_points.values())

    def head_at(self, campaign: str, position: int) -> int:
        """See EventLog."""
        events = (cast("StoryEvent", one.event) for one in self._stream(campaign) if one.position <= position)
        head = reduce(evolve, events, CampaignFacts(campaign)).head
        if head == 0:
            self._known(campaign)
            raise UnknownCampaign(campaign, at=position)
        return head

    def floor(self, campaign: str, node: int) -> Floor | None:
        """See EventLog."""
        if node not in self.whole(campaign).nodes:
            return None
        prompts = self._prompts(campaign)
        for near in self._line(campaign, node)[:3]:
            sent = [prompt for prompt in prompts if prompt.turn == near.turn]
            if sent:
                return Floor(sent[-1].history.floor_depth or 1, sent[-1].history.budget)
        return None

    def _prompts(self, campaign: str) -> Sequence[PromptSent]:
        events = (recorded.event for recorded in self._stream(campaign))
        return [event for event in events if isinstance(event, PromptSent) and event.purpose == "narration"]

    def last_prompt(self, campaign: str) -> Recorded | None:
        """See EventLog."""
        prompts = [each for each in self._stream(campaign) if _is_of_narration(each.event)]
        return prompts[-1] if prompts else None

    def words_of(self, campaign: str, nodes: Sequence[int]) -> Sequence[Words]:
        """See EventLog."""
        held = {
            node: stored
            for _, stored in self.recorder.stamped()
            if stored.originator_id == campaign and (node := _node_told_by(stored)) is not None
        }
        return [Words(held[node].originator_version, held[node].state) for node in sorted(set(nodes)) if node in held]

    def payloads(self, campaign: str, versions: Sequence[int]) -> bytes:
        """See EventLog."""
        states = {
            stored.originator_version: stored.state
            for _, stored in self.recorder.stamped()
            if stored.originator_id == campaign
        }
        return b"".join(states.get(version, b"") for version in versions)

    def turn_events(self, campaign: str, turn: str) -> Sequence[Recorded]:
        """See EventLog."""
        self.turn(campaign, turn)
        return [recorded for recorded in self._stream(campaign) if recorded.turn == turn]

    def read(
        self, after: int, limit: int, *, stream: str | None = None, topics: Sequence[str] = ()
    ) -> Sequence[Recorded]:
        """See EventLog."""
        wanted = [
            (position, stored)
            for position, stored in self.recorder.stamped()
            if position > after and stream in (None, stored.originator_id) and (not topics or stored.topic in topics)
        ]
        return [self._recorded(position, stored) for position, stored in wanted[:limit]]

    def entries(
        self, after: int, limit: int, reads: Reads, *, stream: str | None = None, up_to: int | None = None
    ) -> Sequence[LogEntry]:
        """See EventLog."""
        found = [
            (position, stored)
            for position, stored in self.recorder.stamped()
            if after < position <= (up_to or position)
            and stream in (None, stored.originator_id)
            and (not reads or stored.topic in reads)
        ]
        return [self._entry(position, stored, reads) for position, stored in found[:limit]]

    def _entry(self, position: int, stored: StampedEvent, reads: Reads) -> LogEntry:
        model = reads.get(stored.topic, DomainEvent)
        read: BaseModel | None = None
        if model is not None:
            whole = self._recorded(position, stored).event
            read = whole if isinstance(whole, model) else model.model_validate(whole.model_dump(mode="json"))
        return LogEntry(position, str(stored.originator_id), stored.topic, stored.at, stored.turn, read)

    def next_position(self, after: int, topics: Sequence[str]) -> int | None:
        """See EventLog."""
        stamped = self.recorder.stamped()
        return next((at for at, one in stamped if at > after and (not topics or one.topic in topics)), None)

    def max_position(self, stream: str | None = None) -> int:
        """See EventLog."""
        positions = [at for at, stored in self.recorder.stamped() if stream in (None, stored.originator_id)]
        return max(positions, default=0)

    # Verifying

    def _unrebuilt(self, happened: DomainEvent | None, bodies: dict[str, tuple[str, bytes]], stream: str) -> str | None:
        """Why the request that this event records cannot be rebuilt; notes it as the base of the next where it can."""
        if not isinstance(happened, PromptSent):
            return None
        name, base = bodies.get(stream, ("", b""))
        said = self.payloads(stream, happened.body.words)
        try:
            body = rebuild(happened.body, base if happened.body.base == name else None, said)
        except ValueError as error:
            return str(error)
        if happened.purpose == "narration":
            bodies[stream] = (happened.turn, body)
        return None

    def verify(self, stream: str | None = None) -> Verification:
        """See EventLog."""
        ends: dict[str, tuple[int, bytes]] = {}
        bodies: dict[str, tuple[str, bytes]] = {}
        found, deleted = 0, 0
        for position, stored in self.recorder.stamped():
            name = str(stored.originator_id)
            if stream not in (None, name):
                continue
            why = self._misfit(stored, *ends.get(name, (0, b"")))
            happened = None if why else self._events.decode(stored.topic, stored.schema_version, stored.state)
            why = why or self._unrebuilt(happened, bodies, name)
            if why:
                return Verification(
                    found, _over(ends, stream), FirstBad(name, stored.originator_version, position, why)
                )
            ends[name] = (stored.originator_version, stored.chain)
            found += 1
            deleted += happened.events if isinstance(happened, CampaignDeleted) else 0
        return Verification(found, _over(ends, stream), self._missing(ends, found + deleted, stream))

    def _misfit(self, stored: StampedEvent, version: int, previous: bytes) -> str | None:
        if stored.originator_version != version + 1:
            return "it is not the next of its stream"
        if hashlib.sha256(stored.state).digest() != stored.payload_hash:
            return "its payload is not the one that was recorded"
        if chained(previous, stored) != stored.chain:
            return "it does not follow from the event before it"
        try:
            self._events.decode(stored.topic, stored.schema_version, stored.state)
        except StoreFailure as error:
            return error.message
        return None

    def _missing(self, ends: Mapping[str, tuple[int, bytes]], seen: int, stream: str | None) -> FirstBad | None:
        known = self._ends if stream is None else {stream: self._ends.get(stream, (0, b""))}
        for name in sorted(known):
            if known[name] != ends.get(name, (0, b"")):
                return FirstBad(name, ends.get(name, (0, b""))[0] + 1, None, "its end is not the one that was recorded")
        if stream is None and seen != self.recorder.given:
            return FirstBad("", 0, None, "events are gone without a tombstone")
        return None


def _is_of_narration(event: DomainEvent) -> bool:
    return isinstance(event, PromptSent) and event.purpose == "narration"


def _is_whole_adoption(each: Recorded) -> bool:
    return isinstance(each.event, ExtractorAdopted) and each.event.scope == "whole_history"


def chained(previous: bytes, stored: StampedEvent) -> bytes:
    """The chain hash as the architecture states it: sha256 over a canonical JSON array."""
    fields = [
        previous.hex(),
        str(stored.originator_id),
        stored.originator_version,
        stored.topic,
        stored.schema_version,
        stored.event_id,
        stored.at,
        stored.turn,
        stored.actor,
        stored.payload_hash.hex(),
    ]
    return hashlib.sha256(json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()).digest()


def _over(ends: Mapping[str, tuple[int, bytes]], stream: str | None) -> str:
    """The hash at the end of a stream, or over the ends of all, by name."""
    if stream is not None:
        return ends.get(stream, (0, b""))[1].hex()
    listed = [[name, version, link.hex()] for name, (version, link) in sorted(ends.items())]
    return hashlib.sha256(json.dumps(listed, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()


def _node_told_by(stored: StoredEvent) -> int | None:
    """The node whose text this event holds."""
    if stored.topic == CampaignStarted.topic:
        return OPENING
    told = stored.topic in (PlayerActed.topic, NarrationAccepted.topic, NodeRevised.topic, TextCorrected.topic)
    return int(json.loads(stored.state)["node"]) if told else None
