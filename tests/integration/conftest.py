"""A running Fabula for the tests over HTTP. One serves them all; each test has a story of its own."""

from collections.abc import Iterator

import httpx
import pytest

from tests.fakes.model_server import ScriptedModelServer
from tests.fakes.serving import Serving, serving


@pytest.fixture(scope="session")
def narrator() -> Iterator[ScriptedModelServer]:
    """A model server that says a numbered sentence, unless a test scripts a reply."""
    with ScriptedModelServer(n_ctx=8192) as running:
        yield running


@pytest.fixture(scope="session")
def server(narrator: ScriptedModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server that no test breaks and whose settings no test changes."""
    with serving(tmp_path_factory.mktemp("home"), narrator.endpoint) as running:
        yield running


@pytest.fixture(scope="session")
def _client(server: Serving) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def client(_client: httpx.Client) -> httpx.Client:
    """A client of it."""
    return _client


@pytest.fixture
def campaign(client: httpx.Client) -> str:
    """The id of a new story with an opening."""
    return str(client.post("/api/campaigns", json={"title": "T", "opening": "It begins."}).json()["id"])


@pytest.fixture
def story(campaign: str) -> str:
    """The path of that story."""
    return f"/api/campaigns/{campaign}"
