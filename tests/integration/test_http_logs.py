"""What is logged holds no word of story, whatever happens."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from api.wiring import Fabula
from tests.fakes.model_server import Reply, ScriptedModelServer
from tests.fakes.serving import serving
from tests.shapes import problem

WORD = "Xyloquartz"
"""A word that stands nowhere but in this story."""

JSON = {"content-type": "application/json"}


@contextmanager
def _served_by_the_program(home: Path, endpoint: str, log: Path) -> Iterator[str]:
    """The address of a process that was started as a user would; what it writes goes to `log`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FABULA_")}
    command = [sys.executable, "-c", "from api.cli import main; main()", "serve", "--port", "0", "--no-narrator"]
    with log.open("wb") as written:
        process = subprocess.Popen(
            [*command, "--home", str(home), "--endpoint", endpoint, "--model", "scripted-model"],
            stdout=subprocess.PIPE,
            stderr=written,
            env=environment | {"FABULA_LOG_LEVEL": "info"},
        )
        assert process.stdout is not None
        try:
            ready = process.stdout.readline().decode()
            found = re.search(r"http://127\.0\.0\.1:\d+", ready)
            assert found, ready + log.read_text()
            yield found[0]
        finally:
            process.terminate()
            rest = process.stdout.read()
            process.wait(20)
            process.stdout.close()
            written.write(rest)


def _play_everything(client: httpx.Client, narrator: ScriptedModelServer) -> str:
    """A story in which the word stands everywhere that a word can stand, and much goes wrong."""
    created = client.post(
        "/api/campaigns",
        json={
            "title": WORD,
            "opening": WORD,
            "canon": [WORD],
            "persona": {"name": WORD, "description": WORD},
            "authors_note": WORD,
        },
    )
    story = f"/api/campaigns/{created.json()['id']}"
    stream = {"accept": "text/event-stream"}
    narrator.script(
        Reply(f"{WORD} says so.", reasoning=WORD),
        Reply(f"{WORD} again.", prompt_tokens=9_000),
        Reply.refusal(400, f"cannot read {WORD}"),
        Reply(f"{WORD} half", cut_after=1),
        Reply.raw(f'data: {{"choices": "{WORD}"}}\n\n'),
        Reply(" "),
    )
    for _ in range(3):
        client.post(f"{story}/turns", json={"kind": "do", "text": f"I call {WORD}"})
        client.post(f"{story}/retry", headers=stream)
    client.patch(story, json={"instructions": WORD})
    client.patch("/api/settings", json={"narrator_prompt": WORD})
    for path in ("", "/story", "/events", "/verify", "/nodes/3/prompt", "/nodes/3/request", "/nodes/3/reply"):
        assert client.get(story + path).status_code == 200
    client.get(f"{story}/story?limit={WORD}")
    client.get(f"/api/campaigns/{WORD}")
    client.get(f"/{WORD}")
    client.post(f"{story}/turns", json={WORD: WORD})
    client.post(f"{story}/turns", content=b'{"kind": "%s' % WORD.encode(), headers=JSON)
    client.post(f"{story}/turns", content=WORD.encode() * 200_000, headers=JSON)
    client.patch("/api/settings", json={"endpoint": f"http://{WORD}.example/v1"})
    client.post(f"{story}/turns", json={"kind": "say", "text": WORD}, headers={"idempotency-key": f"{WORD} {WORD}"})
    client.post("/api/projections/story/rebuild")
    return story


def test_a_program_that_is_played_with_logs_no_story(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        ScriptedModelServer(n_ctx=8192) as narrator,
        _served_by_the_program(tmp_path / "home", narrator.endpoint, log) as url,
        httpx.Client(base_url=url, timeout=30, trust_env=False) as client,
    ):
        story = _play_everything(client, narrator)
        assert WORD in client.get(f"{story}/story").text
        with client.stream("POST", f"{story}/turns", json={"kind": "do", "text": WORD}):
            pass  # hung up
    written = log.read_text()
    assert "exceeded" in written  # it does log
    assert WORD.lower() not in written.lower()


def _breaking(fabula: Fabula) -> Fabula:
    class Prompter:
        def prepare(self, *_: Any, **__: Any) -> None:
            raise RuntimeError(f"cannot send {WORD}")

    class Settings:
        def __getattr__(self, name: str) -> object:
            raise RuntimeError(f"cannot set {WORD}")

    fabula.turns._narrating._prompter = Prompter()  # type: ignore[assignment]  # that is the point
    return replace(fabula, store=replace(fabula.store, settings=Settings()))  # type: ignore[arg-type]  # as above


def test_what_breaks_is_logged_by_its_place(
    narrator: ScriptedModelServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with (
        capture_logs() as logged,
        serving(tmp_path, narrator.endpoint, adapt=_breaking) as server,
        server.client() as client,
    ):
        story = client.post("/api/campaigns", json={"title": WORD}).json()["id"]
        turn = client.post(f"/api/campaigns/{story}/turns", json={"kind": "do", "text": WORD})
        assert WORD not in problem(turn, "internal_error")["detail"]
        settings = client.patch("/api/settings", json={"model": WORD})
        assert WORD not in problem(settings, "internal_error")["detail"]
        # The turn is closed, and the story goes on.
        assert client.get(f"/api/campaigns/{story}/position").json()["turn_in_progress"] is None
    shown = [line for line in logged if line["log_level"] != "debug"]
    broken = {line["event"]: line for line in shown if "broke" in line["event"]}
    assert broken.keys() == {"turn_broke", "request_broke"}
    for line in broken.values():
        assert line["error"] == "RuntimeError"
        assert any("test_http_logs.py" in place for place in line["at"])
    assert WORD not in str(shown)
    assert WORD not in caplog.text
    assert WORD not in "".join(capfd.readouterr())
