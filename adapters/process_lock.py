"""Telling a dead process from a slow one, by a lock that the operating system drops with its holder.

Each process holds an exclusive `flock` on a file of its own for as long as it lives, and its open turns carry the
file's name. Whoever meets such a turn asks for a shared lock: getting it proves that the owner is gone, however it
went. There is no time-out to guess, and a process that is merely slow keeps its lock.

`flock` and not `lockf`: it belongs to the open file, so a process can ask about itself without losing its own lock.
Shared for asking: two who ask at once both learn the truth, where exclusive locks would stand in each other's way.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SUFFIX = ".lock"


class ProcessLock:
    """The lock of this process, held from construction to `release` or death. Implements the `Liveness` port."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = name
        directory.mkdir(parents=True, exist_ok=True)
        self._file = _held(self._path_of(name))

    @property
    def name(self) -> str:
        """The name that this process gives its open turns."""
        return self._name

    def is_dead(self, owner: str) -> bool:
        """Whether the owner is proved to be dead. A name that no file bears is one whose owner is gone.

        Needs no permission to write, so that the truth can be told of a store that has become read-only.
        """
        with _proof_of_death(self._path_of(owner)) as proved:
            return proved

    def release(self) -> None:
        """Gives the lock up and removes its file. Call when no turn of this process is open any more."""
        if self._file >= 0:
            with suppress(OSError):  # in a store that has become read-only it stays, until a later sweep
                self._path_of(self._name).unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1

    def sweep(self, still_named: set[str]) -> None:
        """Removes the files of dead processes, but for the names that open turns still carry."""
        for path in self._directory.glob(f"*{_SUFFIX}"):
            if path.name.removesuffix(_SUFFIX) not in still_named:
                # Removed while the proof is held: a process that is just taking this lock waits, and then looks again.
                with _proof_of_death(path) as proved:
                    if proved:
                        path.unlink(missing_ok=True)

    def _path_of(self, owner: str) -> Path:
        return self._directory / f"{owner}{_SUFFIX}"


@contextmanager
def _proof_of_death(path: Path) -> Iterator[bool]:
    """Whether nobody holds the lock. While the context lasts nobody can take it either, if so."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            yield True
            return
        try:
            proved = _locked(descriptor)
            # A file that was swept away as we opened it proves nothing of the one that was made in its place.
            if not proved or _is_at(path, descriptor):
                yield proved
                return
        finally:
            os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _held(path: Path) -> int:
    """The descriptor of the locked file. A sweep may remove it before it is locked; then it is made again."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_at(path, descriptor):
            return descriptor
        os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether the path still leads to this very file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
