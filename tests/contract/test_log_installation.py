"""What the log promises of the installation's own stream: its settings, and the tombstones of deleted campaigns."""

from typing import Any

import pytest

from domain.campaign.events import CampaignDeleted
from domain.campaign.facts import CampaignFacts
from domain.errors import InvalidInput, UnknownCampaign
from domain.installation import INSTALLATION_STREAM, Settings, SettingsChanged
from domain.log import EventLog, StoredSettings
from tests.contract.conftest import OpenLog
from tests.fakes.sample_story import (
    CAMPAIGN,
    OPENING,
    accept,
    prompted,
    record,
    start,
    take_turn,
)

OTHER = "c_harbour"


class TestSettings:
    def test_are_the_defaults_before_any_was_set(self, log: EventLog) -> None:
        assert log.settings() == StoredSettings(Settings(), {})

    @pytest.mark.parametrize(
        ("name", "value", "stored"),
        [
            ("endpoint", "http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
            ("model", "small · \x00 · \U0001f5fc", "small · \x00 · \U0001f5fc"),
            ("mode", "completion", "completion"),
            ("temperature", 1, 1.0),
            ("temperature", 0.1 + 0.2, 0.1 + 0.2),
            ("top_p", 0.95, 0.95),
            ("seed", 2**32 - 1, 2**32 - 1),
            ("stop", ["\n\n", "THE END"], ("\n\n", "THE END")),
            ("stop", ("###",), ("###",)),
            ("context_window_override", 4096, 4096),
            ("memory_bank_capacity", 1, 1),
            ("narrator_prompt", "Tell it slowly.", "Tell it slowly."),
        ],
    )
    def test_are_what_was_set_also_after_a_restart(
        self, open_log: OpenLog, name: str, value: object, stored: object
    ) -> None:
        log = open_log()
        log.change_settings({name: value})
        for again in (log, open_log()):
            assert getattr(again.settings().settings, name) == stored
            assert again.settings().settings == Settings(**{name: value})

    def test_hold_the_position_at_which_each_was_last_set(self, log: EventLog) -> None:
        log.change_settings({"model": "small", "seed": 7})
        log.execute(start())
        log.change_settings({"model": "large", "seed": 7})
        assert log.settings().set_at == {"model": 3, "seed": 1}

    def test_are_written_only_where_they_differ(self, log: EventLog) -> None:
        log.change_settings({"model": "small", "seed": 7})
        written = log.change_settings({"model": "small", "seed": 8, "mode": "chat"})
        assert [recorded.event for recorded in written.events] == [SettingsChanged(changes={"seed": 8})]
        assert [recorded.stream for recorded in written.events] == [INSTALLATION_STREAM]

    @pytest.mark.parametrize("changes", [{}, {"mode": "chat"}, {"seed": None}, {"temperature": 0.8}])
    def test_that_are_so_already_write_nothing(self, log: EventLog, changes: dict[str, Any]) -> None:
        assert log.change_settings(changes).events == ()
        assert log.max_position() == 0

    @pytest.mark.parametrize(
        ("name", "value"),
        [("top_p", 0.5), ("seed", 0), ("context_window_override", 512), ("memory_bank_capacity", 9)],
    )
    def test_that_are_optional_are_cleared_with_none(self, log: EventLog, name: str, value: object) -> None:
        log.change_settings({name: value})
        log.change_settings({name: None})
        assert log.settings() == StoredSettings(Settings(), {name: 2})

    @pytest.mark.parametrize(
        ("changes", "named"),
        [
            ({"seed": -1}, ["seed"]),
            ({"model": None}, ["model"]),
            ({"temperature": "hot", "top_p": 0}, ["temperature", "top_p"]),
            ({"temperature": float("nan")}, ["temperature"]),
            ({"stop": ["fine", ""]}, ["stop.1"]),
            ({"colour": "grey"}, ["colour"]),
            ({"context_budget": 2**70}, ["context_budget"]),
        ],
    )
    def test_that_cannot_be_are_named_and_nothing_is_changed(
        self, log: EventLog, changes: dict[str, Any], named: list[str]
    ) -> None:
        log.change_settings({"model": "small"})
        before = log.settings(), log.read(0, 10)
        with pytest.raises(InvalidInput) as refused:
            log.change_settings({"mode": "completion", **changes})
        assert list(refused.value.fields["fields"]) == named  # type: ignore[call-overload]  # it is a mapping
        assert (log.settings(), log.read(0, 10)) == before


class TestDeletingACampaign:
    @pytest.fixture
    def two(self, log: EventLog) -> EventLog:
        for campaign in (CAMPAIGN, OTHER):
            log.execute(start(campaign=campaign, title=f"The story of {campaign}"))
            log.execute(take_turn("t_1", "do", "Climb.", campaign=campaign, key="k_1"))
            log.execute(record(prompted("t_1"), campaign=campaign))
            log.execute(accept("t_1", "Fog.", campaign=campaign))
        return log

    def test_leaves_a_tombstone_with_its_title_its_length_and_its_last_hash(self, two: EventLog) -> None:
        head = two.read(0, 100, stream=CAMPAIGN)[-1].chain
        (stone,) = two.delete_campaign(CAMPAIGN).events
        assert stone.stream == INSTALLATION_STREAM
        assert stone.event == CampaignDeleted(
            campaign=CAMPAIGN, title=f"The story of {CAMPAIGN}", events=6, head=head.hex()
        )
        assert two.read(0, 100, stream=INSTALLATION_STREAM) == [stone]

    def test_answers_with_the_facts_as_they_were(self, two: EventLog) -> None:
        before = two.campaign(CAMPAIGN)
        assert two.delete_campaign(CAMPAIGN).facts == before

    def test_drops_every_event_of_its_stream_and_of_no_other(self, two: EventLog) -> None:
        kept = two.read(0, 100, stream=OTHER)
        two.delete_campaign(CAMPAIGN)
        assert two.read(0, 100, stream=CAMPAIGN) == []
        assert two.read(0, 100, stream=OTHER) == kept
        assert two.max_position(CAMPAIGN) == 0

    def test_makes_it_unknown(self, two: EventLog) -> None:
        two.delete_campaign(CAMPAIGN)
        for question in (two.campaign, lambda of: two.node(of, 1), lambda of: two.turn(of, "t_1"), two.delete_campaign):
            with pytest.raises(UnknownCampaign):
                question(CAMPAIGN)
        with pytest.raises(UnknownCampaign):
            two.execute(take_turn("t_2", "continue"))
        assert (two.floor(CAMPAIGN, 3), two.last_prompt(CAMPAIGN)) == (None, None)

    def test_leaves_the_others_as_they_were(self, two: EventLog) -> None:
        before = two.campaign(OTHER), two.line(OTHER, 3), two.turn_events(OTHER, "t_1"), two.last_prompt(OTHER)
        two.delete_campaign(CAMPAIGN)
        assert (
            two.campaign(OTHER),
            two.line(OTHER, 3),
            two.turn_events(OTHER, "t_1"),
            two.last_prompt(OTHER),
        ) == before

    def test_never_gives_its_positions_again(self, two: EventLog) -> None:
        newest = two.max_position()
        stone = two.delete_campaign(OTHER)
        assert stone.position == newest + 1
        assert two.execute(start(campaign="c_third")).position == newest + 2

    def test_during_a_turn_ends_the_turn_with_it(self, two: EventLog) -> None:
        two.execute(take_turn("t_2", "continue"))
        two.delete_campaign(CAMPAIGN)
        assert list(two.open_turns()) == []
        with pytest.raises(UnknownCampaign):
            two.execute(accept("t_2", "Fog."))

    def test_lets_one_of_the_same_name_begin_anew(self, two: EventLog) -> None:
        two.delete_campaign(CAMPAIGN)
        (begun,) = two.execute(start()).events
        assert begun.version == 1
        assert two.campaign(CAMPAIGN).head == 1
        assert [node.text for node in two.end_of_line(CAMPAIGN, 1, limit=9)] == [OPENING]
        assert len(two.execute(take_turn("t_1", "do", "Climb.", key="k_1")).events) == 2

    def test_that_was_never_started_is_refused_and_writes_nothing(self, two: EventLog) -> None:
        before = two.read(0, 100)
        with pytest.raises(UnknownCampaign):
            two.delete_campaign("c_nowhere")
        assert two.read(0, 100) == before

    def test_does_not_delete_the_installation(self, two: EventLog) -> None:
        two.change_settings({"model": "small"})
        with pytest.raises(UnknownCampaign):
            two.delete_campaign(INSTALLATION_STREAM)
        assert two.settings().settings.model == "small"

    def test_keeps_the_settings(self, two: EventLog) -> None:
        two.change_settings({"model": "small"})
        before = two.settings()
        two.delete_campaign(CAMPAIGN)
        assert two.settings() == before

    def test_has_facts_that_say_nothing_of_the_installation(self, two: EventLog) -> None:
        assert two.change_settings({"model": "small"}).facts == CampaignFacts(INSTALLATION_STREAM)
