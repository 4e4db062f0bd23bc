"""Telling an opened turn: the prompt is recorded, the narrator heard, the narration accepted or the turn closed."""

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import structlog

from api.breakage import place_of
from api.use_cases.answers import answer_from
from api.use_cases.closing import Closing
from api.use_cases.prompting import Bodies, Prepared, Prompter
from api.use_cases.settings import InstallationSettings
from api.use_cases.state_pass import StatePasses
from api.use_cases.telling import Accepted, Delta, Done, Failed, Telling
from api.use_cases.waiting import aside, through
from domain.campaign.commands import AcceptNarration, FailTurn, RecordPrompt, StatePass
from domain.campaign.events import FailureStage
from domain.campaign.facts import TurnFacts
from domain.errors import (
    FabulaError,
    InternalError,
    ModelReplyEmpty,
    ModelReplyIncomplete,
    ModelUnreachable,
    SmallNarratorRestarting,
    StoreFailure,
    TurnCancelled,
    TurnInterrupted,
)
from domain.event import Recorded
from domain.extraction.extraction import Extraction
from domain.extraction.extractors import extract
from domain.installation import Settings, SettingsInForce
from domain.log import EventLog
from domain.ports import Ended, Narrator, NarratorRequest, Usage, WindowProbe
from domain.prompt.accounting import classify
from domain.prompt.events import Accounting, PromptSent, Window
from domain.prompt.window import with_declared

_Result = TypeVar("_Result")
_log = structlog.get_logger(__name__)

CANCEL_POLL_SECONDS = 0.25
"""How soon a turn notices that another process was asked to cancel it."""


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
    state_pass: StatePass | None = None


