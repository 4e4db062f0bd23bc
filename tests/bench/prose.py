"""Text to measure with, out of a seed: as compressible as a story in English, or as hard as words can be.

Each word follows the one before as it does in Python's own manual, which is the English at hand everywhere. The harder
kind are words of random letters, all equally likely.
"""

import re
from functools import cache
from itertools import pairwise
from pydoc_data.topics import topics
from random import Random
from typing import Literal

SEED = 20_260_101

Kind = Literal["english", "random"]

_LETTERS = "etaoinshrdlcumwfgypbvk"
_RANDOM_WORDS = 20_000
_SENTENCE = (6, 22)
_SENTENCES = (3, 6)


class Prose:
    """A source of text; two of one seed and kind say the same."""

    def __init__(self, seed: int = SEED, kind: Kind = "english") -> None:
        self._random = Random(seed)
        self._kind = kind
        self._word = "the"

    def text(self, characters: int) -> str:
        """Paragraphs of exactly so many ASCII characters, ending in a full stop."""
        pieces: list[str] = []
        length = 0
        while length < characters:
            paragraph = " ".join(self._sentence() for _ in range(self._random.randint(*_SENTENCES)))
            pieces.append(paragraph)
            length += len(paragraph) + 2
        return "\n\n".join(pieces)[: characters - 1].rstrip().ljust(characters - 1, "e") + "."

    def _sentence(self) -> str:
        words = [self._next_word() for _ in range(self._random.randint(*_SENTENCE))]
        comma = self._random.randrange(len(words))
        words[comma] += "," if comma < len(words) - 1 and self._random.random() < 0.6 else ""
        return " ".join(words).capitalize() + "."

    def _next_word(self) -> str:
        if self._kind == "random":
            return self._random.choice(_random_words())
        following = _followers()
        self._word = self._random.choice(following.get(self._word) or following["the"])
        return self._word


@cache
def _followers() -> dict[str, list[str]]:
    words = re.findall(r"(?<![\w.])[a-z]+(?![\w.(])", " ".join(topics[name] for name in sorted(topics)).lower())
    followers: dict[str, list[str]] = {}
    for word, following in pairwise(words):
        followers.setdefault(word, []).append(following)
    return followers


@cache
def _random_words() -> list[str]:
    random = Random(SEED)
    return ["".join(random.choices(_LETTERS, k=random.randint(3, 10))) for _ in range(_RANDOM_WORDS)]
