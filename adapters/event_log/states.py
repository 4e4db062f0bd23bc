"""The state of the story in the decision tables: versions, each a step from the one before it.

A node names the version that holds there, and begins with its parent's. A version names the event whose accepted state
events made it; every so many steps it holds the whole document besides, so that no reading goes back further than that.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, delete, insert, select, update

from adapters.event_log.prepared import Prepared, inserting
from adapters.event_log.tables import campaign, event, node, state_version
from domain.campaign.events import NarrationAccepted, NodeRevised, PlayerActed
from domain.narrative import course
from domain.narrative.course import Grown, Step, Told, after, reread
from domain.narrative.document import EMPTY, Document
from domain.narrative.events import ExtractorAdopted, NarrationReread, ProposalJudged, StateCorrected
from domain.narrative.rules import By

STEPS = 32
"""The most steps that lie between a version and the document that it is read from."""

NOTHING = 0
"""The version in which nothing is established."""

_TELLING = (ProposalJudged.topic, StateCorrected.topic)
_GROWING = (PlayerActed.topic, NarrationAccepted.topic, NodeRevised.topic)

_THIS = (state_version.c.campaign == bindparam("of"), state_version.c.version == bindparam("at"))
_THIS_NODE = (node.c.campaign == bindparam("of"), node.c.node == bindparam("at"))
_THIS_CAMPAIGN = campaign.c.campaign == bindparam("of")
_ROW = select(state_version.c.version, state_version.c.previous, state_version.c.changed_at, state_version.c.document)
# From a version back to the newest one that holds a whole document.
_BACK = _ROW.where(*_THIS).cte("back", recursive=True)
_STEPS = _BACK.union_all(
    _ROW.where(
        state_version.c.campaign == bindparam("of"),
        state_version.c.version == _BACK.c.previous,
        _BACK.c.document.is_(None),
    )
)
_NEAREST = Prepared(
    select(_STEPS.c.version, _STEPS.c.document, event.c.topic, event.c.payload).join(
        event, event.c.position == _STEPS.c.changed_at
    )
)
_VERSION = Prepared(select(state_version).where(*_THIS))
_OF_NODE = Prepared(select(node.c.state).where(*_THIS_NODE))
_NEWEST = Prepared(select(campaign.c.last_state).where(_THIS_CAMPAIGN))
_NEW_VERSION = inserting(state_version)
_NOTE_NEWEST = Prepared(update(campaign).where(_THIS_CAMPAIGN).values(last_state=bindparam("to_version")))
_NOTE_AT_NODE = Prepared(update(node).where(*_THIS_NODE).values(state=bindparam("to_version")))
_NOTE_JUDGED = Prepared(update(node).where(*_THIS_NODE).values(judged_at=bindparam("to_position")))
_NOTE_REREAD = Prepared(update(node).where(*_THIS_NODE).values(reread_at=bindparam("to_position")))
_EVENTS = (
    select(event.c.position, event.c.topic, event.c.payload)
    .where(
        event.c.stream == bindparam("of"),
        event.c.position <= bindparam("up_to"),
        event.c.topic.in_((*_TELLING, *_GROWING, NarrationReread.topic, ExtractorAdopted.topic)),
    )
    .order_by(event.c.version)
)
_CHAIN = select(state_version.c.version, state_version.c.previous, state_version.c.changed_at).where(
    state_version.c.campaign == bindparam("of")
)


def document_of(connection: Connection, of: str, version: int) -> Document:
    """The document of a version, from at most STEPS events."""
    if version == NOTHING:
        return EMPTY
    rows = sorted(_NEAREST.rows(connection, {"of": of, "at": version}), key=lambda row: int(row["version"]))
    stored = rows[0]["document"]
    document = EMPTY if stored is None else Document.from_bytes(stored)
    for row in rows if stored is None else rows[1:]:
        document = after(document, *_accepted(row["topic"], row["payload"]))
    return document


def document_at(connection: Connection, of: str, at: int) -> Document:
    """The document at a node that is there."""
    return document_of(connection, of, _OF_NODE.value(connection, {"of": of, "at": at}))


def version_at(connection: Connection, of: str, at: int, position: int) -> int:
    """The version that held at a node at a log position, where no adoption came after it."""
    version: int = _OF_NODE.value(connection, {"of": of, "at": at})
    while version != NOTHING:
        row = _VERSION.one(connection, {"of": of, "at": version})
        if row["changed_at"] <= position:
            break
        version = row["previous"]
    return version


def course_to(connection: Connection, of: str, at: int) -> list[int]:
    """The positions of the events that made the state at a node, oldest first."""
    rows = {row.version: row for row in connection.execute(_CHAIN, {"of": of})}
    version, found = _OF_NODE.value(connection, {"of": of, "at": at}), []
    while version != NOTHING:
        found.append(rows[version].changed_at)
        version = rows[version].previous
    return found[::-1]


def fold_judgement(connection: Connection, of: str, position: int, happened: ProposalJudged | StateCorrected) -> None:
    """What was accepted at a node makes a version there."""
    if isinstance(happened, ProposalJudged):
        _NOTE_JUDGED.run(connection, {"of": of, "at": happened.node, "to_position": position})
    if happened.accepted:
        by: By = "player" if isinstance(happened, StateCorrected) else "narrator"
        _add_version(connection, of, Told(happened.node, happened.accepted, by, position))


def fold_rereading(connection: Connection, of: str, position: int, happened: NarrationReread) -> None:
    """The narration has its words from this reading. Its state comes with the adoption that follows."""
    _NOTE_REREAD.run(connection, {"of": of, "at": happened.node, "to_position": position})


def fold_adoption(connection: Connection, of: str, position: int, happened: ExtractorAdopted) -> None:
    """Puts an extractor in force; for the whole history the states of all nodes are made anew."""
    values: dict[str, Any] = {"extractor": happened.extractor}
    if happened.scope == "whole_history":
        values["adopted_at"] = position
        _make_anew(connection, of, position)
    connection.execute(update(campaign).where(campaign.c.campaign == of).values(values))


def documents_up_to(connection: Connection, of: str, position: int, opening: int) -> dict[int, Document]:
    """The document at each node, as the events up to a position have it: for what an adoption has changed since."""
    return course.states(_steps(connection, of, position), opening)


def _add_version(connection: Connection, of: str, told: Told) -> None:
    previous: int = _OF_NODE.value(connection, {"of": of, "at": told.node})
    version = int(_NEWEST.value(connection, {"of": of})) + 1
    steps = 1 if previous == NOTHING else _VERSION.one(connection, {"of": of, "at": previous})["steps"] + 1
    document: bytes | None = None
    if steps >= STEPS:
        steps, document = 0, after(document_of(connection, of, previous), told.accepted, told.by).to_bytes()
    row = {"version": version, "previous": previous, "changed_at": told.at, "steps": steps, "document": document}
    _NEW_VERSION.run(connection, {"campaign": of, **row})
    _NOTE_NEWEST.run(connection, {"of": of, "to_version": version})
    _NOTE_AT_NODE.run(connection, {"of": of, "at": told.node, "to_version": version})


def _make_anew(connection: Connection, of: str, position: int) -> None:
    """Every version of a story, from its events. Holds the documents of the story at once: they share what is equal."""
    connection.execute(delete(state_version).where(state_version.c.campaign == of))
    connection.execute(update(node).where(node.c.campaign == of).values(state=NOTHING))
    at: dict[int, _Version] = {}
    made = list(_versions(_steps(connection, of, position), at))
    if made:
        connection.execute(insert(state_version), [{"campaign": of, **version.row} for version in made])
        for number, version in at.items():
            if version.number != NOTHING:
                _NOTE_AT_NODE.run(connection, {"of": of, "at": number, "to_version": version.number})
    _NOTE_NEWEST.run(connection, {"of": of, "to_version": len(made)})


class _Version:
    """A version that is being made, with its document."""

    def __init__(self, number: int, document: Document, steps: int, previous: int, changed_at: int) -> None:
        self.number = number
        self.document = document
        self.steps = steps
        self.row: Mapping[str, Any] = {
            "version": number,
            "previous": previous,
            "changed_at": changed_at,
            "steps": steps,
            "document": document.to_bytes() if steps == 0 else None,
        }


def _versions(steps: Iterator[Step], at: dict[int, _Version]) -> Iterator[_Version]:
    """The versions that the steps make; `at` comes to hold the one of each node but the opening's, if that has none."""
    nothing, made = _Version(NOTHING, EMPTY, 0, NOTHING, 0), 0
    for step in steps:
        if isinstance(step, Grown):
            at[step.node] = at.get(step.parent, nothing)
        else:
            before, made = at.get(step.node, nothing), made + 1
            distance = (before.steps + 1) % STEPS
            document = after(before.document, step.accepted, step.by)
            at[step.node] = _Version(made, document, distance, before.number, step.at)
            yield at[step.node]


