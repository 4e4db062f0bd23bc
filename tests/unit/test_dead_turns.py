"""Turns whose owners are gone stand in nobody's way, and those of the living do."""

import pytest

from api.use_cases import places
from api.use_cases.dead_turns import DeadTurns
from domain.campaign.facts import TurnFacts
from domain.errors import TurnInProgress
from tests.fakes.event_log import MemoryEventLog
from tests.fakes.sample_story import CAMPAIGN, PROCESS, start, take_turn
from tests.fakes.time_and_names import NumberedNames, TickingClock


class Lives:
    """Knows which processes are dead."""

    name = "p_me"

    def __init__(self, *dead: str) -> None:
        self.dead = dead

    def is_dead(self, owner: str) -> bool:
        return owner in self.dead


@pytest.fixture
def log() -> MemoryEventLog:
    """A story whose first turn runs."""
    log = MemoryEventLog(TickingClock(), NumberedNames())
    log.execute(start())
    log.execute(take_turn("t_1", text="Climb."))
    return log


def test_a_dead_turn_is_closed_and_the_move_goes_through(log: MemoryEventLog) -> None:
    dead = DeadTurns(log, Lives(PROCESS))
    assert dead.past(lambda: places.undo(log, CAMPAIGN))["head"] == 1
    assert log.turn(CAMPAIGN, "t_1").ended == "interrupted"


def test_a_living_turn_stands_in_the_way(log: MemoryEventLog) -> None:
    with pytest.raises(TurnInProgress):
        DeadTurns(log, Lives("p_other")).past(lambda: places.undo(log, CAMPAIGN))
    assert log.turn(CAMPAIGN, "t_1").ended is None


def test_a_turn_that_others_closed_meanwhile_is_no_obstacle(log: MemoryEventLog) -> None:
    class Late(MemoryEventLog):
        def turn(self, campaign: str, turn: str) -> TurnFacts:
            DeadTurns(log, Lives(PROCESS)).close(campaign, log.turn(campaign, turn))
            return log.turn(campaign, turn)

    late = Late(TickingClock(), NumberedNames())
    assert DeadTurns(late, Lives()).past(lambda: places.undo(log, CAMPAIGN))["head"] == 1
