"""Reading a story: a page, the position, the audit of a turn. None may take longer because the story is long."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from api.config import Config
from api.use_cases.answers import position_of
from api.use_cases.audit import prompt_answer, request_of
from api.use_cases.stories import story_page
from api.wiring import Store, open_store
from domain.prompt.events import PromptSent
from tests.bench.prose import Prose
from tests.bench.stories import CAMPAIGN, Teller, grow, opened_log, start
from tests.bench.table import Figure, at_most, p50, told

LENGTHS = (10, 1_000, 10_000)
QUICK_LENGTHS = (10, 1_000)
GROWTH = 1.25
"""What the disk's and the neighbours' moods can make of two equal times."""

_PAGE = 50
_RECORDED_TURNS = 4


@dataclass(frozen=True)
class _Read:
    """One way of reading, and the shortest story that it is compared with: a page of 50 is not full before."""

    name: str
    do: Callable[[Store, str], object]
    shortest: int


def _page(store: Store, _turn: str) -> object:
    return story_page(store, CAMPAIGN, _PAGE)


def _position(store: Store, _turn: str) -> object:
    return position_of(store.log, CAMPAIGN)


def _audit(store: Store, turn: str) -> object:
    return prompt_answer(store.log, store.bodies, CAMPAIGN, turn), request_of(store.log, store.bodies, CAMPAIGN, turn)


READS = (
    _Read(f"a page of {_PAGE}", _page, 1_000),
    _Read("the position", _position, 10),
    _Read("the audit of a turn, record and exact request", _audit, 1_000),
)


def measure(home: Path, *, quick: bool) -> list[Figure]:
    """Medians at each length, and how they grow."""
    lengths, times = (QUICK_LENGTHS, 50) if quick else (LENGTHS, 200)
    for length in lengths:
        _build(home / str(length), length)
    with ExitStack() as stack:
        stores = {length: stack.enter_context(open_store(Config(home=home / str(length)))) for length in lengths}
        turns = {length: _last_turn(store) for length, store in stores.items()}
        found = {read.name: _timed(read, stores, turns, times) for read in READS}
    figures = [figure for read in READS for figure in _figures(read, found[read.name])]
    return [*figures, told("repetitions", f"{times} of each, lengths interleaved")]


def _figures(read: _Read, found: dict[int, list[float]]) -> list[Figure]:
    longest = max(found)
    medians = {length: p50(seconds) for length, seconds in found.items()}
    each = "   ".join(f"{length:,}: {median:.2f}" for length, median in medians.items())
    growth = medians[longest] / medians[read.shortest]
    return [
        told(f"{read.name}: ms by nodes", each),
        at_most(f"{read.name}: {longest:,} nodes / {read.shortest:,}", growth, GROWTH),
    ]


def _timed(read: _Read, stores: dict[int, Store], turns: dict[int, str], times: int) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {length: [] for length in stores}
    for _ in range(times):
        for length, store in stores.items():
            begun = perf_counter()
            read.do(store, turns[length])
            found[length].append(perf_counter() - begun)
    return found


def _build(home: Path, length: int) -> None:
    """A story whose last turns have records, as many at every length, so that as many are read to rebuild one."""
    prose = Prose()
    with opened_log(home, durable=False) as log:
        start(log, prose)
        grow(log, prose, length - 2 * _RECORDED_TURNS)
        teller = Teller(log, prose)
        for _ in range(_RECORDED_TURNS):
            teller.turn()


def _last_turn(store: Store) -> str:
    """The newest turn; the views have caught up with it."""
    store.views.at_least("story", store.log.max_position(), timeout=120)
    recorded = store.log.last_prompt(CAMPAIGN)
    assert recorded is not None
    assert isinstance(recorded.event, PromptSent)
    return recorded.event.turn