def _steps(connection: Connection, of: str, position: int) -> Iterator[Step]:
    """The steps up to a position, by the readings in force there; nothing where nothing was accepted."""
    rows = connection.execute(_EVENTS, {"of": of, "up_to": position}).all()
    steps = reread(_told_by(rows), _in_force(rows))
    return (step for step in steps if isinstance(step, Grown) or step.accepted)


def _in_force(rows: Sequence[Any]) -> dict[int, Told]:
    """The newest reading of each node, of those that an adoption has put in force."""
    found, waiting = dict[int, Told](), dict[int, Told]()
    for row in rows:
        if row.topic == NarrationReread.topic:
            told = _told(row)
            waiting[told.node] = told
        elif row.topic == ExtractorAdopted.topic and orjson.loads(row.payload)["scope"] == "whole_history":
            found |= waiting
    return found


def _told_by(rows: Sequence[Any]) -> Iterator[Step]:
    for row in rows:
        if row.topic in _GROWING:
            data = orjson.loads(row.payload)
            yield Grown(data["node"], data["parent"])
        elif row.topic in _TELLING:
            yield _told(row)


def _told(row: Any) -> Told:
    accepted, by = _accepted(row.topic, row.payload)
    return Told(orjson.loads(row.payload)["node"], accepted, by, row.position)


def _accepted(topic: str, payload: bytes) -> tuple[tuple[Mapping[str, Any], ...], By]:
    return tuple(orjson.loads(payload)["accepted"]), "player" if topic == StateCorrected.topic else "narrator"
