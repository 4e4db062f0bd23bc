"""Turns over a real log and a real socket, at the moments that no request can hit: stops, stores that refuse, stalls."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from adapters.endpoint_policy import EndpointPolicy, policed_client
from adapters.event_log.log import SqlEventLog
from adapters.model_server import OpenAICompatibleNarrator
from adapters.process_lock import ProcessLock
from adapters.time_and_names import RandomNames, SystemClock
from adapters.tokens import TiktokenCounter
from adapters.window_probe import ServerWindowProbe
from api.use_cases.campaigns import create_campaign
from api.use_cases.closing import Closing
from api.use_cases.dead_turns import DeadTurns
from api.use_cases.narrating import Narrating
from api.use_cases.prompting import Bodies, Prompter
from api.use_cases.settings import Defaults, InstallationSettings
from api.use_cases.telling import Telling
from api.use_cases.turns import Turns
from domain.campaign.commands import AcceptNarration, CampaignCommand, FailTurn, OpenTurn, RequestCancel
from domain.campaign.settings import CampaignSettings
from domain.errors import (
    ModelTimeout,
    ModelUnreachable,
    SmallNarratorRestarting,
    StoreFull,
    StoreUnavailable,
    TurnCancelled,
    TurnInProgress,
    TurnInterrupted,
)
from domain.log import Execution
from domain.ports import Ended, Liveness, NarratorRequest, Said
from tests.fakes.model_server import Reply, ScriptedModelServer

SECONDS = 20.0
"""How long anything here may take before it counts as hanging."""


class MoodyLog(SqlEventLog):
    """A log that can be told to refuse a kind of command, to break over it, or to hold it back."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, SystemClock(), RandomNames())
        self.full: set[type] = set()
        self.broken: set[type] = set()
        self.held: dict[type, threading.Event] = {}
        self.reached: dict[type, threading.Event] = {}

    def hold(self, kind: type) -> None:
        """From now on commands of this kind wait, until `let_go`."""
        self.held[kind], self.reached[kind] = threading.Event(), threading.Event()

    def let_go(self, kind: type) -> None:
        """Let them happen."""
        self.held[kind].set()

    async def holds(self, kind: type) -> None:
        """Returns when a command of this kind waits."""
        assert await asyncio.to_thread(self.reached[kind].wait, SECONDS)

    def execute(self, command: CampaignCommand) -> Execution:
        kind = type(command)
        if kind in self.held:
            self.reached[kind].set()
            self.held[kind].wait(SECONDS)
        if kind in self.full:
            raise StoreFull("the disk")
        if kind in self.broken:
            raise RuntimeError("no such thing")
        return super().execute(command)


@dataclass
class Impatient:
    """The narrator, with less patience than the settings allow to ask for."""

    narrator: OpenAICompatibleNarrator
    seconds: float

    async def stream(self, request: NarratorRequest) -> AsyncGenerator[Said | Ended, None]:
        hasty = replace(request, timeout_seconds=self.seconds)
        async with aclosing(self.narrator.stream(hasty)) as stream:
            async for piece in stream:
                yield piece

    async def models(self, endpoint: str) -> Sequence[str]:
        return await self.narrator.models(endpoint)


@dataclass(frozen=True)
class Mistaken:
    """Takes every other process for dead, as one would whose lock file was deleted."""

    name: str

    def is_dead(self, owner: str) -> bool:
        return owner != self.name


@asynccontextmanager
async def turns_of(
    log: SqlEventLog,
    model: ScriptedModelServer,
    liveness: Liveness,
    patience: float | None = None,
    *,
    kept_running: bool = False,
) -> AsyncIterator[Turns]:
    """What one process takes turns with."""
    policy = EndpointPolicy()
    async with policed_client(policy) as client:
        narrator = OpenAICompatibleNarrator(client, policy)
        bodies = Bodies(log)
        dead = DeadTurns(log, liveness)
        closing = Closing(log, dead)
        narrating = Narrating(
            log=log,
            narrator=Impatient(narrator, patience) if patience else narrator,
            probe=ServerWindowProbe(client, policy),
            prompter=Prompter(log, TiktokenCounter(), bodies),
            bodies=bodies,
            settings=InstallationSettings(
                log, policy, {"endpoint": model.endpoint, "model": "scripted-model"}, Defaults("", "")
            ),
            closing=closing,
            kept_running=model.endpoint if kept_running else None,
        )
        turns = Turns(log=log, narrating=narrating, closing=closing, dead=dead, ids=RandomNames(), liveness=liveness)
        try:
            yield turns
        finally:
            await turns.stop()


