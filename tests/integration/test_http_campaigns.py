"""Stories over HTTP: created, listed, read, changed, deleted."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import shapes
from tests.fakes.model_server import ScriptedModelServer
from tests.fakes.serving import serving
from tests.shapes import has_shape, problem

DEFAULTS: dict[str, Any] = {
    "title": "Untitled",
    "opening": "",
    "canon": [],
    "persona": {"name": "", "pronouns": "", "description": ""},
    "instructions": "",
    "plot_essentials": "",
    "authors_note": "",
    "front_memory": "",
    "narration_length": "",
    "memory_enabled": False,
    "summaries_enabled": False,
    "protagonist": "",
}
EVERYTHING: dict[str, Any] = {
    "title": "The far side",
    "opening": "A door.",
    "canon": ["One.", "Two."],
    "persona": {"name": "Ilse", "pronouns": "she/her", "description": "Deaf."},
    "instructions": "i",
    "plot_essentials": "p",
    "authors_note": "a",
    "front_memory": "f",
    "narration_length": "brief",
    "memory_enabled": True,
    "summaries_enabled": True,
    "protagonist": "Ilse",
}
LONG_TEXTS = ("instructions", "plot_essentials", "authors_note", "front_memory")
NAMES = ("title", "protagonist")


def test_a_story_without_anything_has_the_defaults(client: httpx.Client) -> None:
    answer = client.post("/api/campaigns", json={})
    assert answer.status_code == 201
    has_shape(answer.json(), shapes.CAMPAIGN)
    has_shape(answer.json()["settings"], shapes.CAMPAIGN_SETTINGS)
    has_shape(answer.json()["position"], shapes.POSITION)
    assert answer.json()["settings"] == DEFAULTS
    assert answer.json()["position"] == {
        "head": 1,
        "moment": 1,
        "label": "Moment 1",
        "can_undo": False,
        "can_redo": False,
        "takes": [1],
        "turn_in_progress": None,
    }


def test_a_story_is_read_as_it_was_created(client: httpx.Client) -> None:
    created = client.post("/api/campaigns", json=EVERYTHING).json()
    assert created["settings"] == EVERYTHING
    assert created["title"] == "The far side"
    assert created["id"].startswith("c_")
    assert created["created_at"] == created["revised_at"]
    assert created["created_at"].endswith("Z")
    assert client.get(f"/api/campaigns/{created['id']}").json() == created


@pytest.mark.parametrize("field", sorted(EVERYTHING.keys() - {"opening"}))
def test_each_setting_can_be_changed_alone(client: httpx.Client, story: str, field: str) -> None:
    before = client.get(story).json()
    changed = client.patch(story, json={field: EVERYTHING[field]})
    assert changed.status_code == 200, changed.text
    assert changed.json()["settings"] == {**before["settings"], field: EVERYTHING[field]}
    assert changed.json()["revised_at"] > before["revised_at"]
    assert client.get(story).json() == changed.json()


def test_an_empty_change_changes_nothing(client: httpx.Client, story: str) -> None:
    before = client.get(story).json()
    assert client.patch(story, json={}).json() == before


def test_the_opening_cannot_be_changed(client: httpx.Client, story: str) -> None:
    said = problem(client.patch(story, json={"title": "New", "opening": "Other."}), "invalid")
    assert said["fields"] == {
        "opening": "the opening cannot be changed; it is node 1 of the story (mend its text with PATCH …/nodes/1)"
    }
    assert client.get(story).json()["title"] == "T"


@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        ("/api/campaigns", {"canon": "x"}, {"canon": "Input should be a valid list"}),
        ("/api/settings", {"stop": "x"}, {"stop": "Input should be a valid list"}),
        ("/api/settings", {"stop": ["x"] * 17}, {"stop": "List should have at most 16 items after validation, not 17"}),
    ],
)
def test_a_list_is_called_one(client: httpx.Client, path: str, body: dict[str, Any], why: dict[str, str]) -> None:
    asked = client.post if path == "/api/campaigns" else client.patch
    assert problem(asked(path, json=body), "invalid")["fields"] == why


@pytest.mark.parametrize("field", sorted(EVERYTHING))
def test_null_is_refused_and_not_passed_over(client: httpx.Client, story: str, field: str) -> None:
    problem(client.post("/api/campaigns", json={field: None}), "invalid")
    problem(client.patch(story, json={field: None}), "invalid")


@pytest.mark.parametrize("body", [{"titel": "x"}, {"persona": {"name": "x", "age": 4}}])
def test_unknown_fields_are_refused(client: httpx.Client, story: str, body: dict[str, Any]) -> None:
    problem(client.post("/api/campaigns", json=body), "invalid")
    problem(client.patch(story, json=body), "invalid")


@pytest.mark.parametrize(
    "body",
    [
        {"title": 5},
        {"canon": "one"},
        {"canon": [1]},
        {"canon": {"0": "one"}},
        {"persona": "Ilse"},
        {"persona": []},
        {"memory_enabled": 1},
        {"memory_enabled": "true"},
        {"narration_length": "huge"},
        {"instructions": ["a"]},
    ],
)
def test_nothing_is_converted(client: httpx.Client, story: str, body: dict[str, Any]) -> None:
    problem(client.post("/api/campaigns", json=body), "invalid")
    problem(client.patch(story, json=body), "invalid")


def _texts_of(length: int) -> list[dict[str, Any]]:
    text = "é" * length
    fields: list[dict[str, Any]] = [{field: text} for field in LONG_TEXTS]
    return [*fields, {"canon": ["", text]}, {"persona": {"description": text}}]


@pytest.mark.parametrize("body", _texts_of(16_000), ids=lambda body: next(iter(body)))
def test_a_section_holds_16_000_characters(client: httpx.Client, story: str, body: dict[str, Any]) -> None:
    assert client.post("/api/campaigns", json=body).status_code == 201
    assert client.patch(story, json=body).status_code == 200


@pytest.mark.parametrize("body", _texts_of(16_001), ids=lambda body: next(iter(body)))
def test_a_section_holds_no_more(client: httpx.Client, story: str, body: dict[str, Any]) -> None:
    problem(client.post("/api/campaigns", json=body), "invalid")
    said = problem(client.patch(story, json=body), "invalid")
    assert len(said["detail"]) < 500


@pytest.mark.parametrize("field", NAMES)
def test_a_name_holds_200_characters(client: httpx.Client, field: str) -> None:
    assert client.post("/api/campaigns", json={field: "n" * 200}).status_code == 201
    problem(client.post("/api/campaigns", json={field: "n" * 201}), "invalid")


def test_an_opening_holds_200_000_characters(client: httpx.Client) -> None:
    assert client.post("/api/campaigns", json={"opening": "o" * 200_000}).status_code == 201
    problem(client.post("/api/campaigns", json={"opening": "o" * 200_001}), "invalid")


def test_a_deleted_story_leaves_a_tombstone(client: httpx.Client, campaign: str, story: str) -> None:
    head = client.get(f"{story}/verify").json()["head"]
    stone = client.delete(story)
    assert stone.status_code == 200
    assert stone.json() == {"campaign": campaign, "title": "T", "events": 1, "head": head}
    for path in ("", "/story", "/position", "/events", "/verify", "/nodes/1/prompt", "/turns/t_x/prompt"):
        problem(client.get(story + path), "unknown_campaign")
    problem(client.patch(story, json={"title": "x"}), "unknown_campaign")
    problem(client.delete(story), "unknown_campaign")
    problem(client.post(f"{story}/turns", json={"kind": "continue"}), "unknown_campaign")
    problem(client.post(f"{story}/retry"), "unknown_campaign")
    problem(client.post(f"{story}/turns/t_x/cancel"), "unknown_campaign")
    assert campaign not in {row["id"] for row in client.get("/api/campaigns?limit=500").json()["campaigns"]}


def test_the_list_is_paged_newest_first(narrator: ScriptedModelServer, tmp_path: Path) -> None:
    with serving(tmp_path, narrator.endpoint) as server, server.client() as client:
        assert client.get("/api/campaigns").json() == {"campaigns": [], "next": None}
        made = [client.post("/api/campaigns", json={"title": str(n)}).json()["id"] for n in range(5)]
        client.post(f"/api/campaigns/{made[0]}/turns", json={"kind": "do", "text": "x"})
        seen: list[dict[str, Any]] = []
        query: dict[str, int] = {"limit": 2}
        for _ in range(3):
            page = client.get("/api/campaigns", params=query).json()
            seen += page["campaigns"]
            query["after"] = page["next"]
        assert page["next"] is None
        assert [row["id"] for row in seen] == made[::-1]
        oldest = seen[-1]
        assert (oldest["title"], oldest["turns"], oldest["nodes"]) == ("0", 1, 3)
        assert oldest["played_at"] > oldest["created_at"]
        assert seen[0]["played_at"] is None
        assert len(client.get("/api/campaigns?limit=500").json()["campaigns"]) == 5


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=501", "limit=x", "limit=-1", "after=-1", f"after={10**30}", "limit="]
)
def test_a_page_that_cannot_be_is_refused(client: httpx.Client, query: str) -> None:
    problem(client.get(f"/api/campaigns?{query}"), "invalid")


def test_nul_characters_are_kept(client: httpx.Client) -> None:
    created = client.post("/api/campaigns", json={"title": "a\0b", "opening": "\0", "canon": ["x\0"]}).json()
    read = client.get(f"/api/campaigns/{created['id']}").json()["settings"]
    assert (read["title"], read["opening"], read["canon"]) == ("a\0b", "\0", ["x\0"])


def test_lone_surrogates_are_replaced_and_counted(client: httpx.Client) -> None:
    body = rb'{"title": "a\ud800b", "opening": "\udfff\ud83d\ude00\ud83d", "persona": {"name": "\udc00"}}'
    created = client.post("/api/campaigns", content=body, headers={"content-type": "application/json"})
    assert created.status_code == 201, created.text
    settings = created.json()["settings"]
    assert settings["title"] == "a\ufffdb"
    assert settings["opening"] == "\ufffd\U0001f600\ufffd"
    assert settings["persona"]["name"] == "\ufffd"
    (started,) = client.get(f"/api/campaigns/{created.json()['id']}/events").json()["events"]
    assert started["data"]["replaced_surrogates"] == 4


def test_lone_surrogates_in_a_change_are_counted(client: httpx.Client) -> None:
    campaign = client.post("/api/campaigns", json={}).json()["id"]
    headers = {"content-type": "application/json"}
    of = f"/api/campaigns/{campaign}"
    changed = client.patch(of, content=rb'{"authors_note": "slow \ud800 down \udfff"}', headers=headers)
    assert changed.json()["settings"]["authors_note"] == "slow � down �"
    events = client.get(f"{of}/events").json()["events"]
    assert [event["data"]["replaced_surrogates"] for event in events if event["topic"] == "campaign.revised"] == [2]
