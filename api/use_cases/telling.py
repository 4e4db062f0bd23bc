"""A turn as it is being told: what has happened so far, and what is still to come, for any number of listeners."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from domain.errors import FabulaError


@dataclass(frozen=True)
class Accepted:
    """The turn was opened. `node` is the action that it tells, None when the narrator goes on by itself."""

    turn: str
    node: int | None


@dataclass(frozen=True)
class Delta:
    """A piece of the reply, as it arrived."""

    text: str


@dataclass(frozen=True)
class Done:
    """The narration was taken into the story. `answer` is the JSON answer."""

    answer: dict[str, Any]


@dataclass(frozen=True)
class Failed:
    """The turn ended without a narration."""

    error: FabulaError


Happening = Accepted | Delta | Done | Failed


@dataclass
class Telling:
    """One running or finished turn. It goes on whether anybody listens or not."""

    campaign: str
    turn: str
    happenings: list[Happening] = field(default_factory=list)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _over: bool = False

    @property
    def over(self) -> bool:
        """Whether its last happening has been told."""
        return self._over

    async def add(self, happening: Happening) -> None:
        """Tells all listeners. `Done` and `Failed` are the last."""
        async with self._changed:
            self.happenings.append(happening)
            self._over = isinstance(happening, Done | Failed)
            self._changed.notify_all()

    async def happening(self) -> AsyncIterator[Happening]:
        """Everything from the start, then what comes, until the turn is over."""
        told = 0
        while not self._over or told < len(self.happenings):
            for happening in await self._news(told):
                told += 1
                yield happening

    async def _news(self, told: int) -> list[Happening]:
        async with self._changed:
            await self._changed.wait_for(lambda: self._over or len(self.happenings) > told)
            return self.happenings[told:]

    async def answer(self) -> dict[str, Any]:
        """The JSON answer, when the turn is over. Raises the turn's error when it failed."""
        async for happening in self.happening():
            if isinstance(happening, Done):
                return happening.answer
            if isinstance(happening, Failed):
                raise happening.error
        raise AssertionError("a turn ends as done or failed")


def told_before(campaign: str, turn: str, answer: dict[str, Any]) -> Telling:
    """A finished turn, told again for a repeated request."""
    happenings: list[Happening] = [
        Accepted(turn, answer["player_node"]),
        Delta(answer["prose"]),
        Done(answer),
    ]
    return Telling(campaign, turn, happenings, _over=True)
