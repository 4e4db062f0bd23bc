"""What the log promises of places in a story: branches by number, and whatever has a name."""

import pytest

from domain.campaign.commands import MoveHead, NameBranch, RemoveSavePoint, SetSavePoint
from domain.errors import UnknownBranch, UnknownCampaign
from domain.log import BranchRow, EventLog
from tests.fakes.sample_story import CAMPAIGN, accept, retry, start, take_turn

NOWHERE = "c_nowhere"


@pytest.fixture
def told(log: EventLog) -> EventLog:
    """A log whose story has two branches.

    1 ─ 2 ┬ 3 ─ 4 ─ 5
          └ 6
    """
    log.execute(start())
    log.execute(take_turn("t_1", "do", "Climb."))
    log.execute(accept("t_1", "The stairs creak."))
    log.execute(take_turn("t_2", "do", "Go on."))
    log.execute(accept("t_2", "A door."))
    log.execute(MoveHead(CAMPAIGN, 3))
    log.execute(retry("t_3"))
    log.execute(accept("t_3", "They hold."))
    return log


class TestABranch:
    def test_is_found_by_its_number(self, told: EventLog) -> None:
        told.execute(NameBranch(CAMPAIGN, 2, "Sound stairs"))
        found = [told.branch(CAMPAIGN, number) for number in (1, 2)]
        assert found == [BranchRow(1, None, 0, 5, 5, ""), BranchRow(2, 1, 2, 6, 3, "Sound stairs")]

    @pytest.mark.parametrize("number", [0, 3, -1])
    def test_that_is_not_there_is_refused(self, told: EventLog, number: int) -> None:
        with pytest.raises(UnknownBranch):
            told.branch(CAMPAIGN, number)

    def test_of_no_campaign_is_refused(self, told: EventLog) -> None:
        with pytest.raises(UnknownCampaign):
            told.branch(NOWHERE, 1)


class TestAName:
    def test_of_a_branch_means_its_end(self, told: EventLog) -> None:
        told.execute(NameBranch(CAMPAIGN, 1, "The door"))
        assert told.place_called(CAMPAIGN, "the DOOR ") == 5

    def test_that_was_taken_away_means_nothing(self, told: EventLog) -> None:
        told.execute(NameBranch(CAMPAIGN, 1, "The door"))
        told.execute(NameBranch(CAMPAIGN, 1, ""))
        assert [told.place_called(CAMPAIGN, name) for name in ("The door", "")] == [None, None]

    def test_of_a_save_point_means_its_node_as_its_id_does(self, told: EventLog) -> None:
        told.execute(SetSavePoint(CAMPAIGN, "s_1", "Below", 2))
        assert [told.place_called(CAMPAIGN, name) for name in ("below", "s_1", "S_1")] == [2, 2, None]

    def test_of_a_save_point_that_is_gone_means_nothing(self, told: EventLog) -> None:
        told.execute(SetSavePoint(CAMPAIGN, "s_1", "Below", 2))
        told.execute(RemoveSavePoint(CAMPAIGN, "s_1"))
        assert told.place_called(CAMPAIGN, "Below") is None

    def test_in_no_campaign_is_refused(self, told: EventLog) -> None:
        with pytest.raises(UnknownCampaign):
            told.place_called(NOWHERE, "Below")
