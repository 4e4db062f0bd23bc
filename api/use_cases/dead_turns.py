"""Turns whose owners are gone: they stand in nobody's way."""

from collections.abc import Callable
from typing import TypeVar

import structlog

from domain.campaign.commands import FailTurn
from domain.campaign.facts import TurnFacts
from domain.errors import TurnInProgress, TurnInterrupted
from domain.log import EventLog
from domain.ports import Liveness

_Result = TypeVar("_Result")
_log = structlog.get_logger(__name__)

INTERRUPTED = "The process that told this turn ended before it was done. The words are kept; retry, or go on."


class DeadTurns:
    """Closes turns whose processes ended before they were told. May be asked from any thread."""

    def __init__(self, log: EventLog, liveness: Liveness) -> None:
        self._log = log
        self._liveness = liveness

    def past(self, work: Callable[[], _Result]) -> _Result:
        """What the work comes to, where a dead turn that stands in its way is closed first. Raises what it raises."""
        while True:
            try:
                return work()
            except TurnInProgress as refusal:
                campaign, turn = str(refusal.fields["campaign"]), str(refusal.fields["turn"])
                running = self._log.turn(campaign, turn)
                if running.ended is None and not self.close(campaign, running):
                    raise

    def close(self, campaign: str, turn: TurnFacts) -> bool:
        """Closes an open turn as interrupted if its owner is proved to be dead; whether it was."""
        if not self._liveness.is_dead(turn.process):
            return False
        error = TurnInterrupted(turn.turn)
        self._log.execute(FailTurn(campaign, turn.turn, stage="interrupted", error=error.code, message=INTERRUPTED))
        _log.info("turn_interrupted", campaign=campaign, turn=turn.turn)
        return True
