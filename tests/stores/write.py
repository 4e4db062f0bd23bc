"""Writes the store of a version that is to be released: `python -m tests.stores.write`, once, in a real run.

The real server plays with the real small narrator: turns of every kind, a retry, a failed turn that is told again,
settings, a deleted story, an idempotency key. Then it is asked about everything, and log and answers are kept.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx

HERE = Path(__file__).parent
READY = "is ready at "


def main() -> None:
    folder = HERE / version("fabula")
    folder.mkdir()
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        answers = _played(home)
        (folder / "log.db").write_bytes((home / "log.db").read_bytes())
    (folder / "answers.json").write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _played(home: Path) -> dict[str, Any]:
    command = [sys.executable, "-c", "from api.cli import main; main()", "serve", "--home", str(home), "--port", "0"]
    environment = os.environ | {"FABULA_NARRATOR_PORT": str(_free_port())}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        ready = server.stdout.readline()
        assert READY in ready, ready
        where = ready.split(READY)[1].split()[0]
        try:
            with httpx.Client(base_url=where, timeout=300) as client:
                campaign, turns = _play(client)
                answers = {path: _asked(client, path) for path in _paths(campaign, turns)}
        finally:
            server.terminate()
        assert server.wait() == 0
    return answers


def _play(client: httpx.Client) -> tuple[str, list[str]]:
    settings = client.patch("/api/settings", json={"max_output_tokens": 48, "seed": 7}).json()
    gone = _posted(client, "/api/campaigns", {"title": "To be deleted", "opening": "Not for long."})["id"]
    _posted(client, f"/api/campaigns/{gone}/turns", {"kind": "continue"})
    client.delete(f"/api/campaigns/{gone}").raise_for_status()
    new = {
        "title": "The far side",
        "opening": "The door at the end of the corridor has never been open before. Tonight it is.",
        "canon": ["Nobody has ever come back through the door."],
        "persona": {"name": "Ilse", "pronouns": "she/her", "description": "Patient, and a little deaf."},
    }
    campaign = _posted(client, "/api/campaigns", new)["id"]
    of = f"/api/campaigns/{campaign}"
    turns = [_posted(client, f"{of}/turns", {"kind": "do", "text": "I step through the door"})["turn"]]
    turns.append(_posted(client, f"{of}/turns", {"kind": "say", "text": "Is anybody \x00 there? ⚓"})["turn"])
    turns.append(_posted(client, f"{of}/retry", None)["turn"])
    client.patch("/api/settings", json={"endpoint": "http://127.0.0.1:9/v1"}).raise_for_status()
    failed = client.post(f"{of}/turns", json={"kind": "story", "text": "Far away, a second door falls shut."})
    turns.append(failed.json()["turn"])
    client.patch("/api/settings", json={"endpoint": settings["endpoint"]}).raise_for_status()
    key = {"Idempotency-Key": "told-again"}
    turns.append(client.post(f"{of}/turns", json={"kind": "continue"}, headers=key).raise_for_status().json()["turn"])
    client.patch(of, json={"authors_note": "Slow down."}).raise_for_status()
    turns.append(_posted(client, f"{of}/turns", {"kind": "continue"})["turn"])
    turns.append(_with_state(client, of))
    turns += _moved_about(client, of)
    _posted(client, f"{of}/extractor", {"extractor": "1", "scope": "whole_history"})
    return campaign, turns


def _with_state(client: httpx.Client, of: str) -> str:
    """What the player establishes, a look, and a turn whose block is asked for in a second request."""
    door = {"type": "create_entity", "entity": "door", "entity_type": "item", "name": "The door"}
    ilse = {"type": "create_entity", "entity": "ilse", "entity_type": "character", "name": "Ilse"}
    unknown = {"type": "set_possession", "item": "key", "owner": "ilse"}
    _posted(client, f"{of}/state/corrections", {"events": [door, ilse, unknown], "note": "So that it is known."})
    scene = {"type": "set_scene", "summary": "Ilse at the door", "location": "door", "present": ["ilse"]}
    _posted(client, f"{of}/state/corrections", {"events": [scene]})
    look = {"descriptors": {"colour": "grey"}, "features": ["a brass handle"], "style_notes": "Worn."}
    client.put(f"{of}/visual-profiles/door", json=look).raise_for_status()
    client.patch("/api/settings", json={"state_pass": True, "max_output_tokens": 160}).raise_for_status()
    turn = _posted(client, f"{of}/turns", {"kind": "do", "text": "I lay my hand on the handle"})["turn"]
    client.patch("/api/settings", json={"state_pass": False, "max_output_tokens": 48}).raise_for_status()
    return str(turn)


def _moved_about(client: httpx.Client, of: str) -> list[str]:
    """Back, aside and forth: a save point, another path, a revision, a correction, names."""
    here = _posted(client, f"{of}/save-points", {"name": "before it parts"})
    _posted(client, f"{of}/undo", None)
    _posted(client, f"{of}/undo", None)
    turn = _posted(client, f"{of}/turns", {"kind": "do", "text": "I turn back"})
    branch = client.get(f"{of}/tree").raise_for_status().json()["branches"][-1]["branch"]
    client.put(f"{of}/branches/{branch}", json={"name": "turned back"}).raise_for_status()
    _posted(client, f"{of}/nodes/{turn['node']}/revise", {"text": "There is no way back."})
    client.patch(f"{of}/nodes/{turn['player_node']}", json={"text": "I turn around"}).raise_for_status()
    _posted(client, f"{of}/head", {"save_point": here["id"]})
    _posted(client, f"{of}/undo", None)
    return [turn["turn"]]


def _paths(campaign: str, turns: list[str]) -> list[str]:
    of = f"/api/campaigns/{campaign}"
    asked = ["/api/campaigns", of, f"{of}/story?limit=100", f"{of}/position", f"{of}/verify", f"{of}/events?limit=500"]
    asked += [f"{of}/turns/{turn}/{what}" for turn in turns for what in ("prompt", "request", "reply")]
    places = "left=turned%20back&right=before%20it%20parts"
    asked += [f"{of}/tree", f"{of}/save-points", f"{of}/diff?{places}", f"{of}/story?at=5", f"{of}/story?position=30"]
    asked += [
        f"{of}/state",
        f"{of}/state?position=40",
        f"{of}/state/why?path=entities.door.name",
        f"{of}/state/proposals",
    ]
    asked += [f"{of}/state/history?path=scene", f"{of}/scene-packet", f"{of}/visual-profiles"]
    return [*asked, "/api/settings"]


def _posted(client: httpx.Client, path: str, body: Any) -> Any:
    return client.post(path, json=body).raise_for_status().json()


def _asked(client: httpx.Client, path: str) -> Any:
    return client.get(path).raise_for_status().json()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
