"""Everything that Fabula refuses or fails at, as one tree.

    FabulaError
    ├── NotFound             UnknownCampaign · UnknownNode · UnknownTurn · UnknownSavePoint · UnknownBranch ·
    │                        UnknownProjection · UnknownReplay
    ├── NotNow               TurnInProgress · TurnNotRunning · TurnClosed · NothingToRetry · NothingToUndo ·
    │                        NothingToRedo · NameTaken · OvertakenMeanwhile · TooManyReplays
    ├── NotAcceptable        InvalidInput · CorrectionRefused · ContextOverflow · EndpointRefused · IdempotencyKeyReused
    ├── ModelFailure         ModelUnreachable (SmallNarratorRestarting) · ModelRefused · ModelReplyIncomplete ·
    │                        ModelReplyEmpty · ModelTimeout
    ├── TurnStopped          TurnCancelled · TurnInterrupted
    ├── InternalError
    └── StoreFailure         StoreUnavailable · StoreReadOnly · StoreFull · StoreNewer · LogDamaged · ViewBehind ·
                             StoreReplaced · StoreDamaged

Each error builds its sentence from its fields and says what to do next. `code` is the word by which programs know it;
what that means for HTTP or for an exit status is decided where HTTP and exit statuses are known.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from domain.text import with_lists

_NAMED_REFUSALS = 3
"""How many refusals a sentence repeats; the fields hold all."""


class FabulaError(Exception):
    """The root of the tree. `message` is for the person who reads it, `fields` for the program that does."""

    code: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, message: str, **fields: object) -> None:
        super().__init__(message)
        self.message = message
        self.fields: dict[str, object] = fields


class NotFound(FabulaError):
    """What was named does not exist."""


class UnknownCampaign(NotFound):
    code = "unknown_campaign"
    title = "There is no such campaign"

    def __init__(self, campaign: str, at: int | None = None) -> None:
        """`at` is the log position at which there was none yet, of a campaign that began later."""
        super().__init__(
            f"There is no campaign {campaign!r} in this store. GET /api/campaigns, or `fabula campaigns`, lists those there are."
            if at is None
            else f"Campaign {campaign} began after position {at} of the log. Name a later position, or none.",
            campaign=campaign,
        )


class UnknownNode(NotFound):
    code = "unknown_node"
    title = "There is no such node"

    def __init__(self, campaign: str, node: int | str, detail: str = "") -> None:
        super().__init__(
            detail or f"Campaign {campaign} has no node {node}. Its story lists the nodes there are.",
            campaign=campaign,
            node=node,
        )


class UnknownTurn(NotFound):
    code = "unknown_turn"
    title = "There is no such turn"

    def __init__(self, campaign: str, turn: str | None, detail: str = "") -> None:
        super().__init__(
            detail or f"Campaign {campaign} has no turn {turn!r}. Each answer to a turn names it.",
            campaign=campaign,
            turn=turn,
        )


class UnknownSavePoint(NotFound):
    code = "unknown_save_point"
    title = "There is no such save point"

    def __init__(self, campaign: str, save_point: str) -> None:
        super().__init__(
            f"Campaign {campaign} has no save point {save_point!r}. GET /api/campaigns/{campaign}/save-points lists them.",
            campaign=campaign,
            save_point=save_point,
        )


class UnknownBranch(NotFound):
    code = "unknown_branch"
    title = "There is no such branch"

    def __init__(self, campaign: str, branch: int | str) -> None:
        super().__init__(
            f"Campaign {campaign} has no branch {branch!r}. GET /api/campaigns/{campaign}/tree shows those there are.",
            campaign=campaign,
            branch=branch,
        )


class UnknownProjection(NotFound):
    code = "unknown_projection"
    title = "There is no such projection"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(
            f"There is no projection {name!r}. There are: {', '.join(known)}.", name=name, known=list(known)
        )


class UnknownReplay(NotFound):
    code = "unknown_replay"
    title = "There is no such replay"

    def __init__(self, replay: str) -> None:
        super().__init__(
            f"There is no replay {replay!r}. Replays are kept until the server stops, the newest ones only; begin one with "
            "POST /api/replays.",
            replay=replay,
        )


class NotNow(FabulaError):
    """Possible at another time or place in the story."""


class TurnInProgress(NotNow):
    code = "turn_in_progress"
    title = "A turn is in progress"

    def __init__(self, campaign: str, turn: str) -> None:
        super().__init__(
            f"Turn {turn} of this story is still being told. Wait for it, or cancel it with "
            f"POST /api/campaigns/{campaign}/turns/{turn}/cancel.",
            campaign=campaign,
            turn=turn,
        )


class TurnNotRunning(NotNow):
    code = "turn_not_running"
    title = "The turn is not running"

    def __init__(self, turn: str, ended: str) -> None:
        super().__init__(
            f"Turn {turn} has ended already ({ended}), so there is nothing to cancel. The story shows what became of it.",
            turn=turn,
            ended=ended,
        )


class TurnClosed(NotNow):
    """Something was to be recorded for a turn that has been closed meanwhile. Never shown to a player."""

    code = "turn_not_running"
    title = "The turn was closed meanwhile"

    def __init__(self, turn: str, ended: str) -> None:
        super().__init__(
            f"Turn {turn} was closed meanwhile ({ended}). Nothing was lost; take the turn again.", turn=turn
        )


class NothingToRetry(NotNow):
    code = "nothing_to_retry"
    title = "There is nothing to retry"

    def __init__(self, campaign: str) -> None:
        super().__init__(
            "The story stands at its opening, and nothing has been narrated yet. Take a turn first.", campaign=campaign
        )


class NothingToUndo(NotNow):
    code = "nothing_to_undo"
    title = "There is nothing to undo"

    def __init__(self, campaign: str) -> None:
        super().__init__("The story stands at its opening; there is nothing before it.", campaign=campaign)


class NothingToRedo(NotNow):
    code = "nothing_to_redo"
    title = "There is nothing to redo"

    def __init__(self, campaign: str) -> None:
        super().__init__(
            "The story stands at its newest moment here. Take a turn, or restore another place.", campaign=campaign
        )


class NameTaken(NotNow):
    code = "name_taken"
    title = "The name is taken"

    def __init__(self, campaign: str, name: str, by: str) -> None:
        super().__init__(
            f"{name!r} already names {by} of this story. Choose another name.", campaign=campaign, name=name, by=by
        )


class OvertakenMeanwhile(NotNow):
    code = "overtaken"
    title = "The story went on meanwhile"

    def __init__(self, campaign: str) -> None:
        super().__init__(
            f"Campaign {campaign} went on while its history was being read anew, so nothing was adopted. Ask again.",
            campaign=campaign,
        )


class TooManyReplays(NotNow):
    code = "too_many_replays"
    title = "Too many replays are waiting"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"{most} replays are running or waiting, and no more are kept. Wait until one has ended.", most=most
        )


class NotAcceptable(FabulaError):
    """Understood, and refused for what it says."""


class InvalidInput(NotAcceptable):
    code = "invalid"
    title = "The input is not valid"

    def __init__(self, problems: Mapping[str, str]) -> None:
        fields = {field: with_lists(problem) for field, problem in problems.items()}
        listed = "; ".join(f"{field}: {problem}" for field, problem in fields.items())
        super().__init__(f"Nothing was changed. {listed}.", fields=fields)


class CorrectionRefused(NotAcceptable):
    code = "correction_refused"
    title = "The correction was refused"

    def __init__(self, refused: Sequence[Mapping[str, object]]) -> None:
        """`refused` holds each event with the code and the sentence of its refusal."""
        why = " ".join(str(each["detail"]) for each in refused[:_NAMED_REFUSALS])
        more = f" And {len(refused) - _NAMED_REFUSALS} more." if len(refused) > _NAMED_REFUSALS else ""
        super().__init__(f"Nothing was changed: every event was refused. {why}{more}", refused=list(refused))


class ContextOverflow(NotAcceptable):
    code = "context_overflow"
    title = "The prompt does not fit"

    def __init__(self, parts: Mapping[str, int], effective: int, *, window_binds: bool) -> None:
        listed = ", ".join(f"{name} {tokens}" for name, tokens in parts.items() if tokens)
        advice = (
            "Load the model with a larger window, or shorten the longest of these."
            if window_binds
            else "Raise context_budget in the settings, or shorten the longest of these."
        )
        super().__init__(
            f"What must be in every prompt takes {sum(parts.values())} tokens of {effective}, which leaves none for "
            f"the story: {listed}. {advice}",
            parts=dict(parts),
            effective=effective,
            window_binds=window_binds,
        )


class EndpointRefused(NotAcceptable):
    code = "endpoint_refused"
    title = "The endpoint is refused"

    def __init__(self, endpoint: str, why: str) -> None:
        super().__init__(
            f"{endpoint!r} is refused: {why}. Use an http or https address on this machine or in a private network, "
            "for instance http://127.0.0.1:11434/v1.",
            endpoint=endpoint,
        )


class IdempotencyKeyReused(NotAcceptable):
    code = "idempotency_key_reused"
    title = "The idempotency key belongs to another request"

    def __init__(self, key: str, turn: str) -> None:
        super().__init__(
            f"Idempotency-Key {key!r} was used for turn {turn} with another body. Use a new key for a new request.",
            key=key,
            turn=turn,
        )


class ModelFailure(FabulaError):
    """The narrator could not be asked, or did not answer well enough. `partial` is what it had said by then."""

    partial: str = ""
    partial_reasoning: str = ""


class ModelUnreachable(ModelFailure):
    code = "model_unreachable"
    title = "The narrator cannot be reached"

    def __init__(self, endpoint: str, why: str, advice: str = "") -> None:
        """`why` stands in brackets. `advice` is what to do; else, what helps with a server that the player runs."""
        todo = advice or "start the model server, or change `endpoint` in the settings, then retry."
        super().__init__(f"No answer came from {endpoint} ({why}). Your words are kept: {todo}", endpoint=endpoint)


class SmallNarratorRestarting(ModelUnreachable):
    """The small narrator that this process runs has ended, and is being started again."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint, "the small narrator is starting again", "retry in a few seconds.")


