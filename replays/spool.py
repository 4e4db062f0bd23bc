"""Rows that are written as they come and read back in pages: on the disk, so that there may be any number of them."""

import tempfile
from array import array
from collections.abc import Iterator
from threading import Lock
from typing import Any

import orjson


class Spool:
    """Rows of JSON values in a file without a name, which is gone with the process. Any thread may write and read."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # for as long as it is asked for rows
        self._starts = array("Q")
        self._end = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, row: dict[str, Any]) -> None:
        """Writes a row behind the others."""
        line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        with self._lock:
            self._file.seek(self._end)
            self._file.write(line)
            self._starts.append(self._end)
            self._end += len(line)

    def page(self, after: int, limit: int) -> list[dict[str, Any]]:
        """At most so many rows behind the first `after`; none when the file was given up."""
        with self._lock:
            if self._file.closed or not 0 <= after < len(self._starts):
                return []
            self._file.seek(self._starts[after])
            return [orjson.loads(self._file.readline()) for _ in range(min(limit, len(self._starts) - after))]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for number in range(len(self)):
            yield from self.page(number, 1)

    def close(self) -> None:
        """Gives the file up."""
        with self._lock:
            self._file.close()
