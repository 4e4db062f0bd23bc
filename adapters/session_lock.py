"""Telling a dead process from a slow one where processes share nothing but a PostgreSQL server: by an advisory lock.

Each process holds an exclusive lock in a session of its own, under the name that its open turns carry. The server frees
it when the session ends, which the end of the process brings about at once, however it came. Whoever meets such a turn
tries for a shared lock: two who ask at once both learn the truth, where exclusive locks would stand in each other's way.

A file's lock lasts as long as its process; a session may end before it. So there is more to a proof than a free lock:

- The holder notices at once that its session has ended, and takes the lock again in a new one, trying every few
  hundredths of a second for as long as it lives. Meanwhile it gives its name to no new turn.
- Who finds a lock free looks again a moment later, by when a living holder has it back.
- A server that was restarted has lost all locks at once. For some seconds after that nobody is proved dead: neither by a
  process whose own session ended with them, nor, since the server has only just begun, by one that began after it.

What remains is a living process that cannot reach the server for longer than that. To the store it is dead, since it can
record nothing either; should it come back with a narration, that is kept as a late take.

A session needs a connection of its own. Through a pooler that hands out connections by the transaction, no lock is held.
"""

import hashlib
from threading import Event
from time import monotonic, sleep

from adapters.postgresql import Connection, PostgresqlDatabase
from adapters.standing_connection import StandingConnection
from domain.errors import StoreUnavailable

LOOK_AGAIN_SECONDS = 0.3
"""When a lock that was found free is looked at again: several attempts of a holder that lost its session."""

RESTART_SECONDS = 5
"""For how long after the server was lost nobody is proved to be dead."""

_TAKE = "SELECT pg_advisory_lock(%s)"
# Of a transaction, which is this statement alone: it is given up in the same moment.
_TRY = """
SELECT pg_try_advisory_xact_lock_shared(%s)
   AND clock_timestamp() - pg_postmaster_start_time() > interval '1 second' * %s
"""


class SessionLock:
    """The lock of this process, held from construction to `release` or death. Implements the `Liveness` port.

    Raises StoreUnavailable when the server cannot be reached, also where a method does not say so.
    """

    def __init__(self, database: PostgresqlDatabase, name: str) -> None:
        self._database = database
        self._name = name
        self._held = Event()
        self._connection: Connection
        self._lost_at: float | None = None
        self._standing = StandingConnection(database, self._take, lost=self._note_the_loss)
        try:
            with database.explained():
                self._standing.start_connected()
        except BaseException:
            self._standing.close()
            raise

    @property
    def name(self) -> str:
        """The name that this process gives its open turns. Refused while others might take them for a dead one's."""
        if not self._is_held():
            raise StoreUnavailable(f"the connection to {self._database} was lost, and is being made again")
        return self._name

    def is_dead(self, owner: str) -> bool:
        """Whether the owner is proved to be dead."""
        if owner == self._name or not self._is_free(owner):
            return False
        sleep(LOOK_AGAIN_SECONDS)
        return self._is_free(owner)

    def release(self) -> None:
        """Gives the lock up. Call when no turn of this process is open any more."""
        self._standing.close()

    def sweep(self, still_named: set[str]) -> None:
        """Nothing is left of the dead."""

    def _is_free(self, owner: str) -> bool:
        """Asked in the session that holds this process's own lock: if that was lost, so may the owner's have been."""
        with self._database.explained():
            found = self._connection.execute(_TRY, [_number(owner), RESTART_SECONDS]).fetchone()
        lately = self._lost_at is not None and monotonic() - self._lost_at < RESTART_SECONDS
        return found is not None and bool(found[0]) and not lately

    def _is_held(self) -> bool:
        return self._held.is_set() and not self._connection.closed

    def _take(self, connection: Connection) -> None:
        connection.execute(_TAKE, [_number(self._name)])
        self._connection = connection
        self._held.set()

    def _note_the_loss(self) -> None:
        if self._held.is_set():
            self._lost_at = monotonic()
        self._held.clear()


def _number(name: str) -> int:
    """The 64 bits that stand for a name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
