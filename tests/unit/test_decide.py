"""What each command makes happen: given these events, when this is asked, then those follow, or a refusal."""

import pytest

from domain.campaign.commands import OpenTurn, StartCampaign
from domain.campaign.events import FailureStage, PlayerKind
from domain.campaign.facts import StoryEvent
from domain.campaign.settings import CampaignSettings, Persona
from domain.errors import (
    IdempotencyKeyReused,
    InvalidInput,
    NothingToRetry,
    TurnClosed,
    TurnInProgress,
    TurnNotRunning,
    UnknownCampaign,
    UnknownTurn,
)
from domain.extraction.extraction import Removal
from tests.fakes.sample_story import (
    ACCOUNT,
    CAMPAIGN,
    OPENING,
    PROCESS,
    accept,
    accounted,
    acted,
    cancel,
    cancel_requested,
    fail,
    failed,
    opened,
    prompted,
    record,
    retry,
    revise,
    revised,
    start,
    started,
    take_turn,
    told,
)
from tests.unit.specs import INTERRUPTED, RETRYING, START, TELLING, TOLD, UNTOLD, given

ENDS: list[FailureStage] = ["prompt", "sending", "model", "reply", "cancelled"]
"""Every way a turn may fail but the one after which a reply may still come."""


class TestStartingAStory:
    def test_writes_its_settings_and_its_opening(self) -> None:
        given().when(start(title="The Lighthouse", canon=("The sea is grey.",))).then(
            started(title="The Lighthouse", canon=("The sea is grey.",))
        )

    def test_keeps_the_count_of_what_could_not_be_written(self) -> None:
        asked = StartCampaign(CAMPAIGN, CampaignSettings(), OPENING, replaced_surrogates=2)
        given().when(asked).then(started().model_copy(update={"replaced_surrogates": 2}))

    def test_may_have_an_empty_opening(self) -> None:
        given().when(start("")).then(started(""))

    def test_again_changes_nothing(self) -> None:
        given(*START).when(start()).then_nothing()

    def test_again_in_other_words_changes_nothing(self) -> None:
        given(*START).when(start("Another opening.", title="Another")).then_nothing()


class TestRevisingAStory:
    def test_holds_only_what_differs(self) -> None:
        given(started(title="Old", authors_note="Slow.")).when(revise(title="New", authors_note="Slow.")).then(
            revised(title="New")
        )

    def test_without_a_difference_writes_nothing(self) -> None:
        given(started(title="Old")).when(revise(title="Old")).then_nothing()

    def test_that_names_nothing_writes_nothing(self) -> None:
        given(*START).when(revise()).then_nothing()

    def test_twice_writes_once(self) -> None:
        given(*START, revised(title="New")).when(revise(title="New")).then_nothing()

    def test_back_to_what_was_is_a_difference(self) -> None:
        given(started(title="Old"), revised(title="New")).when(revise(title="Old")).then(revised(title="Old"))

    def test_can_empty_what_was_full(self) -> None:
        given(started(canon=("The sea is grey.",), authors_note="Slow.", memory_enabled=True)).when(
            revise(canon=(), authors_note="", memory_enabled=False)
        ).then(revised(canon=(), authors_note="", memory_enabled=False))

    def test_takes_a_persona_as_a_whole(self) -> None:
        given(started(persona=Persona(name="Ada", pronouns="she"))).when(revise(persona=Persona(name="Ada"))).then(
            revised(persona=Persona(name="Ada"))
        )

    def test_with_the_same_persona_writes_nothing(self) -> None:
        given(started(persona=Persona(name="Ada"))).when(revise(persona=Persona(name="Ada"))).then_nothing()

    def test_may_happen_during_a_turn(self) -> None:
        given(*TELLING).when(revise(title="New")).then(revised(title="New"))

    def test_needs_a_story(self) -> None:
        given().when(revise(title="New")).then_refused(UnknownCampaign, campaign=CAMPAIGN)


