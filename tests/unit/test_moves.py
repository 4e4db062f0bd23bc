"""Going back, forth and aside: where each move leads, which tip it keeps, and when it is refused."""

import pytest

from domain.campaign.commands import CampaignCommand
from domain.errors import (
    InvalidInput,
    NothingToRedo,
    NothingToUndo,
    TurnInProgress,
    UnknownCampaign,
    UnknownNode,
    UnknownSavePoint,
)
from tests.fakes.sample_story import (
    CAMPAIGN,
    acted,
    corrected,
    failed,
    go,
    moved,
    narrated,
    opened,
    redo,
    rewritten,
    saved,
    take_turn,
    undo,
    unsaved,
)
from tests.unit.specs import INTERRUPTED, START, TELLING, TOLD, TWO_TAKES, TWO_TURNS, UNTOLD, given

UNDONE = (*TWO_TURNS, moved("undo", 5, 3, at=(1, 3), tip=5))
"""Two turns, the second one undone."""

UNDONE_TWICE = (*UNDONE, moved("undo", 3, 1, at=(1, 1), tip=5))
"""Two turns, both undone."""

CONTINUED = (*TOLD, opened("t_2", parent=3, kind="continue"), narrated("t_2", 4, parent=3, at=(1, 4), text="Night."))
"""A turn with words, and one without: narration 4 under narration 3."""

OTHER_WORDS = (
    *UNTOLD,
    opened("t_2", parent=3),
    acted("t_2", 3, parent=2, at=(1, 3), text="Turn back."),
    narrated("t_2", 4, parent=3, at=(1, 4), text="The door is shut."),
)
"""Action 2 was never told; other words 3 followed it, and were."""

ASIDE = (
    *UNDONE,
    opened("t_3", parent=6),
    acted("t_3", 6, parent=3, at=(2, 4), text="Wait."),
    narrated("t_3", 7, parent=6, at=(2, 5), text="Nothing comes."),
)
"""Two turns; then back over the second, and another one in its place: branch 2 from depth 4."""


class TestUndoing:
    def test_goes_to_before_the_action_and_its_narration_and_leaves_the_tip(self) -> None:
        given(*TWO_TURNS).when(undo()).then(moved("undo", 5, 3, at=(1, 3), tip=5))

    def test_again_goes_further_back_with_the_same_tip(self) -> None:
        given(*UNDONE).when(undo()).then(moved("undo", 3, 1, at=(1, 1), tip=5))

    def test_goes_back_over_a_turn_without_words_alone(self) -> None:
        given(*CONTINUED).when(undo()).then(moved("undo", 4, 3, at=(1, 3), tip=4))

    def test_goes_back_over_a_continuation_of_the_opening(self) -> None:
        told = narrated("t_1", 2, parent=1, at=(1, 2), text="Dusk.")
        given(*START, opened("t_1", parent=1, kind="continue"), told).when(undo()).then(
            moved("undo", 2, 1, at=(1, 1), tip=2)
        )

    def test_steps_back_over_an_untold_action_alone(self) -> None:
        given(*UNTOLD).when(undo()).then(moved("undo", 2, 1, at=(1, 1), tip=2))

    def test_after_other_words_stands_at_the_untold_action_which_counts(self) -> None:
        given(*OTHER_WORDS).when(undo()).then(moved("undo", 4, 2, at=(1, 2), tip=4))

    def test_then_goes_back_over_the_untold_action(self) -> None:
        given(*OTHER_WORDS, moved("undo", 4, 2, at=(1, 2), tip=4)).when(undo()).then(
            moved("undo", 2, 1, at=(1, 1), tip=4)
        )

    def test_goes_back_over_an_action_that_a_later_turn_told(self) -> None:
        told = narrated("t_2", 3, parent=2, at=(1, 3), text="The stairs creak.")
        given(*UNTOLD, opened("t_2", parent=2, kind="continue"), told).when(undo()).then(
            moved("undo", 3, 1, at=(1, 1), tip=3)
        )

    def test_goes_back_over_a_take_with_its_action(self) -> None:
        given(*TWO_TAKES).when(undo()).then(moved("undo", 4, 1, at=(1, 1), tip=4))

    def test_goes_back_over_a_narration_written_anew_with_its_action(self) -> None:
        given(*TOLD, rewritten(4, revises=3, parent=2, at=(2, 3), text="They hold.")).when(undo()).then(
            moved("undo", 4, 1, at=(1, 1), tip=4)
        )

    def test_goes_back_over_an_action_written_anew_alone(self) -> None:
        anew = rewritten(4, revises=2, parent=1, at=(2, 2), kind="do", text="Go down.")
        given(*TOLD, anew).when(undo()).then(moved("undo", 4, 1, at=(1, 1), tip=4))

    def test_across_a_fork_returns_to_the_branch_before(self) -> None:
        given(*ASIDE).when(undo()).then(moved("undo", 7, 3, at=(1, 3), tip=7))

    def test_at_the_opening_is_refused(self) -> None:
        given(*START).when(undo()).then_refused(NothingToUndo, campaign=CAMPAIGN)

    def test_back_at_the_opening_is_refused(self) -> None:
        given(*UNDONE_TWICE).when(undo()).then_refused(NothingToUndo)

    def test_needs_a_story(self) -> None:
        given().when(undo()).then_refused(UnknownCampaign, campaign=CAMPAIGN)


