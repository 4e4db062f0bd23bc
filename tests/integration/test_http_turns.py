"""Turns over HTTP: awaited as JSON, streamed, retried, and what is refused of them."""

import json
from typing import Any

import httpx
import pytest

from tests import shapes
from tests.fakes.model_server import Reply, ScriptedModelServer
from tests.shapes import has_shape, problem

STREAM = {"accept": "text/event-stream"}


def _events(response: httpx.Response) -> list[tuple[str, Any]]:
    """The events of a finished stream; comments are passed over."""
    found = []
    for block in response.text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def test_a_turn_answers_with_its_contract(client: httpx.Client, narrator: ScriptedModelServer, story: str) -> None:
    narrator.script(Reply("The door gives."))
    answer = client.post(f"{story}/turns", json={"kind": "do", "text": "I push"})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    told = answer.json()
    has_shape(told, shapes.TURN)
    has_shape(told["position"], shapes.POSITION)
    has_shape(told["proposal"], shapes.PROPOSAL)
    has_shape(told["accounting"], shapes.ACCOUNTING)
    assert (told["player_node"], told["node"], told["prose"]) == (2, 3, "The door gives.")
    assert told["finish_reason"] == "stop"
    assert told["position"]["head"] == 3


@pytest.mark.parametrize("kind", ["do", "say", "story"])
def test_each_kind_keeps_the_words_as_typed(client: httpx.Client, story: str, kind: str) -> None:
    words = "  I say “nothing”,\n\tand wait \0 "
    assert client.post(f"{story}/turns", json={"kind": kind, "text": words}).status_code == 200
    node = client.get(f"{story}/story").json()["nodes"][1]
    assert (node["kind"], node["text"]) == (kind, words)


@pytest.mark.parametrize("body", [{"kind": "continue"}, {"kind": "continue", "text": ""}])
def test_continue_goes_on_without_an_action(client: httpx.Client, story: str, body: dict[str, Any]) -> None:
    told = client.post(f"{story}/turns", json=body).json()
    assert (told["player_node"], told["node"]) == (None, 2)


def test_a_stream_tells_the_turn_as_it_comes(client: httpx.Client, narrator: ScriptedModelServer, story: str) -> None:
    narrator.script(Reply(deltas=["The ", "door ", "gives."]))
    answer = client.post(f"{story}/turns", json={"kind": "do", "text": "I push"}, headers=STREAM)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    events = _events(answer)
    assert [name for name, _ in events] == ["accepted", "delta", "delta", "delta", "done"]
    done = events[-1][1]
    assert events[0][1] == {"turn": done["turn"], "node": 2}
    assert [data["text"] for name, data in events if name == "delta"] == ["The ", "door ", "gives."]
    has_shape(done, shapes.TURN)
    assert done["prose"] == "The door gives."


def test_a_stream_of_continue_names_no_node(client: httpx.Client, story: str) -> None:
    events = _events(client.post(f"{story}/turns", json={"kind": "continue"}, headers=STREAM))
    assert events[0][1]["node"] is None


def test_a_stream_ends_with_the_problem(client: httpx.Client, narrator: ScriptedModelServer, story: str) -> None:
    narrator.script(Reply.refusal(500, "out of memory"))
    answer = client.post(f"{story}/turns", json={"kind": "do", "text": "I push"}, headers=STREAM)
    assert answer.status_code == 200
    events = _events(answer)
    assert [name for name, _ in events] == ["accepted", "error"]
    error = events[1][1]
    has_shape(error, shapes.PROBLEM)
    assert (error["code"], error["status"], error["player_node"]) == ("model_refused", 502, 2)
    assert "out of memory" in error["said"]


def test_what_is_refused_at_once_is_no_stream(client: httpx.Client, story: str) -> None:
    problem(client.post(f"{story}/turns", json={"kind": "do", "text": " "}, headers=STREAM), "invalid")
    problem(client.post(f"{story}/retry", headers=STREAM), "nothing_to_retry")


def test_a_failed_turn_is_a_problem_and_keeps_the_words(
    client: httpx.Client, narrator: ScriptedModelServer, story: str
) -> None:
    narrator.script(Reply.refusal(400, "no such model"), Reply("So be it."))
    said = problem(client.post(f"{story}/turns", json={"kind": "do", "text": "I push"}), "model_refused")
    assert said["player_node"] == 2
    told = client.post(f"{story}/retry").json()
    assert (told["player_node"], told["node"], told["prose"]) == (2, 3, "So be it.")


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(" "), "model_reply_empty"),
        (Reply("Half a sen", cut_after=2), "model_reply_incomplete"),
    ],
)
def test_a_reply_that_is_none(
    client: httpx.Client, narrator: ScriptedModelServer, story: str, reply: Reply, code: str
) -> None:
    narrator.script(reply)
    problem(client.post(f"{story}/turns", json={"kind": "do", "text": "I push"}), code)