class TestTakingATurn:
    @pytest.mark.parametrize("kind", ["do", "say", "story"])
    def test_with_words_opens_it_and_keeps_them_under_the_head(self, kind: PlayerKind) -> None:
        given(*TOLD).when(take_turn("t_2", kind, "Look out.")).then(
            opened("t_2", parent=4, kind=kind),
            acted("t_2", 4, parent=3, at=(1, 4), kind=kind, text="Look out."),
        )

    def test_keeps_the_words_as_they_were_typed(self) -> None:
        typed = '  "Hello?"\n\n\x00 …  '
        given(*START).when(take_turn("t_1", "say", typed)).then(
            opened("t_1", parent=2, kind="say"), acted("t_1", 2, parent=1, at=(1, 2), kind="say", text=typed)
        )

    def test_keeps_the_count_of_what_could_not_be_written(self) -> None:
        asked = OpenTurn(CAMPAIGN, "t_1", "do", "Wave \ufffd.", PROCESS, "asked", None, replaced_surrogates=1)
        words = acted("t_1", 2, parent=1, at=(1, 2), text="Wave \ufffd.")
        given(*START).when(asked).then(opened("t_1", parent=2), words.model_copy(update={"replaced_surrogates": 1}))

    def test_names_its_process_its_key_and_its_request(self) -> None:
        asked = OpenTurn(CAMPAIGN, "t_1", "continue", "", "p_other", "the hash", "the key")
        given(*START).when(asked).then(
            opened(
                "t_1",
                parent=1,
                kind="continue",
                process="p_other",
                request_hash="the hash",
                idempotency_key="the key",
            )
        )

    @pytest.mark.parametrize("events", [START, TOLD])
    def test_to_continue_hangs_the_narration_under_the_head(self, events: tuple[StoryEvent, ...]) -> None:
        head = 1 if events is START else 3
        given(*events).when(take_turn("t_2", "continue")).then(opened("t_2", parent=head, kind="continue"))

    def test_to_continue_takes_white_space_for_no_text(self) -> None:
        given(*START).when(take_turn("t_1", "continue", " \n")).then(opened("t_1", parent=1, kind="continue"))

    @pytest.mark.parametrize("kind", ["do", "say", "story"])
    @pytest.mark.parametrize("text", ["", " ", "\n\t "])
    def test_without_words_is_refused(self, kind: PlayerKind, text: str) -> None:
        asked = given(*START).when(take_turn("t_1", kind, text))
        asked.then_refused(
            InvalidInput, fields={"text": f"`{kind}` needs some text; use `continue` to let the narrator go on"}
        )

    def test_to_continue_with_words_is_refused(self) -> None:
        given(*START).when(take_turn("t_1", "continue", "Go on.")).then_refused(InvalidInput)

    def test_during_a_turn_is_refused_and_names_the_one_that_runs(self) -> None:
        given(*TELLING).when(take_turn("t_2", "do", "Wait.")).then_refused(
            TurnInProgress, campaign=CAMPAIGN, turn="t_1"
        )

    def test_to_continue_during_a_turn_is_refused(self) -> None:
        given(*TELLING).when(take_turn("t_2", "continue")).then_refused(TurnInProgress, turn="t_1")

    def test_during_a_turn_whose_end_was_asked_for_is_refused(self) -> None:
        given(*TELLING, cancel_requested("t_1")).when(take_turn("t_2", "do", "Wait.")).then_refused(TurnInProgress)

    def test_needs_a_story(self) -> None:
        given().when(take_turn("t_1", "do", "Wait.")).then_refused(UnknownCampaign, campaign=CAMPAIGN)


