"""The rule `reasoning`: what a model thought aloud before its reply, closed or not."""

import re

from domain.extraction.context import Context
from domain.extraction.reading import Cut, Reading

REASONING = "reasoning"

_BEGINS = re.compile(r"\s*+(?P<tag><think>)", re.IGNORECASE)
_ENDS = re.compile(r"</think>", re.IGNORECASE)


def reasoning(reading: Reading, _: Context) -> list[Cut]:
    """Every `<think>…</think>` at the beginning; one that is not closed takes the whole reply."""
    cuts: list[Cut] = []
    at = 0
    while begun := _BEGINS.match(reading.text, at):
        ended = _ENDS.search(reading.text, begun.end())
        at = ended.end() if ended else len(reading.text)
        cuts.append(Cut(REASONING, begun.start("tag"), at))
    return cuts
