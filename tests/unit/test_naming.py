"""Names for places: one name names one thing of a story, and means nothing else already."""

import pytest

from domain.campaign.commands import CampaignCommand
from domain.campaign.events import BranchNamed
from domain.campaign.naming import NAME_CHARACTERS, folded
from domain.errors import InvalidInput, NameTaken, UnknownBranch, UnknownCampaign, UnknownNode, UnknownSavePoint
from tests.fakes.sample_story import CAMPAIGN, moved, name_branch, named, save, saved, unsave, unsaved
from tests.unit.specs import START, TELLING, TOLD, TWO_TAKES, given

STAIRS = saved("s_1", "The stairs", 3, at=(1, 3))

NO_NAMES = [
    "1",
    "007",
    " 12 ",
    "٣",
    "head",
    "Tip",
    " HEAD ",
    "position:12",
    "Position: 12",
    "POSITION:",
    "position:the harbour",
    "two\nlines",
    "a\ttab",
    "\x1b[31mred",
    "nul\x00",
    "line\u2028separator",
    "next\x85line",
    "\ud800",
    "\uffff",
    "x" * (NAME_CHARACTERS + 1),
    "x" * 10_000,
]
ODD_NAMES = ["x" * NAME_CHARACTERS, "before the storm", "0x10", "²", "-1", "headland", "a:b", "…", "\U0001f5fc", "n°1"]


class TestSettingASavePoint:
    def test_names_the_head_when_no_node_is_named(self) -> None:
        given(*TOLD).when(save("s_1", "The stairs")).then(STAIRS)

    def test_names_any_node_on_whatever_branch(self) -> None:
        given(*TWO_TAKES).when(save("s_1", "The stairs", 3)).then(STAIRS)

    def test_names_the_opening(self) -> None:
        given(*START).when(save("s_1", "The beginning")).then(saved("s_1", "The beginning", 1, at=(1, 1)))

    def test_leaves_white_space_around_the_name_away(self) -> None:
        given(*TOLD).when(save("s_1", " \n The stairs\t")).then(STAIRS)

    def test_may_give_one_node_two_names(self) -> None:
        given(*TOLD, STAIRS).when(save("s_2", "Here")).then(saved("s_2", "Here", 3, at=(1, 3)))

    def test_is_fine_while_a_turn_is_told(self) -> None:
        given(*TELLING).when(save("s_1", "Here")).then(saved("s_1", "Here", 2, at=(1, 2)))

    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_takes_odd_names(self, name: str) -> None:
        given(*TOLD).when(save("s_1", name)).then(saved("s_1", name, 3, at=(1, 3)))

    @pytest.mark.parametrize("name", ["", " ", "\n\t", "\u3000", *NO_NAMES])
    def test_refuses_what_is_no_name(self, name: str) -> None:
        given(*TOLD).when(save("s_1", name)).then_refused(InvalidInput)

    @pytest.mark.parametrize("name", ["The stairs", "THE STAIRS", "  the Stairs "])
    def test_refuses_a_name_that_another_one_has(self, name: str) -> None:
        given(*TOLD, STAIRS).when(save("s_2", name, 1)).then_refused(
            NameTaken, campaign=CAMPAIGN, name=name.strip(), by="a save point"
        )

    def test_refuses_a_name_that_a_branch_has(self) -> None:
        given(*TWO_TAKES, named(2, "Straße")).when(save("s_2", "STRASSE")).then_refused(NameTaken, by="branch 2")

    def test_takes_a_name_that_is_free_again(self) -> None:
        given(*TOLD, STAIRS, unsaved("s_1")).when(save("s_2", "The stairs")).then(
            saved("s_2", "The stairs", 3, at=(1, 3))
        )

    def test_takes_a_name_that_a_branch_had(self) -> None:
        given(*TOLD, named(1, "The stairs"), named(1, "Other")).when(save("s_1", "The stairs")).then(STAIRS)

    @pytest.mark.parametrize("node", [0, 9])
    def test_of_a_node_that_is_not_there_is_refused(self, node: int) -> None:
        given(*TOLD).when(save("s_1", "Nowhere", node)).then_refused(UnknownNode, node=node)

    def test_needs_a_story(self) -> None:
        given().when(save("s_1", "Here")).then_refused(UnknownCampaign)


