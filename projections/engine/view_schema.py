"""One build of a view as a schema in PostgreSQL: made when it is first needed, and again when it was dropped under us."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
from psycopg import Error as PsycopgError
from psycopg.errors import InvalidSchemaName, UndefinedColumn, UndefinedTable
from sqlalchemy import Connection, MetaData, text
from sqlalchemy.exc import DBAPIError

from projections.engine import checkpoint, generations
from projections.engine.failures import ViewBusy, ViewDamaged
from projections.engine.place import ForeignView, ViewReplaced
from projections.engine.postgresql import ViewConnections
from projections.projection import Stamp

_GONE = (UndefinedTable, UndefinedColumn, InvalidSchemaName)
# Not to_regclass, which answers out of what the session remembers of the time before it waited.
_COLUMNS = text("SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = :schema")

_logger = structlog.get_logger(__name__)


class ViewSchema:
    """A `Place`: a schema with the tables of one build of a view and its checkpoint."""

    def __init__(
        self,
        connections: ViewConnections,
        schema: str,
        stamp: Stamp,
        tables: MetaData,
        stands: Callable[[], bool] = lambda: True,
    ) -> None:
        self._connections = connections
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
        with self._noticed(), self._connections.writing(self._schema, alone=alone) as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """See Place."""
        self._prepare()
        with self._noticed(), self._connections.reading(self._schema) as connection:
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
        with self._connections.writing(self._schema) as connection:
            dropped(connection, self._schema)

    @contextmanager
    def _noticed(self) -> Iterator[None]:
        """A schema that was dropped is made again with the next use."""
        try:
            yield
        except (DBAPIError, PsycopgError) as error:
            if not isinstance(error.orig if isinstance(error, DBAPIError) else error, _GONE):
                raise
            self._prepared = False
            raise ViewBusy(self._schema) from error
        except ViewDamaged:
            self.drop()
            raise

    def _prepare(self) -> None:
        if self._prepared:
            return
        if not self._stands():
            raise ViewReplaced(self._schema)
        with self._connections.writing(self._schema, alone=True) as connection:
            if not self._is_ours(connection):
                self._empty(connection)
        self._prepared = True

    def _is_ours(self, connection: Connection) -> bool:
        """Whether this code folded the rows. Raises ForeignView when other code of the same view did."""
        found = {tuple(row) for row in connection.execute(_COLUMNS, {"schema": self._schema})}
        if not _columns(checkpoint.metadata) <= found:
            return False
        bearer = checkpoint.bearer(connection)
        if bearer == self._stamp:
            return _columns(self._tables) <= found
        if bearer is not None and (bearer.name, bearer.version) == (self._stamp.name, self._stamp.version):
            raise ForeignView(self._stamp.name)
        return False

    def _empty(self, connection: Connection, *, asked_for: bool = False) -> None:
        stood = dropped(connection, self._schema)
        connection.execute(text(f'CREATE SCHEMA "{self._schema}"'))
        checkpoint.metadata.create_all(connection, checkfirst=False)
        self._tables.create_all(connection, checkfirst=False)
        checkpoint.begin(connection, self._stamp)
        if self._stamp != generations.STAMP:  # nothing is folded there
            tell = _logger.warning if stood and not asked_for else _logger.info
            tell("view starts from zero", **self._named)


def dropped(connection: Connection, schema: str) -> bool:
    """Removes a schema with all that it holds; whether there was one."""
    found = connection.execute(text("SELECT 1 FROM pg_namespace WHERE nspname = :schema"), {"schema": schema}).scalar()
    if found:
        connection.execute(text(f'DROP SCHEMA "{schema}" CASCADE'))
    return bool(found)


def _columns(tables: MetaData) -> set[tuple[str, str]]:
    return {(table.name, column.name) for table in tables.tables.values() for column in table.columns}
