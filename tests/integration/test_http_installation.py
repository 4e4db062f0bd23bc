"""The installation over HTTP: settings with their bounds, the connection test, views, health."""

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import shapes
from tests.fakes.model_server import ScriptedModelServer
from tests.fakes.serving import Serving, serving
from tests.shapes import has_shape, problem


@pytest.fixture(scope="module")
def _apart(narrator: ScriptedModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with serving(tmp_path_factory.mktemp("settings"), narrator.endpoint) as server, server.client() as client:
        yield client


@pytest.fixture
def apart(_apart: httpx.Client) -> httpx.Client:
    """A client of a server whose settings may be changed."""
    return _apart


BOUNDS: list[tuple[str, list[Any], list[Any]]] = [
    ("endpoint", ["http://127.0.0.1:9/v1", "http://[::1]:9/v1", "https://10.0.0.1/v1", ""], [None, 5]),
    ("model", ["", "m", "é" * 512], ["m" * 513, None, 5, ["m"]]),
    ("mode", ["chat", "completion"], ["Chat", "", None, 1]),
    ("temperature", [0, 0.8, 5, 5.0], [-0.01, 5.01, "0.8", None, True]),
    ("top_p", [0.01, 1, None], [0, 1.01, "0.5", False]),
    ("seed", [0, 2**32 - 1, None], [-1, 2**32, 10**30, 1.5, "1", True]),
    ("stop", [[], ["x"], ["y" * 200] * 16], [[""], ["y" * 201], ["x"] * 17, "x", [5], None, {"0": "x"}]),
    ("max_output_tokens", [16, 32_768, 400.0], [15, 32_769, "400", None, 400.5, 10**30]),
    ("context_budget", [512, 2_000_000], [511, 2_000_001, None, -(10**30)]),
    ("context_window_override", [256, 200_000, None], [255, 200_001, "256"]),
    ("model_timeout_seconds", [30, 3_600], [29, 3_601, None]),
    ("extractor", ["0", "1", "2"], ["", "x" * 17, None, 2]),
    ("state_pass", [True, False], [None, 2, "perhaps"]),
    ("embedding_model", ["", "e" * 512], ["e" * 513, None]),
    ("summary_model", ["", "s" * 512], ["s" * 513, None]),
    ("memory_top_k", [0, 100], [-1, 101, None]),
    ("memory_bank_capacity", [1, 1_000_000, None], [0, 1_000_001]),
    ("low_water_percent", [10, 95], [9, 96, None]),
    ("narrator_prompt", ["", "n" * 16_000], ["n" * 16_001, None]),
]


def test_the_bounds_above_are_of_every_setting(apart: httpx.Client) -> None:
    in_force = apart.get("/api/settings").json()
    has_shape(in_force, shapes.SETTINGS)
    assert [*(name for name, _, _ in BOUNDS), "public_endpoint"] == list(in_force)


@pytest.mark.parametrize(("name", "good", "bad"), BOUNDS, ids=[name for name, _, _ in BOUNDS])
def test_each_setting_has_its_bounds(apart: httpx.Client, name: str, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        changed = apart.patch("/api/settings", json={name: value})
        assert changed.status_code == 200, changed.text
        # Nothing chosen means the small narrator, and the program's own words to whoever narrates.
        if value != "" or name not in ("endpoint", "model", "narrator_prompt"):
            assert changed.json()[name] == value
        assert apart.get("/api/settings").json() == changed.json()
    before = apart.get("/api/settings").json()
    companion = "model" if name != "model" else "summary_model"
    for value in bad:
        said = problem(apart.patch("/api/settings", json={name: value, companion: "not stored"}), "invalid")
        assert {place.split(".")[0] for place in said["fields"]} == {name}
    assert apart.get("/api/settings").json() == before


def test_unknown_settings_are_refused(apart: httpx.Client) -> None:
    unknown = {"temprature": 1, "api_key": "secret"}
    said = problem(apart.patch("/api/settings", json=unknown), "invalid")
    assert set(said["fields"]) == set(unknown)


def test_what_the_environment_decides_is_not_changed_here(apart: httpx.Client) -> None:
    before = apart.get("/api/settings").json()
    said = problem(apart.patch("/api/settings", json={"public_endpoint": True, "temperature": 0.1}), "invalid")
    assert said["fields"] == {"public_endpoint": "FABULA_PUBLIC_ENDPOINT, in the environment, decides it"}
    assert apart.get("/api/settings").json() == before


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://8.8.8.8/v1",
        "https://203.0.113.7:8080/v1",
        "http://169.254.169.254/latest",
        "http://0.0.0.0:8080/v1",
        "http://[2606:4700::1111]/v1",
        "ftp://127.0.0.1/v1",
        "127.0.0.1:8080",
        "http://",
        "http://user:pw@127.0.0.1/v1",
        "http://127.0.0.1:99999/v1",
        "\0",
        "http://127.0.0.1/\r\nx",
        "x" * 2048,
    ],
)
def test_an_endpoint_elsewhere_is_refused(apart: httpx.Client, endpoint: str) -> None:
    before = apart.get("/api/settings").json()
    said = problem(apart.patch("/api/settings", json={"endpoint": endpoint}), "endpoint_refused")
    assert "pw" not in said["endpoint"]
    assert apart.get("/api/settings").json() == before


