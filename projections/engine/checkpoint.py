"""How far a view has come, kept beside its rows so that both are committed together."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import (
    Column,
    Connection,
    Float,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    insert,
    select,
    update,
)

from projections.engine.failures import ViewDamaged
from projections.projection import Position, Stamp

metadata = MetaData()

checkpoint = Table(
    "checkpoint",
    metadata,
    Column("name", Text, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("position", Position, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("updated", Text, nullable=False),
    # Where it was to get to when it was last far behind, and how many positions a second it passed on its way.
    Column("target", Position, nullable=False),
    Column("rate", Float),
    # The event that it cannot take in, and the class of what the fold raised there; both none while it follows.
    Column("parked_at", Position),
    Column("error", Text),
    # sha256 over the rows as they stood when this was last compared with another build of them.
    Column("digest", Text),
)


@dataclass(frozen=True)
class Standing:
    """How far a view has come.

    `target` is where it was to get to when it was last far behind, `rate` how many positions a second it passed on its
    way. A view that is parked cannot take in the event at `parked_at`: `error` is the class of what was raised.
    """

    position: int
    target: int = 0
    rate: float | None = None
    parked_at: int | None = None
    error: str | None = None
    digest: str | None = None


_OF_STAMP = (
    (checkpoint.c.name == bindparam("of"))
    & (checkpoint.c.version == bindparam("in_version"))
    & (checkpoint.c.fingerprint == bindparam("by"))
)
_BEARER = select(checkpoint.c.name, checkpoint.c.version, checkpoint.c.fingerprint)
_STANDING = select(
    checkpoint.c.position,
    checkpoint.c.target,
    checkpoint.c.rate,
    checkpoint.c.parked_at,
    checkpoint.c.error,
    checkpoint.c.digest,
).where(_OF_STAMP)
_STANDING_LOCKED = _STANDING.with_for_update()
_ADVANCE = (
    update(checkpoint)
    .where(_OF_STAMP, checkpoint.c.position == bindparam("after"))
    .values(
        position=bindparam("to"), target=bindparam("to_target"), rate=bindparam("to_rate"), updated=bindparam("now")
    )
)
_PARK = (
    update(checkpoint)
    .where(_OF_STAMP, checkpoint.c.position == bindparam("after"))
    .values(parked_at=bindparam("at"), error=bindparam("raised"), updated=bindparam("now"))
)
_UNPARK = update(checkpoint).where(_OF_STAMP).values(parked_at=None, error=None)
_NOTE_DIGEST = update(checkpoint).where(_OF_STAMP).values(digest=bindparam("to_digest"))


def bearer(connection: Connection) -> Stamp | None:
    """Whose rows these are, None without a checkpoint that says it."""
    rows = connection.execute(_BEARER).all()
    return Stamp(*rows[0]) if len(rows) == 1 else None


def standing(connection: Connection, stamp: Stamp, *, locked: bool = False) -> Standing | None:
    """How far a view has come that this code folded, None for one that other code did.

    `locked` keeps it from moving until the transaction ends. Raises ViewDamaged for a checkpoint that is none.
    """
    rows = connection.execute(_STANDING_LOCKED if locked else _STANDING, _key(stamp)).all()
    if not rows:
        return None
    if len(rows) > 1 or not _is_sound(*rows[0][:3]):
        raise ViewDamaged(stamp.name)
    return Standing(*rows[0])


def _is_sound(position: object, target: object, rate: object) -> bool:
    """Whether these are what this module writes. SQLite keeps any kind of value in any column."""
    return (
        isinstance(position, int) and position >= 0 and isinstance(target, int) and isinstance(rate, float | int | None)
    )


def advance(
    connection: Connection, stamp: Stamp, after: int, to: int, *, target: int = 0, rate: float | None = None
) -> bool:
    """Moves the position from `after` to `to`. False when it is no longer there: another was faster."""
    step = {"after": after, "to": to, "to_target": target, "to_rate": rate, "now": _now()}
    return connection.execute(_ADVANCE, {**_key(stamp), **step}).rowcount == 1


def park(connection: Connection, stamp: Stamp, after: int, at: int, raised: str) -> bool:
    """Notes that the event at position `at` cannot be taken in. False when the view no longer stands at `after`."""
    parking = {"after": after, "at": at, "raised": raised, "now": _now()}
    return connection.execute(_PARK, {**_key(stamp), **parking}).rowcount == 1


def unpark(connection: Connection, stamp: Stamp) -> None:
    """Lets a parked view be tried again."""
    connection.execute(_UNPARK, _key(stamp))


def note_digest(connection: Connection, stamp: Stamp, digest: str) -> None:
    """Keeps what the rows came to when they were compared."""
    connection.execute(_NOTE_DIGEST, {**_key(stamp), "to_digest": digest})


def begin(connection: Connection, stamp: Stamp) -> None:
    """The first checkpoint of an empty view: position 0."""
    row = {"name": stamp.name, "version": stamp.version, "fingerprint": stamp.fingerprint}
    connection.execute(insert(checkpoint), {**row, "position": 0, "target": 0, "updated": _now()})


def _key(stamp: Stamp) -> dict[str, object]:
    return {"of": stamp.name, "in_version": stamp.version, "by": stamp.fingerprint}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