@pytest.fixture
def moody(store: Path) -> Iterator[MoodyLog]:
    opened = MoodyLog(store)
    yield opened
    for kind in opened.held:
        opened.let_go(kind)
    opened.close()


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[ProcessLock]:
    held = ProcessLock(tmp_path / "locks", "p_mine")
    yield held
    held.release()


@pytest.fixture
def model() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(n_ctx=8192) as server:
        yield server


@pytest.fixture
def campaign(moody: MoodyLog) -> str:
    return create_campaign(moody, RandomNames(), CampaignSettings(title="The far side"), "A door stands open.")


def run(play: Callable[[], Awaitable[None]]) -> None:
    """Plays it, in no more than `SECONDS`. What asyncio would only have complained of fails the test."""
    complaints: list[dict[str, Any]] = []

    async def played() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        async with asyncio.timeout(SECONDS):
            await play()

    asyncio.run(played())
    assert complaints == []


async def said(telling: Telling, pieces: int) -> None:
    """Returns when so many pieces of the reply have come."""
    count = -1  # the first happening is that the turn was accepted
    async for _ in telling.happening():
        count += 1
        if count == pieces:
            return


def endings(log: SqlEventLog, campaign: str) -> list[tuple[str, str]]:
    """The events that end a turn, as (turn, how)."""
    topics = ("story.narration_accepted", "story.turn_failed")
    events = log.read(0, 1000, stream=campaign, topics=topics)
    return [(str(one.turn), getattr(one.event, "stage", "accepted")) for one in events]


def partial_reply(log: SqlEventLog, campaign: str, turn: str) -> str:
    """What was kept of a failed turn's reply."""
    return next(
        str(one.event.model_dump()["partial_reply"])
        for one in log.turn_events(campaign, turn)
        if one.topic == "story.turn_failed"
    )


# A model that stalls


@pytest.mark.parametrize(("after", "kept"), [(None, ""), (2, "The floor")])
def test_a_model_that_says_nothing_more_is_given_up_and_what_came_is_kept(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock, campaign: str, after: int | None, kept: str
) -> None:
    model.script(Reply("The floor gives way.", hang_until=threading.Event(), hang_after=after))

    async def play() -> None:
        async with turns_of(moody, model, lock, patience=0.3) as turns:
            telling = await turns.take(campaign, "do", "I step through")
            with pytest.raises(ModelTimeout):
                await telling.answer()
            assert endings(moody, campaign) == [(telling.turn, "model")]
            assert partial_reply(moody, campaign, telling.turn) == kept
            assert (await (await turns.retry(campaign)).answer())["player_node"] == 2

    run(play)
    assert model.wait_for_disconnect()


# A model that is gone


@pytest.mark.parametrize("kept_running", [True, False])
def test_a_narrator_that_is_started_again_by_itself_is_worth_a_moment(
    moody: MoodyLog, lock: ProcessLock, campaign: str, *, kept_running: bool
) -> None:
    with ScriptedModelServer() as gone:
        pass

    async def play() -> None:
        async with turns_of(moody, gone, lock, kept_running=kept_running) as turns:
            with pytest.raises(ModelUnreachable) as failed:
                await (await turns.take(campaign, "do", "I step through")).answer()
        assert failed.value.code == "model_unreachable"
        assert isinstance(failed.value, SmallNarratorRestarting) == kept_running
        assert ("the small narrator is starting again" in failed.value.message) == kept_running
        assert ("retry in a few seconds" in failed.value.message) == kept_running
        assert ("start the model server" in failed.value.message) != kept_running

    run(play)


# A process that stops


def test_a_turn_that_has_only_just_begun_is_closed_by_a_stop(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock, campaign: str
) -> None:
    async def play() -> None:
        async with turns_of(moody, model, lock) as turns:
            moody.hold(OpenTurn)
            taking = asyncio.create_task(turns.take(campaign, "do", "I step through"))
            await moody.holds(OpenTurn)
            stopping = asyncio.create_task(turns.stop())
            moody.let_go(OpenTurn)
            await stopping
            telling = await taking
            with pytest.raises(TurnInterrupted):
                await telling.answer()
            assert endings(moody, campaign) == [(telling.turn, "interrupted")]

    run(play)


def test_a_turn_taken_in_the_very_step_in_which_the_process_stops_is_closed(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock, campaign: str
) -> None:
    """A task that is cancelled before its first step runs none of its code, and would leave the turn open."""

    async def play() -> None:
        async with turns_of(moody, model, lock) as turns:
            telling = await turns.take(campaign, "do", "I step through")
            await turns.stop()
            with pytest.raises(TurnInterrupted):
                await telling.answer()
            assert moody.open_turns() == []

    run(play)


