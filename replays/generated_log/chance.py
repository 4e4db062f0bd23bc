"""Where chance, names and time come from: a seed, so that the same is made each time."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TypeVar

_Choice = TypeVar("_Choice")

_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
_FIRST_DAY = datetime(2026, 1, 1, 18, tzinfo=UTC)


class Dice:
    """Chance out of a seed. Dice for different purposes do not disturb each other: more throws of one change no other."""

    def __init__(self, seed: int, purpose: str) -> None:
        self._random = Random(f"{seed} {purpose}")  # noqa: S311  # a story is to be the same each time, not a secret
        self.choice = self._random.choice
        self.whole = self._random.randint
        self.between = self._random.uniform

    def happens(self, probability: float) -> bool:
        """Whether something happens that does so often."""
        return self._random.random() < probability

    def weighed(self, weights: Mapping[_Choice, float]) -> _Choice:
        """One of these, each as often as its weight says."""
        return self._random.choices(tuple(weights), tuple(weights.values()))[0]

    def letters(self, of: str, number: int) -> str:
        """So many of these, one as likely as another."""
        return "".join(self._random.choices(of, k=number))

    def around(self, mean: float, spread: float) -> float:
        """A positive number, on average the mean: most are below it, few far above. The larger the spread, the farther."""
        return mean * self._random.lognormvariate(-spread * spread / 2, spread)


class SeededNames:
    """Names out of a seed. Those of different purposes do not disturb each other, and are never the same."""

    def __init__(self, seed: int, purpose: str) -> None:
        self._dice = Dice(seed, f"names of {purpose}")

    def new(self, prefix: str) -> str:
        """`prefix`, an underscore and ten lower-case base32 characters."""
        return f"{prefix}_{self._dice.letters(_BASE32, 10)}"


class StoryTime:
    """A clock that stands still until time is let pass."""

    def __init__(self) -> None:
        self._now = _FIRST_DAY

    def now(self) -> datetime:
        """The time, in UTC."""
        return self._now

    def passes(self, seconds: float) -> None:
        """Lets time pass."""
        self._now += timedelta(seconds=seconds)
