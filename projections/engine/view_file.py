"""One view's SQLite file: opened when it is first needed, and again when it was deleted or replaced under us.

Deleting a view is always safe, also while programs use it. That takes some care:

- An open connection would go on writing into a deleted file. So the identity (device, inode) of the database and of the
  files beside it is compared before each transaction.
- SQLite finds the files beside a database by name. A new database beside the `-shm` of a deleted one would share it with
  whoever still reads the deleted one, and both would read nonsense. So what is left of a deleted database is deleted too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock

import structlog
from sqlalchemy import Connection, Engine, MetaData
from sqlalchemy.exc import DatabaseError

from domain.errors import StoreUnavailable
from projections.engine import checkpoint, generations
from projections.engine.failures import ViewBusy, ViewDamaged, ViewTorn, explained, meaning_of
from projections.engine.place import ForeignView, ViewReplaced
from projections.engine.sqlite import reading_engine, writing_engine
from projections.projection import Stamp

_OPENING_ATTEMPTS = 5
_TORN_ATTEMPTS = 5
"""How often in a row a file may be torn before it is taken for damaged."""

Identity = tuple[int, int] | None
"""Device and inode of a file, None where there is none."""

_logger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Opened:
    """Connections to one file, and what that file and those beside it were when they were opened."""

    identities: tuple[Identity, ...]
    writes: Engine
    reads: Engine

    def close(self) -> None:
        """Closes all. SQLite tidies up beside a database that is still in its place and that nobody else has open."""
        self.reads.dispose()
        self.writes.dispose()


class ViewFile:
    """A `Place`: the file at `path`, with the tables of one build of a view and its checkpoint.

    A file that is missing, is damaged or holds something else is made anew, empty and at position 0, as it is opened.
    """

    def __init__(
        self,
        path: Path,
        stamp: Stamp,
        tables: MetaData,
        stands: Callable[[], bool] = lambda: True,
    ) -> None:
        self._path = path
        self._stamp = stamp
        self._tables = tables
        self._stands = stands
        self._lock = RLock()
        self._opened: _Opened | None = None
        self._torn = 0
        self._named = {"view": stamp.name, "version": stamp.version}

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction with the write lock, committed at the end and rolled back by an exception."""
        with self._lock:
            opened = self._current()
            with self._mended(opened), opened.writes.begin() as connection:
                yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One transaction that cannot write and sees one state of the view."""
        opened = self._current()
        with self._mended(opened), opened.reads.begin() as connection:
            yield connection
            self._must_be_whole(opened)

    def reset(self, *, asked_for: bool = False) -> None:
        """Empties the view in one transaction: no rows, position 0. What somebody asked for is no warning."""
        with self.writing() as connection:
            self._empty(connection, asked_for=asked_for)

    def close(self) -> None:
        """Closes every connection. The next use opens them again."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = None

    def drop(self) -> None:
        """Closes it, and removes its files."""
        with self._lock:
            self.close()
            self._unlink(list(self._paths()))

    def _current(self) -> _Opened:
        opened = self._opened
        if opened is not None and opened.identities == self._identities():
            return opened
        with self._lock:
            return self._opened_again()

    def _opened_again(self) -> _Opened:
        opened = self._opened
        if opened is not None and opened.identities == self._identities():
            return opened
        if not self._stands():
            self.close()
            raise ViewReplaced(str(self._path))
        if opened is not None:
            _logger.warning("view file was deleted or replaced", **self._named)
            self._abandon(opened)
        self._opened = self._open()
        return self._opened

    def _abandon(self, opened: _Opened) -> None:
        self._opened = None
        opened.close()
        beside = zip(self._paths()[1:], opened.identities[1:], strict=True)
        self._unlink([path for path, identity in beside if identity == _identity(path)])

    def _open(self) -> _Opened:
        failure = StoreUnavailable(f"{self._path} is replaced again and again")
        for _ in range(_OPENING_ATTEMPTS):
            before = _identity(self._path)
            try:
                opened = self._connected()
            except ViewDamaged:
                self._discard(before)
                continue
            except StoreUnavailable as error:
                failure = self._unless_replaced(before, error)
                continue
            if before is not None and before == opened.identities[0]:
                return opened
            opened.close()  # which of the two was opened? Also a new file is opened twice, to be sure
        raise failure

    def _unless_replaced(self, before: Identity, error: StoreUnavailable) -> StoreUnavailable:
        """Raises the error, unless the file came or went as it was opened: then it is tried again."""
        if isinstance(error, ViewBusy) or (before is not None and before == _identity(self._path)):
            raise error
        return error

    def _connected(self) -> _Opened:
        self._make_directory()
        writes, reads = writing_engine(self._path), reading_engine(self._path)
        try:
            with explained(str(self._path)):
                self._prepare(writes, reads)
                return _Opened(self._identities(), writes, reads)
        except BaseException:
            writes.dispose()
            reads.dispose()
            raise

    def _prepare(self, writes: Engine, reads: Engine) -> None:
        # The writing connection first: the other kind makes no files.
        with writes.connect(), reads.begin() as connection:
            if self._is_ours(connection):
                return
        with writes.begin() as connection:
            if not self._is_ours(connection):
                self._empty(connection)

    def _is_ours(self, connection: Connection) -> bool:
        """Whether this code folded the rows. Raises ForeignView when other code of the same view did."""
        if not connection.dialect.has_table(connection, checkpoint.checkpoint.name):
            return False
        with suppress(DatabaseError), explained(str(self._path)):
            bearer = checkpoint.bearer(connection)
            if bearer == self._stamp and checkpoint.standing(connection, self._stamp) is not None:
                return True
            if bearer is not None and (bearer.name, bearer.version) == (self._stamp.name, self._stamp.version):
                raise ForeignView(self._stamp.name)
        return False  # other tables than this code knows

    def _empty(self, connection: Connection, *, asked_for: bool = False) -> None:
        found = MetaData()
        found.reflect(connection)
        found.drop_all(connection)
        checkpoint.metadata.create_all(connection)
        self._tables.create_all(connection)
        checkpoint.begin(connection, self._stamp)
        if self._stamp != generations.STAMP:  # nothing is folded there
            tell = _logger.warning if found.tables and not asked_for else _logger.info
            tell("view starts from zero", **self._named)

    @contextmanager
    def _mended(self, opened: _Opened) -> Iterator[None]:
        """Explains what fails. A damaged file is thrown away, and the next use makes a new one.

        ViewBusy when it failed because the file was deleted or replaced meanwhile.
        """
        try:
            with explained(str(self._path)):
                yield
            self._torn = 0
        except ViewDamaged:
            self._throw_away(opened)
            raise
        except ViewTorn as error:
            self._torn += 1
            if self._torn >= _TORN_ATTEMPTS:
                self._torn = 0
                self._throw_away(opened)
                raise ViewDamaged(str(self._path)) from error
            with self._lock:
                if self._opened is opened:
                    self.close()
            raise
        except StoreUnavailable as error:
            if opened.identities != self._identities():
                raise ViewBusy(str(self._path)) from error
            raise

    def _must_be_whole(self, opened: _Opened) -> None:
        """Raises ViewBusy when a file beside the database was taken away: what was read may be older than it should be."""
        database, *beside = self._identities()
        if database == opened.identities[0] and tuple(beside) != opened.identities[1:]:
            raise ViewBusy(str(self._path))

    def _throw_away(self, opened: _Opened) -> None:
        with self._lock:
            if self._opened is opened:
                self._abandon(opened)
            self._discard(opened.identities[0])

    def _discard(self, damaged: Identity) -> None:
        """Deletes the damaged file, unless another stands in its place already."""
        _logger.error("view file is damaged", **self._named)
        if damaged is not None and damaged == _identity(self._path):
            self._unlink([self._path])

    def _unlink(self, paths: list[Path]) -> None:
        try:
            for path in paths:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise meaning_of(error, str(self._path)) from error

    def _make_directory(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise meaning_of(error, str(self._path.parent)) from error

    def _paths(self) -> tuple[Path, ...]:
        return self._path, Path(f"{self._path}-wal"), Path(f"{self._path}-shm")

    def _identities(self) -> tuple[Identity, ...]:
        return tuple(_identity(path) for path in self._paths())


def _identity(path: Path) -> Identity:
    with suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None
