"""An extractor that somebody is developing, from a file of theirs: run in a process of its own, and never trusted.

A function that loops, crashes, exits, forks, prints, returns rubbish or asks for all the memory there is costs the reply
that it was given, and nothing else. This keeps mistakes apart; it is no prison for a file that means harm.
"""

import sys
from collections import OrderedDict
from contextlib import suppress
from hashlib import blake2b
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain.errors import NotAcceptable
from domain.extraction.extraction import Removal
from domain.narrative.judging import Proposed
from replays.json_values import written
from replays.pipe import Ended, LinePipe, TimedOut, TooLong
from replays.reading import Failure, Reading

TIME_LIMIT_SECONDS = 2.0
"""How long a reply may take, unless another limit is given."""
START_SECONDS = 30.0
"""How long the file may take to load."""
MOST_MEMORY = 4 * 1024**3
"""The most memory that its process may have, in bytes, where the system can limit that."""
ENDS_IN_A_ROW = 20
"""After so many replies, one after the other, at which its process had to be ended, no more are given to it."""

_FAILURES_KEPT = 2_000


class CandidateUnusable(NotAcceptable):
    """What was named is nothing that could read replies."""

    code = "invalid"
    title = "The candidate cannot be used"

    def __init__(self, spec: str, why: str) -> None:
        super().__init__(
            f"{spec} cannot be used: {why}. Name a version, or a function that takes a reply: `module:function` or "
            "`path/file.py:function`.",
            candidate=spec,
        )


class _Answered(BaseModel):
    """A reading as the process gives it."""

    model_config = ConfigDict(strict=True, extra="forbid")

    prose: str
    removals: list[Removal]
    events: list[Any] | Literal["unparseable", "absent"]
    block: str | None


class _Answer(BaseModel):
    """One line of the process."""

    number: Annotated[int, Field(strict=True)]
    reading: _Answered | None = None
    error: str | None = None


class Outside:
    """A candidate from outside of the package. Close it, which ends its process."""

    def __init__(self, spec: str, *, seconds: float = TIME_LIMIT_SECONDS, most_memory: int = MOST_MEMORY) -> None:
        """Raises CandidateUnusable where the file cannot be loaded, or has no such function."""
        self.name = spec
        self._seconds = seconds
        self._command = [sys.executable, "-P", "-m", "replays.candidate_child", spec, str(most_memory)]
        self._number = 0
        self._ended_in_a_row = 0
        self._failures: OrderedDict[bytes, Failure] = OrderedDict()
        self._pipe: LinePipe | None = None
        trouble = self._start()
        if trouble is not None:
            self.close()
            raise CandidateUnusable(spec, trouble)

    def read(self, raw: str) -> Reading | Failure:
        """See Candidate. A reply that failed is not tried again, while that is remembered."""
        key = blake2b(raw.encode(), digest_size=16).digest()
        if key in self._failures:
            return self._failures[key]
        found = self._read(raw)
        if isinstance(found, Failure):
            self._failures[key] = found
            if len(self._failures) > _FAILURES_KEPT:
                self._failures.popitem(last=False)
        return found

    def close(self) -> None:
        """Ends its process."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None

    def _read(self, raw: str) -> Reading | Failure:
        if self._ended_in_a_row >= ENDS_IN_A_ROW:
            return Failure(
                "not_asked", f"It was given up after {ENDS_IN_A_ROW} replies in a row that it did not survive."
            )
        if self._pipe is None and (trouble := self._start()) is not None:
            self._end()
            return Failure("crashed", f"It could not be started again: {trouble}.")
        self._number += 1
        try:
            answer = self._ask(orjson.dumps({"number": self._number, "raw": raw}) + b"\n", self._seconds)
        except TimedOut:
            self._end()
            return Failure("timed_out", f"It did not answer within {self._seconds:g} seconds.")
        except Ended as how:
            self._end()
            return Failure("crashed", f"Its process ended ({how}).")
        except (TooLong, ValueError) as error:
            self._end()
            return Failure("nonsense", f"Its answer cannot be used ({_why(error)}).")
        self._ended_in_a_row = 0
        return self._understood(answer)

    def _understood(self, answer: _Answer) -> Reading | Failure:
        if answer.reading is None:
            return Failure("raised", f"It raised {answer.error}.")
        events = answer.reading.events
        proposed: Proposed = tuple(events) if isinstance(events, list) else events
        try:
            written(events)
        except TypeError as error:
            return Failure("nonsense", f"Its events cannot be kept ({error}).")
        return Reading(answer.reading.prose, tuple(answer.reading.removals), proposed, answer.reading.block)

    def _start(self) -> str | None:
        """Starts the process; what keeps it from reading replies, if anything does."""
        self._pipe = LinePipe(self._command)
        self._number = 0
        try:
            return self._ask(b"", START_SECONDS).error
        except TimedOut:
            return f"it was not loaded within {START_SECONDS:g} seconds"
        except (Ended, TooLong, ValueError) as error:
            return f"its process ended while it was loaded ({_why(error)})"

    def _ask(self, line: bytes, seconds: float) -> _Answer:
        """The answer to a request. Raises as LinePipe.ask, and ValueError for what is no answer to it."""
        assert self._pipe is not None  # noqa: S101  # it was started
        answer = _Answer.model_validate(orjson.loads(self._pipe.ask(line, seconds)))
        if answer.number != self._number or (answer.error is None and answer.reading is None and self._number):
            raise ValueError("it answers what was not asked")
        return answer

    def _end(self) -> None:
        self._ended_in_a_row += 1
        with suppress(OSError):
            self.close()


def _why(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}"
    return str(error) or "it is endless"
