"""Servers as processes, a model server that says what it is told, and stories to play."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.server_process import ForkServer, Launch, ServerProcess, start_installed
from tests.fakes.model_server import ScriptedModelServer

Start = Callable[[Launch], ServerProcess]


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    server = ForkServer()
    yield server
    server.stop()


@pytest.fixture
def model() -> Iterator[ScriptedModelServer]:
    """A model server on a real socket, which records what it is sent."""
    with ScriptedModelServer(n_ctx=8192) as server:
        yield server


@pytest.fixture
def start(fork_server: ForkServer, tmp_path: Path) -> Iterator[Start]:
    """Starts a server without waiting for it; all of them are killed in the end."""
    with ExitStack() as running:
        yield lambda launch: running.enter_context(ServerProcess(launch, tmp_path, fork_server.start))


@pytest.fixture
def start_as_installed(tmp_path: Path) -> Iterator[Start]:
    """As `start`, with the installed command in place of a fork."""
    with ExitStack() as running:
        yield lambda launch: running.enter_context(ServerProcess(launch, tmp_path, start_installed))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data directory that does not exist yet."""
    return tmp_path / "home"


@pytest.fixture
def server(start: Start, home: Path, model: ScriptedModelServer) -> ServerProcess:
    """One server on a fresh home, told by the scripted model server."""
    return start(Launch(home, model.endpoint)).until_ready()
