"""The decision tables: the slice of a story that a command needs, and the fold that keeps them right.

`load` reads a handful of rows by key, however long the story is; `fold` applies one event. Folding every event of the
log into empty tables gives the same rows, which tests compare.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import assert_never, cast

import orjson
from sqlalchemy import Connection, and_, bindparam, case, delete, outerjoin, select, update

from adapters.event_log import places, tables
from adapters.event_log.prepared import Prepared, Row, inserting
from adapters.event_log.tables import branch, campaign, event, idempotency_key, node, setting, turn
from domain.campaign.commands import (
    AcceptNarration,
    CampaignCommand,
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
    StartCampaign,
    Undo,
)
from domain.campaign.events import (
    BranchNamed,
    CampaignDeleted,
    CampaignRevised,
    CampaignStarted,
    CancelRequested,
    HeadMoved,
    NarrationAccepted,
    NodeRevised,
    PlayerActed,
    SavePointRemoved,
    SavePointSet,
    TextCorrected,
    TurnFailed,
    TurnOpened,
)
from domain.campaign.facts import OPENING, CampaignFacts, NodeFacts, StoryEvent, TurnFacts
from domain.campaign.settings import CampaignSettings
from domain.campaign.story_tree import AHEAD
from domain.event import DomainEvent, Recorded
from domain.installation import SettingsChanged
from domain.prompt.events import PromptSent, ReplyAccounted

LONGEST_APPEND = 16
"""The most events that one append writes for a turn: what closes it is followed by its account within so many."""

_RUNNING = 2**62
_KNOWN_SETTINGS = 64
_THIS_CAMPAIGN = campaign.c.campaign == bindparam("of")
_THIS_NODE = and_(node.c.campaign == bindparam("of"), node.c.node == bindparam("at"))
_THIS_TURN = and_(turn.c.campaign == bindparam("of"), turn.c.turn == bindparam("named"))

_CAMPAIGN = Prepared(select(campaign).where(_THIS_CAMPAIGN))
_NODE = Prepared(select(node).where(_THIS_NODE))
_TURN = Prepared(select(turn).where(_THIS_TURN))
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
    row = _CAMPAIGN.row(connection, {"of": command.campaign})
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
            return _with_nodes(connection, facts, _family(connection, facts, command.node))
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
        case _:
            assert_never(command)


def load_campaign(connection: Connection, name: str) -> CampaignFacts | None:
    """The facts of a campaign without nodes and turns, None when there is none."""
    row = _CAMPAIGN.row(connection, {"of": name})
    return None if row is None else _campaign_facts(row)


def load_node(connection: Connection, name: str, at: int) -> NodeFacts | None:
    """One node, without what the player said there."""
    row = _NODE.row(connection, {"of": name, "at": at})
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
def _settings(stored: str) -> CampaignSettings:
    return CampaignSettings.model_validate_json(stored)


def _campaign_facts(row: Row) -> CampaignFacts:
    return CampaignFacts(
        campaign=row["campaign"],
        settings=_settings(row["settings"]),
        head=row["head"],
        tip=row["tip"],
        last_node=row["last_node"],
        last_branch=row["last_branch"],
        open_turn=row["open_turn"],
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
    return CampaignFacts(**{**vars(facts), "nodes": {parent.node: parent}})


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
    return _node_facts(_NODE.one(connection, {"of": name, "at": at}), "")


def _read_head(connection: Connection, name: str, at: int) -> NodeFacts:
    row = _NODE.one(connection, {"of": name, "at": at})
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


_NEW_CAMPAIGN = inserting(campaign, without=("open_turn", "last_prompt"))
_NEW_NODE = inserting(node)
_NEW_BRANCH = inserting(branch, without=("name", "folded"))
_NEW_TURN = inserting(
    turn,
    without=("player_node", "narration", "prompt_at", "floor_depth", "history_budget", "ended", "closed_at"),
)
_NEW_KEY = inserting(idempotency_key)
_NEW_SETTING = inserting(setting)
_ONE_CHILD_MORE = Prepared(update(node).where(_THIS_NODE).values(children=node.c.children + 1))
_FORGET_KEY = Prepared(
    delete(idempotency_key).where(
        idempotency_key.c.campaign == bindparam("of"), idempotency_key.c.key == bindparam("named")
    )
)
_FORGET_SETTING = Prepared(delete(setting).where(setting.c.name == bindparam("named")))


_SETTINGS = Prepared(
    update(campaign)
    .where(_THIS_CAMPAIGN)
    .values(settings=bindparam("to_settings"), revised_at=bindparam("to_revised_at"))
)
_GROW = Prepared(
    update(campaign)
    .where(_THIS_CAMPAIGN)
    .values(
        last_node=case(
            (campaign.c.last_node > bindparam("new_node"), campaign.c.last_node), else_=bindparam("new_node")
        ),
        last_branch=case(
            (campaign.c.last_branch > bindparam("new_branch"), campaign.c.last_branch), else_=bindparam("new_branch")
        ),
    )
)
_MOVE = Prepared(update(campaign).where(_THIS_CAMPAIGN).values(head=bindparam("to_head"), tip=bindparam("to_tip")))
_OPEN = Prepared(update(campaign).where(_THIS_CAMPAIGN).values(open_turn=bindparam("to_turn")))
_CLOSE = Prepared(
    update(campaign).where(_THIS_CAMPAIGN, campaign.c.open_turn == bindparam("ended_turn")).values(open_turn=None)
)
_PROMPT = Prepared(update(campaign).where(_THIS_CAMPAIGN).values(last_prompt=bindparam("to_prompt")))
_TEXT = Prepared(update(node).where(_THIS_NODE).values(text_at=bindparam("to_position")))
_LEAF = Prepared(
    update(branch)
    .where(branch.c.campaign == bindparam("of"), branch.c.branch == bindparam("in_branch"))
    .values(leaf=bindparam("to_leaf"), leaf_depth=bindparam("to_depth"), headed_at=bindparam("to_headed"))
)
_TURN_PLAYER = Prepared(update(turn).where(_THIS_TURN).values(player_node=bindparam("to_node")))
_TURN_PROMPT = Prepared(
    update(turn)
    .where(_THIS_TURN)
    .values(prompt_at=bindparam("to_prompt"), floor_depth=bindparam("to_floor"), history_budget=bindparam("to_budget"))
)
_TURN_CANCEL = Prepared(update(turn).where(_THIS_TURN).values(cancel_requested=True))
_TURN_END = Prepared(
    update(turn)
    .where(_THIS_TURN)
    .values(ended=bindparam("to_end"), closed_at=bindparam("to_position"), narration=bindparam("to_node"))
)


def fold(connection: Connection, recorded: Recorded) -> None:
    """Brings the tables up to one more event."""
    happened = recorded.event
    if isinstance(happened, SettingsChanged):
        return _fold_settings(connection, recorded.position, happened)
    if isinstance(happened, CampaignDeleted):
        return drop_campaign(connection, happened.campaign)
    return _fold_story(connection, recorded, _story_event(happened))


def _story_event(happened: DomainEvent) -> StoryEvent:
    return cast("StoryEvent", happened)


def _fold_story(  # noqa: C901, PLR0912  # only dispatches
    connection: Connection, recorded: Recorded, happened: StoryEvent
) -> None:
    of = {"of": recorded.stream}
    match happened:
        case CampaignStarted():
            _fold_start(connection, recorded, happened)
        case CampaignRevised():
            _fold_revision(connection, recorded, happened)
        case TurnOpened():
            _fold_opening(connection, recorded, happened)
        case PlayerActed():
            _add_node(connection, recorded, happened, happened.kind)
            _MOVE.run(connection, of | {"to_head": happened.node, "to_tip": happened.node})
            _TURN_PLAYER.run(connection, of | {"named": happened.turn, "to_node": happened.node})
        case NarrationAccepted():
            _fold_narration(connection, recorded, happened)
        case PromptSent():
            _fold_prompt(connection, recorded, happened)
        case NodeRevised():
            _add_node(connection, recorded, happened, happened.kind)
            _MOVE.run(connection, of | {"to_head": happened.node, "to_tip": happened.node})
        case TextCorrected():
            _TEXT.run(connection, of | {"at": happened.node, "to_position": recorded.position})
        case HeadMoved():
            _MOVE.run(connection, of | {"to_head": happened.to_node, "to_tip": happened.tip})
            places.fold_move(connection, recorded, happened)
        case SavePointSet() | SavePointRemoved() | BranchNamed():
            places.fold_name(connection, recorded, happened)
        case CancelRequested():
            _TURN_CANCEL.run(connection, of | {"named": happened.turn})
        case TurnFailed():
            _end_turn(connection, recorded, happened.turn, happened.stage, None)
        case ReplyAccounted():
            pass
        case _:
            assert_never(happened)


def _fold_settings(connection: Connection, position: int, happened: SettingsChanged) -> None:
    for name, value in happened.changes.items():
        _FORGET_SETTING.run(connection, {"named": name})
        _NEW_SETTING.run(connection, {"name": name, "value": orjson.dumps(value).decode(), "position": position})


def drop_campaign(connection: Connection, name: str) -> None:
    """Removes every row of a campaign."""
    for table in tables.DECISION_TABLES:
        if "campaign" in table.c:
            connection.execute(delete(table).where(table.c.campaign == name))


def _fold_start(connection: Connection, recorded: Recorded, happened: CampaignStarted) -> None:
    row = {
        "campaign": recorded.stream,
        "settings": happened.settings.model_dump_json(),
        "created_at": recorded.at,
        "revised_at": recorded.at,
        "head": OPENING,
        "tip": OPENING,
        "last_node": OPENING,
        "last_branch": 1,
    }
    _NEW_CAMPAIGN.run(connection, row)
    first = {"branch": 1, "parent_branch": None, "fork_depth": 0}
    leaf = {"leaf": OPENING, "leaf_depth": 1, "headed_at": recorded.position}
    _NEW_BRANCH.run(connection, {"campaign": recorded.stream, **first, **leaf})
    opening = {"node": OPENING, "parent": None, "kind": "opening", "branch": 1, "depth": 1, "turn": None}
    _NEW_NODE.run(connection, opening | {"campaign": recorded.stream, "children": 0, "text_at": recorded.position})


def _fold_revision(connection: Connection, recorded: Recorded, happened: CampaignRevised) -> None:
    row = _CAMPAIGN.one(connection, {"of": recorded.stream})
    settings = happened.changes.applied_to(_settings(row["settings"]))
    _SETTINGS.run(
        connection,
        {"of": recorded.stream, "to_settings": settings.model_dump_json(), "to_revised_at": recorded.at},
    )


def _fold_opening(connection: Connection, recorded: Recorded, happened: TurnOpened) -> None:
    row = {
        "campaign": recorded.stream,
        "turn": happened.turn,
        "operation": happened.operation,
        "kind": happened.kind,
        "parent": happened.parent,
        "retry_of": happened.retry_of,
        "process": happened.process,
        "request_hash": happened.request_hash,
        "idempotency_key": happened.idempotency_key,
        "cancel_requested": False,
        "opened_at": recorded.position,
    }
    _NEW_TURN.run(connection, row)
    _OPEN.run(connection, {"of": recorded.stream, "to_turn": happened.turn})
    if happened.idempotency_key is not None:
        _FORGET_KEY.run(connection, {"of": recorded.stream, "named": happened.idempotency_key})
        _NEW_KEY.run(connection, {"campaign": recorded.stream, "key": happened.idempotency_key, "turn": happened.turn})


def _fold_narration(connection: Connection, recorded: Recorded, happened: NarrationAccepted) -> None:
    _add_node(connection, recorded, happened, "narration")
    if not happened.late:
        _MOVE.run(connection, {"of": recorded.stream, "to_head": happened.node, "to_tip": happened.node})
    _end_turn(connection, recorded, happened.turn, "accepted", happened.node)


def _fold_prompt(connection: Connection, recorded: Recorded, happened: PromptSent) -> None:
    floor = happened.history.floor_depth or 1
    _TURN_PROMPT.run(
        connection,
        {
            "of": recorded.stream,
            "named": happened.turn,
            "to_prompt": recorded.position,
            "to_floor": floor,
            "to_budget": happened.history.budget,
        },
    )
    _PROMPT.run(connection, {"of": recorded.stream, "to_prompt": recorded.position})


def _end_turn(connection: Connection, recorded: Recorded, named: str, end: str, narration: int | None) -> None:
    of = {"of": recorded.stream}
    ending = {"named": named, "to_end": end, "to_position": recorded.position, "to_node": narration}
    _TURN_END.run(connection, of | ending)
    _CLOSE.run(connection, of | {"ended_turn": named})


def _add_node(
    connection: Connection, recorded: Recorded, placed: PlayerActed | NarrationAccepted | NodeRevised, kind: str
) -> None:
    of = {"of": recorded.stream}
    parent = _NODE.one(connection, of | {"at": placed.parent})
    row = {
        "campaign": recorded.stream,
        "node": placed.node,
        "parent": placed.parent,
        "kind": kind,
        "branch": placed.branch,
        "depth": placed.depth,
        "turn": recorded.turn,
        "children": 0,
        "text_at": recorded.position,
    }
    _NEW_NODE.run(connection, row)
    _ONE_CHILD_MORE.run(connection, of | {"at": placed.parent})
    late = isinstance(placed, NarrationAccepted) and placed.late
    headed = 0 if late else recorded.position
    if parent["branch"] == placed.branch:
        end = {"to_leaf": placed.node, "to_depth": placed.depth, "to_headed": headed}
        _LEAF.run(connection, of | {"in_branch": placed.branch, **end})
    else:
        fork = {"branch": placed.branch, "parent_branch": parent["branch"], "fork_depth": parent["depth"]}
        end = {"leaf": placed.node, "leaf_depth": placed.depth, "headed_at": headed}
        _NEW_BRANCH.run(connection, {"campaign": recorded.stream, **fork, **end})
    _GROW.run(connection, of | {"new_node": placed.node, "new_branch": placed.branch})
