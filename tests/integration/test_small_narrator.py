"""The real small narrator: a child process with the real model, on free loopback ports."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from adapters.small_narrator import NarratorFailedToStart, NarratorPortTaken, SmallNarrator

READY_SECONDS = 30.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def chat(narrator: SmallNarrator) -> dict[str, Any]:
    body = {"model": narrator.model, "messages": [{"role": "user", "content": "A fox wakes."}], "max_tokens": 8}
    with httpx.Client(trust_env=False, timeout=20) as client:
        response = client.post(f"{narrator.endpoint}/chat/completions", json=body)
    reply: dict[str, Any] = response.raise_for_status().json()
    return reply


def tells_a_story(narrator: SmallNarrator) -> bool:
    return bool(chat(narrator)["choices"][0]["message"]["content"].strip())


def until(condition: Callable[[], object], *, within: float) -> bool:
    """Whether it came true in time, in seconds."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def state_of(pid: int) -> str:
    """The kernel's letter for what the process does; Z, a zombie, also where there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def runs(pid: int) -> bool:
    """Whether the process is there and no zombie: whoever inherits an orphan may never collect it."""
    return state_of(pid) != "Z"


def pid_of(narrator: SmallNarrator) -> int:
    pid = narrator.pid
    assert pid is not None
    return pid


@contextmanager
def ready(port: int) -> Iterator[SmallNarrator]:
    with SmallNarrator(port=port) as narrator:
        narrator.wait_until_ready(READY_SECONDS)
        yield narrator


@pytest.fixture(scope="module")
def narrator() -> Iterator[SmallNarrator]:
    """One for all who only talk to it."""
    with ready(free_port()) as narrator:
        yield narrator


def test_it_answers_a_chat_completion_under_its_name(narrator: SmallNarrator) -> None:
    reply = chat(narrator)
    assert reply["model"] == narrator.model == "smollm2-135m-instruct"
    assert reply["choices"][0]["message"]["content"].strip()
    assert reply["usage"]["completion_tokens"] == 8


def test_it_says_the_window_it_was_given(narrator: SmallNarrator) -> None:
    root = narrator.endpoint.removesuffix("/v1")
    with httpx.Client(trust_env=False, base_url=root) as client:
        assert client.get("/health").json() == {"status": "ok"}
        assert client.get("/props").json()["default_generation_settings"]["n_ctx"] == 8192
        assert client.get("/v1/models").json()["data"][0]["meta"]["n_ctx"] == 8192


@pytest.mark.allow_hosts(["127.0.0.1", "127.0.0.2"])
def test_it_listens_on_one_loopback_address_only(narrator: SmallNarrator) -> None:
    """All of 127/8 is this machine on Linux, so a server that listens on every address answers at 127.0.0.2."""
    with socket.socket() as visitor:
        assert visitor.connect_ex(("127.0.0.2", narrator.port)) != 0


def test_it_lets_no_web_page_read_its_answers_or_what_it_reads(narrator: SmallNarrator) -> None:
    root = narrator.endpoint.removesuffix("/v1")
    with httpx.Client(trust_env=False, base_url=root, headers={"Origin": "https://elsewhere.example"}) as client:
        assert client.get("/health").headers["access-control-allow-origin"] == root
        assert client.get("/slots").status_code == 501


def test_ctrl_c_in_the_terminal_does_not_reach_it(narrator: SmallNarrator) -> None:
    assert os.getpgid(pid_of(narrator)) != os.getpgrp()


def test_a_second_one_on_the_port_uses_the_first_and_leaves_it_alone(narrator: SmallNarrator) -> None:
    with ready(narrator.port) as second:
        assert second.pid is None
        assert tells_a_story(second)
    assert tells_a_story(narrator)


def test_when_the_first_stops_the_second_takes_over() -> None:
    with ready(free_port()) as first, ready(first.port) as second:
        first.stop()
        assert until(lambda: second.pid, within=5)
        second.wait_until_ready(READY_SECONDS)
        assert tells_a_story(second)


def test_two_that_start_at_once_run_one_child_between_them() -> None:
    port = free_port()
    with SmallNarrator(port=port) as one, SmallNarrator(port=port) as other:
        one.wait_until_ready(READY_SECONDS)
        other.wait_until_ready(READY_SECONDS)
        assert until(lambda: (one.pid is None) != (other.pid is None), within=5)
        assert tells_a_story(one)


def test_a_killed_child_is_replaced_and_the_log_says_so() -> None:
    with capture_logs() as logged, ready(free_port()) as narrator:
        killed = pid_of(narrator)
        os.kill(killed, signal.SIGKILL)
        assert until(lambda: narrator.pid not in (None, killed), within=5)
        narrator.wait_until_ready(READY_SECONDS)
        assert tells_a_story(narrator)
    deaths = [entry for entry in logged if entry["event"] == "small_narrator.died"]
    assert [(death["end"], death["restart_in"]) for death in deaths] == [("exit status -9", 0.2)]


PARENT = """
import os, sys, time
from adapters.small_narrator import SmallNarrator

