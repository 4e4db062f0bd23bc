"""What the domain needs of the world. Adapters implement these; tests have fakes that keep the same promises."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from domain.prompt.events import Mode, Window


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The time, in UTC."""
        ...


class IdSource(Protocol):
    """Makes names that were never given before."""

    def new(self, prefix: str) -> str:
        """`prefix`, an underscore and ten lower-case base32 characters."""
        ...


class TokenCounter(Protocol):
    """Counts text as a tokenizer does."""

    def count(self, text: str) -> int:
        """How many tokens the text has. Special tokens in it are counted as the plain text that they are."""
        ...

    def tail(self, text: str, tokens: int) -> str:
        """The longest end of the text that has at most so many tokens and begins at a character."""
        ...


@dataclass(frozen=True)
class Usage:
    """What a server said it read and wrote, in tokens; None where it said nothing usable."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True)
class Said:
    """A piece of the reply, or of the reasoning before it, as it arrived."""

    text: str = ""
    reasoning: str = ""


@dataclass(frozen=True)
class Ended:
    """The end of a reply. `finish_reason` is the server's own word, None where the server never gives one."""

    finish_reason: str | None
    usage: Usage


@dataclass(frozen=True)
class NarratorRequest:
    """One request to a model server: these bytes, to the mode's path below this endpoint."""

    endpoint: str
    mode: Mode
    body: bytes
    timeout_seconds: float


class Narrator(Protocol):
    """A model server that tells the story."""

    def stream(self, request: NarratorRequest) -> AsyncIterator[Said | Ended]:
        """The reply as it arrives: any number of `Said`, then one `Ended`.

        Raises a ModelFailure (unreachable, refused, incomplete, timeout) or EndpointRefused. Closing the iterator
        closes the connection.
        """
        ...

    async def models(self, endpoint: str) -> Sequence[str]:
        """The names of the models that the server offers. Raises as `stream` does."""
        ...


class WindowProbe(Protocol):
    """Asks a server how much it will read."""

    async def window(self, endpoint: str, model: str) -> Window:
        """The window that the server enforces; unknown, with the reason, when it does not say. Never raises."""
        ...

    def forget(self, endpoint: str, model: str) -> None:
        """Drop what was remembered: the server contradicted it."""
        ...


class Liveness(Protocol):
    """Tells whether the process that owns a turn still lives."""

    @property
    def name(self) -> str:
        """The name that this process gives its open turns."""
        ...

    def is_dead(self, owner: str) -> bool:
        """Whether the owner of this name is proved to be dead. A live owner, this process included, is not."""
        ...
