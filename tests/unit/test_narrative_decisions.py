"""What becomes of the state of a story: blocks judged, corrections, extractors adopted, looks; or a refusal."""

from dataclasses import replace
from typing import Any

import pytest

from domain.campaign.commands import AdoptExtractor, StatePass
from domain.campaign.facts import StoryEvent
from domain.errors import CorrectionRefused, InvalidInput, OvertakenMeanwhile, TurnInProgress, UnknownCampaign
from domain.narrative.judging import Outcome, Proposed
from domain.narrative.refusals import Refused
from domain.prompt.events import ReplyAccounted
from tests.fakes.sample_story import (
    ACCOUNT,
    CAMPAIGN,
    accept,
    accounted,
    adopt,
    adopt_from_now,
    adopted,
    be,
    correct_state,
    corrected_state,
    create,
    establish,
    give,
    judged,
    look,
    looks,
    moved,
    narrated,
    opened,
    reread,
    rewritten,
)
from tests.unit.specs import INTERRUPTED, RETRYING, START, TELLING, TOLD, UNTOLD, Asked, given

LAMP, KEEPER = create("lamp"), create("keeper", "character")
HOLD = give("lamp", "keeper")

FIRST = narrated("t_1", 3, parent=2, at=(1, 3), text="Fog.")
"""The narration of the first turn."""

LIT = (*TELLING, FIRST, judged("t_1", 3, at=(1, 3), outcome="applied", accepted=(LAMP,)))
"""The first turn, in which a lamp came to exist."""


def unknown(event: Any, key: str, field: str) -> Refused:
    detail = (
        f"“{key}”, for `{field}`, is not the id of an entity. Name one that the state lists, or make it first with "
        "`create_entity`."
    )
    return Refused(event=event, code="unknown_reference", detail=detail)


NO_KEEPER = unknown(HOLD, "keeper", "owner")


class TestJudgingABlock:
    @pytest.mark.parametrize(
        ("proposed", "outcome", "accepted", "refused"),
        [
            ("absent", "absent", (), ()),
            ("unparseable", "unparseable", (), ()),
            ((), "empty", (), ()),
            ((give("lamp", None),), "empty", (give("lamp", None),), ()),
            ((be("lamp", "lit"),), "applied", (be("lamp", "lit"),), ()),
            ((HOLD,), "refused", (), (NO_KEEPER,)),
            ((HOLD, be("lamp", "lit")), "partly_applied", (be("lamp", "lit"),), (NO_KEEPER,)),
            ((KEEPER, HOLD), "applied", (KEEPER, HOLD), ()),
            ((HOLD, KEEPER, HOLD), "partly_applied", (KEEPER, HOLD), (NO_KEEPER,)),
        ],
    )
    def test_says_what_of_it_was_accepted_and_what_was_refused_and_why(
        self, proposed: Proposed, outcome: Outcome, accepted: tuple[Any, ...], refused: tuple[Refused, ...]
    ) -> None:
        asked = accept("t_2", "Rain.", proposed=proposed)
        given(*LIT, opened("t_2", parent=3, kind="continue")).when(asked).then(
            narrated("t_2", 4, parent=3, at=(1, 4), text="Rain."),
            judged(
                "t_2",
                4,
                at=(1, 4),
                outcome=outcome,
                accepted=accepted,
                refused=refused,
                block=asked.extraction.block,
            ),
        )

    def test_keeps_the_block_as_it_was_written(self) -> None:
        plain = accept("t_1", "Fog.")
        asked = replace(plain, extraction=replace(plain.extraction, proposal="unparseable", block='{"events": [}'))
        given(*TELLING).when(asked).then(
            FIRST, judged("t_1", 3, at=(1, 3), outcome="unparseable", block='{"events": [}')
        )

    def test_of_another_take_is_on_what_was_so_before_the_first(self) -> None:
        again = (*LIT, opened("t_2", parent=2, operation="retry", retry_of=3))
        self.assert_judged(given(*again).when(accept("t_2", "Rain.", proposed=(LAMP,))), outcome="applied")
        self.assert_judged(given(*again).when(accept("t_2", "Rain.", proposed=(be("lamp", "lit"),))), outcome="refused")

    def test_of_a_late_reply_is_on_what_was_so_at_its_action(self) -> None:
        meanwhile = (
            *INTERRUPTED,
            opened("t_2", parent=2),
            narrated("t_2", 3, parent=2, at=(1, 3), text="Mist."),
            judged("t_2", 3, at=(1, 3), outcome="applied", accepted=(LAMP,)),
        )
        self.assert_judged(given(*meanwhile).when(accept("t_1", "Fog.", proposed=(LAMP,))), outcome="applied")

    def test_follows_a_correction_of_the_node_it_hangs_under(self) -> None:
        corrected = (*UNTOLD, corrected_state(2, LAMP, at=(1, 2)), opened("t_2", parent=2, operation="retry"))
        self.assert_judged(
            given(*corrected).when(accept("t_2", "Rain.", proposed=(be("lamp", "lit"),))), outcome="applied"
        )

    def test_goes_by_the_readings_of_an_extractor_that_was_adopted(self) -> None:
        other = (*TOLD, reread(3, LAMP, at=(1, 3), raw="The stairs creak."))
        asked = accept("t_2", "Rain.", proposed=(be("lamp", "lit"),))
        turn = opened("t_2", parent=3, kind="continue")
        self.assert_judged(given(*other, adopted("2"), turn).when(asked), outcome="applied")
        self.assert_judged(given(*TOLD, adopted("2", "from_now"), turn).when(asked), outcome="refused")

    @staticmethod
    def assert_judged(asked: Asked, *, outcome: Outcome) -> None:
        assert [event.outcome for event in asked.decided() if event.topic == "state.proposal_judged"] == [outcome]  # type: ignore[union-attr]  # of that topic


