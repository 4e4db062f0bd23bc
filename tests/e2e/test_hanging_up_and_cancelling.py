"""Hanging up does not cancel a turn. Cancelling does: the connection to the model is closed, and what came is kept."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from tests.e2e.conftest import Start
from tests.e2e.player import Player, problem
from tests.e2e.server_process import Launch, ServerProcess, wait_until
from tests.e2e.wholeness import assert_whole
from tests.fakes.model_server import Reply, ScriptedModelServer


def test_the_narration_is_there_although_whoever_streamed_it_hung_up(
    server: ServerProcess, home: Path, model: ScriptedModelServer
) -> None:
    go_on = Event()
    model.script(Reply("The floor gives way below.", hang_until=go_on, hang_after=2))
    player = Player.of_a_new_story(server)
    with player.listen("I step through") as listening:
        listening.hang_up()
        listening.until_over()
    assert listening.broke
    assert player.position()["turn_in_progress"] == listening.turn
    go_on.set()
    wait_until(lambda: player.position()["turn_in_progress"] is None, "the turn to end")
    assert player.told() == [("do", "I step through"), ("narration", "The floor gives way below.")]
    assert model.disconnects == 0
    assert server.stop() == 0
    assert "Traceback" not in server.stderr
    assert_whole(home)


def test_the_narration_is_there_although_whoever_waited_for_the_json_answer_hung_up(
    server: ServerProcess, home: Path, model: ScriptedModelServer
) -> None:
    go_on = Event()
    model.script(Reply("The floor gives way below.", hang_until=go_on))
    player = Player.of_a_new_story(server)
    with server.new_client() as impatient:
        request = impatient.build_request("POST", f"{player.path}/turns", json={"kind": "do", "text": "I step through"})
        with player.abandoned(request):
            wait_until(lambda: model.narrations, "the model to be asked")
    go_on.set()
    wait_until(lambda: player.position()["turn_in_progress"] is None, "the turn to end")
    assert player.told() == [("do", "I step through"), ("narration", "The floor gives way below.")]
    assert server.stop() == 0
    assert "Traceback" not in server.stderr
    assert_whole(home)


CLOSED_WITHIN_SECONDS = 1.0
"""How soon the model server sees its connection closed: at once, and by another server within its look at the log."""


@contextmanager
def _the_model_is_let_go(model: ScriptedModelServer) -> Iterator[None]:
    """What is done here closes the connection to the model, as the model's own socket sees it, in no time."""
    assert model.disconnects == 0
    started = time.monotonic()
    yield
    assert model.wait_for_disconnect(CLOSED_WITHIN_SECONDS)
    assert time.monotonic() - started < 2 * CLOSED_WITHIN_SECONDS


def _assert_cancelled(player: Player, turn: str, partial: str) -> None:
    assert player.endings()[turn] == ["cancelled"]
    reply = player.get(f"/turns/{turn}/reply")
    assert (reply["ended"], reply["raw_reply"], reply["error"]) == ("cancelled", partial, "turn_cancelled")
    assert player.told() == [("do", "I step through")]
    assert player.get("/position") | {"label": ""} == {
        "head": 2,
        "moment": 2,
        "label": "",
        "can_undo": True,
        "can_redo": False,
        "takes": [2],
        "turn_in_progress": None,
    }


def test_cancelling_closes_the_connection_to_the_model_and_keeps_words_and_partial_reply(
    server: ServerProcess, home: Path, model: ScriptedModelServer
) -> None:
    model.script(Reply("The floor gives way below.", hang_until=Event(), hang_after=3))
    player = Player.of_a_new_story(server)
    with player.listen("I step through") as listening:
        listening.until("delta", 3)
        with _the_model_is_let_go(model):
            answer = player.cancel(listening.turn)
        told = listening.until("error").data
    assert answer.status_code == 200
    assert (answer.json()["ended"], answer.json()["position"]["head"]) == ("cancelled", 2)
    assert (told["status"], told["code"], told["player_node"]) == (409, "turn_cancelled", 2)
    _assert_cancelled(player, listening.turn, "The floor gives")
    assert problem(player.cancel(listening.turn)) == (409, "turn_not_running")
    assert problem(player.cancel("t_aaaaaaaaaa")) == (404, "unknown_turn")
    assert problem(Player(server, "c_aaaaaaaaaa").cancel(listening.turn)) == (404, "unknown_campaign")
    taken = player.go_on().json()
    assert taken["player_node"] == 2
    assert problem(player.cancel(taken["turn"])) == (409, "turn_not_running")
    assert server.stop() == 0
    assert_whole(home)


def test_a_turn_is_cancelled_before_the_model_has_said_anything(
    server: ServerProcess, home: Path, model: ScriptedModelServer
) -> None:
    model.script(Reply("Never said.", hang_until=Event()))
    player = Player.of_a_new_story(server)
    with player.waiting("I step through") as answer:
        wait_until(lambda: model.narrations, "the model to be asked")
        turn = player.position()["turn_in_progress"]
        with _the_model_is_let_go(model):
            assert player.cancel(turn).json()["ended"] == "cancelled"
        assert problem(answer()) == (409, "turn_cancelled")
    _assert_cancelled(player, turn, "")
    assert server.stop() == 0
    assert_whole(home)


def test_a_turn_is_cancelled_through_another_server(
    server: ServerProcess, start: Start, home: Path, model: ScriptedModelServer
) -> None:
    other = start(Launch(home, model.endpoint)).until_ready()
    model.script(Reply("The floor gives way below.", hang_until=Event(), hang_after=3))
    player = Player.of_a_new_story(server)
    with player.listen("I step through") as listening:
        listening.until("delta", 3)
        with _the_model_is_let_go(model):
            answer = player.through(other).cancel(listening.turn)
        assert listening.until("error").data["code"] == "turn_cancelled"
    assert answer.json()["ended"] == "cancelled"
    _assert_cancelled(player.through(other), listening.turn, "The floor gives")
    assert player.through(other).retry().json()["player_node"] == 2
    assert [server.stop(), other.stop()] == [0, 0]
    assert_whole(home)


def test_a_cancel_through_another_server_ends_though_the_owner_was_killed(
    server: ServerProcess, start: Start, home: Path, model: ScriptedModelServer
) -> None:
    other = start(Launch(home, model.endpoint)).until_ready()
    model.script(Reply("The floor gives way below.", hang_until=Event(), hang_after=1))
    player = Player.of_a_new_story(server)
    with player.listen("I step through") as listening:
        listening.until("delta")
        server.kill()
    assert problem(player.through(other).cancel(listening.turn)) == (409, "turn_not_running")
    assert player.through(other).endings() == {listening.turn: ["interrupted"]}
    assert other.stop() == 0
    assert_whole(home)
