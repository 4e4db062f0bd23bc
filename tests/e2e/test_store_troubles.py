"""A disk that is full, read-only or broken: nothing half-written, what was acknowledged is there, and it goes on after."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from tests.e2e.conftest import Start
from tests.e2e.player import Player, problem
from tests.e2e.private_disk import PrivateDisk, private_disk
from tests.e2e.server_process import Launch, ServerProcess, wait_until
from tests.e2e.wholeness import assert_whole
from tests.fakes.model_server import Reply, ScriptedModelServer


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[PrivateDisk]:
    with private_disk(tmp_path / "disk", 8) as mounted:
        yield mounted


@pytest.fixture
def on_disk(start: Start, disk: PrivateDisk, model: ScriptedModelServer) -> ServerProcess:
    """A server whose store is on the small disk."""
    return start(Launch(disk.path / "home", model.endpoint, mounts_of=disk.pid)).until_ready()


def _assert_whole_on(disk: PrivateDisk, copy: Path) -> None:
    shutil.copytree(disk.outside / "home", copy)
    assert_whole(copy)


def test_a_turn_on_a_full_disk_is_refused_and_the_next_one_plays_when_there_is_room(
    disk: PrivateDisk, on_disk: ServerProcess, tmp_path: Path
) -> None:
    player = Player.of_a_new_story(on_disk)
    assert player.act("I look through the door").status_code == 200
    acknowledged = player.told()
    disk.fill()
    for _ in range(2):
        assert problem(player.act("I step through")) == (503, "store_full")
    assert problem(player.retry()) == (503, "store_full")
    refused = on_disk.client.post("/api/campaigns", json={"title": "Another"})
    assert problem(refused) == (503, "store_full")
    assert len(player.events("story.turn_opened")) == 1
    assert player.position()["turn_in_progress"] is None
    assert player.told() == acknowledged
    assert player.get("/verify")["ok"]
    disk.make_room()
    assert player.act("I step through").status_code == 200
    assert [text for kind, text in player.told() if kind == "do"] == ["I look through the door", "I step through"]
    assert on_disk.stop() == 0
    assert "Traceback" not in on_disk.stderr
    _assert_whole_on(disk, tmp_path / "copy")


def test_a_disk_that_fills_up_in_the_middle_of_a_turn_loses_nothing_but_the_reply(
    disk: PrivateDisk, on_disk: ServerProcess, start: Start, tmp_path: Path, model: ScriptedModelServer
) -> None:
    other = start(Launch(disk.path / "home", model.endpoint, mounts_of=disk.pid)).until_ready()
    go_on = Event()
    model.script(Reply("The floor gives way below.", hang_until=go_on, hang_after=2))
    player = Player.of_a_new_story(on_disk)
    with player.listen("I step through") as listening:
        listening.until("delta", 2)
        disk.fill()
        go_on.set()
        told = listening.until("error").data
    assert (told["status"], told["code"], told["turn"]) == (503, "store_full", listening.turn)
    assert problem(player.retry()) == (503, "store_full")
    assert player.get("/verify")["ok"]
    disk.make_room()
    elsewhere = player.through(other)
    wait_until(lambda: elsewhere.position()["turn_in_progress"] is None, "the open turn to be closed")
    assert elsewhere.endings() == {listening.turn: ["reply"]}
    assert elsewhere.get(f"/turns/{listening.turn}/reply")["raw_reply"] == "The floor gives way below."
    assert elsewhere.retry().json()["player_node"] == 2
    assert [kind for kind, _ in player.told()] == ["do", "narration"]
    assert [on_disk.stop(), other.stop()] == [0, 0]
    _assert_whole_on(disk, tmp_path / "copy")


def test_a_server_that_is_killed_on_a_full_disk_is_followed_by_one_that_closes_its_turn(
    disk: PrivateDisk, on_disk: ServerProcess, start: Start, tmp_path: Path, model: ScriptedModelServer
) -> None:
    model.script(Reply("The floor gives way below.", hang_until=Event(), hang_after=2))
    player = Player.of_a_new_story(on_disk)
    with player.listen("I step through") as listening:
        listening.until("delta", 2)
        disk.fill()
        on_disk.kill()
    launch = Launch(disk.path / "home", model.endpoint, mounts_of=disk.pid)
    refused = start(launch)
    assert refused.wait() == 3
    assert "is full, so nothing was recorded" in refused.stderr
    assert "Traceback" not in refused.stderr
    disk.make_room()
    fresh = start(launch).until_ready()
    assert player.through(fresh).endings() == {listening.turn: ["interrupted"]}
    assert player.through(fresh).go_on().json()["player_node"] == 2
    assert fresh.stop() == 0
    _assert_whole_on(disk, tmp_path / "copy")


def test_a_store_that_becomes_read_only_refuses_the_turn_and_writes_no_half_of_it(
    start: Start, tmp_path: Path, model: ScriptedModelServer
) -> None:
    """ext4 does this to a disk that fails; no file system that is being written to can be remounted read-only."""
    with private_disk(tmp_path / "failing", 48, "ext4") as disk:
        server = start(Launch(disk.path / "home", model.endpoint, mounts_of=disk.pid)).until_ready()
        player = Player.of_a_new_story(server)
        assert player.act("I look through the door").status_code == 200
        acknowledged, events = player.told(), player.events()
        disk.remount("abort")
        for answer in (player.act("I step through"), player.retry(), player.go_on()):
            assert problem(answer) == (503, "store_read_only")
            assert str(disk.path) in answer.json()["detail"]
        assert player.told() == acknowledged
        assert player.events() == events
        assert player.get("/verify")["ok"]
        assert server.stop() == 0
        assert "Traceback" not in server.stderr
        shutil.copytree(disk.outside / "home", tmp_path / "copy")
    assert_whole(tmp_path / "copy")


@pytest.mark.parametrize("played", [False, True], ids=["empty", "with a story"])
def test_no_server_starts_on_a_home_that_cannot_be_written(
    start: Start, disk: PrivateDisk, model: ScriptedModelServer, played: bool
) -> None:
    launch = Launch(disk.path / "home", model.endpoint, mounts_of=disk.pid)
    if played:
        with start(launch).until_ready() as server:
            Player.of_a_new_story(server).act("I step through")
            assert server.stop() == 0
    disk.remount("ro")
    refused = start(launch)
    assert refused.wait() == 3
    assert "is read-only, so nothing was recorded" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not refused.stdout


@pytest.mark.parametrize("damage", ["garbage", "half of it gone", "no file but a directory"])
def test_a_log_that_is_no_log_is_said_clearly(server: ServerProcess, start: Start, home: Path, damage: str) -> None:
    player = Player.of_a_new_story(server)
    assert player.act("I step through").status_code == 200
    assert server.stop() == 0
    log = home / "log.db"
    with closing(sqlite3.connect(log)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    _damage(log, damage)
    refused = start(Launch(home, server.launch.endpoint))
    assert refused.wait() == 3, refused.stderr
    assert "Traceback" not in refused.stderr
    assert ("does not answer" if log.is_dir() else "restore it from a backup") in refused.stderr
    assert str(log) in refused.stderr


def _damage(log: Path, damage: str) -> None:
    if damage == "garbage":
        log.write_bytes(b"This was a story once. " * 4000)
    elif damage == "half of it gone":
        log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    else:
        log.unlink()
        log.mkdir()
