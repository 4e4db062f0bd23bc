"""A server killed with SIGKILL at any moment of a turn: what was acknowledged is there, and no half of a turn."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import pytest

from api.use_cases.closing import SWEEP_SECONDS
from tests.e2e.conftest import Start
from tests.e2e.player import Listening, Player
from tests.e2e.server_process import ForkServer, Launch, ServerProcess, wait_until
from tests.e2e.wholeness import assert_whole
from tests.fakes.model_server import Reply, ScriptedModelServer

FIRST, WORDS = "I look through the door", "I step through"
PARTIAL = "The floor gives"


@dataclass(frozen=True)
class Moment:
    """When the process is killed, and what must be in the log by then.

    `stop_at` is a moment of `stopping_log`; without one it is the model that is waited for: after `pieces` of its reply.
    `refused`: the model refuses, so that the turn is just being failed.
    """

    name: str
    stop_at: str | None
    opened: bool
    prompt_sent: bool
    asked: bool
    accepted: bool = False
    failed: str | None = None
    pieces: int = 0
    refused: bool = False


MOMENTS = (
    Moment("before the words are appended", "before opening", opened=False, prompt_sent=False, asked=False),
    Moment("words inserted, not committed", "inside opening", opened=False, prompt_sent=False, asked=False),
    Moment("words committed", "after opening", opened=True, prompt_sent=False, asked=False),
    Moment("before the prompt is recorded", "before prompt", opened=True, prompt_sent=False, asked=False),
    Moment("prompt inserted, not committed", "inside prompt", opened=True, prompt_sent=False, asked=False),
    Moment("prompt recorded, nothing sent", "after prompt", opened=True, prompt_sent=True, asked=False),
    Moment("asked, no byte back", None, opened=True, prompt_sent=True, asked=True),
    Moment("in mid-stream", None, opened=True, prompt_sent=True, asked=True, pieces=3),
    Moment("reply complete, before the last append", "before narration", opened=True, prompt_sent=True, asked=True),
    Moment("narration inserted, not committed", "inside narration", opened=True, prompt_sent=True, asked=True),
    Moment("narration committed, not answered", "after narration", True, True, True, accepted=True),
    Moment("failure inserted, not committed", "inside failure", True, True, True, refused=True),
    Moment("failure committed, not answered", "after failure", True, True, True, failed="model", refused=True),
)
each_moment = pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.name)


@pytest.fixture(scope="module")
def narrator() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(n_ctx=8192) as server:
        yield server


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared") / "home"


@pytest.fixture(scope="module")
def survivor(
    fork_server: ForkServer, shared_home: Path, narrator: ScriptedModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """A server that lives on, on the store that the others are killed on; afterwards the store is looked through."""
    outputs = tmp_path_factory.mktemp("survivor")
    with ServerProcess(Launch(shared_home, narrator.endpoint), outputs, fork_server.start) as server:
        yield server.until_ready()
        assert server.stop() == 0
        assert "Traceback" not in server.stderr
    assert_whole(shared_home)


Kill = Callable[[Moment, Path], "Killed"]


@dataclass(frozen=True)
class Killed:
    """What is left of a server that was killed at its moment: the story, and what the listener heard."""

    player: Player
    listening: Listening
    turn_before: str


@pytest.fixture
def killed_at(start: Start, narrator: ScriptedModelServer, tmp_path: Path) -> Kill:
    """Plays one turn that is acknowledged, and kills the server at its moment in the next."""

    def killed(moment: Moment, home: Path) -> Killed:
        control = tmp_path / "control"
        control.mkdir()
        launch = Launch(home, narrator.endpoint, stop_at=moment.stop_at, control=control)
        server = start(launch).until_ready()
        player = Player.of_a_new_story(server)
        acknowledged = player.act(FIRST)
        assert acknowledged.status_code == 200
        never, asked_before = Event(), len(narrator.narrations)
        if moment.refused:
            narrator.script(Reply.refusal(500, "out of memory"))
        elif moment.stop_at is None:
            after = moment.pieces or None
            narrator.script(Reply("The floor gives way below.", hang_until=never, hang_after=after))
        (control / "armed").touch()
        listening = player.listen(WORDS)
        if moment.stop_at:
            wait_until((control / "reached").exists, moment.name)
        elif moment.pieces:
            listening.until("delta", moment.pieces)
        else:
            wait_until(lambda: len(narrator.narrations) > asked_before, "the model to be asked")
        server.kill()
        listening.until_over()
        assert (len(narrator.narrations) > asked_before) is moment.asked
        return Killed(player, listening, acknowledged.json()["turn"])

    return killed


def _assert_nothing_is_lost(player: Player, killed: Killed, moment: Moment) -> None:
    """What the log must hold, once a server has looked at it."""
    assert player.position()["turn_in_progress"] is None
    assert player.get("/verify")["ok"]
    endings = player.endings()
    assert endings.pop(killed.turn_before) == ["accepted"]
    expected = "accepted" if moment.accepted else moment.failed or "interrupted"
    assert list(endings.values()) == ([[expected]] if moment.opened else [])
    acted = [event["data"]["text"] for event in player.events("story.player_acted")]
    assert acted == [FIRST, WORDS][: 2 if moment.opened else 1]
    assert len(player.events("prompt.sent")) == 1 + moment.prompt_sent
    kinds = [kind for kind, _ in player.told()]
    assert kinds == ["do", "narration", "do", "narration"][: 2 + moment.opened + moment.accepted]
    assert player.position()["head"] == 1 + len(kinds)


def _tell_the_untold(player: Player, moment: Moment, way: str) -> None:
    """Plays on, and sees that the action left untold is told, once, in whichever way it is asked for."""
    ways = {"continue": player.go_on, "retry": player.retry, "same words": lambda: player.act(WORDS)}
    told_before = player.told()
    answer = ways[way]()
    assert answer.status_code == 200, answer.text
    told = player.told()
    if moment.opened and not moment.accepted:
        assert told[:-1] == told_before
        assert [text for kind, text in told if kind == "do"] == [FIRST, WORDS]
        assert answer.json()["player_node"] == 4
    assert told[-1] == ("narration", answer.json()["prose"])
    assert player.act("I listen").status_code == 200
    assert [kind for kind, _ in player.told()][-2:] == ["do", "narration"]
    assert player.get("/verify")["ok"]


def _way_of(moment: Moment) -> str:
    return ("continue", "retry", "same words")[MOMENTS.index(moment) % 3]


@each_moment
def test_a_fresh_server_finds_what_was_acknowledged_and_no_half_of_a_turn(
    moment: Moment, killed_at: Kill, start: Start, home: Path, narrator: ScriptedModelServer
) -> None:
    killed = killed_at(moment, home)
    with start(Launch(home, narrator.endpoint)).until_ready() as fresh:
        player = killed.player.through(fresh)
        _assert_nothing_is_lost(player, killed, moment)
        _tell_the_untold(player, moment, _way_of(moment))
        assert fresh.stop() == 0
        assert "Traceback" not in fresh.stderr
    assert_whole(home)


@each_moment
def test_another_server_on_the_store_takes_over_and_keeps_its_own_turns(
    moment: Moment,
    killed_at: Kill,
    survivor: ServerProcess,
    shared_home: Path,
    narrator: ScriptedModelServer,
) -> None:
    go_on = Event()
    narrator.script(Reply("Somewhere else it rains.", hang_until=go_on, hang_after=1))
    with Player.of_a_new_story(survivor).listen("I wait elsewhere") as of_the_living:
        of_the_living.until("delta")
        killed = killed_at(moment, shared_home)
        player = killed.player.through(survivor)
        answer = {"continue": player.go_on, "retry": player.retry, "same words": lambda: player.act(WORDS)}[
            _way_of(moment)
        ]()
        assert answer.status_code == 200, answer.text
        endings = player.endings()
        expected = "accepted" if moment.accepted else moment.failed or "interrupted"
        dead = [ends for turn, ends in endings.items() if turn not in (killed.turn_before, answer.json()["turn"])]
        assert dead == ([[expected]] if moment.opened else [])
        if moment.opened and not moment.accepted:
            assert [text for kind, text in player.told() if kind == "do"] == [FIRST, WORDS]
        assert player.get("/verify")["ok"]
        assert [one.name for one in of_the_living.heard] == ["accepted", "delta"]
        go_on.set()
        assert of_the_living.until("done").data["prose"] == "Somewhere else it rains."


def test_those_who_only_read_see_a_dead_turn_end(start: Start, home: Path, narrator: ScriptedModelServer) -> None:
    launch = Launch(home, narrator.endpoint)
    dying, living = start(launch).until_ready(), start(launch).until_ready()
    player = Player.of_a_new_story(dying)
    reader = player.through(living)
    narrator.script(Reply("The floor gives way below.", hang_until=Event(), hang_after=1))
    with player.listen(WORDS) as listening:
        listening.until("delta")
        time.sleep(2 * SWEEP_SECONDS)
        assert reader.position()["turn_in_progress"] == listening.turn  # slow is not dead
        dying.kill()
    wait_until(lambda: reader.position()["turn_in_progress"] is None, "the dead turn to be closed", 5)
    assert reader.endings() == {listening.turn: ["interrupted"]}
    time.sleep(SWEEP_SECONDS)
    assert reader.endings() == {listening.turn: ["interrupted"]}
    assert living.stop() == 0
    assert "Traceback" not in living.stderr
    assert_whole(home)
