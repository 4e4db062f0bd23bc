"""Why a leaf of the state is what it is, and what it was before: the events, and the words that brought them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from api.use_cases.state import node_at
from domain.campaign.events import NarrationAccepted
from domain.errors import InvalidInput
from domain.event import Recorded
from domain.log import EventLog
from domain.narrative.changes import leaves
from domain.narrative.course import Told
from domain.narrative.document import Document
from domain.narrative.events import NarrationReread, ProposalJudged, StateCorrected
from domain.narrative.history import Setting, cause_of, settings
from domain.narrative.passages import Passage
from domain.narrative.quotation import Reply, quotation
from domain.narrative.rules import By

_LISTED = 20
"""How many paths are named to who names one that is none."""
_SHOWN_CHARACTERS = 100

_Judged = ProposalJudged | StateCorrected | NarrationReread


def why_answer(log: EventLog, campaign: str, path: str, at: int | None = None) -> dict[str, Any]:
    """What gave a leaf its value at a node, or at the head: the event, who brought it, where, and in which words.

    Of a leaf that is no more, what took it away. All but the value is null where nothing has set it: the scene is so
    when a story begins. Raises UnknownCampaign, UnknownNode, and InvalidInput for what is and was no leaf.
    """
    place = node_at(log, campaign, at).node
    document, course = log.state(campaign, place), _course(log, campaign, place)
    standing = dict(leaves(document, path))
    setting = cause_of(_told(course), path)
    if setting is None and path not in standing:
        raise _no_leaf(document, path)
    explained = _UNEXPLAINED if setting is None else _explained(log, campaign, course[setting.told.at], setting)
    return {"path": path, "value": standing.get(path), **explained}


def history_answer(log: EventLog, campaign: str, path: str, at: int | None = None) -> dict[str, Any]:
    """The changes of a leaf, or of all below a path, along the line to a node, or to the head; oldest first.

    Raises UnknownCampaign, UnknownNode, and InvalidInput for what neither is nor was there.
    """
    place = node_at(log, campaign, at)
    document, course = log.state(campaign, place.node), _course(log, campaign, place.node)
    found = list(settings(_told(course), path))
    if not found and next(leaves(document, path), None) is None:
        raise _no_leaf(document, path)
    changed = [_change(log, campaign, course[setting.told.at], setting) for setting in found if setting.changed]
    return {"path": path, "at": place.node, "moment": place.depth, "changes": changed}


@dataclass(frozen=True)
class _Step:
    """An event of a state's course, with its place in the log."""

    recorded: Recorded
    judged: _Judged

    @property
    def told(self) -> Told:
        by: By = "player" if isinstance(self.judged, StateCorrected) else "narrator"
        return Told(self.judged.node, self.judged.accepted, by, self.recorded.position)


def _course(log: EventLog, campaign: str, node: int) -> dict[int, _Step]:
    """What made the state at a node, oldest first, by position in the log."""
    return {
        recorded.position: _Step(recorded, recorded.event)
        for recorded in log.state_course(campaign, node)
        if isinstance(recorded.event, _Judged)
    }


def _told(course: Mapping[int, _Step]) -> Iterator[Told]:
    return (step.told for step in course.values())


def _change(log: EventLog, campaign: str, step: _Step, setting: Setting) -> dict[str, Any]:
    changed = {"path": setting.path, "before": setting.before, "after": setting.after}
    return {**changed, **_brought(log, campaign, step, setting)}


def _brought(log: EventLog, campaign: str, step: _Step, setting: Setting) -> dict[str, Any]:
    """The event that set a leaf, who brought it, and its place in the story and in the log."""
    return {
        "event": dict(setting.event),
        "by": setting.told.by,
        "turn": _turn(log, campaign, step.judged),
        "node": step.judged.node,
        "moment": step.judged.depth,
        "position": step.recorded.position,
        "at": step.recorded.at,
    }


def _explained(log: EventLog, campaign: str, step: _Step, setting: Setting) -> dict[str, Any]:
    (node,) = log.end_of_line(campaign, step.judged.node, limit=1)
    return {
        **_brought(log, campaign, step, setting),
        "note": step.judged.note if isinstance(step.judged, StateCorrected) else None,
        "words": _words(log, campaign, step.judged, setting),
        "prose": node.text,
    }


_UNEXPLAINED = dict.fromkeys(
    ("event", "by", "turn", "node", "moment", "position", "at", "note", "words", "prose"),
)


def _turn(log: EventLog, campaign: str, judged: _Judged) -> str | None:
    """The turn whose reply, or whose second request, brought it; None for what the player entered."""
    if isinstance(judged, ProposalJudged):
        return judged.turn
    return log.node(campaign, judged.node).turn if isinstance(judged, NarrationReread) else None


def _words(log: EventLog, campaign: str, judged: _Judged, setting: Setting) -> dict[str, Any] | None:
    if isinstance(judged, StateCorrected) or judged.block is None:
        return None
    source = judged.source if isinstance(judged, ProposalJudged) else "reply"
    reply = _reply(log, campaign, judged) if source == "reply" else None
    quoted = quotation(judged.block, judged.accepted, setting.number, setting.document, reply)
    return {
        "text": quoted.text,
        **_stretch("start", "end", quoted.place),
        "block": quoted.block,
        **_stretch("block_start", "block_end", quoted.block_place),
        "source": source,
    }


def _reply(log: EventLog, campaign: str, judged: ProposalJudged | NarrationReread) -> Reply | None:
    turn = _turn(log, campaign, judged)
    events = () if turn is None else log.turn_events(campaign, turn)
    narration = next((each.event for each in events if isinstance(each.event, NarrationAccepted)), None)
    if narration is None:
        return None
    return Reply(narration.raw_reply, judged.removals if isinstance(judged, NarrationReread) else narration.removals)


def _stretch(start: str, end: str, place: Passage | None) -> dict[str, int | None]:
    return {start: None if place is None else place.start, end: None if place is None else place.end}


def _no_leaf(document: Document, path: str) -> InvalidInput:
    """Says what there is instead: what stands below the path, else what shares a name with it, else all there is."""
    named = set(path.casefold().split("."))
    there = [leaf for leaf, _ in leaves(document)]
    below = [leaf for leaf, _ in leaves(document, path)]
    alike = [leaf for leaf in there if named & set(leaf.split("."))]
    listed = below or alike or there
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    shown = path if len(path) <= _SHOWN_CHARACTERS else f"{path[: _SHOWN_CHARACTERS - 1]}…"
    which = "it has below it" if below else "leaves like it are" if alike else "the leaves there are"
    return InvalidInput({"path": f"{shown!r} is no leaf of this state; {which}: {', '.join(listed[:_LISTED])}{more}"})
