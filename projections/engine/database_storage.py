"""The views of a store in a PostgreSQL database: a schema a build, beside the log or in a database of their own."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from secrets import token_hex
from time import time
from typing import Any, Protocol, TypeVar

import structlog
from psycopg import InterfaceError, InternalError, IsolationLevel, OperationalError
from psycopg.errors import (
    DeadlockDetected,
    InsufficientPrivilege,
    InvalidSchemaName,
    LockNotAvailable,
    ReadOnlySqlTransaction,
    SerializationFailure,
    UndefinedTable,
)
from sqlalchemy import Connection, Engine, MetaData, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from domain.errors import StoreUnavailable
from projections.engine import checkpoint, generations
from projections.engine.failures import ViewBusy
from projections.engine.file_storage import SCRATCH_SECONDS
from projections.engine.generations import Generations
from projections.engine.place import ForeignView, Place, ViewReplaced
from projections.projection import Stamp

_SERVING = "fabula_views"
"""The schema that holds which build of each view serves."""
_BUSY_MILLISECONDS = 1000
"""How long a page waits for another process's. Who waits for a view tries again until its own time is up."""
_PREPARING = 0x0FAC
"""The first half of the number of the advisory lock that makes schemas one at a time."""

_SCHEMA = re.compile(r"fabula_view_(?P<name>.+)_v(?P<version>\d+)_(?:g(?P<build>\d+)|scratch_(?P<since>\d+)_[0-9a-f]+)")
_GONE = (UndefinedTable, InvalidSchemaName)
_BUSY = (LockNotAvailable, DeadlockDetected, SerializationFailure)
_REFUSED = (OperationalError, InterfaceError, InternalError, InsufficientPrivilege, ReadOnlySqlTransaction)
"""What the server does not do, whatever it is asked. Any other error is a mistake in what it was asked."""

_Result = TypeVar("_Result")

_TAKE_TURNS = text(f"SELECT pg_advisory_xact_lock({_PREPARING}, hashtext(:schema))")
# Not to_regclass, which answers out of what the session remembers of the time before it waited.
_IS_THERE = text("SELECT 1 FROM pg_tables WHERE schemaname = :schema AND tablename = :name")

_logger = structlog.get_logger(__name__)


class Database(Protocol):
    """A PostgreSQL database. `str` names it to people."""

    def connected(self, *, autocommit: bool = False) -> Any:
        """A new connection of psycopg's, on which text may hold any character."""
        ...

    def explained(self) -> AbstractContextManager[None]:
        """Turns the database's errors into a StoreFailure."""
        ...


class DatabaseStorage:
    """A `Storage`: the schema `fabula_view_<name>_v<version>_g<build>` for each build of a view.

    Which of them serves stands in the schema `fabula_views`. All of these may be dropped at any time.
    """

    def __init__(self, database: Database) -> None:
        self._engines = _Engines(database)
        self._serving = ViewSchema(self._engines, _SERVING, generations.STAMP, generations.metadata)

    def place(self, stamp: Stamp, tables: MetaData, build: int, stands: Callable[[], bool]) -> Place:
        """See Storage."""
        return ViewSchema(self._engines, _schema(stamp, f"g{build}"), stamp, tables, stands)

    def scratch(self, stamp: Stamp, tables: MetaData) -> Place:
        """See Storage."""
        return ViewSchema(self._engines, _schema(stamp, f"scratch_{time():.0f}_{token_hex(4)}"), stamp, tables)

    def generations(self, stamp: Stamp) -> Generations:
        """See Storage."""
        return self._asked(lambda connection: generations.read(connection, stamp))

    def begin(self, stamp: Stamp) -> int:
        """See Storage."""

        def begun(connection: Connection) -> int:
            build, new = generations.begin(connection, stamp)
            if new:  # a schema of this number, if any, is from before `fabula_views` was dropped
                _drop(connection, _schema(stamp, f"g{build}"))
            return build

        return self._asked(begun, write=True)

    def swap(self, stamp: Stamp, built: int) -> bool:
        """See Storage."""
        return self._asked(lambda connection: generations.swap(connection, stamp, built), write=True)

    def tidy(self, stamp: Stamp) -> None:
        """See Storage."""
        known = self.generations(stamp)
        with self._engines.writing(_SERVING) as connection:
            for name in connection.execute(text("SELECT nspname FROM pg_namespace")).scalars().all():
                if _is_left_over(name, stamp, known):
                    _logger.info("view schema is no longer used", view=stamp.name, schema=name)
                    _drop(connection, name)

    def close(self) -> None:
        """See Storage."""
        self._engines.close()

    def _asked(self, ask: Callable[[Connection], _Result], *, write: bool = False) -> _Result:
        """The answer of `fabula_views`, which is made again when it was dropped."""
        with suppress(ViewBusy), self._place(write=write) as connection:
            return ask(connection)
        with self._place(write=write) as connection:
            return ask(connection)

    def _place(self, *, write: bool) -> AbstractContextManager[Connection]:
        return self._serving.writing(alone=True) if write else self._serving.reading()


