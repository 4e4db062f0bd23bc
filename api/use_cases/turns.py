"""Taking turns, in an order that survives a crash at any instant.

1. The turn is opened, with the player's words.      3. The model is asked; no transaction is open meanwhile.
2. What will be sent is recorded.                    4. The outcome is appended, all or nothing.
"""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeVar, cast

import structlog

from api.breakage import place_of
from api.use_cases.answers import answer_from, turn_answer
from api.use_cases.dead_turns import DeadTurns
from api.use_cases.prompting import Bodies, Prepared, Prompter
from api.use_cases.settings import InstallationSettings
from api.use_cases.telling import Accepted, Delta, Done, Failed, Telling, told_before
from domain.campaign.commands import (
    AcceptNarration,
    FailTurn,
    OpenRetry,
    OpenTurn,
    RecordPrompt,
    RequestCancel,
)
from domain.campaign.events import FailureStage, TurnKind
from domain.campaign.facts import StoryEvent, TurnFacts, evolve
from domain.errors import (
    FabulaError,
    InternalError,
    ModelReplyEmpty,
    ModelReplyIncomplete,
    NotFound,
    StoreFailure,
    StoreUnavailable,
    TurnCancelled,
    TurnInProgress,
    TurnInterrupted,
)
from domain.event import Recorded, canonical_json
from domain.extraction.extraction import extract_plain
from domain.installation import Settings
from domain.log import EventLog, Execution
from domain.ports import Ended, IdSource, Liveness, Narrator, NarratorRequest, Usage, WindowProbe
from domain.prompt.accounting import classify
from domain.prompt.events import Accounting, PromptSent, Window
from domain.prompt.window import with_declared

_Result = TypeVar("_Result")
_log = structlog.get_logger(__name__)

CANCEL_POLL_SECONDS = 0.25
"""How soon a turn notices that another process was asked to cancel it."""

CLOSE_AGAIN_SECONDS = 1.0
"""How soon it is tried again to close a turn whose end the store would not take."""


