"""A view as one number: two that hold the same rows have the same digest."""

import hashlib

import orjson
from sqlalchemy import Connection, MetaData, Table, select

_ROWS_AT_ONCE = 1000


def digest_of(connection: Connection, tables: MetaData) -> str:
    """sha256, in hexadecimal, over all rows of all tables, by table name and primary key."""
    digest = hashlib.sha256()
    for table in sorted(tables.tables.values(), key=lambda table: table.name):
        _add(digest, connection, table)
    return digest.hexdigest()


def _add(digest: "hashlib._Hash", connection: Connection, table: Table) -> None:
    digest.update(orjson.dumps([table.name, [column.name for column in table.columns]]) + b"\n")
    rows = connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(
        select(table).order_by(*table.primary_key.columns)
    )
    for row in rows:
        digest.update(orjson.dumps(tuple(row)) + b"\n")
