"""What the log promises of writing: all or nothing, in order, stamped, and only what is in the list of events."""

from typing import Any, ClassVar

import pytest

from adapters.event_log.recorder import StampedEvent
from domain.campaign.commands import CampaignCommand
from domain.campaign.events import CampaignRevised, PlayerActed
from domain.campaign.facts import CampaignFacts
from domain.campaign.settings import CampaignSettings
from domain.catalogue import EVENTS
from domain.errors import (
    FabulaError,
    LogDamaged,
    NothingToRetry,
    StoreNewer,
    TurnInProgress,
    UnknownCampaign,
    UnknownTurn,
)
from domain.event import EventCatalogue, Recorded
from domain.log import EventLog
from tests.contract.conftest import Log, OpenLog
from tests.fakes.sample_story import (
    ACCOUNT,
    CAMPAIGN,
    accept,
    acted,
    adopt_from_now,
    cancel,
    correct_state,
    create,
    fail,
    opened,
    prompted,
    record,
    retry,
    revise,
    revised,
    start,
    started,
    take_turn,
)

OTHER = "c_harbour"


def everything(log: EventLog) -> list[Recorded]:
    return list(log.read(0, 10_000))


class TestExecuting:
    def test_answers_with_the_events_as_they_are_stored(self, log: EventLog) -> None:
        written = log.execute(start())
        assert [recorded.event for recorded in written.events] == [started()]
        assert everything(log) == list(written.events)

    def test_answers_with_the_facts_it_was_decided_on(self, log: EventLog) -> None:
        assert log.execute(start(title="The Lighthouse")).facts == CampaignFacts(CAMPAIGN)
        log.execute(take_turn("t_1", "continue"))
        facts = log.execute(accept("t_1", "Fog.")).facts
        assert facts.settings == CampaignSettings(title="The Lighthouse")
        assert (facts.head, facts.tip, facts.last_node, facts.last_branch, facts.open_turn) == (1, 1, 1, 1, "t_1")
        assert facts.turns["t_1"].ended is None

    def test_answers_with_the_position_of_the_newest_event(self, log: EventLog) -> None:
        assert log.execute(start()).position == 1
        assert log.execute(take_turn("t_1", "do", "Climb.")).position == 3

    def test_without_anything_to_do_writes_nothing_and_has_no_position(self, log: EventLog) -> None:
        log.execute(start())
        again = log.execute(start())
        assert (again.events, again.position) == ((), 0)
        assert len(everything(log)) == 1

    def test_writes_all_of_a_commands_events_together(self, log: EventLog) -> None:
        log.execute(start())
        written = log.execute(take_turn("t_1", "do", "Climb."))
        assert [recorded.event for recorded in written.events] == [
            opened("t_1", parent=2),
            acted("t_1", 2, parent=1, at=(1, 2), text="Climb."),
        ]

    @pytest.mark.parametrize(
        ("command", "refusal"),
        [
            (take_turn("t_2", "do", "Wait."), TurnInProgress),
            (retry("t_2"), TurnInProgress),
            (record(prompted("t_9")), UnknownTurn),
            (accept("t_9", "Fog."), UnknownTurn),
            (fail("t_9"), UnknownTurn),
            (cancel("t_9"), UnknownTurn),
            (revise(campaign=OTHER, title="New"), UnknownCampaign),
            (take_turn("t_1", "continue", campaign=OTHER), UnknownCampaign),
            (retry("t_1", campaign=OTHER), UnknownCampaign),
            (accept("t_1", "Fog.", campaign=OTHER), UnknownCampaign),
            (fail("t_1", campaign=OTHER), UnknownCampaign),
            (cancel("t_1", campaign=OTHER), UnknownCampaign),
            (correct_state(create("lamp")), TurnInProgress),
            (adopt_from_now("2"), TurnInProgress),
        ],
    )
    def test_that_is_refused_writes_nothing(
        self, log: EventLog, command: CampaignCommand, refusal: type[FabulaError]
    ) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "do", "Climb."))
        before = everything(log), log.campaign(CAMPAIGN), log.turn(CAMPAIGN, "t_1"), log.verify()
        with pytest.raises(refusal):
            log.execute(command)
        assert (everything(log), log.campaign(CAMPAIGN), log.turn(CAMPAIGN, "t_1"), log.verify()) == before

    def test_goes_on_after_a_refusal_without_a_gap(self, log: EventLog) -> None:
        log.execute(start())
        with pytest.raises(NothingToRetry):
            log.execute(retry("t_1"))
        (next_one,) = log.execute(revise(title="New")).events
        assert (next_one.position, next_one.version) == (2, 2)


