"""The raw log over HTTP: pages, followed live, verified."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests import shapes
from tests.fakes.serving import Serving
from tests.shapes import has_shape, problem

STREAM = {"accept": "text/event-stream"}


def test_a_new_story_has_one_event(client: httpx.Client, campaign: str, story: str) -> None:
    page = client.get(f"{story}/events").json()
    has_shape(page, shapes.EVENTS)
    (started,) = page["events"]
    has_shape(started, shapes.EVENT)
    assert (started["stream"], started["version"], started["topic"]) == (campaign, 1, "campaign.started")
    assert (started["schema"], started["turn"], started["actor"]) == (1, None, "player")
    assert len(bytes.fromhex(started["chain"])) == 32
    assert page["next"] is None


def test_events_are_paged_in_order(client: httpx.Client, story: str) -> None:
    client.post(f"{story}/turns", json={"kind": "do", "text": "one"})
    everything = client.get(f"{story}/events").json()["events"]
    assert [event["version"] for event in everything] == list(range(1, len(everything) + 1))
    seen: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = client.get(f"{story}/events", params={"after": after, "limit": 2}).json()
        assert len(page["events"]) <= 2
        seen += page["events"]
        after = page["next"]
    assert seen == everything
    assert client.get(f"{story}/events?after={everything[-1]['position']}").json() == {"events": [], "next": None}


@pytest.mark.parametrize(
    "query", ["after=-1", f"after={10**30}", "after=x", "limit=0", "limit=1001", f"limit={10**30}"]
)
def test_a_page_that_cannot_be_is_refused(client: httpx.Client, story: str, query: str) -> None:
    problem(client.get(f"{story}/events?{query}"), "invalid")
    problem(client.get(f"{story}/events?{query}", headers=STREAM), "invalid")


@contextmanager
def _following(server: Serving, path: str, **headers: str) -> Iterator[Iterator[dict[str, str]]]:
    """The events of a stream, as they come, each with its id, name and data."""
    with server.client() as client, client.stream("GET", path, headers=STREAM | headers) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield _parsed(response.iter_lines())


def _parsed(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    event: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        elif "event" in event:
            yield event
            event = {}


def test_a_follower_hears_what_there_is_and_what_comes(client: httpx.Client, server: Serving, story: str) -> None:
    with _following(server, f"{story}/events") as events:
        first = next(events)
        assert first["event"] == "event"
        assert json.loads(first["data"]) == client.get(f"{story}/events").json()["events"][0]
        assert first["id"] == str(json.loads(first["data"])["position"])
        client.patch(story, json={"title": "New"})
        revised = json.loads(next(events)["data"])
        assert revised["topic"] == "campaign.revised"
        assert revised["data"]["changes"]["title"] == "New"


def test_a_follower_begins_after_what_it_names(client: httpx.Client, server: Serving, story: str) -> None:
    first = client.get(f"{story}/events").json()["events"][0]["position"]
    client.patch(story, json={"title": "New"})
    with _following(server, f"{story}/events?after={first}") as events:
        assert json.loads(next(events)["data"])["topic"] == "campaign.revised"
    with _following(server, f"{story}/events", **{"last-event-id": str(first)}) as events:
        assert json.loads(next(events)["data"])["topic"] == "campaign.revised"
    with _following(server, f"{story}/events", **{"last-event-id": "none of ours"}) as events:
        assert json.loads(next(events)["data"])["topic"] == "campaign.started"


def test_a_follower_of_a_deleted_story_is_told(client: httpx.Client, server: Serving, story: str) -> None:
    with _following(server, f"{story}/events") as events:
        next(events)
        client.delete(story)
        last = next(events)
        assert last["event"] == "error"
        assert json.loads(last["data"])["code"] == "unknown_campaign"
        assert next(events, None) is None


def test_many_can_follow_while_others_ask(client: httpx.Client, server: Serving, story: str) -> None:
    heard: list[str] = []

    def follow() -> None:
        with _following(server, f"{story}/events") as events:
            next(events)
            listening.wait()
            heard.append(json.loads(next(events)["data"])["topic"])

    listening = threading.Barrier(9)
    followers = [threading.Thread(target=follow) for _ in range(8)]
    for follower in followers:
        follower.start()
    listening.wait(20)
    assert client.patch(story, json={"title": "New"}).status_code == 200
    for follower in followers:
        follower.join(20)
    assert heard == ["campaign.revised"] * 8


def test_what_is_not_there_cannot_be_followed(client: httpx.Client) -> None:
    problem(client.get("/api/campaigns/c_nope/events"), "unknown_campaign")
    problem(client.get("/api/campaigns/c_nope/events", headers=STREAM), "unknown_campaign")
    problem(client.get("/api/campaigns/c_nope/verify"), "unknown_campaign")


def test_the_chain_is_verified(client: httpx.Client, story: str) -> None:
    client.post(f"{story}/turns", json={"kind": "continue"})
    events = client.get(f"{story}/events").json()["events"]
    found = client.get(f"{story}/verify").json()
    has_shape(found, shapes.VERIFY)
    assert found == {"ok": True, "events": len(events), "head": events[-1]["chain"], "first_bad": None}
