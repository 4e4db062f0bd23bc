"""Two builds of one view, row by row."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from sqlalchemy import Connection, MetaData, RowMapping, Table, and_, select

_ROWS_AT_ONCE = 1000


@dataclass(frozen=True)
class Difference:
    """The first row that is not the same, by table and primary key, at this log position.

    Both `stored` (the row of the view) and `rebuilt` hold the columns that differ; None where there is no such row.
    """

    table: str
    key: Mapping[str, Any]
    position: int
    stored: Mapping[str, Any] | None
    rebuilt: Mapping[str, Any] | None


def first_difference(stored: Connection, rebuilt: Connection, tables: MetaData, position: int) -> Difference | None:
    """The first difference, by table name and primary key; None when all rows are the same."""
    for table in sorted(tables.tables.values(), key=lambda table: table.name):
        found = _in_table(stored, rebuilt, table, position)
        if found is not None:
            return found
    return None


def _in_table(stored: Connection, rebuilt: Connection, table: Table, position: int) -> Difference | None:
    query = select(table).order_by(*table.primary_key.columns)
    ours = stored.execution_options(yield_per=_ROWS_AT_ONCE).execute(query)
    theirs = rebuilt.execution_options(yield_per=_ROWS_AT_ONCE).execute(query)
    with ours, theirs:
        pair = next((pair for pair in zip_longest(ours.mappings(), theirs.mappings()) if not _same(*pair)), None)
    return None if pair is None else _told(stored, rebuilt, table, position, *pair)


def _same(left: RowMapping | None, right: RowMapping | None) -> bool:
    return left is not None and right is not None and tuple(left.values()) == tuple(right.values())


def _told(
    stored: Connection,
    rebuilt: Connection,
    table: Table,
    position: int,
    left: RowMapping | None,
    right: RowMapping | None,
) -> Difference:
    """Which of the two rows the other side has not; or, where both have one of this key, what differs in it."""
    for row in (left, right):
        if row is not None:
            ours, theirs = _row(stored, table, row), _row(rebuilt, table, row)
            if ours != theirs:
                return Difference(table.name, _key(table, row), position, *_differing(ours, theirs))
    raise AssertionError("two rows that are not the same differ")


def _differing(
    ours: dict[str, Any] | None, theirs: dict[str, Any] | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    if ours is None or theirs is None:
        return ours, theirs
    names = [name for name, value in ours.items() if value != theirs[name]]
    return {name: ours[name] for name in names}, {name: theirs[name] for name in names}


def _row(connection: Connection, table: Table, like: RowMapping) -> dict[str, Any] | None:
    this = and_(*(column == like[column.name] for column in table.primary_key.columns))
    row = connection.execute(select(table).where(this)).mappings().one_or_none()
    return None if row is None else {str(name): value for name, value in row.items()}


def _key(table: Table, row: RowMapping) -> dict[str, Any]:
    return {str(column.name): row[column.name] for column in table.primary_key.columns}
