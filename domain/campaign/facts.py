"""What a decision about a story rests on.

`CampaignFacts` is one type for two uses: the whole story, folded from its events; or the slice of it that one command
needs, read from the decision tables. `evolve` keeps either right.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from domain.campaign.events import (
    BranchNamed,
    CampaignEvent,
    CampaignRevised,
    CampaignStarted,
    CancelRequested,
    FailureStage,
    HeadMoved,
    NarrationAccepted,
    NodeKind,
    NodeRevised,
    Operation,
    PlayerActed,
    SavePointRemoved,
    SavePointSet,
    TextCorrected,
    TurnFailed,
    TurnKind,
    TurnOpened,
)
from domain.campaign.settings import CampaignSettings
from domain.narrative.course import Accepted, Grown, Step, Told, after, reread, states
from domain.narrative.document import EMPTY, Document
from domain.narrative.events import (
    ExtractorAdopted,
    NarrationReread,
    NarrativeEvent,
    ProposalJudged,
    StateCorrected,
    VisualProfileSet,
)
from domain.narrative.rules import By
from domain.narrative.visual_profile import VisualProfile
from domain.prompt.events import PromptSent, ReplyAccounted

OPENING = 1
"""The node of the opening, in every story."""

StoryEvent = CampaignEvent | NarrativeEvent | PromptSent | ReplyAccounted
"""What is found in a campaign's own stream."""

TurnEnd = Literal["accepted"] | FailureStage


@dataclass(frozen=True)
class NodeFacts:
    """A node of the tree. `children` counts the nodes under it; `said` is a player's text, empty for other kinds."""

    node: int
    parent: int | None
    kind: NodeKind
    branch: int
    depth: int
    turn: str | None = None
    children: int = 0
    said: str = ""

    @property
    def is_player(self) -> bool:
        """Whether the player wrote it."""
        return self.kind in ("do", "say", "story")


@dataclass(frozen=True)
class TurnFacts:
    """A turn, running while `ended` is None."""

    turn: str
    operation: Operation
    kind: TurnKind
    parent: int
    retry_of: int | None
    process: str
    request_hash: str
    idempotency_key: str | None = None
    player_node: int | None = None
    narration: int | None = None
    prompt_sent: bool = False
    cancel_requested: bool = False
    ended: TurnEnd | None = None


@dataclass(frozen=True)
class SavePointFacts:
    """A name for a node."""

    save_point: str
    name: str
    node: int


@dataclass(frozen=True)
class CampaignFacts:
    """A story, or the slice of it that a decision needs. `settings` is None when it was never started.

    `version` counts the events of its stream. `states` holds the state document at nodes, and `course` how they came
    about, with the `readings` of narrations that were reread; `extractor` is the one that was adopted, None for the
    installation's. `profiles` holds visual profiles by entity.

    `headed` says when each node was last the head, by a count of the head's moves; `branch_names` holds the names that
    branches have. Two fields are only ever a slice's, found for one command: `ahead`, the next nodes (two at most) on
    the way from the head to the tip; and `tip_there`, the tip that goes with the place that the command names.
    """

    campaign: str
    settings: CampaignSettings | None = None
    head: int = 0
    tip: int = 0
    last_node: int = 0
    last_branch: int = 0
    open_turn: str | None = None
    nodes: Mapping[int, NodeFacts] = field(default_factory=dict)
    turns: Mapping[str, TurnFacts] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    save_points: Mapping[str, SavePointFacts] = field(default_factory=dict)
    branch_names: Mapping[int, str] = field(default_factory=dict)
    headed: Mapping[int, int] = field(default_factory=dict)
    version: int = 0
    states: Mapping[int, Document] = field(default_factory=dict)
    course: tuple[Step, ...] = ()
    readings: Mapping[int, Told] = field(default_factory=dict)
    extractor: str | None = None
    profiles: Mapping[str, VisualProfile] = field(default_factory=dict)
    ahead: tuple[int, ...] = ()
    tip_there: int = 0


def evolve(facts: CampaignFacts, event: StoryEvent) -> CampaignFacts:
    """The facts after one more event of the campaign's stream."""
    return replace(_evolved(facts, event), version=facts.version + 1)


def _evolved(facts: CampaignFacts, event: StoryEvent) -> CampaignFacts:  # noqa: C901, PLR0912  # only dispatches, a case a kind
    match event:
        case CampaignStarted():
            return _started(facts, event)
        case CampaignRevised():
            assert facts.settings is not None  # noqa: S101  # the first event of a stream is its start
            return replace(facts, settings=event.changes.applied_to(facts.settings))
        case TurnOpened():
            return _opened(facts, event)
        case PlayerActed():
            return _acted(facts, event)
        case NarrationAccepted():
            return _narrated(facts, event)
        case PromptSent():
            return _with_turn(facts, event.turn, prompt_sent=True)
        case CancelRequested():
            return _with_turn(facts, event.turn, cancel_requested=True)
        case TurnFailed():
            return _closed(_with_turn(facts, event.turn, ended=event.stage), event.turn)
        case NodeRevised():
            return _revised(facts, event)
        case TextCorrected():
            return _corrected(facts, event)
        case HeadMoved():
            return _at_head(replace(facts, tip=event.tip), event.to_node)
        case SavePointSet():
            return _saved(facts, event)
        case SavePointRemoved():
            kept = {key: point for key, point in facts.save_points.items() if key != event.save_point}
            return replace(facts, save_points=kept)
        case BranchNamed():
            return _named(facts, event)
        case ProposalJudged():
            return _told(facts, event.node, event.accepted, "narrator")
        case StateCorrected():
            return _told(facts, event.node, event.accepted, "player")
        case NarrationReread():
            return replace(facts, readings={**facts.readings, event.node: Told(event.node, event.accepted, "narrator")})
        case ExtractorAdopted():
            return _adopted(facts, event)
        case VisualProfileSet():
            return replace(facts, profiles={**facts.profiles, event.entity: event.profile})
        case ReplyAccounted():
            return facts
        case _:
            assert_never(event)


