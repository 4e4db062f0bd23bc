"""Errors as sentences and exit statuses: the one place that knows what an error means to a shell.

0 done · 1 the thing checked is not so · 2 wrong use · 3 the store or a server failed
"""

import sys

import click
import typer

from domain.errors import FabulaError, NotAcceptable, NotFound, NotNow

DONE = 0
NOT_SO = 1
WRONG_USE = 2
FAILED = 3


def status_of(error: FabulaError) -> int:
    """What was asked for wrongly is 2; what could not be done is 3."""
    return WRONG_USE if isinstance(error, NotFound | NotNow | NotAcceptable) else FAILED


def run(app: typer.Typer) -> None:
    """Runs the app and ends the process with its status."""
    try:
        app(standalone_mode=False)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(WRONG_USE)
    except FabulaError as error:
        sys.exit(told(error))
    except (KeyboardInterrupt, click.Abort):
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe has gone: nothing to tell anybody
        sys.exit(DONE)


def told(error: FabulaError) -> int:
    """Says the error on standard error; its exit status."""
    typer.echo(f"{error.title}. {error.message}", err=True)
    return status_of(error)
