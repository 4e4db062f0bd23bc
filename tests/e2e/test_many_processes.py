"""Two servers and two workers on one PostgreSQL database, and twenty stories that are played at once through both servers."""

import random
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path

import pytest

from adapters.event_log.log import SqlEventLog
from adapters.event_log.postgresql import PostgresqlStore
from adapters.postgresql import PostgresqlDatabase
from projections.all import ALL, open_views
from projections.engine.database_storage import DatabaseStorage
from tests.e2e.conftest import Start
from tests.e2e.player import Player
from tests.e2e.server_process import ANSWER_SECONDS, FABULA, Launch, ServerProcess
from tests.fakes.model_server import ScriptedModelServer
from tests.fakes.time_and_names import NumberedNames, TickingClock

STORIES = 20
TURNS = 6


@contextmanager
def worker(url: str, directory: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """`fabula worker` on the database, from its first line to its end in order, without a word of complaint."""
    directory.mkdir()
    with (directory / "stderr").open("wb") as complaints:
        process = subprocess.Popen(
            [str(FABULA), "worker"],
            env={"FABULA_DATABASE_URL": url, "FABULA_HOME": str(directory), "PATH": "/usr/bin:/bin"},
            stdout=subprocess.PIPE,
            stderr=complaints,
        )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"Fabula works at postgresql://postgres@/test_")
        yield process
        process.terminate()
        assert process.wait(ANSWER_SECONDS) == 0
        said = (directory / "stderr").read_text()
        assert "error" not in said
        assert "Traceback" not in said
    finally:
        process.kill()
        process.communicate()


def play(number: int, servers: tuple[ServerProcess, ServerProcess]) -> Player:
    """A story of some turns, each through the other server than the one before, read through both."""
    chance = random.Random(number)
    first = Player.of_a_new_story(servers[number % 2], title=f"Story {number}")
    players = [first, first.through(servers[(number + 1) % 2])]
    sides = cycle(players)
    narrations = 0
    for turn in range(TURNS):
        player = next(sides)
        asked = player.retry() if narrations and chance.random() < 0.2 else player.act(f"I take step {turn}")
        assert asked.status_code == 200, asked.text
        narrations += 1
        answer = asked.json()
        for side in players:  # whoever is asked has it
            assert (answer["node"], answer["prose"]) in [
                (node["node"], node["text"]) for node in side.get("/story")["nodes"]
            ]
        if chance.random() < 0.3:
            assert player.post("/undo").status_code == 200
            assert next(sides).post("/redo").status_code == 200
    assert len(first.endings()) == narrations
    return first


def test_stories_played_at_once_through_two_servers_beside_two_workers_lose_and_double_nothing(
    start: Start, tmp_path: Path, model: ScriptedModelServer, database_url: str
) -> None:
    environment = {"FABULA_DATABASE_URL": database_url}
    with ExitStack() as stack:
        one, other = (
            start(Launch(tmp_path / name, model.endpoint, environment=environment)) for name in ("one", "other")
        )
        servers = one.until_ready(), other.until_ready()
        for name in ("first", "second"):
            stack.enter_context(worker(database_url, tmp_path / name))
        pool = stack.enter_context(ThreadPoolExecutor(STORIES))
        players = list(pool.map(lambda number: play(number, servers), range(STORIES)))
        told = {player.campaign: len(player.endings()) for player in players}
        listed = players[0].server.client.get("/api/campaigns", params={"limit": 100}).json()["campaigns"]
        assert {row["id"]: row["turns"] for row in listed} == told
        for server in servers:
            assert server.stop() == 0
            assert "Traceback" not in server.stderr
            assert "error" not in server.stderr
    assert_nothing_is_lost_or_doubled(database_url, told, len(model.narrations))


def assert_nothing_is_lost_or_doubled(url: str, told: dict[str, int], narrations: int) -> None:
    log = SqlEventLog(PostgresqlStore(url), TickingClock(), NumberedNames())
    views = open_views(DatabaseStorage(PostgresqlDatabase(url)), log)
    try:
        assert log.verify().ok
        events = log.read(0, 100_000)
        assert [event.position for event in events] == list(range(1, len(events) + 1))
        accepted = [event for event in events if event.topic == "story.narration_accepted"]
        assert len(accepted) == sum(told.values()) == narrations
        assert len({event.turn for event in accepted}) == len(accepted)
        assert [status.lag for status in views.status()] == [0] * len(ALL)
        assert [views.check(projection.name) for projection in ALL] == [None] * len(ALL)
    finally:
        views.stop()
        log.close()


@pytest.mark.parametrize("number", [2, 15])
def test_a_worker_ends_in_order_when_it_is_told_to(database_url: str, tmp_path: Path, number: int) -> None:
    SqlEventLog(PostgresqlStore(database_url), TickingClock(), NumberedNames()).close()
    with worker(database_url, tmp_path / "worker") as working:
        working.send_signal(number)
        assert working.wait(ANSWER_SECONDS) == 0


def test_a_worker_without_a_store_makes_none_and_says_so(tmp_path: Path) -> None:
    home = tmp_path / "mistyped"
    said = subprocess.run(
        [str(FABULA), "worker", "--home", str(home)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith(f"{home} holds no store.")
    assert not home.exists()