class TestThePlaceOfAnEvent:
    def test_versions_begin_at_one_and_have_no_gaps_in_each_stream(self, log: EventLog) -> None:
        two_stories(log)
        for stream in (CAMPAIGN, OTHER, "installation"):
            versions = [recorded.version for recorded in log.read(0, 100, stream=stream)]
            assert versions == list(range(1, len(versions) + 1))

    def test_positions_grow_in_the_order_of_commits(self, log: EventLog) -> None:
        committed = two_stories(log)
        assert [recorded.position for recorded in everything(log)] == committed
        assert committed == sorted(committed)

    def test_is_read_after_a_position_up_to_a_limit(self, log: EventLog) -> None:
        two_stories(log)
        positions = [recorded.position for recorded in everything(log)]
        assert [recorded.position for recorded in log.read(2, 3)] == positions[2:5]
        assert log.read(positions[-1], 3) == []
        assert log.read(0, 0) == []

    def test_can_be_read_for_one_stream_and_for_some_topics(self, log: EventLog) -> None:
        two_stories(log)
        assert {recorded.stream for recorded in log.read(0, 100, stream=OTHER)} == {OTHER}
        starts = log.read(0, 100, topics=["campaign.started"])
        assert [recorded.stream for recorded in starts] == [CAMPAIGN, OTHER]
        both = log.read(0, 100, stream=OTHER, topics=["campaign.started", "story.turn_opened"])
        assert [recorded.topic for recorded in both] == ["campaign.started", "story.turn_opened"]
        assert log.read(0, 100, topics=["no.such_topic"]) == []

    def test_the_newest_position_is_zero_in_an_empty_log(self, log: EventLog) -> None:
        assert (log.max_position(), log.max_position(CAMPAIGN)) == (0, 0)

    def test_the_newest_position_is_that_of_the_log_or_of_one_stream(self, log: EventLog) -> None:
        two_stories(log)
        newest = everything(log)[-1]
        assert log.max_position() == newest.position
        assert log.max_position(OTHER) == log.read(0, 100, stream=OTHER)[-1].position
        assert log.max_position("c_nowhere") == 0


class TestTheStampsOfAnEvent:
    def test_say_when_to_the_microsecond_in_utc_once_for_each_append(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "do", "Climb."))
        assert [recorded.at for recorded in everything(log)] == [
            "2026-01-01T00:00:00.000000Z",
            "2026-01-01T00:00:00.001000Z",
            "2026-01-01T00:00:00.001000Z",
        ]

    def test_name_each_event_once(self, log: EventLog) -> None:
        two_stories(log)
        names = [recorded.event_id for recorded in everything(log)]
        assert names[0] == "e_aaaaaaaaab"
        assert len(set(names)) == len(names)

    def test_name_the_turn_where_there_is_one(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "continue"))
        log.execute(accept("t_1", "Fog.", account=ACCOUNT))
        log.execute(revise(title="New"))
        assert [recorded.turn for recorded in everything(log)] == [None, "t_1", "t_1", "t_1", "t_1", None]

    def test_name_who_made_it_happen(self, log: EventLog) -> None:
        two_stories(log)
        actors = {recorded.topic: recorded.actor for recorded in everything(log)}
        assert actors == {
            "campaign.started": "player",
            "campaign.revised": "player",
            "settings.changed": "player",
            "story.turn_opened": "player",
            "story.player_acted": "player",
            "story.cancel_requested": "player",
            "story.narration_accepted": "narrator",
            "story.turn_failed": "fabula",
            "state.proposal_judged": "fabula",
            "prompt.sent": "fabula",
            "accounting.reply_accounted": "fabula",
        }

    def test_text_is_kept_to_the_code_point(self, log: EventLog) -> None:
        odd = "NUL \x00 · \u2028 · \ufffd · \U0001f5fc\u200d · e\u0301 · \x7f\x1b · \uffff"
        log.execute(start(odd, title=odd))
        log.execute(take_turn("t_1", "say", odd, key=odd))
        log.execute(accept("t_1", odd, reasoning=odd))
        assert [node.text for node in log.end_of_line(CAMPAIGN, 3, limit=3)] == [odd, odd, odd]
        assert log.campaign(CAMPAIGN).settings == CampaignSettings(title=odd)
        assert log.turn(CAMPAIGN, "t_1").idempotency_key == odd