class TestTheRequestForTheBlockAlone:
    def test_is_judged_in_place_of_what_the_reply_held(self) -> None:
        passed = StatePass(proposed=(LAMP,), block="{…}", accounting=ACCOUNT)
        asked = replace(accept("t_1", "Fog.", account=ACCOUNT, proposed=(HOLD,)), state_pass=passed)
        given(*TELLING).when(asked).then(
            FIRST,
            judged("t_1", 3, at=(1, 3), outcome="applied", accepted=(LAMP,), block="{…}", source="state_pass"),
            accounted("t_1", at=(3, 1, 3)),
            of_the_pass(accounted("t_1", at=(3, 1, 3))),
        )

    def test_that_brought_no_block_leaves_that_of_the_reply_and_says_why(self) -> None:
        asked = accept("t_1", "Fog.", proposed=(LAMP,))
        given(*TELLING).when(replace(asked, state_pass=StatePass(error="model_timeout"))).then(
            FIRST,
            judged(
                "t_1",
                3,
                at=(1, 3),
                outcome="applied",
                accepted=(LAMP,),
                block=asked.extraction.block,
                pass_error="model_timeout",
            ),
        )

    def test_whose_block_cannot_be_read_is_unparseable(self) -> None:
        passed = StatePass(proposed="unparseable", block="{", accounting=None)
        given(*TELLING).when(replace(accept("t_1", "Fog."), state_pass=passed)).then(
            FIRST, judged("t_1", 3, at=(1, 3), outcome="unparseable", block="{", source="state_pass")
        )


def of_the_pass(account: ReplyAccounted) -> ReplyAccounted:
    return account.model_copy(update={"purpose": "state"})


