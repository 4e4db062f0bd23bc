"""Many rows into one table at once, past SQLAlchemy's way to the driver: by one `executemany`, or by COPY in PostgreSQL."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.sql.dml import UpdateBase


class RowWriter:
    """Adds rows to a table, with a value for every column, as the driver takes them."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._names = tuple(column.name for column in table.columns)
        self._values = itemgetter(*self._names)

    def add(self, connection: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
        """Adds them all, in the connection's transaction. Raises the database's own errors."""
        values: Sequence[tuple[Any, ...]] = list(map(self._values, rows))
        if not values:
            return
        columns = ", ".join(map(connection.dialect.identifier_preparer.quote, self._names))
        into = f"{connection.dialect.identifier_preparer.format_table(self._table)} ({columns})"
        if connection.dialect.name == "postgresql":
            _copy(connection, f"COPY {into} FROM STDIN", values)
        else:
            places = ", ".join("?" * len(self._names))
            connection.exec_driver_sql(f"INSERT INTO {into} VALUES ({places})", values)  # noqa: S608  # names of our own tables


def change(connection: Connection, statement: UpdateBase, rows: Sequence[Mapping[str, Any]]) -> None:
    """Executes a statement for each of the rows, at once. PostgreSQL's driver would do so in its pipeline mode, which hangs
    with large rows: there it is one after the other, and a page changes few rows that an earlier page wrote.
    """
    if not rows:
        return
    words: Any = statement.compile(dialect=connection.dialect)
    if connection.dialect.name == "postgresql":
        cursor: Any = connection.connection.cursor()
        with cursor:
            for row in rows:
                cursor.execute(str(words), {**words.params, **row})
    else:
        names = words.positiontup
        connection.exec_driver_sql(str(words), [tuple(map({**words.params, **row}.get, names)) for row in rows])


def _copy(connection: Connection, statement: str, values: Sequence[tuple[Any, ...]]) -> None:
    cursor: Any = connection.connection.cursor()
    with cursor, cursor.copy(statement) as copy:
        for row in values:
            copy.write_row(row)
