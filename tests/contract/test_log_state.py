"""What the log promises of the state of a story: at every node, as it came about there, whatever was told elsewhere."""

from collections.abc import Mapping
from typing import Any

import pytest

from domain.errors import (
    CorrectionRefused,
    InvalidInput,
    OvertakenMeanwhile,
    TurnInProgress,
    UnknownCampaign,
    UnknownNode,
)
from domain.event import Recorded
from domain.log import EventLog
from domain.narrative.document import EMPTY, Document, Entity, Fact
from domain.narrative.events import ProposalJudged, StateCorrected
from domain.narrative.visual_profile import VisualProfile
from tests.contract.conftest import OpenLog
from tests.fakes.sample_story import (
    CAMPAIGN,
    OPENING,
    accept,
    adopt,
    adopt_from_now,
    be,
    correct,
    correct_state,
    create,
    establish,
    fail,
    give,
    go,
    look,
    redo,
    reread,
    retry,
    rewrite,
    save,
    start,
    take_turn,
    undo,
)

OTHER = "c_harbour"
NOWHERE = give("lamp", "nobody-at-all")
"""Refused wherever nobody of that name exists."""

LAMP = Entity("item", "Lamp")
KEEPER = Entity("character", "Keeper")


def tell(log: EventLog, turn: str, *events: Any, text: str = "It goes on.", campaign: str = CAMPAIGN) -> ProposalJudged:
    """A turn whose narration proposes these events; what became of them."""
    log.execute(take_turn(turn, "do", f"Words of {turn}.", campaign=campaign))
    return told(log, turn, *events, text=text, campaign=campaign)


def tell_anew(log: EventLog, turn: str, *events: Any) -> ProposalJudged:
    """Another take of the newest narration."""
    log.execute(retry(turn))
    return told(log, turn, *events)


def told(log: EventLog, turn: str, *events: Any, text: str = "It goes on.", campaign: str = CAMPAIGN) -> ProposalJudged:
    written = log.execute(accept(turn, text, campaign=campaign, proposed=events or "absent")).events
    (judged,) = [one.event for one in written if isinstance(one.event, ProposalJudged)]
    return judged


def states(log: EventLog, campaign: str = CAMPAIGN) -> dict[int, Document]:
    """The document at every node."""
    return {node: log.state(campaign, node) for node in range(1, log.campaign(campaign).last_node + 1)}


def named(log: EventLog) -> dict[int, set[str]]:
    """Which entities there are, at every node."""
    return {node: set(document.entities) for node, document in states(log).items()}


def everything(log: EventLog) -> list[Recorded]:
    return list(log.read(0, 10_000))


@pytest.fixture
def lit(log: EventLog) -> EventLog:
    """A story of two turns: in the first a lamp and a keeper come to exist, in the second the keeper takes the lamp.

    1 ─ 2 ─ 3 ─ 4 ─ 5
    """
    log.execute(start())
    tell(log, "t_1", create("lamp"), create("keeper", "character"))
    tell(log, "t_2", give("lamp", "keeper"))
    return log


FOUND = Document(entities={"lamp": LAMP, "keeper": KEEPER})
HELD = Document(entities={"lamp": LAMP, "keeper": KEEPER}, possessions={"lamp": "keeper"})


