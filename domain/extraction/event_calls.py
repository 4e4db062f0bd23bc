"""The rule `R1`: a line that calls an event as if it were a function."""

import re

from domain.extraction.context import Context
from domain.extraction.reading import Cut, Reading

EVENT_CALL = "R1"

_CALL = re.compile(r"^[ \t]*+>?[ \t]*+(?P<name>[A-Za-z_]++)[ \t]*+\([^\n]*+", re.MULTILINE)


def event_calls(reading: Reading, context: Context) -> list[Cut]:
    """Every whole line that begins with a name of the vocabulary, in any case, and an opening parenthesis.

    A sentence that was wrapped so that a line begins so goes as well. The story's own code stays.
    """
    cuts: list[Cut] = []
    if "(" not in reading.text:
        return cuts
    fences = iter(reading.fences.story)
    fence = next(fences, None)
    for called in _CALL.finditer(reading.text):
        while fence is not None and fence.end < called.start():
            fence = next(fences, None)
        is_code = fence is not None and fence.marks.start <= called.start()
        if not is_code and called["name"].lower() in context.event_types:
            cuts.append(Cut(EVENT_CALL, called.start(), called.start() + len(called[0].rstrip())))
    return cuts
