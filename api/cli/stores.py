"""The store that a command works on, and its configuration."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adapters.event_log.log import SqlEventLog
from adapters.time_and_names import RandomNames, SystemClock
from api.cli.logging import configure
from api.config import Config, read_config
from api.wiring import Store, open_store
from domain.errors import NotFound


class NoStore(NotFound):
    code = "store_unavailable"
    title = "There is no store"

    def __init__(self, home: Path) -> None:
        super().__init__(
            f"{home} holds no store. `fabula play` begins a story there; --home or FABULA_HOME names another directory.",
            home=str(home),
        )


def configured(**given: object | None) -> Config:
    """The configuration of a command that prints a result; logs are quiet. Raises BadEnvironment."""
    config = read_config(given)
    configure(config, quiet=True)
    return config


def log_path(config: Config) -> Path:
    """Where the log is, if there is one."""
    return config.home / "log.db"


@contextmanager
def existing_store(config: Config) -> Iterator[Store]:
    """The store that is there; none is made. Raises NoStore, or a StoreFailure."""
    _check_there_is_one(config)
    with open_store(config) as store:
        yield store


@contextmanager
def existing_log(config: Config) -> Iterator[SqlEventLog]:
    """The log alone, for what must work when nothing else does. Raises as `existing_store`."""
    _check_there_is_one(config)
    log = SqlEventLog(log_path(config), SystemClock(), RandomNames())
    try:
        yield log
    finally:
        log.close()


def _check_there_is_one(config: Config) -> None:
    if not log_path(config).exists():
        raise NoStore(config.home)