class TestTheStateAtANode:
    def test_is_empty_at_the_opening(self, log: EventLog) -> None:
        log.execute(start())
        assert log.state(CAMPAIGN, 1) == EMPTY

    def test_is_what_was_accepted_by_then_right_after_it_was_told(self, lit: EventLog) -> None:
        assert states(lit) == {1: EMPTY, 2: EMPTY, 3: FOUND, 4: FOUND, 5: HELD}

    def test_stays_where_a_block_is_refused_or_cannot_be_read_or_is_not_there(self, lit: EventLog) -> None:
        assert tell(lit, "t_3", NOWHERE).outcome == "refused"
        lit.execute(take_turn("t_4", "continue"))
        lit.execute(accept("t_4", "Fog.", proposed="unparseable"))
        tell(lit, "t_5")
        assert {node: document for node, document in states(lit).items() if node > 5} == dict.fromkeys(
            range(6, 11), HELD
        )

    def test_is_what_was_accepted_of_a_block_that_is_refused_in_part(self, lit: EventLog) -> None:
        judged = tell(lit, "t_3", give("lamp", None), NOWHERE, {"type": "sing"}, "no event", create("sail"))
        assert (judged.outcome, judged.accepted) == ("partly_applied", (give("lamp", None), create("sail")))
        assert [(each.event, each.code) for each in judged.refused] == [
            (NOWHERE, "unknown_reference"),
            ({"type": "sing"}, "unknown_type"),
            ("no event", "unknown_type"),
        ]
        assert lit.state(CAMPAIGN, 7) == Document({"lamp": LAMP, "keeper": KEEPER, "sail": Entity("item", "Sail")})

    def test_of_another_take_begins_with_that_of_the_action(self, lit: EventLog) -> None:
        assert tell_anew(lit, "t_3", create("sail")).outcome == "applied"
        assert tell_anew(lit, "t_4", give("sail", "keeper")).outcome == "refused"
        assert states(lit)[5] == HELD
        assert named(lit) == {
            1: set(),
            2: set(),
            **{node: {"lamp", "keeper"} for node in (3, 4, 5, 7)},
            6: {"lamp", "keeper", "sail"},
        }

    def test_is_left_alone_by_every_move_of_the_head(self, lit: EventLog) -> None:
        tell_anew(lit, "t_3", create("sail"))
        lit.execute(save("s_1", "here", 3))
        before = states(lit)
        for move in (undo(), redo(), go(5), go(save_point="s_1"), redo(), undo(), undo()):
            lit.execute(move)
            assert states(lit) == before

    def test_of_what_is_told_next_begins_where_the_head_was_moved_to(self, lit: EventLog) -> None:
        lit.execute(undo())
        assert tell(lit, "t_3", create("sail")).outcome == "applied"
        lit.execute(go(5))
        assert tell(lit, "t_4", give("sail", "keeper")).refused[0].code == "unknown_reference"
        lit.execute(go(7))
        assert tell(lit, "t_5", give("sail", "keeper")).outcome == "applied"
        assert [lit.state(CAMPAIGN, node).possessions for node in (5, 7, 9, 11)] == [
            {"lamp": "keeper"},
            {},
            {"lamp": "keeper"},
            {"sail": "keeper"},
        ]

    def test_of_a_node_that_was_written_anew_begins_with_its_parents(self, lit: EventLog) -> None:
        lit.execute(rewrite(5, "The keeper leaves it."))
        lit.execute(rewrite(2, "Wait."))
        assert states(lit) == {1: EMPTY, 2: EMPTY, 3: FOUND, 4: FOUND, 5: HELD, 6: FOUND, 7: EMPTY}

    def test_of_a_narration_that_was_written_anew_keeps_its_block_judged_where_it_hangs(self, lit: EventLog) -> None:
        lit.execute(go(4))
        lit.execute(correct_state(create("sail")))
        block = (give("lamp", "keeper"), give("sail", "keeper"), NOWHERE)
        judged = lit.execute(rewrite(5, "She takes both.", proposed=block)).events[-1].event
        assert isinstance(judged, ProposalJudged)
        assert (judged.node, judged.turn, judged.outcome, judged.accepted) == (6, None, "partly_applied", block[:2])
        assert [lit.state(CAMPAIGN, node).possessions for node in (4, 5, 6)] == [
            {},
            {"lamp": "keeper"},
            {"lamp": "keeper", "sail": "keeper"},
        ]

    def test_is_left_alone_where_a_text_is_mended(self, lit: EventLog) -> None:
        before = states(lit)
        lit.execute(correct(3, "Nothing is there."))
        assert states(lit) == before

    def test_is_left_alone_by_a_turn_that_fails(self, lit: EventLog) -> None:
        lit.execute(take_turn("t_3", "do", "Row."))
        lit.execute(fail("t_3"))
        assert states(lit) == {1: EMPTY, 2: EMPTY, 3: FOUND, 4: FOUND, 5: HELD, 6: HELD}

    def test_of_a_late_reply_begins_with_that_of_its_own_action(self, lit: EventLog) -> None:
        lit.execute(take_turn("t_3", "do", "Row."))
        lit.execute(fail("t_3", "interrupted"))
        tell(lit, "t_4", create("sail"))
        late = told(lit, "t_3", give("lamp", None), give("sail", "keeper"))
        assert (late.node, late.outcome, late.accepted) == (9, "partly_applied", (give("lamp", None),))
        assert named(lit)[8] == {"lamp", "keeper", "sail"}
        assert [lit.state(CAMPAIGN, node) for node in (6, 9)] == [HELD, FOUND]

    def test_is_the_same_in_another_opening_of_the_store(self, open_log: OpenLog) -> None:
        log = open_log()
        log.execute(start())
        tell(log, "t_1", create("lamp"))
        log.execute(correct_state(be("lamp", "lit")))
        again = open_log()
        assert states(again) == states(log)
        assert tell(again, "t_2", create("lamp")).refused[0].code == "duplicate_entity"

    def test_is_the_storys_own_and_gone_with_it(self, lit: EventLog) -> None:
        lit.execute(start(campaign=OTHER))
        assert tell(lit, "t_1", create("keeper", "character"), campaign=OTHER).outcome == "applied"
        lit.delete_campaign(CAMPAIGN)
        assert set(lit.state(OTHER, 3).entities) == {"keeper"}
        with pytest.raises(UnknownCampaign):
            lit.state(CAMPAIGN, 3)
        lit.execute(start())
        assert (lit.state(CAMPAIGN, 1), list(lit.state_course(CAMPAIGN, 1))) == (EMPTY, [])
        with pytest.raises(UnknownNode):
            lit.state(CAMPAIGN, 3)