class ModelRefused(ModelFailure):
    code = "model_refused"
    title = "The narrator's server refused the request"

    def __init__(self, endpoint: str, said: str, status: int | None = None) -> None:
        where = f"with HTTP {status}" if status is not None else "in its reply"
        super().__init__(
            f"The server at {endpoint} refused {where}: {said or 'it gave no reason'}. Your words are kept: mend the "
            "cause (the model's name, its window, its log), then retry.",
            endpoint=endpoint,
            said=said,
            upstream_status=status,
        )


class ModelReplyIncomplete(ModelFailure):
    code = "model_reply_incomplete"
    title = "The narration broke off"

    def __init__(self, why: str) -> None:
        super().__init__(
            f"The narrator's reply broke off before its end ({why}). What came is kept with the turn's record, not in "
            "the story; retry for another."
        )


class ModelReplyEmpty(ModelFailure):
    code = "model_reply_empty"
    title = "The narration was empty"

    def __init__(self, why: str) -> None:
        super().__init__(f"The narrator's reply holds no story ({why}). Your words are kept; retry for another.")


class ModelTimeout(ModelFailure):
    code = "model_timeout"
    title = "The narrator took too long"

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The narrator said nothing for {seconds:g} seconds. Your words are kept: retry, or raise "
            "`model_timeout_seconds` in the settings.",
            seconds=seconds,
        )


