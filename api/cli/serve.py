"""`fabula serve`: the server, with the small narrator beside it."""

import asyncio
import errno
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from ipaddress import ip_address

import typer
import uvicorn

from adapters.small_narrator import SmallNarrator
from api.cli.logging import configure
from api.cli.stores import keep_what_is_loaded
from api.config import Config
from api.http.app import create_app
from api.use_cases.diagnosis import fabula_answers
from api.wiring import VERSION, Fabula, open_store, running, small_narrator_defaults
from domain.errors import FabulaError, NotAcceptable

GRACE_SECONDS = 5
"""How long open connections may take to end when the server is told to stop."""
FOLLOWERS_SECONDS = 1.5
"""How long they may take before the server hangs up."""


class PortTaken(FabulaError):
    code = "store_unavailable"
    title = "The port is taken"

    def __init__(self, host: str, port: int, *, by_fabula: bool = False) -> None:
        where = f"{_bracketed(host)}:{port}"
        taken = (
            f"Fabula serves there already: http://{where}. Use it, stop it,"
            if by_fabula
            else f"Something else listens on {where}. Stop it,"
        )
        super().__init__(f"{taken} or choose another port with --port or FABULA_PORT.", port=port)


class AddressRefused(NotAcceptable):
    code = "invalid"
    title = "The address is refused"

    def __init__(self, host: str, why: str) -> None:
        super().__init__(f"Fabula does not listen on {host!r}: {why}", host=host)


def serve(config: Config, *, guide: bool = False) -> None:
    """Serves until it is told to stop. Raises PortTaken, AddressRefused, a StoreFailure, or what the narrator raises."""
    configure(config)
    _check_address(config)
    with closing(_listener(config)) as listener, small_narrator(config) as narrator:
        asyncio.run(_serve(config, listener, narrator, guide=guide))


async def _serve(config: Config, listener: socket.socket, narrator: SmallNarrator | None, *, guide: bool) -> None:
    told_to_stop = asyncio.Event()
    with _heeding_signals(told_to_stop):
        async with running(config, with_small_narrator=narrator is not None) as fabula:
            keep_what_is_loaded()
            if narrator is not None:
                await _readiness(narrator, told_to_stop)
            if not told_to_stop.is_set():
                port = listener.getsockname()[1]
                await _Server(fabula, port, told_to_stop, guide=guide).serve(sockets=[listener])


@contextmanager
def _heeding_signals(told_to_stop: asyncio.Event) -> Iterator[None]:
    """SIGINT and SIGTERM ask for an end in order, at any moment. A second one asks for nothing more: it is under way."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told_to_stop.set)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def _readiness(narrator: SmallNarrator, told_to_stop: asyncio.Event) -> None:
    """Returns when the narrator answers, or is stopped because Fabula is. Raises what `wait_until_ready` raises."""
    ready = asyncio.create_task(asyncio.to_thread(narrator.wait_until_ready))
    stop = asyncio.create_task(told_to_stop.wait())
    await asyncio.wait({ready, stop}, return_when=asyncio.FIRST_COMPLETED)
    if ready.done():
        stop.cancel()
        return ready.result()
    await asyncio.to_thread(narrator.stop)  # which ends the waiting too
    with suppress(FabulaError):
        await ready
    return None


class _Server(uvicorn.Server):
    """Uvicorn, saying one line when it is ready, and closing the running turns before the connections."""

    def __init__(self, fabula: Fabula, port: int, told_to_stop: asyncio.Event, *, guide: bool) -> None:
        self._fabula = fabula
        self._told_to_stop = told_to_stop
        self._where = f"http://{_bracketed(fabula.config.host)}:{port}"
        self._guide = guide
        super().__init__(
            uvicorn.Config(
                create_app(fabula.config, fabula),
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals alone. Uvicorn's own way raises them again, past everything that is still open."""
        yield

    async def on_tick(self, counter: int) -> bool:
        """Whether to end."""
        return await super().on_tick(counter) or self._told_to_stop.is_set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does, and then the line."""
        await super().startup(sockets)
        allowed = ", ".join(sorted(self._fabula.store.policy.public_endpoints))
        public = f"; public endpoints allowed: {allowed}" if allowed else ""
        typer.echo(f"Fabula {VERSION} is ready at {self._where} (store: {self._fabula.store.where}{public})")
        if self._guide:
            typer.echo(_guidance(self._where))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """First the turns, whose listeners then hear how they ended; then the connections."""
        await self._fabula.turns.stop()
        hanging_up = asyncio.create_task(self._hang_up())
        await super().shutdown(sockets)
        hanging_up.cancel()

    async def _hang_up(self) -> None:
        """Ends those who follow the log, and would for ever: as if they had hung up, which is no error."""
        await asyncio.sleep(FOLLOWERS_SECONDS)
        for connection in list(self.server_state.connections):
            connection.transport.close()


def _guidance(where: str) -> str:
    return f"""
Look around:  {where}/docs
Play here:    .venv/bin/fabula play
Play by HTTP, a story and its first turn:

  id=$(curl -s {where}/api/campaigns -H 'Content-Type: application/json' \\
       -d '{{"title": "The door", "opening": "A door stands open that was never open before."}}' \\
       | grep -o '"id":"c_[a-z0-9]*"' | cut -d'"' -f4)
  curl -N {where}/api/campaigns/$id/turns -H 'Accept: text/event-stream' -H 'Content-Type: application/json' \\
       -d '{{"kind": "do", "text": "I step through the door"}}'

Stop with Ctrl-C. The story is kept.
"""


def _listener(config: Config) -> socket.socket:
    """The bound socket, before anything else is started: a taken port costs nothing."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((config.host, config.port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            by_fabula = asyncio.run(fabula_answers(config))
            raise PortTaken(config.host, config.port, by_fabula=by_fabula) from error
        raise AddressRefused(config.host, f"{error.strerror}.") from error
    return listener


@contextmanager
def small_narrator(config: Config) -> Iterator[SmallNarrator | None]:
    """The small narrator, when it is the one that stories are told by."""
    if not config.narrator or not _is_the_narrator(config):
        yield None
        return
    with SmallNarrator(port=config.narrator_port) as narrator:
        yield narrator


def _is_the_narrator(config: Config) -> bool:
    with open_store(config) as store:
        return store.settings.in_force().endpoint == small_narrator_defaults(config).endpoint


def _check_address(config: Config) -> None:
    host = config.host
    try:
        loopback = host == "localhost" or ip_address(host).is_loopback
    except ValueError as error:
        raise AddressRefused(host, "it is no address. Give one such as 127.0.0.1.") from error
    if not loopback and not config.token.get_secret_value():
        raise AddressRefused(
            host,
            "others could reach it there. Set FABULA_TOKEN to a secret of your own, which every request then needs.",
        )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
