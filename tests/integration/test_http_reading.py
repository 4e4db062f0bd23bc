"""Reading over HTTP: the story in pages, the position, and the audit of turns."""

import base64
import hashlib
import json

import httpx
import pytest

from tests import shapes
from tests.fakes.model_server import Reply, ScriptedModelServer
from tests.shapes import has_shape, problem

AUDITS = ("prompt", "request", "reply")


@pytest.fixture
def told(client: httpx.Client, narrator: ScriptedModelServer, story: str) -> str:
    """A story of two turns; the first has two takes."""
    narrator.script(Reply("First."), Reply(" Second take.\n"), Reply("Third."))
    client.post(f"{story}/turns", json={"kind": "do", "text": "one"})
    client.post(f"{story}/retry")
    client.post(f"{story}/turns", json={"kind": "say", "text": "two"})
    return story


def test_the_story_is_the_active_line_with_its_takes(client: httpx.Client, told: str) -> None:
    page = client.get(f"{told}/story").json()
    has_shape(page, shapes.STORY)
    for node in page["nodes"]:
        has_shape(node, shapes.STORY_NODE)
    assert [(n["node"], n["kind"], n["moment"], n["parent"], n["text"], n["takes"]) for n in page["nodes"]] == [
        (1, "opening", 1, None, "It begins.", [1]),
        (2, "do", 2, 1, "one", [2]),
        (4, "narration", 3, 2, "Second take.", [3, 4]),
        (5, "say", 4, 4, "two", [5]),
        (6, "narration", 5, 5, "Third.", [6]),
    ]
    assert [node["accounting"] for node in page["nodes"]] == [None, None, "fits", None, "fits"]
    assert page["next"] is None
    assert page["position"] == client.get(f"{told}/position").json()


def test_the_story_is_paged_from_its_newest_end(client: httpx.Client, told: str) -> None:
    newest = client.get(f"{told}/story?limit=2").json()
    assert [node["node"] for node in newest["nodes"]] == [5, 6]
    older = client.get(f"{told}/story", params={"limit": 2, "before": newest["next"]}).json()
    assert [node["node"] for node in older["nodes"]] == [2, 4]
    oldest = client.get(f"{told}/story", params={"limit": 2, "before": older["next"]}).json()
    assert [node["node"] for node in oldest["nodes"]] == [1]
    assert oldest["next"] is None
    assert client.get(f"{told}/story?before=1").json()["nodes"] == []


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=501", f"limit={10**30}", "limit=1.5", "before=0", "before=-3", f"before={10**30}", "before=x"],
)
def test_a_page_that_cannot_be_is_refused(client: httpx.Client, story: str, query: str) -> None:
    problem(client.get(f"{story}/story?{query}"), "invalid")


def test_a_page_before_a_node_that_is_not_there(client: httpx.Client, story: str) -> None:
    problem(client.get(f"{story}/story?before=99"), "unknown_node")


def test_the_position_has_the_takes(client: httpx.Client, told: str) -> None:
    position = client.get(f"{told}/position").json()
    has_shape(position, shapes.POSITION)
    assert (position["head"], position["moment"], position["takes"]) == (6, 5, [6])
    assert position["can_undo"] is True
    assert position["turn_in_progress"] is None


def test_the_record_of_a_prompt(client: httpx.Client, told: str) -> None:
    record = client.get(f"{told}/nodes/6/prompt").json()
    has_shape(record, shapes.PROMPT)
    for section in record["sections"]:
        has_shape(section, shapes.SECTION)
    has_shape(record["tokens"], shapes.TOKENS)
    has_shape(record["window"], shapes.WINDOW)
    has_shape(record["history"], shapes.HISTORY)
    has_shape(record["memories"], shapes.MEMORIES)
    has_shape(record["accounting"], shapes.ACCOUNTING)
    has_shape(record["knowledge"], {"considered"})
    assert record["node"] == 6
    assert record["window"]["tokens"] == 8192


def test_the_request_is_what_was_sent(client: httpx.Client, narrator: ScriptedModelServer, told: str) -> None:
    sent = narrator.narrations[-1].body
    answer = client.get(f"{told}/nodes/6/request")
    assert answer.content == sent
    assert answer.headers["content-type"] == "application/json"
    digest = base64.b64encode(hashlib.sha256(sent).digest()).decode()
    assert answer.headers["repr-digest"] == f"sha-256=:{digest}:"
    assert client.get(f"{told}/nodes/6/prompt").json()["body_sha256"] == hashlib.sha256(sent).hexdigest()


def test_the_reply_is_raw_with_its_removals(client: httpx.Client, told: str) -> None:
    reply = client.get(f"{told}/nodes/4/reply").json()
    assert (reply["raw_reply"], reply["prose"]) == (" Second take.\n", "Second take.")
    assert [(removal["start"], removal["end"]) for removal in reply["removals"]] == [(0, 1), (13, 14)]


@pytest.mark.parametrize("what", AUDITS)
def test_a_turn_is_found_by_itself_and_by_its_nodes(client: httpx.Client, told: str, what: str) -> None:
    turn = client.get(f"{told}/nodes/6/prompt").json()["turn"]
    by_turn = client.get(f"{told}/turns/{turn}/{what}")
    assert by_turn.status_code == 200
    for path in (f"nodes/6/{what}", f"nodes/5/{what}", f"turns/{turn}/{what}?purpose=narration"):
        assert client.get(f"{told}/{path}").content == by_turn.content


@pytest.mark.parametrize("what", AUDITS)
def test_what_was_never_asked_is_an_unknown_turn(client: httpx.Client, told: str, what: str) -> None:
    problem(client.get(f"{told}/nodes/1/{what}"), "unknown_turn")
    problem(client.get(f"{told}/turns/t_nope/{what}"), "unknown_turn")
    problem(client.get(f"{told}/nodes/6/{what}?purpose=state"), "unknown_turn")
    problem(client.get(f"{told}/nodes/99/{what}"), "unknown_node")
    problem(client.get(f"/api/campaigns/c_nope/nodes/1/{what}"), "unknown_campaign")
    problem(client.get(f"{told}/nodes/6/{what}?purpose=other"), "invalid")


@pytest.mark.parametrize("what", AUDITS)
@pytest.mark.parametrize("node", ["0", "-1", "x", "1.5", str(2**53), str(10**30), "9" * 5000])
def test_a_node_that_cannot_be_is_refused(client: httpx.Client, story: str, what: str, node: str) -> None:
    said = problem(client.get(f"{story}/nodes/{node}/{what}"), "invalid")
    assert list(said["fields"]) == ["node"]


def test_a_failed_turn_has_its_record(client: httpx.Client, narrator: ScriptedModelServer, story: str) -> None:
    narrator.script(Reply("Half a sentence that", cut_after=3))
    said = problem(client.post(f"{story}/turns", json={"kind": "do", "text": "one"}), "model_reply_incomplete")
    turn = said["turn"]
    assert client.get(f"{story}/turns/{turn}/prompt").json()["node"] is None
    assert json.loads(client.get(f"{story}/turns/{turn}/request").content) == narrator.narrations[-1].json
    reply = client.get(f"{story}/turns/{turn}/reply").json()
    assert (reply["node"], reply["raw_reply"], reply["error"]) == (None, "Half a sentence", "model_reply_incomplete")
    assert client.get(f"{story}/nodes/2/reply").json() == reply
