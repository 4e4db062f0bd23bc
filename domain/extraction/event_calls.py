"""The rule `R1`: a line that calls an event as if it were a function."""

import re

from domain.extraction.context import Context
from domain.extraction.fences import story_fences
from domain.extraction.lines import lines_of, trimmed
from domain.extraction.reading import Cut, Reading

EVENT_CALL = "R1"

_CALL = re.compile(r"[ \t]*+>?[ \t]*+(?P<name>[A-Za-z_]++)[ \t]*+\(")


def event_calls(reading: Reading, context: Context) -> list[Cut]:
    """Every whole line that begins with a name of the vocabulary, in any case, and an opening parenthesis.

    A sentence that was wrapped so that a line begins so goes as well. The story's own code stays.
    """
    text = reading.text
    code = [(fence.opening.start, fence.end) for fence in story_fences(text)]
    cuts: list[Cut] = []
    number = 0
    for line in lines_of(text):
        while number < len(code) and code[number][1] < line.start:
            number += 1
        called = _CALL.match(text, line.start, line.end)
        is_code = number < len(code) and code[number][0] <= line.start
        if called and not is_code and called["name"].lower() in context.event_types:
            cuts.append(Cut(EVENT_CALL, line.start, trimmed(text, line)))
    return cuts
