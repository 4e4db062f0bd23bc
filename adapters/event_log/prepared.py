"""Statements that are asked over and over, put into words once.

SQLAlchemy's way from a statement to the driver costs about thirty microseconds each time, SQLite's answer five. So the
statements of a turn are written in Core, compiled once for each kind of database, and then handed to the driver with
their parameters by name. They run in the transaction of the connection that they are given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Dialect, Table, bindparam, insert
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import NoResultFound
from sqlalchemy.sql import Select
from sqlalchemy.sql.dml import UpdateBase

Row = dict[str, Any]
Parameters = Mapping[str, object]

_BY_NAME = {"sqlite": "named"}
"""How a driver that knows several ways is given parameters by name; `pyformat` where it is not said."""


@dataclass(frozen=True)
class _Words:
    """The statement in a database's own words, and the values that are part of it."""

    text: str
    fixed: Parameters


class Prepared:
    """One statement. Values pass as the driver has them: numbers, text, bytes; what is true may come back as 1.

    What fails is the driver's own error.
    """

    def __init__(self, statement: Select[Any] | UpdateBase) -> None:
        self._statement = statement
        self._columns = tuple(statement.selected_columns.keys()) if isinstance(statement, Select) else ()
        self._words: dict[str, _Words] = {}

    def run(self, connection: Connection, parameters: Parameters) -> None:
        """Changes what the statement changes."""
        self._asked(connection, parameters).close()

    def run_all(self, connection: Connection, parameters: Sequence[Parameters]) -> None:
        """As `run`, for each of them, in one go. Not for PostgreSQL, whose driver would do so in pipeline mode."""
        words = self._in_words(connection.dialect)
        cursor = connection.connection.cursor()
        cursor.executemany(words.text, [{**words.fixed, **one} for one in parameters])
        cursor.close()

    def row(self, connection: Connection, parameters: Parameters) -> Row | None:
        """The first row by column name, None without any."""
        found = self._first(connection, parameters)
        return None if found is None else dict(zip(self._columns, found, strict=True))

    def one(self, connection: Connection, parameters: Parameters) -> Row:
        """The row that must be there. NoResultFound when it is not."""
        found = self.row(connection, parameters)
        if found is None:
            raise NoResultFound(f"no row where there must be one: {self._statement}")
        return found

    def rows(self, connection: Connection, parameters: Parameters) -> list[Row]:
        """Every row by column name."""
        cursor = self._asked(connection, parameters)
        found = [dict(zip(self._columns, row, strict=True)) for row in cursor.fetchall()]
        cursor.close()
        return found

    def value(self, connection: Connection, parameters: Parameters) -> Any:
        """The first column of the first row, None without any."""
        found = self._first(connection, parameters)
        return None if found is None else found[0]

    def _first(self, connection: Connection, parameters: Parameters) -> Sequence[Any] | None:
        cursor = self._asked(connection, parameters)
        found: Sequence[Any] | None = cursor.fetchone()
        cursor.close()
        return found

    def _asked(self, connection: Connection, parameters: Parameters) -> DBAPICursor:
        words = self._in_words(connection.dialect)
        cursor = connection.connection.cursor()
        cursor.execute(words.text, {**words.fixed, **parameters})
        return cursor

    def _in_words(self, dialect: Dialect) -> _Words:
        return self._words.get(dialect.name) or self._compiled(dialect)

    def _compiled(self, dialect: Dialect) -> _Words:
        speaking: Any = type(dialect)
        compiled = self._statement.compile(dialect=speaking(paramstyle=_BY_NAME.get(dialect.name, "pyformat")))
        fixed = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
        words = self._words[dialect.name] = _Words(str(compiled), fixed)
        return words


def inserting(table: Table, *, without: Sequence[str] = ()) -> Prepared:
    """Adds a row, with a value for every column but some."""
    names = [name for name in table.c.keys() if name not in without]  # noqa: SIM118  # a collection of columns, no mapping
    return Prepared(insert(table).values({name: bindparam(name) for name in names}))
