"""What a database error means for the person who meets it."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from domain.errors import StoreDamaged, StoreFailure, StoreFull, StoreReadOnly, StoreUnavailable

_PRIMARY = 0xFF
"""SQLite's extended result codes hold the primary code in their low byte."""

_UNEXPLAINED = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
"""What SQLite says when the operating system refused it, without the reason."""


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Turns the database's errors into a StoreFailure that says what to do. `where` names the store to people."""
    try:
        yield
    except DBAPIError as error:
        raise _meaning(error.orig, where) from error
    except SQLAlchemyError as error:
        raise StoreUnavailable(f"{type(error).__name__} at {where}") from error
    except sqlite3.Error as error:
        raise _meaning(error, where) from error


def _meaning(error: BaseException | None, where: str) -> StoreFailure:
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return StoreReadOnly(where)
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(where)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreDamaged(where, str(error))
    refusal = _refusal(where) if code in _UNEXPLAINED else None
    return refusal or StoreUnavailable(f"{error} at {where}")


def _refusal(where: str) -> StoreFailure | None:
    """Why the store's directory takes no new file, None where it takes one: a disk that failed is read-only, say."""
    try:
        TemporaryFile(dir=Path(where).parent).close()
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            return StoreReadOnly(where)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return StoreFull(where)
    return None
