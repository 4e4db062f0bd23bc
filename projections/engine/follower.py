"""Brings one build of a view up to the log, a page at a time, and stops where it cannot go on."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import inf
from threading import Lock
from time import monotonic, sleep

import structlog
from sqlalchemy import Connection, MetaData

from domain.errors import (
    LogDamaged,
    StoreDamaged,
    StoreFailure,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
    StoreUnavailable,
    ViewBehind,
    ViewParked,
)
from projections.engine import checkpoint
from projections.engine.checkpoint import Standing
from projections.engine.failures import ViewBusy, ViewDamaged
from projections.engine.pace import Pace
from projections.engine.place import ForeignView, Place, ViewReplaced
from projections.engine.source import Source
from projections.projection import Projection, Stamp, stamp_of

FIRST_DELAY = 0.5
"""Seconds from a first failure to the next attempt; each failure after it doubles them."""
LONGEST_DELAY = 30.0
ATTEMPTS = 4
"""How often an event is tried that the fold raises at, before the view is parked there."""

_PAUSE = 0.02
"""Seconds between two looks of somebody who waits for another thread or process, or for an event to come."""

_logger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Failure:
    """What stopped a view, how often in a row, and when (monotonic seconds) it is tried again."""

    error: Exception
    times: int
    retry_at: float


class Follower:
    """One build of a view and how it follows the log. Threads and processes may follow with one build at once."""

    def __init__(self, place: Place, projection: Projection, log: Source, *, page: int) -> None:
        self.place = place
        self._projection = projection
        self._log = log
        self._stamp = stamp_of(projection)
        self._lock = Lock()
        self._page = page
        self._limit = page
        self._standing = Standing(0)
        self._newest: int | None = None
        self._pace = Pace()
        self._failure: _Failure | None = None
        self._named = {"view": projection.name, "version": projection.version}

    @property
    def stamp(self) -> Stamp:
        """The stamp of the code that folds it."""
        return self._stamp

    @property
    def tables(self) -> MetaData:
        """Its tables."""
        return self._projection.tables

    @property
    def position(self) -> int:
        """Where it stood when that was last looked at."""
        return self._standing.position

    @property
    def newest(self) -> float:
        """How far the log went when a page was last to be folded; beyond all positions while none was."""
        return inf if self._newest is None else self._newest

    @property
    def failure(self) -> Exception | None:
        """What keeps it from going on and is tried again, None while nothing does."""
        return self._failure.error if self._failure else None

    def step(self, *, wait: float = 0.0, up_to: int | None = None, at_once: bool = False) -> bool:
        """Folds one page, of what comes before a position or of all. False when there is nothing to do now: all is folded,
        it failed, it is parked, or another thread is at it.

        Waits so many seconds for the other thread; `at_once` tries again what a store did not do a moment ago. Raises ForeignView and ViewReplaced alone; whatever else fails is kept
        for `standing` and `reach`.
        """
        if not self._lock.acquire(timeout=max(0.0, wait)):
            return False
        try:
            if at_once and isinstance(self.failure, StoreFailure):
                self._failure = None
            return self._attempt(up_to)
        finally:
            self._lock.release()

    def reach(self, wanted: int, deadline: float) -> None:
        """Returns when the view stands at `wanted` or beyond.

        Raises the StoreFailure that keeps it from there, else ViewBehind at the deadline (monotonic seconds).
        """
        at_once = True
        while not self._stands_at(wanted):
            parked_at = self._standing.parked_at
            if monotonic() >= deadline or parked_at is not None:
                raise ViewBehind(self._stamp.name, self.position, wanted, parked_at)
            if not self.step(wait=deadline - monotonic(), at_once=at_once):
                self._give_up_if_failed(wanted, deadline)
                sleep(_PAUSE)
            at_once = False

    @contextmanager
    def reading(self, wanted: int, deadline: float) -> Iterator[Connection]:
        """A transaction over the rows at `wanted` or beyond. Raises as `reach` does."""
        while True:
            with self.place.reading() as connection:
                position = self.standing_in(connection).position
                if position >= wanted:
                    yield connection
                    return
            self.reach(wanted, deadline)

    def standing(self) -> Standing:
        """How far it has come. Raises a StoreFailure when that cannot be read."""
        with self.place.reading() as connection:
            self._standing = self.standing_in(connection)
        return self._standing

    def standing_in(self, connection: Connection, *, locked: bool = False) -> Standing:
        """How far it has come, as a transaction on its place sees it; `locked` keeps it there until that ends."""
        found = checkpoint.standing(connection, self._stamp, locked=locked)
        if found is None:
            gone = checkpoint.bearer(connection) is None
            raise ViewDamaged(self._stamp.name) if gone else ForeignView(self._stamp.name)
        return found

    def fold_campaign(self, connection: Connection, campaign: str, after: int, up_to: int) -> Iterator[int]:
        """Folds what happened to one campaign between two positions, a page at a time; where each page ended."""
        while True:
            page = self._log.entries(after, self._page, self._projection.reads, stream=campaign, up_to=up_to)
            if not page:
                return
            self._projection.fold(connection, page)
            after = page[-1].position
            yield after

    def has_entries(self, campaign: str) -> bool:
        """Whether the log holds events of the campaign that the view takes in."""
        reads = dict.fromkeys(self._projection.topics)
        return bool(self._log.entries(0, 1, reads, stream=campaign))

    def unpark(self) -> None:
        """Lets a parked view be tried again, and a failed one at once."""
        self._failure = None
        if self.standing().parked_at is not None:
            with self.place.writing() as connection:
                checkpoint.unpark(connection, self._stamp)
            self._standing = Standing(self.position)

    def raise_what_stops_it(self) -> None:
        """Raises what keeps it from going on, if anything does: the StoreFailure, or ViewParked."""
        if self._standing.parked_at is not None:
            raise ViewParked(self._stamp.name, self._standing.parked_at, str(self._standing.error))
        if isinstance(self.failure, StoreFailure):
            raise self.failure.with_traceback(None)

    def close(self) -> None:
        """Closes the view's place, after the page that is being folded."""
        with self._lock:
            self.place.close()

    def _stands_at(self, wanted: int) -> bool:
        with suppress(ViewBusy):
            return self.standing().position >= wanted
        return False

    def _give_up_if_failed(self, wanted: int, deadline: float) -> None:
        failure = self._failure
        if failure is not None and isinstance(failure.error, StoreFailure):
            raise failure.error.with_traceback(None)  # it is raised anew for each who waits
        if failure is not None and failure.retry_at > deadline:
            raise ViewBehind(self._stamp.name, self.position, wanted)

    def _attempt(self, up_to: int | None) -> bool:
        if self._failure is not None and monotonic() < self._failure.retry_at:
            return False
        try:
            moved = self._fold_page(up_to)
        except ViewBusy:
            return False
        except (ForeignView, ViewReplaced):
            raise
        except (StoreUnavailable, StoreDamaged, StoreReadOnly, StoreFull) as error:
            return self._failed(error)
        except Exception as error:  # noqa: BLE001  # whatever a fold raises stops this view, not the others
            return self._narrowed(error)
        self._failure = None
        self._limit = min(self._page, self._limit * 2)
        return moved

    def _fold_page(self, up_to: int | None) -> bool:
        """Folds what comes next. False when nothing does."""
        if self.standing().parked_at is not None:
            return False
        # In this order: another process may fold what was appended after we asked how long the log is.
        newest = self._log.max_position() if up_to is None else up_to
        self._newest = newest
        if newest < self.position and up_to is None:
            _logger.warning("log is shorter than the view", **self._named, position=self.position, newest=newest)
            self.place.reset()
            return True
        if newest <= self.position:
            return False
        self._fold_up_to(newest)
        return True

    def _fold_up_to(self, newest: int) -> None:
        """Folds a page. Others who are at this view wait meanwhile, rather than read the same page in vain."""
        with self.place.writing() as connection:
            before = self.standing_in(connection, locked=True)
            if before.position >= newest or before.parked_at is not None:
                return
            page = self._log.entries(before.position, self._limit, self._projection.reads, up_to=newest)
            to = page[-1].position if len(page) == self._limit else newest
            far_behind = before.position == 0 or newest - before.position > self._page
            target = newest if far_behind else before.target
            rate = self._pace.at(to) if target >= to else before.rate
            if not checkpoint.advance(connection, self._stamp, before.position, to, target=target, rate=rate):
                return
            if page:
                self._projection.fold(connection, page)
        self._standing = replace(before, position=to, target=target, rate=rate)

    def _narrowed(self, error: Exception) -> bool:
        """Tries the first half of the page, until the event that cannot be folded is alone."""
        if self._limit > 1:
            self._limit = max(1, self._limit // 2)
            return True
        attempts = self._failure.times + 1 if self._failure else 1
        if attempts >= ATTEMPTS or isinstance(error, LogDamaged | StoreNewer):  # which no other attempt would change
            return self._parked(error)
        return self._failed(error)

    def _failed(self, error: Exception) -> bool:
        times = self._failure.times + 1 if self._failure else 1
        delay = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(times - 1, 16))
        self._failure = _Failure(error, times, monotonic() + delay)
        # Not the error itself: its words and its frames may hold the text of a story.
        what = {"error": type(error).__name__, "at": place_of(error), "position": self.position, "retry_in": delay}
        _logger.error("view failed", **self._named, **what)
        return False

    def _parked(self, error: Exception) -> bool:
        """Gives the event up, for every process that follows: the rows up to there stand, and nothing is skipped."""
        at = self._log.next_position(self.position, self._projection.topics) or self.position
        raised = type(error).__name__
        with suppress(StoreFailure), self.place.writing() as connection:
            checkpoint.park(connection, self._stamp, self.position, at, raised)
        self._failure = None
        self._standing = Standing(self.position, parked_at=at, error=raised)
        _logger.error("view parked", **self._named, parked_at=at, error=raised, at=place_of(error))
        return False


def place_of(error: Exception) -> str:
    """File and line where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
