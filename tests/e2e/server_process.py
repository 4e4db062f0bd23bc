"""Real Fabula servers, each a process with a port and a data directory of its own, to be asked and to be killed."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import httpx

REPOSITORY = Path(__file__).parents[2]
FABULA = Path(sys.executable).with_name("fabula")
START_SECONDS = 60.0
"""How long a start may take on a machine with much else to do."""
ANSWER_SECONDS = 30.0

_READY = re.compile(r"is ready at (http://\S+)")
_LOOK_SECONDS = 0.01


def wait_until(happened: Callable[[], object], what: str, seconds: float = ANSWER_SECONDS) -> None:
    """Return as soon as it has happened. AssertionError when it has not in so many seconds."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"waited {seconds:g} seconds for {what}"
        time.sleep(_LOOK_SECONDS)


@dataclass(frozen=True)
class Launch:
    """What a server is started with.

    `stop_at` and `control`: see `stopping_log`. `mounts_of`: a process whose file systems the server is to see.
    """

    home: Path
    endpoint: str | None = None
    model: str = "scripted-model"
    port: int = 0
    more: tuple[str, ...] = ("--no-narrator",)
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_at: str | None = None
    control: Path | None = None
    mounts_of: int | None = None

    @property
    def arguments(self) -> list[str]:
        """As a user would type them."""
        where = ["--home", str(self.home), "--port", str(self.port)]
        told_by = ["--endpoint", self.endpoint, "--model", self.model] if self.endpoint else []
        return ["serve", *where, *told_by, *self.more]


class Process(Protocol):
    """A process that was started."""

    pid: int

    def wait(self, timeout: float) -> int:
        """Its exit status, negative for a signal, at most so many seconds from now."""
        ...


class ForkServer:
    """Starts servers by forking a process that has imported the program. See `fork_server`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
            env=_environment({}),
            text=True,
        )
        self._one_at_a_time = threading.Lock()
        assert self._process.stdout is not None
        ready = json.loads(self._process.stdout.readline())
        assert ready["threads"] == 1, "a process with threads must not fork"

    def ask(self, **request: object) -> dict[str, Any]:
        """The answer to one request."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._one_at_a_time:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
            return answer

    def start(self, launch: Launch, stdout: Path, stderr: Path) -> Process:
        """A fork that runs `fabula serve` with these arguments."""
        answer = self.ask(
            arguments=launch.arguments,
            environment=dict(launch.environment),
            stdout=str(stdout),
            stderr=str(stderr),
            stop_at=launch.stop_at,
            control=str(launch.control) if launch.control else None,
            mounts_of=launch.mounts_of,
        )
        return _Forked(answer["pid"], self)

    def stop(self) -> None:
        """End it. Its forks are ended by those who started them."""
        self._process.communicate(timeout=ANSWER_SECONDS)


@dataclass
class _Forked:
    pid: int
    fork_server: ForkServer
    _status: int | None = None

    def wait(self, timeout: float) -> int:
        if self._status is None:
            handle = os.pidfd_open(self.pid)
            try:
                ended, _, _ = select.select([handle], [], [], timeout)
                assert ended, f"the process was still running after {timeout:g} seconds"
            finally:
                os.close(handle)
            self._status = int(self.fork_server.ask(reap=self.pid)["status"])
        return self._status


@dataclass
class _Installed:
    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait(self, timeout: float) -> int:
        return self.process.wait(timeout)


def start_installed(launch: Launch, stdout: Path, stderr: Path, *before: str) -> Process:
    """The installed `fabula` command, as a user starts it; `before` is what it is started through."""
    with stdout.open("ab") as out, stderr.open("ab") as err:
        process = subprocess.Popen(
            [*before, str(FABULA), *launch.arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=_environment(launch.environment),
            start_new_session=True,
        )
    return _Installed(process)  # type: ignore[return-value]  # a property is as good as the attribute


class ServerProcess:
    """One server. A context manager: killed on exit, whatever state it is in.

    Every answer to its `client` is kept in `answers`, so that a secret can be looked for in them.
    """

    def __init__(self, launch: Launch, outputs: Path, start: Callable[[Launch, Path, Path], Process]) -> None:
        self.launch = launch
        self.answers: list[bytes] = []
        self._out = outputs / f"{id(self):x}-{time.monotonic_ns()}.out"
        self._err = self._out.with_suffix(".err")
        self._out.touch()
        self._err.touch()
        self._process = start(launch, self._out, self._err)
        self._ended: int | None = None
        self._client: httpx.Client | None = None
        self._one_client = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client:
            self._client.close()
        if self._ended is None:
            self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stdout(self) -> str:
        """All that it has said so far."""
        return self._out.read_text()

    @property
    def stderr(self) -> str:
        """All that it has logged so far."""
        return self._err.read_text()

    def until_ready(self) -> Self:
        """Itself, when it has said that it is ready. AssertionError with its log when it ends before."""
        handle = os.pidfd_open(self.pid)
        try:
            wait_until(lambda: self._is_ready() or _is_over(handle), "the ready line", START_SECONDS)
        finally:
            os.close(handle)
        assert self._is_ready(), f"it ended with {self.wait()}: {self.stderr}"
        return self

    def _is_ready(self) -> bool:
        return bool(_READY.search(self.stdout))

    @property
    def url(self) -> str:
        """Where it serves."""
        found = _READY.search(self.stdout)
        assert found, "it is not ready yet"
        return found[1]

    @property
    def client(self) -> httpx.Client:
        """Asks this server."""
        with self._one_client:
            if self._client is None:
                self._client = self.new_client()
            return self._client

    def new_client(self) -> httpx.Client:
        """Another client, with connections of its own; to be closed by whoever asked for it."""
        return httpx.Client(
            base_url=self.url, trust_env=False, timeout=ANSWER_SECONDS, event_hooks={"response": [self._keep]}
        )

    def _keep(self, response: httpx.Response) -> None:
        headers = repr(response.headers.raw).encode()
        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.read()
            self.answers.append(headers + response.content)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL, and return when it is dead."""
        with suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        self.wait()

    def stop(self) -> int:
        """SIGTERM, and its exit status."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def wait(self, timeout: float = ANSWER_SECONDS) -> int:
        """Its exit status, when it has ended."""
        self._ended = self._process.wait(timeout)
        return self._ended


def _is_over(handle: int) -> bool:
    return bool(select.select([handle], [], [], 0)[0])


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without any setting of Fabula's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FABULA_")}
    return {**kept, "PYTHONPATH": str(REPOSITORY), **more}
