"""One turn at a time in a story, across processes; a request that is repeated with its key is one turn."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from tests.e2e.conftest import Start
from tests.e2e.player import Player, codes, problem
from tests.e2e.server_process import Launch, ServerProcess, wait_until
from tests.e2e.wholeness import assert_whole
from tests.fakes.model_server import Reply, ScriptedModelServer


@pytest.fixture
def other(start: Start, home: Path, model: ScriptedModelServer, server: ServerProcess) -> ServerProcess:
    """Another server on the same store."""
    return start(Launch(home, model.endpoint)).until_ready()


def test_a_second_turn_is_refused_while_one_runs_and_the_store_is_free_meanwhile(
    server: ServerProcess, other: ServerProcess, home: Path, model: ScriptedModelServer
) -> None:
    go_on = Event()
    model.script(Reply("The floor gives way.", hang_until=go_on, hang_after=2))
    player = Player.of_a_new_story(server)
    with player.listen("I step through") as listening:
        listening.until("delta", 2)
        for asked in (player, player.through(other)):
            refusals = [asked.act("I listen"), asked.act("I step through"), asked.go_on(), asked.retry()]
            assert {problem(refusal) for refusal in refusals} == {(409, "turn_in_progress")}
            assert {refusal.json()["turn"] for refusal in refusals} == {listening.turn}
        with closing(sqlite3.connect(home / "log.db", timeout=0, isolation_level=None)) as another:
            another.execute("BEGIN IMMEDIATE")
            another.execute("ROLLBACK")
        assert other.client.patch(player.path, json={"authors_note": "Slow down."}).status_code == 200
        assert Player.of_a_new_story(other).act("I wait elsewhere").status_code == 200
        go_on.set()
        assert listening.until("done").data["prose"] == "The floor gives way."
    assert player.through(other).told() == [("do", "I step through"), ("narration", "The floor gives way.")]
    assert [server.stop(), other.stop()] == [0, 0]
    assert_whole(home)


def test_two_servers_play_different_stories_at_once(
    server: ServerProcess, other: ServerProcess, home: Path, model: ScriptedModelServer
) -> None:
    players = [Player.of_a_new_story(one) for one in (server, other) for _ in range(2)]
    with ThreadPoolExecutor(len(players)) as threads:
        played = list(threads.map(lambda player: [player.act(f"I take step {n}") for n in range(8)], players))
    assert {status for answers in played for status in codes(answers)} == {200}
    for player in players:
        seen = player.through(other if player.server is server else server)
        assert seen.told() == player.told()
        assert len(seen.told()) == 16
        assert seen.get("/verify")["ok"]
    assert [server.stop(), other.stop()] == [0, 0]
    assert "Traceback" not in server.stderr + other.stderr
    assert_whole(home)


def test_a_repeated_request_is_one_turn_also_elsewhere_and_after_a_restart(
    server: ServerProcess, other: ServerProcess, start: Start, home: Path, model: ScriptedModelServer
) -> None:
    player, go_on = Player.of_a_new_story(server), Event()
    model.script(Reply("The floor gives way.", hang_until=go_on))
    with player.waiting("I step through", key="one") as answer:
        wait_until(lambda: model.narrations, "the model to be asked")
        running = player.position()["turn_in_progress"]
        for asked in (player, player.through(other)):
            refusal = asked.act("I step through", key="one")
            assert problem(refusal) == (409, "turn_in_progress")
            assert refusal.json()["turn"] == running
        go_on.set()
        first = answer()
    assert first.json()["turn"] == running
    retried = player.retry(key="two")
    assert player.act("I listen").status_code == 200
    for again in (player, player.through(other)):
        assert again.act("I step through", key="one").content == first.content
        assert again.retry(key="two").content == retried.content
        assert problem(again.act("I step away", key="one")) == (422, "idempotency_key_reused")
        assert problem(again.act("I step through", kind="say", key="one")) == (422, "idempotency_key_reused")
        assert problem(again.retry(key="one")) == (422, "idempotency_key_reused")
    with player.listen("I step through", key="one") as listening:
        assert [one.name for one in listening.until_over()] == ["accepted", "delta", "done"]
        assert listening.until("done").data == first.json()
    assert [server.stop(), other.stop()] == [0, 0]
    fresh = player.through(start(Launch(home, model.endpoint)).until_ready())
    assert fresh.act("I step through", key="one").content == first.content
    assert fresh.retry(key="two").content == retried.content
    assert len(fresh.events("story.turn_opened")) == 3
    assert len(model.narrations) == 3


def test_a_request_whose_turn_failed_is_asked_again_with_its_key(
    server: ServerProcess, home: Path, model: ScriptedModelServer
) -> None:
    player = Player.of_a_new_story(server)
    model.script(
        Reply.refusal(500, "out of memory"), Reply("It broke off here", cut_after=2), Reply("The floor gives.")
    )
    assert problem(player.act("I step through", key="one")) == (502, "model_refused")
    assert problem(player.act("I step through", key="one")) == (502, "model_reply_incomplete")
    taken = player.act("I step through", key="one")
    assert (taken.json()["player_node"], taken.json()["prose"]) == (2, "The floor gives.")
    assert player.act("I step through", key="one").content == taken.content
    assert player.told() == [("do", "I step through"), ("narration", "The floor gives.")]
    assert list(player.endings().values()) == [["model"], ["model"], ["accepted"]]
    assert server.stop() == 0
    assert_whole(home)


def test_two_requests_with_one_key_at_once_make_one_turn(
    server: ServerProcess, other: ServerProcess, home: Path, model: ScriptedModelServer
) -> None:
    player = Player.of_a_new_story(server)
    for number in range(6):
        asked = [player, player, player.through(other), player.through(other)]
        with ThreadPoolExecutor(len(asked)) as threads:
            answers = list(threads.map(lambda one, n=number: one.act(f"I take step {n}", key=f"key-{n}"), asked))
        assert set(codes(answers)) <= {200, 409}
        assert len({answer.content for answer in answers if answer.status_code == 200}) == 1
    assert len(player.events("story.turn_opened")) == len(model.narrations) == 6
    assert len(player.told()) == 12
    assert [server.stop(), other.stop()] == [0, 0]
    assert_whole(home)
