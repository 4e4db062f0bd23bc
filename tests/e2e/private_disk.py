"""A small file system that only some processes see, to be filled up or to fail without harm to anything else."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.e2e.server_process import ANSWER_SECONDS

Kind = Literal["tmpfs", "ext4"]
_MOUNTS = {
    "tmpfs": 'mount -t tmpfs -o size="$2"m tmpfs "$1"',
    "ext4": 'truncate -s "$2"m "$1.image" && mkfs.ext4 -q "$1.image" && mount -o loop,errors=remount-ro "$1.image" "$1"',
}


@dataclass(frozen=True)
class PrivateDisk:
    """It is mounted at `path` for whoever is in the mount namespace of process `pid`; `outside` leads there too."""

    pid: int
    path: Path

    @property
    def outside(self) -> Path:
        """The disk as other processes can reach it, for as long as the namespace lives."""
        return Path(f"/proc/{self.pid}/root{self.path}")

    def fill(self) -> None:
        """Not a byte is left."""
        with (self.outside / "filler").open("ab", buffering=0) as filler:
            for size in (65536, 4096, 1):
                while _written(filler, size):
                    pass

    def make_room(self) -> None:
        """All that filled it is gone."""
        (self.outside / "filler").unlink()

    def remount(self, options: str) -> None:
        """Mount it again with these options."""
        self.inside("mount", "-o", f"remount,{options}", str(self.path))

    def inside(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command that sees the disk. AssertionError with its words when it fails."""
        ended = subprocess.run(
            ["nsenter", "--mount", f"--target={self.pid}", "--", *command], capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, f"{command} failed here: {ended.stderr}"
        return ended


def _written(filler: object, size: int) -> bool:
    try:
        return bool(filler.write(b"x" * size))  # type: ignore[attr-defined]
    except OSError:
        return False


@contextmanager
def private_disk(path: Path, megabytes: int, kind: Kind = "tmpfs") -> Iterator[PrivateDisk]:
    """The disk, until the context ends. Fails the test with the reason where mounting is not permitted."""
    path.mkdir()
    script = f"{_MOUNTS[kind]} && echo mounted && exec cat"
    holder = subprocess.Popen(
        ["unshare", "--mount", "--propagation=private", "sh", "-c", script, "sh", str(path), str(megabytes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stderr is not None
    if holder.stdout.readline() != "mounted\n":
        said = holder.communicate(timeout=ANSWER_SECONDS)[1]
        raise AssertionError(f"this test needs to mount a {kind} in a namespace of its own (run it as root): {said}")
    try:
        yield PrivateDisk(holder.pid, path)
    finally:
        holder.communicate(timeout=ANSWER_SECONDS)