def test_an_endpoint_has_a_length(apart: httpx.Client) -> None:
    problem(apart.patch("/api/settings", json={"endpoint": "http://127.0.0.1/" + "x" * 2048}), "invalid")


def test_text_in_settings_is_cleaned(apart: httpx.Client) -> None:
    body = rb'{"model": "a\ud800b", "narrator_prompt": "\u0000x"}'
    changed = apart.patch("/api/settings", content=body, headers={"content-type": "application/json"}).json()
    assert (changed["model"], changed["narrator_prompt"]) == ("a\ufffdb", "\0x")


def test_what_the_environment_gave_counts_until_it_is_changed(narrator: ScriptedModelServer, tmp_path: Path) -> None:
    with serving(tmp_path, narrator.endpoint) as server, server.client() as client:
        in_force = client.get("/api/settings").json()
        assert (in_force["endpoint"], in_force["model"]) == (narrator.endpoint, "scripted-model")
        changed = client.patch("/api/settings", json={"model": "mine"}).json()
        assert (changed["endpoint"], changed["model"]) == (narrator.endpoint, "mine")
        changed = client.patch("/api/settings", json={"endpoint": "http://127.0.0.1:9/v1"}).json()
        assert (changed["endpoint"], changed["model"]) == ("http://127.0.0.1:9/v1", "mine")
    # A process that is started anew was told again, and whoever spoke last is obeyed.
    with serving(tmp_path, narrator.endpoint) as server, server.client() as client:
        assert client.get("/api/settings").json()["endpoint"] == narrator.endpoint
        assert client.get("/api/settings").json()["model"] == "scripted-model"
        problem(client.patch("/api/settings", json={"endpoint": "http://8.8.8.8/v1"}), "endpoint_refused")
        assert client.get("/api/settings").json()["endpoint"] == narrator.endpoint
    with serving(tmp_path, "") as server, server.client() as client:
        assert client.get("/api/settings").json()["endpoint"] == "http://127.0.0.1:9/v1"


def test_the_test_lists_models_and_the_window(client: httpx.Client, narrator: ScriptedModelServer) -> None:
    answer = client.post("/api/settings/test")
    assert answer.status_code == 200
    found = answer.json()
    assert (found["reachable"], found["models"], found["model_listed"]) == (True, ["scripted-model"], True)
    assert (found["window"]["tokens"], found["window"]["verified"]) == (8192, True)
    assert found["endpoint"] == narrator.endpoint


def test_a_server_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with serving(tmp_path, "http://127.0.0.1:9/v1") as server, server.client() as client:
        found = client.post("/api/settings/test")
        assert found.status_code == 200
        assert (found.json()["reachable"], found.json()["models"]) == (False, [])
        assert "127.0.0.1:9" in found.json()["detail"]
        story = client.post("/api/campaigns", json={}).json()["id"]
        problem(client.post(f"/api/campaigns/{story}/turns", json={"kind": "continue"}), "model_unreachable")


