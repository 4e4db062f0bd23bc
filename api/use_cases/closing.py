"""Closing turns that did not come to a narration: their own, those of the dead, and those that the store refused."""

import asyncio
from contextlib import suppress

import structlog

from api.use_cases.dead_turns import DeadTurns
from api.use_cases.waiting import aside, through
from domain.campaign.commands import FailTurn
from domain.campaign.facts import TurnFacts
from domain.errors import FabulaError, NotFound, StoreFailure
from domain.log import EventLog

_log = structlog.get_logger(__name__)

CLOSE_AGAIN_SECONDS = 1.0
"""How soon it is tried again to close a turn whose end the store would not take."""

SWEEP_SECONDS = 2.0
"""How often the turns of the dead are looked for, so that those who only read see them end."""


class Closing:
    """Closes turns as failed, each once. One instance a process."""

    def __init__(self, log: EventLog, dead: DeadTurns) -> None:
        self._log = log
        self._dead = dead
        # Turns of this process whose end the store would not take; they are closed when it does again.
        self._unclosed: dict[str, FailTurn] = {}
        self._again: asyncio.Task[None] | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._stopping = False

    async def if_dead(self, campaign: str, turn: TurnFacts) -> bool:
        """Closes a turn whose owner is gone, or one of this process that could not be closed before."""
        if turn.ended is not None:
            return False
        unclosed = self._unclosed.get(turn.turn)
        if unclosed is not None:
            await aside(self._log.execute, unclosed)
            self._unclosed.pop(turn.turn, None)
            return True
        return await aside(self._dead.close, campaign, turn)

    async def all_dead(self) -> int:
        """Closes the open turns whose owners are dead; how many there were."""
        found = await aside(self._log.open_turns)
        closed = [await self.if_dead(campaign, turn) for campaign, turn in found]
        return sum(closed)

    def sweep(self) -> None:
        """Closes the turns of the dead again and again from now on, until `stop`."""
        self._sweeping = asyncio.create_task(self._sweep(), name="closing dead turns")

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            # Not cancelled half-way: the thread that reads would go on, in a log that is being closed.
            await through(self._sweep_once())

    async def _sweep_once(self) -> None:
        # The store refuses, the story was deleted meanwhile, no file can be opened: it is tried again in a moment.
        with suppress(FabulaError, OSError):
            await self.all_dead()

    async def stop(self) -> None:
        """Ends the sweeps, and tries once more to close what is left. What the store refuses, the next process finds."""
        self._stopping = True
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait([self._sweeping])
        if self._again is not None:
            self._again.cancel()
            await self._close_what_is_left()

    async def close(self, close: FailTurn) -> None:
        """Closes a turn of this process; later, if the store will not take it now."""
        try:
            await aside(self._log.execute, close)
        except StoreFailure as error:
            _log.error("turn_left_open", campaign=close.campaign, turn=close.turn, why=error.code)  # a state, not a bug
            self._unclosed[close.turn] = close
            self._close_later()
        except FabulaError as error:
            _log.info("turn_gone", campaign=close.campaign, turn=close.turn, why=error.code)

    def _close_later(self) -> None:
        """Nobody may ask for the turn again, and other processes cannot close it while this one lives."""
        if not self._stopping and (self._again is None or self._again.done()):
            self._again = asyncio.create_task(self._close_by_and_by(), name="closing turns")

    async def _close_by_and_by(self) -> None:
        while self._unclosed:
            await asyncio.sleep(CLOSE_AGAIN_SECONDS)
            await self._close_what_is_left()

    async def _close_what_is_left(self) -> None:
        for turn, close in list(self._unclosed.items()):
            with suppress(StoreFailure):
                with suppress(NotFound):  # the story was deleted meanwhile
                    await aside(self._log.execute, close)
                self._unclosed.pop(turn, None)
