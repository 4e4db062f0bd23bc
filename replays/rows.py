"""Rows of a report: what became of a reply, and of the state at the end of a line."""

import hashlib
from collections.abc import Sequence
from itertools import islice
from typing import Any

from domain.extraction.extraction import Removal
from replays.comparison import Compared, LineEnd, Standing
from replays.findings import Change, Flagged, share_removed
from replays.json_values import written

MOST_STATE_CHANGES = 200
"""Of a line's changes that a report lists; the row says how many there are."""


def reply_row(compared: Compared, kinds: Sequence[Change], flags: Sequence[Flagged]) -> dict[str, Any]:
    """A reply that changed. Spans are half open, in code points of the raw reply."""
    before, after = compared.before, compared.after
    failed = compared.failure is not None
    return {
        "campaign": compared.campaign,
        "node": compared.node,
        "branch": compared.branch,
        "moment": compared.depth,
        "sha256": hashlib.sha256(compared.raw.encode()).hexdigest(),
        "raw_reply": compared.raw,
        "changed": list(kinds),
        "flags": [{"flag": flagged.flag, "detail": flagged.detail} for flagged in flags],
        "removed_share": round(share_removed(compared), 4),
        "prose": {"before": before.prose, "after": None if failed else after.prose},
        "removals": {
            "before": _removals(compared.raw, before.removals),
            "after": None if failed else _removals(compared.raw, after.removals),
        },
        "proposal": {"before": _proposed(before), "after": None if failed else _proposed(after)},
        "outcome": {"before": before.outcome, "after": after.outcome},
        "refused": {"before": _refused(before), "after": _refused(after)},
    }


def line_row(end: LineEnd) -> dict[str, Any]:
    """A line at whose end the state differs."""
    return {
        "campaign": end.campaign,
        "node": end.node,
        "differences": len(end.changes),
        "changes": [change.to_json() for change in islice(end.changes, MOST_STATE_CHANGES)],
    }


def content_key(compared: Compared) -> bytes:
    """What tells a reply from others."""
    return hashlib.blake2b(compared.raw.encode(), digest_size=16).digest()


def change_key(compared: Compared) -> bytes:
    """What tells a change from others: the reply, and all that either side has of it."""
    digest = hashlib.blake2b(compared.raw.encode(), digest_size=16)
    for standing in (compared.before, compared.after):
        removals = [(removal.rule, removal.start, removal.end) for removal in standing.removals]
        digest.update(written([standing.prose, removals, standing.proposed, standing.outcome]))
    return digest.digest()


def _removals(raw: str, removals: Sequence[Removal]) -> list[dict[str, Any]]:
    return [{**removal.model_dump(), "text": raw[removal.start : removal.end]} for removal in removals]


def _proposed(standing: Standing) -> Any:
    return list(standing.proposed) if isinstance(standing.proposed, tuple) else standing.proposed


def _refused(standing: Standing) -> list[dict[str, Any]]:
    return [refused.model_dump(mode="json") for refused in standing.refused]
