"""The commands: `fabula serve`, `fabula play`, and those that read, check and change a store."""

import sys

INTERRUPTED = 130
"""The exit status of a program that Ctrl-C ended: 128 and the signal's number."""


def main() -> None:
    """The entry point. Every error ends as a sentence on standard error and an exit status, never as a traceback."""
    try:
        from api.cli.commands import app
        from api.cli.exits import run

        run(app)
    except KeyboardInterrupt:  # before there is anything to end in order
        sys.exit(INTERRUPTED)
