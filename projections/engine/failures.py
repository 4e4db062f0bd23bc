"""What a database error means for a view, and for the person who meets it."""

import errno
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from domain.errors import StoreFailure, StoreFull, StoreReadOnly, StoreUnavailable

_PRIMARY = 0xFF
"""SQLite's extended result codes hold the primary code in their low byte."""

_OTHER_TABLES = re.compile("no such table|no such column|has no column named|Could not decode to UTF-8")
"""What SQLite says of tables, or of text, that are not as this program made them."""

_SILENT = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL)


class ViewDamaged(StoreUnavailable):
    """The view's file is no database, or a broken one. It is thrown away and built anew."""

    def __init__(self, where: str) -> None:
        super().__init__(f"the view at {where} is damaged and is built anew")


class ViewBusy(StoreUnavailable):
    """Another process is at work on the view's file. A moment later it is not."""

    def __init__(self, where: str) -> None:
        super().__init__(f"another process is at work on {where}")


class ViewTorn(ViewBusy):
    """Less stood in a file than was to be there: it, or one beside it, was replaced a moment ago; or it is damaged."""


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Turns what the store cannot do into a StoreFailure. A mistake in a statement is none, and passes as it is."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreUnavailable(f"every connection to {where} is in use") from error
    except (DBAPIError, sqlite3.Error) as error:
        failure = _meaning(error.orig if isinstance(error, DBAPIError) else error, where)
        if failure is None:
            raise
        raise failure from error


def meaning_of(error: OSError, where: str) -> StoreFailure:
    """What it means that the operating system refused a file or a directory."""
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreReadOnly(where)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(where)
    return StoreUnavailable(f"{error.strerror} at {where}")


def _meaning(error: BaseException | None, where: str) -> StoreFailure | None:
    extended = getattr(error, "sqlite_errorcode", 0)
    if extended == sqlite3.SQLITE_IOERR_SHORT_READ:
        return ViewTorn(where)
    code = extended & _PRIMARY
    if code == sqlite3.SQLITE_ERROR and _OTHER_TABLES.search(str(error)):
        return ViewDamaged(where)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return StoreReadOnly(where)
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(where)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return ViewDamaged(where)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return ViewBusy(where)
    name = getattr(error, "sqlite_errorname", "")
    return StoreUnavailable(f"{error} ({name}) at {where}") if code in _SILENT else None
