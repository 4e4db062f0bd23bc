"""Where a game in the terminal is seen and typed: a real terminal, or a pipe that keeps a readable transcript."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import RenderableType
from rich.text import Text

from api.cli.output import console, reading_width, write
from api.cli.terminal_text import Wrapping, harmless, wrapped


class InputEnded(Exception):
    """Nobody will type anything more here."""


class Screen:
    """Standard input and output. Everything that is shown is harmless to the terminal."""

    def __init__(self) -> None:
        self._console = console()
        self.interactive = sys.stdin.isatty()
        if self.interactive:
            import readline  # noqa: F401  # importing it gives `input` its line editing and its history

    def ask(self, question: str) -> str:
        """A line that was typed, without its ends' blanks. Raises InputEnded."""
        write("\n")
        try:
            return (input(question) if self.interactive else self._next_line(question)).strip()
        except (EOFError, KeyboardInterrupt):
            write("\n")
            raise InputEnded from None

    def show(self, text: str, style: str = "") -> None:
        """Prints text, wrapped for reading."""
        self._console.print(Text(wrapped(text, reading_width(self._console)), style), soft_wrap=True)

    def note(self, text: str = "") -> None:
        """Prints what is not story."""
        self.show(text, "dim")

    def draw(self, drawn: RenderableType) -> None:
        """Prints a table or the like."""
        self._console.print(drawn)

    def title(self, text: str) -> None:
        """Prints a heading."""
        self._console.print(Text(f"\n{harmless(text)}\n", "bold"))

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Shows that something is being waited for, where somebody looks on."""
        if not self._console.is_terminal:
            yield
            return
        with self._console.status(Text("…", "dim"), spinner="dots"):
            yield

    def telling(self) -> "ToldText":
        """Text that comes in pieces, shown as it comes."""
        return ToldText(Wrapping(reading_width(self._console)))

    def _next_line(self, question: str) -> str:
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        write(f"{question}{harmless(line.strip())}\n")
        return line


class ToldText:
    """A text that is being told."""

    def __init__(self, wrapping: Wrapping) -> None:
        self._wrapping = wrapping
        self.begun = False

    def add(self, piece: str) -> None:
        """Shows what is whole of it so far."""
        self.begun = True
        write(self._wrapping.add(piece))

    def end(self) -> None:
        """Shows the rest, and ends the line."""
        if self.begun:
            write(f"{self._wrapping.end()}\n")
