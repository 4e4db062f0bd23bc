"""How long a narration should be: the number of words that the narrator is told.

The cap on generation stays where the settings have it: the block comes last, and a lower cap would cut just that off.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from domain.campaign.settings import NarrationLength
from domain.prompt import texts

BLOCK_TOKENS = 50
"""What of the reply allocation is left for the block, in tokens."""

WORDS_OF_TOKENS = (3, 4)
"""Words per token of English prose, as a fraction."""

BUFFER = (9, 10)
"""How much of that is promised: narrators miscount, and other languages take more tokens."""

FLOOR_PERCENT = 35
"""The floor where no length was chosen, of the ceiling."""

HIGHEST_FLOOR = 300
"""A floor above it makes a narrator pad."""

LOWEST_FLOOR = 60
"""A floor below it says nothing."""


@dataclass(frozen=True)
class WordRange:
    """From floor to ceiling, in words; no floor where it would say nothing."""

    floor: int | None
    ceiling: int


BANDS: Mapping[NarrationLength, WordRange] = {
    "brief": WordRange(70, 180),
    "medium": WordRange(150, 380),
    "long": WordRange(320, 700),
}


def word_range(max_output_tokens: int, chosen: NarrationLength = "") -> WordRange | None:
    """The words that a narration may have; None where the allocation leaves no room for any.

    ceiling = ⌊(tokens - BLOCK_TOKENS) × 3/4 × 9/10⌋, and at most that of the band. The floor is FLOOR_PERCENT of the
    ceiling, or the band's and then at most half the ceiling; never above HIGHEST_FLOOR, and none below LOWEST_FLOOR.
    800 tokens and no choice: 177 to 506.
    """
    allowed = _words(max_output_tokens)
    if allowed < 1:
        return None
    band = BANDS.get(chosen)
    ceiling = allowed if band is None else min(allowed, band.ceiling)
    floor = ceiling * FLOOR_PERCENT // 100 if band is None else min(band.floor or 0, ceiling // 2)
    stated = min(floor, HIGHEST_FLOOR)
    return WordRange(stated if stated >= LOWEST_FLOOR else None, ceiling)


def length_hint(max_output_tokens: int, chosen: NarrationLength = "") -> str:
    """The hint for the narrator, "" where there is no room for words to speak of."""
    words = word_range(max_output_tokens, chosen)
    if words is None:
        return ""
    if words.floor is None:
        return texts.LENGTH_HINT_WITHOUT_FLOOR.format(ceiling=words.ceiling)
    return texts.LENGTH_HINT.format(ceiling=words.ceiling, floor=words.floor)


def _words(tokens: int) -> int:
    words, per_tokens = WORDS_OF_TOKENS
    kept, of = BUFFER
    return (tokens - BLOCK_TOKENS) * words * kept // (per_tokens * of)
