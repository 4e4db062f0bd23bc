"""The rows that a rebuild of a view writes, written once more by SQLite alone.

`python -m tests.bench.row_writes STORE VIEWS NAME TIMES` rebuilds a view while it notes what is written, then hands the
very same statements to SQLite, a page in a transaction as well, and prints how many seconds that takes. A row that is
written in one page and again in another counts twice, as it does in the rebuild. It prints as well what only the rows
take that stand in the end, and what it takes to read the events that the view is made of, which a rebuild does too.
"""

import gc
import json
import re
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, event

from projections.all import ALL
from projections.engine.engine import PAGE
from projections.engine.sqlite import _WRITING as PRAGMAS
from tests.bench.stores import Store, quiet

_CHANGED = re.compile(r'(?:INSERT INTO|UPDATE|DELETE FROM) "?(\w+)')


@dataclass(frozen=True)
class Write:
    """A statement, and the parameters of each time that it was executed."""

    statement: str
    parameters: Sequence[Any]


Page = list[Write]
"""What was written in one transaction."""


@contextmanager
def noted(tables: MetaData) -> Iterator[dict[str, list[Page]]]:
    """What is written to these tables meanwhile, by file: a rebuild may write to another build of the view as well."""
    files: dict[str, list[Page]] = {}

    def note(
        connection: Connection, _cursor: object, statement: str, parameters: Any, _context: object, many: bool
    ) -> None:
        changed = _CHANGED.match(statement)
        if changed is not None and changed[1] in tables.tables:
            pages = files.setdefault(file_of(connection), [[]])
            pages[-1].append(Write(statement, list(parameters) if many else [parameters]))

    def turn(connection: Connection) -> None:
        pages = files.get(file_of(connection), [])
        if pages and pages[-1]:
            pages.append([])

    event.listen(Engine, "before_cursor_execute", note)
    event.listen(Engine, "commit", turn)
    try:
        yield files
    finally:
        event.remove(Engine, "before_cursor_execute", note)
        event.remove(Engine, "commit", turn)


def file_of(connection: Connection) -> str:
    """The file that a connection to SQLite is open to."""
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA database_list")
    row = cursor.fetchone()
    cursor.close()
    return "" if row is None else str(row[2])


@dataclass(frozen=True)
class View:
    """The tables of a view that was built, and the rows that stand in them."""

    schema: Sequence[str]
    rows: dict[str, list[tuple[Any, ...]]]

    @classmethod
    def at(cls, path: Path, tables: MetaData) -> "View":
        """The view in this file."""
        with closing(sqlite3.connect(path)) as source:
            query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name = ? ORDER BY type DESC"
            schema = [sql for name in tables.tables for (sql,) in source.execute(query, (name,))]
            return cls(schema, _rows(source, tables))

    def pages(self) -> list[Page]:
        """Its rows as they would be written, each of them once."""
        return [page for table, rows in self.rows.items() for page in _pages(table, rows)]


def _rows(source: sqlite3.Connection, tables: MetaData) -> dict[str, list[tuple[Any, ...]]]:
    """Every row, in the order in which they came, which is that of the page that they were last written in."""
    return {name: source.execute(f"SELECT * FROM {name}").fetchall() for name in tables.tables}  # noqa: S608


def _pages(table: str, rows: list[tuple[Any, ...]]) -> Iterator[Page]:
    for first in range(0, len(rows), PAGE):
        page = rows[first : first + PAGE]
        yield [Write(f"INSERT INTO {table} VALUES ({', '.join('?' * len(page[0]))})", page)]  # noqa: S608


def written_alone(view: View, pages: Sequence[Page], tables: MetaData, path: Path) -> float:
    """Seconds for these pages into empty tables of the same kind. They must leave the rows of the view."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as target:
        for pragma in PRAGMAS:
            target.execute(f"PRAGMA {pragma}")
        begun = perf_counter()
        for sql in view.schema:
            target.execute(sql)
        for page in pages:
            target.execute("BEGIN IMMEDIATE")
            for write in page:
                target.executemany(write.statement, write.parameters)
            target.execute("COMMIT")
        seconds = perf_counter() - begun
        for name, rows in _rows(target, tables).items():
            if rows != view.rows[name]:
                raise AssertionError(f"SQLite alone wrote other rows into {name} than the rebuild")
        return seconds


def read_alone(log: Path, topics: Sequence[str]) -> float:
    """Seconds for reading the events of these topics, a page at a time."""
    query = f"""SELECT * FROM event WHERE position > ? AND topic IN ({", ".join("?" * len(topics))})
                ORDER BY position LIMIT {PAGE}"""  # noqa: S608
    with closing(sqlite3.connect(log)) as source:
        begun, last = perf_counter(), 0
        while page := source.execute(query, (last, *topics)).fetchall():
            last = page[-1][0]
        return perf_counter() - begun


def main() -> None:
    """Says what SQLite alone takes."""
    quiet()
    address, directory, name, times = sys.argv[1:]
    projection = next(projection for projection in ALL if projection.name == name)
    tables, repetitions = projection.tables, range(int(times))
    with Store(address, Path(directory)).opened() as views:
        with noted(tables) as files:
            views.rebuild(name)
        with views.reading(name) as connection:
            serving = file_of(connection)
    view, pages, raw = View.at(Path(serving), tables), files[serving], Path(directory) / "raw.db"
    gc.freeze()  # what was noted is never garbage, and looking through it would take time

    def alone(written: Sequence[Page]) -> float:
        return median(written_alone(view, written, tables, raw) for _ in repetitions)

    said = {
        "same": alone(pages),
        "final": alone(view.pages()),
        "read": median(read_alone(Path(address) / "log.db", projection.topics) for _ in repetitions),
        "writes": _count(pages),
        "rows": _count(view.pages()),
    }
    print(json.dumps(said))


def _count(pages: Sequence[Page]) -> int:
    return sum(len(write.parameters) for page in pages for write in page)


if __name__ == "__main__":
    main()
