"""One view of the log: the build that serves, and the build that is made beside it to take its place.

A build that serves goes on serving until another is finished; then one row is changed, and the old build is removed. Who
still reads it finds it gone, asks which build serves, and reads that. Several processes may work at one build, since each
page is folded once; whoever finishes it swaps, once. A build that nobody finished, because its process was killed, is
gone on with by the next that looks.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Literal, TypeVar
from weakref import WeakKeyDictionary

import structlog
from sqlalchemy import Connection

from domain.errors import ViewBehind
from projections.engine.builds import Builds
from projections.engine.checkpoint import Standing
from projections.engine.comparison import Difference
from projections.engine.failures import ViewBusy, ViewDamaged
from projections.engine.follower import Follower, place_of
from projections.engine.generations import Generations
from projections.engine.place import ForeignView, Storage, ViewReplaced
from projections.engine.rebuilding import Progress, campaign_anew, differ, first_difference_of
from projections.engine.source import Source
from projections.projection import Projection

_PAUSE = 0.02
_PATIENCE = 10.0
"""Seconds that a check, or a rebuild of one campaign, waits until there is something that serves."""

State = Literal["current", "behind", "rebuilding", "parked", "failed"]
_Result = TypeVar("_Result")

_logger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class BuildStatus:
    """A build beside the one that serves, on its way to `target`.

    `events_per_second` and `seconds_left` are None until they can be told. A build that cannot take in an event is parked
    at it; what served goes on serving.
    """

    position: int
    target: int
    events_per_second: float | None
    seconds_left: float | None
    parked_at: int | None
    error: str | None


@dataclass(frozen=True)
class ViewStatus:
    """How a view stands.

    `lag` is the number of log positions it has yet to pass. A `parked` view cannot take in the event at `parked_at`; a
    `failed` one is kept from going on by something else, and is tried again: `error` is the class of what was raised. The
    rows up to `position` stand. The state is `rebuilding` while nothing that is complete serves; the field of that name is
    a build beside the one that serves.
    """

    name: str
    version: int
    position: int
    lag: int
    state: State
    error: str | None = None
    parked_at: int | None = None
    rebuilding: BuildStatus | None = None


@dataclass(frozen=True)
class Rebuilt:
    """A build that serves now. `differed` says whether its rows were others than those before, at an equal position;
    None where that could not be compared, because other code had folded those or they were behind.
    """

    name: str
    position: int
    differed: bool | None


class View:
    """A view as the engine keeps it. Threads and processes may use one view at once."""

    def __init__(self, storage: Storage, projection: Projection, log: Source, *, page: int) -> None:
        self._projection = projection
        self._storage = storage
        self._log = log
        self._page = page
        self._builds = Builds(storage, projection, log, page=page)
        self._error: Exception | None = None
        self._standing = Standing(0)
        self._tidied_for: Generations | None = None
        self._rebuilt: WeakKeyDictionary[Follower, Rebuilt] = WeakKeyDictionary()

    @property
    def name(self) -> str:
        """The name of the view."""
        return self._projection.name

    def step(self) -> bool:
        """Folds a page of the build that serves and one of the build beside it. False when there is nothing to do now.

        Never raises: what fails is kept for `status`, `reach` and `reading`.
        """
        try:
            serving = self._serving_or_begun()
            moved = serving is not None and serving.step()
            moved = self._step_building() or moved
            self._tidy_once(busy=moved)
        except ViewReplaced:
            self._builds.look_again()
            return True
        except ViewBusy:
            return False
        except Exception as error:  # noqa: BLE001  # what stops this view does not stop the thread that follows for all
            return self._stopped(error)
        self._error = None
        return moved

    def reach(self, wanted: int, deadline: float) -> None:
        """Returns when what serves stands at `wanted` or beyond.

        Raises the StoreFailure that keeps it from there, else ViewBehind at the deadline (monotonic seconds).
        """
        self._in_time(wanted, deadline, lambda serving: serving.reach(wanted, deadline))

    @contextmanager
    def reading(self, wanted: int, deadline: float) -> Iterator[Connection]:
        """A transaction over the rows at `wanted` or beyond. Raises as `reach` does."""
        with ExitStack() as stack:
            yield self._in_time(
                wanted, deadline, lambda serving: stack.enter_context(serving.reading(wanted, deadline))
            )

    def begin(self) -> None:
        """Begins a build, or lets a parked one be tried again, and leaves it to whoever follows the log."""
        building = self._builds.begin()
        if building is not None:
            building.unpark()

    def rebuild(self, progress: Progress) -> Rebuilt:
        """Builds the view anew beside the one that serves, and swaps them. What was begun and left is gone on with.

        Raises what keeps it from there; then what serves goes on serving, and the build can be gone on with.
        """
        target = self._log.max_position()
        serving = self._serving_or_taken_over()
        if serving is not None and serving.standing().position == 0 and self._builds.building() is None:
            return self._filled(serving, target, progress)  # nothing serves yet, so nothing is built beside it
        building = self._builds.begin()
        if building is not None:
            building.unpark()
        while building is not None and self._builds.building() is building:
            progress(min(building.position, target), target)
            if not self._step_building():
                building.raise_what_stops_it()
                sleep(_PAUSE)
        self.reach(target, monotonic() + _PATIENCE)  # where another process finished it
        progress(target, target)
        outcome = self._rebuilt.get(building) if building is not None else None
        return outcome or Rebuilt(self.name, target, None)

    def rebuild_campaign(self, campaign: str, progress: Progress) -> None:
        """Builds the rows of one campaign anew, and puts them in the place of those that serve, in one transaction."""

        def anew(serving: Follower) -> None:
            scratch = self._storage.scratch(serving.stamp, self._projection.tables)
            try:
                campaign_anew(serving, scratch, campaign, progress)
            finally:
                scratch.drop()

        self._in_time(self._log.max_position(), monotonic() + _PATIENCE, anew)

    def check(self, progress: Progress) -> Difference | None:
        """The first row that is not what a rebuild makes of the log; None when there is none. Changes nothing."""

        def differing(serving: Follower) -> Difference | None:
            scratch = self._storage.scratch(serving.stamp, self._projection.tables)
            try:
                again = Follower(scratch, self._projection, self._log, page=self._page)
                return first_difference_of(serving, again, progress)
            finally:
                scratch.drop()

        return self._in_time(self._log.max_position(), monotonic() + _PATIENCE, differing)

    def unpark(self) -> None:
        """Lets a parked view, and a parked build of it, be tried again. What cannot be asked now stays as it is."""
        try:
            for follower in (self._builds.serving(), self._builds.building()):
                if follower is not None:
                    follower.unpark()
        except Exception as error:  # noqa: BLE001  # it is met again with the first page
            self._stopped(error)

    def status(self, newest: int) -> ViewStatus:
        """How the view stands, in a log with this newest position. Never raises."""
        serving: Follower | None = None
        error: Exception | None = None
        building: BuildStatus | None = None
        try:
            serving = self._builds.serving()
            self._standing = serving.standing() if serving is not None else Standing(0)
            error = self._error or (serving.failure if serving is not None else None)
            building = _build_status(self._builds.building(), newest)
        except (ViewBusy, ViewReplaced):  # it is being made, or exchanged, at this moment
            serving = None
        except Exception as failure:  # noqa: BLE001  # told as the reason why it does not go on
            error = failure
        return self._told(newest, error, building, served=serving is not None)

    def close(self) -> None:
        """Closes every place, after the page that is being folded."""
        self._builds.close()

    def _told(self, newest: int, error: Exception | None, building: BuildStatus | None, *, served: bool) -> ViewStatus:
        standing = self._standing
        lag = max(0, newest - standing.position)
        raised = standing.error if error is None else type(error).__name__
        return ViewStatus(
            name=self.name,
            version=self._projection.version,
            position=standing.position,
            lag=lag,
            state=_state(standing, lag, error, served=served),
            error=raised,
            parked_at=standing.parked_at,
            rebuilding=building,
        )

    def _in_time(self, wanted: int, deadline: float, action: Callable[[Follower], _Result]) -> _Result:
        """What the action comes to on the build that serves, once there is one, whichever it is by then."""
        serving: Follower | None = None
        while True:
            with suppress(ViewReplaced, ViewBusy):
                serving = self._serving_or_begun()
                if serving is not None:
                    return action(serving)
            if serving is not None:
                self._builds.look_again()
            if not self._step_building():
                sleep(_PAUSE)
            if monotonic() >= deadline:
                raise ViewBehind(self.name, serving.position if serving else 0, wanted, self._parked_beside(serving))

    def _serving_or_begun(self) -> Follower | None:
        """What serves. Where other code folded that, ours is begun beside it."""
        serving = self._builds.serving()
        if serving is None and self._builds.building() is None:
            self._builds.begin()
        return serving

    def _serving_or_taken_over(self) -> Follower | None:
        """What serves. What other code has taken over meanwhile is taken back by building ours beside it."""
        try:
            serving = self._builds.serving()
            if serving is not None:
                with suppress(ViewDamaged):  # it is thrown away by that
                    serving.standing()
        except ForeignView:
            self._builds.take_over()
            self._error = None
            return None
        return serving

    def _filled(self, serving: Follower, target: int, progress: Progress) -> Rebuilt:
        serving.unpark()
        while serving.position < target:
            progress(serving.position, target)
            if not serving.step(wait=_PAUSE):
                serving.standing()
                serving.raise_what_stops_it()
                sleep(_PAUSE)
        progress(target, target)
        return Rebuilt(self.name, serving.position, None)

    def _stopped(self, error: Exception) -> bool:
        """Keeps what stopped it, and logs it once. Not the error's words and frames, which may hold the text of a story."""
        if type(error) is not type(self._error):
            _logger.error("view stopped", view=self.name, error=type(error).__name__, at=place_of(error))
        self._error = error
        return False

    def _parked_beside(self, serving: Follower | None) -> int | None:
        """Where the build is parked that is to serve, while nothing else does."""
        building = self._builds.building() if serving is None else None
        return building.standing().parked_at if building is not None else None

    def _step_building(self) -> bool:
        """Folds a page of the build beside, and lets it serve when it is finished. False when there is nothing to do."""
        building = self._builds.building()
        if building is None:
            return False
        try:
            moved = building.step()
            return (self._is_finished(building) and self._swapped(building)) or moved
        except ViewReplaced:  # another process was faster
            self._builds.look_again()
            return True
        except ViewBusy:
            return False

    def _is_finished(self, building: Follower) -> bool:
        """Whether it has come as far as the log went when it was last folded, and as far as what serves."""
        standing = building.standing()
        if building.failure is not None or standing.parked_at is not None or standing.position < building.newest:
            return False
        serving = self._builds.serving()
        return serving is None or standing.position >= serving.standing().position

    def _swapped(self, building: Follower) -> bool:
        serving = self._builds.serving()
        differed = None if serving is None else differ(serving, building)
        if not self._builds.swap(building):
            return True  # another process did
        self._rebuilt[building] = Rebuilt(self.name, building.position, differed)
        _logger.info("view rebuilt", view=self.name, position=building.position, differed=differed)
        return True

    def _tidy_once(self, *, busy: bool) -> None:
        """Once after each change of builds: whoever swapped them may have been killed before it removed the old one."""
        known = self._builds.known()
        if not busy and known != self._tidied_for and self._error is None:
            self._builds.tidy()
            self._tidied_for = known


def _state(standing: Standing, lag: int, error: Exception | None, *, served: bool) -> State:
    if error is not None:
        return "failed"
    if standing.parked_at is not None:
        return "parked"
    if not served or standing.position < standing.target:
        return "rebuilding"
    return "behind" if lag else "current"


def _build_status(building: Follower | None, newest: int) -> BuildStatus | None:
    if building is None:
        return None
    standing = building.standing()
    target = standing.target or newest
    left = max(0, target - standing.position)
    return BuildStatus(
        position=standing.position,
        target=target,
        events_per_second=standing.rate,
        seconds_left=round(left / standing.rate, 1) if standing.rate else None,
        parked_at=standing.parked_at,
        error=standing.error or (type(building.failure).__name__ if building.failure else None),
    )
