"""Protocol that stayed in stored prose, counted by its kind.

This looks wider than the rules that take protocol out, which must never take a sentence of story with it: it counts what a
person should look at, and a story that quotes such things is counted as well.
"""

import re
from collections import Counter
from typing import Literal

from domain.extraction.lines import Line, lines_of, undressed
from domain.extraction.wording import is_instruction, is_length_hint, opens_as_instruction, plain
from domain.narrative.vocabulary import EVENT_TYPES
from domain.prompt import texts

Leak = Literal["heading", "block", "call", "reminder", "hint", "fence", "scene_line"]

_HEADINGS = frozenset(undressed(heading) for heading in texts.STATE_HEADINGS)
_BLOCK = re.compile(r"[ \t>]*+(?:```\w*[ \t]*)?[\[{].*\"(?:events|type)\"[ \t]*:")
_CALL = re.compile(r"[ \t>]*+(?P<name>[A-Za-z_]++)[ \t]*+\(")
_FENCE = re.compile(rf"[ \t>]*+```(?:{texts.FENCE_LABEL}|json)\b", re.IGNORECASE)
_SCENE = re.compile(rf"[ \t>*_]*+{re.escape(texts.SCENE_LABEL)}.*\(at [^\n]*\)[.*_]*[ \t]*$")
_BRACKET = re.compile(r"\[[^\[\]\n]{8,}")
_LONGEST = 2_000
"""Lines are looked at up to here: what is counted begins them."""


def leaks(prose: str) -> Counter[Leak]:
    """How many leaks of each kind a narration's prose holds."""
    found: Counter[Leak] = Counter()
    lines = list(lines_of(prose))
    for number, line in enumerate(lines):
        text = prose[line.start : min(line.end, line.start + _LONGEST)]
        found.update(_in_line(text))
        if _is_heading(text) and number + 1 < len(lines) and _is_entry(prose, lines[number + 1]):
            found["heading"] += 1
    if lines and _SCENE.match(prose[lines[-1].start : lines[-1].end]):
        found["scene_line"] += 1
    return found


def _in_line(text: str) -> list[Leak]:
    kinds: list[Leak] = []
    if _BLOCK.match(text):
        kinds.append("block")
    if _FENCE.match(text):
        kinds.append("fence")
    called = _CALL.match(text)
    if called and called["name"].lower() in EVENT_TYPES:
        kinds.append("call")
    return kinds + [kind for bracket in _BRACKET.findall(text) if (kind := _instruction(plain(bracket[1:])))]


def _instruction(words: str) -> Leak | None:
    if is_length_hint(words):
        return "hint"
    if not (opens_as_instruction(words) or is_instruction(words)):
        return None
    return "hint" if words.startswith(plain(texts.CONTINUE_OPENING)) else "reminder"


def _is_heading(text: str) -> bool:
    return undressed(text) in _HEADINGS


def _is_entry(prose: str, line: Line) -> bool:
    return prose[line.start : line.start + 1] in (" ", "\t")
