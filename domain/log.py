"""The event log as the rest of the program sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from domain.campaign.commands import CampaignCommand
from domain.campaign.events import NodeKind
from domain.campaign.facts import CampaignFacts, NodeFacts, SavePointFacts, TurnFacts
from domain.event import LogEntry, Reads, Recorded
from domain.installation import Settings
from domain.narrative.document import Document
from domain.narrative.events import NarrationReread, ProposalJudged
from domain.narrative.visual_profile import VisualProfile
from domain.prompt.floor import Floor
from domain.prompt.sections import HistoryNode
from domain.prompt.stored_body import Words


@dataclass(frozen=True)
class Execution:
    """What a command made happen, and the facts it was decided on. No events: it was so already."""

    events: tuple[Recorded, ...]
    facts: CampaignFacts

    @property
    def position(self) -> int:
        """The position of the newest of the events, 0 without any."""
        return self.events[-1].position if self.events else 0


@dataclass(frozen=True)
class Activity:
    """How much of a campaign there is: accepted narrations, nodes with the opening, and when its newest turn was opened.

    `played_at` is RFC 3339 in UTC, None before the first turn.
    """

    turns: int
    nodes: int
    played_at: str | None


@dataclass(frozen=True)
class StoredSettings:
    """The installation's settings as stored, and the position at which each changed field was last set."""

    settings: Settings
    set_at: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Segment:
    """A stretch of a line: the nodes of one branch from depth `first` to depth `last`, both included."""

    branch: int
    first: int
    last: int


@dataclass(frozen=True)
class TreeNode:
    """A node of the tree, without its text."""

    node: int
    parent: int | None
    kind: NodeKind
    branch: int
    depth: int


@dataclass(frozen=True)
class BranchRow:
    """A branch: what it grew from (none for the first), at which depth, and the leaf at its end."""

    branch: int
    parent_branch: int | None
    fork_depth: int
    leaf: int
    leaf_depth: int
    name: str


@dataclass(frozen=True)
class Tree:
    """The whole tree of a story."""

    nodes: Sequence[TreeNode]
    branches: Sequence[BranchRow]
    save_points: Sequence[SavePointFacts]
    head: int
    tip: int


@dataclass(frozen=True)
class FirstBad:
    """The first event that does not fit, by its own stream and version, and why."""

    stream: str
    version: int
    position: int | None
    why: str


@dataclass(frozen=True)
class Verification:
    """What a walk over the chain found. `head` is the hash of the end: of the stream, or over all streams' ends."""

    events: int
    head: str
    first_bad: FirstBad | None

    @property
    def ok(self) -> bool:
        """Whether every event fits."""
        return self.first_bad is None


