"""Turns told straight into a log, with blocks: what a narrator brought, without asking one."""

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

from domain.campaign.commands import AcceptNarration, OpenTurn, StatePass
from domain.campaign.events import NarrationAccepted
from domain.extraction.extraction import Extraction, Removal, prose_of
from domain.log import EventLog

_NUMBERS = count(1)

CRYSTAL = {"type": "set_possession", "item": "crystal", "owner": "imani"}
MADE: tuple[dict[str, Any], ...] = (
    {"type": "create_entity", "entity": "imani", "entity_type": "character", "name": "Captain Imani"},
    {"type": "create_entity", "entity": "ceres", "entity_type": "location", "name": "Ceres"},
    {"type": "create_entity", "entity": "crystal", "entity_type": "item", "name": "The crystal"},
)


def block_of(*events: Any) -> str:
    return json.dumps({"events": list(events)}, ensure_ascii=False)


def tell(
    log: EventLog,
    campaign: str,
    prose: str,
    *events: Any,
    block: str | None = None,
    state_pass: StatePass | None = None,
    text: str = "go on",
) -> NarrationAccepted:
    """Tells a turn whose reply is the prose and, where there are events, a fenced block that holds them.

    `block` is how the block was written, where it is not plain JSON.
    """
    turn = f"t_told{next(_NUMBERS)}"
    log.execute(OpenTurn(campaign, turn, "do", text, process="p_nobody", request_hash="asked"))
    written = block if block is not None or not events else block_of(*events)
    told = AcceptNarration(campaign, turn, *_reply(prose, events, written), "stop", None, state_pass)
    return next(each.event for each in log.execute(told).events if isinstance(each.event, NarrationAccepted))


def _reply(prose: str, events: Sequence[Any], block: str | None) -> tuple[str, str, Extraction]:
    if block is None:
        return prose, "", Extraction(prose, (), "2")
    raw = f"{prose}\n\n```state\n{block}\n```"
    removals = (Removal(rule="block", start=len(prose), end=len(raw)),)
    return raw, "", Extraction(prose_of(raw, removals), removals, "2", tuple(events), block)
