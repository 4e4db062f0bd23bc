"""The views of a store as SQLite files in one directory: a file a build."""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from time import time

import structlog
from sqlalchemy import MetaData

from projections.engine import generations
from projections.engine.generations import FIRST, Generations
from projections.engine.place import Place
from projections.engine.view_file import ViewFile
from projections.projection import Stamp

SCRATCH_SECONDS = 86_400
"""How old a scratch file is before nobody can be at it any more: a program that was killed left it there."""

_FILE = re.compile(r"(?P<name>.+)\.v(?P<version>\d+)(?:\.g(?P<build>\d+)|\.scratch-(?P<since>\d+)-[0-9a-f]+)?\.db")

_logger = structlog.get_logger(__name__)


class FileStorage:
    """A `Storage`: `<name>.v<version>.db` for the first build of a view, `<name>.v<version>.g<build>.db` for later ones.

    Which of them serves stands in `serving.db`, which is there from the first rebuild on. The directory is made when it
    is missing, and may be deleted at any time.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._serving_path = directory / "serving.db"
        self._serving = ViewFile(self._serving_path, generations.STAMP, generations.metadata)

    def place(self, stamp: Stamp, tables: MetaData, build: int, stands: Callable[[], bool]) -> Place:
        """See Storage."""
        return ViewFile(self._path(stamp, build), stamp, tables, stands)

    def scratch(self, stamp: Stamp, tables: MetaData) -> Place:
        """See Storage."""
        name = f"{stamp.name}.v{stamp.version}.scratch-{time():.0f}-{token_hex(4)}.db"
        return ViewFile(self._directory / name, stamp, tables)

    def generations(self, stamp: Stamp) -> Generations:
        """See Storage."""
        if not self._serving_path.exists():
            return FIRST
        with self._serving.reading() as connection:
            return generations.read(connection, stamp)

    def begin(self, stamp: Stamp) -> int:
        """See Storage."""
        with self._serving.writing() as connection:
            build, new = generations.begin(connection, stamp)
            if new:  # a file of this number, if any, is from before `serving.db` was deleted
                ViewFile(self._path(stamp, build), stamp, MetaData()).drop()
        return build

    def swap(self, stamp: Stamp, built: int) -> bool:
        """See Storage."""
        with self._serving.writing() as connection:
            return generations.swap(connection, stamp, built)

    def tidy(self, stamp: Stamp) -> None:
        """See Storage."""
        known = self.generations(stamp)
        for path in self._directory.glob(f"{stamp.name}.v*.db"):
            if _is_left_over(path, stamp, known):
                _logger.info("view file is no longer used", view=stamp.name, file=path.name)
                with suppress(OSError):  # in a store that has become read-only it stays, until a later start
                    for gone in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
                        gone.unlink(missing_ok=True)

    def close(self) -> None:
        """See Storage."""
        self._serving.close()

    def _path(self, stamp: Stamp, build: int) -> Path:
        later = f".g{build}" if build else ""
        return self._directory / f"{stamp.name}.v{stamp.version}{later}.db"


def _is_left_over(path: Path, stamp: Stamp, known: Generations) -> bool:
    """Whether a file is one that no program of this or a newer version will use."""
    named = _FILE.fullmatch(path.name)
    if named is None or named["name"] != stamp.name or int(named["version"]) > stamp.version:
        return False
    if named["since"] is not None:
        return int(named["since"]) < time() - SCRATCH_SECONDS
    build = int(named["build"] or 0)
    # A larger number than any that was known was given meanwhile.
    return int(named["version"]) < stamp.version or (
        build not in (known.serving, known.building) and build <= known.newest
    )
