"""Brings one view up to the log, a page at a time, and stops where it cannot go on."""

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Literal

import structlog
from sqlalchemy import Connection

from domain.errors import StoreDamaged, StoreFailure, StoreFull, StoreReadOnly, StoreUnavailable, ViewBehind
from projections import checkpoint
from projections.failures import ViewBusy
from projections.projection import Projection, stamp_of
from projections.source import Source
from projections.view_file import ViewFile

FIRST_DELAY = 0.5
"""Seconds from a first failure to the next attempt; each failure after it doubles them."""
LONGEST_DELAY = 30.0

_PAUSE = 0.02
"""Seconds between two looks of somebody who waits for another thread or process, or for an event to come."""

Progress = Callable[[int, int], None]
"""Told how far a rebuild has come: (position, target)."""
State = Literal["current", "behind", "rebuilding", "failed"]

_logger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ViewStatus:
    """How a view stands.

    `lag` is the number of log positions it has yet to pass. A `failed` view could not fold what comes after `position`:
    `error` is the class of what was raised, and it is tried again. The rows up to there stand.
    """

    name: str
    version: int
    position: int
    lag: int
    state: State
    error: str | None = None


@dataclass(frozen=True)
class _Failure:
    """What stopped a view, how often in a row, and when (monotonic seconds) it is tried again."""

    error: Exception
    times: int
    retry_at: float


class Follower:
    """One view and how it follows the log. Threads and processes may follow with one view at once."""

    def __init__(self, directory: Path, projection: Projection, log: Source, *, page: int) -> None:
        self._projection = projection
        self._log = log
        self._stamp = stamp_of(projection)
        path = directory / f"{projection.name}.v{projection.version}.db"
        self._file = ViewFile(path, self._stamp, projection.tables)
        self._lock = Lock()
        self._page = page
        self._limit = page
        self._position = 0
        self._target = 0
        self._failure: _Failure | None = None
        self._named = {"view": projection.name, "version": projection.version}

    @property
    def name(self) -> str:
        """The name of the view."""
        return self._projection.name

    def step(self, *, wait: float = 0.0) -> bool:
        """Folds one page. False when there is nothing to do now: all is folded, it failed, or another thread is at it.

        Waits so many seconds for the other thread. Never raises: what fails is kept for `status` and `reach`.
        """
        if not self._lock.acquire(timeout=max(0.0, wait)):
            return False
        try:
            return self._attempt()
        finally:
            self._lock.release()

    def reach(self, wanted: int, deadline: float) -> None:
        """Returns when the view stands at `wanted` or beyond.

        Raises the StoreFailure that keeps it from there, else ViewBehind at the deadline (monotonic seconds).
        """
        while not self._stands_at(wanted):
            if monotonic() >= deadline:
                raise ViewBehind(self.name, self._position, wanted)
            if not self.step(wait=deadline - monotonic()):
                self._give_up_if_failed(wanted, deadline)
                sleep(_PAUSE)

    @contextmanager
    def reading(self, wanted: int, deadline: float) -> Iterator[Connection]:
        """A transaction over the rows at `wanted` or beyond. Raises as `reach` does."""
        self.reach(wanted, deadline)
        with self._file.reading() as connection:
            position = self._position_in(connection)
            if position < wanted:  # it was emptied meanwhile
                raise ViewBehind(self.name, position, wanted)
            yield connection

    def rebuild(self, progress: Progress) -> None:
        """Empties the view and folds the log again, as far as it goes now. Raises what keeps it from there."""
        self._target = target = self._log.max_position()
        self._file.reset(asked_for=True)
        self._failure = None
        while (position := self._standing()) < target:
            progress(position, target)
            if not self.step(wait=_PAUSE) and self._failure is not None:
                raise self._failure.error
        progress(position, target)

    def status(self, newest: int) -> ViewStatus:
        """How the view stands, in a log with this newest position. Never raises."""
        try:
            self._standing()
            error = self._failure.error if self._failure else None
        except StoreFailure as failure:
            error = failure
        lag = max(0, newest - self._position)
        return ViewStatus(
            self._stamp.name,
            self._stamp.version,
            self._position,
            lag,
            self._state(lag, error),
            None if error is None else type(error).__name__,
        )

    def close(self) -> None:
        """Closes the view's file, after the page that is being folded."""
        with self._lock:
            self._file.close()

    def _stands_at(self, wanted: int) -> bool:
        with suppress(ViewBusy):
            return self._standing() >= wanted
        return False

    def _give_up_if_failed(self, wanted: int, deadline: float) -> None:
        failure = self._failure
        if failure is not None and isinstance(failure.error, StoreFailure):
            raise failure.error.with_traceback(None)  # it is raised anew for each who waits
        if failure is not None and failure.retry_at > deadline:
            raise ViewBehind(self.name, self._position, wanted)

    def _state(self, lag: int, error: Exception | None) -> State:
        if error is not None:
            return "failed"
        if self._position < self._target:
            return "rebuilding"
        return "behind" if lag else "current"

    def _attempt(self) -> bool:
        if self._failure is not None and monotonic() < self._failure.retry_at:
            return False
        try:
            moved = self._fold_page()
        except ViewBusy:
            return False
        except (StoreUnavailable, StoreDamaged, StoreReadOnly, StoreFull) as error:
            return self._failed(error)
        except Exception as error:  # noqa: BLE001  # whatever a fold raises stops this view, not the others
            return self._narrowed(error)
        self._failure = None
        self._limit = min(self._page, self._limit * 2)
        return moved

    def _fold_page(self) -> bool:
        """Folds what comes next. False when nothing does."""
        after = self._standing()
        # In this order: another process may fold what was appended after we asked how long the log is.
        newest = self._log.max_position()
        if newest < after:
            _logger.warning("log is shorter than the view", **self._named, position=after, newest=newest)
            self._file.reset()
            return True
        if newest == after:
            return False
        if after == 0:
            self._target = newest
        self._fold_from(after, newest)
        return True

    def _fold_from(self, after: int, newest: int) -> None:
        page = self._log.read(after, self._limit, topics=self._projection.topics)
        # A page that is not full holds all there is up to `newest`, and beyond that what came meanwhile.
        last = page[-1].position if page else newest
        to = last if len(page) == self._limit else max(last, newest)
        with self._file.writing() as connection:
            if checkpoint.advance(connection, self._stamp, after, to) and page:
                self._projection.fold(connection, page)

    def _narrowed(self, error: Exception) -> bool:
        """Tries the first half of the page, until the event that cannot be folded is alone."""
        if self._limit == 1:
            return self._failed(error)
        self._limit = max(1, self._limit // 2)
        return True

    def _failed(self, error: Exception) -> bool:
        times = self._failure.times + 1 if self._failure else 1
        delay = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(times - 1, 16))
        self._failure = _Failure(error, times, monotonic() + delay)
        # Not the error itself: its words and its frames may hold the text of a story.
        what = {"error": type(error).__name__, "at": _place(error), "position": self._position, "retry_in": delay}
        _logger.error("view failed", **self._named, **what)
        return False

    def _standing(self) -> int:
        with self._file.reading() as connection:
            self._position = self._position_in(connection)
        return self._position

    def _position_in(self, connection: Connection) -> int:
        position = checkpoint.standing(connection, self._stamp)
        if position is None:
            raise StoreUnavailable(f"another version of the program has taken over the view {self.name!r}")
        return position


def _place(error: Exception) -> str:
    """File and line where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
