"""The store that a command works on, and its configuration."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from adapters.event_log.log import SqlEventLog
from api.cli.logging import configure
from api.config import Config, read_config
from api.use_cases.stories import newest_campaign
from api.wiring import Store, open_log, open_store, place_of_the_log
from domain.errors import InvalidInput, NotFound


class NoStore(NotFound):
    code = "store_unavailable"
    title = "There is no store"

    def __init__(self, config: Config) -> None:
        if config.database_url.get_secret_value():
            where, other = str(place_of_the_log(config)), "FABULA_DATABASE_URL names another database"
        else:
            where, other = str(config.home), "--home or FABULA_HOME names another directory"
        super().__init__(f"{where} holds no store. `fabula play` begins a story there; {other}.", home=str(config.home))


def configured(**given: object | None) -> Config:
    """The configuration of a command that prints a result; logs are quiet. Raises BadEnvironment."""
    config = read_config(given)
    configure(config, quiet=True)
    return config


@contextmanager
def existing_store(config: Config, *, following: bool = False) -> Iterator[Store]:
    """The store that is there; none is made. Raises NoStore, or a StoreFailure. `following`: see `open_store`."""
    _check_there_is_one(config)
    with open_store(config, following=following) as store:
        keep_what_is_loaded()
        yield store


@contextmanager
def existing_log(config: Config) -> Iterator[SqlEventLog]:
    """The log alone, for what must work when nothing else does. Raises as `existing_store`."""
    _check_there_is_one(config)
    with open_log(config) as log:
        yield log


def named_or_newest(store: Store, campaign: str | None) -> str:
    """The story that is named, else the newest. Raises InvalidInput where there is none."""
    found = campaign or newest_campaign(store)
    if found is None:
        raise InvalidInput({"campaign": "there is no story in this store yet; `fabula play` begins one"})
    return found


def keep_what_is_loaded() -> None:
    """Tells Python not to look for garbage, with each page of a rebuild, in what is there to the end of the program."""
    gc.collect()
    gc.freeze()


def _check_there_is_one(config: Config) -> None:
    if not place_of_the_log(config).holds_a_store():
        raise NoStore(config)
