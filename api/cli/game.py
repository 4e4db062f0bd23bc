"""The game of `fabula play`: lines are taken as turns, and words with a slash as commands."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

from adapters.time_and_names import RandomNames
from api.cli.audit import sections_table
from api.cli.exits import DONE, told
from api.cli.game_moves import MOVES
from api.cli.game_state import STATE
from api.cli.screen import InputEnded, Screen, ToldText
from api.use_cases.answers import position_of
from api.use_cases.audit import prompt_answer, turn_of_node
from api.use_cases.campaigns import create_campaign
from api.use_cases.stories import newest_campaign, whole_line
from api.use_cases.telling import Delta, Done, Failed, Happening, Telling
from api.wiring import Fabula
from domain.campaign.events import TurnKind
from domain.campaign.settings import CampaignSettings
from domain.errors import (
    FabulaError,
    ModelUnreachable,
    SmallNarratorRestarting,
    TurnCancelled,
    TurnInProgress,
    TurnNotRunning,
)
from domain.prompt.sections import HistoryNode
from domain.prompt.wording import as_prompted
from domain.text import without_lone_surrogates

OPENING = "The lamps have gone out, and somewhere behind you a door that was locked is open."
"""How a story begins when the player gives no opening."""

PROMPT = "> "
RECALLED_NODES = 6

_TAKE_CHARACTERS = 60


class _Left(Exception):
    """The player has had enough."""


@dataclass
class Game:
    """One player at one screen."""

    fabula: Fabula
    runner: asyncio.Runner
    screen: Screen
    campaign: str = ""
    telling: Telling | None = None

    def play(self, campaign: str | None, *, new: bool) -> int:
        """Plays until the player leaves; the exit status. Raises UnknownCampaign, a StoreFailure."""
        try:
            self.campaign = self._chosen(campaign, new=new)
            self._recall()
            return self._played()
        except (InputEnded, _Left):
            self._take_leave()
            return DONE

    def _played(self) -> int:
        """Obeys line after line. Ends at an error only where nobody is there to read it."""
        while True:
            try:
                self.obey(self.screen.ask(PROMPT))
            except FabulaError as error:
                status = told(error)
                self.screen.note(self._advice(error))
                if not self.screen.interactive:
                    return status

    def _chosen(self, campaign: str | None, *, new: bool) -> str:
        if campaign is not None:
            self.fabula.log.campaign(campaign)
            return campaign
        newest = None if new else newest_campaign(self.fabula.store)
        return newest or self._begun()

    def _begun(self) -> str:
        title, replaced_in_title = without_lone_surrogates(self._answer("What is the story called? "))
        asked = self._answer("How does it begin? (empty: an opening of ours) ")
        opening, replaced = without_lone_surrogates(asked or OPENING)
        settings = CampaignSettings(title=title[:200] or "Untitled")
        return create_campaign(
            self.fabula.log, RandomNames(), settings, opening, replaced_surrogates=replaced + replaced_in_title
        )

    def _answer(self, question: str) -> str:
        """What is typed, unless it was meant as a command: the opening is for ever, and `/quit` should not be one."""
        while (line := self.screen.ask(question)).startswith("/"):
            self.screen.note("There are no commands before the story begins; Ctrl-D leaves.")
        return line

    def _recall(self) -> None:
        facts = self.fabula.log.campaign(self.campaign)
        if facts.settings is not None:
            self.screen.title(facts.settings.title)
        self._show(self.fabula.log.end_of_line(self.campaign, facts.head, limit=RECALLED_NODES))
        self.screen.note(f"{self._label()} · say what you do; /help lists what else there is")

    def _take_leave(self) -> None:
        if self.campaign:
            self.screen.note(f"The story is kept. `fabula play {self.campaign}` goes on with it.")

    def _label(self) -> str:
        return position_of(self.fabula.log, self.campaign).label

    def _show(self, nodes: Sequence[HistoryNode]) -> None:
        for node in nodes:
            self.screen.show(f"{as_prompted(node)}\n", "bold" if node.is_player else "")

    # What a line asks for

    def obey(self, line: str) -> None:
        """Does what the line says. Raises a FabulaError when it cannot be done."""
        word, _, rest = line.partition(" ")
        if not line.startswith("/"):
            self._turn(_kind_of(line), line)
        elif word in COMMANDS:
            COMMANDS[word].obey(self, rest.strip())
        else:
            self.screen.note(f"There is no {word}. /help lists what there is; a line without a slash is what you do.")

    def say(self, text: str) -> None:
        self._turn_with_words("say", text, "/say Who is there?")

    def tell(self, text: str) -> None:
        self._turn_with_words("story", text, "/tell Rain sets in, and nobody comes.")

    def retry(self, _: str) -> None:
        self._tell(self.fabula.turns.retry(self.campaign))

    def whole(self, _: str) -> None:
        self._show(whole_line(self.fabula.store, self.campaign))
        self.where("")

    def where(self, _: str) -> None:
        settings = self.fabula.settings.in_force()
        public = ", a public endpoint" if settings.public_endpoint else ""
        told_by = f"{settings.model or 'the first model'} at {settings.endpoint}{public}"
        self.screen.note(f"{self._label()} of {self.campaign}, told by {told_by}")

    def takes(self, _: str) -> None:
        position = position_of(self.fabula.log, self.campaign)
        for number, node in enumerate(position.takes, start=1):
            here = "  ← the story goes on from here" if node == position.head else ""
            self.screen.show(f"{number}. {self._beginning_of(node)}{here}")

    def context(self, _: str) -> None:
        log, bodies = self.fabula.log, self.fabula.store.bodies
        turn = turn_of_node(log, self.campaign, log.campaign(self.campaign).head)
        record = prompt_answer(log, bodies, self.campaign, turn)
        tokens = record["tokens"]
        self.screen.draw(sections_table(record))
        self.screen.note(
            f"{tokens['total']} tokens of {tokens['budget']}. `fabula audit {self.campaign} {turn}` says more."
        )

    def help(self, _: str) -> None:
        self.screen.show('A line is what you do; one in "quotation marks" is what you say; an empty one lets it go on.')
        for word, command in COMMANDS.items():
            self.screen.show(f"  {word:<9} {command.what}")
        self.screen.show("  Ctrl-C    while the story is told: stops that; at the prompt: leaves, as Ctrl-D does")

    def leave(self, _: str) -> None:
        raise _Left

    def _beginning_of(self, node: int) -> str:
        (told_node,) = self.fabula.log.end_of_line(self.campaign, node, limit=1)
        words = " ".join(told_node.text.split())
        return words if len(words) <= _TAKE_CHARACTERS else f"{words[:_TAKE_CHARACTERS]}…"

    # Telling

    def _turn_with_words(self, kind: TurnKind, text: str, example: str) -> None:
        if text:
            self._turn(kind, text)
        else:
            self.screen.note(f"Add the words, as in: {example}")

    def _turn(self, kind: TurnKind, line: str) -> None:
        text, replaced = without_lone_surrogates(line)
        self._tell(self.fabula.turns.take(self.campaign, kind, text, replaced_surrogates=replaced))

    def _tell(self, beginning: Coroutine[Any, Any, Telling]) -> None:
        """Tells a turn to its end; Ctrl-C cancels it. Raises what it failed with."""
        self.telling = None
        text = self.screen.telling()
        try:
            end = self.runner.run(self._heard(beginning, text))
        except KeyboardInterrupt:
            text.end()
            return self._cancel()
        return self._ended(end)

    async def _heard(self, beginning: Coroutine[Any, Any, Telling], text: ToldText) -> Happening | None:
        """What the turn ended with."""
        happening: Happening | None = None
        with ExitStack() as waiting:
            waiting.enter_context(self._waiting())
            self.telling = await beginning
            async for happening in self.telling.happening():
                if isinstance(happening, Delta):
                    waiting.close()
                    text.add(happening.text)
        text.end()
        return happening

    def _waiting(self) -> AbstractContextManager[None]:
        return self.screen.waiting()

    def _ended(self, end: Happening | None) -> None:
        if isinstance(end, Failed):
            raise end.error
        if isinstance(end, Done):
            self.screen.note(_marks(end.answer))

    def _cancel(self) -> None:
        turn = self.telling.turn if self.telling else self.fabula.log.campaign(self.campaign).open_turn
        if turn is None:
            return self.screen.note("Nothing was begun.")
        try:
            self.runner.run(self.fabula.turns.cancel(self.campaign, turn))
        except TurnNotRunning:
            return self.screen.note(f"It had been told already. {self._label()}")
        except KeyboardInterrupt:
            raise _Left from None
        return self.screen.note(f"Cancelled. {self._again()}")

    def _advice(self, error: FabulaError) -> str:
        """What to do next, at this prompt."""
        match error:
            case SmallNarratorRestarting():
                return self._again()
            case ModelUnreachable():
                return f"{self._again()} `fabula doctor` says what answers, `fabula settings` where stories are told."
            case TurnInProgress():
                return "Another program is telling it. Wait a moment, then try again."
            case TurnCancelled():
                return f"Somebody else stopped it. {self._again()}"
            case _:
                return self._again() if "turn" in error.fields else "/help lists what there is."

    def _again(self) -> str:
        """How to have told what was not, from where the story stands now."""
        facts = self.fabula.log.campaign(self.campaign)
        if self.fabula.log.node(self.campaign, facts.head).is_player:
            return "Your words are kept: an empty line tells them again, and so does /retry."
        return "The story stands where it was: an empty line lets it go on, /retry asks for another take."


def _kind_of(line: str) -> TurnKind:
    if not line:
        return "continue"
    return "say" if line[0] in '"“' else "do"


def _marks(answer: dict[str, Any]) -> str:
    """The line beneath a narration: where the story is, and what a player should know about how it was told."""
    account = answer["accounting"] or {}
    doubtful = account.get("status") in ("truncation_suspected", "exceeded")
    cut = " · it reached max_output_tokens; an empty line lets it go on" if answer["finish_reason"] == "length" else ""
    return f"{answer['position']['label']}{cut}{' · ' + account['detail'] if doubtful else ''}"


@dataclass(frozen=True)
class _Command:
    what: str
    obey: Callable[[Game, str], None]


COMMANDS = {
    "/say": _Command("say something: /say Who is there?", Game.say),
    "/tell": _Command("tell what happens, in your own words", Game.tell),
    "/retry": _Command("another take of the newest narration; the old one is kept", Game.retry),
    "/takes": _Command("the takes of this moment", Game.takes),
    **{word: _Command(what, move) for word, (what, move) in MOVES.items()},
    "/story": _Command("the story so far", Game.whole),
    **{word: _Command(what, tell) for word, (what, tell) in STATE.items()},
    "/context": _Command("what the narrator was sent for the newest turn", Game.context),
    "/where": _Command("where the story stands, and who tells it", Game.where),
    "/help": _Command("this list", Game.help),
    "/quit": _Command("leave; the story is kept", Game.leave),
}
