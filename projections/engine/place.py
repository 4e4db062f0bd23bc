"""Where one build of a view is kept, whatever kind of database that is."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection, MetaData

from domain.errors import FabulaError, StoreUnavailable
from projections.engine.generations import Generations
from projections.projection import Stamp


class Place(Protocol):
    """The tables of one build and its checkpoint, made when they are missing, empty and at position 0.

    Every method raises a StoreFailure when the place cannot be used; ForeignView when it bears rows of the same view that
    other code folded, and ViewReplaced when it is gone because another build serves now.
    """

    def writing(self) -> AbstractContextManager[Connection]:
        """One transaction that may write, committed at the end and rolled back by an exception."""
        ...

    def reading(self) -> AbstractContextManager[Connection]:
        """One transaction that cannot write and sees one state of the view."""
        ...

    def reset(self, *, asked_for: bool = False) -> None:
        """Empties the view in one transaction: no rows, position 0. What somebody asked for is no warning."""
        ...

    def close(self) -> None:
        """Closes every connection. The next use opens them again."""
        ...

    def drop(self) -> None:
        """Closes it, and removes it with all that it holds."""
        ...


class Storage(Protocol):
    """Where the views of a store are kept: each build in a place of its own. Every method raises a StoreFailure."""

    def place(self, stamp: Stamp, tables: MetaData, build: int, stands: Callable[[], bool]) -> Place:
        """Where this build of a view is kept. `stands` says whether the build is still wanted, when it was removed."""
        ...

    def scratch(self, stamp: Stamp, tables: MetaData) -> Place:
        """A place that nobody else uses, for as long as the program runs. Whoever asked for it drops it."""
        ...

    def generations(self, stamp: Stamp) -> Generations:
        """Which build of a view serves, and which is being built."""
        ...

    def begin(self, stamp: Stamp) -> int:
        """The build to work at from now on: the unfinished one, or a new and empty one."""
        ...

    def swap(self, stamp: Stamp, built: int) -> bool:
        """Lets a finished build serve. False when it is not the one being built any more."""
        ...

    def tidy(self, stamp: Stamp) -> None:
        """Removes the builds of this view that nothing will use again, those of older versions included."""
        ...

    def close(self) -> None:
        """Closes every connection."""
        ...


class ForeignView(StoreUnavailable):
    """Other code folded the rows that stand there. They are left to it."""

    def __init__(self, name: str) -> None:
        FabulaError.__init__(
            self,
            f"Another version of the program has taken over the view {name!r}. Start this program again in the version that is "
            f"wanted; or `fabula rebuild {name}` makes the view its own.",
        )


class ViewReplaced(StoreUnavailable):
    """Another build of the view serves now."""

    def __init__(self, where: str) -> None:
        super().__init__(f"the view at {where} was replaced by a new build")
