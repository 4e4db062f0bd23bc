"""What commands print: sentences, tables, JSON, bytes; harmless to the terminal that shows them."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from api.cli.exits import OutputClosed, OutputUnwritable
from api.cli.terminal_text import harmless

UNBOUNDED = 10_000
"""The width of what is not a terminal, in cells: its reader breaks lines, not we."""
READING_WIDTH = 88
"""The widest line of story, in cells."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise OutputClosed


def console() -> Console:
    """Standard output. Nothing that is printed there is read as markup or as an emoji's name."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else UNBOUNDED
    return _Console(width=width, markup=False, emoji=False, highlight=False)


def messages() -> Console:
    """Standard error, for what is no result: progress, and what is being waited for."""
    return _Console(stderr=True, markup=False, emoji=False, highlight=False)


def reading_width(screen: Console) -> int | None:
    """How wide a line of story may be, None where nobody reads at a terminal."""
    return min(screen.width, READING_WIDTH) if screen.is_terminal else None


def say(sentence: str, style: str = "") -> None:
    """Prints a line or more of text."""
    console().print(Text(harmless(sentence), style), soft_wrap=True)


def remark(sentence: str) -> None:
    """Says what is no result, on standard error."""
    messages().print(Text(harmless(sentence), "yellow"), soft_wrap=True)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[str] = ()) -> Table:
    """A table of plain text; None is an empty cell. The columns named in `right` hold numbers."""
    drawn = Table(box=None, pad_edge=False, header_style="bold", show_header=any(headings), padding=(0, 2, 0, 0))
    for heading in headings:
        drawn.add_column(Text(heading), justify="right" if heading in right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*("" if cell is None else Text(harmless(str(cell))) for cell in row))
    return drawn


def show(drawn: Table) -> None:
    """Prints a table; where it is not for a terminal, without the blanks that fill its lines."""
    screen = console()
    if screen.is_terminal:
        screen.print(drawn)
        return
    with screen.capture() as captured:
        screen.print(drawn)
    write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def print_json(value: Any) -> None:
    """Prints the value as JSON that is harmless to a terminal."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    write(_without_controls(text))


def print_json_line(value: Any) -> None:
    """Prints the value as JSON on one line, at once."""
    write(_without_controls(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE).decode()))


def write(text: str) -> None:
    """Writes the text as it is, at once. Raises OutputClosed."""
    with _reader_may_be_gone():
        sys.stdout.write(text)
        sys.stdout.flush()


def write_bytes(data: bytes) -> None:
    """Writes exactly these bytes. Raises OutputClosed."""
    with _reader_may_be_gone():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


@contextmanager
def _reader_may_be_gone() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise OutputClosed from None


def _without_controls(text: str) -> str:
    """The same JSON: what orjson leaves unescaped and a terminal would obey, escaped."""
    return re.sub("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", lambda found: f"\\u{ord(found[0]):04x}", text)


def write_file(path: Path, text: str) -> None:
    """Writes a file for the person who asked for it. Raises OutputUnwritable."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputUnwritable(f"{path}: {error.strerror}") from error