class TestRemovingASavePoint:
    def test_removes_it(self) -> None:
        given(*TOLD, STAIRS).when(unsave("s_1")).then(unsaved("s_1"))

    def test_is_fine_while_a_turn_is_told(self) -> None:
        given(*TELLING, saved("s_1", "Here", 1, at=(1, 1))).when(unsave("s_1")).then(unsaved("s_1"))

    @pytest.mark.parametrize("unknown", ["s_2", "The stairs", ""])
    def test_that_is_unknown_is_refused(self, unknown: str) -> None:
        given(*TOLD, STAIRS).when(unsave(unknown)).then_refused(UnknownSavePoint, save_point=unknown)

    def test_twice_is_refused(self) -> None:
        given(*TOLD, STAIRS, unsaved("s_1")).when(unsave("s_1")).then_refused(UnknownSavePoint)

    def test_needs_a_story(self) -> None:
        given().when(unsave("s_1")).then_refused(UnknownCampaign)


class TestNamingABranch:
    def test_names_it(self) -> None:
        given(*TWO_TAKES).when(name_branch(2, " Upstairs ")).then(named(2, "Upstairs"))

    def test_is_fine_while_a_turn_is_told(self) -> None:
        given(*TELLING).when(name_branch(1, "Upstairs")).then(named(1, "Upstairs"))

    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_takes_odd_names(self, name: str) -> None:
        given(*TOLD).when(name_branch(1, name)).then(named(1, name))

    @pytest.mark.parametrize("name", NO_NAMES)
    def test_refuses_what_is_no_name(self, name: str) -> None:
        given(*TOLD).when(name_branch(1, name)).then_refused(InvalidInput)

    def test_in_another_case_renames_it(self) -> None:
        given(*TOLD, named(1, "upstairs")).when(name_branch(1, "Upstairs")).then(named(1, "Upstairs"))

    def test_again_changes_nothing(self) -> None:
        given(*TOLD, named(1, "Upstairs")).when(name_branch(1, "Upstairs ")).then_nothing()

    @pytest.mark.parametrize("empty", ["", "  ", "\n"])
    def test_with_nothing_takes_the_name_away(self, empty: str) -> None:
        given(*TOLD, named(1, "Upstairs")).when(name_branch(1, empty)).then(named(1, ""))
        given(*TOLD).when(name_branch(1, empty)).then_nothing()

    @pytest.mark.parametrize("name", ["Upstairs", "UPSTAIRS"])
    def test_refuses_a_name_that_another_branch_has(self, name: str) -> None:
        given(*TWO_TAKES, named(1, "Upstairs")).when(name_branch(2, name)).then_refused(NameTaken, by="branch 1")

    def test_refuses_a_name_that_a_save_point_has(self) -> None:
        given(*TOLD, STAIRS).when(name_branch(1, "the stairs")).then_refused(NameTaken, by="a save point")

    @pytest.mark.parametrize("branch", [0, -1, 3, 10**30])
    def test_that_is_not_there_is_refused(self, branch: int) -> None:
        given(*TWO_TAKES).when(name_branch(branch, "Nowhere")).then_refused(UnknownBranch, branch=branch)

    def test_needs_a_story(self) -> None:
        given().when(name_branch(1, "Upstairs")).then_refused(UnknownCampaign)


@pytest.mark.parametrize("name", [save("s_2", "The stairs"), name_branch(1, "the STAIRS")], ids=repr)
def test_a_name_stays_taken_wherever_the_story_is_read(name: CampaignCommand) -> None:
    given(*TOLD, STAIRS, moved("undo", 3, 1, at=(1, 1), tip=3)).when(name).then_refused(NameTaken)


def test_names_are_the_same_that_differ_in_case_or_in_white_space_around() -> None:
    assert folded(" Straße\n") == folded("STRASSE")
    assert folded("a b") != folded("ab")


def test_a_refusal_of_a_long_name_does_not_repeat_it() -> None:
    with pytest.raises(InvalidInput) as refused:
        given(*TOLD).when(save("s_1", "x" * 10_000)).then(BranchNamed(branch=1, name="never"))
    assert "10,000" in refused.value.message
    assert len(refused.value.message) < 200
