"""Replays: what is asked for, made of what somebody named; and those that run in the background."""

from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any, Literal

import structlog

from domain.errors import FabulaError, InternalError, InvalidInput, TooManyReplays, UnknownReplay
from domain.extraction.extractors import EXTRACTORS
from domain.log import EventLog
from domain.ports import IdSource
from replays.comparison import IN_FORCE, RECORDED, Against
from replays.outside import TIME_LIMIT_SECONDS, Outside
from replays.reading import Candidate, Released, unknown_version
from replays.replaying import Question, Replay

MOST_KEPT = 16
"""Replays that are kept for reading. The oldest that has ended goes first."""

State = Literal["waiting", "running", "done", "failed"]

_log = structlog.get_logger(__name__)


def against_of(name: str) -> Against:
    """What a candidate is to be held against: `in force`, `recorded`, or a version. Raises InvalidInput."""
    if name.replace("-", " ").replace("_", " ") == IN_FORCE:
        return IN_FORCE
    if name == RECORDED:
        return RECORDED
    if name not in EXTRACTORS:
        raise InvalidInput({"against": f"{unknown_version(name)}; or name `recorded`, or leave it out"})
    return Released(name)


@contextmanager
def candidate_of(spec: str, seconds: float = TIME_LIMIT_SECONDS) -> Iterator[Candidate]:
    """The candidate that is named: a version, or a function from outside. Its process ends with the context.

    Raises InvalidInput for a version that does not exist, CandidateUnusable for a function that cannot be loaded.
    """
    if ":" not in spec:
        yield Released(spec)
        return
    outside = Outside(spec, seconds=seconds)
    try:
        yield outside
    finally:
        outside.close()


class _Stopped(Exception):
    """The program ends, and the replay with it."""


@dataclass
class _Running:
    """A replay of the background, and how far it is."""

    id: str
    replay: Replay
    state: State = "waiting"
    done: int = 0
    total: int | None = None
    error: FabulaError | None = None


@dataclass
class Replays:
    """The replays of this process, one after the other in a thread of their own. They are gone with the process."""

    log: EventLog
    ids: IdSource
    _kept: "OrderedDict[str, _Running]" = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)
    _stopping: Event = field(default_factory=Event)
    _worker: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "replays"))

    def begin(self, candidate: str, against: str, campaign: str | None) -> dict[str, Any]:
        """Begins a replay of a version of Fabula's own, and answers how it stands.

        Raises InvalidInput for a version that does not exist, UnknownCampaign, TooManyReplays.
        """
        question = Question(Released(candidate), against_of(against), campaign)
        if campaign is not None:
            self.log.campaign(campaign)
        with self._lock:
            self._make_room()
            begun = _Running(self.ids.new("r"), Replay(question))
            self._kept[begun.id] = begun
        self._worker.submit(self._run, begun)
        return _answer(begun)

    def answer(self, replay: str, after: int, limit: int) -> dict[str, Any]:
        """How a replay stands, with a page of the replies that changed and one of the lines. Raises UnknownReplay."""
        running = self._of(replay)
        replies, lines = running.replay.replies, running.replay.lines
        end = after + limit
        return _answer(running) | {
            "replies": replies.page(after, limit),
            "lines": lines.page(after, limit),
            "next": end if running.state == "done" and end < max(len(replies), len(lines)) else None,
        }

    def stop(self) -> None:
        """Ends what runs, and gives all of it up."""
        self._stopping.set()
        self._worker.shutdown(wait=True, cancel_futures=True)
        for running in self._kept.values():
            running.replay.close()

    def _of(self, replay: str) -> _Running:
        with self._lock:
            if replay not in self._kept:
                raise UnknownReplay(replay)
            return self._kept[replay]

    def _make_room(self) -> None:
        if len(self._kept) < MOST_KEPT:
            return
        ended = next((each for each in self._kept.values() if each.state in ("done", "failed")), None)
        if ended is None:
            raise TooManyReplays(MOST_KEPT)
        del self._kept[ended.id]
        ended.replay.close()

    def _run(self, running: _Running) -> None:
        def told(done: int, total: int) -> None:
            if self._stopping.is_set():
                raise _Stopped
            running.done, running.total = done, total

        running.state = "running"
        try:
            running.replay.run(self.log, told)
            running.state = "done"
        except _Stopped:
            running.state = "failed"
        except FabulaError as error:
            running.error, running.state = error, "failed"
        except Exception as error:  # noqa: BLE001  # whatever broke is told to whoever asks
            _log.error("replay_broke", replay=running.id, error=type(error).__name__)
            running.error, running.state = InternalError(f"Replay {running.id} ({type(error).__name__})"), "failed"


def _answer(running: _Running) -> dict[str, Any]:
    error = running.error
    return {
        "id": running.id,
        "state": running.state,
        "progress": {"done": running.done, "total": running.total},
        "error": None if error is None else {"code": error.code, "detail": error.message},
        "summary": running.replay.summary(),
    }
