"""Every byte that a model server receives is on record, whatever became of the turn; and the key is nowhere."""

import base64
import hashlib
import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from domain.prompt.texts import STORY_BEGINS
from tests.e2e.conftest import Start
from tests.e2e.player import Player
from tests.e2e.server_process import Launch, ServerProcess
from tests.e2e.wholeness import assert_whole
from tests.fakes.model_server import RecordedRequest, Reply, ScriptedModelServer

KEY = "sk-never-written-down-4711"
_LONG = "The corridor goes on, and every door along it is a little further open than the last one was. " * 4


@dataclass
class Playing:
    """Plays turns of every kind and outcome, one after another, and remembers which turn made which request."""

    player: Player
    model: ScriptedModelServer
    turns: list[str] = field(default_factory=list)

    def through(self, server: ServerProcess) -> "Playing":
        return Playing(self.player.through(server), self.model, self.turns)

    def play(self, count: int) -> None:
        """So many turns: words of all kinds, quotes and other alphabets, retries, continues, and every failure."""
        outcomes = itertools.cycle(
            (self.told, self.retried, self.refused, self.told, self.cut, self.gone_on, self.empty, self.cancelled)
        )
        for number, outcome in zip(range(count), outcomes, strict=False):
            self.turns.append(outcome(number))

    def told(self, number: int) -> str:
        self.model.script(Reply(f"{number}: {_LONG}“Who’s there?” — «Кто там?» \\ \u2028 \U0001f6aa"))
        return str(self.player.act(f'I say "step {number}"\tand wait\n\\n', kind="say").json()["turn"])

    def retried(self, number: int) -> str:
        self.model.script(Reply(f"{number}, otherwise: {_LONG}"))
        return str(self.player.retry().json()["turn"])

    def gone_on(self, number: int) -> str:
        self.model.script(Reply(f"{number}, and on: {_LONG}"))
        return str(self.player.go_on().json()["turn"])

    def refused(self, number: int) -> str:
        self.model.script(Reply.refusal(500, "out of memory"))
        return str(self.player.act(f"I try door {number}").json()["turn"])

    def cut(self, number: int) -> str:
        self.model.script(Reply(_LONG, cut_after=5))
        return str(self.player.act(f"I try door {number} again", kind="story").json()["turn"])

    def empty(self, _number: int) -> str:
        self.model.script(Reply(" "))
        return str(self.player.retry().json()["turn"])

    def cancelled(self, number: int) -> str:
        self.model.script(Reply(_LONG, hang_until=Event(), hang_after=2))
        with self.player.listen(f"I hesitate at door {number}") as listening:
            listening.until("delta", 2)
            self.player.cancel(listening.turn)
            listening.until("error")
        return listening.turn


def assert_on_record(player: Player, turns: list[str], requests: tuple[RecordedRequest, ...]) -> None:
    """What is on record for each turn is what the server received for it, to the byte."""
    assert len(turns) == len(requests)
    for turn, request in zip(turns, requests, strict=True):
        answer = player.server.client.get(f"{player.path}/turns/{turn}/request")
        assert answer.content == request.body
        digest = base64.b64encode(hashlib.sha256(request.body).digest()).decode()
        assert answer.headers["repr-digest"] == f"sha-256=:{digest}:"


def assert_explained(player: Player, turns: list[str], requests: tuple[RecordedRequest, ...]) -> None:
    """The record of each turn says what its request was made of."""
    for turn, request in zip(turns, requests, strict=True):
        record = player.get(f"/turns/{turn}/prompt")
        digest = hashlib.sha256(request.body).hexdigest()
        assert (record["body_sha256"], record["body_bytes"]) == (digest, len(request.body))
        assert record["mode"] == ("chat" if request.path.endswith("/chat/completions") else "completion")
        assert_sections_stand_in(request.json, record["sections"])
        if (node := record["node"]) is not None:
            assert player.server.client.get(f"{player.path}/nodes/{node}/request").content == request.body


