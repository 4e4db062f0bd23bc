"""Two servers and a command line on one PostgreSQL database, as somebody would run them; and what they say when it is gone."""

import subprocess
from pathlib import Path
from threading import Event

import pytest

from tests.e2e.conftest import Start
from tests.e2e.player import Player
from tests.e2e.server_process import FABULA, Launch, wait_until
from tests.fakes.model_server import Reply, ScriptedModelServer
from tests.fakes.postgresql import running_server


def fabula(url: str, home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """A command, as it is typed."""
    environment = {"FABULA_DATABASE_URL": url, "FABULA_HOME": str(home), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [str(FABULA), *arguments], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_two_servers_on_one_database_tell_the_same_stories_and_one_takes_over_from_the_dead(
    start: Start, tmp_path: Path, model: ScriptedModelServer, database_url: str
) -> None:
    environment = {"FABULA_DATABASE_URL": database_url}
    one, other = (
        start(Launch(tmp_path / name, model.endpoint, environment=environment)).until_ready()
        for name in ("one", "other")
    )
    assert "(store: postgresql://postgres@/test_" in one.stdout
    assert "secret" not in one.stdout + other.stdout
    player = Player.of_a_new_story(one)
    assert player.act("I look").status_code == 200
    elsewhere = player.through(other)
    wait_until(lambda: len(elsewhere.told()) == 2, "the story to be read through the other server")
    model.script(Reply("The floor gives way below.", hang_until=Event(), hang_after=1))
    listening = player.listen("I step through")
    listening.until("delta")
    assert elsewhere.act("I do too").status_code == 409
    one.kill()
    listening.until_over()
    wait_until(lambda: elsewhere.position()["turn_in_progress"] is None, "the dead turn to be closed")
    assert elsewhere.act("I step through").status_code == 200
    assert sorted(ends for (ends,) in elsewhere.endings().values()) == ["accepted", "accepted", "interrupted"]
    assert other.stop() == 0
    assert "Traceback" not in other.stderr
    verified = fabula(database_url, tmp_path / "other", "verify")
    assert (verified.returncode, verified.stderr) == (0, "")
    assert "The log is whole" in verified.stdout


def test_commands_name_the_database_and_say_what_to_do(tmp_path: Path) -> None:
    with running_server() as server, server.database() as url:
        none = fabula(url, tmp_path, "campaigns")
        assert none.returncode == 2
        assert none.stderr.startswith("postgresql://postgres@/test_1?host=")
        assert "holds no store. `fabula play` begins a story there; FABULA_DATABASE_URL names another" in none.stderr
        assert fabula(url, tmp_path, "campaigns", "new", "--title", "The door").returncode == 0
        assert not (tmp_path / "log.db").exists()
        well = fabula(url, tmp_path, "doctor")
        assert "The store at postgresql://postgres@/test_1" in " ".join(well.stdout.split())
        server.stop()
        gone = [fabula(url, tmp_path, asked) for asked in ("campaigns", "doctor", "serve")]
        server.start()
    for said in (none, well, *gone):
        assert "secret" not in said.stdout + said.stderr
        assert "Traceback" not in said.stdout + said.stderr
    for said in gone:
        told = " ".join((said.stdout + said.stderr).split())
        assert "there is no connection to postgresql://postgres@/test_1" in told
        assert "Start it, or mend FABULA_DATABASE_URL" in told
    assert [said.returncode for said in gone if "doctor" not in said.args] == [3, 3]


@pytest.mark.parametrize("url", ["sqlite:///geheim.db", "postgresql://a:gehe@im@b/c"])
def test_what_is_no_database_is_refused_and_nothing_is_kept_elsewhere(tmp_path: Path, url: str) -> None:
    refused = fabula(url, tmp_path, "campaigns", "new", "--title", "The door")
    assert refused.returncode == 2
    assert refused.stderr.startswith("FABULA_DATABASE_URL: ")
    assert "gehe" not in refused.stderr
    assert list(tmp_path.iterdir()) == []
