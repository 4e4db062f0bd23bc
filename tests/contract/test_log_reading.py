"""What the log promises of reading a story: its facts, its nodes and turns, its lines, its floor, its prompts."""

from collections.abc import Callable

import pytest

from domain.campaign.facts import CampaignFacts, NodeFacts, TurnFacts
from domain.campaign.settings import CampaignSettings
from domain.errors import IdempotencyKeyReused, TurnInProgress, UnknownCampaign, UnknownNode, UnknownTurn
from domain.log import Activity, EventLog, Segment
from domain.prompt.floor import Floor
from domain.prompt.sections import HistoryNode
from tests.contract.conftest import OpenLog
from tests.fakes.sample_story import (
    ACCOUNT,
    CAMPAIGN,
    OPENING,
    PROCESS,
    accept,
    adopt_from_now,
    cancel,
    correct_state,
    create,
    fail,
    look,
    prompted,
    record,
    retry,
    revise,
    start,
    take_turn,
)

OTHER = "c_harbour"


def tell(log: EventLog, turn: str, action: str, narration: str) -> None:
    """A turn with words, told."""
    log.execute(take_turn(turn, "do", action))
    log.execute(accept(turn, narration))


def tell_anew(log: EventLog, turn: str, narration: str) -> None:
    """Another take of the newest narration."""
    log.execute(retry(turn))
    log.execute(accept(turn, narration))


@pytest.fixture
def grown(log: EventLog) -> EventLog:
    """A log whose story has four branches.

    1 ─ 2 ─ 3 ─ 4 ┬ 5
                  └ 6 ─ 7 ┬ 8
                          ├ 9
                          └ 10
    """
    log.execute(start())
    tell(log, "t_1", "Climb.", "The stairs creak.")
    tell(log, "t_2", "Go on.", "A door.")
    tell_anew(log, "t_3", "A wall.")
    tell(log, "t_4", "Knock.", "Nothing.")
    tell_anew(log, "t_5", "A voice.")
    tell_anew(log, "t_6", "An echo.")
    return log