def assert_sections_stand_in(body: dict[str, Any], sections: list[dict[str, Any]]) -> None:
    """The sections' texts are in the body, history in its order; the rest is the line that opens a story cut short."""
    texts = [message["content"] for message in body["messages"]] if "messages" in body else [body["prompt"]]
    pieces = [piece for text in texts for piece in text.split("\n\n") if piece]
    told = {one["name"]: [piece for piece in one["text"].split("\n\n") if piece] for one in sections}
    owned = list(itertools.chain.from_iterable(told.values()))
    assert sorted(piece for piece in pieces if piece != STORY_BEGINS) == sorted(owned)
    history = told.get("history", [])
    assert [piece for piece in pieces if piece in history] == history


def floors(player: Player) -> list[str]:
    """Why the history's floor moved, prompt by prompt, where it did."""
    sent = (event["data"]["history"] for event in player.events("prompt.sent"))
    return [history["floor_moved"] for history in sent if history["floor_moved"]]


def settings(server: ServerProcess, **changes: object) -> None:
    assert server.client.patch("/api/settings", json=changes).status_code == 200


def test_every_request_is_on_record_to_the_byte_whatever_became_of_its_turn(
    start: Start, home: Path, model: ScriptedModelServer
) -> None:
    launch = Launch(home, model.endpoint, environment={"FABULA_API_KEY": KEY, "FABULA_LOG_LEVEL": "debug"})
    first = start(launch).until_ready()
    settings(first, context_budget=1400, max_output_tokens=64)
    player = Player.of_a_new_story(first, canon=["Nobody has ever come back."], authors_note='Be "slow".')
    playing = Playing(player, model)
    playing.play(12)
    settings(first, temperature=0.3, top_p=0.9, seed=7, stop=["\n\n>"], narrator_prompt="Tell it in short sentences.")
    first.client.patch(player.path, json={"plot_essentials": "The door remembers.", "narration_length": "brief"})
    playing.play(8)
    settings(first, context_budget=1800)
    playing.play(8)
    settings(first, mode="completion", context_budget=1400)
    playing.play(8)
    assert len(floors(player)) >= 3
    assert {tuple(ends) for ends in player.endings().values()} == {
        ("accepted",),
        ("model",),
        ("reply",),
        ("cancelled",),
    }
    assert_on_record(player, playing.turns, model.narrations)
    assert_explained(player, playing.turns, model.narrations)

    assert first.stop() == 0
    second = start(launch).until_ready()
    again = playing.through(second)
    assert_on_record(again.player, playing.turns, model.narrations)
    again.play(4)
    assert_on_record(again.player, playing.turns[-4:], model.narrations[-4:])
    assert again.player.get("/verify")["ok"]
    read_everything(second, again.player)
    assert second.stop() == 0

    assert {request.headers.get("authorization") for request in model.narrations} == {f"Bearer {KEY}"}
    assert_nowhere(KEY.encode(), home, first, second)
    assert_whole(home)


def read_everything(server: ServerProcess, player: Player) -> None:
    """Asks for whatever a server tells, errors included."""
    for path in ("", "/story", "/events", "/verify", "/position", "/turns/t_no/prompt"):
        server.client.get(player.path + path)
    for path in ("/api/settings", "/api/projections", "/api/health", "/api/campaigns", "/openapi.json"):
        server.client.get(path)
    server.client.post("/api/settings/test")


def assert_nowhere(secret: bytes, home: Path, *servers: ServerProcess) -> None:
    """In no file of the store, on no stream, in no answer."""
    for path in home.rglob("*"):
        assert not path.is_file() or secret not in path.read_bytes(), path
    for server in servers:
        assert secret.decode() not in server.stderr + server.stdout
        assert len(server.answers) > 50
        assert not any(secret in answer for answer in server.answers)


def test_a_server_that_repeats_the_key_it_refuses_does_not_bring_it_into_the_story(
    start: Start, home: Path, model: ScriptedModelServer
) -> None:
    launch = Launch(home, model.endpoint, environment={"FABULA_API_KEY": KEY})
    server = start(launch).until_ready()
    player = Player.of_a_new_story(server)
    model.script(Reply.refusal(401, f"Incorrect API key provided: {KEY}"))
    answer = player.act("I step through")
    assert "Incorrect API key provided: …" in answer.json()["detail"]
    assert KEY not in json.dumps(player.events()) + server.stderr