def test_a_retry_is_another_take(client: httpx.Client, story: str) -> None:
    problem(client.post(f"{story}/retry"), "nothing_to_retry")
    client.post(f"{story}/turns", json={"kind": "do", "text": "I push"})
    told = client.post(f"{story}/retry").json()
    has_shape(told, shapes.TURN)
    assert (told["player_node"], told["node"]) == (2, 4)
    assert told["position"]["takes"] == [3, 4]
    streamed = _events(client.post(f"{story}/retry", headers=STREAM))
    assert streamed[0] == ("accepted", {"turn": streamed[-1][1]["turn"], "node": 2})
    assert streamed[-1][1]["position"]["takes"] == [3, 4, 5]


def test_a_turn_that_is_over_cannot_be_cancelled(client: httpx.Client, story: str) -> None:
    told = client.post(f"{story}/turns", json={"kind": "continue"}).json()
    problem(client.post(f"{story}/turns/{told['turn']}/cancel"), "turn_not_running")
    problem(client.post(f"{story}/turns/t_nope/cancel"), "unknown_turn")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": "x"},
        {"kind": "do"},
        {"kind": "do", "text": ""},
        {"kind": "say", "text": " \t\n "},
        {"kind": "story", "text": "\u00a0\u2003"},
        {"kind": "continue", "text": "words"},
        {"kind": "DO", "text": "x"},
        {"kind": "narration", "text": "x"},
        {"kind": "do", "text": 5},
        {"kind": "do", "text": None},
        {"kind": "do", "text": ["x"]},
        {"kind": ["do"], "text": "x"},
        {"kind": "do", "text": "x", "node": 1},
        [],
        "do",
        5,
        None,
        True,
    ],
    ids=json.dumps,
)
def test_a_turn_that_cannot_be_is_refused(client: httpx.Client, story: str, body: Any) -> None:
    said = problem(
        client.post(f"{story}/turns", content=json.dumps(body), headers={"content-type": "application/json"}), "invalid"
    )
    assert said["fields"]
    assert client.get(story).json()["position"]["head"] == 1


def test_surrogates_in_words_are_replaced_and_counted(client: httpx.Client, story: str) -> None:
    body = rb'{"kind": "do", "text": "I \ud800 \udc00\udc00 \ud83d\ude00"}'
    assert client.post(f"{story}/turns", content=body, headers={"content-type": "application/json"}).status_code == 200
    acted = next(
        event for event in client.get(f"{story}/events").json()["events"] if event["topic"] == "story.player_acted"
    )
    assert acted["data"]["text"] == "I \ufffd \ufffd\ufffd \U0001f600"
    assert acted["data"]["replaced_surrogates"] == 3


def test_a_repeated_key_is_one_turn(client: httpx.Client, story: str) -> None:
    key = {"idempotency-key": "k" * 200}
    first = client.post(f"{story}/turns", json={"kind": "do", "text": "I push"}, headers=key)
    again = client.post(f"{story}/turns", json={"kind": "do", "text": "I push"}, headers=key)
    assert again.json() == first.json()
    streamed = _events(client.post(f"{story}/turns", json={"kind": "do", "text": "I push"}, headers=key | STREAM))
    assert streamed[-1] == ("done", first.json())
    other = client.post(f"{story}/turns", json={"kind": "do", "text": "I pull"}, headers=key)
    problem(other, "idempotency_key_reused")
    assert client.get(story).json()["position"]["head"] == 3


@pytest.mark.parametrize("key", [b"", b"k" * 201, "schlüssel".encode(), b"a b", b"\xff"], ids=repr)
def test_a_key_is_ascii_of_bounded_length(client: httpx.Client, story: str, key: bytes) -> None:
    headers = [(b"idempotency-key", key)]
    problem(client.post(f"{story}/turns", json={"kind": "continue"}, headers=headers), "invalid")
    problem(client.post(f"{story}/retry", headers=headers), "invalid")


def test_the_largest_body_is_told(client: httpx.Client, story: str) -> None:
    frame = len(b'{"kind": "do", "text": ""}')
    body = b'{"kind": "do", "text": "%s"}' % (b"word " * 210_000)[: 1024 * 1024 - frame]
    assert len(body) == 1024 * 1024
    told = client.post(f"{story}/turns", content=body, headers={"content-type": "application/json"})
    assert told.status_code == 200, told.text
    kept = client.get(f"{story}/story").json()["nodes"][1]["text"]
    assert len(kept) == len(body) - frame
