"""Adopting an extractor, asked for over HTTP and with commands; and how many replays a server keeps."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import orjson
import pytest

from adapters.event_log.log import SqlEventLog
from adapters.time_and_names import RandomNames, SystemClock
from api.cli import exits
from api.cli.commands import app
from api.use_cases.replays import MOST_KEPT, Replays
from domain.campaign.commands import AcceptNarration, OpenTurn, StartCampaign
from domain.campaign.settings import CampaignSettings
from domain.errors import TooManyReplays, UnknownReplay
from domain.extraction.extractors import extract
from domain.log import EventLog
from tests.fakes.model_server import Reply, ScriptedModelServer
from tests.shapes import problem

FENCED = 'The door opens.\n```state\n{"events": [{"type": "create_entity", "entity": "door", "entity_type": "item", "name": "Door"}]}\n```'


# Over HTTP


@pytest.fixture
def told(client: httpx.Client, story: str, narrator: ScriptedModelServer) -> str:
    """The path of a story of two replies, one with a block."""
    for reply in (FENCED, "Nothing stirs."):
        narrator.script(Reply(reply))
        assert client.post(f"{story}/turns", json={"kind": "continue"}).status_code in (200, 201)
    return story


def texts(client: httpx.Client, story: str, **params: str) -> list[str]:
    return [node["text"] for node in client.get(f"{story}/story", params=params).json()["nodes"]]


def entities(client: httpx.Client, story: str) -> list[str]:
    return list(client.get(f"{story}/state").json()["document"]["entities"])


def test_a_story_follows_the_installation_until_it_adopts_one(client: httpx.Client, told: str) -> None:
    assert client.get(f"{told}/extractor").json() == {
        "campaign": told.rsplit("/", 1)[1],
        "extractor": "2",
        "adopted": None,
        "default": "2",
    }
    answer = client.post(f"{told}/extractor", json={"extractor": "1", "scope": "from_now"}).json()
    assert (answer["before"], answer["extractor"], answer["reread"]) == ("2", "1", 0)
    assert client.get(f"{told}/extractor").json()["extractor"] == "1"
    assert client.get("/api/settings").json()["extractor"] == "2"


def test_the_whole_history_is_read_anew_and_back_again(client: httpx.Client, told: str) -> None:
    recorded, state = texts(client, told), client.get(f"{told}/state").content
    plain = {"extractor": "0", "scope": "whole_history"}
    dry = client.post(f"{told}/extractor", json={**plain, "dry_run": True}).json()
    assert (dry["reread"], texts(client, told)) == (1, recorded)
    adopted = client.post(f"{told}/extractor", json=plain).json()
    assert adopted == {**dry, "dry_run": False}
    assert [change["path"] for change in adopted["lines"][0]["changes"]] == ["entities.door.type", "entities.door.name"]
    assert FENCED in texts(client, told)
    assert entities(client, told) == []
    assert texts(client, told, **{"as": "recorded"}) == recorded
    assert client.post(f"{told}/extractor", json={"extractor": "2", "scope": "whole_history"}).status_code == 200
    assert texts(client, told) == recorded
    assert client.get(f"{told}/state").content == state


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"extractor": "2"},
        {"extractor": "9", "scope": "from_now"},
        {"extractor": "9", "scope": "whole_history"},
        {"extractor": "2", "scope": "sometimes"},
    ],
)
def test_what_cannot_be_adopted_is_refused(client: httpx.Client, told: str, body: dict[str, Any]) -> None:
    problem(client.post(f"{told}/extractor", json=body), "invalid")
    assert client.get(f"{told}/extractor").json()["adopted"] is None


def test_during_a_turn_nothing_is_adopted(client: httpx.Client, told: str, server: Any) -> None:
    campaign = told.rsplit("/", 1)[1]
    server.fabula.log.execute(OpenTurn(campaign, "t_open", "continue", "", "p_here", "hash"))
    for scope in ("from_now", "whole_history"):
        problem(client.post(f"{told}/extractor", json={"extractor": "1", "scope": scope}), "turn_in_progress")


def test_a_story_that_is_not_there_is_404(client: httpx.Client) -> None:
    problem(client.get("/api/campaigns/c_nothere/extractor"), "unknown_campaign")
    wanted = {"extractor": "1", "scope": "whole_history"}
    problem(client.post("/api/campaigns/c_nothere/extractor", json=wanted), "unknown_campaign")


def test_the_setting_names_an_extractor_that_there_is(client: httpx.Client) -> None:
    said = problem(client.patch("/api/settings", json={"extractor": "9"}), "invalid")
    assert said["fields"] == {"extractor": "there is no extractor '9'; there are 0, 1, 2"}


# The commands


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqlEventLog]:
    """A store of two stories with a block each."""
    with closing(SqlEventLog(tmp_path / "log.db", SystemClock(), RandomNames())) as opened:
        for story in ("c_one", "c_two"):
            opened.execute(StartCampaign(story, CampaignSettings(title=story), "It begins."))
            opened.execute(OpenTurn(story, f"t_{story}", "continue", "", "p_here", "hash"))
            opened.execute(AcceptNarration(story, f"t_{story}", FENCED, "", extract(FENCED), "stop", None))
        yield opened


class Shell:
    """Runs `fabula extractor …` and remembers what it printed."""

    def __init__(self, home: Path, capture: pytest.CaptureFixture[str]) -> None:
        self._home = home
        self._capture = capture
        self.out = ""
        self.err = ""

    def run(self, *arguments: str) -> int:
        """The exit status."""
        with pytest.raises(SystemExit) as ended:
            exits.run(app, ["extractor", *arguments, "--home", str(self._home)])
        self.out, self.err = self._capture.readouterr()
        return int(ended.value.code or 0)


@pytest.fixture
def shell(log: SqlEventLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


def test_from_now_for_every_story_is_the_installation_s(log: SqlEventLog, shell: Shell) -> None:
    assert shell.run("adopt", "1", "--from-now", "--campaign", "c_two") == 0
    assert shell.run("adopt", "0", "--from-now") == 0
    assert log.settings().settings.extractor == "0"
    assert (log.campaign("c_one").extractor, log.campaign("c_two").extractor) == (None, "0")
    assert shell.run("show", "c_one") == 0
    assert shell.out == "Extractor 0, the installation's.\n"


def test_the_whole_history_of_every_story_shows_what_it_changed(log: SqlEventLog, shell: Shell) -> None:
    assert shell.run("adopt", "0", "--whole-history", "--dry-run") == 0
    assert "Nothing was changed." in shell.out
    assert log.settings().settings.extractor == "2"
    assert log.state("c_one", 2).entities
    assert shell.run("adopt", "0", "--whole-history") == 0
    assert "c_one: extractor 0, it was 2. 1 narration read otherwise" in shell.out
    assert "! proposal lost" in shell.out
    assert not log.state("c_one", 2).entities
    assert not log.state("c_two", 2).entities
    assert log.campaign("c_two").extractor == "0"


def test_what_was_recorded_and_what_is_in_force_are_told_apart(shell: Shell) -> None:
    assert shell.run("diff", "--json") == 0
    assert orjson.loads(shell.out)["replies"] == []
    assert shell.run("adopt", "0", "--whole-history", "--campaign", "c_one", "--json") == 0
    assert orjson.loads(shell.out)["campaigns"][0]["reread"] == 1
    assert shell.run("diff", "c_one") == 0
    assert "c_one node 2, moment 2: prose, proposal, outcome" in shell.out
    assert shell.run("diff", "c_two", "--json") == 0
    assert orjson.loads(shell.out)["replies"] == []


def test_a_story_in_the_middle_of_a_turn_is_told_of_when_the_others_are_done(log: SqlEventLog, shell: Shell) -> None:
    log.execute(OpenTurn("c_one", "t_open", "continue", "", "p_here", "hash"))
    assert shell.run("adopt", "0", "--whole-history") == 2
    assert "Turn t_open of this story is still being told" in shell.err
    assert (log.campaign("c_one").extractor, log.campaign("c_two").extractor) == (None, "0")


def test_wrong_use_is_2(shell: Shell) -> None:
    for arguments in (
        ["adopt", "1"],
        ["adopt", "1", "--from-now", "--whole-history"],
        ["adopt", "9", "--from-now"],
        ["adopt", "9", "--whole-history"],
        ["adopt", "1", "--from-now", "--campaign", "c_nothere"],
        ["show", "c_nothere"],
        ["diff", "c_nothere"],
    ):
        assert shell.run(*arguments) == 2, arguments


# The replays of a server


class _Held:
    """A log whose reading waits until it is let go."""

    def __init__(self, log: SqlEventLog) -> None:
        self._log = log
        self.go = Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def max_position(self, stream: str | None = None) -> int:
        self.go.wait(10)
        return self._log.max_position(stream)


def test_so_many_are_kept_and_the_oldest_that_ended_goes_first(log: SqlEventLog) -> None:
    held = _Held(log)
    typed: EventLog = held
    replays = Replays(typed, RandomNames())
    begun = [replays.begin("2", "in force", None)["id"] for _ in range(MOST_KEPT)]
    with pytest.raises(TooManyReplays):
        replays.begin("2", "in force", None)
    held.go.set()
    while replays.answer(begun[-1], 0, 1)["state"] != "done":
        pass
    newest = replays.begin("0", "recorded", "c_one")["id"]
    with pytest.raises(UnknownReplay):
        replays.answer(begun[0], 0, 1)
    assert replays.answer(begun[1], 0, 1)["state"] == "done"
    assert newest not in begun
    replays.stop()


def test_a_replay_that_cannot_go_on_says_why(log: SqlEventLog) -> None:
    held = _Held(log)
    typed: EventLog = held
    replays = Replays(typed, RandomNames())
    begun = replays.begin("2", "in force", "c_one")["id"]
    log.delete_campaign("c_one")
    held.go.set()
    while (answer := replays.answer(begun, 0, 1))["state"] in ("waiting", "running"):
        pass
    assert (answer["state"], answer["error"]["code"]) == ("failed", "unknown_campaign")
    replays.stop()
