"""The player's hand in what was told: a node written anew beside the old one, or a typo mended in place."""

from collections.abc import Callable

import pytest

from domain.campaign.commands import CampaignCommand, CorrectText, ReviseNode
from domain.errors import InvalidInput, TurnInProgress, UnknownCampaign, UnknownNode
from domain.narrative.events import ProposalJudged
from tests.fakes.sample_story import (
    CAMPAIGN,
    acted,
    correct,
    corrected,
    create,
    give,
    judged,
    moved,
    narrated,
    opened,
    retry,
    rewrite,
    rewritten,
    take_turn,
)
from tests.unit.specs import RETRYING, START, TELLING, TOLD, TWO_TAKES, TWO_TURNS, UNTOLD, given

ANEW = rewritten(4, revises=3, parent=2, at=(2, 3), text="They hold.")
"""Narration 3 written anew."""

AGAIN = judged(None, 4, at=(2, 3))
"""What the narration had proposed, judged again: nothing."""

ACTION_ANEW = rewritten(4, revises=2, parent=1, at=(2, 2), kind="do", text="Go down.")
"""Action 2 written anew, after its turn was told."""


class TestWritingANodeAnew:
    def test_makes_a_sibling_of_a_narration_on_a_branch_of_its_own(self) -> None:
        given(*TOLD).when(rewrite(3, "They hold.")).then(ANEW, AGAIN)

    def test_makes_a_sibling_of_an_action_of_the_same_kind(self) -> None:
        given(*TOLD).when(rewrite(2, "Go down.")).then(ACTION_ANEW)
        told = (opened("t_1", parent=2, kind="say"), acted("t_1", 2, parent=1, at=(1, 2), kind="say", text="Who?"))
        given(*START, *told, narrated("t_1", 3, parent=2, at=(1, 3), text="…")).when(rewrite(2, "Who is it?")).then(
            rewritten(4, revises=2, parent=1, at=(2, 2), kind="say", text="Who is it?")
        )

    def test_may_be_any_node_of_the_story_not_only_the_newest(self) -> None:
        given(*TWO_TURNS).when(rewrite(3, "They hold.")).then(
            rewritten(6, revises=3, parent=2, at=(2, 3), text="They hold."), judged(None, 6, at=(2, 3))
        )

    def test_may_be_a_node_that_is_not_on_the_line(self) -> None:
        given(*TWO_TAKES).when(rewrite(3, "They give.")).then(
            rewritten(5, revises=3, parent=2, at=(3, 3), text="They give."), judged(None, 5, at=(3, 3))
        )

    def test_may_be_one_that_was_written_anew(self) -> None:
        given(*TOLD, ANEW).when(rewrite(4, "They sing.")).then(
            rewritten(5, revises=4, parent=2, at=(3, 3), text="They sing."), judged(None, 5, at=(3, 3))
        )

    def test_keeps_the_text_as_it_was_typed(self) -> None:
        given(*TOLD).when(rewrite(3, "  They hold.\n\n")).then(
            rewritten(4, revises=3, parent=2, at=(2, 3), text="  They hold.\n\n"), AGAIN
        )

    def test_keeps_the_count_of_what_could_not_be_written(self) -> None:
        asked = ReviseNode(CAMPAIGN, 3, "They hold.", replaced_surrogates=2)
        given(*TOLD).when(asked).then(ANEW.model_copy(update={"replaced_surrogates": 2}), AGAIN)

    def test_in_the_same_words_is_a_sibling_too(self) -> None:
        given(*TOLD).when(rewrite(3, "The stairs creak.")).then(
            rewritten(4, revises=3, parent=2, at=(2, 3), text="The stairs creak."), AGAIN
        )

    def test_judges_what_the_original_proposed_on_the_state_that_it_was_told_from(self) -> None:
        lamp, held = create("lamp"), give("lamp", "nobody")
        before = judged("t_1", 3, at=(1, 3), outcome="applied", accepted=(lamp,))
        asked = ReviseNode(CAMPAIGN, 3, "They hold.", proposed=(lamp, held), block="[…]")
        revised, again = given(*TOLD, before).when(asked).decided()
        assert revised == ANEW
        assert isinstance(again, ProposalJudged)
        assert (again.outcome, again.accepted, again.block) == ("partly_applied", (lamp,), "[…]")
        assert [refused.code for refused in again.refused] == ["unknown_reference"]

    def test_of_an_untold_action_leaves_the_old_words_beside_it(self) -> None:
        given(*UNTOLD).when(rewrite(2, "Go down.")).then(
            rewritten(3, revises=2, parent=1, at=(2, 2), kind="do", text="Go down.")
        )

    def test_of_an_action_waits_to_be_told(self) -> None:
        given(*TOLD, ACTION_ANEW).when(take_turn("t_2", "continue")).then(opened("t_2", parent=4, kind="continue"))
        given(*TOLD, ACTION_ANEW).when(take_turn("t_2", "do", "Go down.")).then(opened("t_2", parent=4))
        given(*TOLD, ACTION_ANEW).when(retry("t_2")).then(opened("t_2", parent=4, operation="retry"))

    def test_of_a_narration_can_be_retried_as_any_take(self) -> None:
        given(*TOLD, ANEW).when(retry("t_2")).then(opened("t_2", parent=2, operation="retry", retry_of=4))

    def test_of_a_narration_goes_on_on_its_branch(self) -> None:
        given(*TOLD, ANEW).when(take_turn("t_2", "do", "Wait.")).then(
            opened("t_2", parent=5), acted("t_2", 5, parent=4, at=(2, 4), text="Wait.")
        )

    def test_of_the_opening_is_refused_and_says_what_to_do(self) -> None:
        given(*TOLD).when(rewrite(1, "At dawn.")).then_refused(
            InvalidInput, fields={"node": "the opening has no sibling; mend it in place, or begin another story"}
        )