class TestTheListOfEvents:
    def test_what_is_not_in_it_is_not_written_nor_anything_with_it(self, open_log: OpenLog) -> None:
        log = open_log(EventCatalogue(event for event in EVENTS if event is not PlayerActed))
        log.execute(start())
        before = everything(log), log.campaign(CAMPAIGN), log.verify()
        with pytest.raises(ValueError, match="PlayerActed is not in the catalogue"):
            log.execute(take_turn("t_1", "do", "Climb."))
        assert (everything(log), log.campaign(CAMPAIGN), log.verify()) == before
        (next_one,) = log.execute(take_turn("t_2", "continue")).events
        assert (next_one.position, next_one.version) == (2, 2)

    def test_what_is_not_in_it_is_never_decoded(self, open_log: OpenLog) -> None:
        open_log().execute(start())
        open_log().execute(take_turn("t_1", "do", "Climb."))
        older = open_log(EventCatalogue(event for event in EVENTS if event is not PlayerActed))
        assert [recorded.topic for recorded in older.read(0, 2)] == ["campaign.started", "story.turn_opened"]
        with pytest.raises(StoreNewer, match=r"story\.player_acted"):
            older.read(0, 3)

    @pytest.mark.parametrize(
        ("topic", "schema"), [("story.dreamt", 1), ("os.system", 1), ("campaign.started", 2), ("campaign.started", 99)]
    )
    def test_an_event_of_a_newer_program_is_refused_and_not_decoded_half(
        self, log: Log, topic: str, schema: int
    ) -> None:
        log.execute(start())
        payload = everything(log)[0].event.model_dump_json().encode()
        put_behind_its_back(log, topic=topic, schema_version=schema, state=payload)
        with pytest.raises(StoreNewer) as refused:
            log.read(0, 10)
        assert topic in refused.value.message

    @pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"null", b"{}", b'{"changes": {"colour": 1}}', b"\xff\xfe"])
    def test_bytes_that_are_no_such_event_are_named_as_damage(self, log: Log, payload: bytes) -> None:
        log.execute(start())
        put_behind_its_back(log, topic="campaign.revised", state=payload)
        with pytest.raises(LogDamaged) as damage:
            log.read(0, 10)
        assert damage.value.fields == {"stream": OTHER, "version": 7}

    def test_an_event_of_an_older_schema_is_brought_up_to_today(self, open_log: OpenLog) -> None:
        open_log().execute(start())
        open_log().execute(revise(title="New"))
        today = open_log(EventCatalogue([*others_than(CampaignRevised), RevisedWithAReason], REASONS))
        (_, recorded) = today.read(0, 10)
        assert recorded.event == RevisedWithAReason(changes=revised(title="New").changes, reason="unsaid", loud=False)
        assert recorded.schema_version == 1
        assert today.verify().ok
        assert today.campaign(CAMPAIGN).settings == CampaignSettings(title="New")


class RevisedWithAReason(CampaignRevised):
    """A campaign's revision as a later version of the program might write it."""

    schema_version: ClassVar = 3

    reason: str
    loud: bool


def _with_a_reason(payload: dict[str, Any]) -> dict[str, Any]:
    return payload | {"reason": "unsaid"}


def _not_loud(payload: dict[str, Any]) -> dict[str, Any]:
    assert payload["reason"] == "unsaid"  # the step before this one came first
    return payload | {"loud": False}


REASONS = {("campaign.revised", 1): _with_a_reason, ("campaign.revised", 2): _not_loud}


def others_than(left_out: type[CampaignRevised]) -> list[Any]:
    return [event for event in EVENTS if event is not left_out]


def put_behind_its_back(log: Log, *, topic: str, state: bytes, schema_version: int = 1) -> None:
    log.recorder.insert_events([StampedEvent(OTHER, 7, topic, state, schema_version)])


def two_stories(log: EventLog) -> list[int]:
    """Two stories told by turns, every kind of event among them. The positions, in the order of the commits."""
    commands: list[CampaignCommand] = [
        start(),
        start(campaign=OTHER),
        take_turn("t_1", "do", "Climb."),
        take_turn("t_1", "continue", campaign=OTHER),
        record(prompted("t_1")),
        cancel("t_1", campaign=OTHER),
        accept("t_1", "Fog.", account=ACCOUNT),
        fail("t_1", "cancelled", campaign=OTHER),
        revise(title="New"),
    ]
    committed = [recorded.position for command in commands for recorded in log.execute(command).events]
    committed += [recorded.position for recorded in log.change_settings({"model": "small"}).events]
    return committed
