"""Long stories, built quickly: through the log's own commands, and not waiting for the disk."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from adapters.event_log.log import Execute, SqlEventLog
from adapters.time_and_names import RandomNames, SystemClock
from adapters.tokens import TiktokenCounter
from api.use_cases.prompting import Bodies, Prompter
from domain.campaign.commands import AcceptNarration, CampaignCommand, OpenTurn, RecordPrompt, StartCampaign
from domain.campaign.settings import CampaignSettings
from domain.extraction.extraction import extract_plain
from domain.installation import Settings
from domain.prompt.events import Accounting, Window
from tests.bench.prose import Prose
from tests.bench.table import Spent

HALF_TURN = 2048
"""Characters of an action, and of the narration that answers it. One that answers nothing has twice as many."""

CONTINUED = 5
"""Every so many turns the player only asks the narrator to go on."""

CAMPAIGN = "c_bench"

_AT_ONCE = 200
_DIFFERENT = 600
_SETTINGS = Settings(endpoint="http://127.0.0.1:1/v1", model="scripted-model")

ACCOUNT = Accounting(
    status="fits",
    prompt_tokens=9_500,
    completion_tokens=400,
    estimate=9_600,
    difference=-100,
    observed_margin=6_484,
    safety_reserve=820,
    cached_tokens=8_000,
    window_verified=False,
    detail="The server read 9500 tokens: all that was sent, as far as its count can tell.",
)


@contextmanager
def opened_log(home: Path, *, durable: bool = True) -> Iterator[SqlEventLog]:
    """The log of a data directory; one that is not durable does not wait for the disk."""
    home.mkdir(parents=True, exist_ok=True)
    log = SqlEventLog(home / "log.db", SystemClock(), RandomNames())
    try:
        if not durable:
            without_waiting(log)
        yield log
    finally:
        log.close()


def without_waiting(log: SqlEventLog) -> None:
    """Lets the log's one writing connection hand what it writes to the operating system, and go on."""
    connection = log._writes.raw_connection()
    connection.cursor().execute("PRAGMA synchronous=OFF")
    connection.close()


def start(log: SqlEventLog, prose: Prose, campaign: str = CAMPAIGN) -> None:
    """A story with its opening."""
    settings = CampaignSettings(title="A story to measure with", plot_essentials=prose.text(600))
    log.execute(StartCampaign(campaign, settings, prose.text(HALF_TURN)))


def grow(log: SqlEventLog, prose: Prose, nodes: int, campaign: str = CAMPAIGN) -> None:
    """Turns without prompt records until the story has so many nodes. Far apart their texts repeat."""
    texts = cycle([prose.text(HALF_TURN) for _ in range(min(nodes, _DIFFERENT))])
    commands = _growth(texts, log.campaign(campaign).last_node, nodes, campaign)
    while some := list(islice(commands, _AT_ONCE)):
        log.execute_together(partial(_do_all, some))


def _do_all(commands: Sequence[CampaignCommand], execute: Execute) -> None:
    for command in commands:
        execute(command)


def _growth(texts: Iterator[str], has: int, nodes: int, campaign: str) -> Iterator[CampaignCommand]:
    names, number = RandomNames(), 0
    while has < nodes:
        number, turn = number + 1, names.new("t")
        alone = number % CONTINUED == 0 or has == nodes - 1
        yield OpenTurn(campaign, turn, "continue" if alone else "do", "" if alone else next(texts), "p_bench", "0" * 32)
        reply = next(texts) + next(texts) if alone else next(texts)
        yield AcceptNarration(campaign, turn, reply, "", extract_plain(reply), "stop", ACCOUNT)
        has += 1 if alone else 2


class Teller:
    """Tells a story on as the use case does, prompt records and all, with replies that nobody had to be asked for."""

    def __init__(self, log: SqlEventLog, prose: Prose, campaign: str = CAMPAIGN) -> None:
        self._log, self._prose, self._campaign = log, prose, campaign
        self._names = RandomNames()
        self._bodies = Bodies(log)
        self._prompter = Prompter(log, TiktokenCounter(), self._bodies)

    def turn(self) -> Spent:
        """Tells a turn: three transactions, five events. What those took."""
        turn = self._names.new("t")
        spent = self._time(OpenTurn(self._campaign, turn, "do", self._prose.text(HALF_TURN), "p_bench", "0" * 32))
        opened = self._log.turn(self._campaign, turn)
        prepared = self._prompter.prepare(self._campaign, opened, _SETTINGS, Window())
        spent += self._time(RecordPrompt(self._campaign, prepared.event))
        self._bodies.remember(self._campaign, prepared.event, prepared.body)
        reply = self._prose.text(HALF_TURN)
        return spent + self._time(
            AcceptNarration(self._campaign, turn, reply, "", extract_plain(reply), "stop", ACCOUNT)
        )

    def _time(self, command: CampaignCommand) -> Spent:
        begun = Spent.now()
        self._log.execute(command)
        return Spent.now() - begun
