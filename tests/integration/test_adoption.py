"""Adopting an extractor for the whole history, and going back: over real logs, on SQLite and in PostgreSQL."""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adapters.event_log.log import SqlEventLog
from adapters.event_log.postgresql import PostgresqlStore
from adapters.time_and_names import RandomNames, SystemClock
from domain.campaign.commands import AcceptNarration, OpenTurn, StartCampaign, StatePass
from domain.campaign.settings import CampaignSettings
from domain.errors import InvalidInput, OvertakenMeanwhile, TurnInProgress
from domain.extraction.extractors import extract
from domain.narrative.events import ExtractorAdopted, NarrationReread
from projections.all import open_views
from replays.adopting import adopt_whole_history, reread
from replays.comparison import IN_FORCE, RECORDED
from replays.generated_log.writing import write
from replays.history import campaigns
from replays.reading import Released
from replays.replaying import Question, Replay
from tests.fakes.postgresql import running_server

STORY = "c_by_hand"
BLOCK = 'It stirs.\n```state\n{"events": [%s]}\n```'
DOOR = '{"type": "create_entity", "entity": "door", "entity_type": "item", "name": "Door"}'
SHUT = '{"type": "set_entity_status", "entity": "door", "status": "shut"}'


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlEventLog]:
    """A generated log of some stories, that each test leaves as extractor 2 has it."""
    if request.param == "sqlite":
        place: Path | PostgresqlStore = tmp_path_factory.mktemp("log") / "log.db"
        write(place, seed=3, events=1_500)
        with closing(SqlEventLog(place, SystemClock(), RandomNames())) as opened:
            yield opened
        return
    with running_server() as server, server.database() as url:
        place = PostgresqlStore(url)
        write(place, seed=3, events=600)
        with closing(SqlEventLog(place, SystemClock(), RandomNames())) as opened:
            yield opened


@pytest.fixture
def own(tmp_path: Path) -> Iterator[SqlEventLog]:
    """An empty log with a story that is played by hand."""
    with closing(SqlEventLog(tmp_path / "log.db", SystemClock(), RandomNames())) as opened:
        opened.execute(StartCampaign(STORY, CampaignSettings(title="T"), "It begins."))
        yield opened


def tell(log: SqlEventLog, raw: str, version: str = "2", state_pass: StatePass | None = None) -> None:
    turn = RandomNames().new("t")
    log.execute(OpenTurn(STORY, turn, "continue", "", "p_here", "hash"))
    log.execute(AcceptNarration(STORY, turn, raw, "", extract(raw, version), "stop", None, state_pass))


def digests(log: SqlEventLog) -> dict[tuple[str, int], tuple[str, str]]:
    """Of every node of every story, the state's bytes and the words, hashed."""
    found = {}
    for campaign in campaigns(log, log.max_position()):
        for node in log.tree(campaign).nodes:
            state = log.state(campaign, node.node).to_bytes()
            [words] = [each.text for each in log.end_of_line(campaign, node.node, limit=1)]
            found[campaign, node.node] = (hashlib.sha256(state).hexdigest(), hashlib.sha256(words.encode()).hexdigest())
    return found


def adopt_everywhere(log: SqlEventLog, version: str) -> int:
    found = [adopt_whole_history(log, name, Released(version)) for name in campaigns(log, log.max_position())]
    return sum(len(each.readings) for each in found)


def test_going_there_and_back_leaves_every_state_and_every_word_as_it_was(log: SqlEventLog) -> None:
    adopt_everywhere(log, "1")
    first = digests(log)
    assert adopt_everywhere(log, "0") > 10
    plain = digests(log)
    assert plain != first
    assert adopt_everywhere(log, "2") > 10
    second = digests(log)
    adopt_everywhere(log, "1")
    assert digests(log) == first
    adopt_everywhere(log, "0")
    assert digests(log) == plain
    adopt_everywhere(log, "2")
    assert digests(log) == second
    assert log.verify().ok


def test_what_is_adopted_is_what_a_replay_said(log: SqlEventLog) -> None:
    for name in campaigns(log, log.max_position()):
        with closing(Replay(Question(Released("0"), IN_FORCE, name))) as foretold:
            foretold.run(log)
        adopted = adopt_whole_history(log, name, Released("0"))
        assert adopted.changed_lines == foretold.tally.changed_ends
        with closing(Replay(Question(Released("0"), IN_FORCE, name))) as after:
            after.run(log)
            assert (len(after.replies), len(after.lines)) == (0, 0)
        adopt_whole_history(log, name, Released("2"))


def test_views_and_decision_tables_made_anew_agree_with_what_stands(log: SqlEventLog, tmp_path: Path) -> None:
    adopt_everywhere(log, "0")
    stands = digests(log)
    log.rebuild_decision_tables()
    assert digests(log) == stands
    adopt_everywhere(log, "2")
    with open_views(tmp_path / "views", log) as views:
        assert views.check("story") is None


