"""`fabula play`: a story in the terminal, told as it comes."""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from adapters.time_and_names import RandomNames
from api.cli.exits import told
from api.cli.logging import configure
from api.cli.serve import small_narrator
from api.config import Config
from api.use_cases.answers import position_of
from api.use_cases.audit import prompt_answer, turn_of_node
from api.use_cases.campaigns import create_campaign
from api.use_cases.stories import newest_campaign, whole_line
from api.use_cases.telling import Delta, Done, Failed, Telling
from api.wiring import Fabula, running
from domain.campaign.events import TurnKind
from domain.campaign.settings import CampaignSettings
from domain.errors import FabulaError
from domain.prompt.wording import as_prompted

OPENING = "The lamps have gone out, and somewhere behind you a door that was locked is open."
"""How a story begins when the player gives no opening."""

PROMPT = "\n> "
RECALLED_NODES = 6


class _Left(Exception):
    """The player has had enough."""


def play(config: Config, campaign: str | None, *, new: bool = False) -> None:
    """Plays until the player leaves: `campaign`, else the newest story, else a new one.

    Raises UnknownCampaign, a StoreFailure, or what the small narrator raises.
    """
    configure(config)
    with small_narrator(config) as narrator, asyncio.Runner() as runner:
        if narrator is not None:
            narrator.wait_until_ready()
        with _entered(runner, running(config)) as fabula:
            _Game(fabula, runner, Console(highlight=False)).play(campaign, new=new)


@contextmanager
def _entered(runner: asyncio.Runner, fabula: Any) -> Iterator[Fabula]:
    """An asynchronous context in a synchronous program."""
    entered: Fabula = runner.run(fabula.__aenter__())
    try:
        yield entered
    finally:
        runner.run(fabula.__aexit__(None, None, None))


@dataclass
class _Game:
    fabula: Fabula
    runner: asyncio.Runner
    console: Console
    campaign: str = ""

    def play(self, campaign: str | None, *, new: bool) -> None:
        self.campaign = self._chosen(campaign, new=new)
        self._recall()
        self.console.print("[dim]Say what you do. /help lists what else there is.[/dim]")
        while True:
            try:
                self._obey(self._asked(PROMPT))
            except FabulaError as error:
                told(error)
            except _Left:
                self.console.print(f"[dim]The story is kept as {self.campaign}.[/dim]")
                return

    def _asked(self, question: str) -> str:
        try:
            self.console.print(question, end="")
            return input().strip()
        except (EOFError, KeyboardInterrupt):
            self.console.print()
            raise _Left from None

    def _chosen(self, campaign: str | None, *, new: bool) -> str:
        if campaign is not None:
            self.fabula.log.campaign(campaign)
            return campaign
        newest = None if new else newest_campaign(self.fabula.store)
        return newest or self._begun()

    def _begun(self) -> str:
        title = self._asked("What is the story called? ") or "Untitled"
        opening = self._asked("How does it begin? (empty for an opening of ours) ") or OPENING
        return create_campaign(self.fabula.log, RandomNames(), CampaignSettings(title=title), opening)

    def _recall(self) -> None:
        facts = self.fabula.log.campaign(self.campaign)
        if facts.settings is not None:
            self.console.rule(facts.settings.title)
        for node in self.fabula.log.end_of_line(self.campaign, facts.head, limit=RECALLED_NODES):
            self.console.print(as_prompted(node), style="bold" if node.is_player else "", markup=False)
        self._where()

    def _where(self) -> None:
        self.console.print(f"[dim]{position_of(self.fabula.log, self.campaign).label}[/dim]")

    def _obey(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if not line.startswith("/"):
            kind: TurnKind = "continue" if not line else "say" if line[0] in '"“' else "do"
            return self._turn(kind, line)
        if word not in COMMANDS:
            self.console.print(f"There is no {word}. /help lists what there is.", markup=False)
            return None
        return COMMANDS[word].obey(self, rest.strip())

    def _turn(self, kind: TurnKind, text: str) -> None:
        self._tell(self.fabula.turns.take(self.campaign, kind, text))

    def retry(self, _: str) -> None:
        self._tell(self.fabula.turns.retry(self.campaign))

    def _tell(self, beginning: Coroutine[Any, Any, Telling]) -> None:
        telling = self.runner.run(beginning)
        try:
            self.runner.run(self._heard(telling))
        except KeyboardInterrupt:
            self.runner.run(self.fabula.turns.cancel(self.campaign, telling.turn))
            self.console.print("\n[dim]Cancelled. Your words are kept; an empty line or /retry tells them again.[/dim]")

    async def _heard(self, telling: Telling) -> None:
        async for happening in telling.happening():
            match happening:
                case Delta():
                    self.console.print(happening.text, end="", markup=False, soft_wrap=True)
                    sys.stdout.flush()
                case Done():
                    self.console.print(f"\n[dim]{happening.answer['position']['label']}[/dim]")
                case Failed():
                    self.console.print()
                    raise happening.error

    def say(self, text: str) -> None:
        self._turn("say", text)

    def story(self, text: str) -> None:
        self._turn("story", text)

    def whole(self, _: str) -> None:
        for node in whole_line(self.fabula.store, self.campaign):
            self.console.print(as_prompted(node), style="bold" if node.is_player else "", markup=False)

    def takes(self, _: str) -> None:
        position = position_of(self.fabula.log, self.campaign)
        self.console.print(
            f"Takes of this moment: {', '.join(map(str, position.takes))}; the story goes on from {position.head}."
        )

    def context(self, _: str) -> None:
        head = self.fabula.log.campaign(self.campaign).head
        turn = turn_of_node(self.fabula.log, self.campaign, head)
        record = prompt_answer(self.fabula.log, self.fabula.store.bodies, self.campaign, turn)
        table = Table("section", "tokens", "why")
        for section in record["sections"]:
            table.add_row(section["label"], str(section["tokens"]), section["why"])
        self.console.print(table)

    def help(self, _: str) -> None:
        self.console.print(
            "A line of your own is what you do; one in quotation marks is what you say; an empty one goes on."
        )
        for word, command in COMMANDS.items():
            self.console.print(f"  {word:<10} {command.what}", markup=False)

    def leave(self, _: str) -> None:
        raise _Left


@dataclass(frozen=True)
class _Command:
    what: str
    obey: Callable[[_Game, str], None]


COMMANDS = {
    "/say": _Command("say something: /say Who is there?", _Game.say),
    "/tell": _Command("tell what happens, in your own words", _Game.story),
    "/retry": _Command("another take of the newest narration", _Game.retry),
    "/takes": _Command("the takes of this moment", _Game.takes),
    "/story": _Command("the story so far", _Game.whole),
    "/context": _Command("what the narrator was sent for the newest turn", _Game.context),
    "/help": _Command("this list", _Game.help),
    "/quit": _Command("leave; the story is kept", _Game.leave),
}
