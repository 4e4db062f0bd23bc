"""What a projection is. The engine knows no more of it than this."""

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from sqlalchemy import BigInteger, Connection, Integer, MetaData

from domain.event import DomainEvent, LogEntry, Reads

Position = BigInteger().with_variant(Integer, "sqlite")
"""The type of a column that holds a position of the log."""

Fold = Callable[[Connection, Sequence[LogEntry]], None]


@dataclass(frozen=True)
class Projection:
    """A view of the log.

    `fold` writes what a page of events changes; it meets every event of the topics in `reads` once, in order of position,
    and reads neither another view's tables nor the clock nor the network. Without any topics it meets every event, whole.
    A new `version` is for tables of another shape. Each table has a primary key, and a column `campaign` if its rows
    belong to one. `sources` names the modules whose code decides what the rows hold: when one changes, the view is built
    anew.
    """

    name: str
    version: int
    tables: MetaData
    reads: Reads
    fold: Fold
    sources: tuple[str, ...]

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of the events that the fold meets; of all, where there are none."""
        return tuple(self.reads)


def whole(*events: type[DomainEvent]) -> Reads:
    """Events that are read as they are."""
    return {event.topic: event for event in events}


@dataclass(frozen=True)
class Stamp:
    """Which code folded a view. One that does not match the code of today says nothing about the rows."""

    name: str
    version: int
    fingerprint: str


def stamp_of(projection: Projection) -> Stamp:
    """The stamp of today's code: its fingerprint is sha256 over the source of the projection's modules."""
    digest = hashlib.sha256()
    for source in projection.sources:
        digest.update(inspect.getsource(import_module(source)).encode())
    return Stamp(projection.name, projection.version, digest.hexdigest())
