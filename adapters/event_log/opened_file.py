"""Whether a path still leads to the file that was opened there.

An open connection goes on writing into a file that was deleted: everything is acknowledged, and nothing is kept.
"""

import os
from pathlib import Path

from domain.errors import StoreReplaced, StoreUnavailable


class OpenedFile:
    """The file that stands at `path` as this is made, known by device and inode."""

    def __init__(self, path: Path) -> None:
        self._where = str(path)
        self._identity = self._at_path()

    def must_stand(self) -> None:
        """Raises StoreReplaced when there is no file at the path any more, or another one. Put back, it stands again."""
        if self._at_path() != self._identity:
            raise StoreReplaced(self._where)

    def _at_path(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self._where)  # noqa: PTH116  # before each transaction, and a Path costs as much again
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreUnavailable(f"{error.strerror} at {self._where}") from error
        return status.st_dev, status.st_ino