class TestACampaign:
    def test_has_its_facts_without_nodes_turns_and_keys(self, log: EventLog) -> None:
        log.execute(start(title="The Lighthouse"))
        log.execute(take_turn("t_1", "do", "Climb.", key="k_1"))
        assert log.campaign(CAMPAIGN) == CampaignFacts(
            CAMPAIGN,
            CampaignSettings(title="The Lighthouse"),
            head=2,
            tip=2,
            last_node=2,
            last_branch=1,
            open_turn="t_1",
        )

    def test_has_its_settings_as_last_revised(self, log: EventLog) -> None:
        log.execute(start(title="Old", canon=("The sea is grey.",)))
        log.execute(revise(title="New"))
        log.execute(revise(authors_note="Slow."))
        assert log.campaign(CAMPAIGN).settings == CampaignSettings(
            title="New", canon=("The sea is grey.",), authors_note="Slow."
        )

    def test_knows_when_it_was_created_and_last_revised(self, log: EventLog) -> None:
        created = log.execute(start()).events[0].at
        assert log.campaign_times(CAMPAIGN) == (created, created)
        log.execute(take_turn("t_1", "continue"))
        changed = log.execute(revise(title="New")).events[0].at
        log.execute(accept("t_1", "Fog."))
        assert log.campaign_times(CAMPAIGN) == (created, changed)

    def test_counts_what_was_told_and_knows_when_it_was_last_played(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(start(campaign=OTHER))
        assert log.activity([CAMPAIGN]) == {CAMPAIGN: Activity(turns=0, nodes=1, played_at=None)}
        log.execute(take_turn("t_1", text="Wait."))
        log.execute(accept("t_1", "Fog."))
        log.execute(retry("t_2"))
        log.execute(accept("t_2", "Rain."))
        opened = log.execute(take_turn("t_3", text="Row.")).events[0].at
        log.execute(fail("t_3"))
        assert log.activity([CAMPAIGN, OTHER, "c_nowhere"]) == {
            CAMPAIGN: Activity(turns=2, nodes=5, played_at=opened),
            OTHER: Activity(turns=0, nodes=1, played_at=None),
        }
        log.delete_campaign(CAMPAIGN)
        assert log.activity([CAMPAIGN]) == {}

    def test_counts_a_narration_that_comes_late(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", text="Wait."))
        log.execute(fail("t_1", "interrupted"))
        log.execute(accept("t_1", "Fog."))
        assert log.activity([CAMPAIGN])[CAMPAIGN].turns == 1

    def test_moves_its_head_to_what_was_told_last(self, grown: EventLog) -> None:
        facts = grown.campaign(CAMPAIGN)
        assert (facts.head, facts.tip, facts.last_node, facts.last_branch, facts.open_turn) == (10, 10, 10, 4, None)

    def test_is_not_touched_by_what_happens_to_another(self, grown: EventLog) -> None:
        before = grown.campaign(CAMPAIGN), grown.line(CAMPAIGN, 10)
        grown.execute(start("Another opening.", campaign=OTHER))
        grown.execute(take_turn("t_1", "do", "Row.", campaign=OTHER))
        grown.execute(accept("t_1", "The oars dip.", campaign=OTHER))
        assert (grown.campaign(CAMPAIGN), grown.line(CAMPAIGN, 10)) == before
        assert [node.text for node in grown.end_of_line(OTHER, 3, limit=9)] == [
            "Another opening.",
            "Row.",
            "The oars dip.",
        ]


ASK: dict[str, Callable[[EventLog, str], object]] = {
    "campaign": lambda log, of: log.campaign(of),
    "campaign_times": lambda log, of: log.campaign_times(of),
    "node": lambda log, of: log.node(of, 1),
    "turn": lambda log, of: log.turn(of, "t_1"),
    "turn_events": lambda log, of: log.turn_events(of, "t_1"),
    "takes": lambda log, of: log.takes(of, 1),
    "line": lambda log, of: log.line(of, 1),
    "end_of_line": lambda log, of: log.end_of_line(of, 1, limit=1),
    "state": lambda log, of: log.state(of, 1),
    "state_as_of": lambda log, of: log.state_as_of(of, 1),
    "state_course": lambda log, of: log.state_course(of, 1),
    "reading": lambda log, of: log.reading(of, 1),
    "judgement": lambda log, of: log.judgement(of, 1),
    "visual_profiles": lambda log, of: log.visual_profiles(of),
    "correct the state": lambda log, of: log.execute(correct_state(create("lamp"), campaign=of)),
    "adopt an extractor": lambda log, of: log.execute(adopt_from_now("2", campaign=of)),
    "set a look": lambda log, of: log.execute(look("lamp", campaign=of)),
    "delete_campaign": lambda log, of: log.delete_campaign(of),
}


class TestWhatIsNotThere:
    @pytest.mark.parametrize("question", ASK.values(), ids=ASK.keys())
    def test_an_unknown_campaign_is_named(self, log: EventLog, question: Callable[[EventLog, str], object]) -> None:
        log.execute(start())
        with pytest.raises(UnknownCampaign) as unknown:
            question(log, OTHER)
        assert unknown.value.fields == {"campaign": OTHER}

    @pytest.mark.parametrize("node", [0, -1, 2, 2**40])
    def test_an_unknown_node_is_named(self, log: EventLog, node: int) -> None:
        log.execute(start())
        log.execute(start(campaign=OTHER))
        log.execute(take_turn("t_1", "do", "Row.", campaign=OTHER))
        questions: list[Callable[[], object]] = [
            lambda: log.node(CAMPAIGN, node),
            lambda: log.takes(CAMPAIGN, node),
            lambda: log.line(CAMPAIGN, node),
            lambda: log.end_of_line(CAMPAIGN, node, limit=1),
            lambda: log.state(CAMPAIGN, node),
            lambda: log.state_course(CAMPAIGN, node),
            lambda: log.reading(CAMPAIGN, node),
            lambda: log.judgement(CAMPAIGN, node),
        ]
        for question in questions:
            with pytest.raises(UnknownNode) as unknown:
                question()
            assert unknown.value.fields == {"campaign": CAMPAIGN, "node": node}

    def test_an_unknown_turn_is_named(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(start(campaign=OTHER))
        log.execute(take_turn("t_1", "do", "Row.", campaign=OTHER))
        for question in (log.turn, log.turn_events):
            with pytest.raises(UnknownTurn) as unknown:
                question(CAMPAIGN, "t_1")
            assert unknown.value.fields == {"campaign": CAMPAIGN, "turn": "t_1"}

    def test_there_is_neither_a_floor_nor_a_prompt(self, log: EventLog) -> None:
        assert log.floor(OTHER, 1) is None
        assert log.last_prompt(OTHER) is None
        log.execute(start())
        assert log.floor(CAMPAIGN, 7) is None
        assert log.last_prompt(CAMPAIGN) is None


class TestANode:
    def test_has_its_place_its_turn_and_its_children(self, grown: EventLog) -> None:
        assert grown.node(CAMPAIGN, 1) == NodeFacts(1, None, "opening", branch=1, depth=1, children=1)
        assert grown.node(CAMPAIGN, 5) == NodeFacts(5, 4, "narration", branch=1, depth=5, turn="t_2")
        assert grown.node(CAMPAIGN, 10) == NodeFacts(10, 7, "narration", branch=4, depth=7, turn="t_6")

    def test_of_the_player_comes_without_the_words(self, grown: EventLog) -> None:
        assert grown.node(CAMPAIGN, 7) == NodeFacts(7, 6, "do", branch=2, depth=6, turn="t_4", children=3)


class TestATurn:
    def test_is_known_from_its_opening_to_its_end(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "say", "Hello?", key="k_1"))
        begun = TurnFacts("t_1", "turn", "say", 2, None, PROCESS, "asked", "k_1", player_node=2)
        assert log.turn(CAMPAIGN, "t_1") == begun
        log.execute(record(prompted("t_1")))
        log.execute(cancel("t_1"))
        asked = TurnFacts(**{**vars(begun), "prompt_sent": True, "cancel_requested": True})
        assert log.turn(CAMPAIGN, "t_1") == asked
        log.execute(accept("t_1", "An echo."))
        assert log.turn(CAMPAIGN, "t_1") == TurnFacts(**{**vars(asked), "narration": 3, "ended": "accepted"})

    def test_that_retries_names_what_it_replaces(self, grown: EventLog) -> None:
        assert grown.turn(CAMPAIGN, "t_6") == TurnFacts(
            "t_6", "retry", "do", 7, 9, PROCESS, "asked", narration=10, ended="accepted"
        )

    def test_that_failed_says_at_which_stage(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "continue"))
        log.execute(fail("t_1", "sending"))
        assert (log.turn(CAMPAIGN, "t_1").ended, log.turn(CAMPAIGN, "t_1").narration) == ("sending", None)

    def test_that_was_answered_late_counts_as_told(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "do", "Climb."))
        log.execute(fail("t_1", "interrupted"))
        log.execute(accept("t_1", "Fog."))
        turn, campaign = log.turn(CAMPAIGN, "t_1"), log.campaign(CAMPAIGN)
        assert (turn.ended, turn.narration) == ("accepted", 3)
        assert (campaign.head, campaign.tip, campaign.last_node) == (2, 2, 3)

    def test_that_runs_is_listed_with_its_campaign(self, log: EventLog) -> None:
        assert list(log.open_turns()) == []
        for campaign in (CAMPAIGN, OTHER):
            log.execute(start(campaign=campaign))
            log.execute(take_turn("t_1", "continue", campaign=campaign))
        running = {campaign: turn for campaign, turn in log.open_turns()}  # noqa: C416  # says what the pairs are
        assert running == {campaign: log.turn(campaign, "t_1") for campaign in (CAMPAIGN, OTHER)}

    def test_that_ended_is_not_listed_any_more(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "continue"))
        log.execute(accept("t_1", "Fog."))
        assert list(log.open_turns()) == []
        log.execute(take_turn("t_2", "continue"))
        log.execute(fail("t_2"))
        assert list(log.open_turns()) == []

    def test_that_was_answered_late_does_not_end_the_one_that_runs_meanwhile(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "do", "Climb."))
        log.execute(fail("t_1", "interrupted"))
        log.execute(take_turn("t_2", "continue"))
        log.execute(accept("t_1", "Fog."))
        assert [turn.turn for _, turn in log.open_turns()] == ["t_2"]


