"""What differs between the databases that a log may be kept in."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection, Engine

from adapters.event_log.prepared import Parameters


class Ears(Protocol):
    """Hears what other processes append."""

    def close(self) -> None:
        """Hears nothing any more."""
        ...


class Database(Protocol):
    """A place for one store. `str` names it to people, without a secret."""

    def writing_engine(self) -> Engine:
        """An engine with one connection, whose transactions keep out all other writers from their beginning on."""
        ...

    def reading_engine(self) -> Engine:
        """An engine whose connections cannot write; each transaction sees one state of the store."""
        ...

    def explained(self) -> AbstractContextManager[None]:
        """Turns the database's errors into a StoreFailure that says what to do."""
        ...

    def holds_a_store(self) -> bool:
        """Whether there is a store already. Makes none, and nothing else. Raises a StoreFailure."""
        ...

    def prepare(self, connection: Connection) -> None:
        """Makes what this database needs besides the tables of every log, in the transaction that opens the store."""
        ...

    def must_stand(self) -> None:
        """Raises StoreReplaced when this is no longer the store that was opened."""
        ...

    def insert(self, connection: Connection, rows: Sequence[Parameters]) -> list[int]:
        """Adds events, at least one. Their positions, which grow in the order in which transactions are committed."""
        ...

    def positions_given(self, connection: Connection) -> int:
        """The newest position that was ever given, whether or not its event is still there; 0 without any."""
        ...

    def ears(self, announce: Callable[[], None]) -> Ears | None:
        """Calls `announce` for what other processes append, and once as it begins to hear. None where nothing is heard."""
        ...
