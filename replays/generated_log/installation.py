"""An installation that is played on: stories begun one after the other, a handful of them played side by side."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from adapters.event_log.log import Execute, SqlEventLog
from domain.campaign.commands import CampaignCommand
from domain.campaign.events import CampaignDeleted
from domain.catalogue import catalogue
from domain.installation import Settings
from domain.log import Execution
from replays.generated_log.chance import Dice, SeededNames, StoryTime
from replays.generated_log.player import Player
from replays.generated_log.prose import Prose
from replays.generated_log.story import Story
from replays.generated_log.telling import Installed

Progress = Callable[[int, int], None]
"""Told how far it has come: (events, events wanted)."""

AT_ONCE = 6
"""Stories that are played side by side."""

_COMMANDS_A_TRANSACTION = 400
_LENGTHS = 0.7
"""How much stories differ in length: the longest of hundreds is some five times as long as most."""
_TRIAL = 40
"""The events of the first story, which the program is only tried out with: it is deleted."""
_DELETED = 0.03
_SETTINGS_CHANGED = 0.05
_SECONDS_BETWEEN = (0.05, 8.0)

_FIRST_SETTINGS = {"endpoint": "http://127.0.0.1:11434/v1", "model": "narrator-8b-q4", "context_budget": 8192}
_CHANGES: tuple[Mapping[str, Any], ...] = (
    {"model": "narrator-8b-q4", "context_budget": 8192},
    {"model": "narrator-14b-q4", "context_budget": 6144},
    {"temperature": 0.9},
    {"temperature": 1.1, "top_p": 0.95},
    {"max_output_tokens": 320, "low_water_percent": 50},
    {"max_output_tokens": 500, "low_water_percent": 60},
)


@dataclass(frozen=True)
class Size:
    """About how many events a log ends up with, and about how many stories they tell."""

    events: int
    campaigns: int


@dataclass
class _Table:
    """A story that is being played."""

    story: Story
    player: Player
    is_trial: bool
    commands: Generator[CampaignCommand, Execution, None]
    answer: Execution | None = None

    def next(self) -> CampaignCommand | None:
        """What the player asks for after the answer to what was asked before; None when the story is left."""
        try:
            return next(self.commands) if self.answer is None else self.commands.send(self.answer)
        except StopIteration:
            return None


class Installation:
    """An installation out of a seed. The log is empty, and stamps its events by this clock."""

    def __init__(self, log: SqlEventLog, clock: StoryTime, seed: int, size: Size) -> None:
        self._log = log
        self._clock = clock
        self._size = size
        self._catalogue = catalogue()
        self._dice = Dice(seed, "installation")
        self._installed = Installed(
            Dice(seed, "stories"), Prose(Dice(seed, "prose")), SeededNames(seed, "stories"), Settings(), process=""
        )
        self._tables: list[_Table] = []
        self._given_up: list[str] = []
        self._begun = False
        self._written = 0

    def play(self, progress: Progress) -> int:
        """Plays until the log holds so many events and no turn is open. Says how many they are."""
        self._change_settings(_FIRST_SETTINGS)
        while self._tables or self._written < self._size.events:
            self._log.execute_together(self._for_an_evening)
            self._delete_what_was_given_up()
            if self._dice.happens(_SETTINGS_CHANGED):
                self._change_settings(self._dice.choice(_CHANGES))
            progress(self._written, self._size.events)
        return self._written

    def _for_an_evening(self, execute: Execute) -> None:
        for _ in range(_COMMANDS_A_TRANSACTION):
            self._keep_playing()
            if self._tables:
                self._go_on(self._dice.choice(self._tables), execute)

    def _keep_playing(self) -> None:
        """Begins a story where one was left, or lets all end when there are events enough."""
        if self._written >= self._size.events:
            for table in self._tables:
                table.player.stop()
        elif len(self._tables) < min(AT_ONCE, self._size.campaigns):
            self._tables.append(self._begin())

    def _begin(self) -> _Table:
        story = Story(self._installed.names.new("c"), self._catalogue)
        is_trial, self._begun = not self._begun, True
        player = Player(story, self._installed, _TRIAL if is_trial else self._length())
        return _Table(story, player, is_trial, player.play())

    def _length(self) -> int:
        return int(self._dice.around(self._size.events / self._size.campaigns, _LENGTHS))

    def _go_on(self, table: _Table, execute: Execute) -> None:
        self._clock.passes(self._dice.between(*_SECONDS_BETWEEN))
        command = table.next()
        if command is None:
            self._leave(table)
        else:
            table.answer = execute(command)
            self._written += len(table.answer.events)

    def _leave(self, table: _Table) -> None:
        self._tables.remove(table)
        if table.is_trial or self._dice.happens(_DELETED):
            self._given_up.append(table.story.campaign)

    def _delete_what_was_given_up(self) -> None:
        while self._given_up:
            for recorded in self._log.delete_campaign(self._given_up.pop()).events:
                gone = recorded.event.events if isinstance(recorded.event, CampaignDeleted) else 0
                self._written += 1 - gone

    def _change_settings(self, changes: Mapping[str, Any]) -> None:
        self._written += len(self._log.change_settings(changes).events)
        self._installed.settings = self._log.settings().settings
        self._installed.process = self._installed.names.new("p")  # it was started anew