class TestTheEventsOfATurn:
    def test_are_all_of_its_own_in_order(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(start(campaign=OTHER))
        log.execute(take_turn("t_1", "do", "Climb."))
        log.execute(take_turn("t_1", "do", "Row.", campaign=OTHER))
        log.execute(record(prompted("t_1")))
        log.execute(revise(title="New"))
        log.execute(cancel("t_1"))
        log.execute(accept("t_1", "Fog.", account=ACCOUNT))
        tell(log, "t_2", "Look.", "A light.")
        assert [recorded.topic for recorded in log.turn_events(CAMPAIGN, "t_1")] == [
            "story.turn_opened",
            "story.player_acted",
            "prompt.sent",
            "story.cancel_requested",
            "story.narration_accepted",
            "state.proposal_judged",
            "accounting.reply_accounted",
        ]
        assert {recorded.stream for recorded in log.turn_events(CAMPAIGN, "t_1")} == {CAMPAIGN}

    def test_are_there_while_it_runs(self, log: EventLog) -> None:
        log.execute(start())
        written = log.execute(take_turn("t_1", "do", "Climb.")).events
        assert list(log.turn_events(CAMPAIGN, "t_1")) == list(written)

    def test_hold_its_failure_and_the_reply_that_came_late(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "continue"))
        log.execute(fail("t_1", "interrupted", account=ACCOUNT))
        for number in range(2, 30):  # far more events than one append writes
            tell(log, f"t_{number}", "Wait.", "Fog.")
        log.execute(accept("t_1", "A light.", account=ACCOUNT))
        assert [recorded.topic for recorded in log.turn_events(CAMPAIGN, "t_1")] == [
            "story.turn_opened",
            "story.turn_failed",
            "accounting.reply_accounted",
            "story.narration_accepted",
            "state.proposal_judged",
            "accounting.reply_accounted",
        ]


