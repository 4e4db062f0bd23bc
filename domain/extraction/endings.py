"""The rules for the end of a reply, each of which asks what is last."""

import re

from domain.extraction.blocks import UNFINISHED_BLOCK
from domain.extraction.ending import (
    ECHO,
    EMPTY_FENCE,
    INSTRUCTION_TAIL,
    LEFTOVER,
    LENGTH_HINT,
    SCENE_LINE,
    Ending,
)
from domain.extraction.fences import OWN, STATE
from domain.extraction.lines import Line, is_blank, is_state_heading, last_line
from domain.extraction.proposals import EVENTS
from domain.extraction.reading import Claim, Cut
from domain.extraction.wording import (
    is_instruction,
    is_length_hint,
    opens_as_length_hint,
)
from domain.prompt import texts

_BEGINNING = f'{{"{EVENTS}"'
_LONGEST_BEGINNING = 200
_SCENE = re.compile(rf"[ \t>]*+[*_]*+{re.escape(texts.SCENE_LABEL)}")
_AT_A_PLACE = re.compile(r"\(at [^\n]*\)[.*_]*")


def unfinished_block(ending: Ending) -> Cut | None:
    """A block that the output limit cut off: from its outer brace, or the fence that holds a beginning of it or nothing."""
    start = ending.unfinished_objects.get(ending.end)
    if start is not None:
        return _unfinished(ending, start, start)
    fence = ending.last_fence
    if fence is None or ending.end - fence.inside > _LONGEST_BEGINNING:
        return None
    held = "".join(ending.text[fence.inside : ending.end].split())
    held = held.replace(">", "") if fence.marks.quoted else held
    if fence.marks.label == STATE and not held:
        return _unfinished(ending, ending.top_of_empty_fences(fence), ending.end)
    is_beginning = bool(held) and fence.marks.label in (STATE, *OWN) and _BEGINNING.startswith(held)
    return _unfinished(ending, fence.marks.start, fence.inside) if is_beginning else None


def _unfinished(ending: Ending, start: int, inside: int) -> Cut:
    block = ending.text[inside : ending.end].strip(" \t\r\n>")
    return Cut(UNFINISHED_BLOCK, start, ending.end, Claim(block, None))


def leftover(ending: Ending) -> Cut | None:
    """Last lines that are a bare `State` heading, or bare quote marks."""
    text, line = ending.text, ending.last_line
    start = line.end
    while line.start < line.end and _is_leftover(text, line):
        start = line.start
        line = last_line(text, start)
    return Cut(LEFTOVER, start, ending.end) if start < ending.end else None


def _is_leftover(text: str, line: Line) -> bool:
    if text[line.end - 1] == ">":
        return is_blank(text, line)
    return is_state_heading(text, line)


def echo(ending: Ending) -> Cut | None:
    """The reminder or the continue hint, or what is left of either, as the last bracket."""
    return ending.bracket(ECHO, is_instruction)


def length_hint(ending: Ending) -> Cut | None:
    """A bracket that opens as the length hint does and carries its wording."""
    return ending.bracket(LENGTH_HINT, is_length_hint)


def instruction_tail(ending: Ending) -> Cut | None:
    """A bracket that opens as the length hint does, directly above an echo."""
    return ending.bracket(INSTRUCTION_TAIL, opens_as_length_hint) if ending.below == ECHO else None


def scene_line(ending: Ending) -> Cut | None:
    """A last line that begins as the scene line does, and ends as it does or has protocol below it."""
    line = ending.last_line
    if not _SCENE.match(ending.text, line.start, line.end):
        return None
    place = ending.text.rfind("(at ", line.start, line.end)
    is_rendered = place >= 0 and _AT_A_PLACE.fullmatch(ending.text, place, line.end)
    return Cut(SCENE_LINE, line.start, line.end) if is_rendered or ending.protocol_below else None


def empty_fence(ending: Ending) -> Cut | None:
    """A last line that opens an unlabelled or `json` fence."""
    fence = ending.last_fence
    if fence is None or fence.marks.label not in OWN or fence.inside < ending.end:
        return None
    return Cut(EMPTY_FENCE, ending.top_of_empty_fences(fence), ending.end)