class TestCorrectingTheState:
    def test_is_of_the_head(self) -> None:
        given(*START).when(correct_state(LAMP)).then(corrected_state(1, LAMP, at=(1, 1)))
        given(*UNTOLD).when(correct_state(LAMP)).then(corrected_state(2, LAMP, at=(1, 2)))
        given(*LIT).when(correct_state(be("lamp", "lit"))).then(corrected_state(3, be("lamp", "lit"), at=(1, 3)))

    def test_is_judged_on_what_is_so_at_the_head(self) -> None:
        gone_back = (*LIT, moved("undo", 3, 1, at=(1, 1), tip=3))
        given(*gone_back).when(correct_state(be("lamp", "lit"))).then_refused(CorrectionRefused)
        given(*gone_back).when(correct_state(LAMP)).then(corrected_state(1, LAMP, at=(1, 1)))

    def test_does_not_reach_a_node_that_had_grown_before(self) -> None:
        gone_back = (*LIT, moved("undo", 3, 1, at=(1, 1), tip=3), corrected_state(1, KEEPER, at=(1, 1)))
        forth = (*gone_back, moved("redo", 1, 3, at=(1, 3), tip=3))
        given(*forth).when(correct_state(HOLD)).then_refused(CorrectionRefused)
        anew = rewritten(4, revises=2, parent=1, at=(2, 2), kind="do", text="Wait.")
        given(*forth, anew).when(correct_state(be("keeper", "calm"))).then(
            corrected_state(4, be("keeper", "calm"), at=(2, 2))
        )

    def test_keeps_the_note_and_the_count_of_what_could_not_be_written(self) -> None:
        asked = replace(correct_state(LAMP, note="It was there."), replaced_surrogates=2)
        given(*START).when(asked).then(corrected_state(1, LAMP, at=(1, 1), note="It was there.", replaced_surrogates=2))

    def test_that_is_refused_in_part_writes_both(self) -> None:
        given(*LIT).when(correct_state(HOLD, be("lamp", "lit"))).then(
            corrected_state(3, be("lamp", "lit"), at=(1, 3), refused=(NO_KEEPER,))
        )

    def test_that_says_what_is_so_already_is_written(self) -> None:
        """The player's word is the player's, also where the narrator said the same."""
        given(*LIT).when(correct_state(give("lamp", None))).then(corrected_state(3, give("lamp", None), at=(1, 3)))

    def test_that_is_wholly_refused_says_why_of_each(self) -> None:
        asked = given(*LIT).when(correct_state(HOLD, LAMP))
        duplicate = Refused(
            event=LAMP,
            code="duplicate_entity",
            detail="There is an entity “lamp” already. Change it with the other events, or choose another id.",
        )
        asked.then_refused(CorrectionRefused, refused=[each.model_dump(mode="json") for each in (NO_KEEPER, duplicate)])

    def test_may_go_where_the_narrator_may_not(self) -> None:
        locked = (*LIT, corrected_state(3, establish("is out", subject="lamp", fact_id="out"), at=(1, 3)))
        withdrawn = {"type": "invalidate_fact", "fact_id": "out"}
        given(*locked).when(correct_state(withdrawn)).then(corrected_state(3, withdrawn, at=(1, 3)))
        told_on = given(*locked, opened("t_2", parent=3, kind="continue")).when(
            accept("t_2", "Rain.", proposed=(withdrawn,))
        )
        TestJudgingABlock.assert_judged(told_on, outcome="refused")

    def test_needs_an_event(self) -> None:
        given(*LIT).when(correct_state()).then_refused(InvalidInput)

    @pytest.mark.parametrize("running", [TELLING, RETRYING])
    def test_waits_for_the_turn_that_runs(self, running: tuple[StoryEvent, ...]) -> None:
        given(*running).when(correct_state(LAMP)).then_refused(TurnInProgress, campaign=CAMPAIGN)

    def test_needs_a_story(self) -> None:
        given().when(correct_state(LAMP)).then_refused(UnknownCampaign)


READING = reread(3, LAMP, at=(1, 3), raw="The stairs creak.")


