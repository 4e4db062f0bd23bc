"""Reading a story's whole history anew with one of Fabula's own extractors: what an adoption has to write."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

from domain.campaign.commands import AdoptExtractor
from domain.errors import OvertakenMeanwhile, TurnInProgress
from domain.log import EventLog
from domain.narrative.events import NarrationReread
from replays.comparison import IN_FORCE, Compared, LineEnd, compare, differs
from replays.findings import changes_of, flags_of
from replays.history import newest_event
from replays.reading import Released
from replays.rows import line_row

ATTEMPTS = 5
"""How often a story is read anew that went on while it was read."""

MOST_LISTED = 500
"""Of the narrations and of the lines that differ, how many the difference lists; it says how many there are."""


@dataclass(frozen=True)
class Reread:
    """A history as an extractor reads it, where that is not what is in force. `version` is the story's when it was read."""

    version: int
    readings: tuple[NarrationReread, ...]
    narrations: tuple[dict[str, Any], ...]
    lines: tuple[dict[str, Any], ...]
    changed_lines: int

    def difference(self) -> dict[str, Any]:
        """What the reading changes: of the narrations and of the state at the end of each line, as programs read it."""
        return {
            "reread": len(self.readings),
            "narrations": list(self.narrations),
            "changed_lines": self.changed_lines,
            "lines": list(self.lines),
        }


def adopt_whole_history(log: EventLog, campaign: str, extractor: Released) -> Reread:
    """Reads a story anew and puts that in force. Raises UnknownCampaign, TurnInProgress, OvertakenMeanwhile."""
    for _ in range(ATTEMPTS):
        found = reread(log, campaign, extractor)
        try:
            log.execute(AdoptExtractor(campaign, extractor.name, "whole_history", found.readings, found.version))
        except OvertakenMeanwhile:
            continue
        return found
    raise OvertakenMeanwhile(campaign)


def reread(log: EventLog, campaign: str, extractor: Released) -> Reread:
    """What the extractor reads otherwise than what is in force. Raises UnknownCampaign, TurnInProgress."""
    turn = log.campaign(campaign).open_turn
    if turn is not None:
        raise TurnInProgress(campaign, turn)
    position, version = newest_event(log, campaign)
    told, ends = list[Compared](), list[LineEnd]()
    for found in compare(log, campaign, position, extractor, IN_FORCE):
        if isinstance(found, LineEnd):
            ends += [found] if found.changes else []
        elif differs(found.before, found.after):
            told.append(found)
    return Reread(
        version,
        tuple(_event(compared, extractor.name) for compared in told),
        tuple(_narration(compared) for compared in islice(told, MOST_LISTED)),
        tuple(line_row(end) for end in islice(ends, MOST_LISTED)),
        len(ends),
    )


def _event(compared: Compared, extractor: str) -> NarrationReread:
    after = compared.after
    return NarrationReread(
        node=compared.node,
        branch=compared.branch,
        depth=compared.depth,
        extractor=extractor,
        removals=after.removals,
        prose=after.prose,
        outcome=after.outcome,
        accepted=after.accepted,
        refused=after.refused,
        block=after.block,
    )


def _narration(compared: Compared) -> dict[str, Any]:
    return {
        "node": compared.node,
        "moment": compared.depth,
        "changed": list(changes_of(compared)),
        "flags": [{"flag": flagged.flag, "detail": flagged.detail} for flagged in flags_of(compared)],
        "outcome": {"before": compared.before.outcome, "after": compared.after.outcome},
    }