class EventLog(Protocol):
    """The append-only log. Each command is decided and written in one transaction; positions only grow.

    Every method raises a StoreFailure when the store cannot do it, and then nothing was written.
    """

    def execute(self, command: CampaignCommand) -> Execution:
        """Decide on the facts of this moment and append what follows, all or nothing. Raises what `decide` raises."""
        ...

    def change_settings(self, changes: Mapping[str, Any], *, replaced_surrogates: int = 0) -> Execution:
        """Set fields of the installation's settings; None clears an optional one. InvalidInput names what is wrong."""
        ...

    def delete_campaign(self, campaign: str) -> Execution:
        """Drop a campaign's stream and leave a tombstone, in one transaction. UnknownCampaign when there is none."""
        ...

    def settings(self) -> StoredSettings:
        """The installation's settings."""
        ...

    def campaign(self, campaign: str) -> CampaignFacts:
        """The campaign's facts without nodes and turns. Raises UnknownCampaign."""
        ...

    def campaign_times(self, campaign: str) -> tuple[str, str]:
        """When the campaign was created and last revised, in RFC 3339. Raises UnknownCampaign."""
        ...

    def activity(self, campaigns: Sequence[str]) -> Mapping[str, Activity]:
        """How much of these campaigns there is, by campaign; those that are not there left out."""
        ...

    def node(self, campaign: str, node: int) -> NodeFacts:
        """One node, without the words of a player's. Raises UnknownCampaign, UnknownNode."""
        ...

    def state(self, campaign: str, node: int) -> Document:
        """The state document at a node. Raises as `node`."""
        ...

    def state_as_of(self, campaign: str, position: int) -> tuple[int, Document]:
        """The head as it was at a log position, and the state document there as it was then. Raises as `head_at`."""
        ...

    def state_course(self, campaign: str, node: int) -> Sequence[Recorded]:
        """The events whose accepted state events made the document at a node, oldest first. Raises as `node`.

        Each is a ProposalJudged, a StateCorrected or, for what an adopted extractor read otherwise, a NarrationReread.
        """
        ...

    def reading(self, campaign: str, node: int) -> NarrationReread | None:
        """How an adopted extractor reads a narration now; None for one that stands as it was recorded. Raises as `node`."""
        ...

    def judgement(self, campaign: str, node: int) -> ProposalJudged | NarrationReread | None:
        """What became of a narration's block, as it is in force; None for what is no narration, and for one of a version
        of the program that judged none. Raises as `node`.
        """
        ...

    def visual_profiles(self, campaign: str) -> Mapping[str, VisualProfile]:
        """The visual profiles, by entity. Raises UnknownCampaign."""
        ...

    def turn(self, campaign: str, turn: str) -> TurnFacts:
        """One turn. Raises UnknownCampaign, UnknownTurn."""
        ...

    def open_turns(self) -> Sequence[tuple[str, TurnFacts]]:
        """The turns that are running, with their campaigns."""
        ...

    def takes(self, campaign: str, node: int) -> Sequence[int]:
        """The narrations with the same parent, in order; for any other node, itself. Raises as `node`."""
        ...

    def line(self, campaign: str, node: int, *, down_to: int = 1) -> Sequence[Segment]:
        """The line that ends at the node, newest segment first, cut at depth `down_to`. Raises as `node`."""
        ...

    def end_of_line(self, campaign: str, node: int, *, limit: int, before: int | None = None) -> Sequence[HistoryNode]:
        """The newest nodes of the line with their text, oldest first; `before` excludes that depth and what is newer.

        Raises as `node`.
        """
        ...

    def tree(self, campaign: str) -> Tree:
        """The whole tree. Raises UnknownCampaign."""
        ...

    def branch(self, campaign: str, branch: int) -> BranchRow:
        """One branch. Raises UnknownCampaign, UnknownBranch."""
        ...

    def place_called(self, campaign: str, name: str) -> int | None:
        """The node of a save point, by its id or name, or the end of a branch of this name; None when nothing has it.

        Raises UnknownCampaign.
        """
        ...

    def save_points(self, campaign: str) -> Sequence[SavePointFacts]:
        """The save points, in the order in which they were set. Raises UnknownCampaign."""
        ...

    def head_at(self, campaign: str, position: int) -> int:
        """The head as it was at a log position. Raises UnknownCampaign, also before the campaign's start."""
        ...

    def floor(self, campaign: str, node: int) -> Floor | None:
        """The history floor of the newest prompt of this node's turn, or of the turn of a node up to two above it.

        None where there is none, also for a node or campaign that is not there.
        """
        ...

    def last_prompt(self, campaign: str) -> Recorded | None:
        """The campaign's newest prompt record, None where there is none."""
        ...

    def words_of(self, campaign: str, nodes: Sequence[int]) -> Sequence[Words]:
        """The events that hold the texts of these nodes, in order of node; what is no node is left out."""
        ...

    def payloads(self, campaign: str, versions: Sequence[int]) -> bytes:
        """The stored payloads of these events of the campaign's stream, in this order, joined; missing ones left out."""
        ...

    def turn_events(self, campaign: str, turn: str) -> Sequence[Recorded]:
        """Every event of a turn, in order. Raises UnknownCampaign, UnknownTurn."""
        ...

    def read(
        self, after: int, limit: int, *, stream: str | None = None, topics: Sequence[str] = ()
    ) -> Sequence[Recorded]:
        """Events after a position, in order of position."""
        ...

    def entries(
        self, after: int, limit: int, reads: Reads, *, stream: str | None = None, up_to: int | None = None
    ) -> Sequence[LogEntry]:
        """What a view reads of the events of these topics (of all, whole, without any) after a position.

        In order of position; those of one stream alone, and up to a position, where that is asked. Raises LogDamaged at
        an event that cannot be read, StoreNewer at one of a newer program.
        """
        ...

    def next_position(self, after: int, topics: Sequence[str]) -> int | None:
        """The position of the first event of these topics (of all, without any) after a position, None without one."""
        ...

    def max_position(self, stream: str | None = None) -> int:
        """The newest position, 0 in an empty log."""
        ...

    def verify(self, stream: str | None = None) -> Verification:
        """Walk the hash chain of one stream, or of all, and compare their ends."""
        ...
