"""The state of a story as a person reads it in a terminal: each line begins with the id by which it can be asked for."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from api.cli.output import reading_width
from api.cli.terminal_text import harmless, wrapped
from api.pages.state_values import said

_YOURS = "your word"
_BY = {"player": "you", "narrator": "the narrator"}

_Row = tuple[str, str]


def state_parts(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The state of the answer of `state_answer`: the scene, what exists by type, then all else that has entries."""
    document = answer["document"]
    names = {key: entity["name"] for key, entity in document["entities"].items()}
    yield Text(f"Moment {answer['moment']} · node {answer['at']}", "dim")
    scene = _scene(document["scene"], names)
    if scene:
        yield Text(f"\n{harmless(scene)}", "italic")
    for group in answer["groups"]:
        yield from _section(group["label"], (_member(member, document) for member in group["entities"]))
    yield from _section("Established", _facts(document, names, "active"))
    yield from _section("No longer true", _facts(document, names, "withdrawn"))
    yield from _section("Between them", _relationships(document, names))
    yield from _section("Still open", _threads(document, "open"))
    yield from _section("Settled", _threads(document, "resolved"))
    if not names and not document["facts"] and not document["threads"]:
        yield Text("\nNothing is established yet.")
    for name in answer["duplicate_names"]:
        yield Text(
            f"\n{len(name['entities'])} are called {harmless(name['name'])}: {', '.join(name['entities'])}", "yellow"
        )


def why_parts(answer: Mapping[str, Any], screen: Console) -> Iterator[RenderableType]:
    """Why a leaf is what it is: who brought it and where, the narration, and the block with the words marked."""
    yield Text.assemble((answer["path"], "bold"), f": {harmless(said(answer['value']))}")
    if answer["event"] is None:
        yield Text("Nothing has set it: it is as every story begins.", "dim")
        return
    turn = f", turn {answer['turn']}" if answer["turn"] else ""
    at = f"at moment {answer['moment']} (node {answer['node']}{turn}), {answer['at']}"
    yield Text(f"{_BY[answer['by']].capitalize()} said so {at}:", "dim")
    yield Text(f"{_compact(answer['event'])}\n")
    if answer["note"]:
        yield Text(f"{harmless(answer['note'])}\n", "italic")
    if answer["words"]:
        yield Text(wrapped(answer["prose"], reading_width(screen)))
        yield from _words(answer["words"])


