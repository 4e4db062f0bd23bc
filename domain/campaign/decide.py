"""What a command makes happen. Pure: `decide` only dispatches, each decision reads facts and returns events."""

from typing import assert_never

from domain.campaign import moves, naming, narrative, rewriting
from domain.campaign.checks import not_during_a_turn, started
from domain.campaign.commands import (
    AcceptNarration,
    AdoptExtractor,
    CampaignCommand,
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
    CampaignRevised,
    CampaignStarted,
    CancelRequested,
    NarrationAccepted,
    PlayerActed,
    TurnFailed,
    TurnKind,
    TurnOpened,
)
from domain.campaign.facts import CampaignFacts, NodeFacts, StoryEvent, TurnFacts, coordinate_under
from domain.campaign.settings import CampaignRevision
from domain.errors import (
    IdempotencyKeyReused,
    InvalidInput,
    NothingToRetry,
    TurnClosed,
    TurnInProgress,
    TurnNotRunning,
    UnknownTurn,
)
from domain.prompt.events import Accounting, Purpose, ReplyAccounted

Events = tuple[StoryEvent, ...]


def decide(facts: CampaignFacts, command: CampaignCommand) -> Events:  # noqa: C901, PLR0912  # only dispatches, a case a kind
    """The events that the command makes happen; none when what it asks for is so already.

    Raises UnknownCampaign, UnknownTurn, a NotNow or a NotAcceptable, and then nothing happens.
    """
    match command:
        case StartCampaign():
            return _start(facts, command)
        case ReviseCampaign():
            return _revise(facts, command)
        case OpenTurn():
            return _open_turn(facts, command)
        case OpenRetry():
            return _open_retry(facts, command)
        case RecordPrompt():
            _running(facts, command.prompt.turn)
            return (command.prompt,)
        case AcceptNarration():
            return _accept(facts, command)
        case FailTurn():
            return _fail(facts, command)
        case RequestCancel():
            return _request_cancel(facts, command)
        case Undo():
            return moves.undo(facts)
        case Redo():
            return moves.redo(facts)
        case MoveHead():
            return moves.move_head(facts, command)
        case ReviseNode():
            return rewriting.revise(facts, command)
        case CorrectText():
            return rewriting.correct(facts, command)
        case SetSavePoint():
            return naming.set_save_point(facts, command)
        case RemoveSavePoint():
            return naming.remove_save_point(facts, command)
        case NameBranch():
            return naming.name_branch(facts, command)
        case CorrectState():
            return narrative.correct(facts, command)
        case AdoptExtractor():
            return narrative.adopt(facts, command)
        case SetVisualProfile():
            return narrative.set_profile(facts, command)
        case _:
            assert_never(command)


def _start(facts: CampaignFacts, command: StartCampaign) -> Events:
    if facts.settings is not None:
        return ()
    return (
        CampaignStarted(
            settings=command.settings, opening=command.opening, replaced_surrogates=command.replaced_surrogates
        ),
    )


def _revise(facts: CampaignFacts, command: ReviseCampaign) -> Events:
    settings = started(facts)
    named = command.revision.model_dump(exclude_none=True)
    stands = settings.model_dump()
    changed = {field: value for field, value in named.items() if value != stands[field]}
    if not changed:
        return ()
    changes = CampaignRevision.model_validate(changed)
    return (CampaignRevised(changes=changes, replaced_surrogates=command.replaced_surrogates),)


def _open_turn(facts: CampaignFacts, command: OpenTurn) -> Events:
    _check_words(command)
    started(facts)
    if _answered_already(facts, command.idempotency_key, command.request_hash):
        return ()
    not_during_a_turn(facts)
    head = facts.nodes[facts.head]
    if _narrates(head, command):
        return (_opening_of(command, command.kind, parent=head.node),)
    if command.kind == "continue":
        return (_opening_of(command, "continue", parent=head.node),)
    branch, depth = coordinate_under(head, facts.last_branch)
    acted = PlayerActed(
        node=facts.last_node + 1,
        branch=branch,
        depth=depth,
        turn=command.turn,
        parent=head.node,
        kind=command.kind,
        text=command.text,
        replaced_surrogates=command.replaced_surrogates,
    )
    return (_opening_of(command, command.kind, parent=acted.node), acted)


def _check_words(command: OpenTurn) -> None:
    if command.kind == "continue" and command.text.strip():
        raise InvalidInput({"text": "`continue` takes no text; use `do`, `say` or `story` for words of your own"})
    if command.kind != "continue" and not command.text.strip():
        raise InvalidInput({"text": f"`{command.kind}` needs some text; use `continue` to let the narrator go on"})