@dataclass
class _Reply:
    """What has come of a reply so far."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)

    @property
    def raw(self) -> str:
        return "".join(self.text)

    @property
    def thought(self) -> str:
        return "".join(self.reasoning)


@dataclass
class _Course:
    """How far a turn has come: what opened it, its stage, what was sent, what was said."""

    opening: tuple[Recorded, ...]
    stage: FailureStage = "prompt"
    prepared: Prepared | None = None
    reply: _Reply = field(default_factory=_Reply)


class Turns:
    """Takes, retries and cancels turns. One instance a process; its turns go on when nobody listens."""

    def __init__(
        self,
        *,
        log: EventLog,
        narrator: Narrator,
        probe: WindowProbe,
        prompter: Prompter,
        bodies: Bodies,
        settings: InstallationSettings,
        ids: IdSource,
        liveness: Liveness,
    ) -> None:
        self._log = log
        self._narrator = narrator
        self._probe = probe
        self._prompter = prompter
        self._bodies = bodies
        self._settings = settings
        self._ids = ids
        self._liveness = liveness
        self.dead = DeadTurns(log, liveness)
        self._beginnings: set[asyncio.Task[Telling]] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._cancelled: dict[str, asyncio.Event] = {}
        # Turns of this process whose end the store would not take; they are closed when it does again.
        self._unclosed: dict[str, FailTurn] = {}
        self._closing: asyncio.Task[None] | None = None
        self._stopping = False

    async def take(
        self, campaign: str, kind: TurnKind, text: str, *, key: str | None = None, replaced_surrogates: int = 0
    ) -> Telling:
        """Opens a turn and begins to tell it. Raises what `decide` raises, and a StoreFailure; then nothing happened.

        With the idempotency key of an accepted turn: that turn, told before.
        """
        command = OpenTurn(
            campaign=campaign,
            turn=self._ids.new("t"),
            kind=kind,
            text=text,
            process=self._liveness.name,
            request_hash=_request_hash(kind, text),
            idempotency_key=key,
            replaced_surrogates=replaced_surrogates,
        )
        return await self._surely(self._begin(command))

    async def retry(self, campaign: str, *, key: str | None = None) -> Telling:
        """Opens a retry of the newest narration and begins to tell it. Raises as `take`, and NothingToRetry."""
        command = OpenRetry(
            campaign=campaign,
            turn=self._ids.new("t"),
            process=self._liveness.name,
            request_hash=_request_hash("retry", ""),
            idempotency_key=key,
        )
        return await self._surely(self._begin(command))

    async def cancel(self, campaign: str, turn: str) -> TurnFacts:
        """Asks a running turn to stop and waits until it has. Raises UnknownTurn, TurnNotRunning."""
        await self._clear_if_dead(campaign, await _aside(self._log.turn, campaign, turn))
        if turn in self._cancelled:  # first of all: it stops even if the store cannot write down that it was asked to
            self._cancelled[turn].set()
        await _aside(self._log.execute, RequestCancel(campaign, turn))
        while (facts := await _aside(self._log.turn, campaign, turn)).ended is None:
            await self._clear_if_dead(campaign, facts)
            await asyncio.sleep(CANCEL_POLL_SECONDS / 5)
        return facts

    async def clear_dead(self) -> int:
        """Closes the open turns whose owners are dead; how many there were. For the start of a process."""
        found = await _aside(self._log.open_turns)
        cleared = [await self._clear_if_dead(campaign, turn) for campaign, turn in found]
        return sum(cleared)

    async def stop(self) -> None:
        """Ends the running turns; each is closed as interrupted, with what had come kept. No turn begins any more."""
        self._stopping = True
        stopped: set[asyncio.Task[None]] = set()
        while running := {*self._beginnings, *self._tasks.values()}:
            begun = set(self._tasks.values())
            await asyncio.sleep(0)  # a task that is cancelled before its first step would not close its turn
            for task in begun - stopped:
                task.cancel()
            stopped |= begun
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        if self._closing is not None:
            self._closing.cancel()
            await self._close_what_is_left()

    # Opening

    async def _surely(self, beginning: Coroutine[None, None, Telling]) -> Telling:
        """Awaits the beginning of a turn, which goes through even if the one who asked hangs up meanwhile."""
        if self._stopping:
            beginning.close()
            raise StoreUnavailable("Fabula is stopping")
        task = asyncio.create_task(beginning)
        self._beginnings.add(task)
        task.add_done_callback(self._begun)
        return await asyncio.shield(task)

    def _begun(self, task: asyncio.Task[Telling]) -> None:
        self._beginnings.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waits is told of it; that nobody waits any more is no mistake

    async def _begin(self, command: OpenTurn | OpenRetry) -> Telling:
        execution = await self._open(command)
        if not execution.events:
            turn = execution.facts.keys[str(command.idempotency_key)]
            return told_before(command.campaign, turn, await _aside(turn_answer, self._log, command.campaign, turn))
        return await self._start(command, execution)

    async def _start(self, command: OpenTurn | OpenRetry, execution: Execution) -> Telling:
        events = cast("tuple[StoryEvent, ...]", tuple(recorded.event for recorded in execution.events))
        facts = reduce(evolve, events, execution.facts)
        turn = facts.turns[command.turn]
        telling = Telling(command.campaign, command.turn)
        self._cancelled[command.turn] = asyncio.Event()
        await telling.add(Accepted(command.turn, turn.parent if facts.nodes[turn.parent].is_player else None))
        task = asyncio.create_task(self._tell(telling, turn, execution.events), name=f"turn {command.turn}")
        self._tasks[command.turn] = task
        task.add_done_callback(lambda _: self._forget(command.turn))
        return telling

    def _forget(self, turn: str) -> None:
        self._tasks.pop(turn, None)
        self._cancelled.pop(turn, None)

    async def _open(self, command: OpenTurn | OpenRetry) -> Execution:
        """Opens the turn; a dead one that stands in the way is closed first."""
        while True:
            try:
                return await _aside(self._log.execute, command)
            except TurnInProgress as refusal:
                running = await _aside(self._log.turn, command.campaign, str(refusal.fields["turn"]))
                if running.ended is None and not await self._clear_if_dead(command.campaign, running):
                    raise

    async def _clear_if_dead(self, campaign: str, turn: TurnFacts) -> bool:
        """Closes a turn whose owner is gone, or one of this process that could not be closed before."""
        if turn.ended is not None:
            return False
        unclosed = self._unclosed.get(turn.turn)
        if unclosed is not None:
            await _aside(self._log.execute, unclosed)
            self._unclosed.pop(turn.turn, None)
            return True
        return await _aside(self.dead.close, campaign, turn)

    # Telling

    async def _tell(self, telling: Telling, turn: TurnFacts, opening: tuple[Recorded, ...]) -> None:
        course = _Course(opening)
        try:
            await self._tell_well(telling, turn, course)
        except FabulaError as error:
            await _through(self._fail(telling, turn, course, error))
        except asyncio.CancelledError:
            # The process is stopping: what came is kept, and the next process finds the turn closed.
            if not telling.over:
                course.stage = "interrupted"
                await _through(self._fail(telling, turn, course, TurnInterrupted(turn.turn)))
            raise
        except Exception as error:  # noqa: BLE001  # whatever broke, the turn is closed and the player told
            # Not the error itself: its words and its frames may hold the text of a story.
            _log.error(
                "turn_broke",
                campaign=telling.campaign,
                turn=turn.turn,
                error=type(error).__name__,
                at=place_of(error),
            )
            broke = InternalError(f"{type(error).__name__} in turn {turn.turn}")
            await _through(self._fail(telling, turn, course, broke))

    async def _tell_well(self, telling: Telling, turn: TurnFacts, course: _Course) -> None:
        settings, window = await self._unless_cancelled(telling, turn, course, self._narrator_as_it_is())
        prepared = await _aside(self._prompter.prepare, telling.campaign, turn, settings, window)
        course.stage = "sending"
        await _aside(self._log.execute, RecordPrompt(telling.campaign, prepared.event))
        self._bodies.remember(telling.campaign, prepared.event, prepared.body)
        course.prepared, course.stage = prepared, "model"
        await self._unless_cancelled(telling, turn, course, self._listen(telling, course, settings))
        course.stage = "reply"
        await _through(self._accept(telling, turn, course))

    async def _narrator_as_it_is(self) -> tuple[Settings, Window]:
        """The settings in force, and how much the server of theirs reads."""
        settings = await self._resolved_settings()
        told = await self._probe.window(settings.endpoint, settings.model)
        return settings, with_declared(told, settings.context_window_override)

    async def _resolved_settings(self) -> Settings:
        """The settings in force; without a model's name, the first that the server offers."""
        settings = await _aside(self._settings.in_force)
        if settings.model:
            return settings
        with suppress(FabulaError):
            offered = await self._narrator.models(settings.endpoint)
            settings = settings.model_copy(update={"model": offered[0] if offered else ""})
        return settings

    async def _unless_cancelled(
        self, telling: Telling, turn: TurnFacts, course: _Course, work: Coroutine[None, None, _Result]
    ) -> _Result:
        """What the work comes to. Raises TurnCancelled when the player has had enough first, and what the work raises."""
        working = asyncio.create_task(work)
        watching = asyncio.create_task(self._watch_for_cancel(telling.campaign, turn.turn))
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                watching.result()
                course.stage = "cancelled"
                raise TurnCancelled(turn.turn)
            return working.result()
        finally:
            for task in (working, watching):
                task.cancel()
            await asyncio.gather(working, watching, return_exceptions=True)

    async def _listen(self, telling: Telling, course: _Course, settings: Settings) -> None:
        if course.prepared is None:
            raise AssertionError("nothing is asked before it is recorded")
        request = NarratorRequest(
            settings.endpoint, settings.mode, course.prepared.body, float(settings.model_timeout_seconds)
        )
        async with aclosing(self._narrator.stream(request)) as stream:  # type: ignore[type-var]  # an async generator
            async for piece in stream:
                if isinstance(piece, Ended):
                    course.reply.finish_reason, course.reply.usage = piece.finish_reason, piece.usage
                    continue
                course.reply.text.append(piece.text)
                course.reply.reasoning.append(piece.reasoning)
                if piece.text:
                    await telling.add(Delta(piece.text))

    async def _watch_for_cancel(self, campaign: str, turn: str) -> None:
        """Returns when the player has asked for the turn to stop, here or through another process."""
        asked = self._cancelled[turn]
        while not asked.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(asked.wait(), CANCEL_POLL_SECONDS)
            with suppress(StoreFailure):
                facts = await _aside(self._log.turn, campaign, turn)
                if facts.cancel_requested:
                    return  # not for a turn that others closed as interrupted: its reply is taken, late

    async def _accept(self, telling: Telling, turn: TurnFacts, course: _Course) -> None:
        reply = course.reply
        extraction = extract_plain(reply.raw)
        if not extraction.prose:
            raise ModelReplyEmpty(_why_empty(reply))
        command = AcceptNarration(
            campaign=telling.campaign,
            turn=turn.turn,
            raw_reply=reply.raw,
            reasoning=reply.thought,
            extraction=extraction,
            finish_reason=reply.finish_reason,
            accounting=self._account(telling, turn, course),
        )
        accepted = await _aside(self._log.execute, command)
        events = (*course.opening, *accepted.events)
        answer = await _aside(answer_from, self._log, telling.campaign, turn.turn, events)
        await telling.add(Done(answer))

    def _account(self, telling: Telling, turn: TurnFacts, course: _Course) -> Accounting | None:
        if course.prepared is None:
            return None
        sent: PromptSent = course.prepared.event
        account = classify(course.reply.usage, sent.tokens, window_verified=sent.window.verified)
        if account.status in ("truncation_suspected", "exceeded"):
            _log.warning(
                account.status,
                campaign=telling.campaign,
                turn=turn.turn,
                read=account.prompt_tokens,
                estimate=account.estimate,
            )
        if account.status == "truncation_suspected":
            self._probe.forget(sent.endpoint, sent.model)
        return account

    async def _fail(self, telling: Telling, turn: TurnFacts, course: _Course, error: FabulaError) -> None:
        error.fields |= {"turn": turn.turn, "player_node": self._told_node(telling)}
        heard_to_its_end = course.stage == "reply" or isinstance(error, ModelReplyIncomplete)
        close = FailTurn(
            campaign=telling.campaign,
            turn=turn.turn,
            stage=course.stage,
            error=error.code,
            message=error.message,
            partial_reply=course.reply.raw,
            partial_reasoning=course.reply.thought,
            accounting=self._account(telling, turn, course) if heard_to_its_end else None,
        )
        try:
            await self._close(close)
        finally:
            await telling.add(Failed(error))

    @staticmethod
    def _told_node(telling: Telling) -> int | None:
        first = telling.happenings[0]
        return first.node if isinstance(first, Accepted) else None

    async def _close(self, close: FailTurn) -> None:
        try:
            await _aside(self._log.execute, close)
        except StoreFailure as error:
            _log.error("turn_left_open", campaign=close.campaign, turn=close.turn, why=error.code)  # a state, not a bug
            self._unclosed[close.turn] = close
            self._close_later()
        except FabulaError as error:
            _log.info("turn_gone", campaign=close.campaign, turn=close.turn, why=error.code)

    def _close_later(self) -> None:
        """Nobody may ask for the turn again, and other processes cannot close it while this one lives."""
        if not self._stopping and (self._closing is None or self._closing.done()):
            self._closing = asyncio.create_task(self._close_by_and_by(), name="closing turns")

    async def _close_by_and_by(self) -> None:
        while self._unclosed:
            await asyncio.sleep(CLOSE_AGAIN_SECONDS)
            await self._close_what_is_left()

    async def _close_what_is_left(self) -> None:
        for turn, close in list(self._unclosed.items()):
            with suppress(StoreFailure):
                with suppress(NotFound):  # the story was deleted meanwhile
                    await _aside(self._log.execute, close)
                self._unclosed.pop(turn, None)


def _why_empty(reply: _Reply) -> str:
    if reply.thought:
        return f"the model only reasoned, until {reply.finish_reason or 'its end'}; allow it more max_output_tokens"
    return f"it ended with {reply.finish_reason or 'nothing'} and no words"


def _request_hash(kind: str, text: str) -> str:
    """What tells two requests with one idempotency key apart."""
    return hashlib.sha256(canonical_json([kind, text])).hexdigest()[:32]


async def _through(work: Coroutine[None, None, None]) -> None:
    """Awaits what must not be left half done. Cancelled meanwhile, it raises that when the work is done."""
    working = asyncio.create_task(work)
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        await working
        raise


async def _aside(call: Callable[..., _Result], *arguments: Any) -> _Result:
    """Runs what waits for the disk in a thread, so that other turns are heard meanwhile."""
    return await asyncio.to_thread(call, *arguments)
