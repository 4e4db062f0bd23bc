"""How fast a view is being built."""

from collections import deque
from time import monotonic

_PAGES = 20
"""Over how many pages it is reckoned: a few seconds of work."""


class Pace:
    """Positions a second, over the last pages."""

    def __init__(self) -> None:
        self._pages: deque[tuple[float, int]] = deque(maxlen=_PAGES)

    def at(self, position: int) -> float | None:
        """The pace, now that this position is reached; None while there is nothing to compare it with."""
        if self._pages and position < self._pages[-1][1]:
            self._pages.clear()
        self._pages.append((monotonic(), position))
        (began, first), (now, last) = self._pages[0], self._pages[-1]
        return round((last - first) / (now - began), 1) if now > began else None