class TestACorrection:
    def test_holds_where_it_was_made_and_below_what_grows_from_then_on(self, lit: EventLog) -> None:
        (corrected,) = lit.execute(correct_state(give("lamp", None), note="She put it down.")).events
        assert isinstance(corrected.event, StateCorrected)
        assert (corrected.event.node, corrected.event.accepted) == (5, (give("lamp", None),))
        assert (corrected.event.note, corrected.actor, corrected.turn) == ("She put it down.", "player", None)
        tell(lit, "t_3")
        assert [lit.state(CAMPAIGN, node).possessions for node in (3, 4, 5, 6, 7)] == [{}] * 5

    def test_leaves_what_was_told_before_as_it_was_told(self, lit: EventLog) -> None:
        lit.execute(go(3))
        lit.execute(correct_state(be("lamp", "broken")))
        assert [lit.state(CAMPAIGN, node).entities["lamp"].status for node in (3, 4, 5)] == ["broken", "", ""]
        lit.execute(go(4))
        assert tell_anew(lit, "t_3", be("keeper", "tired")).outcome == "applied"
        assert lit.state(CAMPAIGN, 6).entities["lamp"].status == ""
        lit.execute(go(3))
        tell(lit, "t_4", be("keeper", "tired"))
        assert lit.state(CAMPAIGN, 8).entities["lamp"].status == "broken"

    def test_of_a_narration_does_not_reach_its_other_takes(self, lit: EventLog) -> None:
        lit.execute(correct_state(create("sail")))
        tell_anew(lit, "t_3", create("oar"))
        assert {node: found - {"lamp", "keeper"} for node, found in named(lit).items() if node > 3} == {
            4: set(),
            5: {"sail"},
            6: {"oar"},
        }

    def test_is_possible_at_the_opening_and_at_an_untold_action(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(correct_state(create("lamp")))
        log.execute(take_turn("t_1", "do", "Climb."))
        log.execute(fail("t_1"))
        log.execute(correct_state(create("keeper", "character")))
        assert tell_anew(log, "t_2", give("lamp", "keeper")).outcome == "applied"
        assert named(log) == {1: {"lamp"}, 2: {"lamp", "keeper"}, 3: {"lamp", "keeper"}}

    def test_is_the_players_word_against_which_the_narrator_cannot_go(self, lit: EventLog) -> None:
        lit.execute(correct_state(establish("is", subject="lamp", value="green", fact_id="colour"), be("lamp", "lit")))
        document = lit.state(CAMPAIGN, 5)
        assert document.facts == {"colour": Fact("is", subject="lamp", value="green", locked=True)}
        assert document.corrected == {"entities.lamp.status"}
        judged = tell(lit, "t_3", {"type": "invalidate_fact", "fact_id": "colour"}, be("lamp", "out"))
        assert [each.code for each in judged.refused] == ["locked"]
        after = lit.state(CAMPAIGN, 7)
        assert (after.entities["lamp"].status, list(after.corrected)) == ("out", [])

    def test_that_is_refused_in_part_says_which(self, lit: EventLog) -> None:
        (corrected,) = lit.execute(correct_state(NOWHERE, be("lamp", "lit"))).events
        assert isinstance(corrected.event, StateCorrected)
        assert [(each.event, each.code) for each in corrected.event.refused] == [(NOWHERE, "unknown_reference")]
        assert lit.state(CAMPAIGN, 5).entities["lamp"].status == "lit"

    @pytest.mark.parametrize("events", [(NOWHERE,), (NOWHERE, {"type": "sing"}, 7), ({},)])
    def test_that_is_wholly_refused_changes_nothing(self, lit: EventLog, events: tuple[Any, ...]) -> None:
        before = everything(lit), states(lit), lit.verify()
        with pytest.raises(CorrectionRefused) as refused:
            lit.execute(correct_state(*events))
        told_of: Any = refused.value.fields["refused"]
        assert [each["event"] for each in told_of] == list(events)
        assert (everything(lit), states(lit), lit.verify()) == before

    def test_needs_an_event(self, lit: EventLog) -> None:
        before = everything(lit)
        with pytest.raises(InvalidInput):
            lit.execute(correct_state())
        assert everything(lit) == before

    def test_waits_for_a_turn_that_runs(self, lit: EventLog) -> None:
        lit.execute(take_turn("t_3", "continue"))
        before = everything(lit), states(lit)
        with pytest.raises(TurnInProgress):
            lit.execute(correct_state(be("lamp", "lit")))
        assert (everything(lit), states(lit)) == before


class TestHowAStateCameAbout:
    def test_is_every_event_of_its_line_that_changed_it_in_order(self, lit: EventLog) -> None:
        tell(lit, "t_3")
        tell(lit, "t_4", NOWHERE)
        (corrected,) = lit.execute(correct_state(be("lamp", "lit"))).events
        tell(lit, "t_5", be("lamp", "out"))
        tell_anew(lit, "t_6", be("lamp", "bright"))
        judged = {one.event.node: one for one in everything(lit) if isinstance(one.event, ProposalJudged)}
        assert list(lit.state_course(CAMPAIGN, 12)) == [judged[3], judged[5], corrected, judged[12]]
        assert list(lit.state_course(CAMPAIGN, 11)) == [judged[3], judged[5], corrected, judged[11]]
        assert list(lit.state_course(CAMPAIGN, 8)) == [judged[3], judged[5]]
        assert [list(lit.state_course(CAMPAIGN, node)) for node in (1, 2)] == [[], []]

    def test_leaves_out_a_correction_that_came_after_the_node_was_told(self, lit: EventLog) -> None:
        lit.execute(go(3))
        (corrected,) = lit.execute(correct_state(be("lamp", "lit"))).events
        assert corrected in lit.state_course(CAMPAIGN, 3)
        assert corrected not in lit.state_course(CAMPAIGN, 5)


class TestTheJudgementInForce:
    def test_is_that_of_the_narrations_block(self, lit: EventLog) -> None:
        judged = tell(lit, "t_3", NOWHERE)
        assert lit.judgement(CAMPAIGN, 7) == judged
        assert [each.code for each in judged.refused] == ["unknown_reference"]

    def test_is_there_for_every_narration_and_for_nothing_else(self, lit: EventLog) -> None:
        tell(lit, "t_3")
        lit.execute(rewrite(7, "Rain."))
        lit.execute(correct_state(be("lamp", "lit")))
        outcomes = [judged and judged.outcome for judged in (lit.judgement(CAMPAIGN, node) for node in range(1, 9))]
        assert outcomes == [None, None, "applied", None, "applied", None, "absent", "absent"]

    def test_is_the_newest_reading_of_a_narration_that_was_reread(self, lit: EventLog) -> None:
        for extractor in ("2", "3"):
            reading = reread(3, at=(1, 3), raw="It goes on.", extractor=extractor)
            lit.execute(adopt(extractor, reading, version=version_of(lit)))
            assert (lit.judgement(CAMPAIGN, 3), lit.reading(CAMPAIGN, 3)) == (reading, reading)
        assert isinstance(lit.judgement(CAMPAIGN, 5), ProposalJudged)
        assert lit.reading(CAMPAIGN, 5) is None


class TestTheStateAsItWas:
    def test_is_that_of_the_head_of_then_at_every_position(self, lit: EventLog) -> None:
        lit.execute(go(3))
        lit.execute(correct_state(be("lamp", "lit")))
        lit.execute(correct_state(be("lamp", "out")))
        lit.execute(redo())
        lit.execute(start(campaign=OTHER))
        told_of = [(one.topic.partition(".")[2], *as_was(lit, one.position)) for one in everything(lit)]
        assert told_of == [
            ("started", 1, [], {}),
            ("turn_opened", 1, [], {}),
            ("player_acted", 2, [], {}),
            ("narration_accepted", 3, [], {}),
            ("proposal_judged", 3, ["", ""], {}),
            ("turn_opened", 3, ["", ""], {}),
            ("player_acted", 4, ["", ""], {}),
            ("narration_accepted", 5, ["", ""], {}),
            ("proposal_judged", 5, ["", ""], {"lamp": "keeper"}),
            ("head_moved", 3, ["", ""], {}),
            ("corrected", 3, ["lit", ""], {}),
            ("corrected", 3, ["out", ""], {}),
            ("head_moved", 5, ["", ""], {"lamp": "keeper"}),
            ("started", 5, ["", ""], {"lamp": "keeper"}),
        ]
        assert lit.state_as_of(CAMPAIGN, 10**15) == (5, HELD)

    def test_is_unknown_before_the_story_began(self, lit: EventLog) -> None:
        lit.execute(start(campaign=OTHER))
        with pytest.raises(UnknownCampaign, match="began after position"):
            lit.state_as_of(OTHER, lit.max_position() - 1)
        with pytest.raises(UnknownCampaign, match="There is no campaign"):
            lit.state_as_of("c_nowhere", 1)


def as_was(log: EventLog, position: int) -> tuple[int, list[str], Mapping[str, str]]:
    """The head at a position, and there the status of each entity, and who held what."""
    head, document = log.state_as_of(CAMPAIGN, position)
    return head, [entity.status for entity in document.entities.values()], document.possessions


RAW = "The stairs creak. (lamp)"
SECOND_RAW = "She lifts it. (lift)"


@pytest.fixture
def forked(log: EventLog) -> EventLog:
    """A story on which an extractor that was overlooked something in narration 3 will be replaced.

    In 3 a keeper comes to exist, and the lamp that its reply names is not seen. In 5 the lamp is to be held, which is
    refused since there is none. Narration 6 is another take of 5; 7 is 5 written anew, and is the head.

    1 ─ 2 ─ 3 ─ 4 ┬ 5
                  ├ 6
                  └ 7
    """
    log.execute(start())
    tell(log, "t_1", create("keeper", "character"), text=RAW)
    tell(log, "t_2", give("lamp", "keeper"), be("keeper", "tired"), text=SECOND_RAW)
    tell_anew(log, "t_3", be("keeper", "awake"))
    log.execute(rewrite(5, "She leaves it."))
    return log


def readings(version: int, **more: Any) -> Any:
    """What the other extractor reads otherwise: there was a lamp in narration 3, so it can be held in 5."""
    return adopt(
        "2",
        reread(3, create("keeper", "character"), create("lamp"), at=(1, 3), raw=RAW, cut=" (lamp)"),
        reread(5, give("lamp", "keeper"), be("keeper", "tired"), at=(1, 5), raw=SECOND_RAW, cut=" (lift)"),
        version=version,
        **more,
    )


def version_of(log: EventLog) -> int:
    return log.read(0, 10_000, stream=CAMPAIGN)[-1].version


def texts(log: EventLog) -> list[str]:
    """The texts of the line to narration 5."""
    return [node.text for node in log.end_of_line(CAMPAIGN, 5, limit=9)]


def back(log: EventLog) -> Any:
    """Adopts the first extractor again, which reads as it did at the time."""
    return adopt(
        "1",
        reread(3, create("keeper", "character"), at=(1, 3), raw=RAW, extractor="1"),
        reread(5, be("keeper", "tired"), at=(1, 5), raw=SECOND_RAW, extractor="1"),
        version=version_of(log),
    )


class TestAnExtractorThatIsAdopted:
    def test_from_now_on_is_noted_and_changes_no_state(self, forked: EventLog) -> None:
        before = states(forked), texts(forked)
        assert forked.campaign(CAMPAIGN).extractor is None
        (adopted,) = forked.execute(adopt_from_now("2")).events
        assert (adopted.topic, adopted.actor) == ("extractor.adopted", "player")
        assert forked.campaign(CAMPAIGN).extractor == "2"
        assert (states(forked), texts(forked)) == before
        assert forked.execute(adopt_from_now("2")).events == ()

    def test_for_the_whole_history_puts_the_readings_in_force_at_every_node(self, forked: EventLog) -> None:
        written = forked.execute(readings(version_of(forked))).events
        assert [one.topic for one in written] == ["story.narration_reread"] * 2 + ["extractor.adopted"]
        assert forked.campaign(CAMPAIGN).extractor == "2"
        found = Document({"keeper": KEEPER, "lamp": LAMP})
        held = Document({"keeper": Entity("character", "Keeper", status="tired"), "lamp": LAMP}, {"lamp": "keeper"})
        awake = Document({"keeper": Entity("character", "Keeper", status="awake"), "lamp": LAMP})
        assert states(forked) == {1: EMPTY, 2: EMPTY, 3: found, 4: found, 5: held, 6: awake, 7: found}

    def test_shows_each_narration_as_it_reads_it(self, forked: EventLog) -> None:
        assert texts(forked)[2::2] == [RAW, SECOND_RAW]
        forked.execute(readings(version_of(forked)))
        assert texts(forked) == [OPENING, "Words of t_1.", "The stairs creak.", "Words of t_2.", "She lifts it."]
        reading = forked.reading(CAMPAIGN, 3)
        assert reading is not None
        assert (reading.prose, reading.extractor) == ("The stairs creak.", "2")
        assert [forked.reading(CAMPAIGN, node) for node in (1, 2, 6, 7)] == [None] * 4

    def test_leaves_a_text_that_the_player_mended_or_wrote(self, forked: EventLog) -> None:
        forked.execute(correct(3, "Mine."))
        forked.execute(readings(version_of(forked)))
        assert texts(forked)[2::2] == ["Mine.", "She lifts it."]
        assert forked.end_of_line(CAMPAIGN, 7, limit=1)[0].text == "She leaves it."
        assert set(forked.state(CAMPAIGN, 3).entities) == {"keeper", "lamp"}
        forked.execute(correct(5, "Mine too."))
        assert texts(forked)[2::2] == ["Mine.", "Mine too."]

    def test_keeps_what_the_player_corrected_as_far_as_it_still_stands(self, forked: EventLog) -> None:
        forked.execute(correct_state(create("sail"), give("sail", "keeper")))
        forked.execute(go(3))
        forked.execute(correct_state(be("keeper", "calm")))
        nobody = reread(3, create("lamp"), at=(1, 3), raw=RAW)
        forked.execute(adopt("2", nobody, version=version_of(forked)))
        lamps = {node: {"lamp"} for node in (3, 4, 5, 6)}
        assert named(forked) == {1: set(), 2: set(), **lamps, 7: {"lamp", "sail"}}
        assert forked.state(CAMPAIGN, 7).possessions == {}
        forked.execute(
            adopt("3", reread(3, create("keeper", "character"), at=(1, 3), raw=RAW), version=version_of(forked))
        )
        assert [forked.state(CAMPAIGN, node).entities["keeper"].status for node in (3, 4, 5, 6)] == [
            "calm",
            "",
            "tired",
            "awake",
        ]
        assert forked.state(CAMPAIGN, 7).possessions == {"sail": "keeper"}

    def test_and_then_the_first_again_gives_the_same_documents_and_texts(self, forked: EventLog) -> None:
        forked.execute(correct_state(be("keeper", "calm")))
        before, told_before = {n: d.to_bytes() for n, d in states(forked).items()}, texts(forked)
        forked.execute(readings(version_of(forked)))
        assert states(forked)[5].to_bytes() != before[5]
        forked.execute(back(forked))
        assert {n: d.to_bytes() for n, d in states(forked).items()} == before
        assert texts(forked) == told_before
        assert forked.campaign(CAMPAIGN).extractor == "1"

    def test_is_what_is_judged_on_from_then_on(self, forked: EventLog) -> None:
        forked.execute(readings(version_of(forked)))
        forked.execute(go(5))
        assert tell(forked, "t_4", create("lamp"), give("lamp", None)).refused[0].code == "duplicate_entity"
        assert (set(forked.state(CAMPAIGN, 9).entities), forked.state(CAMPAIGN, 9).possessions) == (
            {"keeper", "lamp"},
            {},
        )

    def test_is_in_the_course_of_a_state_with_its_readings_alone(self, forked: EventLog) -> None:
        forked.execute(correct_state(be("keeper", "calm")))
        written = forked.execute(readings(version_of(forked))).events
        assert list(forked.state_course(CAMPAIGN, 5)) == list(written[:2])
        topics = [[one.topic for one in forked.state_course(CAMPAIGN, node)] for node in (6, 7)]
        assert topics == [
            ["story.narration_reread", "state.proposal_judged"],
            ["story.narration_reread", "state.corrected"],
        ]

    def test_that_reads_no_block_leaves_nothing_in_the_course(self, forked: EventLog) -> None:
        forked.execute(adopt("2", reread(3, at=(1, 3), raw=RAW), version=version_of(forked)))
        assert states(forked) == dict.fromkeys(range(1, 8), EMPTY)
        assert [list(forked.state_course(CAMPAIGN, node)) for node in (3, 4, 7)] == [[], [], []]

    def test_holds_from_its_adoption_and_not_a_position_sooner(self, forked: EventLog) -> None:
        forked.execute(go(5))
        until = forked.max_position()
        before = [forked.state_as_of(CAMPAIGN, position) for position in range(1, until + 1)]
        written = forked.execute(readings(version_of(forked))).events
        assert [forked.state_as_of(CAMPAIGN, position) for position in range(1, until + 1)] == before
        unread, held = (5, before[-1][1]), (5, forked.state(CAMPAIGN, 5))
        assert [forked.state_as_of(CAMPAIGN, one.position) for one in written] == [unread, unread, held]
        forked.execute(correct_state(be("keeper", "calm")))
        last = forked.max_position()
        again = forked.execute(back(forked)).events
        assert [forked.state_as_of(CAMPAIGN, position) for position in range(1, until + 1)] == before
        assert forked.state_as_of(CAMPAIGN, written[-1].position) == held
        calm = forked.state_as_of(CAMPAIGN, last)[1]
        assert (calm.entities["keeper"].status, calm.possessions) == ("calm", {"lamp": "keeper"})
        assert [forked.state_as_of(CAMPAIGN, one.position)[1] for one in again[:2]] == [calm, calm]
        assert forked.state_as_of(CAMPAIGN, again[-1].position) == (5, forked.state(CAMPAIGN, 5))

    def test_stays_in_force_in_another_opening_of_the_store(self, open_log: OpenLog) -> None:
        log = open_log()
        log.execute(start())
        tell(log, "t_1", create("keeper", "character"), text=RAW)
        log.execute(adopt("2", reread(3, create("lamp"), at=(1, 3), raw=RAW, cut=" (lamp)"), version=version_of(log)))
        again = open_log()
        assert (again.campaign(CAMPAIGN).extractor, states(again)) == ("2", states(log))
        assert again.end_of_line(CAMPAIGN, 3, limit=1)[0].text == "The stairs creak."

    @pytest.mark.parametrize("off", [-1, 1])
    def test_over_a_history_that_has_gone_on_meanwhile_is_refused(self, forked: EventLog, off: int) -> None:
        before = everything(forked), states(forked), texts(forked), forked.verify()
        with pytest.raises(OvertakenMeanwhile) as overtaken:
            forked.execute(readings(version_of(forked) + off))
        assert overtaken.value.fields == {"campaign": CAMPAIGN}
        assert (everything(forked), states(forked), texts(forked), forked.verify()) == before
        assert forked.campaign(CAMPAIGN).extractor is None

    def test_is_not_overtaken_by_what_happens_elsewhere(self, forked: EventLog) -> None:
        version = version_of(forked)
        forked.execute(start(campaign=OTHER))
        forked.change_settings({"model": "small"})
        assert forked.execute(readings(version)).events
        with pytest.raises(OvertakenMeanwhile):
            forked.execute(readings(version))

    def test_that_reads_nothing_otherwise_is_noted_once(self, forked: EventLog) -> None:
        before = states(forked)
        assert [one.topic for one in forked.execute(adopt("2", version=version_of(forked))).events] == [
            "extractor.adopted"
        ]
        assert forked.execute(adopt("2", version=version_of(forked))).events == ()
        assert states(forked) == before

    def test_waits_for_a_turn_that_runs(self, forked: EventLog) -> None:
        forked.execute(take_turn("t_9", "continue"))
        for adoption in (adopt_from_now("2"), readings(version_of(forked))):
            with pytest.raises(TurnInProgress):
                forked.execute(adoption)

    def test_is_the_storys_own_and_gone_with_it(self, forked: EventLog) -> None:
        forked.execute(start(campaign=OTHER))
        forked.execute(readings(version_of(forked)))
        assert forked.campaign(OTHER).extractor is None
        forked.delete_campaign(CAMPAIGN)
        forked.execute(start())
        assert forked.campaign(CAMPAIGN).extractor is None
        assert forked.state_as_of(CAMPAIGN, forked.max_position()) == (1, EMPTY)


GREEN = VisualProfile(descriptors={"colour": "green"}, features=("a dent",), style_notes="Ink.")
RED = VisualProfile(descriptors={"colour": "red"})


class TestVisualProfiles:
    def test_are_none_at_first(self, lit: EventLog) -> None:
        assert lit.visual_profiles(CAMPAIGN) == {}

    def test_are_as_last_set_by_entity(self, lit: EventLog) -> None:
        lit.execute(look("lamp", **GREEN.model_dump()))
        lit.execute(look("keeper"))
        lit.execute(look("lamp", **RED.model_dump()))
        assert list(lit.visual_profiles(CAMPAIGN).items()) == [("keeper", VisualProfile()), ("lamp", RED)]

    def test_that_are_so_already_write_nothing(self, lit: EventLog) -> None:
        lit.execute(look("lamp", **GREEN.model_dump()))
        assert lit.execute(look("lamp", **GREEN.model_dump())).events == ()

    def test_hold_on_every_line_and_leave_the_state_alone(self, lit: EventLog) -> None:
        before = states(lit)
        lit.execute(look("lamp", **GREEN.model_dump()))
        for move in (undo(), undo(), redo(), rewrite(3, "Dark.")):
            lit.execute(move)
            assert lit.visual_profiles(CAMPAIGN) == {"lamp": GREEN}
        assert {node: states(lit)[node] for node in before} == before

    def test_may_be_set_while_a_turn_runs(self, lit: EventLog) -> None:
        lit.execute(take_turn("t_3", "continue"))
        assert lit.execute(look("lamp")).events[0].actor == "player"

    def test_are_the_storys_own_and_gone_with_it(self, lit: EventLog) -> None:
        lit.execute(start(campaign=OTHER))
        lit.execute(look("lamp", **GREEN.model_dump()))
        lit.execute(look("lamp", campaign=OTHER, **RED.model_dump()))
        lit.delete_campaign(CAMPAIGN)
        assert lit.visual_profiles(OTHER) == {"lamp": RED}
        lit.execute(start())
        assert lit.visual_profiles(CAMPAIGN) == {}

    def test_are_the_same_in_another_opening_of_the_store(self, open_log: OpenLog) -> None:
        log = open_log()
        log.execute(start())
        log.execute(look("lamp", **GREEN.model_dump()))
        assert open_log().visual_profiles(CAMPAIGN) == {"lamp": GREEN}