class TurnStopped(FabulaError):
    """A running turn was ended from outside."""


class TurnInterrupted(TurnStopped):
    code = "turn_interrupted"
    title = "The turn was interrupted"

    def __init__(self, turn: str) -> None:
        super().__init__(
            f"Fabula stopped while turn {turn} was being told. Its words and what had been narrated are kept in its "
            "record; retry, or go on.",
            turn=turn,
        )


class InternalError(FabulaError):
    code = "internal_error"
    title = "Fabula made a mistake"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} failed in a way that should not happen. What was acknowledged is safe; the log on standard error "
            "says more. Please report it."
        )


class TurnCancelled(TurnStopped):
    code = "turn_cancelled"
    title = "The turn was cancelled"

    def __init__(self, turn: str) -> None:
        super().__init__(
            f"Turn {turn} was cancelled. Its words and what had been narrated are kept in its record.", turn=turn
        )


class StoreFailure(FabulaError):
    """The log or a view cannot do its work."""


class StoreUnavailable(StoreFailure):
    code = "store_unavailable"
    title = "The store does not answer"

    def __init__(self, why: str) -> None:
        super().__init__(f"The store does not answer: {why}. What was acknowledged is safe; try again.")


class StoreReadOnly(StoreFailure):
    code = "store_read_only"
    title = "The store cannot be written"

    def __init__(self, where: str, todo: str = "Make the directory and its files writable for this user") -> None:
        super().__init__(
            f"The store at {where} is read-only, so nothing was recorded. {todo}, then try again.", where=where
        )


