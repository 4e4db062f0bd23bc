"""A server that is told to stop: it stops soon and in order, and running turns are closed with what had come."""

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import httpx
import pytest

from tests.e2e.conftest import Start
from tests.e2e.player import Player
from tests.e2e.server_process import Launch, ServerProcess, wait_until
from tests.e2e.wholeness import assert_whole
from tests.fakes.model_server import Reply, ScriptedModelServer

SOON = 8.0
signals = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)


def assert_ends_in_order(server: ServerProcess, *numbers: signal.Signals) -> None:
    """It ends with status 0 in eight seconds after these signals, and has nothing to complain of."""
    began = time.monotonic()
    for number in numbers:
        server.signal(number)
    assert server.wait() == 0, server.stderr
    assert time.monotonic() - began < SOON
    assert "Traceback" not in server.stderr
    assert "never retrieved" not in server.stderr


@contextmanager
def following(server: ServerProcess, path: str) -> Iterator[httpx.Response]:
    """A stream of events that goes on for ever."""
    with server.new_client() as client, client.stream("GET", path, headers={"Accept": "text/event-stream"}) as answer:
        yield answer


@signals
def test_a_running_turn_is_closed_as_interrupted_with_what_had_come(
    number: signal.Signals, server: ServerProcess, start: Start, home: Path, model: ScriptedModelServer
) -> None:
    model.script(Reply("The floor gives way below.", hang_until=Event(), hang_after=3))
    player = Player.of_a_new_story(server)
    with player.listen("I step through") as listening:
        listening.until("delta", 3)
        assert_ends_in_order(server, number)
        told = listening.until("error").data
    assert (told["status"], told["code"], told["turn"]) == (503, "turn_interrupted", listening.turn)
    assert model.wait_for_disconnect()
    assert_whole(home)
    again = player.through(start(Launch(home, model.endpoint)).until_ready())
    assert again.endings() == {listening.turn: ["interrupted"]}
    reply = again.get(f"/turns/{listening.turn}/reply")
    assert (reply["ended"], reply["raw_reply"]) == ("interrupted", "The floor gives")
    assert again.told() == [("do", "I step through")]
    assert again.retry().json()["player_node"] == 2


def test_it_stops_soon_though_others_wait_follow_and_ask_again(
    server: ServerProcess, home: Path, model: ScriptedModelServer
) -> None:
    model.script(*[Reply("The floor gives.", hang_until=Event()) for _ in range(2)])
    waiting, listening_to = Player.of_a_new_story(server), Player.of_a_new_story(server)
    with following(server, f"{waiting.path}/events") as follower, listening_to.listen("I listen") as listening:
        followed = follower.iter_text()
        assert "event: event" in next(followed)
        listening.until("accepted")
        with waiting.listen("I wait") as other:
            other.until("accepted")
            wait_until(lambda: len(model.narrations) == 2, "both to be asked")
            assert_ends_in_order(server, signal.SIGTERM)
            assert other.until("error").data["code"] == "turn_interrupted"
        assert listening.until("error").data["code"] == "turn_interrupted"
    assert_whole(home)


def test_somebody_who_waits_for_the_json_answer_is_told_too(
    server: ServerProcess, home: Path, model: ScriptedModelServer
) -> None:
    model.script(Reply("The floor gives.", hang_until=Event()))
    player = Player.of_a_new_story(server)
    with player.waiting("I step through") as answer:
        wait_until(lambda: model.narrations, "the model to be asked")
        assert_ends_in_order(server, signal.SIGTERM)
        assert answer().json()["code"] == "turn_interrupted"
    assert_whole(home)


def test_a_second_signal_changes_nothing_but_the_haste(
    server: ServerProcess, home: Path, model: ScriptedModelServer
) -> None:
    model.script(Reply("The floor gives.", hang_until=Event(), hang_after=1))
    player = Player.of_a_new_story(server)
    with following(server, f"{player.path}/events"), player.listen("I step through") as listening:
        listening.until("delta")
        assert_ends_in_order(server, signal.SIGINT, signal.SIGINT)
    assert_whole(home)


@signals
def test_it_can_be_stopped_while_its_narrator_is_still_loading(
    number: signal.Signals, start: Start, home: Path, model: ScriptedModelServer
) -> None:
    model.answer("GET", "/v1/models", {"error": {"code": 503, "message": "Loading model"}}, status=503)
    launch = Launch(home, more=(), environment={"FABULA_NARRATOR_PORT": str(model.port)})
    server = start(launch)
    wait_until(lambda: list(home.glob("locks/*.lock")), "the store to be open")
    assert model.wait_for_requests(3)
    assert_ends_in_order(server, number)
    assert not server.stdout


def test_a_taken_port_is_said_clearly_and_nothing_is_started(start: Start, home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = start(Launch(home, "http://127.0.0.1:9/v1", port=port))
        assert server.wait() == 3
    said = server.stderr.strip()
    assert said.endswith(
        f"Something else listens on 127.0.0.1:{port}. Stop it, or choose another port with --port or FABULA_PORT."
    )
    assert "Traceback" not in said
    assert not home.exists()


def test_the_installed_command_says_one_line_plays_and_stops(
    start_as_installed: Start, home: Path, model: ScriptedModelServer
) -> None:
    with start_as_installed(Launch(home, model.endpoint)).until_ready() as server:
        assert Player.of_a_new_story(server).act("I step through").status_code == 200
        assert_ends_in_order(server, signal.SIGTERM)
        assert len(server.stdout.splitlines()) == 1
    assert not list(home.glob("locks/*.lock"))
