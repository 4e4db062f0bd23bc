"""Telling a dead process from a slow one, by a lock that the operating system drops with its holder.

Each process holds an exclusive `flock` on a file of its own for as long as it lives, and its open turns carry the
file's name. Whoever meets such a turn tries the lock: getting it proves that the owner is gone, however it went. There
is no time-out to guess, and a process that is merely slow keeps its lock.

`flock` and not `lockf`: it belongs to the open file, so a process can ask about itself without losing its own lock.
"""

import fcntl
import os
from pathlib import Path

_SUFFIX = ".lock"


class ProcessLock:
    """The lock of this process, held from construction to `release` or death. Implements the `Liveness` port."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = name
        directory.mkdir(parents=True, exist_ok=True)
        self._file = self._hold(directory / f"{name}{_SUFFIX}")

    @property
    def name(self) -> str:
        """The name that this process gives its open turns."""
        return self._name

    def is_dead(self, owner: str) -> bool:
        """Whether the owner is proved to be dead. A name that no file bears is one whose owner is gone."""
        try:
            descriptor = os.open(self._directory / f"{owner}{_SUFFIX}", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True

    def release(self) -> None:
        """Gives the lock up and removes its file. Call when no turn of this process is open any more."""
        if self._file >= 0:
            (self._directory / f"{self._name}{_SUFFIX}").unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1

    def sweep(self, still_named: set[str]) -> None:
        """Removes the files of dead processes, but for the names that open turns still carry."""
        for path in self._directory.glob(f"*{_SUFFIX}"):
            owner = path.name.removesuffix(_SUFFIX)
            if owner not in still_named and self.is_dead(owner):
                path.unlink(missing_ok=True)

    @staticmethod
    def _hold(path: Path) -> int:
        # A sweep may remove the file between its creation and its lock; then it is made again.
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists() and os.fstat(descriptor).st_ino == path.stat().st_ino:
                return descriptor
            os.close(descriptor)
