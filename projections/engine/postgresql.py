"""Connections to the database that holds views, whose transactions find themselves in the schema of one of them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from psycopg import Error as PsycopgError
from psycopg import InterfaceError, InternalError, IsolationLevel, OperationalError
from psycopg.errors import (
    DeadlockDetected,
    InsufficientPrivilege,
    LockNotAvailable,
    ReadOnlySqlTransaction,
    SerializationFailure,
)
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from domain.errors import StoreUnavailable
from projections.engine.failures import ViewBusy

_BUSY_MILLISECONDS = 1000
"""How long a page waits for another process's. Who waits for a view tries again until its own time is up."""
_ALONE = 0x0FAC
"""The first half of the number of the advisory lock of those who want to be alone with a schema."""

_BUSY = (LockNotAvailable, DeadlockDetected, SerializationFailure)
_REFUSED = (OperationalError, InterfaceError, InternalError, InsufficientPrivilege, ReadOnlySqlTransaction)
"""What the server does not do, whatever it is asked. Any other error is a mistake in what it was asked."""

_TAKE_TURNS = text(f"SELECT pg_advisory_xact_lock({_ALONE}, hashtext(:schema))")


class Database(Protocol):
    """A PostgreSQL database. `str` names it to people."""

    def connected(self, *, autocommit: bool = False) -> Any:
        """A new connection of psycopg's, on which text may hold any character."""
        ...

    def explained(self) -> AbstractContextManager[None]:
        """Turns the database's errors into a StoreFailure."""
        ...


class ViewConnections:
    """Connections to the database for all views of it, whose transactions find themselves in the schema of one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writes = _engine(database, pool_size=1)
        self._reads = _engine(database, pool_size=2)

        @event.listens_for(self._reads, "connect")
        def _(dbapi_connection: Any, _record: object) -> None:
            dbapi_connection.isolation_level = IsolationLevel.REPEATABLE_READ
            dbapi_connection.read_only = True

    @contextmanager
    def writing(self, schema: str, *, alone: bool = False) -> Iterator[Connection]:
        """One transaction in a schema, committed at the end and rolled back by an exception.

        It need not be on the disk when it is acknowledged: what a view loses, it folds again. `alone` waits for others that
        are alone with it too.
        """
        with self._explained(), self._writes.begin() as connection:
            if (
                alone
            ):  # before anything is asked about the schema: the server remembers within a transaction what it found
                connection.execute(_TAKE_TURNS, {"schema": schema})
            _enter(connection, schema, lock_timeout=f"{_BUSY_MILLISECONDS}ms", synchronous_commit="off")
            yield connection

    @contextmanager
    def reading(self, schema: str) -> Iterator[Connection]:
        """One transaction in a schema that cannot write and sees one state of it."""
        with self._explained(), self._reads.begin() as connection:
            _enter(connection, schema)
            yield connection

    def close(self) -> None:
        """Closes every connection. The next use opens them again."""
        self._writes.dispose()
        self._reads.dispose()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turns what the server does not do into a StoreFailure. A mistake in a statement is none, and passes as it is."""
        try:
            yield
        except PoolTimeout as error:
            raise StoreUnavailable(f"every connection to {self._database} is in use") from error
        except (DBAPIError, PsycopgError) as error:
            orig = error.orig if isinstance(error, DBAPIError) else error
            if isinstance(orig, _BUSY):
                raise ViewBusy(str(self._database)) from error
            if isinstance(orig, _REFUSED):
                with self._database.explained():
                    raise orig from None
            raise


def _engine(database: Database, *, pool_size: int) -> Engine:
    engine = create_engine(
        "postgresql+psycopg://",
        creator=database.connected,
        poolclass=QueuePool,
        pool_size=pool_size,
        max_overflow=10,
        pool_pre_ping=True,
        use_native_hstore=False,
        hide_parameters=True,  # they hold the text of a story, and errors are logged
    )

    @event.listens_for(engine, "connect")
    def _(dbapi_connection: Any, _record: object) -> None:
        dbapi_connection.prepare_threshold = None

    return engine


def _enter(connection: Connection, schema: str, **settings: str) -> None:
    """Sets where this transaction finds itself, in one question to the server."""
    wanted = {"search_path": f'"{schema}"', **settings}
    asked = ", ".join(f"set_config('{name}', :{name}, true)" for name in wanted)
    connection.execute(text(f"SELECT {asked}"), wanted)
