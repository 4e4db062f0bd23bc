"""The log, as far as the views need it."""

from collections.abc import Sequence
from threading import Event
from typing import Protocol

from domain.event import LogEntry, Reads


class Source(Protocol):
    """Where the events come from. Positions only grow; they have gaps where a campaign was deleted."""

    def entries(
        self, after: int, limit: int, reads: Reads, *, stream: str | None = None, up_to: int | None = None
    ) -> Sequence[LogEntry]:
        """The events of these topics (of all, whole, without any) after a position, in order of position.

        Those of one `stream` alone, and up to a position, where that is asked. Raises LogDamaged at an event that cannot be
        read, StoreNewer at one of a newer program.
        """
        ...

    def next_position(self, after: int, topics: Sequence[str]) -> int | None:
        """The position of the first event of these topics (of all, without any) after a position, None without one."""
        ...

    def max_position(self) -> int:
        """The newest position, 0 in an empty log."""
        ...

    def listen(self, listener: Event) -> None:
        """Sets the listener whenever something was appended: by this process at least."""
        ...