class TestATurnAfterAFailedOne:
    @pytest.mark.parametrize("stage", [*ENDS, "interrupted"])
    def test_with_the_same_words_narrates_the_action_that_stands_there(self, stage: FailureStage) -> None:
        given(*TELLING, failed("t_1", stage)).when(take_turn("t_2", "do", "Climb the stairs.")).then(
            opened("t_2", parent=2)
        )

    def test_to_continue_narrates_the_action_and_is_told_as_such(self) -> None:
        given(*UNTOLD).when(take_turn("t_2", "continue")).then(opened("t_2", parent=2, kind="continue"))

    def test_with_other_words_lets_them_follow_the_action(self) -> None:
        given(*UNTOLD).when(take_turn("t_2", "do", "Climb back down.")).then(
            opened("t_2", parent=3), acted("t_2", 3, parent=2, at=(1, 3), text="Climb back down.")
        )

    def test_with_the_same_words_of_another_kind_lets_them_follow_the_action(self) -> None:
        given(*UNTOLD).when(take_turn("t_2", "say", "Climb the stairs.")).then(
            opened("t_2", parent=3, kind="say"),
            acted("t_2", 3, parent=2, at=(1, 3), kind="say", text="Climb the stairs."),
        )

    def test_with_the_same_words_in_other_white_space_lets_them_follow_the_action(self) -> None:
        given(*UNTOLD).when(take_turn("t_2", "do", "Climb the stairs. ")).then(
            opened("t_2", parent=3), acted("t_2", 3, parent=2, at=(1, 3), text="Climb the stairs. ")
        )

    def test_that_had_no_words_begins_where_that_one_began(self) -> None:
        gone_wrong = (*START, opened("t_1", parent=1, kind="continue"), failed("t_1"))
        given(*gone_wrong).when(take_turn("t_2", "continue")).then(opened("t_2", parent=1, kind="continue"))

    def test_fails_again_and_the_action_is_still_told_only_once(self) -> None:
        twice = (*UNTOLD, opened("t_2", parent=2), failed("t_2"))
        given(*twice).when(take_turn("t_3", "do", "Climb the stairs.")).then(opened("t_3", parent=2))

    def test_tells_the_same_words_anew_once_they_have_been_told(self) -> None:
        given(*TOLD).when(take_turn("t_2", "do", "Climb the stairs.")).then(
            opened("t_2", parent=4), acted("t_2", 4, parent=3, at=(1, 4), text="Climb the stairs.")
        )


class TestRetrying:
    def test_asks_for_another_take_under_the_same_action(self) -> None:
        given(*TOLD).when(retry("t_2")).then(opened("t_2", parent=2, operation="retry", retry_of=3))

    def test_keeps_the_kind_of_the_action(self) -> None:
        said = (
            *START,
            opened("t_1", parent=2, kind="say"),
            acted("t_1", 2, parent=1, at=(1, 2), kind="say", text="Hello?"),
            *told("t_1", 3, parent=2, at=(1, 3), text="An echo."),
        )
        given(*said).when(retry("t_2")).then(opened("t_2", parent=2, kind="say", operation="retry", retry_of=3))

    def test_of_a_continuation_hangs_the_take_where_that_one_hangs(self) -> None:
        went_on = (
            *TOLD,
            opened("t_2", parent=3, kind="continue"),
            *told("t_2", 4, parent=3, at=(1, 4), text="A gull cries."),
        )
        given(*went_on).when(retry("t_3")).then(opened("t_3", parent=3, kind="continue", operation="retry", retry_of=4))

    def test_of_a_take_replaces_that_take(self) -> None:
        two = (*RETRYING, *told("t_2", 4, parent=2, at=(2, 3), text="The stairs hold.", retry_of=3))
        given(*two).when(retry("t_3")).then(opened("t_3", parent=2, operation="retry", retry_of=4))

    def test_of_an_untold_action_asks_for_its_first_take(self) -> None:
        given(*UNTOLD).when(retry("t_2")).then(opened("t_2", parent=2, operation="retry"))

    def test_after_a_failed_retry_asks_for_the_same_take(self) -> None:
        given(*RETRYING, failed("t_2")).when(retry("t_3")).then(opened("t_3", parent=2, operation="retry", retry_of=3))

    def test_at_the_opening_is_refused(self) -> None:
        given(*START).when(retry("t_1")).then_refused(NothingToRetry, campaign=CAMPAIGN)

    def test_at_the_opening_after_a_failed_continuation_is_refused(self) -> None:
        gone_wrong = (*START, opened("t_1", parent=1, kind="continue"), failed("t_1"))
        given(*gone_wrong).when(retry("t_2")).then_refused(NothingToRetry)

    def test_during_a_turn_is_refused(self) -> None:
        given(*TELLING).when(retry("t_2")).then_refused(TurnInProgress, turn="t_1")

    def test_during_a_retry_is_refused(self) -> None:
        given(*RETRYING).when(retry("t_3")).then_refused(TurnInProgress, turn="t_2")

    def test_needs_a_story(self) -> None:
        given().when(retry("t_1")).then_refused(UnknownCampaign)


KEYED = (
    *START,
    opened("t_1", parent=2, idempotency_key="k_1"),
    acted("t_1", 2, parent=1, at=(1, 2), text="Climb the stairs."),
)
"""The first turn, asked with an idempotency key and still being told."""