def history_parts(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The changes of a leaf, or of several."""
    if not answer["changes"]:
        yield Text(f"{harmless(answer['path'])} is as every story begins; nothing has set it.")
        return
    drawn = _columns("moment", "node", "by", "leaf", "before", "after")
    for change in answer["changes"]:
        place = (str(change["moment"]), str(change["node"]), _BY[change["by"]])
        drawn.add_row(*place, *_cells(change["path"], said(change["before"]), said(change["after"])))
    yield drawn


def proposals_parts(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    """What became of each block, newest first: + what was accepted, - what was refused and why."""
    if not answer["proposals"]:
        yield Text("No narration of this line has been judged yet.")
    for each in answer["proposals"]:
        yield Text.assemble(
            (f"Moment {each['moment']} · node {each['node']}", "dim"), f"  {each['outcome']}{_asked(each)}"
        )
        yield from (Text(f"  + {_compact(event)}", "green") for event in each["accepted"])
        for refused in each["refused"]:
            yield Text(f"  - {_compact(refused['event'])}\n    {harmless(refused['detail'])}", "red")
    if answer["next"] is not None:
        yield Text(f"Older ones: --before {answer['next']}", "dim")


def correction_parts(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    """What a correction changed, and what of it was refused."""
    if answer["state_changes"]:
        drawn = _columns("leaf", "before", "after")
        for change in answer["state_changes"]:
            drawn.add_row(*_cells(change["path"], said(change["before"]), said(change["after"])))
        yield drawn
    else:
        yield Text("It was so already. It stands as your word now.")
    for refused in answer["refused"]:
        yield Text(f"Refused: {_compact(refused['event'])}\n  {harmless(refused['detail'])}", "yellow")


def packet_parts(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    """What the scene could be drawn from."""
    location = answer["location"]
    yield Text(f"{answer['scene_id']} · moment {answer['moment']} · node {answer['at']}", "dim")
    yield Text(harmless(answer["summary"] or "The scene has not been set."), "italic")
    yield from _section("Where", [_shown(location)] if location else [])
    yield from _section("Who is there", (_shown(each) for each in answer["characters"]))
    yield from _section("What is there", (_shown(each) for each in answer["objects"]))


def profile_parts(profiles: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """How entities look."""
    if not profiles:
        yield Text("Nothing has been said of how anybody looks.")
    for profile in profiles:
        rows = [*profile["descriptors"].items(), *(("feature", each) for each in profile["features"])]
        rows += [("style", profile["style_notes"])] if profile["style_notes"] else []
        heading = f"{profile['entity']}  {profile['name'] or 'not here'}"
        yield from _section(heading, rows or [("", "nothing was said of it")])


# Lines of the state


def _scene(scene: Mapping[str, Any], names: Mapping[str, str]) -> str:
    there = ", ".join(names.get(key, key) for key in scene["present"])
    at = f"at {names.get(scene['location'], scene['location'])}" if scene["location"] else ""
    around = "; ".join(each for each in (at, f"present: {there}" if there else "") if each)
    return " ".join(each for each in (scene["summary"], f"({around})" if around else "") if each)


def _member(member: Mapping[str, Any], document: Mapping[str, Any]) -> _Row:
    held = member["held_by"]
    yours = member["corrected"] or f"possessions.{member['entity']}" in document.get("corrected", ())
    parts = (
        member["status"],
        f"also called {', '.join(member['aliases'])}" if member["aliases"] else "",
        f"at {member['location']['name']}" if member["location"] else "",
        f"held by {held['name']}" if held else "",
        _listed("holds", member["holds"]),
        _listed("here:", member["here"]),
        *(f"{name}: {said(value)}" for name, value in member["attributes"].items()),
        member["description"],
        _YOURS if yours else "",
    )
    rest = "; ".join(part for part in parts if part)
    return member["entity"], f"{member['name']}{f' · {rest}' if rest else ''}"


def _listed(word: str, named: Sequence[Mapping[str, Any]]) -> str:
    return f"{word} {', '.join(each['name'] for each in named)}" if named else ""


def _facts(document: Mapping[str, Any], names: Mapping[str, str], status: str) -> Iterator[_Row]:
    for fact in document["facts"]:
        if fact["status"] == status:
            value = None if fact.get("value") is None else said(fact["value"])
            parts = (names.get(fact["subject"]), fact["predicate"], names.get(fact["object"]), value)
            claim = " ".join(part for part in parts if part)
            marks = "; ".join(each for each in (fact["reason"], _YOURS if fact["locked"] else "") if each)
            yield fact["id"], f"{claim}{f' · {marks}' if marks else ''}"


def _relationships(document: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[_Row]:
    for each in document["relationships"]:
        ended = " · ended" if each["status"] == "ended" else ""
        yield each["id"], f"{names.get(each['source'])} {each['type']} {names.get(each['target'])}{ended}"


def _threads(document: Mapping[str, Any], status: str) -> Iterator[_Row]:
    for key, thread in document["threads"].items():
        if thread["status"] == status:
            yield key, f"{thread['title']}{' · ' + thread['outcome'] if thread['outcome'] else ''}"


def _shown(each: Mapping[str, Any]) -> _Row:
    looks = each["visual_profile"] or {"descriptors": {}, "features": [], "style_notes": ""}
    parts = (
        each.get("status", ""),
        _listed("holds", each.get("holds", ())),
        *(f"{name}: {look}" for name, look in looks["descriptors"].items()),
        *looks["features"],
        looks["style_notes"],
    )
    rest = "; ".join(part for part in parts if part)
    return each["key"], f"{each['name']}{f' · {rest}' if rest else ''}"


# Pieces


def _section(heading: str, rows: Iterable[_Row]) -> Iterator[RenderableType]:
    entries = list(rows)
    if not entries:
        return
    yield Text(f"\n{harmless(heading)}", "bold")
    drawn = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    drawn.add_column(style="cyan", overflow="fold")
    drawn.add_column(overflow="fold")
    for key, entry in entries:
        drawn.add_row(*_cells(f"  {key}", " ".join(entry.split())))
    yield drawn


def _columns(*headings: str) -> Table:
    drawn = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in headings:
        drawn.add_column(heading, overflow="fold")
    return drawn


def _cells(*texts: str) -> Iterator[Text]:
    return (Text(harmless(text)) for text in texts)


def _words(words: Mapping[str, Any]) -> Iterator[Text]:
    """The block, with the words that hold the event marked."""
    asked = ", which a second request asked for" if words["source"] == "state_pass" else ""
    place = f", characters {words['start']} to {words['end']} of the reply" if words["start"] is not None else asked
    yield Text(f"\nThe words of the block{place}:", "dim")
    if words["start"] is not None and words["block_start"] is not None:
        begin = words["start"] - words["block_start"]
    else:
        begin = words["block"].find(words["text"])
    if begin < 0:
        yield Text(harmless(words["text"]))
        return
    end = begin + len(words["text"])
    before, after = words["block"][:begin], words["block"][end:]
    yield Text.assemble((harmless(before), "dim"), (harmless(words["text"]), "bold"), (harmless(after), "dim"))


def _asked(proposal: Mapping[str, Any]) -> str:
    second = ", by a second request" if proposal["source"] == "state_pass" else ""
    failed = f"; the second request failed: {harmless(proposal['pass_error'])}" if proposal["pass_error"] else ""
    reread = f", as extractor {proposal['reread_by']} reads it" if proposal["reread_by"] else ""
    return f"{second}{failed}{reread}"


def _compact(event: Any) -> str:
    """An event on a line, its type first, whatever order it was stored in."""
    typed = {"type": event["type"], **event} if isinstance(event, dict) and "type" in event else event
    return harmless(json.dumps(typed, ensure_ascii=False))
