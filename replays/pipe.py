"""Lines to and from a process that is not trusted: none is waited for longer than is said, and none may be endless."""

import os
import selectors
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

MOST_BYTES = 64 * 1024 * 1024
"""The longest line that is taken. A longer one is nonsense."""

_CHUNK = 1 << 16
_TICK_SECONDS = 0.05
"""How soon the end of a process is seen whose pipe somebody else holds open."""


class TimedOut(Exception):
    """No line came in time."""


class Ended(Exception):
    """The process ended, or closed its pipe. The text says how."""


class TooLong(Exception):
    """The line is longer than any that is taken."""


class LinePipe:
    """A process that answers a line with a line. It has a process group of its own, which ends with it."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(  # noqa: S603  # our own module, by the interpreter that runs us
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018  # as asked for
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)
        self._came = bytearray()
        self._unsent = memoryview(b"")

    def ask(self, line: bytes, seconds: float) -> bytes:
        """Sends a line, none where it is empty, and waits for one. Raises TimedOut, Ended, TooLong."""
        self._unsent = memoryview(line)
        deadline = monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._from, selectors.EVENT_READ)
            if line:
                selector.register(self._to, selectors.EVENT_WRITE)
            while b"\n" not in self._came:
                left = deadline - monotonic()
                if left <= 0:
                    raise TimedOut
                self._go_on(selector, min(_TICK_SECONDS, left))
        taken, _, rest = bytes(self._came).partition(b"\n")
        self._came = bytearray(rest)
        return taken

    def _go_on(self, selector: selectors.BaseSelector, seconds: float) -> None:
        """Sends and takes what can be, as soon as something can."""
        ready = [key.fd for key, _ in selector.select(seconds)]
        if not ready:
            self._check_alive()
        if self._from in ready:
            self._take()
        if self._to in ready:
            self._send()
            if not self._unsent:
                selector.unregister(self._to)

    def close(self) -> None:
        """Ends the process and all that it started in its group, at once."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _send(self) -> None:
        try:
            sent = os.write(self._to, self._unsent[:_CHUNK])
        except BlockingIOError:
            return
        except BrokenPipeError:
            raise Ended(self._how()) from None
        self._unsent = self._unsent[sent:]

    def _take(self) -> None:
        came = os.read(self._from, _CHUNK)
        if not came:
            raise Ended(self._how())
        self._came += came
        if len(self._came) > MOST_BYTES:
            raise TooLong

    def _check_alive(self) -> None:
        if self._process.poll() is not None and not self._take_the_rest():
            raise Ended(self._how())

    def _take_the_rest(self) -> bool:
        """Whether there was something left to take."""
        with suppress(BlockingIOError):
            self._take()
            return True
        return False

    def _how(self) -> str:
        """How the process ended, as far as it has."""
        with suppress(subprocess.TimeoutExpired):
            status = self._process.wait(timeout=1)
            return f"signal {-status}" if status < 0 else f"exit status {status}"
        return "it closed its pipe"
