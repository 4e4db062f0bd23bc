"""`fabula worker`: keeps the views of a store up to date, beside as many servers and workers as there are."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

from api.cli.logging import configure
from api.cli.output import say
from api.cli.stores import existing_store
from api.config import Config


def work(config: Config) -> None:
    """Works until it is told to stop, and then to the end of the page it is at. Raises NoStore, or a StoreFailure."""
    configure(config)
    with _told_to_stop() as stop, existing_store(config, following=True) as store:
        say(f"Fabula works at {store.where}: its views are kept up to date. Ctrl-C ends it.")
        stop.get()


@contextmanager
def _told_to_stop() -> "Iterator[SimpleQueue[int]]":
    """Holds each SIGINT and SIGTERM, which ask for an end in order. Not an event: a handler that sets one may interrupt
    the very wait for it, and then both wait for its lock.
    """
    stop: SimpleQueue[int] = SimpleQueue()
    before = {number: signal.signal(number, lambda got, _: stop.put(got)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
