"""The real application on a real socket, over a home of its own, with a scripted narrator.

with serving(home, model.endpoint) as server, server.client() as client:
    client.post("/api/campaigns", json={})
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from api.config import Config
from api.http.app import create_app
from api.wiring import Fabula, running

START_SECONDS = 30


@dataclass(frozen=True)
class Serving:
    """A running server. `fabula` is what it serves, for tests that break it."""

    config: Config
    fabula: Fabula
    port: int

    @property
    def url(self) -> str:
        """The server's address without a path."""
        return f"http://127.0.0.1:{self.port}"

    def client(self, **more: Any) -> httpx.Client:
        """A client for it, which raises for nothing by itself."""
        return httpx.Client(base_url=self.url, timeout=30, trust_env=False, **more)


@contextmanager
def serving(
    home: Path, endpoint: str, *, adapt: Callable[[Fabula], Fabula] = lambda fabula: fabula, **config: Any
) -> Iterator[Serving]:
    """Serves on a free port of 127.0.0.1 until the context ends. `adapt` may put something else in place of a part."""
    made = Config(home=home, endpoint=endpoint, model="scripted-model", narrator=False, **config)
    runner = _Runner(made, adapt)
    thread = threading.Thread(target=runner.run, name="serving")
    thread.start()
    try:
        yield runner.wait_until_ready()
    finally:
        runner.stop()
        thread.join()


class _Runner:
    def __init__(self, config: Config, adapt: Callable[[Fabula], Fabula]) -> None:
        self._config = config
        self._adapt = adapt
        self._ready = threading.Event()
        self._server: uvicorn.Server | None = None
        self._serving: Serving | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001  # raised where the server was asked for
            self._error = error
        self._ready.set()

    def wait_until_ready(self) -> Serving:
        self._ready.wait(START_SECONDS)
        if self._serving is None:
            raise RuntimeError("the server did not start") from self._error
        return self._serving

    def stop(self) -> None:
        if self._server is not None:
            self._server.should_exit = True

    async def _serve(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            async with running(self._config) as fabula:
                adapted = self._adapt(fabula)
                self._serving = Serving(self._config, adapted, listener.getsockname()[1])
                self._server = _Server(self._config, adapted, self._ready)
                await self._server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(self, config: Config, fabula: Fabula, ready: threading.Event) -> None:
        self._fabula = fabula
        self._ready = ready
        app = create_app(config, fabula)
        super().__init__(
            uvicorn.Config(
                app, log_config=None, access_log=False, server_header=False, lifespan="off", timeout_graceful_shutdown=2
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._fabula.turns.stop()
        await super().shutdown(sockets)
