"""Replays over HTTP: begun, followed, read in pages."""

import time
from typing import Any

import httpx
import pytest

from tests.fakes.model_server import Reply, ScriptedModelServer
from tests.shapes import problem

FENCED = 'The door opens.\n```state\n{"events": [{"type": "create_entity", "entity": "door", "entity_type": "item", "name": "Door"}]}\n```'


@pytest.fixture
def told(client: httpx.Client, story: str, narrator: ScriptedModelServer) -> str:
    """A story of two replies with one and the same block, which extractor 2 read, and one without."""
    narrator.script(Reply(FENCED), Reply(FENCED), Reply("Nothing stirs."))
    for _ in range(3):
        assert client.post(f"{story}/turns", json={"kind": "continue"}).status_code in (200, 201)
    return story.rsplit("/", 1)[1]


def ended(client: httpx.Client, replay: str, **params: Any) -> dict[str, Any]:
    for _ in range(200):
        answer: dict[str, Any] = client.get(f"/api/replays/{replay}", params=params).json()
        if answer["state"] in ("done", "failed"):
            return answer
        time.sleep(0.02)
    raise AssertionError(answer)


def test_a_replay_is_begun_and_tells_what_would_change(client: httpx.Client, told: str) -> None:
    begun = client.post("/api/replays", json={"candidate": "0", "campaign": told})
    assert begun.status_code == 202
    answer = ended(client, begun.json()["id"])
    assert answer["progress"] == {"done": 3, "total": 3}
    summary = answer["summary"]
    assert (summary["replies"], summary["distinct"], summary["duplicates"]) == (3, 2, 1)
    assert summary["flags"]["text_added"] == summary["flagged"] == 2  # the same reply, applied first and empty then
    assert [row["node"] for row in answer["replies"]] == [2, 3]
    assert answer["replies"][0]["prose"]["after"] == FENCED
    assert [change["path"] for change in answer["lines"][0]["changes"]] == ["entities.door.type", "entities.door.name"]


def test_its_rows_are_read_in_pages(client: httpx.Client, told: str) -> None:
    replay = client.post("/api/replays", json={"candidate": "0", "against": "2", "campaign": told}).json()["id"]
    first = ended(client, replay, limit=1)
    assert (len(first["replies"]), first["next"]) == (1, 1)
    second = ended(client, replay, limit=1, after=1)
    assert (second["replies"][0]["node"], second["next"]) == (3, None)
    assert ended(client, replay, after=99)["replies"] == []


def test_what_is_in_force_against_itself_changes_nothing(client: httpx.Client, told: str) -> None:
    for body in ({"candidate": "2"}, {"candidate": "2", "against": "recorded"}, {"candidate": "2", "against": "2"}):
        answer = ended(client, client.post("/api/replays", json={**body, "campaign": told}).json()["id"])
        assert (answer["summary"]["changed"], answer["summary"]["flagged"], answer["replies"]) == (0, 0, [])


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"candidate": "99"},
        {"candidate": "2", "against": "x"},
        {"candidate": "mine/x.py:f"},
        {"candidate": "os:getcwd"},
    ],
)
def test_only_versions_that_exist_are_replayed(client: httpx.Client, body: dict[str, str]) -> None:
    problem(client.post("/api/replays", json=body), "invalid")


def test_an_unknown_story_or_replay_is_404(client: httpx.Client) -> None:
    problem(client.post("/api/replays", json={"candidate": "2", "campaign": "c_nothere"}), "unknown_campaign")
    problem(client.get("/api/replays/r_nothere"), "unknown_replay")
