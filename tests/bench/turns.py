"""The product's own share of a turn, with a model that answers at once, in short and in long stories.

A turn's own share is its whole time less the time in which the model server answers the same bytes to a bare client,
asked right after it. Stories of different lengths take turns, each in a store of its own. Through the use case the
replies are a sentence, so that what a reply costs, which is the same at every length, does not flatter the ratio; over
HTTP they are as long as a narration, 350 pieces.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time

import httpx

from api.config import Config
from api.wiring import Fabula, running
from domain.prompt.events import PromptSent
from tests.bench.model_process import DirectClient, instant_model
from tests.bench.prose import Prose
from tests.bench.stories import CAMPAIGN, HALF_TURN, grow, opened_log, start
from tests.bench.table import Figure, at_most, p50, p99, told

SHORT = 10
LENGTHS = (SHORT, 1_000, 10_000)
QUICK_LENGTHS = (SHORT, 1_000)
MODEL = "scripted-model"
RATIO = 1.5
SENTENCE = "The door gives way, and the room behind it is not empty."

_WARM_TURNS = 12
_TURNS_OF_A_SHORT_STORY = 2


@dataclass
class _Samples:
    own: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


def measure(home: Path, *, quick: bool) -> list[Figure]:
    """The shares, through the use case and over HTTP."""
    lengths, turns = (QUICK_LENGTHS, 30) if quick else (LENGTHS, 120)
    prose = Prose()
    for length in lengths:
        _build(home / str(length), prose, length, turns)
    with instant_model(SENTENCE) as endpoint:
        by_use_case = asyncio.run(_through_the_use_case(home, endpoint, prose, lengths, turns))
    with instant_model(prose.text(HALF_TURN)) as endpoint:
        by_http = _over_http(home, endpoint, prose, lengths, turns)
    return [
        *_figures("use case, a sentence replied", by_use_case, turns),
        *(
            told(f"use case, {length:,} nodes: processor time", f"{p50(samples.processor):.1f} ms")
            for length, samples in by_use_case.items()
        ),
        *_figures("HTTP, 2 KB replied", by_http, turns),
        told("repetitions", f"{turns} turns of each length and way, interleaved; words of {HALF_TURN:,} characters"),
    ]


def _figures(way: str, found: dict[int, _Samples], turns: int) -> Iterator[Figure]:
    for length, samples in found.items():
        yield told(
            f"{way}, {length:,} nodes: own share", f"p50 {p50(samples.own):.1f} ms   p99 {p99(samples.own):.1f} ms"
        )
    longest = max(found)
    ratio = p50(found[longest].own) / p50(found[SHORT].own)
    yield at_most(f"{way}: p50 at {longest:,} nodes / p50 at {SHORT}", ratio, RATIO)


def _campaigns(length: int, turns: int) -> list[str]:
    """A short story is one for a few turns only, so there are many of them."""
    if length > SHORT:
        return [CAMPAIGN]
    return [f"c_short{number}" for number in range(2 * -(-turns // _TURNS_OF_A_SHORT_STORY))]


def _build(home: Path, prose: Prose, length: int, turns: int) -> None:
    with opened_log(home, durable=False) as log:
        for campaign in _campaigns(length, turns):
            start(log, prose, campaign)
            grow(log, prose, length - 2 if length == SHORT else length, campaign)


def _stories(length: int, turns: int, *, half: int) -> Iterator[tuple[str, bool]]:
    """The story of each turn to be played, and whether it only warms up. The two ways use a half of the short ones."""
    if length > SHORT:
        warm = _WARM_TURNS if half == 0 else 2
        yield from [(CAMPAIGN, True)] * warm + [(CAMPAIGN, False)] * turns
        return
    campaigns = _campaigns(length, turns)
    for campaign in campaigns[half::2]:
        yield campaign, True
        yield from [(campaign, False)] * _TURNS_OF_A_SHORT_STORY


@dataclass(frozen=True)
class _Use:
    """One store, played through the use case."""

    fabula: Fabula
    stories: Iterator[tuple[str, bool]]
    samples: _Samples

    async def play(self, words: str, direct: DirectClient) -> bool:
        """Plays a turn. False when it was one to be measured."""
        campaign, warming = next(self.stories)
        await asyncio.to_thread(self.fabula.views.catch_up)
        used, begun = process_time(), perf_counter()
        await (await self.fabula.turns.take(campaign, "do", words)).answer()
        whole, used = perf_counter() - begun, process_time() - used
        recorded = self.fabula.log.last_prompt(campaign)
        assert recorded is not None
        assert isinstance(recorded.event, PromptSent)
        alone = await asyncio.to_thread(direct.seconds, self.fabula.store.bodies.of(campaign, recorded.event))
        if not warming:
            self.samples.own.append(whole - alone)
            self.samples.processor.append(used)
        return warming


async def _through_the_use_case(
    home: Path, endpoint: str, prose: Prose, lengths: tuple[int, ...], turns: int
) -> dict[int, _Samples]:
    direct = DirectClient(endpoint)
    async with AsyncExitStack() as stack:
        uses = {}
        for length in lengths:
            config = Config(home=home / str(length), endpoint=endpoint, model=MODEL, narrator=False)
            fabula = await stack.enter_async_context(running(config))
            uses[length] = _Use(fabula, _stories(length, turns, half=0), _Samples())
        for _ in range(turns):
            for use in uses.values():
                while await use.play(prose.text(HALF_TURN), direct):
                    pass
    direct.close()
    return {length: use.samples for length, use in uses.items()}


@dataclass(frozen=True)
class _Client:
    """One store, played through its server."""

    client: httpx.Client
    stories: Iterator[tuple[str, bool]]
    samples: _Samples

    def play(self, words: str, direct: DirectClient) -> bool:
        campaign, warming = next(self.stories)
        # Waits for the view, so that folding the turn before is not part of this one.
        self.client.get(f"/api/campaigns/{campaign}/story?limit=1").raise_for_status()
        begun = perf_counter()
        answer = self.client.post(f"/api/campaigns/{campaign}/turns", json={"kind": "do", "text": words})
        whole = perf_counter() - begun
        node = answer.raise_for_status().json()["node"]
        body = self.client.get(f"/api/campaigns/{campaign}/nodes/{node}/request").raise_for_status().content
        alone = direct.seconds(body)
        if not warming:
            self.samples.own.append(whole - alone)
        return warming


def _over_http(home: Path, endpoint: str, prose: Prose, lengths: tuple[int, ...], turns: int) -> dict[int, _Samples]:
    direct = DirectClient(endpoint)
    with ExitStack() as stack:
        clients = {}
        for length in lengths:
            address = stack.enter_context(served(home / str(length), endpoint))
            client = stack.enter_context(httpx.Client(base_url=address, trust_env=False, timeout=60))
            clients[length] = _Client(client, _stories(length, turns, half=1), _Samples())
        for _ in range(turns):
            for one in clients.values():
                while one.play(prose.text(HALF_TURN), direct):
                    pass
    direct.close()
    return {length: one.samples for length, one in clients.items()}


@contextmanager
def served(home: Path, endpoint: str) -> Iterator[str]:
    """The address of a server over this data directory, as a user would start it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FABULA_")}
    environment |= {
        "FABULA_HOME": str(home),
        "FABULA_ENDPOINT": endpoint,
        "FABULA_MODEL": MODEL,
        "FABULA_PORT": "0",
        "FABULA_NARRATOR": "false",
        "FABULA_LOG_LEVEL": "error",
    }
    command = [sys.executable, "-c", "from api.cli import main; main()", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split(" at ")[1].split(" ")[0]
        finally:
            process.terminate()