class TestRedoing:
    def test_goes_one_turn_forward(self) -> None:
        given(*UNDONE_TWICE).when(redo()).then(moved("redo", 1, 3, at=(1, 3), tip=5))

    def test_again_arrives_at_the_tip(self) -> None:
        given(*UNDONE_TWICE, moved("redo", 1, 3, at=(1, 3), tip=5)).when(redo()).then(
            moved("redo", 3, 5, at=(1, 5), tip=5)
        )

    def test_goes_forward_over_a_turn_without_words(self) -> None:
        given(*CONTINUED, moved("undo", 4, 3, at=(1, 3), tip=4)).when(redo()).then(
            moved("redo", 3, 4, at=(1, 4), tip=4)
        )

    def test_goes_to_an_untold_action_that_is_the_tip(self) -> None:
        given(*UNTOLD, moved("undo", 2, 1, at=(1, 1), tip=2)).when(redo()).then(moved("redo", 1, 2, at=(1, 2), tip=2))

    def test_stops_at_an_untold_action_that_other_words_followed(self) -> None:
        back = (moved("undo", 4, 2, at=(1, 2), tip=4), moved("undo", 2, 1, at=(1, 1), tip=4))
        given(*OTHER_WORDS, *back).when(redo()).then(moved("redo", 1, 2, at=(1, 2), tip=4))

    def test_from_an_action_goes_to_its_narration(self) -> None:
        given(*TWO_TURNS, moved("restore", 5, 4, at=(1, 4), tip=5)).when(redo()).then(
            moved("redo", 4, 5, at=(1, 5), tip=5)
        )

    def test_walks_towards_the_take_that_was_left_and_not_the_first_one(self) -> None:
        given(*TWO_TAKES, moved("undo", 4, 1, at=(1, 1), tip=4)).when(redo()).then(
            moved("redo", 1, 4, at=(2, 3), tip=4)
        )

    def test_walks_down_the_branch_of_the_tip(self) -> None:
        given(*ASIDE, moved("undo", 7, 3, at=(1, 3), tip=7)).when(redo()).then(moved("redo", 3, 7, at=(2, 5), tip=7))

    def test_at_the_tip_is_refused(self) -> None:
        given(*TWO_TURNS).when(redo()).then_refused(NothingToRedo, campaign=CAMPAIGN)

    def test_at_a_bare_opening_is_refused(self) -> None:
        given(*START).when(redo()).then_refused(NothingToRedo)

    def test_after_an_undo_and_another_turn_is_refused(self) -> None:
        given(*ASIDE).when(redo()).then_refused(NothingToRedo)

    def test_needs_a_story(self) -> None:
        given().when(redo()).then_refused(UnknownCampaign, campaign=CAMPAIGN)


