"""A clock and names that a test can foretell."""

from datetime import UTC, datetime, timedelta
from itertools import count

_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"


class TickingClock:
    """Each look at it is a millisecond after the one before."""

    def __init__(self, first: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._next = first

    def now(self) -> datetime:
        """The time, in UTC."""
        now, self._next = self._next, self._next + timedelta(milliseconds=1)
        return now


class NumberedNames:
    """Names in order: the number of the name, in ten letters of base32."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def new(self, prefix: str) -> str:
        """`prefix`, an underscore and ten lower-case base32 characters."""
        number, letters = next(self._numbers), ""
        for _ in range(10):
            number, digit = divmod(number, len(_BASE32))
            letters = _BASE32[digit] + letters
        return f"{prefix}_{letters}"