def test_a_reply_that_is_just_being_taken_is_taken_though_the_process_stops(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock, campaign: str
) -> None:
    async def play() -> None:
        async with turns_of(moody, model, lock) as turns:
            moody.hold(AcceptNarration)
            telling = await turns.take(campaign, "do", "I step through")
            await moody.holds(AcceptNarration)
            stopping = asyncio.create_task(turns.stop())
            await asyncio.sleep(0)
            moody.let_go(AcceptNarration)
            await stopping
            assert (await telling.answer())["node"] == 3
            assert endings(moody, campaign) == [(telling.turn, "accepted")]

    run(play)


def test_a_turn_that_is_just_being_failed_is_told_so_though_the_process_stops(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock, campaign: str
) -> None:
    model.script(Reply.refusal(500, "out of memory"))

    async def play() -> None:
        async with turns_of(moody, model, lock) as turns:
            moody.hold(FailTurn)
            telling = await turns.take(campaign, "do", "I step through")
            await moody.holds(FailTurn)
            stopping = asyncio.create_task(turns.stop())
            await asyncio.sleep(0)
            moody.let_go(FailTurn)
            await stopping
            assert [type(one).__name__ for one in telling.happenings] == ["Accepted", "Failed"]
            assert endings(moody, campaign) == [(telling.turn, "model")]

    run(play)


def test_no_turn_begins_in_a_process_that_stops(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock, campaign: str
) -> None:
    async def play() -> None:
        async with turns_of(moody, model, lock) as turns:
            await turns.stop()
            with pytest.raises(StoreUnavailable, match="Fabula is stopping"):
                await turns.take(campaign, "do", "I step through")
            assert moody.campaign(campaign).head == 1

    run(play)


def test_a_refusal_that_nobody_waits_for_any_more_is_no_mistake(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock
) -> None:
    async def play() -> None:
        async with turns_of(moody, model, lock) as turns:
            moody.hold(OpenTurn)
            taking = asyncio.create_task(turns.take("c_unknown", "do", "I step through"))
            await moody.holds(OpenTurn)
            taking.cancel()
            with suppress(asyncio.CancelledError):
                await taking
            moody.let_go(OpenTurn)

    run(play)


# A turn that others closed


def test_a_reply_to_a_turn_that_others_closed_is_kept_as_a_take_and_moves_nothing(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock, campaign: str
) -> None:
    go_on = threading.Event()
    model.script(Reply("The floor gives way.", hang_until=go_on, hang_after=1), Reply("The floor holds."))

    async def play() -> None:
        async with turns_of(moody, model, lock) as slow, turns_of(moody, model, Mistaken("p_other")) as other:
            telling = await slow.take(campaign, "do", "I step through")
            await said(telling, 1)
            taken_over = await (await other.take(campaign, "continue", "")).answer()
            await asyncio.sleep(0.4)  # long enough for the slow one to have looked whether it was cancelled
            go_on.set()
            late = await telling.answer()
            assert late["prose"] == "The floor gives way."
            assert late["position"]["head"] == taken_over["node"]
            assert list(moody.takes(campaign, late["node"])) == [taken_over["node"], late["node"]]
            assert [how for _, how in endings(moody, campaign)] == ["interrupted", "accepted", "accepted"]
            assert moody.verify().ok

    run(play)


def test_a_dead_turn_is_closed_once_by_however_many_who_find_it(
    moody: MoodyLog, model: ScriptedModelServer, campaign: str
) -> None:
    command = OpenTurn(campaign, "t_dead", "do", "I step through", "p_dead", "")
    moody.execute(command)

    async def play() -> None:
        async with (
            turns_of(moody, model, Mistaken("p_1")) as one,
            turns_of(moody, model, Mistaken("p_2")) as two,
            turns_of(moody, model, Mistaken("p_3")) as three,
        ):
            await asyncio.gather(*(turns._closing.all_dead() for turns in (one, two, three)))
            assert endings(moody, campaign) == [("t_dead", "interrupted")]

    run(play)


# A store that refuses


def test_a_turn_whose_end_the_store_would_not_take_is_closed_when_it_does_again(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock, campaign: str
) -> None:
    """By itself: other processes cannot close it while this one lives."""

    async def play() -> None:
        async with turns_of(moody, model, lock) as turns:
            moody.full = {AcceptNarration, FailTurn}
            telling = await turns.take(campaign, "do", "I step through")
            with pytest.raises(StoreFull):
                await telling.answer()
            assert endings(moody, campaign) == []
            moody.full = set()
            while not endings(moody, campaign):  # noqa: ASYNC110  # another thread writes; it sets no asyncio event
                await asyncio.sleep(0.05)
            assert endings(moody, campaign) == [(telling.turn, "reply")]
            assert partial_reply(moody, campaign, telling.turn) == "This is sentence number 1 of the tale."
            assert (await (await turns.retry(campaign)).answer())["player_node"] == 2

    run(play)


