"""The views of a store in a PostgreSQL database: a schema a build, beside the log or in a database of their own."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from secrets import token_hex
from time import time
from typing import TypeVar

import structlog
from sqlalchemy import Connection, MetaData, text

from projections.engine import generations
from projections.engine.failures import ViewBusy
from projections.engine.file_storage import SCRATCH_SECONDS
from projections.engine.generations import Generations
from projections.engine.place import Place
from projections.engine.postgresql import Database, ViewConnections
from projections.engine.view_schema import ViewSchema, dropped
from projections.projection import Stamp

_SERVING = "fabula_views"
"""The schema that holds which build of each view serves."""

_SCHEMA = re.compile(r"fabula_view_(?P<name>.+)_v(?P<version>\d+)_(?:g(?P<build>\d+)|scratch_(?P<since>\d+)_[0-9a-f]+)")

_Result = TypeVar("_Result")

_logger = structlog.get_logger(__name__)


class DatabaseStorage:
    """A `Storage`: the schema `fabula_view_<name>_v<version>_g<build>` for each build of a view.

    Which of them serves stands in the schema `fabula_views`. All of these may be dropped at any time.
    """

    def __init__(self, database: Database) -> None:
        self._connections = ViewConnections(database)
        self._serving = ViewSchema(self._connections, _SERVING, generations.STAMP, generations.metadata)

    def place(self, stamp: Stamp, tables: MetaData, build: int, stands: Callable[[], bool]) -> Place:
        """See Storage."""
        return ViewSchema(self._connections, _schema(stamp, f"g{build}"), stamp, tables, stands)

    def scratch(self, stamp: Stamp, tables: MetaData) -> Place:
        """See Storage."""
        return ViewSchema(self._connections, _schema(stamp, f"scratch_{time():.0f}_{token_hex(4)}"), stamp, tables)

    def generations(self, stamp: Stamp) -> Generations:
        """See Storage."""
        return self._asked(lambda connection: generations.read(connection, stamp))

    def begin(self, stamp: Stamp) -> int:
        """See Storage."""

        def begun(connection: Connection) -> int:
            build, new = generations.begin(connection, stamp)
            if new:  # a schema of this number, if any, is from before `fabula_views` was dropped
                dropped(connection, _schema(stamp, f"g{build}"))
            return build

        return self._asked(begun, write=True)

    def swap(self, stamp: Stamp, built: int) -> bool:
        """See Storage."""
        return self._asked(lambda connection: generations.swap(connection, stamp, built), write=True)

    def tidy(self, stamp: Stamp) -> None:
        """See Storage."""
        known = self.generations(stamp)
        with self._connections.writing(_SERVING) as connection:
            for name in connection.execute(text("SELECT nspname FROM pg_namespace")).scalars().all():
                if _is_left_over(name, stamp, known):
                    _logger.info("view schema is no longer used", view=stamp.name, schema=name)
                    dropped(connection, name)

    def close(self) -> None:
        """See Storage."""
        self._connections.close()

    def _asked(self, ask: Callable[[Connection], _Result], *, write: bool = False) -> _Result:
        """The answer of `fabula_views`, which is made again when it was dropped."""
        with suppress(ViewBusy), self._place(write=write) as connection:
            return ask(connection)
        with self._place(write=write) as connection:
            return ask(connection)

    def _place(self, *, write: bool) -> AbstractContextManager[Connection]:
        return self._serving.writing(alone=True) if write else self._serving.reading()


def _schema(stamp: Stamp, build: str) -> str:
    return f"fabula_view_{stamp.name}_v{stamp.version}_{build}"


def _is_left_over(schema: str, stamp: Stamp, known: Generations) -> bool:
    """Whether a schema is one that no program of this or a newer version will use."""
    named = _SCHEMA.fullmatch(schema)
    if named is None or named["name"] != stamp.name or int(named["version"]) > stamp.version:
        return False
    if named["since"] is not None:
        return int(named["since"]) < time() - SCRATCH_SECONDS
    build = int(named["build"])
    return int(named["version"]) < stamp.version or (
        build not in (known.serving, known.building) and build <= known.newest
    )
