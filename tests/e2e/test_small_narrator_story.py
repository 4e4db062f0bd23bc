"""The program as it comes: `fabula serve` with its own small narrator, which is killed in mid-reply; and without a network."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.e2e.conftest import Start
from tests.e2e.player import Player
from tests.e2e.server_process import REPOSITORY, Launch, wait_until
from tests.e2e.wholeness import assert_whole

OPENING = "A door at the end of the corridor has never been open before. Tonight it is."


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def _narrator_of(pid: int) -> int | None:
    """The process of the small narrator that this server started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    threads = (path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    for child in {*children, *(child for found in threads for child in found)}:
        command = Path(f"/proc/{child}/cmdline").read_bytes()
        if b"small_narrator" in command:
            return int(child)
    return None


def test_the_small_narrator_is_killed_in_mid_reply_and_a_retry_succeeds(start_as_installed: Start, home: Path) -> None:
    environment = {"FABULA_NARRATOR_PORT": str(_free_port())}
    server = start_as_installed(Launch(home, more=(), environment=environment)).until_ready()
    server.client.patch("/api/settings", json={"max_output_tokens": 400, "temperature": 0.9})
    player = Player.of_a_new_story(server, opening=OPENING)
    narrator = _narrator_of(server.pid)
    assert narrator is not None
    with player.listen("I step through the door") as listening:
        listening.until("delta", 3)
        os.kill(narrator, signal.SIGKILL)
        told = listening.until("error").data
        heard = listening.said()
    assert (told["status"], told["code"]) == (502, "model_reply_incomplete")
    assert player.get(f"/turns/{listening.turn}/reply")["raw_reply"] == heard != ""
    assert player.told() == [("do", "I step through the door")]
    server.client.patch("/api/settings", json={"max_output_tokens": 24})
    wait_until(lambda: _narrator_of(server.pid) not in (None, narrator), "another narrator")
    wait_until(lambda: server.client.post("/api/settings/test").json()["reachable"], "it to answer")
    taken = player.retry()
    assert taken.status_code == 200, taken.text
    assert taken.json()["player_node"] == 2
    assert player.told()[1] == ("narration", taken.json()["prose"])
    account = taken.json()["accounting"]
    assert (account["status"], account["window_verified"]) == ("fits", True)
    another = _narrator_of(server.pid)
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < 8
    wait_until(lambda: not Path(f"/proc/{another}").exists(), "the narrator to end with its server")
    assert "Traceback" not in server.stderr
    assert_whole(home)


def test_a_turn_is_played_with_the_network_taken_away(tmp_path: Path) -> None:
    """In a network namespace of its own, where there is nothing but loopback: nothing is fetched at run time."""
    alone = ["unshare", "--net", "--", sys.executable, "-m", "tests.e2e.play_alone", str(tmp_path)]
    ended = subprocess.run(alone, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, f"this needs a network namespace (run it as root): {ended.stdout}{ended.stderr}"
    played = json.loads(ended.stdout.splitlines()[-1])
    assert played["interfaces"] == ["lo"]
    assert played["outside"] == "unreachable"
    assert [node["kind"] for node in played["story"]] == ["opening", "do", "narration"]
    assert played["story"][-1]["text"] == played["prose"] != ""
    assert played["model"].startswith("smollm2")
    assert played["status"] == 0
    assert "Traceback" not in played["log"]
    assert_whole(tmp_path / "home")
