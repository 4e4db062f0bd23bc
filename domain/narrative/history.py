"""How the leaves of a state came by their values: which accepted event set each, and what it was before.

An event sets a leaf when the leaf is another after it than before, as JSON tells values apart; when it makes the entry
that the leaf belongs to; and, for the leaves of the scene, which are there from the beginning, when it is the first that
says how the scene is.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from domain.narrative.changes import covers, leaves
from domain.narrative.course import Told, after
from domain.narrative.document import EMPTY, Document
from domain.narrative.rules import Event

_POSSESSIONS = "possessions"
_SECTIONS = ("entities", _POSSESSIONS, "facts", "relationships", "threads")
_SCENE = "scene"
_GONE = object()


@dataclass(frozen=True, slots=True)
class Setting:
    """A leaf that was set, before and after as JSON values; null where it does not exist.

    By the accepted event of this `number`, counted from 0, of what was `told`; `document` is the one that was told of,
    before the first of its events.
    """

    path: str
    before: Any
    after: Any
    told: Told
    number: int
    document: Document

    @property
    def event(self) -> Event:
        """The event that set it."""
        return self.told.accepted[self.number]

    @property
    def changed(self) -> bool:
        """Whether it reads otherwise than before: a leaf that is said for the first time may read as it did."""
        return not _same(self.before, self.after)


def settings(course: Iterable[Told], under: str = "") -> Iterator[Setting]:
    """Every time that the leaf of a path, or one below it, was set, oldest first.

    `course` is all that was accepted on the way to a place, oldest first. Where the path names an entry, blocks that do
    not touch that are passed over whole.
    """
    at, said = EMPTY, set[str]()
    for told in course:
        following = after(at, told.accepted, told.by)
        if _touches(at, following, told, under):
            yield from _settings_of(told, at, under, said)
        at = following


def _settings_of(told: Told, begun: Document, under: str, said: set[str]) -> Iterator[Setting]:
    at = begun
    for number, event in enumerate(told.accepted):
        following = after(at, (event,), told.by)
        for path, before, value in _set(at, following, under, said):
            said.add(path)
            yield Setting(path, before, value, told, number, begun)
        at = following


def cause_of(course: Iterable[Told], path: str) -> Setting | None:
    """What gave the leaf of a path the value that it has, or took it away; None where nothing ever did."""
    newest = None
    for setting in settings(course, path):
        if setting.path == path:
            newest = setting
    return newest


def _touches(before: Document, following: Document, told: Told, under: str) -> bool:
    """Whether a block may have set what is under a path, also where it left it as it had been."""
    section, _, rest = under.partition(".")
    if section == _POSSESSIONS and rest:  # who holds something is a text, and texts that are equal may be one object
        return any(event.get("item") == rest for event in told.accepted)
    return next(_touched(before, following, under), None) is not None


def _set(before: Document, following: Document, under: str, said: set[str]) -> Iterator[tuple[str, Any, Any]]:
    for entry in _touched(before, following, under):
        old, new = dict(leaves(before, entry)), dict(leaves(following, entry))
        for path in (*old, *(path for path in new if path not in old)):
            was, becomes = old.get(path, _GONE), new.get(path, _GONE)
            if covers(under, path) and (path not in said or not _same(was, becomes)):
                yield path, _shown(was), _shown(becomes)


def _touched(before: Document, following: Document, under: str) -> Iterator[str]:
    """The paths of entries at, above or below a path that are not one object in both documents.

    Documents share what no event has touched, and whatever an event says of an entry makes that a new object.
    """
    wanted, _, rest = under.partition(".")
    if wanted in ("", _SCENE) and before.scene is not following.scene:
        yield _SCENE
    for section in _SECTIONS:
        old: Mapping[str, Any] = getattr(before, section)
        new: Mapping[str, Any] = getattr(following, section)
        if wanted in ("", section) and old is not new:
            keys = (rest.partition(".")[0],) if rest else (*old, *(key for key in new if key not in old))
            yield from (f"{section}.{key}" for key in keys if old.get(key) is not new.get(key))


def _same(one: Any, other: Any) -> bool:
    """As JSON has it: Python takes 1, 1.0 and true for equal."""
    return type(one) is type(other) and bool(one == other)


def _shown(value: Any) -> Any:
    return None if value is _GONE else value
