"""Errors as sentences and exit statuses: the one place that knows what an error means to a shell.

0 done · 1 the thing checked is not so · 2 wrong use · 3 the store or a server failed
"""

import sys

import typer

from domain.errors import FabulaError, NotAcceptable, NotFound, NotNow

DONE = 0
NOT_SO = 1
WRONG_USE = 2
FAILED = 3
INTERRUPTED = 130


def status_of(error: FabulaError) -> int:
    """What was asked for wrongly is 2; what could not be done is 3."""
    return WRONG_USE if isinstance(error, NotFound | NotNow | NotAcceptable) else FAILED


def run(app: typer.Typer) -> None:
    """Runs the app and ends the process with its status. Wrong use of a command is typer's to tell, and is 2 as well."""
    try:
        app()
    except FabulaError as error:
        sys.exit(told(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def told(error: FabulaError) -> int:
    """Says the error on standard error; its exit status."""
    typer.echo(f"{error.title}. {error.message}", err=True)
    return status_of(error)
