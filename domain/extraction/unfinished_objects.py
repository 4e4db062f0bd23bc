"""Objects outside fences that begin as a block does and that no parser reads: where each begins, by where it ends."""

import re
from collections.abc import Iterator

from domain.extraction.blocks import EVENTS_BEGUN
from domain.extraction.fences import OWN
from domain.extraction.json_lines import json_run
from domain.extraction.payload import Undecodable, decode
from domain.extraction.proposals import EVENTS, unquoted
from domain.extraction.reading import Reading

_BEGUN = re.compile(rf"^[ \t>]*+(?={EVENTS_BEGUN})(?P<brace>\{{)", re.MULTILINE)


def unfinished_objects(reading: Reading) -> dict[int, int]:
    """The start of the line on which each begins, from its outer brace on, by the end of its last line of JSON."""
    text = reading.text
    if f'"{EVENTS}"' not in text or not _BEGUN.search(text):
        return {}
    known = sorted((*_code(reading), *_read_already(reading)))
    found: dict[int, int] = {}
    at = number = 0
    while begun := _BEGUN.search(text, at):
        while number < len(known) and known[number][1] <= begun.start():
            number += 1
        if number < len(known) and known[number][0] <= begun.start():
            at = max(known[number][1], begun.end())
            continue
        run = json_run(text, begun.start(), len(text), strict=True)
        found[run] = begun.start()
        at = max(run, begun.end())
    return found


def _code(reading: Reading) -> Iterator[tuple[int, int]]:
    """Where the story's own code is. A fence of ours that nothing closes holds none."""
    for fence in reading.fences.story:
        if fence.closed or fence.marks.label not in OWN:
            yield fence.marks.start, fence.end


def _read_already(reading: Reading) -> Iterator[tuple[int, int]]:
    """Where objects are that a parser reads: what is still there of them is the story's."""
    for each in reading.objects:
        try:
            decode(unquoted(reading.text[each.brace : each.end]))
        except Undecodable:
            continue
        yield each.start, each.end