class ViewSchema:
    """A `Place`: a schema with the tables of one build of a view and its checkpoint."""

    def __init__(
        self,
        engines: "_Engines",
        schema: str,
        stamp: Stamp,
        tables: MetaData,
        stands: Callable[[], bool] = lambda: True,
    ) -> None:
        self._engines = engines
        self._schema = schema
        self._stamp = stamp
        self._tables = tables
        self._stands = stands
        self._prepared = False
        self._named = {"view": stamp.name, "version": stamp.version}

    @contextmanager
    def writing(self, *, alone: bool = False) -> Iterator[Connection]:
        """See Place. `alone` waits for others that are alone with the schema too."""
        self._prepare()
        with self._noticed(), self._engines.writing(self._schema, alone=alone) as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """See Place."""
        self._prepare()
        with self._noticed(), self._engines.reading(self._schema) as connection:
            yield connection

    def reset(self, *, asked_for: bool = False) -> None:
        """See Place."""
        with self.writing() as connection:
            self._empty(connection, asked_for=asked_for)

    def close(self) -> None:
        """The connections are the storage's."""

    def drop(self) -> None:
        """See Place."""
        self._prepared = False
        with self._engines.writing(self._schema) as connection:
            _drop(connection, self._schema)

    @contextmanager
    def _noticed(self) -> Iterator[None]:
        """A schema that was dropped is made again with the next use."""
        try:
            yield
        except DBAPIError as error:
            if not isinstance(error.orig, _GONE):
                raise
            self._prepared = False
            raise ViewBusy(self._schema) from error

    def _prepare(self) -> None:
        if self._prepared:
            return
        if not self._stands():
            raise ViewReplaced(self._schema)
        with self._engines.writing(self._schema, alone=True) as connection:
            if not self._is_ours(connection):
                self._empty(connection)
        self._prepared = True

    def _is_ours(self, connection: Connection) -> bool:
        """Whether this code folded the rows. Raises ForeignView when other code of the same view did."""
        table = {"schema": self._schema, "name": checkpoint.checkpoint.name}
        if connection.execute(_IS_THERE, table).first() is None:
            return False
        bearer = checkpoint.bearer(connection)
        if bearer == self._stamp:
            return True
        if bearer is not None and (bearer.name, bearer.version) == (self._stamp.name, self._stamp.version):
            raise ForeignView(self._stamp.name)
        return False

    def _empty(self, connection: Connection, *, asked_for: bool = False) -> None:
        stood = _drop(connection, self._schema)
        connection.execute(text(f'CREATE SCHEMA "{self._schema}"'))
        checkpoint.metadata.create_all(connection, checkfirst=False)
        self._tables.create_all(connection, checkfirst=False)
        checkpoint.begin(connection, self._stamp)
        if self._stamp != generations.STAMP:  # nothing is folded there
            tell = _logger.warning if stood and not asked_for else _logger.info
            tell("view starts from zero", **self._named)


class _Engines:
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
        except (DBAPIError, OperationalError) as error:
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


def _drop(connection: Connection, schema: str) -> bool:
    """Whether there was one."""
    found = connection.execute(text("SELECT 1 FROM pg_namespace WHERE nspname = :schema"), {"schema": schema}).scalar()
    if found:
        connection.execute(text(f'DROP SCHEMA "{schema}" CASCADE'))
    return bool(found)


def _schema(stamp: Stamp, build: str) -> str:
    return f"fabula_view_{stamp.name}_v{stamp.version}_{build}"


def _is_left_over(schema: str, stamp: Stamp, known: Generations) -> bool:
    """Whether a schema is one that no program of this or a newer version will use."""
    named = _SCHEMA.fullmatch(schema)
    if named is None or named["name"] != stamp.name or int(named["version"]) > stamp.version:
        return False
    if named["since"] is not None:
        return int(named["since"]) < time() - SCRATCH_SECONDS
    build = int(named["build"])
    return int(named["version"]) < stamp.version or (
        build not in (known.serving, known.building) and build <= known.newest
    )
