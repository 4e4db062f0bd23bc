"""The fold that keeps the decision tables right, an event at a time.

Folding every event of the log into empty tables gives the same rows, which tests compare.
"""

from typing import assert_never, cast

import orjson
from sqlalchemy import Connection, bindparam, case, delete, update

from adapters.event_log import places, states, tables
from adapters.event_log.prepared import Prepared, inserting
from adapters.event_log.slices import CAMPAIGN, NODE, THIS_CAMPAIGN, THIS_NODE, THIS_TURN, settings_of
from adapters.event_log.tables import branch, campaign, idempotency_key, node, setting, turn, visual_profile
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
from domain.campaign.facts import OPENING, StoryEvent
from domain.event import DomainEvent, Recorded
from domain.installation import SettingsChanged
from domain.narrative.events import ExtractorAdopted, NarrationReread, ProposalJudged, StateCorrected, VisualProfileSet
from domain.prompt.events import PromptSent, ReplyAccounted

_NEW_CAMPAIGN = inserting(campaign, without=("played_at", "extractor", "adopted_at", "open_turn", "last_prompt"))
_NEW_NODE = inserting(node, without=("judged_at", "reread_at"))
_NEW_BRANCH = inserting(branch, without=("name", "folded"))
_NEW_TURN = inserting(
    turn,
    without=("player_node", "narration", "prompt_at", "floor_depth", "history_budget", "ended", "closed_at"),
)
_NEW_KEY = inserting(idempotency_key)
_NEW_PROFILE = inserting(visual_profile)
_FORGET_PROFILE = Prepared(
    delete(visual_profile).where(
        visual_profile.c.campaign == bindparam("of"), visual_profile.c.entity == bindparam("named")
    )
)
_NEW_SETTING = inserting(setting)
_ONE_CHILD_MORE = Prepared(update(node).where(THIS_NODE).values(children=node.c.children + 1))
_FORGET_KEY = Prepared(
    delete(idempotency_key).where(
        idempotency_key.c.campaign == bindparam("of"), idempotency_key.c.key == bindparam("named")
    )
)
_FORGET_SETTING = Prepared(delete(setting).where(setting.c.name == bindparam("named")))


_SETTINGS = Prepared(
    update(campaign)
    .where(THIS_CAMPAIGN)
    .values(settings=bindparam("to_settings"), revised_at=bindparam("to_revised_at"))
)
_GROW = Prepared(
    update(campaign)
    .where(THIS_CAMPAIGN)
    .values(
        last_node=case(
            (campaign.c.last_node > bindparam("new_node"), campaign.c.last_node), else_=bindparam("new_node")
        ),
        last_branch=case(
            (campaign.c.last_branch > bindparam("new_branch"), campaign.c.last_branch), else_=bindparam("new_branch")
        ),
        turns=campaign.c.turns + bindparam("more_turns"),
    )
)
_MOVE = Prepared(update(campaign).where(THIS_CAMPAIGN).values(head=bindparam("to_head"), tip=bindparam("to_tip")))
_OPEN = Prepared(
    update(campaign).where(THIS_CAMPAIGN).values(open_turn=bindparam("to_turn"), played_at=bindparam("to_played_at"))
)
_CLOSE = Prepared(
    update(campaign).where(THIS_CAMPAIGN, campaign.c.open_turn == bindparam("ended_turn")).values(open_turn=None)
)
_PROMPT = Prepared(update(campaign).where(THIS_CAMPAIGN).values(last_prompt=bindparam("to_prompt")))
_TEXT = Prepared(update(node).where(THIS_NODE).values(text_at=bindparam("to_position")))
_LEAF = Prepared(
    update(branch)
    .where(branch.c.campaign == bindparam("of"), branch.c.branch == bindparam("in_branch"))
    .values(leaf=bindparam("to_leaf"), leaf_depth=bindparam("to_depth"), headed_at=bindparam("to_headed"))
)
_TURN_PLAYER = Prepared(update(turn).where(THIS_TURN).values(player_node=bindparam("to_node")))
_TURN_PROMPT = Prepared(
    update(turn)
    .where(THIS_TURN)
    .values(prompt_at=bindparam("to_prompt"), floor_depth=bindparam("to_floor"), history_budget=bindparam("to_budget"))
)
_TURN_CANCEL = Prepared(update(turn).where(THIS_TURN).values(cancel_requested=True))
_TURN_END = Prepared(
    update(turn)
    .where(THIS_TURN)
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
        case ProposalJudged() | StateCorrected():
            states.fold_judgement(connection, recorded.stream, recorded.position, happened)
        case NarrationReread():
            states.fold_rereading(connection, recorded.stream, recorded.position, happened)
        case ExtractorAdopted():
            states.fold_adoption(connection, recorded.stream, recorded.position, happened)
        case VisualProfileSet():
            _fold_profile(connection, recorded.stream, happened)
        case ReplyAccounted():
            pass
        case _:
            assert_never(happened)


def _fold_settings(connection: Connection, position: int, happened: SettingsChanged) -> None:
    for name, value in happened.changes.items():
        _FORGET_SETTING.run(connection, {"named": name})
        _NEW_SETTING.run(connection, {"name": name, "value": orjson.dumps(value).decode(), "position": position})


def _fold_profile(connection: Connection, of: str, happened: VisualProfileSet) -> None:
    _FORGET_PROFILE.run(connection, {"of": of, "named": happened.entity})
    profile = happened.profile.model_dump_json()
    _NEW_PROFILE.run(connection, {"campaign": of, "entity": happened.entity, "profile": profile})


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
        "turns": 0,
        "last_state": states.NOTHING,
    }
    _NEW_CAMPAIGN.run(connection, row)
    first = {"branch": 1, "parent_branch": None, "fork_depth": 0}
    leaf = {"leaf": OPENING, "leaf_depth": 1, "headed_at": recorded.position}
    _NEW_BRANCH.run(connection, {"campaign": recorded.stream, **first, **leaf})
    opening = {"node": OPENING, "parent": None, "kind": "opening", "branch": 1, "depth": 1, "turn": None}
    _NEW_NODE.run(
        connection, opening | {"campaign": recorded.stream, "children": 0, "text_at": recorded.position, "state": 0}
    )


def _fold_revision(connection: Connection, recorded: Recorded, happened: CampaignRevised) -> None:
    row = CAMPAIGN.one(connection, {"of": recorded.stream})
    settings = happened.changes.applied_to(settings_of(row["settings"]))
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
    _OPEN.run(connection, {"of": recorded.stream, "to_turn": happened.turn, "to_played_at": recorded.at})
    if happened.idempotency_key is not None:
        _FORGET_KEY.run(connection, {"of": recorded.stream, "named": happened.idempotency_key})
        _NEW_KEY.run(connection, {"campaign": recorded.stream, "key": happened.idempotency_key, "turn": happened.turn})


def _fold_narration(connection: Connection, recorded: Recorded, happened: NarrationAccepted) -> None:
    _add_node(connection, recorded, happened, "narration")
    if not happened.late:
        _MOVE.run(connection, {"of": recorded.stream, "to_head": happened.node, "to_tip": happened.node})
    _end_turn(connection, recorded, happened.turn, "accepted", happened.node)


def _fold_prompt(connection: Connection, recorded: Recorded, happened: PromptSent) -> None:
    if happened.purpose != "narration":
        return
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
    parent = NODE.one(connection, of | {"at": placed.parent})
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
        "state": parent["state"],
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
    told = int(isinstance(placed, NarrationAccepted))
    _GROW.run(connection, of | {"new_node": placed.node, "new_branch": placed.branch, "more_turns": told})
