"""`fabula play`: a story in the terminal, told as it comes."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager

import typer

from api.cli.exits import DONE
from api.cli.game import Game
from api.cli.logging import configure
from api.cli.output import messages
from api.cli.screen import Screen
from api.cli.serve import small_narrator
from api.config import Config
from api.wiring import Fabula, running


def play(config: Config, campaign: str | None, *, new: bool = False) -> None:
    """Plays until the player leaves: `campaign`, else the newest story, else a new one.

    Raises UnknownCampaign, a StoreFailure, or what the small narrator raises. Lines from a pipe end at the first that
    fails, with its exit status.
    """
    configure(config, quiet=True)
    _heed_interrupts()
    with small_narrator(config) as narrator, asyncio.Runner() as runner:
        if narrator is not None:
            with messages().status("Starting the small narrator…"):
                narrator.wait_until_ready()
        with _entered(runner, running(config, with_small_narrator=narrator is not None)) as fabula:
            status = Game(fabula, runner, Screen()).play(campaign, new=new)
    if status != DONE:
        raise typer.Exit(status)


def _heed_interrupts() -> None:
    """A shell's background jobs are begun with Ctrl-C ignored, and so is whatever they begin: a terminal, say, with a game."""
    if sys.stdin.isatty() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _entered(runner: asyncio.Runner, fabula: AbstractAsyncContextManager[Fabula]) -> Iterator[Fabula]:
    """An asynchronous context in a synchronous program."""
    entered: Fabula = runner.run(_awaited(fabula))
    try:
        yield entered
    finally:
        runner.run(_left(fabula))


async def _awaited(fabula: AbstractAsyncContextManager[Fabula]) -> Fabula:
    return await fabula.__aenter__()


async def _left(fabula: AbstractAsyncContextManager[Fabula]) -> None:
    await fabula.__aexit__(None, None, None)