ANSWERED = (*KEYED, *told("t_1", 3, parent=2, at=(1, 3), text="The stairs creak."))

AGAIN = take_turn("t_2", "do", "Climb the stairs.", key="k_1")


class TestAnIdempotencyKey:
    def test_of_a_running_turn_names_that_turn(self) -> None:
        given(*KEYED).when(AGAIN).then_refused(TurnInProgress, turn="t_1")

    def test_of_an_accepted_turn_asks_nothing_again(self) -> None:
        given(*ANSWERED).when(AGAIN).then_nothing()

    def test_of_an_accepted_turn_asks_nothing_again_wherever_the_story_stands(self) -> None:
        given(*ANSWERED, opened("t_2", parent=3, kind="continue")).when(
            take_turn("t_3", "do", "Climb the stairs.", key="k_1")
        ).then_nothing()

    def test_of_an_accepted_retry_asks_nothing_again(self) -> None:
        retried = (
            *TOLD,
            opened("t_2", parent=2, operation="retry", retry_of=3, idempotency_key="k_2"),
            *told("t_2", 4, parent=2, at=(2, 3), text="The stairs hold.", retry_of=3),
        )
        given(*retried).when(retry("t_3", key="k_2")).then_nothing()

    @pytest.mark.parametrize("stage", [*ENDS, "interrupted"])
    def test_of_a_failed_turn_asks_for_the_same_action_again(self, stage: FailureStage) -> None:
        given(*KEYED, failed("t_1", stage)).when(AGAIN).then(opened("t_2", parent=2, idempotency_key="k_1"))

    def test_belongs_to_the_newest_turn_that_used_it(self) -> None:
        again = (*KEYED, failed("t_1"), opened("t_2", parent=2, idempotency_key="k_1"))
        given(*again).when(take_turn("t_3", "do", "Climb the stairs.", key="k_1")).then_refused(
            TurnInProgress, turn="t_2"
        )

    def test_of_a_turn_that_was_answered_late_asks_nothing_again(self) -> None:
        late = told("t_1", 3, parent=2, at=(1, 3), text="The stairs creak.", late=True)
        given(*KEYED, failed("t_1", "interrupted"), *late).when(AGAIN).then_nothing()

    @pytest.mark.parametrize(
        "events", [KEYED, ANSWERED, (*KEYED, failed("t_1"))], ids=["running", "accepted", "failed"]
    )
    def test_with_another_body_is_refused(self, events: tuple[StoryEvent, ...]) -> None:
        given(*events).when(take_turn("t_2", "do", "Go home.", key="k_1", asked="otherwise")).then_refused(
            IdempotencyKeyReused, key="k_1", turn="t_1"
        )

    def test_of_a_turn_is_not_one_for_a_retry_with_another_body(self) -> None:
        given(*ANSWERED).when(retry("t_2", key="k_1", asked="otherwise")).then_refused(IdempotencyKeyReused)

    def test_that_is_new_stands_for_nothing(self) -> None:
        given(*ANSWERED).when(take_turn("t_2", "continue", key="k_2")).then(
            opened("t_2", parent=3, kind="continue", idempotency_key="k_2")
        )

    def test_is_none_when_it_is_absent(self) -> None:
        given(*ANSWERED).when(take_turn("t_2", "continue")).then(opened("t_2", parent=3, kind="continue"))

    def test_may_be_empty(self) -> None:
        answered = (
            *START,
            opened("t_1", parent=1, kind="continue", idempotency_key=""),
            *told("t_1", 2, parent=1, at=(1, 2), text="A gull cries."),
        )
        given(*answered).when(take_turn("t_2", "continue", key="")).then_nothing()


class TestRecordingAPrompt:
    def test_writes_it_while_the_turn_runs(self) -> None:
        given(*TELLING).when(record(prompted("t_1"))).then(prompted("t_1"))

    def test_again_writes_it_again(self) -> None:
        given(*TELLING, prompted("t_1")).when(record(prompted("t_1"))).then(prompted("t_1"))

    @pytest.mark.parametrize("stage", [*ENDS, "interrupted"])
    def test_for_a_turn_that_failed_is_refused(self, stage: FailureStage) -> None:
        given(*TELLING, failed("t_1", stage)).when(record(prompted("t_1"))).then_refused(TurnClosed, turn="t_1")

    def test_for_a_turn_that_was_told_is_refused(self) -> None:
        given(*TOLD).when(record(prompted("t_1"))).then_refused(TurnClosed, turn="t_1")

    def test_for_no_turn_is_refused(self) -> None:
        given(*TELLING).when(record(prompted("t_9"))).then_refused(UnknownTurn, turn="t_9")

    def test_needs_a_story(self) -> None:
        given().when(record(prompted("t_1"))).then_refused(UnknownCampaign)


