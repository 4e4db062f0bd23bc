"""What a decision about a story rests on.

`CampaignFacts` is one type for two uses: the whole story, folded from its events; or the slice of it that one command
needs, read from the decision tables. `evolve` keeps either right.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from domain.campaign.events import (
    CampaignEvent,
    CampaignRevised,
    CampaignStarted,
    CancelRequested,
    FailureStage,
    NarrationAccepted,
    NodeKind,
    Operation,
    PlayerActed,
    TurnFailed,
    TurnKind,
    TurnOpened,
)
from domain.campaign.settings import CampaignSettings
from domain.prompt.events import PromptSent, ReplyAccounted

OPENING = 1
"""The node of the opening, in every story."""

StoryEvent = CampaignEvent | PromptSent | ReplyAccounted
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
class CampaignFacts:
    """A story, or the slice of it that a decision needs. `settings` is None when it was never started."""

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


def evolve(facts: CampaignFacts, event: StoryEvent) -> CampaignFacts:
    """The facts after one more event of the campaign's stream."""
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
        case ReplyAccounted():
            return facts
        case _:
            assert_never(event)


def _started(facts: CampaignFacts, event: CampaignStarted) -> CampaignFacts:
    opening = NodeFacts(OPENING, None, "opening", branch=1, depth=1)
    return replace(
        facts, settings=event.settings, head=OPENING, tip=OPENING, last_node=1, last_branch=1, nodes={OPENING: opening}
    )


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
    return replace(grown, head=event.node, tip=event.node)


def _narrated(facts: CampaignFacts, event: NarrationAccepted) -> CampaignFacts:
    node = NodeFacts(event.node, event.parent, "narration", event.branch, event.depth, event.turn)
    grown = _with_turn(_grown(facts, node), event.turn, narration=event.node, ended="accepted")
    if event.late:
        return grown
    return _closed(replace(grown, head=event.node, tip=event.node), event.turn)


def _grown(facts: CampaignFacts, node: NodeFacts) -> CampaignFacts:
    nodes = {**facts.nodes, node.node: node}
    if node.parent in nodes:
        parent = nodes[node.parent]
        nodes[parent.node] = replace(parent, children=parent.children + 1)
    return replace(
        facts, nodes=nodes, last_node=max(facts.last_node, node.node), last_branch=max(facts.last_branch, node.branch)
    )


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