class TestMendingANode:
    def test_keeps_its_place(self) -> None:
        given(*TWO_TURNS).when(correct(3, "The stairs creek.")).then(corrected(3, at=(1, 3), text="The stairs creek."))

    @pytest.mark.parametrize(("node", "at"), [(1, (1, 1)), (2, (1, 2)), (3, (1, 3)), (4, (2, 3))])
    def test_may_be_any_node_the_opening_too_and_on_any_line(self, node: int, at: tuple[int, int]) -> None:
        given(*TWO_TAKES).when(correct(node, "Mended.")).then(corrected(node, at=at, text="Mended."))

    def test_with_later_story_below_leaves_that(self) -> None:
        given(*TWO_TURNS, moved("undo", 5, 3, at=(1, 3), tip=5)).when(correct(3, "Mended.")).then(
            corrected(3, at=(1, 3), text="Mended.")
        )

    def test_keeps_the_count_of_what_could_not_be_written(self) -> None:
        asked = CorrectText(CAMPAIGN, 3, "Mended.", replaced_surrogates=2)
        given(*TOLD).when(asked).then(
            corrected(3, at=(1, 3), text="Mended.").model_copy(update={"replaced_surrogates": 2})
        )

    def test_twice_is_two_corrections(self) -> None:
        mended = corrected(3, at=(1, 3), text="Mended.")
        given(*TOLD, mended).when(correct(3, "Mended again.")).then(corrected(3, at=(1, 3), text="Mended again."))

    def test_of_an_untold_action_changes_what_its_words_are(self) -> None:
        mended = corrected(2, at=(1, 2), text="Go down.")
        given(*UNTOLD, mended).when(take_turn("t_2", "do", "Go down.")).then(opened("t_2", parent=2))
        given(*UNTOLD, mended).when(take_turn("t_2", "do", "Climb the stairs.")).then(
            opened("t_2", parent=3), acted("t_2", 3, parent=2, at=(1, 3), text="Climb the stairs.")
        )


@pytest.mark.parametrize("ask", [rewrite, correct])
class TestBoth:
    def test_need_some_text(self, ask: Callable[[int, str], CampaignCommand]) -> None:
        for empty in ("", " ", "\n\t", "\u3000"):
            given(*TOLD).when(ask(3, empty)).then_refused(InvalidInput, fields={"text": "it needs some text"})

    def test_refuse_a_node_that_is_not_there(self, ask: Callable[[int, str], CampaignCommand]) -> None:
        for node in (0, -1, 4, 10**30):
            given(*TOLD).when(ask(node, "Words.")).then_refused(UnknownNode, campaign=CAMPAIGN, node=node)

    def test_are_refused_while_a_turn_is_told(self, ask: Callable[[int, str], CampaignCommand]) -> None:
        given(*TELLING).when(ask(2, "Words.")).then_refused(TurnInProgress, campaign=CAMPAIGN, turn="t_1")
        given(*RETRYING).when(ask(3, "Words.")).then_refused(TurnInProgress, campaign=CAMPAIGN, turn="t_2")

    def test_need_a_story(self, ask: Callable[[int, str], CampaignCommand]) -> None:
        given().when(ask(1, "Words.")).then_refused(UnknownCampaign)