class StoreFull(StoreFailure):
    code = "store_full"
    title = "The disk is full"

    def __init__(self, where: str) -> None:
        super().__init__(
            f"The disk that holds {where} is full, so nothing was recorded. Make room, then try again; what was "
            "acknowledged is safe.",
            where=where,
        )


class StoreNewer(StoreFailure):
    code = "store_newer"
    title = "The store was written by a newer Fabula"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"This store holds {what}, which this version does not know. Nothing was touched: use the newer Fabula."
        )


class LogDamaged(StoreFailure):
    code = "store_unavailable"
    title = "The log is damaged"

    def __init__(self, stream: str, version: int, why: str) -> None:
        super().__init__(
            f"Event {version} of stream {stream} is damaged: {why}. `fabula verify` names the first event that does not fit; "
            "restore the store from a backup.",
            stream=stream,
            version=version,
        )


class ViewBehind(StoreFailure):
    code = "view_behind"
    title = "A view has not caught up"

    def __init__(self, name: str, position: int, wanted: int, parked_at: int | None = None) -> None:
        why = (
            "It is catching up; ask again in a moment."
            if parked_at is None
            else f"It is parked: it cannot take in the event at position {parked_at}. `fabula rebuild --status` says why; "
            f"`fabula rebuild {name}`, or a start of the program, tries again."
        )
        super().__init__(
            f"The view {name!r} stands at {position} and this answer needs {wanted}. {why}",
            name=name,
            position=position,
            wanted=wanted,
            parked_at=parked_at,
        )


class ViewParked(StoreFailure):
    code = "view_behind"
    title = "A view cannot be built"

    def __init__(self, name: str, parked_at: int, raised: str) -> None:
        todo = {
            LogDamaged.__name__: "`fabula verify` names the first event that does not fit; restore the store from a backup.",
            StoreNewer.__name__: "A newer version of Fabula wrote it; use that.",
        }.get(raised, "The program's log says where it was raised; a program that can goes on from there.")
        super().__init__(
            f"The view {name!r} cannot take in the event at position {parked_at} ({raised}), so its build is parked there. What "
            f"served before serves on. {todo}",
            name=name,
            parked_at=parked_at,
            raised=raised,
        )


class StoreReplaced(StoreUnavailable):
    """Also what was acknowledged before may be gone with the file, so nothing is promised about it."""

    title = "The log was deleted or replaced"

    def __init__(self, where: str) -> None:
        FabulaError.__init__(
            self,
            f"{where} was deleted or replaced while the program ran, so nothing was recorded. Stop the program, put the "
            "file back or start anew without it, then start the program again.",
            where=where,
        )


class StoreDamaged(StoreFailure):
    """The file is no database, or a broken one; where a single event is, it is LogDamaged."""

    code = "store_unavailable"
    title = "The store is damaged"

    def __init__(self, where: str, why: str) -> None:
        super().__init__(
            f"{where} is damaged ({why}), so nothing was recorded. Stop the program and restore it from a backup; what "
            "was recorded after that backup may be lost.",
            where=where,
        )