class TestAdoptingAnExtractor:
    def test_from_now_on_says_so(self) -> None:
        given(*START).when(adopt_from_now("2")).then(adopted("2", "from_now"))

    def test_from_now_on_does_not_ask_how_long_the_history_is_and_rereads_none_of_it(self) -> None:
        asked = AdoptExtractor(CAMPAIGN, "2", "from_now", readings=(READING,), version=0)
        given(*TOLD).when(asked).then(adopted("2", "from_now"))

    def test_for_the_whole_history_writes_the_readings_before_it(self) -> None:
        given(*TOLD).when(adopt("2", READING, version=len(TOLD))).then(READING, adopted("2"))

    def test_that_reads_nothing_otherwise_says_so_alone(self) -> None:
        given(*TOLD).when(adopt("2", version=len(TOLD))).then(adopted("2"))

    @pytest.mark.parametrize("scope", ["from_now", "whole_history"])
    def test_that_is_in_force_already_says_nothing(self, scope: Any) -> None:
        events = (*TOLD, adopted("2", scope))
        given(*events).when(adopt_from_now("2")).then_nothing()
        given(*events).when(adopt("2", version=len(events))).then_nothing()

    def test_that_is_in_force_from_some_turn_on_may_still_read_what_was_before(self) -> None:
        events = (*TOLD, adopted("2", "from_now"))
        given(*events).when(adopt("2", READING, version=len(events))).then(READING, adopted("2"))

    def test_is_possible_again_after_another(self) -> None:
        events = (*TOLD, adopted("2", "from_now"), adopted("1", "from_now"))
        given(*events).when(adopt_from_now("2")).then(adopted("2", "from_now"))

    @pytest.mark.parametrize("version", [0, len(TOLD) - 1, len(TOLD) + 1])
    def test_over_another_history_than_this_is_refused(self, version: int) -> None:
        given(*TOLD).when(adopt("2", READING, version=version)).then_refused(OvertakenMeanwhile, campaign=CAMPAIGN)
        given(*TOLD).when(adopt("2", version=version)).then_refused(OvertakenMeanwhile, campaign=CAMPAIGN)

    def test_waits_for_the_turn_that_runs(self) -> None:
        given(*TELLING).when(adopt_from_now("2")).then_refused(TurnInProgress, turn="t_1")
        given(*TELLING).when(adopt("2", version=len(TELLING))).then_refused(TurnInProgress, turn="t_1")

    def test_needs_a_story(self) -> None:
        given().when(adopt_from_now("2")).then_refused(UnknownCampaign)
        given().when(adopt("2", version=0)).then_refused(UnknownCampaign)


class TestSayingHowAnEntityLooks:
    def test_writes_it(self) -> None:
        given(*LIT).when(look("lamp", style_notes="Ink.")).then(looks("lamp", style_notes="Ink."))

    def test_keeps_the_count_of_what_could_not_be_written(self) -> None:
        asked = replace(look("lamp"), replaced_surrogates=1)
        given(*LIT).when(asked).then(looks("lamp").model_copy(update={"replaced_surrogates": 1}))

    def test_again_writes_nothing(self) -> None:
        given(*LIT, looks("lamp", features=("a dent",))).when(look("lamp", features=("a dent",))).then_nothing()

    def test_otherwise_writes_it_anew(self) -> None:
        events = (*LIT, looks("lamp", features=("a dent",)), looks("keeper"))
        given(*events).when(look("lamp")).then(looks("lamp"))

    def test_goes_by_what_was_said_last(self) -> None:
        events = (*LIT, looks("lamp", style_notes="Ink."), looks("lamp"))
        given(*events).when(look("lamp")).then_nothing()
        given(*events).when(look("lamp", style_notes="Ink.")).then(looks("lamp", style_notes="Ink."))

    def test_is_possible_of_what_no_line_knows_yet_and_while_a_turn_runs(self) -> None:
        given(*TELLING).when(look("lamp")).then(looks("lamp"))

    def test_needs_a_story(self) -> None:
        given().when(look("lamp")).then_refused(UnknownCampaign)