class Narrating:
    """Tells turns. One instance a process.

    `kept_running` is the endpoint of a narrator that this process starts again whenever it ends, None without one.
    """

    def __init__(
        self,
        *,
        log: EventLog,
        narrator: Narrator,
        probe: WindowProbe,
        prompter: Prompter,
        bodies: Bodies,
        settings: InstallationSettings,
        closing: Closing,
        kept_running: str | None = None,
    ) -> None:
        self._log = log
        self._narrator = narrator
        self._probe = probe
        self._prompter = prompter
        self._bodies = bodies
        self._settings = settings
        self._closing = closing
        self._kept_running = kept_running
        self._passes = StatePasses(log, narrator, prompter)

    async def tell(self, telling: Telling, turn: TurnFacts, opening: tuple[Recorded, ...]) -> None:
        """Tells the turn to its end, and closes it whatever happens. `opening` is what opened it."""
        course = _Course(opening)
        try:
            await self._tell_well(telling, turn, course)
        except FabulaError as error:
            await through(self._fail(telling, turn, course, error))
        except asyncio.CancelledError:
            # The process is stopping: what came is kept, and the next process finds the turn closed.
            if not telling.over:
                course.stage = "interrupted"
                await through(self._fail(telling, turn, course, TurnInterrupted(turn.turn)))
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
            await through(self._fail(telling, turn, course, broke))

    async def _tell_well(self, telling: Telling, turn: TurnFacts, course: _Course) -> None:
        settings, window = await self._unless_cancelled(telling, turn, course, self._narrator_as_it_is())
        prepare = partial(self._prompter.prepare, public_endpoint=settings.public_endpoint)
        prepared = await aside(prepare, telling.campaign, turn, settings, window)
        course.stage = "sending"
        await aside(self._log.execute, RecordPrompt(telling.campaign, prepared.event))
        self._bodies.remember(telling.campaign, prepared.event, prepared.body)
        course.prepared, course.stage = prepared, "model"
        await self._unless_cancelled(telling, turn, course, self._listen(telling, course, settings))
        course.stage = "reply"
        extraction = await self._extracted(telling.campaign, course)
        if settings.state_pass and not isinstance(extraction.proposal, tuple):
            course.state_pass = await self._passed(telling, turn, course, extraction, settings, window)
        await through(self._accept(telling, turn, course, extraction))

    async def _narrator_as_it_is(self) -> tuple[SettingsInForce, Window]:
        """The settings in force, and how much the server of theirs reads."""
        settings = await self._resolved_settings()
        told = await self._probe.window(settings.endpoint, settings.model)
        return settings, with_declared(told, settings.context_window_override)

    async def _resolved_settings(self) -> SettingsInForce:
        """The settings in force; without a model's name, the first that the server offers."""
        settings = await aside(self._settings.in_force)
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
        watching = asyncio.create_task(self._watch_for_cancel(telling))
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
        try:
            await self._hear(telling, course.reply, request)
        except ModelUnreachable as error:
            if request.endpoint == self._kept_running:
                raise SmallNarratorRestarting(request.endpoint) from error
            raise

    async def _hear(self, telling: Telling, reply: _Reply, request: NarratorRequest) -> None:
        async with aclosing(self._narrator.stream(request)) as stream:  # type: ignore[type-var]  # an async generator
            async for piece in stream:
                if isinstance(piece, Ended):
                    reply.finish_reason, reply.usage = piece.finish_reason, piece.usage
                    continue
                reply.text.append(piece.text)
                reply.reasoning.append(piece.reasoning)
                if piece.text:
                    await telling.add(Delta(piece.text))

    async def _watch_for_cancel(self, telling: Telling) -> None:
        """Returns when the player has asked for the turn to stop, here or through another process."""
        while not telling.cancel_asked.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(telling.cancel_asked.wait(), CANCEL_POLL_SECONDS)
            with suppress(StoreFailure):
                facts = await aside(self._log.turn, telling.campaign, telling.turn)
                if facts.cancel_requested:
                    return  # not for a turn that others closed as interrupted: its reply is taken, late

    async def _extracted(self, campaign: str, course: _Course) -> Extraction:
        """What of the reply is story, and what it proposes, as the extractor in force has it."""
        reply = course.reply
        extractor = await aside(self._extractor, campaign)
        extraction = await aside(extract, reply.raw, extractor)
        if not extraction.prose:
            raise ModelReplyEmpty(_why_empty(reply))
        return extraction

    def _extractor(self, campaign: str) -> str:
        return self._log.campaign(campaign).extractor or self._settings.in_force().extractor

    async def _passed(
        self,
        telling: Telling,
        turn: TurnFacts,
        course: _Course,
        extraction: Extraction,
        settings: SettingsInForce,
        window: Window,
    ) -> StatePass:
        """What the second request brings. Who has enough of waiting for it keeps the narration."""
        prose = extraction.prose
        asked = self._passes.ask(telling.campaign, turn, prose, settings, window)
        try:
            return await self._unless_cancelled(telling, turn, course, asked)
        except TurnCancelled as error:
            course.stage = "reply"
            return StatePass(error=error.message)

    async def _accept(self, telling: Telling, turn: TurnFacts, course: _Course, extraction: Extraction) -> None:
        reply = course.reply
        command = AcceptNarration(
            campaign=telling.campaign,
            turn=turn.turn,
            raw_reply=reply.raw,
            reasoning=reply.thought,
            extraction=extraction,
            finish_reason=reply.finish_reason,
            accounting=self._account(telling, turn, course),
            state_pass=course.state_pass,
        )
        accepted = await aside(self._log.execute, command)
        events = (*course.opening, *accepted.events)
        answer = await aside(answer_from, self._log, telling.campaign, turn.turn, events)
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
            await self._closing.close(close)
        finally:
            await telling.add(Failed(error))

    @staticmethod
    def _told_node(telling: Telling) -> int | None:
        first = telling.happenings[0]
        return first.node if isinstance(first, Accepted) else None


def _why_empty(reply: _Reply) -> str:
    if reply.thought:
        return f"the model only reasoned, until {reply.finish_reason or 'its end'}; allow it more max_output_tokens"
    return f"it ended with {reply.finish_reason or 'nothing'} and no words"