def test_what_is_read_as_before_is_not_written(own: SqlEventLog) -> None:
    tell(own, "It rains.")
    tell(own, BLOCK % DOOR)
    found = adopt_whole_history(own, STORY, Released("0"))
    assert [(reading.node, reading.outcome) for reading in found.readings] == [(3, "absent")]
    assert found.narrations[0]["changed"] == ["prose", "proposal", "outcome"]
    assert [change["path"] for change in found.lines[0]["changes"]] == ["entities.door.type", "entities.door.name"]
    events = [recorded.event for recorded in own.read(0, 100, stream=STORY)]
    assert [type(event) for event in events[-2:]] == [NarrationReread, ExtractorAdopted]


def test_what_stood_on_a_block_that_is_gone_is_judged_anew_down_the_line(own: SqlEventLog) -> None:
    tell(own, BLOCK % DOOR)
    tell(own, BLOCK % SHUT, version="1")
    unread = adopt_whole_history(own, STORY, Released("0"))
    assert [reading.outcome for reading in unread.readings] == ["absent", "absent"]
    again = adopt_whole_history(own, STORY, Released("2"))
    assert [reading.outcome for reading in again.readings] == ["applied", "applied"]
    assert own.state(STORY, 3).entities["door"].status == "shut"


def test_what_a_second_request_brought_is_kept_and_judged_anew(own: SqlEventLog) -> None:
    early = f'{{"events": [{SHUT}, {DOOR}]}}'
    brought = extract(f"```state\n{early}\n```").proposal
    tell(own, "It stands open.", state_pass=StatePass(brought, early))
    assert [each.code for each in own.state_course(STORY, 2)[0].event.refused] == ["unknown_reference"]  # type: ignore[attr-defined]
    assert reread(own, STORY, Released("0")).readings == ()
    tell(
        own, BLOCK % SHUT, version="0", state_pass=StatePass(extract(f"```state\n[{SHUT}]\n```").proposal, f"[{SHUT}]")
    )
    found = adopt_whole_history(own, STORY, Released("2"))
    assert [(each.node, each.outcome, each.block) for each in found.readings] == [(3, "applied", f"[{SHUT}]")]
    assert adopt_whole_history(own, STORY, Released("2")).readings == ()


def test_a_story_from_before_there_was_a_state_gets_one(own: SqlEventLog) -> None:
    tell(own, BLOCK % DOOR, version="0")
    assert own.state(STORY, 2).entities == {}
    adopt_whole_history(own, STORY, Released("2"))
    assert list(own.state(STORY, 2).entities) == ["door"]


def test_a_dry_look_changes_nothing(own: SqlEventLog) -> None:
    tell(own, BLOCK % DOOR)
    before = own.max_position()
    assert len(reread(own, STORY, Released("0")).readings) == 1
    assert own.max_position() == before


def test_during_a_turn_nothing_is_adopted(own: SqlEventLog) -> None:
    own.execute(OpenTurn(STORY, "t_open", "continue", "", "p_here", "hash"))
    with pytest.raises(TurnInProgress):
        adopt_whole_history(own, STORY, Released("2"))


def test_a_story_that_goes_on_meanwhile_is_read_anew(own: SqlEventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(own, BLOCK % DOOR)
    execute, told = own.execute, list[object]()

    def meanwhile(command: object) -> object:
        if len(told) < 2:
            told.append(command)
            monkeypatch.undo()
            tell(own, BLOCK % SHUT)
            monkeypatch.setattr(own, "execute", meanwhile)
        return execute(command)  # type: ignore[arg-type]

    monkeypatch.setattr(own, "execute", meanwhile)
    assert len(adopt_whole_history(own, STORY, Released("0")).readings) == 3


def test_a_story_that_never_stands_still_is_told_of(own: SqlEventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def overtaken(command: object) -> None:
        raise OvertakenMeanwhile(STORY)

    monkeypatch.setattr(own, "execute", overtaken)
    with pytest.raises(OvertakenMeanwhile):
        adopt_whole_history(own, STORY, Released("0"))


def test_there_must_be_such_an_extractor() -> None:
    with pytest.raises(InvalidInput, match="there is no extractor '99'; there are 0, 1, 2"):
        Released("99")


def test_what_was_recorded_is_held_against_what_is_in_force(own: SqlEventLog) -> None:
    tell(own, BLOCK % DOOR)
    adopt_whole_history(own, STORY, Released("0"))
    with closing(Replay(Question(IN_FORCE, RECORDED, STORY))) as run:
        run.run(own)
        [row] = run.replies
        assert len(run.lines) == 1
    assert (row["prose"]["before"], row["prose"]["after"]) == ("It stirs.", BLOCK % DOOR)
    assert row["outcome"] == {"before": "applied", "after": "absent"}
