"""Keeps the views up to date, and lets them be read as of a position of the log."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from types import TracebackType
from typing import Self

from sqlalchemy import Connection

from domain.errors import UnknownProjection
from projections.engine.comparison import Difference
from projections.engine.digest import digest_of
from projections.engine.file_storage import FileStorage
from projections.engine.place import Storage
from projections.engine.rebuilding import Progress
from projections.engine.source import Source
from projections.engine.view import Rebuilt, View, ViewStatus
from projections.projection import Projection

PAGE = 1000
"""How many events are folded in one transaction."""
POLL_SECONDS = 0.5
"""How soon it is noticed what another process appended, where nothing tells of it."""
GRACE_SECONDS = 0.05
"""How long what was appended is left alone: whoever appended it may have an answer to give, and more to append. Who reads
a view meanwhile folds it on the spot."""
PATIENCE = 2.0
"""Seconds that a read waits for its view."""


def _untold(_position: int, _target: int) -> None:
    """For who does not ask how far it is."""


class Engine:
    """The views of one log, kept in a directory or in another storage.

    A context manager: inside it a thread follows the log. Without it, views follow as they are read.
    """

    def __init__(
        self, storage: Storage | Path, log: Source, projections: Sequence[Projection], *, page: int = PAGE
    ) -> None:
        self._log = log
        self._storage: Storage = FileStorage(storage) if isinstance(storage, Path) else storage
        self._projections = {projection.name: projection for projection in projections}
        self._views = {projection.name: View(self._storage, projection, log, page=page) for projection in projections}
        self._woken = Event()
        self._ending = Event()
        self._thread: Thread | None = None
        log.listen(self._woken)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Starts the thread that follows the log. Views that were parked are tried again."""
        if self._thread is None:
            self._ending.clear()
            self._thread = Thread(target=self._follow, name="views", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the page it is folding, and closes every place."""
        self._ending.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
        self._thread = None
        for view in self._views.values():
            view.close()
        self._storage.close()

    def catch_up(self) -> None:
        """Folds what there is, in the caller's thread, a page of each view in turn. Never raises: see `status`."""
        while self._fold_round():
            pass

    def at_least(self, name: str, position: int, timeout: float = PATIENCE) -> None:
        """Returns when the view stands at the position or beyond.

        Raises ViewBehind when it does not get there within `timeout` seconds, the StoreFailure that keeps it from
        there, or UnknownProjection.
        """
        self._view(name).reach(position, monotonic() + timeout)

    @contextmanager
    def reading(self, name: str, position: int | None = None, timeout: float = PATIENCE) -> Iterator[Connection]:
        """A transaction for the view's queries, at the position or beyond; without one, at what is newest in the log.

        It sees one state of the view, which grows its file while it lasts: let it be short. Raises as `at_least` does.
        """
        view = self._view(name)
        wanted = self._log.max_position() if position is None else position
        with view.reading(wanted, monotonic() + timeout) as connection:
            yield connection

    def status(self) -> list[ViewStatus]:
        """How each view stands, in the order in which they were given."""
        newest = self._log.max_position()
        return [view.status(newest) for view in self._views.values()]

    def rebuild(self, name: str, progress: Progress = _untold) -> Rebuilt:
        """Builds the view anew from the whole log, beside the one that serves until it is done.

        One that was begun by a process that was killed is gone on with. Raises UnknownProjection, or whatever keeps it
        from the end; then what served serves on.
        """
        return self._view(name).rebuild(progress)

    def begin_rebuild(self, name: str) -> None:
        """Begins what `rebuild` does and leaves it to the threads that follow. Raises UnknownProjection, a StoreFailure."""
        self._view(name).begin()
        self._woken.set()

    def rebuild_campaign(self, name: str, campaign: str, progress: Progress = _untold) -> None:
        """Builds the rows of one campaign anew, in the view that serves. Raises as `rebuild`."""
        self._view(name).rebuild_campaign(campaign, progress)

    def check(self, name: str, progress: Progress = _untold) -> Difference | None:
        """The first row that is not what the log makes of it, None without one. Changes nothing. Raises as `rebuild`."""
        return self._view(name).check(progress)

    def digest(self, name: str) -> str:
        """sha256, in hexadecimal, over all rows of the view as it stands, in a defined order."""
        with self.reading(name, position=0) as connection:
            return digest_of(connection, self._projections[name].tables)

    def _follow(self) -> None:
        for view in self._views.values():
            view.unpark()
        while not self._ending.is_set():
            self._woken.clear()
            while self._fold_round() and not self._ending.is_set():
                pass
            if self._woken.wait(POLL_SECONDS):
                self._ending.wait(GRACE_SECONDS)

    def _fold_round(self) -> bool:
        """Folds a page of each view. False when no view has more to fold now."""
        return sum(view.step() for view in self._views.values()) > 0

    def _view(self, name: str) -> View:
        if name not in self._views:
            raise UnknownProjection(name, tuple(self._views))
        return self._views[name]
