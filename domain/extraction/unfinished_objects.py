"""Objects outside fences that begin as a block does and that no parser reads: where each begins, by where it ends."""

import re

from domain.extraction.blocks import EVENTS_BEGUN
from domain.extraction.fences import OWN, story_fences
from domain.extraction.json_lines import json_run
from domain.extraction.objects import Objects
from domain.extraction.payload import Undecodable, decode
from domain.extraction.proposals import unquoted

_BEGUN = re.compile(rf"^[ \t>]*+(?={EVENTS_BEGUN})(?P<brace>\{{)", re.MULTILINE)


def unfinished_objects(text: str) -> dict[int, int]:
    """The start of the line on which each begins, from its outer brace on, by the end of its last line of JSON."""
    objects = Objects(text)
    code = [fence for fence in story_fences(text) if fence.closed or fence.opening.label not in OWN]
    found: dict[int, int] = {}
    at = number = 0
    while begun := _BEGUN.search(text, at):
        while number < len(code) and code[number].end <= begun.start():
            number += 1
        if number < len(code) and code[number].opening.start <= begun.start():
            at = code[number].end
            continue
        end = objects.end_of(begun.start("brace"))
        if end is not None and _is_json(text[begun.start("brace") : end]):
            at = end
            continue
        run = json_run(text, begun.start(), len(text), strict=True)
        found[run] = begun.start()
        at = max(run, begun.end())
    return found


def _is_json(text: str) -> bool:
    try:
        decode(unquoted(text))
    except Undecodable:
        return False
    return True
