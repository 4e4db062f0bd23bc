"""One run of the model server."""

import subprocess
import sys
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_PROGRAM = Path(__file__).with_name("process.py")
_KEPT_LINES = 200
_TERMINATE_SECONDS = 3.0
_LAST_WORDS_SECONDS = 1.0


@dataclass(frozen=True)
class Launch:
    """What a child is started with. `context` in tokens."""

    model_file: Path
    model: str
    port: int
    context: int

    def command(self) -> list[str]:
        """The command line. `-P`: the child's folder and the working directory offer it nothing to import."""
        options = {
            "--model": str(self.model_file),
            "--alias": self.model,
            "--port": str(self.port),
            "--context": str(self.context),
        }
        return [sys.executable, "-P", str(_PROGRAM), *(word for option in options.items() for word in option)]


class Child:
    """A running model server, and the last of what it said. Raises OSError where no process can be made."""

    def __init__(self, launch: Launch) -> None:
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._process = subprocess.Popen(  # noqa: S603 - our own program and our own interpreter
            launch.command(),
            stdin=subprocess.PIPE,  # never written: its end tells the child of ours
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches the whole foreground group; the parent is to decide
        )
        self._reader = threading.Thread(target=self._listen, name="small-narrator-output", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def runs(self) -> bool:
        return self._process.poll() is None

    def last_lines(self, count: int) -> list[str]:
        """At most so many of the last lines that it said, oldest first."""
        return list(self._lines)[-count:]

    def wait(self) -> int:
        """Wait for its end and for its last words. The exit status, negative for a signal."""
        status = self._process.wait()
        self._reader.join(_LAST_WORDS_SECONDS)
        self._close_pipes()
        return status

    def end(self) -> None:
        """End it: asked first, killed after three seconds. Whoever waits for it learns of it."""
        self._process.terminate()
        try:
            self._process.wait(_TERMINATE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _listen(self) -> None:
        """Read all it says, or it would block once the pipe is full; keep the end, and show the player none of it."""
        for line in self._output:
            self._lines.append(line.decode(errors="replace").rstrip())

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._output):
            if pipe is not None:
                pipe.close()

    @property
    def _output(self) -> IO[bytes]:
        assert self._process.stdout is not None  # noqa: S101 - Popen was given a pipe; this tells the type checker
        return self._process.stdout
