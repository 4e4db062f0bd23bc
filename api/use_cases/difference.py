"""The difference of two places of one story, as one answer: text, state, memory, prompts, accounts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection

from api.use_cases.audit import prompt_answer
from api.use_cases.places import place_named, position_named
from api.use_cases.prompting import Bodies
from api.wiring import Store
from domain.campaign.facts import NodeFacts
from domain.difference.ancestor import Parting, parting
from domain.difference.words import word_difference
from domain.errors import UnknownTurn
from domain.log import EventLog, Segment
from domain.narrative.changes import changes
from domain.narrative.document import Document
from projections import prompts, story
from projections.story import StoryNode


@dataclass(frozen=True)
class _Side:
    """One of the two places: what it was called, its node, its line, and its nodes since the two parted.

    `as_of` is the log position that it was called by, if it was: its texts are those of then.
    """

    reference: str
    end: NodeFacts
    line: Sequence[Segment]
    as_of: int | None
    since: tuple[StoryNode, ...] = ()


def difference(store: Store, campaign: str, left: str, right: str) -> dict[str, Any]:
    """How two places differ, each named as `place_named` understands.

    Raises UnknownCampaign, UnknownNode, InvalidInput, ViewBehind.
    """
    sides = [_side(store.log, campaign, reference) for reference in (left, right)]
    parted = parting(sides[0].line, sides[1].line)
    ours, theirs = (_with_nodes(store, campaign, side, parted) for side in sides)
    return {
        "left": _place(ours),
        "right": _place(theirs),
        "common": _common(store, campaign, ours, parted),
        "text": {
            "left": [_text(node) for node in ours.since],
            "right": [_text(node) for node in theirs.since],
            "takes": _takes(ours, theirs),
            "corrected": _corrected(store, campaign, ours, theirs, parted),
        },
        "state": {"changes": _state(store.log, campaign, ours, theirs)},
        "memory": {"left": [], "right": [], "summaries": {"left": None, "right": None}},
        "prompts": _prompts(store, campaign, ours, theirs),
        "accounts": {"left": _accounts(store, campaign, ours), "right": _accounts(store, campaign, theirs)},
    }


def _side(log: EventLog, campaign: str, reference: str) -> _Side:
    end = log.node(campaign, place_named(log, campaign, reference))
    return _Side(reference, end, log.line(campaign, end.node), position_named(reference))


def _with_nodes(store: Store, campaign: str, side: _Side, parted: Parting) -> _Side:
    with store.views.reading("story") as connection:
        since = story.since(connection, campaign, side.line, parted.depth + 1, as_of=side.as_of)
    return replace(side, since=since)


def _place(side: _Side) -> dict[str, Any]:
    return {
        "reference": side.reference,
        "node": side.end.node,
        "moment": side.end.depth,
        "branch": side.end.branch,
        "moments_since": len(side.since),
    }


def _common(store: Store, campaign: str, side: _Side, parted: Parting) -> dict[str, Any]:
    """The last node that both lines share, as it reads on this side."""
    (shared,) = store.log.end_of_line(campaign, side.end.node, limit=1, before=parted.depth + 1)
    with store.views.reading("story") as connection:
        node = story.one(connection, campaign, shared.node)
        (read,) = _as_read(connection, campaign, side, () if node is None else (node,))
    return {"node": read.node, "moment": read.depth, "branch": parted.branch, "text": read.text}


def _as_read(connection: Connection, campaign: str, side: _Side, nodes: tuple[StoryNode, ...]) -> tuple[StoryNode, ...]:
    return nodes if side.as_of is None else story.as_read_at(connection, campaign, nodes, side.as_of)


def _corrected(store: Store, campaign: str, ours: _Side, theirs: _Side, parted: Parting) -> list[dict[str, Any]]:
    """The nodes that both lines share and that read otherwise on one of them, since a side is named by a position."""
    positions = [side.as_of for side in (ours, theirs) if side.as_of is not None]
    if not positions:
        return []
    with store.views.reading("story") as connection:
        nodes = story.corrected_since(connection, campaign, ours.line, parted.depth, min(positions))
        sides = [_as_read(connection, campaign, side, nodes) for side in (ours, theirs)]
    return [
        {
            "node": left.node,
            "moment": left.depth,
            "words": [asdict(stretch) for stretch in word_difference(left.text, right.text)],
        }
        for left, right in zip(*sides, strict=True)
        if left.text != right.text
    ]


def _text(node: StoryNode) -> dict[str, Any]:
    return {"node": node.node, "moment": node.depth, "kind": node.kind, "text": node.text}


def _takes(ours: _Side, theirs: _Side) -> list[dict[str, Any]]:
    """Where the two lines go on from one node with something of the same kind: both texts, word by word."""
    if not ours.since or not theirs.since:
        return []
    left, right = ours.since[0], theirs.since[0]
    if (left.kind == "narration") != (right.kind == "narration"):
        return []
    words = [asdict(stretch) for stretch in word_difference(left.text, right.text)]
    return [{"parent": left.parent, "left": left.node, "right": right.node, "words": words}]


def _state(log: EventLog, campaign: str, ours: _Side, theirs: _Side) -> list[dict[str, Any]]:
    """The leaves in which the states of the two places differ."""
    documents = [_document(log, campaign, side) for side in (ours, theirs)]
    return [{"path": leaf.path, "left": leaf.before, "right": leaf.after} for leaf in changes(*documents)]


def _document(log: EventLog, campaign: str, side: _Side) -> Document:
    return log.state(campaign, side.end.node) if side.as_of is None else log.state_as_of(campaign, side.as_of)[1]


def _prompts(store: Store, campaign: str, ours: _Side, theirs: _Side) -> dict[str, Any]:
    """The newest prompt record of each side, and the sections in which they differ."""
    left, right = (_record(store.log, store.bodies, campaign, side) for side in (ours, theirs))
    sections = [] if left is None or right is None else _sections(left["sections"], right["sections"])
    return {
        "left": None if left is None else left["turn"],
        "right": None if right is None else right["turn"],
        "sections": sections,
    }


def _record(log: EventLog, bodies: Bodies, campaign: str, side: _Side) -> dict[str, Any] | None:
    at: int | None = side.end.node
    for _ in range(3):  # a revised node was made by no turn; its neighbours on the line were
        node = None if at is None else log.node(campaign, at)
        if node is None:
            return None
        if node.turn is not None:
            return _recorded(log, bodies, campaign, node.turn)
        at = node.parent
    return None


def _recorded(log: EventLog, bodies: Bodies, campaign: str, turn: str) -> dict[str, Any] | None:
    try:
        return prompt_answer(log, bodies, campaign, turn)
    except UnknownTurn:  # it ended before anything was recorded
        return None


def _sections(left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    ours = {section["name"]: section for section in left}
    theirs = {section["name"]: section for section in right}
    names = [*ours, *(name for name in theirs if name not in ours)]
    return [_section(ours.get(name), theirs.get(name)) for name in names if not _same(ours.get(name), theirs.get(name))]


def _same(left: dict[str, Any] | None, right: dict[str, Any] | None) -> bool:
    return left is not None and right is not None and left["text"] == right["text"]


def _section(left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
    """A section that differs. The history is compared as text of the story already, so here only by its price."""
    named = left or right or {}
    texts = [section["text"] if section else "" for section in (left, right)]
    words = None if named["name"] == "history" else [asdict(one) for one in word_difference(*texts)]
    return {
        "name": named["name"],
        "label": named["label"],
        "left_tokens": left["tokens"] if left else 0,
        "right_tokens": right["tokens"] if right else 0,
        "words": words,
    }


def _accounts(store: Store, campaign: str, side: _Side) -> dict[str, Any]:
    """What the turns of one side, since the two parted, took."""
    narrations = [node.node for node in side.since if node.kind == "narration" and node.turn is not None]
    with store.views.reading("prompts") as connection:
        accounts = prompts.accounts_of(connection, campaign, narrations)
    return {
        "turns": len(narrations),
        "prompt_tokens": sum(account.prompt_tokens or 0 for account in accounts),
        "completion_tokens": sum(account.completion_tokens or 0 for account in accounts),
        "cached_tokens": sum(account.cached_tokens or 0 for account in accounts),
        "truncation_suspected": sum(account.status == "truncation_suspected" for account in accounts),
        "unknown": sum(account.status == "unknown" for account in accounts) + len(narrations) - len(accounts),
    }
