"""How much SQLite did for something: the rows that it handed over, and the steps of its virtual machine.

Steps count what was looked at as well as what was found, so a scan shows that returns little. They are the same on
every machine.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from sqlite3 import Connection, Cursor
from threading import get_ident
from typing import Any

from sqlalchemy import event
from sqlalchemy.pool import Pool


@dataclass
class Work:
    """Rows handed over and steps taken, for the thread that counts. Counting makes everything slower."""

    rows: int = 0
    steps: int = 0

    def row(self, _cursor: Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Notes a row, and passes it on."""
        self.rows += 1
        return row

    def step(self) -> int:
        """Notes a step; 0 tells SQLite to go on."""
        self.steps += 1
        return 0


@contextmanager
def counted() -> Iterator[Work]:
    """Counts what connections do that this thread takes from their pools."""
    work, counting = Work(), get_ident()

    def taken(connection: Connection, _record: object, _proxy: object) -> None:
        if get_ident() == counting:
            connection.row_factory = work.row
            connection.set_progress_handler(work.step, 1)

    def given_back(connection: Connection | None, _record: object) -> None:
        if connection is not None:
            connection.row_factory = None
            connection.set_progress_handler(None, 0)

    event.listen(Pool, "checkout", taken)
    event.listen(Pool, "checkin", given_back)
    try:
        yield work
    finally:
        event.remove(Pool, "checkout", taken)
        event.remove(Pool, "checkin", given_back)
