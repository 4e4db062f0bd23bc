"""The builds of one view that this process uses: the one that serves, and the one that is made beside it."""

from collections.abc import Callable
from threading import RLock
from time import monotonic

import structlog

from projections.engine.follower import Follower
from projections.engine.generations import Generations
from projections.engine.place import ForeignView, Storage
from projections.engine.source import Source
from projections.projection import Projection, stamp_of

LOOK_SECONDS = 0.5
"""How soon it is noticed that another process began a build, or finished one."""

_logger = structlog.get_logger(__name__)


class Builds:
    """Opens builds as they are needed, and others when those were replaced. Any thread may ask."""

    def __init__(self, storage: Storage, projection: Projection, log: Source, *, page: int) -> None:
        self._storage = storage
        self._projection = projection
        self._log = log
        self._page = page
        self._stamp = stamp_of(projection)
        self._lock = RLock()
        self._known: Generations | None = None
        self._looked_at = 0.0
        self._opened: dict[int, Follower] = {}
        self._was_ours = False
        self._belongs_to_others: int | None = None

    def known(self) -> Generations:
        """Which builds there are."""
        with self._lock:
            return self._look()

    def serving(self) -> Follower | None:
        """The build that serves; None while that is one of other code, beside which ours is to be built.

        Raises ForeignView when other code has taken the view over since this process first used it.
        """
        with self._lock:
            build = self._look().serving
            if build == self._belongs_to_others:
                return None
            return self._ours(build) if build not in self._opened else self._opened[build]

    def building(self) -> Follower | None:
        """The build that is made beside it, None without one."""
        with self._lock:
            known = self._look()
            if known.building is None or known.by != self._stamp.fingerprint:
                return None
            return self._follower(known.building)

    def begin(self) -> Follower | None:
        """The unfinished build, else a new one that is begun now; None when another process has finished it already."""
        with self._lock:
            begun = self._storage.begin(self._stamp)
            self.look_again()
            found = self.building()
            return found if found is not None and found is self._opened.get(begun) else None

    def swap(self, built: Follower) -> bool:
        """Lets a finished build serve, and removes the one that did. False when another process has done so."""
        with self._lock:
            number = next((build for build, follower in self._opened.items() if follower is built), None)
            old = self._look().serving
            swapped = number is not None and self._storage.swap(self._stamp, number)
            self.look_again()
            if swapped and old != number:
                gone = self._opened.pop(old, None) or self._made(old)
                gone.place.drop()
                self._storage.tidy(self._stamp)
            return swapped

    def take_over(self) -> None:
        """Leaves what serves to the other code that took it over, and has ours built beside it."""
        with self._lock:
            self._belongs_to_others = self._look().serving

    def tidy(self) -> None:
        """Removes what nothing will use again."""
        self._storage.tidy(self._stamp)

    def look_again(self) -> None:
        """Asks anew which builds there are, the next time that somebody needs one."""
        with self._lock:
            self._known = None

    def close(self) -> None:
        """Closes every place."""
        with self._lock:
            for follower in self._opened.values():
                follower.close()

    def _look(self) -> Generations:
        if self._known is None or monotonic() >= self._looked_at + LOOK_SECONDS:
            self._known = self._storage.generations(self._stamp)
            self._looked_at = monotonic()
            for build in self._opened.keys() - {self._known.serving, self._known.building}:
                self._opened.pop(build).close()
        return self._known

    def _ours(self, build: int) -> Follower | None:
        """The build that serves, opened; None when other code folded it, to which it is left."""
        follower = self._follower(build)
        try:
            follower.standing()
        except ForeignView:
            self._opened.pop(build).close()
            if self._was_ours:
                raise
            _logger.warning("view is of other code", view=self._stamp.name, version=self._stamp.version)
            self._belongs_to_others = build
            return None
        self._was_ours = True
        return follower

    def _follower(self, build: int) -> Follower:
        if build not in self._opened:
            self._opened[build] = self._made(build)
        return self._opened[build]

    def _made(self, build: int) -> Follower:
        place = self._storage.place(self._stamp, self._projection.tables, build, self._still(build))
        return Follower(place, self._projection, self._log, page=self._page)

    def _still(self, build: int) -> Callable[[], bool]:
        """Whether the build is one of today's, asked when its place is not there any more."""

        def stands() -> bool:
            known = self._storage.generations(self._stamp)
            return build in (known.serving, known.building) or build > known.newest

        return stands
