"""A story's events and commands, with everything filled in that a test does not speak about."""

from collections.abc import Mapping
from typing import Any

from domain.campaign.commands import (
    AcceptNarration,
    FailTurn,
    OpenRetry,
    OpenTurn,
    RecordPrompt,
    RequestCancel,
    ReviseCampaign,
    StartCampaign,
)
from domain.campaign.events import (
    CampaignRevised,
    CampaignStarted,
    CancelRequested,
    FailureStage,
    NarrationAccepted,
    PlayerActed,
    PlayerKind,
    TurnFailed,
    TurnKind,
    TurnOpened,
)
from domain.campaign.settings import CampaignRevision, CampaignSettings
from domain.extraction.extraction import extract_plain
from domain.prompt.events import (
    Accounting,
    HistorySpan,
    PromptSent,
    ReplyAccounted,
    SectionSpan,
    StoredBody,
    TokenTally,
    Window,
)
from domain.prompt.stored_body import store

CAMPAIGN = "c_lighthouse"
OPENING = "The lamp of the lighthouse has gone out."
PROCESS = "p_here"

ACCOUNT = Accounting(
    status="fits",
    prompt_tokens=90,
    completion_tokens=12,
    estimate=94,
    difference=-4,
    observed_margin=10,
    safety_reserve=8,
    cached_tokens=None,
    window_verified=True,
    detail="The server read 90 tokens, 10 short of the bound.",
)


# Events


def started(opening: str = OPENING, **settings: Any) -> CampaignStarted:
    return CampaignStarted(settings=CampaignSettings(**settings), opening=opening)


def revised(**changes: Any) -> CampaignRevised:
    return CampaignRevised(changes=CampaignRevision(**changes))


def opened(turn: str, *, parent: int, kind: TurnKind = "do", **more: Any) -> TurnOpened:
    known: Mapping[str, Any] = {"operation": "turn", "request_hash": "asked", "process": PROCESS}
    return TurnOpened(turn=turn, kind=kind, parent=parent, **{**known, **more})


def acted(turn: str, node: int, *, parent: int, at: tuple[int, int], kind: PlayerKind = "do", text: str) -> PlayerActed:
    branch, depth = at
    return PlayerActed(node=node, branch=branch, depth=depth, turn=turn, parent=parent, kind=kind, text=text)


def narrated(turn: str, node: int, *, parent: int, at: tuple[int, int], text: str, **more: Any) -> NarrationAccepted:
    branch, depth = at
    known: Mapping[str, Any] = {"extractor": "0", "finish_reason": "stop"}
    return NarrationAccepted(
        node=node, branch=branch, depth=depth, turn=turn, parent=parent, raw_reply=text, **{**known, **more}
    )


def failed(turn: str, stage: FailureStage = "model", **more: Any) -> TurnFailed:
    known: Mapping[str, Any] = {"error": "model_unreachable", "message": "Nothing answers."}
    return TurnFailed(turn=turn, stage=stage, **{**known, **more})


def cancel_requested(turn: str) -> CancelRequested:
    return CancelRequested(turn=turn)


def prompted(
    turn: str, *, at: tuple[int, int, int] = (1, 1, 1), body: StoredBody | bytes = b'{"messages":[]}', **history: Any
) -> PromptSent:
    """`at` is the node, branch and depth that the prompt ends at; `history` what is said of its history."""
    node, branch, depth = at
    return PromptSent(
        turn=turn,
        node=node,
        branch=branch,
        depth=depth,
        endpoint="http://127.0.0.1:9/v1",
        model="fake",
        mode="chat",
        body=store(body) if isinstance(body, bytes) else body,
        sections=(SectionSpan(name="canon", label="Canon", tokens=3, why="always", spans=((0, 3),)),),
        tokens=TokenTally(
            total=94,
            budget=120,
            configured_budget=120,
            reply=20,
            reserve=8,
            transport=4,
            protected=40,
            history=50,
        ),
        window=Window(),
        history=HistorySpan(**{"first_node": 1, "last_node": node, "total": 1, "budget": 50, **history}),
        built_from=1,
    )


def accounted(turn: str, *, at: tuple[int, int, int] | None = None, account: Accounting = ACCOUNT) -> ReplyAccounted:
    node, branch, depth = at or (None, None, None)
    return ReplyAccounted(turn=turn, node=node, branch=branch, depth=depth, accounting=account)


# Commands


def start(opening: str = OPENING, *, campaign: str = CAMPAIGN, **settings: Any) -> StartCampaign:
    return StartCampaign(campaign, CampaignSettings(**settings), opening)


def revise(*, campaign: str = CAMPAIGN, **changes: Any) -> ReviseCampaign:
    return ReviseCampaign(campaign, CampaignRevision(**changes))


def take_turn(
    turn: str,
    kind: TurnKind = "do",
    text: str = "",
    *,
    campaign: str = CAMPAIGN,
    key: str | None = None,
    asked: str = "asked",
) -> OpenTurn:
    return OpenTurn(campaign, turn, kind, text, PROCESS, asked, key)


def retry(turn: str, *, campaign: str = CAMPAIGN, key: str | None = None, asked: str = "asked") -> OpenRetry:
    return OpenRetry(campaign, turn, PROCESS, asked, key)


def record(prompt: PromptSent, *, campaign: str = CAMPAIGN) -> RecordPrompt:
    return RecordPrompt(campaign, prompt)


def accept(
    turn: str,
    text: str,
    *,
    campaign: str = CAMPAIGN,
    reasoning: str = "",
    finish_reason: str | None = "stop",
    account: Accounting | None = None,
) -> AcceptNarration:
    return AcceptNarration(campaign, turn, text, reasoning, extract_plain(text), finish_reason, account)


def fail(
    turn: str, stage: FailureStage = "model", *, campaign: str = CAMPAIGN, account: Accounting | None = None
) -> FailTurn:
    return FailTurn(campaign, turn, stage, "model_unreachable", "Nothing answers.", accounting=account)


def cancel(turn: str, *, campaign: str = CAMPAIGN) -> RequestCancel:
    return RequestCancel(campaign, turn)