class TestTakes:
    def test_are_the_narrations_under_the_same_parent_in_order(self, grown: EventLog) -> None:
        assert [list(grown.takes(CAMPAIGN, node)) for node in (8, 9, 10)] == [[8, 9, 10]] * 3
        assert list(grown.takes(CAMPAIGN, 6)) == [5, 6]
        assert list(grown.takes(CAMPAIGN, 3)) == [3]

    def test_of_what_is_no_narration_are_itself(self, grown: EventLog) -> None:
        assert [list(grown.takes(CAMPAIGN, node)) for node in (1, 2, 7)] == [[1], [2], [7]]

    def test_leave_out_an_action_under_the_same_parent(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "do", "Climb."))
        log.execute(fail("t_1", "interrupted"))
        log.execute(take_turn("t_2", "do", "Turn back."))
        log.execute(accept("t_1", "Fog."))
        log.execute(accept("t_2", "The shore."))
        assert [log.node(CAMPAIGN, node).parent for node in (3, 4)] == [2, 2]
        assert list(log.takes(CAMPAIGN, 4)) == [4]
        assert list(log.takes(CAMPAIGN, 3)) == [3]


class TestALine:
    def test_is_a_segment_for_each_branch_newest_first(self, grown: EventLog) -> None:
        assert list(grown.line(CAMPAIGN, 10)) == [Segment(4, 7, 7), Segment(2, 5, 6), Segment(1, 1, 4)]
        assert list(grown.line(CAMPAIGN, 8)) == [Segment(2, 5, 7), Segment(1, 1, 4)]
        assert list(grown.line(CAMPAIGN, 5)) == [Segment(1, 1, 5)]

    def test_ends_at_the_node_also_where_the_branch_goes_on(self, grown: EventLog) -> None:
        assert list(grown.line(CAMPAIGN, 6)) == [Segment(2, 5, 5), Segment(1, 1, 4)]
        assert list(grown.line(CAMPAIGN, 1)) == [Segment(1, 1, 1)]

    @pytest.mark.parametrize(
        ("down_to", "segments"),
        [
            (-3, [Segment(4, 7, 7), Segment(2, 5, 6), Segment(1, 1, 4)]),
            (4, [Segment(4, 7, 7), Segment(2, 5, 6), Segment(1, 4, 4)]),
            (5, [Segment(4, 7, 7), Segment(2, 5, 6)]),
            (6, [Segment(4, 7, 7), Segment(2, 6, 6)]),
            (7, [Segment(4, 7, 7)]),
            (8, []),
            (100, []),
        ],
    )
    def test_reaches_down_to_a_depth(self, grown: EventLog, down_to: int, segments: list[Segment]) -> None:
        assert list(grown.line(CAMPAIGN, 10, down_to=down_to)) == segments