class TestAcceptingANarration:
    def test_hangs_it_under_the_action(self) -> None:
        given(*TELLING).when(accept("t_1", "The stairs creak.")).then(
            *told("t_1", 3, parent=2, at=(1, 3), text="The stairs creak.")
        )

    def test_keeps_the_raw_reply_and_what_was_taken_out_of_it(self) -> None:
        edges = (Removal(rule="whitespace", start=0, end=1), Removal(rule="whitespace", start=5, end=7))
        given(*TELLING).when(accept("t_1", "\nFog. \n", reasoning="Weather.", finish_reason=None)).then(
            *told(
                "t_1",
                3,
                parent=2,
                at=(1, 3),
                text="\nFog. \n",
                reasoning="Weather.",
                removals=edges,
                finish_reason=None,
            )
        )

    def test_writes_the_account_beside_it_at_the_same_place(self) -> None:
        given(*TELLING).when(accept("t_1", "Fog.", account=ACCOUNT)).then(
            *told("t_1", 3, parent=2, at=(1, 3), text="Fog."), accounted("t_1", at=(3, 1, 3))
        )

    def test_of_a_retry_says_which_take_it_replaces_and_begins_a_branch(self) -> None:
        given(*RETRYING).when(accept("t_2", "The stairs hold.")).then(
            *told("t_2", 4, parent=2, at=(2, 3), text="The stairs hold.", retry_of=3)
        )

    def test_is_possible_after_the_player_asked_to_stop_but_before_it_stopped(self) -> None:
        given(*TELLING, cancel_requested("t_1")).when(accept("t_1", "Fog.")).then(
            *told("t_1", 3, parent=2, at=(1, 3), text="Fog.")
        )

    def test_for_an_interrupted_turn_is_late(self) -> None:
        given(*INTERRUPTED).when(accept("t_1", "Fog.", account=ACCOUNT)).then(
            *told("t_1", 3, parent=2, at=(1, 3), text="Fog.", late=True), accounted("t_1", at=(3, 1, 3))
        )

    def test_for_an_interrupted_turn_is_a_take_beside_what_was_told_meanwhile(self) -> None:
        meanwhile = (*INTERRUPTED, opened("t_2", parent=2), *told("t_2", 3, parent=2, at=(1, 3), text="Fog."))
        given(*meanwhile).when(accept("t_1", "Mist.")).then(
            *told("t_1", 4, parent=2, at=(2, 3), text="Mist.", late=True)
        )

    def test_for_an_interrupted_turn_is_possible_during_another(self) -> None:
        given(*INTERRUPTED, opened("t_2", parent=2)).when(accept("t_1", "Mist.")).then(
            *told("t_1", 3, parent=2, at=(1, 3), text="Mist.", late=True)
        )

    @pytest.mark.parametrize("stage", ENDS)
    def test_for_a_turn_that_ended_otherwise_is_refused(self, stage: FailureStage) -> None:
        given(*TELLING, failed("t_1", stage)).when(accept("t_1", "Fog.")).then_refused(TurnClosed, turn="t_1")

    def test_twice_is_refused(self) -> None:
        given(*TOLD).when(accept("t_1", "Fog.")).then_refused(TurnClosed, turn="t_1")

    def test_late_twice_is_refused(self) -> None:
        late = told("t_1", 3, parent=2, at=(1, 3), text="Fog.", late=True)
        given(*INTERRUPTED, *late).when(accept("t_1", "Mist.")).then_refused(TurnClosed, turn="t_1")

    def test_for_no_turn_is_refused(self) -> None:
        given(*TELLING).when(accept("t_9", "Fog.")).then_refused(UnknownTurn, campaign=CAMPAIGN, turn="t_9")

    def test_needs_a_story(self) -> None:
        given().when(accept("t_1", "Fog.")).then_refused(UnknownCampaign)


