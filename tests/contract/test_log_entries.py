"""What the log promises to views: of each event its place, and of its payload what was asked for."""

import pytest
from pydantic import BaseModel

from domain.campaign.events import CampaignStarted, NarrationAccepted, PlayerActed, TurnOpened
from domain.event import LogEntry, Reads, Recorded
from domain.log import EventLog
from projections.all import ALL
from projections.projection import Projection
from tests.contract.conftest import Log
from tests.fakes.sample_story import ACCOUNT, CAMPAIGN, accept, fail, prompted, record, start, take_turn

OTHER = "c_harbour"


class NodeNumber(BaseModel):
    node: int


def tell(log: EventLog, *, campaign: str = CAMPAIGN) -> None:
    log.execute(start(campaign=campaign))
    for turn in ("t_1", "t_2"):
        log.execute(take_turn(turn, text="Wait. \x00", campaign=campaign))
        log.execute(record(prompted(turn), campaign=campaign))
        log.execute(accept(turn, "It rains.", campaign=campaign, account=ACCOUNT))
    log.execute(take_turn("t_3", text="Wait on.", campaign=campaign))
    log.execute(fail("t_3", campaign=campaign))


def places(entries: "list[LogEntry] | list[Recorded]") -> list[tuple[object, ...]]:
    return [(one.position, one.stream, one.topic, one.at, one.turn) for one in entries]


@pytest.mark.parametrize("projection", ALL, ids=lambda projection: projection.name)
def test_every_view_reads_the_places_and_the_very_words_that_the_events_have(log: Log, projection: Projection) -> None:
    tell(log)
    log.delete_campaign(CAMPAIGN)
    tell(log, campaign=OTHER)
    found = list(log.entries(0, 1000, projection.reads))
    events = list(log.read(0, 1000, topics=projection.topics))
    assert places(found) == places(events)
    for entry, recorded in zip(found, events, strict=True):
        model = projection.reads[entry.topic]
        if model is None:
            assert entry.event is None
        else:
            assert isinstance(entry.event, model)
            assert entry.event == model.model_validate_json(recorded.event.model_dump_json())


def test_without_topics_every_event_is_read_whole(log: Log) -> None:
    tell(log)
    found = list(log.entries(0, 1000, {}))
    events = list(log.read(0, 1000))
    assert places(found) == places(events)
    assert [entry.event for entry in found] == [recorded.event for recorded in events]


def test_pages_end_where_they_are_told_to_and_leave_nothing_out(log: Log) -> None:
    tell(log)
    tell(log, campaign=OTHER)
    reads: Reads = {PlayerActed.topic: NodeNumber, NarrationAccepted.topic: NarrationAccepted, TurnOpened.topic: None}
    whole = list(log.entries(0, 1000, reads))
    paged: list[LogEntry] = []
    while page := log.entries(paged[-1].position if paged else 0, 2, reads):
        assert len(page) <= 2
        paged += page
    assert paged == whole
    middle = whole[len(whole) // 2].position
    assert list(log.entries(0, 1000, reads, up_to=middle)) == [one for one in whole if one.position <= middle]
    assert list(log.entries(middle, 1000, reads, up_to=middle)) == []


def test_one_stream_is_read_alone(log: Log) -> None:
    tell(log)
    tell(log, campaign=OTHER)
    reads: Reads = {NarrationAccepted.topic: NodeNumber, CampaignStarted.topic: None}
    whole = log.entries(0, 1000, reads)
    for campaign in (CAMPAIGN, OTHER, "c_nobody"):
        assert list(log.entries(0, 1000, reads, stream=campaign)) == [one for one in whole if one.stream == campaign]


def test_the_next_event_of_some_kinds_is_found(log: Log) -> None:
    tell(log)
    positions = [one.position for one in log.read(0, 1000, topics=[NarrationAccepted.topic])]
    assert log.next_position(0, [NarrationAccepted.topic]) == positions[0]
    assert log.next_position(positions[0], [NarrationAccepted.topic]) == positions[1]
    assert log.next_position(positions[1], [NarrationAccepted.topic]) is None
    assert log.next_position(3, []) == 4