class TestTheEndOfALine:
    def test_is_its_newest_nodes_with_their_text_oldest_first(self, grown: EventLog) -> None:
        assert list(grown.end_of_line(CAMPAIGN, 10, limit=3)) == [
            HistoryNode(6, 5, "narration", "A wall."),
            HistoryNode(7, 6, "do", "Knock."),
            HistoryNode(10, 7, "narration", "An echo."),
        ]

    def test_is_the_whole_line_when_it_is_shorter_than_asked(self, grown: EventLog) -> None:
        whole = [node.text for node in grown.end_of_line(CAMPAIGN, 5, limit=100)]
        assert whole == [OPENING, "Climb.", "The stairs creak.", "Go on.", "A door."]

    @pytest.mark.parametrize(
        ("before", "nodes"),
        [(-1, []), (0, []), (1, []), (2, [1]), (6, [4, 6]), (7, [6, 7]), (8, [7, 10]), (9, [7, 10]), (1000, [7, 10])],
    )
    def test_can_leave_out_what_is_at_a_depth_and_newer(self, grown: EventLog, before: int, nodes: list[int]) -> None:
        page = grown.end_of_line(CAMPAIGN, 10, limit=2, before=before)
        assert [node.node for node in page] == nodes

    def test_can_be_paged_through_without_a_gap_or_a_double(self, grown: EventLog) -> None:
        found: list[int] = []
        before = None
        while page := grown.end_of_line(CAMPAIGN, 10, limit=2, before=before):
            found = [node.node for node in page] + found
            before = page[0].depth
        assert found == [1, 2, 3, 4, 6, 7, 10]

    def test_is_empty_when_nothing_is_asked_for(self, grown: EventLog) -> None:
        assert list(grown.end_of_line(CAMPAIGN, 10, limit=0)) == []

    def test_holds_the_prose_of_a_narration_and_not_what_was_taken_out(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "continue"))
        log.execute(accept("t_1", "\n\n Fog rolls in. \n"))
        assert [node.text for node in log.end_of_line(CAMPAIGN, 2, limit=1)] == ["Fog rolls in."]


class TestTheFloor:
    """Of a story of three turns; each tells at which depths it finds the floor of the second."""

    @pytest.fixture
    def floored(self, log: EventLog) -> EventLog:
        log.execute(start())
        tell(log, "t_1", "Climb.", "The stairs creak.")
        log.execute(take_turn("t_2", "do", "Go on."))
        log.execute(record(prompted("t_2", floor_depth=3, budget=700)))
        log.execute(accept("t_2", "A door."))
        tell(log, "t_3", "Knock.", "Nothing.")
        return log

    @pytest.mark.parametrize("node", [4, 5, 6, 7])
    def test_is_that_of_the_prompt_at_the_node_or_up_to_two_above_it(self, floored: EventLog, node: int) -> None:
        assert floored.floor(CAMPAIGN, node) == Floor(3, 700)

    @pytest.mark.parametrize("node", [1, 2, 3])
    def test_is_none_without_a_prompt_so_near(self, floored: EventLog, node: int) -> None:
        assert floored.floor(CAMPAIGN, node) is None

    def test_is_not_looked_for_more_than_two_above(self, floored: EventLog) -> None:
        tell(floored, "t_4", "Listen.", "Breathing.")
        assert floored.floor(CAMPAIGN, 8) is None

    def test_is_the_opening_while_the_whole_story_fits(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "do", "Climb."))
        log.execute(record(prompted("t_1", budget=300)))
        assert log.floor(CAMPAIGN, 2) == Floor(1, 300)

    def test_is_that_of_the_turns_newest_prompt(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "do", "Climb."))
        log.execute(record(prompted("t_1", floor_depth=1, budget=300)))
        log.execute(record(prompted("t_1", floor_depth=2, budget=200)))
        assert log.floor(CAMPAIGN, 2) == Floor(2, 200)

    def test_is_kept_when_the_turn_fails(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "do", "Climb."))
        log.execute(record(prompted("t_1", floor_depth=2, budget=200)))
        log.execute(fail("t_1"))
        assert log.floor(CAMPAIGN, 2) == Floor(2, 200)

    def test_of_a_take_is_that_of_its_own_prompt(self, floored: EventLog) -> None:
        floored.execute(retry("t_4"))
        floored.execute(record(prompted("t_4", floor_depth=5, budget=400)))
        floored.execute(accept("t_4", "A voice."))
        assert floored.floor(CAMPAIGN, 8) == Floor(5, 400)
        assert floored.floor(CAMPAIGN, 7) == Floor(3, 700)


