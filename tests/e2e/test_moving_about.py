"""Going back, forth and aside through two servers on one store: what is refused meanwhile, and what a kill leaves."""

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import Start
from tests.e2e.player import Player, problem
from tests.e2e.server_process import Launch, ServerProcess, wait_until
from tests.e2e.wholeness import assert_whole
from tests.fakes.model_server import Reply, ScriptedModelServer

Move = Callable[[Player], httpx.Response]

MOVES: dict[str, Move] = {
    "undo": lambda player: player.post("/undo"),
    "redo": lambda player: player.post("/redo"),
    "select": lambda player: player.post("/head", {"node": 3}),
    "restore": lambda player: player.post("/head", {"node": 1}),
    "revise": lambda player: player.post("/nodes/3/revise", {"text": "Anew."}),
    "correct": lambda player: player.server.client.patch(f"{player.path}/nodes/3", json={"text": "Mended."}),
}


@pytest.fixture
def other(start: Start, home: Path, model: ScriptedModelServer, server: ServerProcess) -> ServerProcess:
    """Another server on the same store."""
    return start(Launch(home, model.endpoint)).until_ready()


def position(player: Player) -> dict[str, Any]:
    at: dict[str, Any] = player.get("/position")
    return at


def test_while_a_turn_runs_nothing_moves_through_either_server_and_names_are_given(
    server: ServerProcess, other: ServerProcess, home: Path, model: ScriptedModelServer
) -> None:
    go_on = Event()
    player = Player.of_a_new_story(server)
    player.act("I look")
    model.script(Reply("The floor gives way.", hang_until=go_on, hang_after=1))
    with player.listen("I step through") as listening:
        listening.until("delta")
        before = position(player)
        assert before["turn_in_progress"] == listening.turn
        for asked in (player, player.through(other)):
            for move in MOVES.values():
                refusal = move(asked)
                assert problem(refusal) == (409, "turn_in_progress")
                assert refusal.json()["turn"] == listening.turn
            assert position(asked) == before
        named = [
            player.through(other).post("/save-points", {"name": "before the fall", "node": 3}),
            player.through(other).post("/save-points", {"name": "while it is told"}),
            other.client.put(f"{player.path}/branches/1", json={"name": "the door"}),
        ]
        assert [answer.status_code for answer in named] == [201, 201, 200]
        assert named[1].json()["node"] == 4  # the action that is being told
        gone = other.client.delete(f"{player.path}/save-points/{named[1].json()['id']}")
        assert [point["name"] for point in gone.json()["save_points"]] == ["before the fall"]
        assert player.get("/diff", left="before the fall", right="head")["text"]["right"]
        go_on.set()
        assert listening.until("done").data["position"]["head"] == 5
    assert player.through(other).post("/undo").json()["head"] == 3
    assert position(player)["label"] == "Moment 3 · later story ahead"
    assert player.post("/redo").json() == position(player.through(other))
    assert [server.stop(), other.stop()] == [0, 0]
    assert_whole(home)


def test_each_server_sees_at_once_where_the_other_went(server: ServerProcess, other: ServerProcess, home: Path) -> None:
    player = Player.of_a_new_story(server)
    for number in range(3):
        player.act(f"I take step {number}")
    elsewhere = player.through(other)
    assert elsewhere.post("/undo").json()["head"] == 5
    assert player.post("/undo").json()["head"] == 3
    assert elsewhere.post("/redo").json()["head"] == 5
    assert player.act("I turn back").json()["player_node"] == 8
    assert problem(elsewhere.post("/redo")) == (409, "nothing_to_redo")
    assert elsewhere.post("/head", {"node": 7}).json()["can_redo"] is False
    assert player.told()[-1] == ("narration", "This is sentence number 3 of the tale.")
    assert player.told() == elsewhere.told()
    assert [server.stop(), other.stop()] == [0, 0]
    assert_whole(home)


