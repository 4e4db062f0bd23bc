"""What happens to a story. Each event says when it is written; its topic is for ever."""

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from domain.campaign.settings import CampaignRevision, CampaignSettings
from domain.event import DomainEvent
from domain.extraction.extraction import Removal

PlayerKind = Literal["do", "say", "story"]
TurnKind = Literal["do", "say", "story", "continue"]
NodeKind = Literal["opening", "do", "say", "story", "narration"]
RevisableKind = Literal["do", "say", "story", "narration"]
MoveReason = Literal["undo", "redo", "restore", "select"]
Operation = Literal["turn", "retry"]
FailureStage = Literal["prompt", "sending", "model", "reply", "interrupted", "cancelled"]

NodeId = Annotated[int, Field(ge=1)]


class Placed(BaseModel):
    """What has a place in the story: its node, and the node's coordinate (branch, depth)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    node: NodeId
    branch: Annotated[int, Field(ge=1)]
    depth: Annotated[int, Field(ge=1)]


class CampaignStarted(DomainEvent):
    """A story was created. The first event of its stream; it makes node 1, the opening, at (1, 1)."""

    topic: ClassVar = "campaign.started"

    settings: CampaignSettings
    opening: str
    replaced_surrogates: int = 0


class CampaignRevised(DomainEvent):
    """The player changed settings of the story. Written only when something differs."""

    topic: ClassVar = "campaign.revised"

    changes: CampaignRevision
    replaced_surrogates: int = 0


class CampaignDeleted(DomainEvent):
    """A story was deleted, and its stream dropped in the same transaction.

    The tombstone stands in the installation's stream: which campaign, how many events it had, and the hash at its end.
    """

    topic: ClassVar = "campaign.deleted"

    campaign: str
    title: str
    events: int
    head: str


class TurnOpened(DomainEvent):
    """A turn began: the first thing written for it, before any prompt is built or model asked.

    `parent` is the node that the narration will hang under. `process` names the lock that its owner holds while it
    lives, by which others tell a dead turn from a slow one.
    """

    topic: ClassVar = "story.turn_opened"

    turn: str
    operation: Operation
    kind: TurnKind
    parent: NodeId
    retry_of: NodeId | None = None
    idempotency_key: str | None = None
    request_hash: str
    process: str


class PlayerActed(DomainEvent, Placed):
    """The player's words, as typed. Written with the turn's opening, so that they survive whatever follows."""

    topic: ClassVar = "story.player_acted"

    turn: str
    parent: NodeId
    kind: PlayerKind
    text: str
    replaced_surrogates: int = 0


class NarrationAccepted(DomainEvent, Placed):
    """The narrator's reply was taken into the story.

    The prose is the raw reply without the removals. `late` marks a reply to a turn that had been closed meanwhile: a
    take, the head unmoved.
    """

    topic: ClassVar = "story.narration_accepted"
    actor: ClassVar = "narrator"

    turn: str
    parent: NodeId
    raw_reply: str
    reasoning: str = ""
    extractor: str
    removals: tuple[Removal, ...] = ()
    finish_reason: str | None
    retry_of: NodeId | None = None
    late: bool = False


class TurnFailed(DomainEvent):
    """A turn ended without a narration. What had come by then is kept for the audit and is never story.

    `stage` is where it ended: `prompt` while the prompt was built, `sending` while it was recorded and before anything
    was sent, `model` while the model was asked, `reply` while its reply was taken into the story, `interrupted` when
    the process that told it stopped or died, `cancelled` when the player asked for it to stop. `error` is the code of
    what went wrong, `message` its sentence.
    """

    topic: ClassVar = "story.turn_failed"
    actor: ClassVar = "fabula"

    turn: str
    stage: FailureStage
    error: str
    message: str
    partial_reply: str = ""
    partial_reasoning: str = ""


class CancelRequested(DomainEvent):
    """The player asked for a running turn to stop. Its owner, in whichever process, closes the connection and the turn.

    Written when it is asked for, once a turn, and only while the turn is open; asking again adds nothing. The end of the
    turn comes after it: TurnFailed as `cancelled`, or another end that was quicker.
    """

    topic: ClassVar = "story.cancel_requested"

    turn: str


class NodeRevised(DomainEvent, Placed):
    """The player wrote a node anew: a sibling of the original, whose later story stays below it.

    The text is the player's and is story as it stands; of a revised narration as well.
    """

    topic: ClassVar = "story.node_revised"

    parent: NodeId
    kind: RevisableKind
    text: str
    revises: NodeId
    replaced_surrogates: int = 0


class TextCorrected(DomainEvent, Placed):
    """A typo was mended in place. The later story stays, and what was there before stays in the log."""

    topic: ClassVar = "story.text_corrected"

    text: str
    replaced_surrogates: int = 0


class HeadMoved(DomainEvent):
    """The reader went to another place of the story. Carries both places that the log keeps: the head and the tip.

    `branch` and `depth` are the coordinate of `to_node`.
    """

    topic: ClassVar = "story.head_moved"

    from_node: NodeId
    to_node: NodeId
    branch: Annotated[int, Field(ge=1)]
    depth: Annotated[int, Field(ge=1)]
    tip: NodeId
    reason: MoveReason


class SavePointSet(DomainEvent, Placed):
    """The player gave a place of the story a name to come back to."""

    topic: ClassVar = "story.save_point_set"

    save_point: str
    name: str


class SavePointRemoved(DomainEvent):
    """The player removed a save point. The place stays."""

    topic: ClassVar = "story.save_point_removed"

    save_point: str


class BranchNamed(DomainEvent):
    """The player named a branch, or took its name away (an empty one)."""

    topic: ClassVar = "story.branch_named"

    branch: Annotated[int, Field(ge=1)]
    name: str


CampaignEvent = (
    CampaignStarted
    | CampaignRevised
    | TurnOpened
    | PlayerActed
    | NarrationAccepted
    | TurnFailed
    | CancelRequested
    | NodeRevised
    | TextCorrected
    | HeadMoved
    | SavePointSet
    | SavePointRemoved
    | BranchNamed
)
"""What this module adds to a campaign's own stream."""