class TestTheLastPrompt:
    def test_is_the_campaigns_newest_record(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(start(campaign=OTHER))
        for turn, campaign in (("t_1", CAMPAIGN), ("t_2", CAMPAIGN), ("t_3", OTHER)):
            log.execute(take_turn(turn, "continue", campaign=campaign))
            (sent,) = log.execute(record(prompted(turn), campaign=campaign)).events
            assert log.last_prompt(campaign) == sent
            log.execute(fail(turn, campaign=campaign))
        assert [log.last_prompt(campaign).event for campaign in (CAMPAIGN, OTHER)] == [  # type: ignore[union-attr]  # there is one
            prompted("t_2"),
            prompted("t_3"),
        ]


class TestAnIdempotencyKey:
    def test_of_an_accepted_turn_leads_to_that_turn_also_after_a_restart(self, open_log: OpenLog) -> None:
        log = open_log()
        log.execute(start())
        log.execute(take_turn("t_1", "do", "Climb.", key="k_1"))
        log.execute(accept("t_1", "Fog."))
        for again in (log, open_log()):
            answered = again.execute(take_turn("t_2", "do", "Climb.", key="k_1"))
            assert answered.events == ()
            assert answered.facts.turns[answered.facts.keys["k_1"]].narration == 3
        with pytest.raises(UnknownTurn):
            log.turn(CAMPAIGN, "t_2")

    def test_of_a_running_turn_is_refused_also_in_another_opening_of_the_store(self, open_log: OpenLog) -> None:
        log = open_log()
        log.execute(start())
        log.execute(take_turn("t_1", "do", "Climb.", key="k_1"))
        with pytest.raises(TurnInProgress) as refused:
            open_log().execute(take_turn("t_2", "do", "Climb.", key="k_1"))
        assert refused.value.fields["turn"] == "t_1"

    def test_of_a_failed_turn_passes_to_the_turn_that_asks_again(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "do", "Climb.", key="k_1"))
        log.execute(fail("t_1"))
        log.execute(take_turn("t_2", "do", "Climb.", key="k_1"))
        log.execute(accept("t_2", "Fog."))
        answered = log.execute(take_turn("t_3", "do", "Climb.", key="k_1"))
        assert (answered.events, answered.facts.keys) == ((), {"k_1": "t_2"})
        assert (log.campaign(CAMPAIGN).last_node, log.node(CAMPAIGN, 2).children) == (3, 1)

    def test_is_the_campaigns_own(self, log: EventLog) -> None:
        for campaign in (CAMPAIGN, OTHER):
            log.execute(start(campaign=campaign))
            log.execute(take_turn("t_1", "do", "Climb.", campaign=campaign, key="k_1", asked=campaign))
        with pytest.raises(IdempotencyKeyReused):
            log.execute(take_turn("t_2", "do", "Climb.", campaign=OTHER, key="k_1", asked=CAMPAIGN))

    def test_may_be_empty(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "continue", key=""))
        log.execute(accept("t_1", "Fog."))
        assert log.execute(take_turn("t_2", "continue", key="")).events == ()