class TestATurnWithLaterStoryAhead:
    def test_grows_a_branch_and_leaves_the_later_story(self) -> None:
        given(*UNDONE).when(take_turn("t_3", "do", "Wait.")).then(
            opened("t_3", parent=6), acted("t_3", 6, parent=3, at=(2, 4), text="Wait.")
        )

    def test_in_the_same_words_is_another_action_all_the_same(self) -> None:
        given(*UNDONE).when(take_turn("t_3", "do", "Light the lamp.")).then(
            opened("t_3", parent=6), acted("t_3", 6, parent=3, at=(2, 4), text="Light the lamp.")
        )

    def test_in_the_corrected_words_of_an_untold_action_tells_that(self) -> None:
        mended = corrected(2, at=(1, 2), text="Climb the steps.")
        given(*UNTOLD, mended).when(take_turn("t_2", "do", "Climb the steps.")).then(opened("t_2", parent=2))


class TestGoingToANode:
    def test_that_is_another_take_selects_it(self) -> None:
        given(*TWO_TAKES).when(go(3)).then(moved("select", 4, 3, at=(1, 3), tip=3))

    def test_and_back_selects_again(self) -> None:
        given(*TWO_TAKES, moved("select", 4, 3, at=(1, 3), tip=3)).when(go(4)).then(
            moved("select", 3, 4, at=(2, 3), tip=4)
        )

    def test_anywhere_else_restores_it(self) -> None:
        given(*ASIDE).when(go(5)).then(moved("restore", 7, 5, at=(1, 5), tip=5))

    def test_above_the_tip_keeps_the_tip(self) -> None:
        given(*TWO_TURNS).when(go(2)).then(moved("restore", 5, 2, at=(1, 2), tip=5))

    def test_that_is_the_tip_keeps_it(self) -> None:
        given(*UNDONE_TWICE).when(go(5)).then(moved("restore", 1, 5, at=(1, 5), tip=5))

    def test_below_which_the_story_was_read_last_takes_up_that_tip(self) -> None:
        aside_of_the_first_action = rewritten(8, revises=2, parent=1, at=(3, 2), kind="do", text="Go down.")
        given(*ASIDE, aside_of_the_first_action).when(go(3)).then(moved("restore", 8, 3, at=(1, 3), tip=7))

    def test_takes_up_the_leaf_that_was_the_head_last_whichever_was_made_last(self) -> None:
        back = moved("restore", 7, 5, at=(1, 5), tip=5)
        elsewhere = rewritten(8, revises=2, parent=1, at=(3, 2), kind="do", text="Go down.")
        given(*ASIDE, back, elsewhere).when(go(3)).then(moved("restore", 8, 3, at=(1, 3), tip=5))

    def test_after_an_undo_a_selected_take_has_no_later_story_and_the_other_keeps_its_own(self) -> None:
        story = (
            *TWO_TAKES,
            opened("t_3", parent=5),
            acted("t_3", 5, parent=4, at=(2, 4), text="Go up."),
            narrated("t_3", 6, parent=5, at=(2, 5), text="The light."),
            moved("undo", 6, 4, at=(2, 3), tip=6),
        )
        given(*story).when(go(3)).then(moved("select", 4, 3, at=(1, 3), tip=3))
        selected = moved("select", 4, 3, at=(1, 3), tip=3)
        given(*story, selected).when(redo()).then_refused(NothingToRedo)
        given(*story, selected).when(go(4)).then(moved("select", 3, 4, at=(2, 3), tip=6))
        given(*story, selected, moved("select", 3, 4, at=(2, 3), tip=6)).when(redo()).then(
            moved("redo", 4, 6, at=(2, 5), tip=6)
        )

    def test_under_which_only_a_late_reply_stands_has_itself_for_a_tip(self) -> None:
        late = narrated("t_1", 3, parent=2, at=(1, 3), text="Fog.", late=True)
        aside = acted("t_2", 4, parent=1, at=(2, 2), text="Go down.")
        back = moved("undo", 2, 1, at=(1, 1), tip=2)
        turned = (back, opened("t_2", parent=4), aside, failed("t_2"))
        given(*INTERRUPTED, late, *turned).when(go(2)).then(moved("restore", 4, 2, at=(1, 2), tip=2))

    def test_that_is_a_late_reply_selects_it_beside_its_sibling_and_restores_it_from_its_action(self) -> None:
        late = narrated("t_1", 3, parent=2, at=(1, 3), text="Fog.", late=True)
        given(*INTERRUPTED, late).when(go(3)).then(moved("restore", 2, 3, at=(1, 3), tip=3))
        sibling = narrated("t_2", 4, parent=2, at=(2, 3), text="Mist.")
        told = (opened("t_2", parent=2, kind="continue"), sibling)
        given(*INTERRUPTED, late, *told).when(go(3)).then(moved("select", 4, 3, at=(1, 3), tip=3))

    def test_where_the_story_stands_already_changes_nothing(self) -> None:
        given(*UNDONE).when(go(3)).then_nothing()

    def test_that_is_the_opening_is_fine(self) -> None:
        given(*TOLD).when(go(1)).then(moved("restore", 3, 1, at=(1, 1), tip=3))

    @pytest.mark.parametrize("node", [0, -1, 4, 10**30])
    def test_that_is_not_there_is_refused(self, node: int) -> None:
        given(*TOLD).when(go(node)).then_refused(UnknownNode, campaign=CAMPAIGN, node=node)

    def test_needs_a_story(self) -> None:
        given().when(go(1)).then_refused(UnknownCampaign)


