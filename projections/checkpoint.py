"""How far a view has come, kept in its own file so that rows and position are committed together."""

from datetime import UTC, datetime

from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, bindparam, insert, select, update

from projections.projection import Stamp

metadata = MetaData()

checkpoint = Table(
    "checkpoint",
    metadata,
    Column("name", Text, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("updated", Text, nullable=False),
)

_THIS = (
    (checkpoint.c.name == bindparam("of"))
    & (checkpoint.c.version == bindparam("in_version"))
    & (checkpoint.c.fingerprint == bindparam("by"))
)
_STANDING = select(checkpoint.c.position).where(_THIS)
_ADVANCE = (
    update(checkpoint)
    .where(_THIS, checkpoint.c.position == bindparam("after"))
    .values(position=bindparam("to"), updated=bindparam("now"))
)


def standing(connection: Connection, stamp: Stamp) -> int | None:
    """The position of a view that this code folded, None for one that other code did."""
    position: int | None = connection.execute(_STANDING, _key(stamp)).scalar()
    return position


def advance(connection: Connection, stamp: Stamp, after: int, to: int) -> bool:
    """Moves the position from `after` to `to`. False when it is no longer there: another was faster."""
    moved = connection.execute(_ADVANCE, {**_key(stamp), "after": after, "to": to, "now": _now()})
    return moved.rowcount == 1


def begin(connection: Connection, stamp: Stamp) -> None:
    """The first checkpoint of an empty view: position 0."""
    connection.execute(
        insert(checkpoint),
        {
            "name": stamp.name,
            "version": stamp.version,
            "position": 0,
            "fingerprint": stamp.fingerprint,
            "updated": _now(),
        },
    )


def _key(stamp: Stamp) -> dict[str, object]:
    return {"of": stamp.name, "in_version": stamp.version, "by": stamp.fingerprint}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