def test_the_views_are_listed_and_rebuilt(client: httpx.Client, story: str) -> None:
    client.post(f"{story}/turns", json={"kind": "continue"})
    before = client.get(f"{story}/story").json()
    listed = client.get("/api/projections").json()["projections"]
    assert {"campaigns", "story", "prompts"} <= {projection["name"] for projection in listed}
    for projection in listed:
        has_shape(projection, shapes.PROJECTION)
        rebuilt = client.post(f"/api/projections/{projection['name']}/rebuild")
        assert rebuilt.status_code == 200
        has_shape(rebuilt.json(), shapes.PROJECTION)
        assert (rebuilt.json()["name"], rebuilt.json()["lag"]) == (projection["name"], 0)
    assert client.get(f"{story}/story").json() == before


def test_the_settings_can_be_sent_back_as_they_came(apart: httpx.Client) -> None:
    """Programs read them all, change one, and write them all."""
    stands = apart.get("/api/settings").json()
    changed = apart.patch("/api/settings", json={**stands, "temperature": 0.4})
    assert changed.status_code == 200, changed.text
    assert changed.json() == {**stands, "temperature": 0.4}


def test_a_view_is_built_for_one_story_or_left_to_be_built(client: httpx.Client, story: str) -> None:
    client.post(f"{story}/turns", json={"kind": "continue"})
    campaign = story.rsplit("/", 1)[1]
    before = client.get(f"{story}/story").json()
    one = client.post("/api/projections/story/rebuild", params={"campaign": campaign})
    assert (one.status_code, one.json()["state"]) == (200, "current")
    begun = client.post("/api/projections/story/rebuild", params={"wait": "false"})
    assert begun.status_code == 202
    has_shape(begun.json(), shapes.PROJECTION)
    deadline = time.monotonic() + 10
    while client.get("/api/projections").json()["projections"][1]["rebuilding"] is not None:
        assert time.monotonic() < deadline
    assert client.get(f"{story}/story").json() == before
    problem(client.post("/api/projections/story/rebuild", params={"campaign": "c_nobody"}), "unknown_campaign")
    problem(client.post("/api/projections/story/rebuild", params={"wait": "maybe"}), "invalid")


def test_a_view_is_checked(client: httpx.Client, story: str, server: Serving) -> None:
    client.post(f"{story}/turns", json={"kind": "continue"})
    client.get(f"{story}/story")
    sound = client.post("/api/projections/story/check").json()
    assert (sound["name"], sound["ok"], sound["difference"], sound["parked_at"]) == ("story", True, None, None)
    assert sound["position"] >= 1
    campaign = story.rsplit("/", 1)[1]
    with sqlite3.connect(next((server.config.home / "views").glob("story.v*.db"))) as view:
        view.execute("UPDATE node SET text = 'WRONG' WHERE campaign = ? AND node = 1", [campaign])
    view.close()
    checked = client.post("/api/projections/story/check").json()
    assert (checked["ok"], checked["difference"]["table"]) == (False, "node")
    assert checked["difference"]["key"] == {"campaign": campaign, "node": 1}
    assert checked["difference"]["stored"] == {"text": "WRONG"}
    assert checked["difference"]["rebuilt"] == {"text": "It begins."}
    client.post("/api/projections/story/rebuild")
    assert client.post("/api/projections/story/check").json()["ok"]
    problem(client.post("/api/projections/stories/check"), "unknown_projection")


@pytest.mark.parametrize("name", ["nope", "STORY", "%00", "..", "story.v1"])
def test_an_unknown_view_is_not_rebuilt(client: httpx.Client, name: str) -> None:
    code = "unknown_path" if name == ".." else "unknown_projection"
    problem(client.post(f"/api/projections/{name}/rebuild"), code)


def test_health_is_ready_when_the_views_have_caught_up(client: httpx.Client, story: str) -> None:
    client.get(f"{story}/story")
    health = client.get("/api/health")
    assert health.status_code == 200
    assert health.json()["status"] in ("ready", "catching_up")
    assert health.json()["version"]
    for projection in health.json()["projections"]:
        has_shape(projection, shapes.PROJECTION)
