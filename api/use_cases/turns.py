"""Taking turns, in an order that survives a crash at any instant.

1. The turn is opened, with the player's words.      3. The model is asked; no transaction is open meanwhile.
2. What will be sent is recorded.                    4. The outcome is appended, all or nothing.

The first is here, the others in `narrating`; `closing` ends the turns that come to no narration.
"""

import asyncio
import hashlib
from collections.abc import Coroutine
from functools import reduce
from typing import cast

from api.use_cases.answers import turn_answer
from api.use_cases.closing import Closing
from api.use_cases.dead_turns import DeadTurns
from api.use_cases.narrating import CANCEL_POLL_SECONDS, Narrating
from api.use_cases.telling import Accepted, Telling, told_before
from api.use_cases.waiting import aside
from domain.campaign.commands import OpenRetry, OpenTurn, RequestCancel
from domain.campaign.events import TurnKind
from domain.campaign.facts import StoryEvent, TurnFacts, evolve
from domain.errors import StoreUnavailable, TurnInProgress
from domain.event import canonical_json
from domain.log import EventLog, Execution
from domain.ports import IdSource, Liveness


class Turns:
    """Takes, retries and cancels turns. One instance a process; its turns go on when nobody listens."""

    def __init__(
        self,
        *,
        log: EventLog,
        narrating: Narrating,
        closing: Closing,
        dead: DeadTurns,
        ids: IdSource,
        liveness: Liveness,
    ) -> None:
        self._log = log
        self._narrating = narrating
        self._closing = closing
        self.dead = dead
        self._ids = ids
        self._liveness = liveness
        self._beginnings: set[asyncio.Task[Telling]] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._tellings: dict[str, Telling] = {}
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
        await self._closing.if_dead(campaign, await aside(self._log.turn, campaign, turn))
        if turn in self._tellings:  # first of all: it stops even if the store cannot write down that it was asked to
            self._tellings[turn].cancel_asked.set()
        await aside(self._log.execute, RequestCancel(campaign, turn))
        while (facts := await aside(self._log.turn, campaign, turn)).ended is None:
            await self._closing.if_dead(campaign, facts)
            await asyncio.sleep(CANCEL_POLL_SECONDS / 5)
        return facts

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
        await self._closing.stop()

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
            return told_before(command.campaign, turn, await aside(turn_answer, self._log, command.campaign, turn))
        return await self._start(command, execution)

    async def _start(self, command: OpenTurn | OpenRetry, execution: Execution) -> Telling:
        events = cast("tuple[StoryEvent, ...]", tuple(recorded.event for recorded in execution.events))
        facts = reduce(evolve, events, execution.facts)
        turn = facts.turns[command.turn]
        telling = Telling(command.campaign, command.turn)
        self._tellings[command.turn] = telling
        await telling.add(Accepted(command.turn, turn.parent if facts.nodes[turn.parent].is_player else None))
        task = asyncio.create_task(self._narrating.tell(telling, turn, execution.events), name=f"turn {command.turn}")
        self._tasks[command.turn] = task
        task.add_done_callback(lambda _: self._forget(command.turn))
        return telling

    def _forget(self, turn: str) -> None:
        self._tasks.pop(turn, None)
        self._tellings.pop(turn, None)

    async def _open(self, command: OpenTurn | OpenRetry) -> Execution:
        """Opens the turn; a dead one that stands in the way is closed first."""
        while True:
            try:
                return await aside(self._log.execute, command)
            except TurnInProgress as refusal:
                running = await aside(self._log.turn, command.campaign, str(refusal.fields["turn"]))
                if running.ended is None and not await self._closing.if_dead(command.campaign, running):
                    raise


def _request_hash(kind: str, text: str) -> str:
    """What tells two requests with one idempotency key apart."""
    return hashlib.sha256(canonical_json([kind, text])).hexdigest()[:32]