narrator = SmallNarrator(port=int(sys.argv[1]))
narrator.start()
narrator.wait_until_ready(30)
forked = os.fork() if sys.argv[2] == "forks" else 0
if forked or sys.argv[2] != "forks":
    print(narrator.pid, forked, file=sys.stderr, flush=True)
time.sleep(60)
"""


@contextmanager
def parent_elsewhere(habit: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process with a supervisor of its own, and the pid of its child. What it forked is ended with it."""
    command = [sys.executable, "-c", PARENT, str(free_port()), habit]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as parent:
        assert parent.stderr is not None
        child, forked = (int(word) for word in parent.stderr.readline().split())
        try:
            yield parent, child
        finally:
            parent.kill()
            if forked:
                os.kill(forked, signal.SIGKILL)


@pytest.mark.parametrize("habit", ["alone", "forks"])
def test_the_child_does_not_outlive_a_killed_parent(habit: str) -> None:
    """Also not when something that the parent forked still holds the pipe open."""
    with parent_elsewhere(habit) as (parent, child):
        assert runs(child)
        parent.kill()
        assert until(lambda: not runs(child), within=3)


class Elsewhere(BaseHTTPRequestHandler):
    """A web server that is no model server."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>It works!</html>")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def web_server(port: int) -> Iterator[None]:
    with ThreadingHTTPServer(("127.0.0.1", port), Elsewhere) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def test_a_port_with_a_web_server_on_it_is_refused() -> None:
    port = free_port()
    with web_server(port), pytest.raises(NarratorPortTaken, match=f"{port}.*FABULA_NARRATOR_PORT"):
        SmallNarrator(port=port).start()


def test_a_port_with_something_silent_on_it_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(NarratorPortTaken):
            SmallNarrator(port=port).start()


def test_a_stranger_that_takes_the_port_later_is_waited_for() -> None:
    with ready(free_port()) as narrator:
        os.kill(pid_of(narrator), signal.SIGKILL)
        assert until(lambda: narrator.pid is None, within=2)
        with web_server(narrator.port), pytest.raises(NarratorFailedToStart, match="not ready within"):
            narrator.wait_until_ready(1.5)
        narrator.wait_until_ready(READY_SECONDS)
        assert tells_a_story(narrator)


def test_a_model_that_is_not_there_is_told_soon_and_not_tried_for_ever(tmp_path: Path) -> None:
    missing = tmp_path / "missing.gguf"
    begun = time.monotonic()
    with SmallNarrator(port=free_port(), model_file=missing) as narrator:
        with pytest.raises(NarratorFailedToStart, match="ended 3 times") as failed:
            narrator.wait_until_ready(READY_SECONDS)
        assert time.monotonic() - begun < 10
        assert "missing.gguf" in failed.value.message
        assert "No such file" in failed.value.message
        assert narrator.pid is None


def test_stopping_is_prompt_and_the_player_sees_nothing_of_the_childs_log(capfd: pytest.CaptureFixture[str]) -> None:
    with ready(free_port()) as narrator:
        child = pid_of(narrator)
        begun = time.monotonic()
        narrator.stop()
        assert time.monotonic() - begun < 2
        assert not runs(child)
    written = "".join(capfd.readouterr())
    assert "srv" not in written
    assert "llama" not in written


def test_a_child_that_hangs_is_ended_within_five_seconds() -> None:
    with ready(free_port()) as narrator:
        child = pid_of(narrator)
        os.kill(child, signal.SIGSTOP)
        assert until(lambda: state_of(child) == "T", within=1)
        begun = time.monotonic()
        narrator.stop()
        assert time.monotonic() - begun < 5
        assert not runs(child)


def test_whoever_waits_while_it_is_stopped_is_told() -> None:
    narrator = SmallNarrator(port=free_port())
    narrator.start()
    Thread(target=narrator.stop).start()
    with pytest.raises(NarratorFailedToStart, match="stopped first"):
        narrator.wait_until_ready(READY_SECONDS)
    narrator.stop()


def test_one_that_was_never_started_can_be_stopped() -> None:
    SmallNarrator(port=free_port()).stop()