def _narrates(head: NodeFacts, command: OpenTurn) -> bool:
    """Whether the turn tells the action at the head (one that a failed turn left untold) instead of adding words."""
    same_words = (head.kind, head.said) == (command.kind, command.text)
    return head.is_player and (command.kind == "continue" or same_words)


def _open_retry(facts: CampaignFacts, command: OpenRetry) -> Events:
    started(facts)
    if _answered_already(facts, command.idempotency_key, command.request_hash):
        return ()
    not_during_a_turn(facts)
    head = facts.nodes[facts.head]
    if head.parent is None:
        raise NothingToRetry(facts.campaign)
    parent = head if head.is_player else facts.nodes[head.parent]
    kind: TurnKind = parent.kind if parent.kind in ("do", "say", "story") else "continue"
    retry_of = None if head.is_player else head.node
    return (_opening_of(command, kind, parent=parent.node, retry_of=retry_of),)


def _opening_of(
    command: OpenTurn | OpenRetry, kind: TurnKind, *, parent: int, retry_of: int | None = None
) -> TurnOpened:
    return TurnOpened(
        turn=command.turn,
        operation="turn" if isinstance(command, OpenTurn) else "retry",
        kind=kind,
        parent=parent,
        retry_of=retry_of,
        idempotency_key=command.idempotency_key,
        request_hash=command.request_hash,
        process=command.process,
    )


def _answered_already(facts: CampaignFacts, key: str | None, request_hash: str) -> bool:
    """Whether a turn with this idempotency key has its answer. A failed one is asked again, a running one refuses."""
    earlier = facts.turns[facts.keys[key]] if key is not None and key in facts.keys else None
    if earlier is None:
        return False
    if earlier.request_hash != request_hash:
        raise IdempotencyKeyReused(str(key), earlier.turn)
    if earlier.ended is None:
        raise TurnInProgress(facts.campaign, earlier.turn)
    return earlier.ended == "accepted"


def _turn(facts: CampaignFacts, turn: str) -> TurnFacts:
    started(facts)
    known = facts.turns.get(turn)
    if known is None:
        raise UnknownTurn(facts.campaign, turn)
    return known


def _running(facts: CampaignFacts, turn: str) -> TurnFacts:
    known = _turn(facts, turn)
    if known.ended is not None:
        raise TurnClosed(turn, known.ended)
    return known


def _accept(facts: CampaignFacts, command: AcceptNarration) -> Events:
    turn = _turn(facts, command.turn)
    late = turn.ended == "interrupted"
    if turn.ended is not None and not late:
        raise TurnClosed(command.turn, turn.ended)
    branch, depth = coordinate_under(facts.nodes[turn.parent], facts.last_branch)
    accepted = NarrationAccepted(
        node=facts.last_node + 1,
        branch=branch,
        depth=depth,
        turn=command.turn,
        parent=turn.parent,
        raw_reply=command.raw_reply,
        reasoning=command.reasoning,
        extractor=command.extraction.extractor,
        removals=command.extraction.removals,
        finish_reason=command.finish_reason,
        retry_of=turn.retry_of,
        late=late,
    )
    state_pass = command.state_pass
    return (
        accepted,
        narrative.judged(facts, command, accepted),
        *_account(command.turn, command.accounting, accepted),
        *_account(command.turn, state_pass.accounting if state_pass else None, accepted, purpose="state"),
    )


def _fail(facts: CampaignFacts, command: FailTurn) -> Events:
    turn = _turn(facts, command.turn)
    if turn.ended is not None:
        return ()
    failed = TurnFailed(
        turn=command.turn,
        stage=command.stage,
        error=command.error,
        message=command.message,
        partial_reply=command.partial_reply,
        partial_reasoning=command.partial_reasoning,
    )
    return (failed, *_account(command.turn, command.accounting, None))


def _account(
    turn: str, accounting: Accounting | None, node: NarrationAccepted | None, *, purpose: Purpose = "narration"
) -> Events:
    if accounting is None:
        return ()
    place = {} if node is None else {"node": node.node, "branch": node.branch, "depth": node.depth}
    return (ReplyAccounted(turn=turn, accounting=accounting, purpose=purpose, **place),)


def _request_cancel(facts: CampaignFacts, command: RequestCancel) -> Events:
    turn = _turn(facts, command.turn)
    if turn.ended is not None:
        raise TurnNotRunning(command.turn, turn.ended)
    return () if turn.cancel_requested else (CancelRequested(turn=command.turn),)
