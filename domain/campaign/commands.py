"""What can be asked of a story. Commands are dumb: whatever they need from the world is in them."""

from dataclasses import dataclass
from typing import Any

from domain.campaign.events import FailureStage, TurnKind
from domain.campaign.settings import CampaignRevision, CampaignSettings
from domain.extraction.extraction import Extraction
from domain.narrative.events import AdoptionScope, NarrationReread
from domain.narrative.judging import Proposed
from domain.narrative.visual_profile import VisualProfile
from domain.prompt.events import Accounting, PromptSent


@dataclass(frozen=True)
class StartCampaign:
    """Create a story."""

    campaign: str
    settings: CampaignSettings
    opening: str
    replaced_surrogates: int = 0


@dataclass(frozen=True)
class ReviseCampaign:
    """Change a story's settings."""

    campaign: str
    revision: CampaignRevision
    replaced_surrogates: int = 0


@dataclass(frozen=True)
class OpenTurn:
    """Take a turn: the player's words, or none for `continue`."""

    campaign: str
    turn: str
    kind: TurnKind
    text: str
    process: str
    request_hash: str
    idempotency_key: str | None = None
    replaced_surrogates: int = 0


@dataclass(frozen=True)
class OpenRetry:
    """Ask for another take of the newest narration, or for a first one of an action that has none."""

    campaign: str
    turn: str
    process: str
    request_hash: str
    idempotency_key: str | None = None


@dataclass(frozen=True)
class RecordPrompt:
    """Record what is about to be sent for a running turn."""

    campaign: str
    prompt: PromptSent


@dataclass(frozen=True)
class StatePass:
    """What came of the second request, which asks for the block alone: its reply, or the error that kept it from one."""

    proposed: Proposed = "absent"
    block: str | None = None
    error: str | None = None
    accounting: Accounting | None = None


@dataclass(frozen=True)
class AcceptNarration:
    """Take a reply into the story, and judge what it proposes.

    What a second request brought (`state_pass`) is judged instead of what the extraction found.
    """

    campaign: str
    turn: str
    raw_reply: str
    reasoning: str
    extraction: Extraction
    finish_reason: str | None
    accounting: Accounting | None
    state_pass: StatePass | None = None


@dataclass(frozen=True)
class FailTurn:
    """Close a turn without a narration, if it is still open."""

    campaign: str
    turn: str
    stage: FailureStage
    error: str
    message: str
    partial_reply: str = ""
    partial_reasoning: str = ""
    accounting: Accounting | None = None


@dataclass(frozen=True)
class RequestCancel:
    """Ask for a running turn to stop."""

    campaign: str
    turn: str


@dataclass(frozen=True)
class Undo:
    """Go to before the newest turn of the line."""

    campaign: str


@dataclass(frozen=True)
class Redo:
    """Go one turn forward, towards the tip."""

    campaign: str


@dataclass(frozen=True)
class MoveHead:
    """Go to a node, or to a save point: one of the two is given."""

    campaign: str
    node: int | None = None
    save_point: str | None = None


@dataclass(frozen=True)
class ReviseNode:
    """Write a node anew, as a sibling. `proposed` and `block` are what the original narration proposed."""

    campaign: str
    node: int
    text: str
    replaced_surrogates: int = 0
    proposed: Proposed = "absent"
    block: str | None = None


@dataclass(frozen=True)
class CorrectText:
    """Mend a node's text in place."""

    campaign: str
    node: int
    text: str
    replaced_surrogates: int = 0


@dataclass(frozen=True)
class SetSavePoint:
    """Name a place: a node, or the head when none is given."""

    campaign: str
    save_point: str
    name: str
    node: int | None = None


@dataclass(frozen=True)
class RemoveSavePoint:
    """Remove a save point."""

    campaign: str
    save_point: str


@dataclass(frozen=True)
class NameBranch:
    """Name a branch; an empty name takes its name away."""

    campaign: str
    branch: int
    name: str


@dataclass(frozen=True)
class CorrectState:
    """Change the state at the head by hand, by state events in the wire format."""

    campaign: str
    events: tuple[Any, ...]
    note: str = ""
    replaced_surrogates: int = 0


@dataclass(frozen=True)
class AdoptExtractor:
    """Put an extractor in force.

    For the whole history, `readings` are the narrations that it reads otherwise, as worked out from the story when that
    had `version` events.
    """

    campaign: str
    extractor: str
    scope: AdoptionScope
    readings: tuple[NarrationReread, ...] = ()
    version: int = 0


@dataclass(frozen=True)
class SetVisualProfile:
    """Say how an entity looks."""

    campaign: str
    entity: str
    profile: VisualProfile
    replaced_surrogates: int = 0


CampaignCommand = (
    StartCampaign
    | ReviseCampaign
    | OpenTurn
    | OpenRetry
    | RecordPrompt
    | AcceptNarration
    | FailTurn
    | RequestCancel
    | Undo
    | Redo
    | MoveHead
    | ReviseNode
    | CorrectText
    | SetSavePoint
    | RemoveSavePoint
    | NameBranch
    | CorrectState
    | AdoptExtractor
    | SetVisualProfile
)
