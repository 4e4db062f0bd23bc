"""An endpoint on the internet: only where the environment names it, and then it shows wherever the endpoint shows."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpcore
import httpx
import pytest

from api.config import Config
from api.use_cases.diagnosis import diagnose
from tests.fakes.model_server import ScriptedModelServer
from tests.fakes.serving import serving
from tests.shapes import problem

PUBLIC = "http://8.8.8.8:11434/v1"
OTHERS = ("http://8.8.8.8:11434/v2", "http://8.8.8.8/v1", "https://8.8.8.8:11434/v1", "http://8.8.4.4:11434/v1")


@pytest.fixture
def model() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(n_ctx=8192) as server:
        yield server


@pytest.fixture(autouse=True)
def internet(model: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """An internet that is the model server, whatever address is connected to; and what was connected to."""
    connected: list[tuple[str, int]] = []
    real = httpcore.AnyIOBackend.connect_tcp

    async def connect(self: httpcore.AnyIOBackend, host: str, port: int, *more: Any) -> httpcore.AsyncNetworkStream:
        connected.append((host, port))
        return await real(self, "127.0.0.1", model.port, *more)

    monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", connect)
    return connected


def test_it_is_refused_where_the_environment_does_not_name_it(
    tmp_path: Path, internet: list[tuple[str, int]], model: ScriptedModelServer
) -> None:
    with serving(tmp_path, model.endpoint, public_endpoint="") as server, server.client() as client:
        problem(client.patch("/api/settings", json={"endpoint": PUBLIC}), "endpoint_refused")
        assert client.get("/api/settings").json()["public_endpoint"] is False
        assert client.get("/api/health").json()["public_endpoint"] is False
    assert internet == []


def test_it_shows_in_every_answer_and_in_the_record_for_ever(
    tmp_path: Path, internet: list[tuple[str, int]], model: ScriptedModelServer
) -> None:
    with (
        serving(tmp_path, "", public_endpoint=f"https://models.test/v1, {PUBLIC}") as server,
        server.client() as client,
    ):
        for other in OTHERS:
            problem(client.patch("/api/settings", json={"endpoint": other}), "endpoint_refused")
        assert internet == []
        changed = client.patch("/api/settings", json={"endpoint": PUBLIC}).json()
        assert (changed["endpoint"], changed["public_endpoint"]) == (PUBLIC, True)
        assert client.get("/api/settings").json() == changed
        assert client.post("/api/settings/test").json()["public_endpoint"] is True
        assert client.get("/api/health").json()["public_endpoint"] is True
        story = client.post("/api/campaigns", json={"opening": "A door."}).json()["id"]
        told = client.post(f"/api/campaigns/{story}/turns", json={"kind": "do", "text": "I step through"}).json()
        record = client.get(f"/api/campaigns/{story}/turns/{told['turn']}/prompt").json()
        assert (record["endpoint"], record["public_endpoint"]) == (PUBLIC, True)
        sent = [event for event in _events(client, story) if event["topic"] == "prompt.sent"]
        assert [event["data"]["public_endpoint"] for event in sent] == [True]
    assert set(internet) == {("8.8.8.8", 11434)}
    with serving(tmp_path, model.endpoint) as server, server.client() as client:
        assert client.get("/api/settings").json()["public_endpoint"] is False
        again = client.get(f"/api/campaigns/{story}/turns/{told['turn']}/prompt").json()
        assert again["public_endpoint"] is True


def _events(client: httpx.Client, story: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = client.get(f"/api/campaigns/{story}/events").json()["events"]
    return events


def test_a_row_that_was_stored_while_it_was_allowed_is_refused_when_it_no_longer_is(
    tmp_path: Path, internet: list[tuple[str, int]]
) -> None:
    with serving(tmp_path, "", public_endpoint=PUBLIC) as server, server.client() as client:
        assert client.patch("/api/settings", json={"endpoint": PUBLIC}).status_code == 200
    for allowed in ("", *OTHERS):
        with serving(tmp_path, "", public_endpoint=allowed) as server, server.client() as client:
            story = client.post("/api/campaigns", json={"opening": "A door."}).json()["id"]
            problem(client.post(f"/api/campaigns/{story}/turns", json={"kind": "continue"}), "endpoint_refused")
            assert client.post("/api/settings/test").json()["reachable"] is False
    assert internet == []


def test_a_private_endpoint_stays_one_beside_it(tmp_path: Path, model: ScriptedModelServer) -> None:
    with serving(tmp_path, model.endpoint, public_endpoint=PUBLIC) as server, server.client() as client:
        assert client.get("/api/settings").json()["public_endpoint"] is False
        story = client.post("/api/campaigns", json={"opening": "A door."}).json()["id"]
        told = client.post(f"/api/campaigns/{story}/turns", json={"kind": "continue"}).json()
        assert client.get(f"/api/campaigns/{story}/turns/{told['turn']}/prompt").json()["public_endpoint"] is False


def test_the_start_is_logged_as_a_warning(
    tmp_path: Path, model: ScriptedModelServer, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with serving(tmp_path, model.endpoint, public_endpoint=PUBLIC):
        pass
    lines = (caplog.text + "".join(capsys.readouterr())).splitlines()
    (said,) = [line for line in lines if "public_endpoint_allowed" in line]
    assert "warning" in said.lower()
    assert PUBLIC in said


def test_doctor_names_it(tmp_path: Path) -> None:
    found = asyncio.run(diagnose(Config(home=tmp_path, endpoint=PUBLIC, public_endpoint=PUBLIC, port=0), {}))
    (note,) = [finding for finding in found if finding.about == "public endpoint"]
    assert note.standing == "note"
    assert PUBLIC in note.detail
    assert "leaves your network" in note.detail
