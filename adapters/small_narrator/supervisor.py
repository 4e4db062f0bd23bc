"""Keeps one small narrator answering: starts it, starts it again when it dies, ends it.

One watch thread does this, so that a synchronous command and an asynchronous server use it alike. It asks who listens
on the port and acts on the answer, again and again:

    nobody      start a child; wait for its end
    a narrator  use it: another Fabula's child. When it goes away, nobody listens, and the next look starts our own
    loading     look again
    a stranger  before the first readiness: give up. Later: wait until it is gone
"""

import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
import structlog

from adapters.small_narrator.child import Child, Launch
from adapters.small_narrator.errors import NarratorFailedToStart, NarratorPortTaken
from adapters.small_narrator.model_file import MODEL, installed_model_file
from adapters.small_narrator.occupant import Occupant, occupant_of
from adapters.small_narrator.restart_delay import restart_delay
from domain.errors import FabulaError

DEFAULT_PORT = 8421
_TRIES_BEFORE_FIRST_READINESS = 3
_LOOK_SECONDS = 0.5
_LOOK_AT_STARTING_CHILD_SECONDS = 0.05
_ANSWER_SECONDS = 2.0
_SHOWN_LINES = 10

_log = structlog.get_logger(__name__)


class SmallNarrator:
    """The small narrator on a loopback port, from `start` to `stop`. It is started once. Safe to use from any thread.

    `context` is its window in tokens; the model was trained for 8,192. `model_file` is the installed one unless given:
    raises NarratorFailedToStart where none is installed. As a context manager it starts on entry, without waiting, and
    stops on exit.
    """

    def __init__(self, *, port: int = DEFAULT_PORT, context: int = 8192, model_file: Path | None = None) -> None:
        self._launch = Launch(model_file or installed_model_file(), MODEL, port, context)
        # No connection is kept: one would occupy a thread of the server between two looks.
        self._client = httpx.Client(
            trust_env=False, timeout=_ANSWER_SECONDS, limits=httpx.Limits(max_keepalive_connections=0)
        )
        self._watch_thread = threading.Thread(target=self._watch, name="small-narrator-watch", daemon=True)
        self._stopping = threading.Event()
        self._delay: float | None = None
        self._deaths = 0
        self._was_ready = False
        self._changed = threading.Condition()  # guards what follows
        self._child: Child | None = None
        self._ready = False
        self._failure: FabulaError | None = None

    @property
    def port(self) -> int:
        return self._launch.port

    @property
    def endpoint(self) -> str:
        """The address for an OpenAI-compatible client."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def model(self) -> str:
        return MODEL

    @property
    def pid(self) -> int | None:
        """The process that answers; None while it is another Fabula's, or none runs."""
        with self._changed:
            return self._child.pid if self._child else None

    def start(self) -> None:
        """Begin. Returns mostly at once, within five seconds always; `wait_until_ready` is for the rest.

        Raises NarratorPortTaken.
        """
        self._refuse_a_stranger()
        self._watch_thread.start()

    def wait_until_ready(self, timeout: float = 60.0) -> None:
        """Return as soon as the narrator answers, at most so many seconds from now.

        Blocks, so a coroutine calls it through `asyncio.to_thread`. Raises NarratorFailedToStart, with the child's last
        lines, or NarratorPortTaken.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._failure or self._stopping.is_set(), timeout)
            if self._failure:
                raise self._failure
            if not self._ready:
                raise self._not_ready(timeout)

    def stop(self) -> None:
        """End the child within five seconds; another Fabula's is left alone. Stopping again does nothing."""
        with self._changed:
            self._stopping.set()
            self._ready = False
            child = self._child
            self._changed.notify_all()
        if child:
            child.end()
        if self._watch_thread.is_alive():
            self._watch_thread.join()
        self._client.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _refuse_a_stranger(self) -> None:
        """Raise NarratorPortTaken after two looks: a narrator that is just ending breaks connections off as well."""
        if self._occupant() is not Occupant.STRANGER:
            return
        self._stopping.wait(_LOOK_SECONDS)
        if self._occupant() is Occupant.STRANGER:
            raise NarratorPortTaken(self.port)

    def _not_ready(self, timeout: float) -> NarratorFailedToStart:
        if self._stopping.is_set():
            return NarratorFailedToStart("it was stopped first")
        lines = self._child.last_lines(_SHOWN_LINES) if self._child else []
        return NarratorFailedToStart(f"it was not ready within {timeout:g} seconds", lines)

    def _occupant(self) -> Occupant:
        return occupant_of(self._client, self.endpoint, MODEL)

    def _watch(self) -> None:
        try:
            while not self._stopping.is_set():
                self._act_on(self._occupant())
        except FabulaError as failure:
            self._give_up(failure)

    def _act_on(self, occupant: Occupant) -> None:
        match occupant:
            case Occupant.NOBODY:
                self._run_a_child()
            case Occupant.NARRATOR:
                self._say_ready(reused=True)
                self._stopping.wait(_LOOK_SECONDS)
            case Occupant.LOADING:
                self._say_not_ready()
                self._stopping.wait(_LOOK_SECONDS)
            case Occupant.STRANGER:
                self._say_not_ready()
                self._wait_for_a_stranger()

    def _wait_for_a_stranger(self) -> None:
        if not self._was_ready:
            self._refuse_a_stranger()
        self._stopping.wait(_LOOK_SECONDS)

    def _run_a_child(self) -> None:
        self._say_not_ready()
        try:
            child = self._new_child()
        except OSError as error:
            self._wait_before_the_next("no process", 0.0, [str(error)])
            return
        if child:
            self._see_through(child)

    def _new_child(self) -> Child | None:
        """A child, unless `stop` has been called: it would never learn of this one."""
        with self._changed:
            self._child = None if self._stopping.is_set() else Child(self._launch)
            return self._child

    def _see_through(self, child: Child) -> None:
        """From its start to its end."""
        ready_at = self._wait_until_answering(child)
        status = child.wait()
        healthy_for = time.monotonic() - ready_at if ready_at else 0.0
        with self._changed:
            self._child = None
            self._ready = False
        if not self._stopping.is_set():
            self._wait_before_the_next(f"exit status {status}", healthy_for, child.last_lines(_SHOWN_LINES))

    def _wait_until_answering(self, child: Child) -> float | None:
        """When it began to answer, on the monotonic clock; None where it ended first."""
        while child.runs():
            if self._occupant() is Occupant.NARRATOR:
                self._say_ready(reused=False)
                return time.monotonic()
            self._stopping.wait(_LOOK_AT_STARTING_CHILD_SECONDS)
        return None

    def _wait_before_the_next(self, end: str, healthy_for: float, lines: list[str]) -> None:
        """Wait, longer each time. Raises NarratorFailedToStart after the third death before the first readiness."""
        self._deaths += 1
        if not self._was_ready and self._deaths >= _TRIES_BEFORE_FIRST_READINESS:
            raise NarratorFailedToStart(f"its process ended {self._deaths} times before it answered ({end})", lines)
        self._delay = restart_delay(self._delay, healthy_for)
        _log.warning("small_narrator.died", end=end, healthy_seconds=round(healthy_for, 1), restart_in=self._delay)
        self._stopping.wait(self._delay)

    def _say_ready(self, *, reused: bool) -> None:
        if self._ready:
            return
        _log.info("small_narrator.ready", endpoint=self.endpoint, reused=reused, deaths=self._deaths)
        with self._changed:
            self._ready = self._was_ready = True
            self._changed.notify_all()

    def _say_not_ready(self) -> None:
        with self._changed:
            self._ready = False

    def _give_up(self, failure: FabulaError) -> None:
        _log.error("small_narrator.gave_up", code=failure.code)
        with self._changed:
            self._failure = failure
            self._changed.notify_all()
