"""Errors as sentences and exit statuses: the one place that knows what an error means to a shell.

0 done · 1 the thing checked is not so · 2 wrong use · 3 the store or a server failed
"""

import io
import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from api.cli import INTERRUPTED
from api.cli.terminal_text import harmless
from domain.errors import FabulaError, InternalError, NotAcceptable, NotFound, NotNow

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

DONE = 0
NOT_SO = 1
WRONG_USE = 2
FAILED = 3
NOT_READ = 141
"""Standard output was closed before all was written: what a shell reports of a program that ends by SIGPIPE."""


class OutputClosed(Exception):
    """Whoever read standard output has gone away."""


class OutputUnwritable(Exception):
    """Standard output takes no more, though somebody may read it. Its text says why."""


def status_of(error: FabulaError) -> int:
    """What was asked for wrongly is 2; what could not be done is 3."""
    return WRONG_USE if isinstance(error, NotFound | NotNow | NotAcceptable) else FAILED


def run(app: typer.Typer, arguments: Sequence[str] | None = None) -> None:
    """Runs the app and ends the process with its status. Wrong use of a command is typer's to tell, and is 2 as well."""
    _prepare_streams()
    try:
        try:
            app(arguments)
        finally:
            sys.stdout.flush()
    except FabulaError as error:
        sys.exit(told(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except (OutputClosed, BrokenPipeError):
        _write_to_nobody()
        sys.exit(NOT_READ)
    except OutputUnwritable as why:
        _write_to_nobody()
        typer.echo(f"The output could not be written: {why}. Make room for it, or give it another place.", err=True)
        sys.exit(FAILED)
    except Exception as error:  # a person gets a sentence, whatever broke
        logging.getLogger("fabula").debug("internal error", exc_info=True)
        sys.exit(told(_mistake(error)))


def told(error: FabulaError) -> int:
    """Says the error on standard error; its exit status."""
    sys.stdout.flush()
    typer.echo(harmless(error.message), err=True)
    return status_of(error)


def _mistake(error: Exception) -> FabulaError:
    return InternalError(f"A command ({type(error).__name__}: {error}; FABULA_LOG_LEVEL=debug says where)")


def _prepare_streams() -> None:
    """Standard streams that take anything: one that is closed, or lacks a character, is no reason to stop."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  # for as long as we run
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout is sys.__stdout__:
        sys.stdout = _saying_what_fails(sys.stdout)


class _Output(io.FileIO):
    """Standard output, whose failures are told from those of any other file."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputUnwritable(error.strerror) from error


def _saying_what_fails(stdout: io.TextIOWrapper) -> io.TextIOWrapper:
    """The same place, written through `_Output`."""
    stdout.flush()
    written = io.BufferedWriter(_Output(stdout.fileno(), "w", closefd=False))
    return io.TextIOWrapper(
        written, encoding=stdout.encoding, errors=stdout.errors, line_buffering=stdout.line_buffering
    )


def _write_to_nobody() -> None:
    """What is still buffered would be written at the exit, and fail again."""
    nobody = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nobody, sys.stdout.fileno())
    os.close(nobody)
