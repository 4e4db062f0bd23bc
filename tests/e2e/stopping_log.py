"""An event log that stops for ever at one moment of a turn, so that its process can be killed exactly there.

A moment is `before X`, `inside X` (inserted, the write lock held, not yet committed) or `after X`, X being one of
`STEPS`. It counts once the file `armed` exists in the control directory; reaching it makes the file `reached`.
"""

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import Connection

from adapters.event_log.log import SqlEventLog
from domain.campaign.commands import AcceptNarration, CampaignCommand, FailTurn, OpenTurn, RecordPrompt, RequestCancel
from domain.event import DomainEvent, Recorded
from domain.log import Execution

STEPS: dict[type, str] = {
    OpenTurn: "opening",
    RecordPrompt: "prompt",
    AcceptNarration: "narration",
    FailTurn: "failure",
    RequestCancel: "cancel",
}
_STEP_OF_TOPIC = {
    "story.turn_opened": "opening",
    "prompt.sent": "prompt",
    "story.narration_accepted": "narration",
    "story.turn_failed": "failure",
}


def stopping_at(moment: str, control: Path) -> type[SqlEventLog]:
    """The log's class, stopping at this moment."""

    class StoppingLog(SqlEventLog):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self._inserted = ""
            sqlalchemy.event.listen(self._writes, "commit", self._about_to_commit)

        def execute(self, command: CampaignCommand) -> Execution:
            step = STEPS.get(type(command))
            _stop(f"before {step}")
            execution = super().execute(command)
            _stop(f"after {step}")
            return execution

        def _append(self, connection: Connection, stream: str, events: Iterable[DomainEvent]) -> tuple[Recorded, ...]:
            recorded = super()._append(connection, stream, events)
            self._inserted = next((_STEP_OF_TOPIC[one.topic] for one in recorded if one.topic in _STEP_OF_TOPIC), "")
            return recorded

        def _about_to_commit(self, _connection: Connection) -> None:
            inserted, self._inserted = self._inserted, ""
            if inserted:
                _stop(f"inside {inserted}")

    def _stop(here: str) -> None:
        if here == moment and (control / "armed").exists():
            (control / "reached").touch()
            threading.Event().wait()

    return StoppingLog
