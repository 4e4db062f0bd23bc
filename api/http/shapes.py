"""The JSON that goes in and out. These shapes are a contract: fields are added, never changed."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from domain.campaign.events import TurnKind
from domain.campaign.settings import CampaignRevision, CampaignSettings
from domain.installation import Settings

OPENING_CHARACTERS = 200_000


class NewCampaign(CampaignSettings):
    """A story to be created. Everything has a default; the opening is node 1 and stays as it is."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "title": "The far side",
                    "opening": "The door at the end of the corridor has never been open before. Tonight it is.",
                    "canon": ["Nobody has ever come back through the door."],
                    "persona": {"name": "Ilse", "pronouns": "she/her", "description": "Patient, and a little deaf."},
                }
            ]
        }
    )

    opening: Annotated[str, Field(max_length=OPENING_CHARACTERS)] = ""


class CampaignChange(CampaignRevision):
    """The settings to change; what is absent stays. `opening` is not among them."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"authors_note": "Slow down; let the silence work."}]})


class TurnRequest(BaseModel):
    """The player's action: what they do, say, or tell; or `continue`, without text."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"kind": "do", "text": "I step through the door"}, {"kind": "continue"}]},
    )

    kind: TurnKind
    text: str = ""


class PositionShape(BaseModel):
    """Where the reader is."""

    head: int
    moment: int
    label: str
    can_undo: bool
    can_redo: bool
    takes: list[int]
    turn_in_progress: str | None


class CampaignShape(BaseModel):
    """A story, with what it was created with."""

    id: str
    title: str
    created_at: str
    revised_at: str
    settings: NewCampaign
    position: PositionShape


class CampaignRow(BaseModel):
    """A story in the list."""

    id: str
    title: str
    created_at: str
    revised_at: str
    turns: int
    nodes: int
    played_at: str | None


class CampaignList(BaseModel):
    """Stories, newest first. `next` is what `after` takes for the following page."""

    campaigns: list[CampaignRow]
    next: int | None


class Tombstone(BaseModel):
    """What is left of a deleted story."""

    campaign: str
    title: str
    events: int
    head: str


class StateChange(BaseModel):
    """A leaf of the narrative state before and after."""

    path: str
    before: Any
    after: Any


class ProposalShape(BaseModel):
    """What the narrator proposed, and what became of it."""

    outcome: str
    accepted: list[dict[str, Any]]
    refused: list[dict[str, Any]]


class AccountingShape(BaseModel):
    """What the server said it read, and what that means. Tokens."""

    status: Literal["unknown", "truncation_suspected", "exceeded", "fits"]
    prompt_tokens: int | None
    completion_tokens: int | None = None
    estimate: int
    exact: int | None
    difference: int | None
    observed_margin: int | None
    safety_reserve: int
    cached_tokens: int | None
    window_verified: bool
    detail: str


class TurnShape(BaseModel):
    """The answer to a turn; also the data of a stream's `done`."""

    turn: str
    player_node: int | None
    node: int
    prose: str
    finish_reason: str | None
    position: PositionShape
    state_changes: list[StateChange]
    proposal: ProposalShape
    accounting: AccountingShape | None


class CancelShape(BaseModel):
    """What became of a turn that was asked to stop."""

    turn: str
    ended: str
    position: PositionShape


class StoryNode(BaseModel):
    """A node of the active line."""

    node: int
    kind: str
    moment: int
    parent: int | None
    text: str
    takes: list[int]
    outcome: str | None
    accounting: str | None
    turn: str | None
    at: str


class StoryShape(BaseModel):
    """A page of the active line, oldest first. `next` is what `before` takes for the page before it."""

    nodes: list[StoryNode]
    next: int | None
    position: PositionShape


class SectionShape(BaseModel):
    """A section of a prompt: its text as it was sent."""

    name: str
    label: str
    tokens: int
    text: str
    why: str


class PromptShape(BaseModel):
    """The record of a request."""

    node: int | None
    turn: str
    purpose: str
    sections: list[SectionShape]
    tokens: dict[str, int | None]
    window: dict[str, Any]
    history: dict[str, Any]
    memories: dict[str, Any]
    knowledge: dict[str, Any]
    accounting: AccountingShape | None
    endpoint: str
    model: str
    mode: str
    parameters: dict[str, Any]
    body_sha256: str
    body_bytes: int
    built_from: int
    at: str


class RemovalShape(BaseModel):
    """A stretch of the raw reply that is not story: half open, in code points."""

    rule: str
    start: int
    end: int


class ReplyShape(BaseModel):
    """A turn's reply as it arrived; of a failed turn, what had come."""

    turn: str
    node: int | None
    ended: str | None
    raw_reply: str
    reasoning: str
    extractor: str | None
    removals: list[RemovalShape]
    prose: str
    finish_reason: str | None
    error: str | None
    message: str | None


class EventShape(BaseModel):
    """An event as it stands in the log."""

    position: int
    stream: str
    version: int
    topic: str
    schema_: Annotated[int, Field(alias="schema")]
    id: str
    at: str
    turn: str | None
    actor: str
    data: dict[str, Any]
    payload_sha256: str
    chain: str


class EventPage(BaseModel):
    """Events in order of position. `next` is what `after` takes for what follows."""

    events: list[EventShape]
    next: int | None


class VerifyShape(BaseModel):
    """What a walk over the hash chain found."""

    ok: bool
    events: int
    head: str
    first_bad: dict[str, Any] | None


class SettingsChange(Settings):
    """Any of the settings; what is absent stays, null clears an optional one."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"endpoint": "http://127.0.0.1:11434/v1", "model": "llama3.2"}]}
    )


class SettingsShape(Settings):
    """The settings in force."""


class SettingsTest(BaseModel):
    """What the configured server offers."""

    endpoint: str
    model: str
    reachable: bool
    models: list[str]
    model_listed: bool
    window: dict[str, Any]
    detail: str


class ProjectionShape(BaseModel):
    """A view: how far it has come."""

    name: str
    version: int
    position: int
    lag: int
    state: str
    error: str | None


class ProjectionList(BaseModel):
    """All views."""

    projections: list[ProjectionShape]


class HealthShape(BaseModel):
    """Whether the program can be used now."""

    status: Literal["ready", "catching_up"]
    version: str
    position: int
    projections: list[ProjectionShape]


class ProblemShape(BaseModel):
    """RFC 9457. `code` is from a closed list; other fields explain it."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "A turn is in progress",
                    "status": 409,
                    "code": "turn_in_progress",
                    "detail": "Turn t_4m2kq7xw3a of this story is still being told. Wait for it, or cancel it.",
                }
            ]
        },
    )

    type: str
    title: str
    status: int
    code: str
    detail: str
