"""One bootstrap: the environment's configuration to a running Fabula, in one place and in one order."""

import errno
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from adapters.endpoint_policy import EndpointPolicy, policed_client
from adapters.event_log.database import Database
from adapters.event_log.log import SqlEventLog
from adapters.event_log.sqlite import SqliteFile
from adapters.model_server import OpenAICompatibleNarrator
from adapters.process_lock import ProcessLock
from adapters.small_narrator import MODEL
from adapters.time_and_names import RandomNames, SystemClock
from adapters.tokens import TiktokenCounter
from adapters.window_probe import ServerWindowProbe
from api.config import Config
from api.use_cases.closing import Closing
from api.use_cases.dead_turns import DeadTurns
from api.use_cases.narrating import Narrating
from api.use_cases.prompting import Bodies, Prompter
from api.use_cases.replays import Replays
from api.use_cases.settings import Defaults, InstallationSettings
from api.use_cases.turns import Turns
from domain.errors import StoreFailure, StoreFull, StoreReadOnly, StoreUnavailable
from domain.log import EventLog
from projections.all import open_views
from projections.engine.engine import Engine
from projections.engine.place import Storage

if TYPE_CHECKING:
    from adapters.session_lock import SessionLock

_log = structlog.get_logger(__name__)

VERSION = version("fabula")


@dataclass(frozen=True)
class Store:
    """The log and the views of one store. `where` names it to people."""

    home: Path
    where: str
    log: EventLog
    views: Engine
    settings: InstallationSettings
    policy: EndpointPolicy
    bodies: Bodies


@dataclass(frozen=True)
class Fabula:
    """Everything that runs: a store, and what tells its stories."""

    config: Config
    store: Store
    turns: Turns
    narrator: OpenAICompatibleNarrator
    probe: ServerWindowProbe
    prompter: Prompter
    replays: Replays

    @property
    def log(self) -> EventLog:
        """The event log."""
        return self.store.log

    @property
    def views(self) -> Engine:
        """The views."""
        return self.store.views

    @property
    def settings(self) -> InstallationSettings:
        """The installation's settings."""
        return self.store.settings


def small_narrator_defaults(config: Config) -> Defaults:
    """Where the small narrator is found, which is the endpoint unless the settings name another."""
    return Defaults(f"http://127.0.0.1:{config.narrator_port}/v1", MODEL)


def place_of_the_log(config: Config) -> Database:
    """Where the log is, or will be: in the database that is named, and without one in the data directory."""
    if not config.database_url.get_secret_value():
        return SqliteFile(config.home / "log.db")
    from adapters.event_log.postgresql import PostgresqlStore  # its driver takes a while to import

    return PostgresqlStore(config.database_url.get_secret_value())


@contextmanager
def _ended(views: Engine) -> Iterator[Engine]:
    try:
        yield views
    finally:
        views.stop()


def _place_of_the_views(config: Config) -> Storage | Path:
    """Beside the log."""
    if not config.database_url.get_secret_value():
        return config.home / "views"
    from adapters.postgresql import PostgresqlDatabase
    from projections.engine.database_storage import DatabaseStorage

    return DatabaseStorage(PostgresqlDatabase(config.database_url.get_secret_value()))


@contextmanager
def open_log(config: Config) -> Iterator[SqlEventLog]:
    """The log alone, created when there is none. Raises a StoreFailure. Closed on exit."""
    log = SqlEventLog(place_of_the_log(config), SystemClock(), RandomNames())
    try:
        yield log
    finally:
        log.close()


@contextmanager
def open_store(config: Config, *, following: bool = True) -> Iterator[Store]:
    """The store, created when there is none. Raises a StoreFailure. Closed on exit.

    `following`: a thread keeps the views up to date. Without it they are folded as they are read, and nothing else changes.
    """
    in_database = bool(config.database_url.get_secret_value())
    if not in_database:
        _make_home(config.home)
    where = str(place_of_the_log(config)) if in_database else str(config.home)
    with open_log(config) as log, _ended(open_views(_place_of_the_views(config), log)) as views:
        if following:
            views.start()
        policy = EndpointPolicy(config.public_endpoints)
        given = {"endpoint": config.endpoint, "model": config.model}
        settings = InstallationSettings(log, policy, given, small_narrator_defaults(config))
        yield Store(config.home, where, log, views, settings, policy, Bodies(log))


@asynccontextmanager
async def running(config: Config, *, with_small_narrator: bool = False) -> AsyncIterator[Fabula]:
    """A Fabula that takes turns, until the context ends: then running turns are closed, and what came of them kept.

    `with_small_narrator` says that this process runs the small narrator, and starts it again when it ends.

    Raises a StoreFailure, and EndpointRefused for an endpoint of the environment or a flag that no turn could be told at.
    """
    with open_store(config) as store, _liveness(config) as lock:
        if config.endpoint:
            store.policy.check_form(config.endpoint)
        for endpoint in sorted(store.policy.public_endpoints):
            _log.warning("public_endpoint_allowed", endpoint=endpoint)
        async with policed_client(store.policy) as client:
            key = config.api_key.get_secret_value() or None
            narrator = OpenAICompatibleNarrator(client, store.policy, api_key=key)
            probe = ServerWindowProbe(client, store.policy, api_key=key)
            prompter = Prompter(store.log, TiktokenCounter(), store.bodies)
            dead = DeadTurns(store.log, lock)
            closing = Closing(store.log, dead)
            narrating = Narrating(
                log=store.log,
                narrator=narrator,
                probe=probe,
                prompter=prompter,
                bodies=store.bodies,
                settings=store.settings,
                closing=closing,
                kept_running=small_narrator_defaults(config).endpoint if with_small_narrator else None,
            )
            turns = Turns(
                log=store.log, narrating=narrating, closing=closing, dead=dead, ids=RandomNames(), liveness=lock
            )
            await closing.all_dead()
            lock.sweep({turn.process for _, turn in store.log.open_turns()})
            closing.sweep()
            replays = Replays(store.log, RandomNames())
            try:
                yield Fabula(config, store, turns, narrator, probe, prompter, replays)
            finally:
                await turns.stop()
                replays.stop()


@contextmanager
def _liveness(config: Config) -> "Iterator[ProcessLock | SessionLock]":
    """Where the log is, so is the lock: whoever meets a turn of this process there can ask for it."""
    with _explained(config.home):
        lock = _lock(config, RandomNames().new("p"))
    try:
        yield lock
    finally:
        lock.release()


def _lock(config: Config, name: str) -> "ProcessLock | SessionLock":
    if not config.database_url.get_secret_value():
        return ProcessLock(config.home / "locks", name)
    from adapters.postgresql import PostgresqlDatabase
    from adapters.session_lock import SessionLock

    return SessionLock(PostgresqlDatabase(config.database_url.get_secret_value()), name)


def _make_home(home: Path) -> None:
    with _explained(home):
        home.mkdir(parents=True, exist_ok=True)
        (home / "views").mkdir(exist_ok=True)


@contextmanager
def _explained(home: Path) -> Iterator[None]:
    """Turns the operating system's refusals into a StoreFailure."""
    try:
        yield
    except OSError as error:
        raise _meaning(error, home) from error


def _meaning(error: OSError, home: Path) -> StoreFailure:
    where = error.filename or home
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return StoreUnavailable(f"{where} should be a directory, and something else stands there; move it away")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreReadOnly(str(home))
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(str(home))
    return StoreUnavailable(f"{error.strerror} at {where}")
