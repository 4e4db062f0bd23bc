"""What a player sees of the story that is played: its nodes with their words, the head, the tip and the names."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from domain.campaign.events import (
    BranchNamed,
    CampaignRevised,
    CampaignStarted,
    HeadMoved,
    NarrationAccepted,
    NodeKind,
    NodeRevised,
    PlayerActed,
    SavePointRemoved,
    SavePointSet,
    TextCorrected,
    TurnOpened,
)
from domain.campaign.facts import OPENING
from domain.campaign.settings import CampaignSettings
from domain.event import EventCatalogue, Recorded
from domain.extraction.extraction import prose_of
from domain.narrative.course import after
from domain.narrative.document import EMPTY, Document
from domain.narrative.events import ProposalJudged, StateCorrected
from domain.narrative.refusals import Refused
from domain.prompt.events import PromptSent
from domain.prompt.floor import Floor
from domain.prompt.sections import HistoryNode, StateTold
from domain.prompt.stored_body import Words


@dataclass(frozen=True)
class Moment:
    """A node as a prompt holds it, where it stands, and the event that holds its words."""

    told: HistoryNode
    parent: int | None
    branch: int
    turn: str | None
    words: Words


@dataclass
class Story:
    """One story as far as it was played. It holds every word of it, so its memory grows with the story."""

    campaign: str
    catalogue: EventCatalogue
    settings: CampaignSettings = field(default_factory=CampaignSettings)
    moments: dict[int, Moment] = field(default_factory=dict)
    head: int = OPENING
    tip: int = OPENING
    version: int = 0
    position: int = 0
    opened: TurnOpened | None = None
    floors: dict[str, Floor] = field(default_factory=dict)
    save_points: list[str] = field(default_factory=list)
    branches: int = 1
    states: dict[int, Document] = field(default_factory=dict)
    refused: dict[int, tuple[Refused, ...]] = field(default_factory=dict)

    def goes_on(self, recorded: Recorded) -> None:  # noqa: C901, PLR0912  # only dispatches
        """Takes in what happened."""
        self.version, self.position = recorded.version, recorded.position
        match recorded.event:
            case CampaignStarted() as begun:
                self.settings = begun.settings
                self.states[OPENING] = EMPTY
                self._told(recorded, OPENING, None, "opening", (1, 1), begun.opening)
            case CampaignRevised(changes=changes):
                self.settings = changes.applied_to(self.settings)
            case TurnOpened() as opened:
                self.opened = opened
            case PlayerActed() | NodeRevised() as new:
                self._told(recorded, new.node, new.parent, new.kind, (new.branch, new.depth), new.text)
                self.head = self.tip = new.node
                self.states[new.node] = self.states[new.parent]
            case NarrationAccepted() as new:
                self.states[new.node] = self.states[new.parent]
                text = prose_of(new.raw_reply, new.removals)
                self._told(recorded, new.node, new.parent, "narration", (new.branch, new.depth), text)
                if not new.late:
                    self.head = self.tip = new.node
            case TextCorrected(node=node, text=text):
                old = self.moments[node]
                self.moments[node] = replace(old, told=replace(old.told, text=text), words=self._words(recorded))
            case HeadMoved(to_node=node, tip=tip):
                self.head, self.tip = node, tip
            case PromptSent(turn=turn, history=history):
                self.floors[turn] = Floor(history.floor_depth or 1, history.budget)
            case SavePointSet(save_point=named):
                self.save_points.append(named)
            case SavePointRemoved(save_point=named):
                self.save_points.remove(named)
            case ProposalJudged(node=node, accepted=accepted, refused=refused):
                self.states[node] = after(self.states[node], accepted, "narrator")
                self.refused[node] = refused
            case StateCorrected(node=node, accepted=accepted):
                self.states[node] = after(self.states[node], accepted, "player")
            case BranchNamed() | _:
                pass

    def line(self, end: int) -> Iterator[Moment]:
        """The node and those above it, newest first."""
        at: int | None = end
        while at is not None:
            yield self.moments[at]
            at = self.moments[at].parent

    def takes(self, node: int) -> list[int]:
        """The narrations with the node's parent, in order."""
        parent = self.moments[node].parent
        return [at for at, one in self.moments.items() if one.parent == parent and one.told.kind == "narration"]

    def state(self, end: int) -> StateTold:
        """What a narrator is told of the state who goes on from the node."""
        at = self.moments[end]
        last = at.parent if at.told.is_player and at.parent is not None else end
        return StateTold(self.states[end], self.refused.get(last, ()))

    def floor(self, end: int) -> Floor | None:
        """The floor of the newest prompt of this node's turn, or of the turn of a node up to two above it."""
        near = (moment.turn for moment, _ in zip(self.line(end), range(3), strict=False))
        return next((self.floors[turn] for turn in near if turn in self.floors), None)

    def _told(
        self, recorded: Recorded, node: int, parent: int | None, kind: NodeKind, at: tuple[int, int], text: str
    ) -> None:
        branch, depth = at
        self.branches = max(self.branches, branch)
        told = HistoryNode(node, depth, kind, text)
        self.moments[node] = Moment(told, parent, branch, recorded.turn, self._words(recorded))

    def _words(self, recorded: Recorded) -> Words:
        return Words(recorded.version, self.catalogue.encode(recorded.event))
