"""Which build of a view serves, and which is being built beside it: one row a view, so that one write swaps them."""

from dataclasses import dataclass

from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, bindparam, insert, select, update

from projections.projection import Stamp

metadata = MetaData()

generation = Table(
    "generation",
    metadata,
    Column("name", Text, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("serving", Integer, nullable=False),
    Column("building", Integer),
    Column("by", Text),
    Column("newest", Integer, nullable=False),
)

STAMP = Stamp("serving", 1, "")
"""The stamp of the place that holds this table. It holds no rows of the log's."""


@dataclass(frozen=True)
class Generations:
    """The builds of a view, by number: the one that serves, one being built, and the largest number ever given.

    `by` is the fingerprint of the code that the unfinished one is for.
    """

    serving: int = 0
    building: int | None = None
    by: str | None = None
    newest: int = 0


FIRST = Generations()
"""What stands while nothing was ever rebuilt."""

_OF_VIEW = (generation.c.name == bindparam("of")) & (generation.c.version == bindparam("in_version"))
_READ = select(generation.c.serving, generation.c.building, generation.c.by, generation.c.newest).where(_OF_VIEW)
_READ_LOCKED = _READ.with_for_update()
_BUILD = (
    update(generation)
    .where(_OF_VIEW)
    .values(building=bindparam("to_building"), by=bindparam("for_code"), newest=bindparam("to_building"))
)
_SWAP = (
    update(generation)
    .where(_OF_VIEW, generation.c.building == bindparam("built"))
    .values(serving=bindparam("built"), building=None, by=None)
)


def read(connection: Connection, stamp: Stamp) -> Generations:
    """The builds of a view."""
    row = connection.execute(_READ, _key(stamp)).one_or_none()
    return FIRST if row is None else Generations(*row)


def begin(connection: Connection, stamp: Stamp) -> tuple[int, bool]:
    """The build to work at, and whether it is a new one: what the same code began and did not finish is gone on with."""
    row = connection.execute(_READ_LOCKED, _key(stamp)).one_or_none()
    if row is None:
        connection.execute(insert(generation), {"name": stamp.name, "version": stamp.version, **vars(FIRST)})
    known = FIRST if row is None else Generations(*row)
    if known.building is not None and known.by == stamp.fingerprint:
        return known.building, False
    connection.execute(_BUILD, {**_key(stamp), "to_building": known.newest + 1, "for_code": stamp.fingerprint})
    return known.newest + 1, True


def swap(connection: Connection, stamp: Stamp, built: int) -> bool:
    """Lets the finished build serve. False when it is not the one being built: another was faster."""
    return connection.execute(_SWAP, {**_key(stamp), "built": built}).rowcount == 1


def _key(stamp: Stamp) -> dict[str, object]:
    return {"of": stamp.name, "in_version": stamp.version}
