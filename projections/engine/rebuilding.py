"""What is done with two builds of one view: comparing them, and putting the rows of one into the other."""

from collections import deque
from collections.abc import Callable, Iterator
from time import sleep

import structlog
from sqlalchemy import Connection, Table, delete, select

from projections.engine import checkpoint
from projections.engine.comparison import Difference, first_difference
from projections.engine.digest import digest_of
from projections.engine.follower import Follower
from projections.engine.place import Place
from projections.rows import RowWriter

Progress = Callable[[int, int], None]
"""Told how far a rebuild has come: (position, target)."""

NEAR = 1000
"""How many positions the build that serves may be behind the other to be brought to its place for a comparison."""

_TRIES = 3
_PAUSE = 0.02
_ROWS_AT_ONCE = 500

_logger = structlog.get_logger(__name__)


def differ(serving: Follower, building: Follower) -> bool | None:
    """Whether two builds hold other rows at one position; None when they are far apart, or cannot be read."""
    try:
        return _differ(serving, building)
    except Exception as error:  # noqa: BLE001  # however the old one comes to be unreadable: it is replaced all the more
        _logger.warning("views could not be compared", view=serving.stamp.name, error=type(error).__name__)
        return None


def _differ(serving: Follower, building: Follower) -> bool | None:
    if serving.standing().position < building.position - NEAR:
        return None
    for _ in range(_TRIES):
        while serving.position < building.position and serving.step():
            pass
        with serving.place.reading() as old:
            position = serving.standing_in(old).position
            if _brought_to(building, position):
                with building.place.reading() as new:
                    if building.standing_in(new).position == position:
                        return _noted(building, digest_of(new, building.tables)) != digest_of(old, serving.tables)
    return None


def first_difference_of(serving: Follower, again: Follower, progress: Progress) -> Difference | None:
    """The first row of a view that another build of it, which is made for this, has not as it is.

    The view is brought up to the log first, as far as it comes: of one whose rows were deleted a moment ago, to be empty is
    no agreement. Raises what keeps the other build from being made.
    """
    while serving.step():
        pass
    target = serving.standing().position
    while again.position < target:
        progress(again.position, target)
        if not again.step(up_to=target):
            again.raise_what_stops_it()
            sleep(_PAUSE)
    progress(target, target)
    found = None
    for _ in range(_TRIES):
        with serving.place.reading() as stored:
            position = serving.standing_in(stored).position
            if not _brought_to(again, position):
                again.raise_what_stops_it()
            with again.place.reading() as rebuilt:
                found = first_difference(stored, rebuilt, serving.tables, position)
        if found is None:
            return None
        # A campaign that was deleted meanwhile is gone from the log, and not yet from the state of the view that was read.
        while serving.step():
            pass
    return found


def campaign_anew(serving: Follower, scratch: Place, campaign: str, progress: Progress) -> None:
    """Folds one campaign from its beginning into an empty place, and then puts those rows in the place of the old ones.

    What serves is locked only while the rows are exchanged. Of a campaign that was deleted meanwhile nothing is put there.
    """
    target = serving.standing().position
    reached = 0
    with scratch.writing() as connection:
        for reached in serving.fold_campaign(connection, campaign, 0, target):
            progress(reached, target)
    with serving.place.writing() as served:
        position = serving.standing_in(served, locked=True).position
        with scratch.writing() as connection:
            deque(serving.fold_campaign(connection, campaign, reached, position), maxlen=0)
        tables = [table for table in serving.tables.sorted_tables if "campaign" in table.columns]
        for table in tables:
            served.execute(delete(table).where(table.c.campaign == campaign))
        # Its deletion is told in another stream. One that comes after this question, the view has yet to take in.
        if serving.has_entries(campaign):
            for table in tables:
                _copied(scratch, served, table)
    progress(target, target)


def _copied(scratch: Place, served: Connection, table: Table) -> None:
    writer = RowWriter(table)
    with scratch.reading() as connection:
        for rows in _pages(connection, table):
            writer.add(served, rows)


def _pages(connection: Connection, table: Table) -> Iterator[list[dict[str, object]]]:
    rows = connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(select(table)).mappings()
    for page in rows.partitions(_ROWS_AT_ONCE):
        yield [dict(row) for row in page]


def _brought_to(follower: Follower, position: int) -> bool:
    """Whether the build stands at the position, brought there where it was behind."""
    while follower.standing().position < position and follower.step(up_to=position):
        pass
    return follower.position == position


def _noted(building: Follower, digest: str) -> str:
    with building.place.writing() as connection:
        checkpoint.note_digest(connection, building.stamp, digest)
    return digest