def test_a_turn_that_could_not_be_closed_is_closed_by_the_next_one_at_once(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock, campaign: str
) -> None:
    async def play() -> None:
        async with turns_of(moody, model, lock) as turns:
            moody.full = {AcceptNarration, FailTurn}
            telling = await turns.take(campaign, "do", "I step through")
            with pytest.raises(StoreFull):
                await telling.answer()
            with pytest.raises(StoreFull):
                await turns.retry(campaign)
            moody.full = set()
            assert (await (await turns.retry(campaign)).answer())["player_node"] == 2
            assert [how for _, how in endings(moody, campaign)] == ["reply", "accepted"]

    run(play)


def test_what_could_not_be_closed_is_tried_once_more_as_the_process_stops(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock, campaign: str
) -> None:
    async def play() -> None:
        async with turns_of(moody, model, lock) as turns:
            moody.full = {AcceptNarration, FailTurn}
            telling = await turns.take(campaign, "do", "I step through")
            with pytest.raises(StoreFull):
                await telling.answer()
            moody.full = set()
            await turns.stop()
            assert endings(moody, campaign) == [(telling.turn, "reply")]

    run(play)


def test_a_cancel_stops_the_model_though_the_store_cannot_write_it_down(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock, campaign: str
) -> None:
    model.script(Reply("The floor gives way.", hang_until=threading.Event(), hang_after=1))

    async def play() -> None:
        async with turns_of(moody, model, lock) as turns:
            telling = await turns.take(campaign, "do", "I step through")
            await said(telling, 1)
            moody.full = {RequestCancel}
            with pytest.raises(StoreFull):
                await turns.cancel(campaign, telling.turn)
            with pytest.raises(TurnCancelled):
                await telling.answer()
            assert endings(moody, campaign) == [(telling.turn, "cancelled")]

    run(play)
    assert model.wait_for_disconnect()


def test_whoever_listens_is_told_even_if_closing_the_turn_breaks(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock, campaign: str
) -> None:
    model.script(Reply.refusal(500, "out of memory"))

    async def play() -> None:
        async with turns_of(moody, model, lock) as turns:
            moody.broken = {FailTurn}
            telling = await turns.take(campaign, "do", "I step through")
            async for last in telling.happening():
                told = type(last).__name__
            assert told == "Failed"

    asyncio.run(asyncio.wait_for(play(), SECONDS))


# Cancelling before the model is asked


def test_a_turn_is_cancelled_while_the_server_is_asked_how_much_it_reads(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock, campaign: str
) -> None:
    stuck = Reply.raw(b"{}", content_type="application/json", hang_until=threading.Event())
    for path in ("/props", "/v1/models", "/api/ps", "/api/show"):
        model.answer("GET", path, stuck)
        model.answer("POST", path, stuck)

    async def play() -> None:
        async with turns_of(moody, model, lock) as turns:
            telling = await turns.take(campaign, "do", "I step through")
            await asyncio.to_thread(model.wait_for_requests, 1)
            async with asyncio.timeout(2):
                assert (await turns.cancel(campaign, telling.turn)).ended == "cancelled"
            assert model.narrations == ()
            with pytest.raises(TurnCancelled):
                await telling.answer()

    run(play)


# Who may take a turn


def test_two_processes_that_take_a_turn_at_once_take_one(
    moody: MoodyLog, model: ScriptedModelServer, lock: ProcessLock, tmp_path: Path, campaign: str
) -> None:
    other_lock = ProcessLock(tmp_path / "locks", "p_other")
    go_on = threading.Event()
    model.script(Reply("The floor gives way.", hang_until=go_on))

    async def play() -> None:
        async with turns_of(moody, model, lock) as one, turns_of(moody, model, other_lock) as other:
            taken = await asyncio.gather(
                one.take(campaign, "do", "I step through"),
                other.take(campaign, "do", "I listen"),
                return_exceptions=True,
            )
            assert sorted(type(each).__name__ for each in taken) == ["Telling", "TurnInProgress"]
            told = next(each for each in taken if isinstance(each, Telling))
            refused = next(each for each in taken if isinstance(each, TurnInProgress))
            assert refused.fields["turn"] == told.turn
            go_on.set()
            await told.answer()

    run(play)
    other_lock.release()
