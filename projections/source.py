"""The log, as far as the views need it."""

from collections.abc import Sequence
from threading import Event
from typing import Protocol

from domain.event import Recorded


class Source(Protocol):
    """Where the events come from. Positions only grow; they have gaps where a campaign was deleted."""

    def read(self, after: int, limit: int, *, topics: Sequence[str] = ()) -> Sequence[Recorded]:
        """The events of these topics (of all, without any) after a position, in order of position."""
        ...

    def max_position(self) -> int:
        """The newest position, 0 in an empty log."""
        ...

    def listen(self, listener: Event) -> None:
        """Sets the listener whenever this process appended something."""
        ...
