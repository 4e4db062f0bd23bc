"""`fabula worker`: keeps the views of a store up to date, beside as many servers and workers as there are."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from api.cli.logging import configure
from api.cli.output import say
from api.config import Config
from api.wiring import open_store


def work(config: Config) -> None:
    """Works until it is told to stop, and then to the end of the page it is at. Raises a StoreFailure."""
    configure(config)
    with _told_to_stop() as stop, open_store(config) as store:
        say(f"Fabula works at {store.where}: its views are kept up to date. Ctrl-C ends it.")
        stop.wait()


@contextmanager
def _told_to_stop() -> Iterator[Event]:
    """Set by SIGINT and SIGTERM, which ask for an end in order; a second one asks for nothing more."""
    stop = Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
