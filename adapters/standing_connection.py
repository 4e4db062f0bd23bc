"""A connection to PostgreSQL that stands for as long as its owner wants it, and is made again whenever it is lost.

A thread waits for what the server says unasked: a notification, or that the connection has ended. So a loss is noticed
as it happens and not at the next question.
"""

import os
import selectors
from collections.abc import Callable
from contextlib import closing, suppress
from threading import Lock, Thread

import psycopg

from adapters.postgresql import Connection, PostgresqlDatabase

AGAIN_SECONDS = 0.05
"""How soon after a failed attempt the next is made. A server that restarts is found again within so much."""

_LOOK_SECONDS = 0.25
"""How soon a loss is noticed that another thread was told of, which then closed what this one waits at."""
_CLOSE_SECONDS = 2


def _nothing() -> None: ...


class StandingConnection:
    """Ended by `close`. Until then:

    `began` is called with each new connection before it counts as standing, `heard` whenever the server may have sent
    notifications, `lost` when the connection is gone.
    """

    def __init__(
        self,
        database: PostgresqlDatabase,
        began: Callable[[Connection], None],
        *,
        heard: Callable[[], None] = _nothing,
        lost: Callable[[], None] = _nothing,
    ) -> None:
        self._database = database
        self._began = began
        self._heard = heard
        self._lost = lost
        self._stop, self._stopper = os.pipe()
        self._closing = Lock()
        self._closed = False
        self._thread: Thread | None = None

    def start(self) -> None:
        """Connects, from now on and again and again, and does not wait for it."""
        self._begin(None)

    def start_connected(self) -> None:
        """As `start`, after a first connection. Raises the driver's error when there is none to be had."""
        self._begin(self._made())

    def _begin(self, first: Connection | None) -> None:
        self._thread = Thread(target=self._stand, args=(first,), name="standing connection", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the connection and the thread. One that is just connecting is waited for no longer than a moment. May be called twice."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        if self._thread is None:
            self._let_go()
        else:
            os.write(self._stopper, b".")
            self._thread.join(_CLOSE_SECONDS)

    def _let_go(self) -> None:
        os.close(self._stop)
        os.close(self._stopper)

    def _stand(self, first: Connection | None) -> None:
        try:
            self._keep_standing(first)
        finally:
            self._let_go()

    def _keep_standing(self, connection: Connection | None) -> None:
        while True:
            with suppress(psycopg.Error, OSError), closing(connection or self._made()) as standing:
                if self._attended(standing):
                    return
            connection = None
            self._lost()
            if self._is_stopped_within(AGAIN_SECONDS):
                return

    def _made(self) -> Connection:
        connection = self._database.connected(autocommit=True)
        try:
            self._began(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _attended(self, connection: Connection) -> bool:
        """Hears what is said until it is to stop, which it tells. The driver may raise when the connection is lost."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._stop, selectors.EVENT_READ)
            selector.register(connection.fileno(), selectors.EVENT_READ)
            while not connection.closed:
                said = [key.fd for key, _ in selector.select(_LOOK_SECONDS)]
                if self._stop in said:
                    return True
                if said:
                    for _ in connection.notifies(timeout=0):
                        pass
                    self._heard()
        return False

    def _is_stopped_within(self, seconds: float) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._stop, selectors.EVENT_READ)
            return bool(selector.select(seconds))