class TestGoingToASavePoint:
    POINT = saved("s_1", "the stairs", 3, at=(1, 3))

    def test_restores_its_node(self) -> None:
        given(*TWO_TURNS, self.POINT).when(go(save_point="s_1")).then(moved("restore", 5, 3, at=(1, 3), tip=5))

    def test_of_another_take_selects_that(self) -> None:
        given(*TWO_TAKES, self.POINT).when(go(save_point="s_1")).then(moved("select", 4, 3, at=(1, 3), tip=3))

    def test_goes_on_where_the_story_below_it_was_left(self) -> None:
        given(*ASIDE, self.POINT, moved("restore", 7, 5, at=(1, 5), tip=5)).when(go(save_point="s_1")).then(
            moved("restore", 5, 3, at=(1, 3), tip=5)
        )

    @pytest.mark.parametrize("unknown", ["s_2", "the stairs", "", "S_1"])
    def test_that_is_unknown_is_refused(self, unknown: str) -> None:
        given(*TOLD, self.POINT).when(go(save_point=unknown)).then_refused(
            UnknownSavePoint, campaign=CAMPAIGN, save_point=unknown
        )

    def test_that_was_removed_is_refused(self) -> None:
        given(*TOLD, self.POINT, unsaved("s_1")).when(go(save_point="s_1")).then_refused(UnknownSavePoint)

    def test_and_a_node_at_once_is_refused_and_so_is_neither(self) -> None:
        given(*TOLD, self.POINT).when(go(3, save_point="s_1")).then_refused(InvalidInput)
        given(*TOLD, self.POINT).when(go()).then_refused(InvalidInput)


@pytest.mark.parametrize("move", [undo(), redo(), go(1), go(2), go(save_point="s_1")], ids=repr)
class TestDuringATurn:
    def test_nothing_moves(self, move: CampaignCommand) -> None:
        point = saved("s_1", "here", 2, at=(1, 2))
        given(*TELLING, point).when(move).then_refused(TurnInProgress, campaign=CAMPAIGN, turn="t_1")

    def test_nothing_moves_while_another_take_is_told(self, move: CampaignCommand) -> None:
        again = opened("t_3", parent=4, operation="retry", retry_of=5)
        given(*UNDONE, saved("s_1", "here", 2, at=(1, 2)), again).when(move).then_refused(TurnInProgress, turn="t_3")


def test_what_is_not_there_is_told_also_during_a_turn() -> None:
    given(*TELLING).when(go(9)).then_refused(UnknownNode)
    given(*TELLING).when(go(save_point="s_9")).then_refused(UnknownSavePoint)


def test_once_the_turn_failed_the_story_moves_again() -> None:
    given(*INTERRUPTED).when(undo()).then(moved("undo", 2, 1, at=(1, 1), tip=2))
