"""Slices of a story: the handful of rows, found by key, that a command is decided on, however long the story is."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import assert_never

import orjson
from sqlalchemy import Connection, and_, bindparam, outerjoin, select

from adapters.event_log import places, states
from adapters.event_log.prepared import Prepared, Row
from adapters.event_log.tables import campaign, event, idempotency_key, node, stream_head, turn, visual_profile
from domain.campaign.commands import (
    AcceptNarration,
    AdoptExtractor,
    CampaignCommand,
    CorrectState,
    CorrectText,
    FailTurn,
    MoveHead,
    NameBranch,
    OpenRetry,
    OpenTurn,
    RecordPrompt,
    Redo,
    RemoveSavePoint,
    RequestCancel,
    ReviseCampaign,
    ReviseNode,
    SetSavePoint,
    SetVisualProfile,
    StartCampaign,
    Undo,
)
from domain.campaign.facts import CampaignFacts, NodeFacts, TurnFacts
from domain.campaign.settings import CampaignSettings
from domain.campaign.story_tree import AHEAD
from domain.narrative.visual_profile import VisualProfile

LONGEST_APPEND = 16
"""The most events that one append writes for a turn: what closes it is followed by its account within so many."""

_RUNNING = 2**62
_KNOWN_SETTINGS = 64
THIS_CAMPAIGN = campaign.c.campaign == bindparam("of")
THIS_NODE = and_(node.c.campaign == bindparam("of"), node.c.node == bindparam("at"))
THIS_TURN = and_(turn.c.campaign == bindparam("of"), turn.c.turn == bindparam("named"))

CAMPAIGN = Prepared(select(campaign).where(THIS_CAMPAIGN))
NODE = Prepared(select(node).where(THIS_NODE))
_VERSION = Prepared(select(stream_head.c.version).where(stream_head.c.stream == bindparam("of")))
_PROFILES = Prepared(
    select(visual_profile).where(visual_profile.c.campaign == bindparam("of")).order_by(visual_profile.c.entity)
)
_TURN = Prepared(select(turn).where(THIS_TURN))
_TURN_OF_KEY = Prepared(
    select(turn)
    .join(idempotency_key, and_(idempotency_key.c.campaign == turn.c.campaign, idempotency_key.c.turn == turn.c.turn))
    .where(idempotency_key.c.campaign == bindparam("of"), idempotency_key.c.key == bindparam("key"))
)
# An outer join, so that SQLite goes through the campaigns, and not through every turn that there ever was.
_OPEN_TURNS = Prepared(
    select(turn)
    .select_from(
        outerjoin(campaign, turn, and_(campaign.c.campaign == turn.c.campaign, campaign.c.open_turn == turn.c.turn))
    )
    .where(campaign.c.open_turn.is_not(None))
)
_TURN_EVENTS = Prepared(
    select(event)
    .where(
        event.c.position.between(bindparam("first"), bindparam("last")),
        # Not the bare column: SQLite would follow the stream's index through the whole story.
        event.c.stream + "" == bindparam("of"),
        event.c.turn == bindparam("named"),
    )
    .order_by(event.c.position)
)
_PAYLOAD = Prepared(select(event.c.payload).where(event.c.position == bindparam("at")))


def load(connection: Connection, command: CampaignCommand) -> CampaignFacts:  # noqa: C901, PLR0912  # only dispatches
    """The facts that the command is decided on. A campaign that was never started has facts without settings."""
    row = CAMPAIGN.row(connection, {"of": command.campaign})
    if row is None:
        return CampaignFacts(command.campaign)
    facts = _campaign_facts(row)
    match command:
        case StartCampaign() | ReviseCampaign():
            return facts
        case OpenTurn() | OpenRetry():
            return _for_opening(connection, facts, command.idempotency_key)
        case RecordPrompt():
            return _with_turn(connection, facts, command.prompt.turn)
        case AcceptNarration():
            return _with_parent_of(connection, _with_turn(connection, facts, command.turn), command.turn)
        case FailTurn() | RequestCancel():
            return _with_turn(connection, facts, command.turn)
        case Undo():
            return _with_nodes(connection, facts, _above(connection, facts, facts.head))
        case Redo():
            return _for_redo(connection, facts)
        case MoveHead():
            return _for_move(connection, facts, command)
        case ReviseNode():
            family = _family(connection, facts, command.node)
            parents = [node.node for node in family if node.node != command.node]
            return _with_states(connection, _with_nodes(connection, facts, family), parents)
        case CorrectText():
            return _with_nodes(connection, facts, _existing(connection, facts, command.node))
        case SetSavePoint():
            place = facts.head if command.node is None else command.node
            return _for_naming(
                connection, _with_nodes(connection, facts, _existing(connection, facts, place)), command.name
            )
        case RemoveSavePoint():
            return _with_save_point(connection, facts, command.save_point)
        case NameBranch():
            named = _for_naming(connection, facts, command.name)
            own = places.name_of_branch(connection, facts.campaign, command.branch)
            return replace(named, branch_names={**named.branch_names, **own})
        case CorrectState():
            return _with_states(connection, _with_nodes(connection, facts, ()), (facts.head,))
        case AdoptExtractor():
            return replace(facts, version=_VERSION.value(connection, {"of": facts.campaign}))
        case SetVisualProfile():
            return replace(facts, profiles=load_profiles(connection, facts.campaign))
        case _:
            assert_never(command)


def load_campaign(connection: Connection, name: str) -> CampaignFacts | None:
    """The facts of a campaign without nodes and turns, None when there is none."""
    row = CAMPAIGN.row(connection, {"of": name})
    return None if row is None else _campaign_facts(row)


def load_profiles(connection: Connection, name: str) -> dict[str, VisualProfile]:
    """The visual profiles of a campaign, by entity."""
    rows = _PROFILES.rows(connection, {"of": name})
    return {row["entity"]: VisualProfile.model_validate_json(row["profile"]) for row in rows}


def load_node(connection: Connection, name: str, at: int) -> NodeFacts | None:
    """One node, without what the player said there."""
    row = NODE.row(connection, {"of": name, "at": at})
    return None if row is None else _node_facts(row, "")


def load_turn(connection: Connection, name: str, named: str) -> TurnFacts | None:
    """One turn."""
    row = _TURN.row(connection, {"of": name, "named": named})
    return None if row is None else _turn_facts(row)


def load_open_turns(connection: Connection) -> list[tuple[str, TurnFacts]]:
    """The running turns of all campaigns."""
    return [(row["campaign"], _turn_facts(row)) for row in _OPEN_TURNS.rows(connection, {})]


def load_turn_span(connection: Connection, name: str, named: str) -> list[Row] | None:
    """The rows of every event of a turn, in order; None when there is no such turn."""
    span = _TURN.row(connection, {"of": name, "named": named})
    if span is None:
        return None
    last = _RUNNING if span["closed_at"] is None else span["closed_at"] + LONGEST_APPEND
    bounds = {"of": name, "named": named, "first": span["opened_at"], "last": last}
    return _TURN_EVENTS.rows(connection, bounds)


@lru_cache(maxsize=_KNOWN_SETTINGS)
def settings_of(stored: str) -> CampaignSettings:
    return CampaignSettings.model_validate_json(stored)


def _campaign_facts(row: Row) -> CampaignFacts:
    return CampaignFacts(
        campaign=row["campaign"],
        settings=settings_of(row["settings"]),
        head=row["head"],
        tip=row["tip"],
        last_node=row["last_node"],
        last_branch=row["last_branch"],
        open_turn=row["open_turn"],
        extractor=row["extractor"],
    )


def _for_opening(connection: Connection, facts: CampaignFacts, key: str | None) -> CampaignFacts:
    """With the head and its words, its parent without, and the turn that the idempotency key was used for."""
    head = _read_head(connection, facts.campaign, facts.head)
    nodes = {head.node: head}
    if head.parent is not None:
        nodes[head.parent] = _read_node(connection, facts.campaign, head.parent)
    row = None if key is None else _TURN_OF_KEY.row(connection, {"of": facts.campaign, "key": key})
    turns = {} if row is None else {row["turn"]: _turn_facts(row)}
    keys = {str(key): name for name in turns}
    return CampaignFacts(**{**vars(facts), "nodes": nodes, "turns": turns, "keys": keys})


def _with_turn(connection: Connection, facts: CampaignFacts, named: str) -> CampaignFacts:
    known = load_turn(connection, facts.campaign, named)
    turns = {} if known is None else {named: known}
    return CampaignFacts(**{**vars(facts), "turns": turns})


def _with_parent_of(connection: Connection, facts: CampaignFacts, named: str) -> CampaignFacts:
    known = facts.turns.get(named)
    if known is None:
        return facts
    parent = _read_node(connection, facts.campaign, known.parent)
    return _with_states(connection, replace(facts, nodes={parent.node: parent}), (parent.node,))


def _with_states(connection: Connection, facts: CampaignFacts, nodes: Iterable[int]) -> CampaignFacts:
    return replace(facts, states={at: states.document_at(connection, facts.campaign, at) for at in nodes})


def _with_nodes(connection: Connection, facts: CampaignFacts, nodes: Iterable[NodeFacts]) -> CampaignFacts:
    head = _read_node(connection, facts.campaign, facts.head)
    return replace(facts, nodes={**facts.nodes, head.node: head, **{found.node: found for found in nodes}})


def _existing(connection: Connection, facts: CampaignFacts, at: int) -> list[NodeFacts]:
    found = load_node(connection, facts.campaign, at)
    return [] if found is None else [found]


def _above(connection: Connection, facts: CampaignFacts, at: int) -> list[NodeFacts]:
    """The two nodes above one, as far as there are."""
    found: list[NodeFacts] = []
    parent = _read_node(connection, facts.campaign, at).parent
    while parent is not None and len(found) < AHEAD:
        found.append(_read_node(connection, facts.campaign, parent))
        parent = found[-1].parent
    return found


def _family(connection: Connection, facts: CampaignFacts, at: int) -> list[NodeFacts]:
    """A node with its parent, as far as there are."""
    found = _existing(connection, facts, at)
    if found and found[0].parent is not None:
        found.append(_read_node(connection, facts.campaign, found[0].parent))
    return found


def _for_redo(connection: Connection, facts: CampaignFacts) -> CampaignFacts:
    head, tip = (_read_node(connection, facts.campaign, at) for at in (facts.head, facts.tip))
    ahead = places.ahead(connection, facts.campaign, head, tip)
    nodes = [_read_node(connection, facts.campaign, at) for at in ahead]
    return replace(_with_nodes(connection, facts, nodes), ahead=ahead)


def _for_move(connection: Connection, facts: CampaignFacts, command: MoveHead) -> CampaignFacts:
    facts = _with_save_point(connection, facts, command.save_point)
    points = tuple(facts.save_points.values())
    target = points[0].node if points else command.node
    place = None if target is None else load_node(connection, facts.campaign, target)
    if place is None:
        return facts
    tip = _read_node(connection, facts.campaign, facts.tip)
    tip_there = places.tip_at(connection, facts.campaign, place, tip)
    return replace(_with_nodes(connection, facts, [place]), tip_there=tip_there)


def _with_save_point(connection: Connection, facts: CampaignFacts, named: str | None) -> CampaignFacts:
    point = None if named is None else places.save_point_named(connection, facts.campaign, named)
    return facts if point is None else replace(facts, save_points={point.save_point: point})


def _for_naming(connection: Connection, facts: CampaignFacts, name: str) -> CampaignFacts:
    """With whatever bears the name already."""
    return replace(
        facts,
        save_points=places.save_points_called(connection, facts.campaign, name),
        branch_names=places.branches_called(connection, facts.campaign, name),
    )


def _read_node(connection: Connection, name: str, at: int) -> NodeFacts:
    return _node_facts(NODE.one(connection, {"of": name, "at": at}), "")


def _read_head(connection: Connection, name: str, at: int) -> NodeFacts:
    row = NODE.one(connection, {"of": name, "at": at})
    said = _said(connection, row["text_at"]) if row["kind"] in ("do", "say", "story") else ""
    return _node_facts(row, said)


def _said(connection: Connection, position: int) -> str:
    return str(orjson.loads(_PAYLOAD.value(connection, {"at": position}))["text"])


def _node_facts(row: Row, said: str) -> NodeFacts:
    return NodeFacts(
        node=row["node"],
        parent=row["parent"],
        kind=row["kind"],
        branch=row["branch"],
        depth=row["depth"],
        turn=row["turn"],
        children=row["children"],
        said=said,
    )


def _turn_facts(row: Row) -> TurnFacts:
    return TurnFacts(
        turn=row["turn"],
        operation=row["operation"],
        kind=row["kind"],
        parent=row["parent"],
        retry_of=row["retry_of"],
        process=row["process"],
        request_hash=row["request_hash"],
        idempotency_key=row["idempotency_key"],
        player_node=row["player_node"],
        narration=row["narration"],
        prompt_sent=row["prompt_at"] is not None,
        cancel_requested=bool(row["cancel_requested"]),
        ended=row["ended"],
    )