class TestFailingATurn:
    @pytest.mark.parametrize("stage", [*ENDS, "interrupted"])
    def test_closes_it_and_says_where_it_failed(self, stage: FailureStage) -> None:
        given(*TELLING).when(fail("t_1", stage)).then(failed("t_1", stage))

    def test_writes_the_account_beside_it_without_a_place(self) -> None:
        given(*TELLING).when(fail("t_1", account=ACCOUNT)).then(failed("t_1"), accounted("t_1"))

    def test_twice_writes_once(self) -> None:
        given(*UNTOLD).when(fail("t_1", "interrupted", account=ACCOUNT)).then_nothing()

    def test_after_it_was_told_writes_nothing(self) -> None:
        given(*TOLD).when(fail("t_1")).then_nothing()

    def test_that_is_unknown_is_refused(self) -> None:
        given(*TELLING).when(fail("t_9")).then_refused(UnknownTurn, turn="t_9")

    def test_needs_a_story(self) -> None:
        given().when(fail("t_1")).then_refused(UnknownCampaign)


class TestCancelling:
    def test_asks_a_running_turn_to_stop(self) -> None:
        given(*TELLING).when(cancel("t_1")).then(cancel_requested("t_1"))

    def test_twice_asks_once(self) -> None:
        given(*TELLING, cancel_requested("t_1")).when(cancel("t_1")).then_nothing()

    @pytest.mark.parametrize("stage", [*ENDS, "interrupted"])
    def test_a_turn_that_failed_is_refused_and_says_how_it_ended(self, stage: FailureStage) -> None:
        given(*TELLING, failed("t_1", stage)).when(cancel("t_1")).then_refused(TurnNotRunning, turn="t_1", ended=stage)

    def test_a_turn_that_was_told_is_refused(self) -> None:
        given(*TOLD).when(cancel("t_1")).then_refused(TurnNotRunning, turn="t_1", ended="accepted")

    def test_an_unknown_turn_is_refused(self) -> None:
        given(*TELLING).when(cancel("t_9")).then_refused(UnknownTurn, turn="t_9")

    def test_needs_a_story(self) -> None:
        given().when(cancel("t_1")).then_refused(UnknownCampaign)


class TestThePlaceOfANode:
    def test_a_first_child_stays_on_its_parents_branch(self) -> None:
        given(*TELLING).when(accept("t_1", "Fog.")).then(*told("t_1", 3, parent=2, at=(1, 3), text="Fog."))

    def test_each_later_child_begins_the_next_branch_at_the_same_depth(self) -> None:
        two = (*RETRYING, *told("t_2", 4, parent=2, at=(2, 3), text="Mist.", retry_of=3))
        given(*two, opened("t_3", parent=2, operation="retry", retry_of=4)).when(accept("t_3", "Rain.")).then(
            *told("t_3", 5, parent=2, at=(3, 3), text="Rain.", retry_of=4)
        )

    def test_a_first_child_of_a_node_on_a_later_branch_stays_on_that_branch(self) -> None:
        two = (*RETRYING, *told("t_2", 4, parent=2, at=(2, 3), text="Mist.", retry_of=3))
        given(*two).when(take_turn("t_3", "do", "Wait.")).then(
            opened("t_3", parent=5), acted("t_3", 5, parent=4, at=(2, 4), text="Wait.")
        )

    def test_branches_are_numbered_over_the_whole_tree(self) -> None:
        deeper = (
            *RETRYING,
            *told("t_2", 4, parent=2, at=(2, 3), text="Mist.", retry_of=3),
            opened("t_3", parent=4, kind="continue"),
            *told("t_3", 5, parent=4, at=(2, 4), text="Rain."),
            opened("t_4", parent=4, kind="continue", operation="retry", retry_of=5),
        )
        given(*deeper).when(accept("t_4", "Hail.")).then(*told("t_4", 6, parent=4, at=(3, 4), text="Hail.", retry_of=5))

    def test_an_action_after_a_take_that_was_told_late_begins_a_branch(self) -> None:
        late = told("t_1", 3, parent=2, at=(1, 3), text="Fog.", late=True)
        given(*INTERRUPTED, *late).when(take_turn("t_2", "do", "Turn back.")).then(
            opened("t_2", parent=4), acted("t_2", 4, parent=2, at=(2, 3), text="Turn back.")
        )