def _started(facts: CampaignFacts, event: CampaignStarted) -> CampaignFacts:
    opening = NodeFacts(OPENING, None, "opening", branch=1, depth=1)
    begun = replace(
        facts, settings=event.settings, last_node=1, last_branch=1, nodes={OPENING: opening}, states={OPENING: EMPTY}
    )
    return _at_new_head(begun, OPENING)


def _opened(facts: CampaignFacts, event: TurnOpened) -> CampaignFacts:
    turn = TurnFacts(
        turn=event.turn,
        operation=event.operation,
        kind=event.kind,
        parent=event.parent,
        retry_of=event.retry_of,
        process=event.process,
        request_hash=event.request_hash,
        idempotency_key=event.idempotency_key,
    )
    keys = {**facts.keys, event.idempotency_key: event.turn} if event.idempotency_key is not None else facts.keys
    return replace(facts, open_turn=event.turn, turns={**facts.turns, event.turn: turn}, keys=keys)


def _acted(facts: CampaignFacts, event: PlayerActed) -> CampaignFacts:
    node = NodeFacts(event.node, event.parent, event.kind, event.branch, event.depth, event.turn, said=event.text)
    grown = _with_turn(_grown(facts, node), event.turn, player_node=event.node)
    return _at_new_head(grown, event.node)


def _narrated(facts: CampaignFacts, event: NarrationAccepted) -> CampaignFacts:
    node = NodeFacts(event.node, event.parent, "narration", event.branch, event.depth, event.turn)
    grown = _with_turn(_grown(facts, node), event.turn, narration=event.node, ended="accepted")
    if event.late:
        return grown
    return _closed(_at_new_head(grown, event.node), event.turn)


def _revised(facts: CampaignFacts, event: NodeRevised) -> CampaignFacts:
    said = event.text if event.kind != "narration" else ""
    node = NodeFacts(event.node, event.parent, event.kind, event.branch, event.depth, said=said)
    return _at_new_head(_grown(facts, node), event.node)


def _corrected(facts: CampaignFacts, event: TextCorrected) -> CampaignFacts:
    node = facts.nodes.get(event.node)
    if node is None or not node.is_player:
        return facts
    return replace(facts, nodes={**facts.nodes, event.node: replace(node, said=event.text)})


def _saved(facts: CampaignFacts, event: SavePointSet) -> CampaignFacts:
    point = SavePointFacts(event.save_point, event.name, event.node)
    return replace(facts, save_points={**facts.save_points, event.save_point: point})


def _named(facts: CampaignFacts, event: BranchNamed) -> CampaignFacts:
    others = {branch: name for branch, name in facts.branch_names.items() if branch != event.branch}
    return replace(facts, branch_names={**others, event.branch: event.name} if event.name else others)


def _at_new_head(facts: CampaignFacts, node: int) -> CampaignFacts:
    """What is new is head and tip."""
    return _at_head(replace(facts, tip=node), node)


def _at_head(facts: CampaignFacts, node: int) -> CampaignFacts:
    moves = max(facts.headed.values(), default=0) + 1
    return replace(facts, head=node, headed={**facts.headed, node: moves})


def _grown(facts: CampaignFacts, node: NodeFacts) -> CampaignFacts:
    nodes = {**facts.nodes, node.node: node}
    if node.parent in nodes:
        parent = nodes[node.parent]
        nodes[parent.node] = replace(parent, children=parent.children + 1)
    return replace(
        facts,
        nodes=nodes,
        last_node=max(facts.last_node, node.node),
        last_branch=max(facts.last_branch, node.branch),
        states={**facts.states, node.node: facts.states.get(node.parent or OPENING, EMPTY)},
        course=(*facts.course, Grown(node.node, node.parent or OPENING)),
    )


def _told(facts: CampaignFacts, node: int, accepted: Accepted, by: By) -> CampaignFacts:
    document = after(facts.states.get(node, EMPTY), accepted, by)
    course = (*facts.course, Told(node, accepted, by))
    return replace(facts, states={**facts.states, node: document}, course=course)


def _adopted(facts: CampaignFacts, event: ExtractorAdopted) -> CampaignFacts:
    adopted = replace(facts, extractor=event.extractor)
    if event.scope == "from_now":
        return adopted
    return replace(adopted, states=states(reread(facts.course, facts.readings), OPENING))


def _with_turn(facts: CampaignFacts, turn: str, **changes: object) -> CampaignFacts:
    known = facts.turns.get(turn)
    if known is None:
        return facts
    return replace(facts, turns={**facts.turns, turn: replace(known, **changes)})  # type: ignore[arg-type]  # fields of TurnFacts


def _closed(facts: CampaignFacts, turn: str) -> CampaignFacts:
    return replace(facts, open_turn=None) if facts.open_turn == turn else facts


def coordinate_under(parent: NodeFacts, last_branch: int) -> tuple[int, int]:
    """The (branch, depth) of the next node under this parent: the parent's branch for a first child, else a new one."""
    branch = parent.branch if parent.children == 0 else last_branch + 1
    return branch, parent.depth + 1
