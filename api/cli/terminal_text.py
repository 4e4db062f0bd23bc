"""Text for a terminal: made harmless, and broken into lines as it comes."""

import re

from rich.cells import get_character_cell_size

_KEPT = "\t\n"
_SYMBOL = {code: 0x2400 + code for code in range(0x20) if chr(code) not in _KEPT}
_DELETE = {0x7F: 0x2421}
_C1 = dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_BIDIRECTIONAL = dict.fromkeys((0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)
"""Marks, embeddings, overrides and isolates: they change the order in which other characters are seen."""
_HARMLESS = _SYMBOL | _DELETE | _C1 | _BIDIRECTIONAL


def harmless(text: str) -> str:
    """The text with every character that a terminal would obey shown as a symbol. Any line ending becomes a newline."""
    return re.sub("\r\n?", "\n", text).translate(_HARMLESS)


class Wrapping:
    """Breaks a text that comes in pieces into lines of at most `width` cells, between words. None: lines stay as they are.

    What it gives out is harmless. A word is held back until it is whole; `end` gives out the last.
    """

    def __init__(self, width: int | None) -> None:
        self._width = width
        self._column = 0
        self._gap = ""
        self._word = ""
        self._word_cells = 0
        self._after_return = False

    def add(self, piece: str) -> str:
        """What can be written now that this piece has come."""
        return "".join(map(self._character, piece))

    def end(self) -> str:
        """The rest. The next piece begins a line."""
        rest = self._word_out()
        self._column, self._gap = 0, ""
        return rest

    def _character(self, character: str) -> str:
        follows_return, self._after_return = self._after_return, character == "\r"
        if character == "\n" and follows_return:
            return ""
        return self._harmless_character(harmless(character))

    def _harmless_character(self, character: str) -> str:
        if self._width is None:
            return character
        if character == "\n":
            return self.end() + "\n"
        if character in " \t":
            ready = self._word_out()
            self._gap += " "
            return ready
        return self._letter(character, get_character_cell_size(character), self._width)

    def _letter(self, character: str, cells: int, width: int) -> str:
        # Before and after a wide character a line may be broken; so may a word that fills a line by itself.
        breakable = cells > 1 or self._word_cells + cells > width
        ready = self._word_out() if breakable else ""
        self._word += character
        self._word_cells += cells
        return ready + (self._word_out() if cells > 1 else "")

    def _word_out(self) -> str:
        if not self._word or self._width is None:
            return ""
        breaks = self._column > 0 and self._column + len(self._gap) + self._word_cells > self._width
        written = f"\n{self._word}" if breaks else f"{self._gap}{self._word}"
        self._column = self._word_cells if breaks else self._column + len(self._gap) + self._word_cells
        self._gap, self._word, self._word_cells = "", "", 0
        return written


def wrapped(text: str, width: int | None) -> str:
    """A whole text, as `Wrapping` breaks it."""
    wrapping = Wrapping(width)
    return wrapping.add(text) + wrapping.end()