@pytest.mark.parametrize("how", MOVES)
def test_after_a_kill_the_survivor_moves_at_once(
    start: Start, other: ServerProcess, home: Path, model: ScriptedModelServer, server: ServerProcess, how: str
) -> None:
    player = Player.of_a_new_story(other)
    player.act("I look")
    player.retry()
    if how == "redo":  # so that there is something to redo to
        player.post("/undo")
    model.script(Reply("The floor gives way.", hang_until=model.stopping, hang_after=1))
    dying = player.through(server)
    with dying.listen(retry=how == "select", text="I step through") as listening:
        listening.until("delta")
        assert problem(player.post("/undo")) == (409, "turn_in_progress")
        server.kill()
    answer = MOVES[how](player)
    if how == "redo":  # the turn's words are the tip, and the head
        assert problem(answer) == (409, "nothing_to_redo")
    else:
        assert answer.status_code == 200, answer.text
    assert position(player)["turn_in_progress"] is None
    assert player.endings()[listening.turn] == ["interrupted"]
    again = start(Launch(home, model.endpoint)).until_ready()
    assert position(player.through(again)) == position(player)
    assert player.through(again).act("I go on").status_code == 200
    assert [other.stop(), again.stop()] == [0, 0]
    assert_whole(home)


def test_a_late_reply_is_a_take_and_leaves_the_reader_where_they_are(
    start: Start, server: ServerProcess, home: Path, model: ScriptedModelServer
) -> None:
    """The lock file is taken away, so that a live process is taken for dead: what another machine's disk may do."""
    go_on = Event()
    player = Player.of_a_new_story(server)
    player.act("I look")
    model.script(Reply("The floor gives way.", hang_until=go_on, hang_after=1))
    with player.listen("I step through") as listening:
        listening.until("delta")
        for lock in (home / "locks").iterdir():
            lock.unlink()
        other = start(Launch(home, model.endpoint)).until_ready()
        elsewhere = player.through(other)
        assert elsewhere.endings()[listening.turn] == ["interrupted"]
        undone = elsewhere.post("/undo").json()
        assert undone["head"] == 3
        go_on.set()
        late = listening.until("done").data
    assert (late["prose"], late["node"]) == ("The floor gives way.", 5)
    assert late["position"] == undone == position(player) == position(elsewhere)
    assert "The floor gives way." not in str(player.told())
    tree = player.get("/tree")
    assert (tree["head"], tree["tip"]) == (3, 4)  # redo goes to the words, as it would have without the late reply
    assert elsewhere.post("/redo").json()["head"] == 4
    selected = elsewhere.post("/head", {"node": 5}).json()
    assert (selected["head"], selected["takes"], selected["can_redo"]) == (5, [5], False)
    assert player.told()[-1] == ("narration", "The floor gives way.")
    assert player.endings()[listening.turn] == ["interrupted", "accepted"]
    assert player.get("/verify")["ok"]
    assert [server.stop(), other.stop()] == [0, 0]


def test_positions_trees_and_pages_are_the_same_right_after_a_restart(
    start: Start, server: ServerProcess, home: Path, model: ScriptedModelServer
) -> None:
    player = Player.of_a_new_story(server)
    for number in range(3):
        player.act(f"I take step {number}")
    player.post("/save-points", {"name": "step three"})
    player.retry()
    player.post("/undo")
    player.post("/undo")
    player.act("I turn back")
    player.post("/nodes/5/revise", {"text": "The second step holds."})
    server.client.patch(f"{player.path}/nodes/2", json={"text": "I take the first step"})
    server.client.put(f"{player.path}/branches/2", json={"name": "aside"})
    player.post("/head", {"node": 8})
    player.post("/undo")
    pages = ("/position", "/tree", "/story", "/save-points", "/diff?left=step three&right=head")
    before = [player.get(page.partition("?")[0], **dict(httpx.QueryParams(page.partition("?")[2]))) for page in pages]
    assert before[0]["can_redo"]
    server.kill()
    again = player.through(start(Launch(home, model.endpoint)).until_ready())
    after = [again.get(page.partition("?")[0], **dict(httpx.QueryParams(page.partition("?")[2]))) for page in pages]
    assert after == before
    assert again.post("/redo").json()["head"] == 8
    assert again.server.stop() == 0
    assert_whole(home)


def test_a_move_waits_for_no_view_and_a_page_for_its_move(server: ServerProcess, home: Path) -> None:
    player = Player.of_a_new_story(server)
    for number in range(5):
        player.act(f"I take step {number}")
    for _ in range(5):
        head = player.post("/undo").json()["head"]
        assert player.get("/story")["nodes"][-1]["node"] == head
    wait_until(lambda: problem(player.post("/undo")) == (409, "nothing_to_undo"), "the opening")
    assert server.stop() == 0
    assert_whole(home)
