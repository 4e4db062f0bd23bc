"""PostgreSQL as the log wants it: writers in a queue, positions in the order of commits, appends heard by everyone.

**Positions** come from a table of one row that counts them, in the transaction of the append. A sequence would not do: it
gives numbers outside of transactions, so one that is rolled back leaves a gap, and who commits last may have the smaller
number, which a reader that follows the log has passed by then. Writers wait for each other at their beginning, on an
advisory lock, so whatever a transaction reads after that is what all before it have left, and READ COMMITTED is enough.
The count is never taken back: a position that was given is not given again, and events that are gone are missed.

**No pipeline mode.** The driver's `executemany` uses it by itself, and hangs with large rows. Rows are inserted one by one.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from psycopg import Error, IsolationLevel
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    Table,
    bindparam,
    create_engine,
    event,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.pool import QueuePool

from adapters.event_log import tables
from adapters.event_log.database import Ears
from adapters.event_log.prepared import Parameters, Prepared, inserting
from adapters.postgresql import PostgresqlDatabase
from adapters.standing_connection import StandingConnection
from domain.errors import StoreUnavailable

CHANNEL = "fabula_log"
"""What each append notifies. A notification says that there is something, and not what."""

_LOCK = 0x0FAB
"""The first half of the advisory lock's number. The second is the schema, so that two stores do not wait for each other."""

position_given = Table("position_given", MetaData(), Column("newest", tables.NUMBER, nullable=False))
"""One row: the newest position that was ever given."""

_TAKE_TURNS = f"SELECT pg_advisory_xact_lock({_LOCK}, hashtext(current_schema()))"
_GIVEN = select(position_given.c.newest)
_COUNT_ON = Prepared(
    update(position_given)
    .values(newest=position_given.c.newest + bindparam("more"))
    # Whoever listens is woken when this is committed.
    .returning(position_given.c.newest, func.pg_notify(literal(CHANNEL), literal("")))
)
_INSERT = inserting(tables.event)


class PostgresqlStore:
    """A store in the schema that connections to a database find themselves in."""

    def __init__(self, url: str) -> None:
        self._database = PostgresqlDatabase(url)

    def __str__(self) -> str:
        """The database as people know it."""
        return str(self._database)

    def __repr__(self) -> str:
        """As `str`."""
        return f"PostgresqlStore({str(self)!r})"

    def writing_engine(self) -> Engine:
        """See Database."""
        engine = self._engine(pool_size=1, max_overflow=0)

        @event.listens_for(engine, "begin")
        def _(connection: Connection) -> None:
            connection.connection.cursor().execute(_TAKE_TURNS).close()

        return engine

    def reading_engine(self) -> Engine:
        """See Database."""
        engine = self._engine(pool_size=4, max_overflow=12)

        @event.listens_for(engine, "connect")
        def _(dbapi_connection: Any, _record: object) -> None:
            dbapi_connection.isolation_level = IsolationLevel.REPEATABLE_READ
            dbapi_connection.read_only = True

        return engine

    def _engine(self, *, pool_size: int, max_overflow: int) -> Engine:
        engine = create_engine(
            "postgresql+psycopg://",
            creator=self._database.connected,
            poolclass=QueuePool,
            pool_size=pool_size,
            max_overflow=max_overflow,
            pool_pre_ping=True,  # one that was lost is replaced before it is used
            pool_reset_on_return=None,
            use_native_hstore=False,
            hide_parameters=True,
        )

        @event.listens_for(engine, "reset")
        def _(dbapi_connection: Any, *_: object) -> None:
            with suppress(Error):  # of one that is lost: whoever used it knows, and the pool would print a traceback
                dbapi_connection.rollback()

        return engine

    def explained(self) -> AbstractContextManager[None]:
        """See Database."""
        return self._database.explained()

    def holds_a_store(self) -> bool:
        """See Database."""
        with self.explained(), self._database.connected(autocommit=True) as connection:
            found = connection.execute("SELECT to_regclass(%s)", [tables.store.name]).fetchone()
            return found is not None and found[0] is not None

    def prepare(self, connection: Connection) -> None:
        """See Database."""
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise StoreUnavailable(f"{self} is encoded in {encoding}; make a database with ENCODING 'UTF8'")
        position_given.create(connection, checkfirst=True)
        if connection.execute(_GIVEN).first() is None:
            newest = select(func.coalesce(func.max(tables.event.c.position), 0)).scalar_subquery()
            connection.execute(insert(position_given).values(newest=newest))

    def must_stand(self) -> None:
        """A database that is gone takes its connections along, so there is nothing to look at."""

    def insert(self, connection: Connection, rows: Sequence[Parameters]) -> list[int]:
        """See Database."""
        last = _COUNT_ON.value(connection, {"more": len(rows)})
        positions = list(range(last - len(rows) + 1, last + 1))
        for position, row in zip(positions, rows, strict=True):
            _INSERT.run(connection, {**row, "position": position})
        return positions

    def positions_given(self, connection: Connection) -> int:
        """See Database."""
        given: int = connection.execute(_GIVEN).scalar_one()
        return given

    def ears(self, announce: Callable[[], None]) -> Ears:
        """See Database."""

        def began(connection: Any) -> None:
            connection.execute(f"LISTEN {CHANNEL}")
            announce()  # what was committed before this has notified nobody here

        ears = StandingConnection(self._database, began, heard=announce)
        ears.start()
        return ears
