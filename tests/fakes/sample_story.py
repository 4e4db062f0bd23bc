"""A story's events and commands, with everything filled in that a test does not speak about."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from domain.campaign.commands import (
    AcceptNarration,
    AdoptExtractor,
    CorrectState,
    CorrectText,
    FailTurn,
    MoveHead,
    NameBranch,
    OpenRetry,
    OpenTurn,
    RecordPrompt,
    Redo,
    RemoveSavePoint,
    RequestCancel,
    ReviseCampaign,
    ReviseNode,
    SetSavePoint,
    SetVisualProfile,
    StartCampaign,
    Undo,
)
from domain.campaign.events import (
    BranchNamed,
    CampaignRevised,
    CampaignStarted,
    CancelRequested,
    FailureStage,
    HeadMoved,
    MoveReason,
    NarrationAccepted,
    NodeRevised,
    PlayerActed,
    PlayerKind,
    RevisableKind,
    SavePointRemoved,
    SavePointSet,
    TextCorrected,
    TurnFailed,
    TurnKind,
    TurnOpened,
)
from domain.campaign.settings import CampaignRevision, CampaignSettings
from domain.extraction.extraction import Removal, extract_plain
from domain.narrative.events import (
    AdoptionScope,
    ExtractorAdopted,
    NarrationReread,
    ProposalJudged,
    StateCorrected,
    VisualProfileSet,
)
from domain.narrative.judging import Outcome, Proposed
from domain.narrative.visual_profile import VisualProfile
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


def judged(
    turn: str | None, node: int, *, at: tuple[int, int], outcome: Outcome = "absent", **more: Any
) -> ProposalJudged:
    branch, depth = at
    return ProposalJudged(node=node, branch=branch, depth=depth, turn=turn, outcome=outcome, **more)


def told(
    turn: str, node: int, *, parent: int, at: tuple[int, int], text: str, **more: Any
) -> tuple[NarrationAccepted, ProposalJudged]:
    """A narration without a block, and the judgement that says so."""
    return narrated(turn, node, parent=parent, at=at, text=text, **more), judged(turn, node, at=at)


def corrected_state(node: int, *accepted: Any, at: tuple[int, int], **more: Any) -> StateCorrected:
    branch, depth = at
    return StateCorrected(node=node, branch=branch, depth=depth, accepted=accepted, **more)


def reread(
    node: int, *accepted: Any, at: tuple[int, int], raw: str, cut: str = "", extractor: str = "2", **more: Any
) -> NarrationReread:
    """The narration whose raw reply this is, as another extractor reads it, which cuts this out."""
    branch, depth = at
    start = raw.index(cut)
    removal = Removal(rule="block", start=start, end=start + len(cut))
    known: Mapping[str, Any] = {"outcome": "applied" if accepted else "absent", "removals": (removal,) if cut else ()}
    return NarrationReread(
        node=node,
        branch=branch,
        depth=depth,
        extractor=extractor,
        prose=raw.replace(cut, "", 1),
        accepted=accepted,
        **{**known, **more},
    )


def adopted(extractor: str, scope: AdoptionScope = "whole_history") -> ExtractorAdopted:
    return ExtractorAdopted(extractor=extractor, scope=scope)


def looks(entity: str, **look: Any) -> VisualProfileSet:
    return VisualProfileSet(entity=entity, profile=VisualProfile(**look))


def failed(turn: str, stage: FailureStage = "model", **more: Any) -> TurnFailed:
    known: Mapping[str, Any] = {"error": "model_unreachable", "message": "Nothing answers."}
    return TurnFailed(turn=turn, stage=stage, **{**known, **more})


def cancel_requested(turn: str) -> CancelRequested:
    return CancelRequested(turn=turn)


def moved(reason: MoveReason, start: int, to: int, *, at: tuple[int, int], tip: int) -> HeadMoved:
    branch, depth = at
    return HeadMoved(from_node=start, to_node=to, branch=branch, depth=depth, tip=tip, reason=reason)


def rewritten(
    node: int, *, revises: int, parent: int, at: tuple[int, int], kind: RevisableKind = "narration", text: str
) -> NodeRevised:
    branch, depth = at
    return NodeRevised(node=node, branch=branch, depth=depth, parent=parent, kind=kind, text=text, revises=revises)


def corrected(node: int, *, at: tuple[int, int], text: str) -> TextCorrected:
    branch, depth = at
    return TextCorrected(node=node, branch=branch, depth=depth, text=text)


def saved(save_point: str, name: str, node: int, *, at: tuple[int, int]) -> SavePointSet:
    branch, depth = at
    return SavePointSet(node=node, branch=branch, depth=depth, save_point=save_point, name=name)


def unsaved(save_point: str) -> SavePointRemoved:
    return SavePointRemoved(save_point=save_point)


def named(branch: int, name: str) -> BranchNamed:
    return BranchNamed(branch=branch, name=name)


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
    proposed: Proposed = "absent",
) -> AcceptNarration:
    extraction = replace(extract_plain(text), proposal=proposed, block=_block(proposed))
    return AcceptNarration(campaign, turn, text, reasoning, extraction, finish_reason, account)


def _block(proposed: Proposed) -> str | None:
    return orjson.dumps({"events": proposed}).decode() if isinstance(proposed, tuple) else None


def correct_state(*events: Any, note: str = "", campaign: str = CAMPAIGN) -> CorrectState:
    return CorrectState(campaign, events, note)


def adopt_from_now(extractor: str, *, campaign: str = CAMPAIGN) -> AdoptExtractor:
    return AdoptExtractor(campaign, extractor, "from_now")


def adopt(extractor: str, *readings: NarrationReread, version: int, campaign: str = CAMPAIGN) -> AdoptExtractor:
    """For the whole history, of a story that had `version` events when the readings were worked out."""
    return AdoptExtractor(campaign, extractor, "whole_history", readings, version)


def look(entity: str, *, campaign: str = CAMPAIGN, **profile: Any) -> SetVisualProfile:
    return SetVisualProfile(campaign, entity, VisualProfile(**profile))


def fail(
    turn: str, stage: FailureStage = "model", *, campaign: str = CAMPAIGN, account: Accounting | None = None
) -> FailTurn:
    return FailTurn(campaign, turn, stage, "model_unreachable", "Nothing answers.", accounting=account)


def cancel(turn: str, *, campaign: str = CAMPAIGN) -> RequestCancel:
    return RequestCancel(campaign, turn)


def undo(*, campaign: str = CAMPAIGN) -> Undo:
    return Undo(campaign)


def redo(*, campaign: str = CAMPAIGN) -> Redo:
    return Redo(campaign)


def go(node: int | None = None, *, save_point: str | None = None, campaign: str = CAMPAIGN) -> MoveHead:
    return MoveHead(campaign, node, save_point)


def rewrite(node: int, text: str, *, campaign: str = CAMPAIGN, proposed: Proposed = "absent") -> ReviseNode:
    return ReviseNode(campaign, node, text, proposed=proposed, block=_block(proposed))


def correct(node: int, text: str, *, campaign: str = CAMPAIGN) -> CorrectText:
    return CorrectText(campaign, node, text)


def save(save_point: str, name: str, node: int | None = None, *, campaign: str = CAMPAIGN) -> SetSavePoint:
    return SetSavePoint(campaign, save_point, name, node)


def unsave(save_point: str, *, campaign: str = CAMPAIGN) -> RemoveSavePoint:
    return RemoveSavePoint(campaign, save_point)


def name_branch(branch: int, name: str, *, campaign: str = CAMPAIGN) -> NameBranch:
    return NameBranch(campaign, branch, name)


# State events


def create(entity: str, kind: str = "item", **fields: Any) -> dict[str, Any]:
    return {"type": "create_entity", "entity": entity, "entity_type": kind, "name": entity.title(), **fields}


def give(item: str, owner: str | None) -> dict[str, Any]:
    return {"type": "set_possession", "item": item, "owner": owner}


def be(entity: str, status: str) -> dict[str, Any]:
    return {"type": "set_entity_status", "entity": entity, "status": status}


def establish(predicate: str, **fields: Any) -> dict[str, Any]:
    return {"type": "add_fact", "predicate": predicate, **fields}
