"""The commands, over real stores and a model server on a real socket: in this process, and as programs of their own."""

import asyncio
import hashlib
import io
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import typer

from adapters.time_and_names import RandomNames
from api.cli import exits
from api.cli.commands import app
from api.cli.completion import campaign_ids
from api.config import Config
from api.use_cases.campaigns import create_campaign
from api.use_cases.diagnosis import Finding, diagnose
from api.wiring import running
from domain.campaign.settings import CampaignSettings
from domain.errors import ModelRefused
from tests.fakes.model_server import Reply, ScriptedModelServer

FABULA = [sys.executable, "-c", "from api.cli import main; main()"]
"""The program, as its entry point starts it."""

OPENING = "A door stands open that was never open before."
NASTY = "It says \x1b[31mred\x00 and [bold]plain[/bold] :smile:."


class Shell:
    """Runs commands in this process and remembers what they printed."""

    def __init__(self, capture: pytest.CaptureFixture[str], home: Path) -> None:
        self._capture = capture
        self.home = home
        self.out = ""
        self.err = ""

    def run(self, *arguments: str, home: Path | None = None) -> int:
        """The exit status."""
        self._capture.readouterr()
        with pytest.raises(SystemExit) as ended:
            exits.run(app, [*arguments, "--home", str(home or self.home)])
        self.out, self.err = self._capture.readouterr()
        return int(ended.value.code or 0)

    def json(self, *arguments: str, status: int = 0) -> Any:
        assert self.run(*arguments, "--json") == status, self.err
        return orjson.loads(self.out)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine's own; ports that nobody else has."""
    for name in [name for name in os.environ if name.startswith("FABULA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("FABULA_PORT", str(free_port()))
    monkeypatch.setenv("FABULA_NARRATOR_PORT", str(free_port()))


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    """A shell over a store that is not there yet."""
    return Shell(capsys, tmp_path / "home")


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(n_ctx=4096) as server:
        yield server


@pytest.fixture(scope="module")
def original(server: ScriptedModelServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A played store and its story: opening, a turn, a retry of it, a turn that failed, a turn told after all."""
    home = tmp_path_factory.mktemp("original")
    server.script(Reply("First."), Reply(NASTY), Reply.refusal(500, "out of \x1bmemory"), Reply("Third."))
    config = Config(home=home, endpoint=server.endpoint, model="scripted-model", narrator=False, log_level="error")
    return home, asyncio.run(_play(config))


async def _play(config: Config) -> str:
    async with running(config) as fabula:
        campaign = create_campaign(
            fabula.log, RandomNames(), CampaignSettings(title="The [red]dóor", canon=("It is old.",)), OPENING
        )
        await (await fabula.turns.take(campaign, "do", "I go in")).answer()
        await (await fabula.turns.retry(campaign)).answer()
        with pytest.raises(ModelRefused):
            await (await fabula.turns.take(campaign, "say", "Who is there?")).answer()
        await (await fabula.turns.take(campaign, "continue", "")).answer()
    return campaign


@pytest.fixture
def played(shell: Shell, original: tuple[Path, str]) -> str:
    """The story of the shell's store, which is a copy of the played one."""
    shutil.copytree(original[0], shell.home)
    return original[1]


# Stories


def test_without_a_store_a_command_says_how_to_begin_and_makes_none(shell: Shell) -> None:
    assert shell.run("campaigns") == 2
    assert "holds no store. `fabula play` begins a story there" in shell.err
    assert not shell.home.exists()


def test_a_story_is_created_shown_revised_and_listed(shell: Shell) -> None:
    created = shell.json(
        "campaigns", "new", "--title", "Far", "--opening", OPENING, "--canon", "One.", "--canon", "Two.",
        "--persona-name", "Ilse", "--narration-length", "brief", "--memory-enabled",
    )  # fmt: skip
    assert created["settings"]["opening"] == OPENING
    assert created["settings"]["canon"] == ["One.", "Two."]
    assert created["settings"]["memory_enabled"] is True

    revised = shell.json("campaigns", "revise", created["id"], "--persona-pronouns", "she/her", "--title", "Farther")
    assert revised["settings"]["persona"] == {"name": "Ilse", "pronouns": "she/her", "description": ""}
    assert revised["settings"]["canon"] == ["One.", "Two."]

    assert shell.json("campaigns", "revise", created["id"], "--no-canon")["settings"]["canon"] == []
    assert shell.json("campaigns", "show", created["id"])["title"] == "Farther"
    assert [row["title"] for row in shell.json("campaigns")["campaigns"]] == ["Farther"]
    assert shell.run("campaigns", "show", created["id"]) == 0
    assert "name: Ilse; pronouns: she/her" in shell.out
    assert shell.err == ""


def test_pages_of_the_list_say_how_to_go_on(shell: Shell) -> None:
    for title in ("One", "Two", "Three"):
        shell.json("campaigns", "new", "--title", title)

    page = shell.json("campaigns", "--limit", "2")
    assert [row["title"] for row in page["campaigns"]] == ["Three", "Two"]
    assert [row["title"] for row in shell.json("campaigns", "--after", str(page["next"]))["campaigns"]] == ["One"]
    assert shell.run("campaigns", "--limit", "2") == 0
    assert f"--after {page['next']}" in shell.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--title", "x" * 201), "title:"),
        (("--narration-length", "endless"), "narration_length:"),
        (("--opening", "x" * 200_001), "opening:"),
        (("--persona-name", "x" * 201), "persona.name:"),
    ],
)
def test_what_cannot_be_so_is_named(shell: Shell, options: tuple[str, str], said: str) -> None:
    assert shell.run("campaigns", "new", *options) == 2
    assert said in shell.err
    assert not shell.home.exists()


def test_bytes_that_are_no_text_do_not_stop_a_story(shell: Shell) -> None:
    created = shell.json("campaigns", "new", "--title", "lone \udcff", "--opening", "x\udcff")

    assert (created["title"], created["settings"]["opening"]) == ("lone \ufffd", "x\ufffd")


def test_a_revision_must_name_something(shell: Shell, played: str) -> None:
    assert shell.run("campaigns", "revise", played) == 2
    assert shell.run("campaigns", "revise", played, "--canon", "x", "--no-canon") == 2


def test_deleting_asks_and_where_nobody_answers_refuses(shell: Shell, played: str) -> None:
    assert shell.run("campaigns", "delete", played) == 2
    assert "--yes" in shell.err

    tombstone = shell.json("campaigns", "delete", played, "--yes")
    assert (tombstone["campaign"], tombstone["title"]) == (played, "The [red]dóor")
    assert shell.run("story", played) == 2
    assert shell.json("campaigns") == {"campaigns": [], "next": None}
    assert shell.run("campaigns") == 0
    assert "`fabula play` begins one" in shell.out


def test_options_before_a_subcommand_are_refused_and_not_ignored(shell: Shell, played: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        exits.run(app, ["campaigns", "--home", str(tmp_path / "other"), "show", played])
    assert ended.value.code == 2
    with pytest.raises(SystemExit) as ended:
        exits.run(app, ["settings", "--home", str(tmp_path / "other"), "set", "seed", "1"])
    assert ended.value.code == 2
    assert not (tmp_path / "other").exists()


# Reading


def test_a_story_is_read_with_its_moments_and_takes(shell: Shell, played: str) -> None:
    assert shell.run("story", played) == 0
    assert shell.out == (
        f"Moment 1 · node 1\n{OPENING}\n\n"
        "Moment 2 · node 2\n> You go in\n\n"
        "Moment 3 · node 4 · take 2 of 2\nIt says ␛[31mred␀ and [bold]plain[/bold] :smile:.\n\n"
        'Moment 4 · node 5\n> You say, "Who is there?"\n\n'
        "Moment 5 · node 6\nThird.\n\n"
        "Moment 5\n"
    )
    assert shell.err == ""


def test_pages_of_a_story(shell: Shell, played: str) -> None:
    page = shell.json("story", played, "--limit", "2")
    assert [node["node"] for node in page["nodes"]] == [5, 6]
    assert page["next"] == 5
    assert shell.run("story", played, "--limit", "2") == 0
    assert "--before 5, or --all" in shell.out
    assert [node["node"] for node in shell.json("story", played, "--before", "5")["nodes"]] == [1, 2, 4]
    whole = shell.json("story", played, "--all")
    assert ([node["node"] for node in whole["nodes"]], whole["next"]) == ([1, 2, 4, 5, 6], None)


def test_the_turns_are_listed_newest_first_failed_ones_too(shell: Shell, played: str) -> None:
    turns = shell.json("audit", played)["turns"]
    assert [turn["ended"] for turn in turns] == ["accepted", "model", "accepted", "accepted"]

    assert shell.run("audit", played, "--limit", "3") == 0
    assert "model: model_refused" in shell.out
    assert "Older ones: --before" in shell.out


def test_a_record_says_what_was_sent_and_why(shell: Shell, played: str) -> None:
    assert shell.run("audit", played, "6") == 0
    for said in (
        "the story's canon is in every prompt",
        "4096 tokens, loaded, verified",
        "(16384 are configured)",
        "nodes 1 to 5, of a line of 4: the whole story fits",
        "of the earlier request's bytes are repeated from its start",
        "all that was sent, as far as its count can tell",
        "scripted-model",
    ):
        assert said in shell.out
    record = shell.json("audit", played, "6")
    assert record["body_sha256"] in shell.out
    assert shell.json("audit", played, record["turn"]) == record


def test_the_record_of_a_failed_turn(shell: Shell, played: str) -> None:
    failed = next(turn for turn in shell.json("audit", played)["turns"] if turn["error"])

    assert shell.run("audit", played, failed["turn"]) == 0
    assert "no node: the turn failed" in shell.out
    assert shell.json("audit", played, "5")["turn"] == failed["turn"]


def test_the_body_is_exactly_what_the_server_received(shell: Shell, played: str, server: ScriptedModelServer) -> None:
    assert shell.run("audit", played, "6", "--body") == 0
    assert shell.err == ""
    assert shell.out.encode() in [request.body for request in server.narrations]


def test_the_command_line_names_the_key_only_when_there_is_one(
    shell: Shell, played: str, server: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell.run("audit", played, "6", "--curl") == 0
    assert f"{server.endpoint}/chat/completions" in shell.out
    assert "Authorization" not in shell.out

    monkeypatch.setenv("FABULA_API_KEY", "sk-very-secret")
    assert shell.run("audit", played, "6", "--curl") == 0
    assert '"Authorization: Bearer $FABULA_API_KEY"' in shell.out
    assert "sk-very-secret" not in shell.out + shell.err


@pytest.mark.parametrize(
    ("place", "said"),
    [("99", "no node 99"), ("t_nothing", "no turn 't_nothing'"), ("1", "is the opening"), ("²", "no turn")],
)
def test_a_place_that_is_not_there_is_wrong_use(shell: Shell, played: str, place: str, said: str) -> None:
    assert shell.run("audit", played, place) == 2
    assert said in shell.err
    assert shell.out == ""


@pytest.mark.parametrize("options", [("6", "--body", "--curl"), ("6", "--body", "--json"), ("--body",), ("--curl",)])
def test_an_audit_prints_one_thing(shell: Shell, played: str, options: tuple[str, ...]) -> None:
    assert shell.run("audit", played, *options) == 2


def test_the_raw_log(shell: Shell, played: str) -> None:
    first = shell.json("events", played, "--limit", "1")
    assert [event["topic"] for event in first["events"]] == ["campaign.started"]
    rest = shell.json("events", played, "--after", str(first["next"]))
    assert rest["next"] is None
    assert shell.run("events", played, "--limit", "1") == 0
    assert "campaign.started · player · version 1" in shell.out
    assert f"More: --after {first['next']}" in shell.out


@pytest.mark.parametrize(
    "command",
    [("story",), ("audit",), ("audit", "3"), ("events",), ("events", "--follow"), ("verify",), ("campaigns", "show"),
     ("campaigns", "revise", "--title", "x"), ("campaigns", "delete", "--yes"), ("play", "--no-narrator")],
)  # fmt: skip
def test_a_story_that_is_not_there_is_wrong_use(shell: Shell, played: str, command: tuple[str, ...]) -> None:
    words = 2 if command[0] == "campaigns" else 1

    assert shell.run(*command[:words], "c_nowhere", *command[words:]) == 2
    assert "There is no campaign 'c_nowhere'" in shell.err
    assert shell.out == ""


# Integrity


def test_a_whole_log_is_verified_and_its_head_compared(shell: Shell, played: str) -> None:
    whole = shell.json("verify")
    assert whole["ok"]
    assert shell.run("verify", "--head", whole["head"].upper()) == 0
    assert f"{whole['events']} events, head {whole['head']}" in shell.out

    assert shell.run("verify", "--head", "0" * 64) == 1
    assert "not the one that was noted" in shell.err
    assert "only an unchanged log can be compared so. Note a story's own head instead" in shell.err
    assert shell.json("verify", played)["events"] == whole["events"]


@pytest.mark.parametrize("head", ["", "0" * 63, "0" * 65, "g" * 64, "0" * 64 + "\n"])
def test_a_head_that_is_none_is_wrong_use(shell: Shell, played: str, head: str) -> None:
    assert shell.run("verify", "--head", head) == 2
    assert shell.run("verify", played, "--head", head) == 2
    assert "64 hexadecimal characters" in shell.err


def test_a_story_may_have_grown_since_its_head_was_noted(shell: Shell, played: str) -> None:
    noted = shell.json("verify", played)["head"]
    assert shell.run("verify", played, "--head", noted) == 0
    assert shell.err == ""
    assert shell.run("campaigns", "revise", played, "--title", "The window") == 0

    assert shell.run("verify", played, "--head", noted.upper()) == 0
    assert "has grown since" in shell.err
    assert "what was there is unchanged" in shell.err
    assert shell.run("verify", "--head", noted) == 1

    assert shell.run("verify", played, "--head", "0" * 64) == 1
    assert "no head that this story ever had" in shell.err


def test_a_changed_event_is_named(shell: Shell, played: str) -> None:
    with sqlite3.connect(shell.home / "log.db") as connection:
        connection.execute("UPDATE event SET at = '2001-01-01T00:00:00.000000Z' WHERE version = 3")
    connection.close()

    assert shell.run("verify") == 1
    assert f"event 3 of {played} (position 3)" in shell.out
    assert shell.json("verify", played, status=1)["first_bad"]["version"] == 3


def test_a_changed_event_is_found_by_the_doctor(shell: Shell, played: str) -> None:
    with sqlite3.connect(shell.home / "log.db") as connection:
        connection.execute("UPDATE event SET actor = 'nobody' WHERE version = 4")
    connection.close()

    assert shell.run("doctor") == 1
    assert f"Event 4 of {played} does not follow" in shell.out


def test_views_are_rebuilt(shell: Shell, played: str) -> None:
    before = shell.json("story", played)
    assert shell.run("rebuild", "story") == 0
    assert shell.json("rebuild")["projections"] == shell.json("rebuild", "--status")["projections"]
    assert {view["state"] for view in shell.json("rebuild", "--status")["projections"]} == {"current"}
    assert shell.json("story", played) == before


def test_a_view_is_checked_and_what_is_wrong_is_named_and_mended(shell: Shell, played: str) -> None:
    assert shell.run("rebuild", "--check") == 0
    assert shell.out.count("every row is what the log makes of it, up to position") == 3
    view = next((shell.home / "views").glob("story.v*.db"))
    with sqlite3.connect(view) as connection:
        connection.execute("UPDATE node SET text = 'WRONG' WHERE node = 3")
    connection.close()
    assert shell.run("rebuild", "story", "--check") == 1
    assert f"table node, campaign {played}, node 3" in shell.out
    assert "the view has  text 'WRONG'" in shell.out
    assert "`fabula rebuild story` mends it." in shell.out
    (check,) = shell.json("rebuild", "story", "--check", status=1)["checks"]
    assert (check["name"], check["ok"], check["difference"]["key"]["node"]) == ("story", False, 3)
    assert shell.run("rebuild", "story", "--campaign", played) == 0
    assert shell.run("rebuild", "--check") == 0


def test_a_rebuild_that_mends_says_so(shell: Shell, played: str) -> None:
    assert shell.run("story", played) == 0
    view = next((shell.home / "views").glob("story.v*.db"))
    with sqlite3.connect(view) as connection:
        connection.execute("DELETE FROM node WHERE node = 2")
    connection.close()
    assert shell.run("rebuild") == 0
    assert "story: its rows were not what the log makes of them; they are now." in shell.err
    assert shell.run("rebuild") == 0
    assert "its rows were not" not in shell.err


def test_the_options_of_a_rebuild_that_do_not_go_together_are_refused(shell: Shell, played: str) -> None:
    assert shell.run("rebuild", "--status", "--check") == 2
    assert shell.run("rebuild", "--check", "--campaign", played) == 2
    assert shell.run("rebuild", "--campaign", "c_nobody") == 2
    assert "c_nobody" in shell.err


def test_a_parked_view_says_where_and_what_to_do(shell: Shell, played: str) -> None:
    assert shell.run("rebuild", "story") == 0
    with sqlite3.connect(shell.home / "log.db") as connection:
        told = "SELECT max(position) FROM event WHERE topic = 'story.narration_accepted'"
        (position,) = connection.execute(told).fetchone()
        connection.execute("UPDATE event SET payload = 'x' WHERE position = ?", [position])
    connection.close()
    assert shell.run("rebuild", "story") == 3
    assert f"The view 'story' cannot take in the event at position {position} (LogDamaged)" in shell.err
    assert "`fabula verify` names the first event that does not fit" in shell.err
    assert shell.run("story", played) == 0, "what served before serves on"
    shutil.rmtree(shell.home / "views")
    assert shell.run("rebuild", "story") == 3
    assert shell.run("rebuild") == 3
    assert {view["name"]: view["state"] for view in shell.json("rebuild", "--status", status=1)["projections"]} == {
        "campaigns": "current",
        "story": "parked",
        "prompts": "parked",  # which reads that event as well
    }
    assert shell.run("rebuild", "--status") == 1
    assert f"story cannot take in the event at position {position} (LogDamaged). `fabula rebuild" in shell.out
    assert shell.run("story", played) == 3
    assert "It is parked" in shell.err


def test_only_views_that_there_are_can_be_rebuilt(shell: Shell, played: str) -> None:
    assert shell.run("rebuild", "story", "nope") == 2
    assert "There is no projection 'nope'" in shell.err
    assert shell.run("rebuild", "story", "--status") == 2


# Settings


def test_settings_are_set_and_say_where_they_come_from(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shell.json("settings", "set", "max_output_tokens", "500")["max_output_tokens"] == 500
    assert shell.json("settings", "set", "stop", '["###"]')["stop"] == ["###"]
    assert shell.json("settings", "set", "model", "llama3.2")["model"] == "llama3.2"
    assert shell.json("settings", "set", "seed", "7")["seed"] == 7
    assert shell.json("settings", "set", "seed", "null")["seed"] is None

    monkeypatch.setenv("FABULA_ENDPOINT", "http://127.0.0.1:1/v1")
    assert shell.run("settings") == 0
    lines = {line.split()[0]: line for line in shell.out.splitlines()}
    assert lines["max_output_tokens"].split() == ["max_output_tokens", "set", "500"]
    assert lines["temperature"].split()[1:] == ["default", "0.8"]
    assert "FABULA_ENDPOINT or --endpoint  http://127.0.0.1:1/v1" in lines["endpoint"]
    assert shell.run("settings", "set", "endpoint", "http://127.0.0.1:2/v1") == 0
    assert "FABULA_ENDPOINT is set, and wins" in shell.err


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("tempo", "1", "temperature"),
        ("temperature", "hot", "temperature:"),
        ("seed", "-1", "seed:"),
        ("endpoint", "http://93.184.216.34/v1", "is refused"),
        ("mode", "opera", "mode:"),
    ],
)
def test_a_setting_that_cannot_be_so_is_wrong_use(shell: Shell, name: str, value: str, said: str) -> None:
    assert shell.run("settings", "set", name, value) == 2
    assert said in shell.err


def test_the_server_is_tested(shell: Shell, server: ScriptedModelServer) -> None:
    at = ("--endpoint", server.endpoint)

    answer = shell.json("settings", "test", *at, "--model", "scripted-model")
    assert (answer["reachable"], answer["model_listed"], answer["window"]["tokens"]) == (True, True, 4096)
    assert shell.run("settings", "test", *at, "--model", "another") == 1
    assert "not among the models" in shell.out
    assert shell.run("settings", "test", "--endpoint", f"http://127.0.0.1:{free_port()}/v1") == 1
    assert "Nothing answers" in shell.out


# The doctor


def findings(config: Config, **usual: str) -> dict[str, Finding]:
    return {finding.about: finding for finding in asyncio.run(diagnose(config, usual))}


def test_on_a_fresh_machine_all_is_well(shell: Shell) -> None:
    assert shell.run("doctor") == 0
    assert "There is no store yet; the first story makes one." in shell.out
    assert "The small narrator does not run now" in shell.out
    assert "All is well." in shell.out
    assert not shell.home.exists()


def test_what_needs_doing_is_said_and_the_status_is_1(shell: Shell, played: str) -> None:
    answer = shell.json("doctor", "--endpoint", f"http://127.0.0.1:{free_port()}/v1", status=1)

    assert not answer["ok"]
    assert [finding["about"] for finding in answer["findings"] if finding["standing"] == "to_do"] == ["model server"]


def test_servers_at_their_usual_places_are_found(tmp_path: Path, server: ScriptedModelServer) -> None:
    with ScriptedModelServer(models=()) as empty:
        found = findings(
            Config(home=tmp_path),
            Ollama=server.endpoint,
            Idle=empty.endpoint,
            Absent=f"http://127.0.0.1:{free_port()}/v1",
        )

    assert f"`fabula settings set endpoint {server.endpoint}`" in found["Ollama"].detail
    assert "`fabula settings set model scripted-model`" in found["Ollama"].detail
    assert "offers no model" in found["Idle"].detail
    assert "Absent" not in found
    assert not (tmp_path / "log.db").exists()


def test_a_model_that_is_not_offered_needs_doing(tmp_path: Path, server: ScriptedModelServer) -> None:
    found = findings(Config(home=tmp_path, endpoint=server.endpoint, model="other"))
    assert found["model server"].standing == "to_do"
    assert "`fabula settings set model NAME`" in found["model server"].detail

    found = findings(Config(home=tmp_path, endpoint=server.endpoint, model="scripted-model"))
    assert (found["model server"].standing, found["window"].standing) == ("well", "well")


def test_a_stranger_on_the_port_needs_doing(tmp_path: Path, server: ScriptedModelServer) -> None:
    assert findings(Config(home=tmp_path, port=server.port))["port"].standing == "to_do"


def test_a_home_that_cannot_be_written_needs_doing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert findings(Config(home=tmp_path / "file" / "home"))["data directory"].standing == "to_do"


def test_a_store_that_does_not_open_needs_doing(tmp_path: Path) -> None:
    (tmp_path / "log.db").write_text("no database at all, and long enough to be looked at as one" * 20)

    assert findings(Config(home=tmp_path))["store"].standing == "to_do"


# What is wrong with the world


def test_a_store_that_is_none_fails(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "log.db").write_text("no database at all, and long enough to be looked at as one" * 20)

    for command in (("campaigns",), ("verify",), ("settings",)):
        assert shell.run(*command, home=tmp_path) == 3
        assert "is damaged" in shell.err
        assert shell.out == ""


def test_a_home_below_a_file_fails(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert shell.run("campaigns", "new", home=tmp_path / "file" / "home") == 3
    assert shell.run("play", "--no-narrator", home=tmp_path / "file" / "home") == 3
    assert shell.run("campaigns", home=tmp_path / "file" / "home") == 2


def test_a_store_of_a_newer_program_fails_and_is_not_touched(shell: Shell, played: str) -> None:
    log = shell.home / "log.db"
    with sqlite3.connect(log) as connection:
        connection.execute("UPDATE store SET format = 99")
    connection.close()
    before = hashlib.sha256(log.read_bytes()).digest()

    for command in (("story", played), ("verify",), ("play", "--no-narrator"), ("settings",)):
        assert shell.run(*command) == 3
        assert "use the newer Fabula" in shell.err
    assert hashlib.sha256(log.read_bytes()).digest() == before


def test_a_variable_that_cannot_be_so_is_wrong_use(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABULA_PORT", "eighty")

    for command in (("campaigns",), ("doctor",), ("serve",), ("play",)):
        assert shell.run(*command) == 2
        assert "FABULA_PORT:" in shell.err


def test_the_address_to_listen_on_needs_a_token_beyond_loopback(shell: Shell) -> None:
    assert shell.run("serve", "--host", "0.0.0.0", "--no-narrator") == 2
    assert "FABULA_TOKEN" in shell.err


def test_a_taken_port_fails(shell: Shell, server: ScriptedModelServer) -> None:
    assert shell.run("serve", "--port", str(server.port), "--no-narrator") == 3
    assert "Something else listens" in shell.err


@pytest.mark.parametrize("endpoint", ["http://8.8.8.8/v1", "ftp://127.0.0.1/v1", "nonsense"])
def test_an_endpoint_that_is_refused_is_refused_before_any_words_are_stored(
    shell: Shell, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("The bell\nA bell hangs here.\nI ring it\n"))

    for command in ("serve", "play"):
        assert shell.run(command, "--endpoint", endpoint, "--model", "m") == 2
        assert f"'{endpoint}' is refused" in shell.err
    assert shell.json("campaigns")["campaigns"] == []


def test_a_public_endpoint_shows_wherever_the_endpoint_does(
    shell: Shell, played: str, server: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("PUBLIC_ENDPOINT", server.endpoint),
        ("ENDPOINT", server.endpoint),
        ("MODEL", "scripted-model"),
    ):
        monkeypatch.setenv(f"FABULA_{name}", value)
    monkeypatch.setattr(sys, "stdin", io.StringIO("I go on\n/where\n"))
    server.script(Reply("On and on."))

    assert shell.run("play", played, "--no-narrator") == 0
    assert f"told by scripted-model at {server.endpoint}, a public endpoint" in shell.out.replace("\n", " ")
    assert shell.run("audit", played, "8") == 0
    assert f"to {server.endpoint} (public), chat" in shell.out.replace("\n", " ")
    assert shell.json("audit", played, "8")["public_endpoint"] is True
    assert shell.json("audit", played, "6")["public_endpoint"] is False
    assert shell.run("settings") == 0
    assert f"{server.endpoint} (public)" in shell.out
    assert "public_endpoint" not in shell.out
    assert shell.json("settings")["public_endpoint"] is True
    assert shell.run("settings", "test") == 0
    assert f"{server.endpoint} (public)" in shell.out
    assert shell.run("doctor") == 0
    assert f"FABULA_PUBLIC_ENDPOINT allows {server.endpoint}" in shell.out
    assert shell.run("settings", "set", "public_endpoint", "false") == 2


@pytest.mark.parametrize("command", [("serve",), ("play",), ("settings",), ("doctor",), ("campaigns",)])
def test_a_public_endpoint_that_cannot_be_one_is_refused_at_the_start(
    shell: Shell, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABULA_PUBLIC_ENDPOINT", "https://models.test/v1,models.test")

    assert shell.run(*command) == 2
    assert "FABULA_PUBLIC_ENDPOINT: 'models.test' cannot be allowed: it is not an http or https URL" in shell.err
    assert not shell.home.exists()


def test_a_mistake_of_ours_is_a_sentence_too(shell: Shell, played: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("api.cli.story.story_page", broken)

    assert shell.run("story", played) == 3
    assert "ZeroDivisionError: by zero" in shell.err
    assert "Traceback" not in shell.err


def test_the_home_of_the_environment_is_obeyed(
    shell: Shell, played: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FABULA_HOME", str(shell.home))

    with pytest.raises(SystemExit) as ended:
        exits.run(app, ["campaigns", "--json"])
    assert ended.value.code == 0
    assert played in capsys.readouterr().out


# As programs of their own


def program(*arguments: str, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([*FABULA, *arguments], capture_output=True, timeout=60, check=False, **more)


def test_every_answer_is_the_servers_own_also_while_it_serves(
    shell: Shell, played: str, server: ScriptedModelServer
) -> None:
    port = os.environ["FABULA_PORT"]
    where = f"http://127.0.0.1:{port}/api"
    given = ["--home", str(shell.home), "--endpoint", server.endpoint, "--model", "scripted-model"]
    serving = subprocess.Popen(
        [*FABULA, "serve", *given, "--no-narrator"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "FABULA_PUBLIC_ENDPOINT": "https://models.test/v1"},
    )
    try:
        assert serving.stdout is not None
        ready = serving.stdout.readline()
        assert b"is ready at" in ready
        assert b"public endpoints allowed: https://models.test/v1" in ready
        for path, command in (
            ("/campaigns", ("campaigns",)),
            (f"/campaigns/{played}", ("campaigns", "show", played)),
            (f"/campaigns/{played}/story", ("story", played)),
            (f"/campaigns/{played}/nodes/6/prompt", ("audit", played, "6")),
            (f"/campaigns/{played}/events", ("events", played)),
            (f"/campaigns/{played}/verify", ("verify", played)),
            ("/projections", ("rebuild", "--status")),
        ):
            answer = httpx.get(f"{where}{path}", trust_env=False).json()
            assert shell.json(*command) == answer, path
        tested = httpx.post(f"{where}/settings/test", trust_env=False).json()
        os.environ["FABULA_ENDPOINT"], os.environ["FABULA_MODEL"] = server.endpoint, "scripted-model"
        assert shell.json("settings") == httpx.get(f"{where}/settings", trust_env=False).json()
        assert shell.json("settings", "test") == tested
        assert shell.run("doctor") == 0
        assert f"serves at http://127.0.0.1:{port} already" in shell.out
        assert shell.run("serve", "--no-narrator") == 3
        assert shell.err.startswith(f"Fabula serves there already: http://127.0.0.1:{port}. Use it, stop it, or ")
    finally:
        os.environ.pop("FABULA_ENDPOINT", None)
        os.environ.pop("FABULA_MODEL", None)
        serving.send_signal(signal.SIGINT)
        serving.communicate(timeout=30)
    assert serving.returncode == 0


def test_a_reader_who_goes_away_ends_it_quietly(shell: Shell, played: str) -> None:
    with subprocess.Popen(
        [*FABULA, "story", played, "--home", str(shell.home)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as reading:
        assert reading.stdout is not None
        assert reading.stderr is not None
        reading.stdout.close()
        said = reading.stderr.read()
        reading.wait(30)
    assert (reading.returncode, said) == (141, b"")


@pytest.mark.parametrize("options", [(), ("--json",), ("--all",)])
def test_output_that_cannot_be_written_is_no_mistake_of_ours(
    shell: Shell, played: str, options: tuple[str, ...]
) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [*FABULA, "story", played, *options, "--home", str(shell.home)],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 3
    assert ended.stderr.startswith(b"The output could not be written: No space left on device.")
    assert b"report" not in ended.stderr
    assert b"Traceback" not in ended.stderr


def test_events_are_followed_until_interrupted(shell: Shell, played: str) -> None:
    with subprocess.Popen(
        [*FABULA, "events", played, "--follow", "--json", "--home", str(shell.home)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as following:
        assert following.stdout is not None
        assert following.stderr is not None
        known = len(shell.json("events", played)["events"])
        seen = [orjson.loads(following.stdout.readline()) for _ in range(known)]
        shell.json("campaigns", "revise", played, "--title", "While you watch")
        seen.append(orjson.loads(following.stdout.readline()))
        following.send_signal(signal.SIGINT)
        said = following.stderr.read()
        following.wait(30)
    assert (following.returncode, said) == (0, b"")
    assert seen[-1]["topic"] == "campaign.revised"
    assert [event["version"] for event in seen] == list(range(1, known + 2))


def test_completion_offers_the_stories(shell: Shell, played: str) -> None:
    asked = {"_FABULA_COMPLETE": "complete_bash", "COMP_CWORD": "2", "COMP_WORDS": f"fabula story {played[:4]}"}
    program = [sys.executable, "-c", "import sys; sys.argv[0] = 'fabula'; from api.cli import main; main()"]
    variables = {**os.environ, **asked, "FABULA_HOME": str(shell.home)}

    ended = subprocess.run(program, env=variables, capture_output=True, timeout=60, check=False)

    assert (ended.stdout, ended.stderr) == (f"{played}\n".encode(), b"")


def test_a_title_says_nothing_to_the_shell_that_completes(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.json("campaigns", "new", "--title", 'Dóor [/red] "x" \\$(reboot) `y`:\n' + "z" * 99)
    monkeypatch.setenv("FABULA_HOME", str(shell.home))
    context = typer.Context(typer.main.get_command(app))

    ((campaign, title),) = campaign_ids(context, "c_")

    assert title.startswith("Dóor red x reboot y zzz")
    assert len(title) == 60
    assert list(campaign_ids(context, f"{campaign}x")) == []
    context.params["home"] = shell.home / "nowhere"
    assert list(campaign_ids(context, "")) == []
    (shell.home / "log.db").write_text("no database")
    context.params["home"] = shell.home
    assert list(campaign_ids(context, "")) == []


def test_lines_from_a_pipe_are_a_game_with_a_transcript(shell: Shell, server: ScriptedModelServer) -> None:
    server.script(Reply("A bell rings."), Reply("It \x1b[2Jstops."), Reply.refusal(503, "loading"))
    given = ["--home", str(shell.home), "--endpoint", server.endpoint, "--model", "scripted-model", "--no-narrator"]
    lines = b"The bell\nA rope hangs down.\nI pull it\n\n/takes\n/nothing\n/say\nI wait\nnever read\n"

    ended = program("play", "--new", *given, input=lines + b"\xff\n")

    transcript = ended.stdout.decode()
    assert ended.returncode == 3
    assert ended.stderr.startswith(b"The server at ")
    assert "A rope hangs down." in transcript
    assert "> I pull it\nA bell rings.\nMoment 3\n" in transcript
    assert "> \nIt ␛[2Jstops.\nMoment 4\n" in transcript
    assert "1. It ␛[2Jstops.  ← the story goes on from here" in transcript
    assert "There is no /nothing. /help lists" in transcript
    assert "Add the words, as in: /say" in transcript
    assert "Your words are kept: an empty line tells them again, and so does /retry." in transcript
    assert "never read" not in transcript
    story = shell.json("story", shell.json("campaigns")["campaigns"][0]["id"])
    assert [node["text"] for node in story["nodes"]][-1] == "I wait"


def test_the_first_questions_take_no_command_for_an_answer(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("/help\nThe bell\n/quit\n/x\nA bell hangs here.\n/quit\n"))

    assert shell.run("play", "--no-narrator") == 0
    assert shell.out.count("no commands before the story begins") == 3
    (row,) = shell.json("campaigns")["campaigns"]
    assert row["title"] == "The bell"
    assert [node["text"] for node in shell.json("story", row["id"])["nodes"]] == ["A bell hangs here."]


def test_a_game_that_nobody_names_ends_without_a_story(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))

    assert shell.run("play", "--no-narrator") == 0
    assert shell.err == ""
    assert shell.json("campaigns")["campaigns"] == []


def test_where_no_server_answers_the_game_says_what_to_do(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("The bell\nA bell hangs here.\nI ring it\n"))

    assert shell.run("play", "--no-narrator", "--endpoint", f"http://127.0.0.1:{free_port()}/v1", "--model", "m") == 3
    assert "No answer came from " in shell.err
    assert "Your words are kept: an empty line tells them again" in shell.out
    assert "`fabula doctor` says what answers" in shell.out


def test_a_failed_retry_leaves_the_story_where_it_was(
    shell: Shell, played: str, server: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("/retry\n"))
    server.script(Reply.refusal(500, "no"))
    given = ("--no-narrator", "--endpoint", server.endpoint, "--model", "scripted-model")

    assert shell.run("play", played, *given) == 3
    assert "an empty line lets it go on, /retry asks for another take" in shell.out


def test_a_story_and_a_new_one_are_not_played_at_once(shell: Shell, played: str) -> None:
    assert shell.run("play", played, "--new") == 2


# The tree and the difference


def test_a_tree_is_drawn_in_the_terminal_as_json_and_as_a_picture(shell: Shell, played: str, tmp_path: Path) -> None:
    assert shell.run("tree", played) == 0
    assert "you are here" in shell.out
    assert "takes" in shell.out
    assert shell.err == ""
    tree = shell.json("tree", played)
    assert ([node["node"] for node in tree["nodes"]], tree["head"], tree["tip"]) == ([1, 2, 3, 4, 5, 6], 6, 6)
    drawn = tmp_path / "tree.svg"
    assert shell.run("tree", played, "--svg", str(drawn)) == 0
    assert (shell.out, str(drawn) in shell.err.replace("\n", "")) == ("", True)
    assert drawn.read_text(encoding="utf-8").startswith("<svg")


def test_two_places_are_compared_in_the_terminal_as_json_and_on_a_page(
    shell: Shell, played: str, tmp_path: Path
) -> None:
    assert shell.run("diff", "3", "4") == 0
    assert "They share the story to moment 2" in shell.out
    assert "[-First.-]" in shell.out
    assert "{+It says ␛[31mred␀ and [bold]plain[/bold] :smile:.+}" in shell.out
    assert "\x1b" not in shell.out
    found = shell.json("diff", "3", "head")
    assert (found["left"]["node"], found["right"]["node"], found["common"]["node"]) == (3, 6, 2)
    page = tmp_path / "diff.html"
    assert shell.run("diff", "3", "head", "--html", str(page)) == 0
    assert "&lt;" not in shell.out
    assert "The [red]dóor" in page.read_text(encoding="utf-8")
    assert "<script" not in page.read_text(encoding="utf-8")


def test_places_may_name_their_story(shell: Shell, played: str) -> None:
    newer = shell.json("campaigns", "new", "--title", "Newer")["id"]
    for left, right, more in (
        (f"{played}:3", f"{played}:head", ()),
        (f"{played}:3", "head", ()),
        ("3", f"{played}:tip", ()),
        ("3", "head", ("--campaign", played)),
        (f"{played}:3", played, ()),
    ):
        found = shell.json("diff", left, right, *more)
        assert (found["left"]["node"], found["right"]["node"]) == (3, 6)
    assert shell.run("diff", f"{played}:3", f"{newer}:1") == 2
    assert "both places must be of one story" in shell.err
    assert shell.run("diff", "3", "head") == 2  # of the newest story, which has no node 3
    assert "has no node 3" in shell.err


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("99", "no node 99"),
        ("9" * 30, "no node 9999999999999999…"),
        ("nowhere", "Nothing in this story is called 'nowhere'"),
        ("position:x", "is no log position"),
        ("position:0", "began after position 0"),
        ("c_nowhere:1", "There is no campaign 'c_nowhere'"),
    ],
)
def test_a_place_to_compare_that_is_not_there_is_wrong_use(shell: Shell, played: str, place: str, said: str) -> None:
    assert shell.run("diff", place, place) == 2
    assert said in shell.err.replace("\n", " ")
    assert shell.out == ""


def test_without_a_story_there_is_nothing_to_compare_or_draw(shell: Shell) -> None:
    assert shell.run("diff", "1", "2") == 2
    assert shell.run("tree", "c_nowhere") == 2
    assert shell.run("campaigns", "new", "--title", "One") == 0
    assert shell.run("tree", "c_nowhere") == 2
    assert "There is no campaign 'c_nowhere'" in shell.err


# Moving about in the game


def game(shell: Shell, server: ScriptedModelServer, *lines: str, status: int = 0) -> str:
    """The transcript of a new game of these lines, of which the last one ends it."""
    given = ["--home", str(shell.home), "--endpoint", server.endpoint, "--model", "scripted-model", "--no-narrator"]
    typed = "".join(f"{line}\n" for line in ("The bell", "A rope hangs down.", *lines))
    ended = program("play", "--new", *given, input=typed.encode())
    transcript = ended.stdout.decode()
    assert ended.returncode == status, transcript + ended.stderr.decode()
    return transcript + ended.stderr.decode()


def test_a_game_goes_back_forth_and_aside(shell: Shell, server: ScriptedModelServer) -> None:
    server.script(Reply("A bell rings."), Reply("It rings on."), Reply("It stops."), Reply("A door opens."))
    seen = game(
        shell, server,
        "I pull it", "/save the first ring", "/retry", "I let go", "/undo", "/undo", "/redo",
        "/select 1", "/restore the first ring", "/saves", "/restore 6", "/branch Silence", "/undo", "I turn around",
        "/restore silence", "/tree", "/diff silence 8", "/where", "/quit",
    )  # fmt: skip
    at = 0
    for expected in (
        "> I pull it\nA bell rings.\nMoment 3\n",
        "> /save the first ring\nMoment 3 is saved as the first ring. /restore the first ring comes back to it.\n",
        "> /retry\nIt rings on.\nMoment 3\n",
        "> I let go\nIt stops.\nMoment 5\n",
        "> /undo\nIt rings on.\n\nMoment 3 · later story ahead\n",
        "> /undo\nA rope hangs down.\n\nMoment 1 · later story ahead\n",
        "> /redo\nIt rings on.\n\nMoment 3 · later story ahead\n",
        "> /select 1\nA bell rings.\n\nMoment 3\n",
        "> /restore the first ring\nA bell rings.\n\nMoment 3\n",
        "> /saves\nthe first ring: moment 3, node 3\n",
        "> /restore 6\nIt stops.\n\nMoment 5\n",
        "> /branch Silence\nBranch 2 is called Silence.\n",
        "> /undo\nIt rings on.\n\nMoment 3 · later story ahead\n",
        "> I turn around\nA door opens.\nMoment 5\n",
        "> /restore silence\nIt stops.\n\nMoment 5\n",
        "you are here",
        "They share the story to moment 3",
        "Moment 5 of c_",
    ):
        found = seen.find(expected, at)
        assert found >= 0, f"{expected!r} is not in {seen[at:]}"
        at = found


def test_a_game_writes_anew_and_mends(shell: Shell, server: ScriptedModelServer) -> None:
    server.script(Reply("A bel rings."))
    seen = game(
        shell, server,
        "I pull it", "/correct A bell rings.", "/revise A gong sounds.", "/takes", "/select 1", "/quit",
    )  # fmt: skip
    for expected in (
        "> /correct A bell rings.\nA bell rings.\n\nMoment 3\n",
        "> /revise A gong sounds.\nA gong sounds.\n\nMoment 3\n",
        "1. A bell rings.\n2. A gong sounds.  ← the story goes on from here\n",
        "> /select 1\nA bell rings.\n\nMoment 3\n",
    ):
        assert expected in seen, seen


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/undo", "The story stands at its opening; there is nothing before it."),
        ("/redo", "The story stands at its newest moment here."),
        ("/restore 99", "has no node 99"),
        ("/restore " + "9" * 5000, "has no node 9999999999999999…"),
        ("/restore nowhere", "Nothing in this story is called 'nowhere'"),
        ("/restore position:0", "began after position 0"),
        ("/save 12", "already means another place"),
        ("/save " + "x" * 10_000, "a name has 200 characters at most, and this one 10,000"),
        ("/branch head", "already means another place"),
        ("/revise Another opening.", "the opening has no sibling"),
        ("/diff nowhere", "Nothing in this story is called 'nowhere'"),
    ],
)
def test_what_cannot_be_in_a_game_is_said_and_ends_it_where_nobody_reads(
    shell: Shell, server: ScriptedModelServer, line: str, said: str
) -> None:
    seen = game(shell, server, line, "never read", status=2)
    assert said in seen.replace("\n", " ")
    assert "> never read" not in seen


def test_a_game_says_how_a_move_is_asked_for(shell: Shell, server: ScriptedModelServer) -> None:
    seen = game(
        shell, server,
        "/select", "/select 0", "/select 2", "/select " + "9" * 5000, "/select ²", "/restore", "/saves", "/diff",
        "/diff 1 2 3", "/save", "/revise", "/correct", "/branch", "/help", "/quit",
    )  # fmt: skip
    assert seen.count("Name a take from 1 to 1, as /takes lists them: /select 1") == 5
    assert "Name a save point, a branch or a node, as in: /restore before the storm" in seen
    assert "There are none yet. /save NAME sets one." in seen
    assert seen.count("Name one place to compare with here, or two, as in: /diff 12 31") == 2
    assert "Add the name, as in: /save before the storm" in seen
    assert "Add the words, as in: /revise" in seen
    assert "Add the words, as in: /correct" in seen
    assert "Add the name, as in: /branch the harbour" in seen
    for word in ("/undo", "/redo", "/select", "/save", "/saves", "/restore", "/revise", "/correct", "/branch", "/tree"):
        assert f"  {word} " in seen
