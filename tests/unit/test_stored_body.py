"""Request bodies as they are stored: small, quick, rebuilt to the byte or refused."""

import base64
import hashlib
import random
import time
import tracemalloc
import zlib
from collections.abc import Callable
from itertools import pairwise

import pytest

from adapters.tokens import TiktokenCounter
from domain.campaign.settings import CampaignSettings, Persona
from domain.catalogue import catalogue
from domain.installation import Settings
from domain.prompt.assembly import Prompt, StoryView, assemble
from domain.prompt.events import Mode, PromptSent, StoredBody, Window
from domain.prompt.floor import Floor
from domain.prompt.sections import HistoryNode
from domain.prompt.stored_body import WHOLE_EVERY, common_prefix, rebuild, store

FIRST = b'{"model":"m","messages":[{"role":"system","content":"' + b"Tell it well. " * 20 + b'"}'
SECOND = FIRST + b',{"role":"user","content":"> You wait"}]}'
HUGE = 2_000_000


def test_the_first_body_is_stored_whole() -> None:
    stored = store(SECOND)
    assert (stored.base, stored.chain, stored.copies, stored.literals) == (None, 0, (), ())
    assert zlib.decompress(base64.b85decode(stored.literal)) == SECOND
    assert (stored.length, stored.sha256) == (len(SECOND), hashlib.sha256(SECOND).hexdigest())
    assert rebuild(stored, None) == SECOND


def test_a_later_body_names_its_base_and_holds_only_what_is_new() -> None:
    stored = store(SECOND, FIRST, "turn_1", 0)
    assert (stored.base, stored.chain, stored.copies, stored.literals) == ("turn_1", 1, ((0, len(FIRST)),), (0,))
    assert rebuild(stored, FIRST) == SECOND


def test_a_chain_of_differences_is_broken_by_a_whole_body() -> None:
    chain, chains, wholes = 0, [], []
    for turn in range(70):
        stored = store(SECOND, FIRST if turn else None, f"turn_{turn}", chain)
        chain = stored.chain
        chains.append(chain)
        wholes += [turn] if stored.base is None else []
    assert wholes == [0, WHOLE_EVERY, 2 * WHOLE_EVERY]
    assert max(chains) == WHOLE_EVERY - 1


def test_a_stretch_that_moved_is_found_again() -> None:
    def message(number: int) -> bytes:
        return b'{"role":"user","content":"%s"}' % hashlib.sha512(b"%d" % number).hexdigest().encode()

    earlier = FIRST + b",".join(message(n) for n in range(20))
    later = FIRST + b",".join(message(n) for n in range(12, 22))
    stored = store(later, earlier, "turn_1", 0)
    assert len(stored.copies) == 2
    assert sum(length for _, length in stored.copies) >= len(FIRST) + 7 * len(message(0))


def test_a_changed_parameter_does_not_make_the_rest_new() -> None:
    text = hashlib.sha512(b"rest").hexdigest().encode() * 20
    earlier = b'{"model":"m","max_tokens":400,"messages":[{"role":"system","content":"%s"}]}' % text
    stored = store(earlier.replace(b"400", b"80"), earlier, "turn_1", 0)
    assert sum(length for _, length in stored.copies) >= len(text)


def test_a_paragraph_that_moved_is_found_again_where_there_are_no_messages() -> None:
    paragraphs = [hashlib.sha512(b"%d" % n).hexdigest().encode() for n in range(20)]
    earlier = b'{"prompt":"' + rb"\n\n".join(paragraphs)
    later = b'{"prompt":"' + rb"\n\n".join(paragraphs[12:])
    assert sum(length for _, length in store(later, earlier, "turn_1", 0).copies) >= 7 * len(paragraphs[0])


@pytest.mark.parametrize(
    ("base", "body"),
    [(b"", b""), (b"", SECOND), (SECOND, b""), (SECOND, SECOND), (b"x", b"y"), (b"\0" * 99, b"\0" * 98)],
)
def test_any_body_comes_back_to_the_byte(base: bytes, body: bytes) -> None:
    assert rebuild(store(body, base, "turn_1", 0), base) == body
    assert rebuild(store(body), None) == body


def test_a_base_that_is_not_needed_is_not_looked_at() -> None:
    assert rebuild(store(SECOND), b"something else") == SECOND


def test_a_missing_base_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="turn_1, which is missing"):
        rebuild(store(SECOND, FIRST, "turn_1", 0), None)


def test_another_base_is_refused() -> None:
    for other in (b"", FIRST[:-1], FIRST[1:], FIRST + b"x", b"x" + FIRST[1:]):
        with pytest.raises(ValueError, match=r"SHA-256|length|unpacked"):
            rebuild(store(SECOND, FIRST, "turn_1", 0), other)


def damaged(stored: StoredBody) -> dict[str, StoredBody]:
    packed = base64.b85encode(zlib.compress(b"something else")).decode()
    bomb = base64.b85encode(zlib.compress(b"\0" * 50_000_000)).decode()
    changes: dict[str, dict[str, object]] = {
        "hash": {"sha256": "0" * 64},
        "length": {"length": stored.length + 1},
        "literal": {"literal": packed},
        "flipped": {"literal": stored.literal[:-3] + "~~~"},
        "cut": {"literal": stored.literal[:-5]},
        "no base 85": {"literal": "\"'"},
        "empty": {"literal": ""},
        "copies": {"copies": tuple((start + 1, length) for start, length in stored.copies)},
        "one literal too few": {"literals": stored.literals[1:]},
        "huge copy": {"copies": ((0, 10**12),), "literals": (0,)},
        "bomb": {"literal": bomb, "copies": (), "literals": ()},
    }
    return {name: stored.model_copy(update=change) for name, change in changes.items()}


@pytest.mark.parametrize("what", damaged(store(SECOND, FIRST, "turn_1", 0)))
def test_a_damaged_record_is_refused_and_nothing_else(what: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        rebuild(damaged(store(SECOND, FIRST, "turn_1", 0))[what], FIRST)


def test_no_more_is_unpacked_than_the_body_is_long() -> None:
    bomb = damaged(store(SECOND, FIRST, "turn_1", 0))["bomb"]
    tracemalloc.start()
    with pytest.raises(ValueError, match="length"):
        rebuild(bomb, FIRST)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (b"", b"", 0),
        (b"", b"a", 0),
        (b"a", b"b", 0),
        (b"abc", b"abd", 2),
        (b"abc", b"abc", 3),
        (b"abc", b"abcd", 3),
        (b"a" * 1000 + b"b", b"a" * 1000 + b"c", 1000),
        (b"a" * 47, b"a" * 48, 47),
        (b"a" * 144 + b"b", b"a" * 144 + b"c", 144),
    ],
)
def test_the_common_prefix_is_counted_in_bytes(one: bytes, other: bytes, shared: int) -> None:
    assert common_prefix(one, other) == common_prefix(other, one) == shared


def _numbered(size: int, every: int) -> bytes:
    return b"".join(b'{"role"' + b"x" * 60 + b"%030d" % (number * every) for number in range(size // 97))


def _letters(size: int) -> bytes:
    return bytes(random.Random(1).choices(b"ab", k=size))


NASTY: dict[str, Callable[[int], tuple[bytes, bytes]]] = {
    "the same break over and over": lambda size: (b'{"role"' * (size // 7), b'x{"role"' * (size // 8)),
    "breaks, and none in the base": lambda size: (b'{"role"' * (size // 7), b"a" * size),
    "paragraphs of nothing": lambda size: (rb"\n\n" * (size // 4), rb"\n\n" * (size // 4 - 7) + b"x"),
    "one letter": lambda size: (b"a" * size, b"a" * (size - 1)),
    "one letter, another letter": lambda size: (b"a" * size, b"b" * size),
    "two letters out of step": lambda size: (b"ab" * (size // 2), b"ba" * (size // 2)),
    "two letters in no order": lambda size: (_letters(size), _letters(size)[::-1]),
    "many short stretches": lambda size: (_numbered(size, 1), _numbered(size, 2)),
    "nothing in common": lambda size: (random.Random(1).randbytes(size), random.Random(2).randbytes(size)),
}


@pytest.mark.parametrize("nasty", NASTY.values(), ids=NASTY.keys())
def test_two_megabytes_of_repetition_take_no_seconds(nasty: Callable[[int], tuple[bytes, bytes]]) -> None:
    body, base = nasty(HUGE)
    began = time.process_time()
    stored = store(body, base, "turn_1", 0)
    assert time.process_time() - began < 2.0
    assert rebuild(stored, base) == body


def _prose(seed: int) -> Callable[[int], str]:
    """English-like text: a vocabulary of 4,000 words, the commonest far ahead, in sentences. It packs like English."""
    chance = random.Random(seed)
    syllables = [
        a + b + c
        for a in ("", "b", "d", "h", "l", "m", "s", "st", "t", "th", "w")
        for b in "aeiou"
        for c in ("", "n", "r", "s")
    ]
    words = ["".join(chance.choices(syllables, k=chance.choice((1, 1, 2, 2, 3)))) for _ in range(4000)]
    weights = [1 / (rank + 2) for rank in range(4000)]

    def text(characters: int) -> str:
        sentences = ""
        while len(sentences) < characters:
            sentences += " ".join(chance.choices(words, weights, k=chance.randint(5, 18))).capitalize() + ". "
        return sentences[:characters].strip()

    return text


def _told(mode: Mode, turns: int, narration: int, action: int) -> list[Prompt]:
    """The prompts of so many turns at a window of 16,384 tokens, the floor stepping at 60%."""
    text, counter = _prose(3), TiktokenCounter()
    campaign = CampaignSettings(
        canon=tuple(text(150) for _ in range(8)),
        persona=Persona(name="Ada", description=text(300)),
        instructions=text(600),
        authors_note=text(200),
    )
    settings = Settings(model="m", mode=mode, context_budget=16_384)
    line = [HistoryNode(1, 1, "opening", text(800))]
    prompts: list[Prompt] = []
    for _ in range(turns):
        line.append(HistoryNode(len(line) + 1, len(line) + 1, "do", text(action)))
        earlier = prompts[-1].history if prompts else None
        floor = Floor(earlier.floor_depth or 1, earlier.budget) if earlier else None
        prompts.append(assemble(StoryView(campaign, tuple(line), len(line), floor), settings, Window(), counter))
        line.append(HistoryNode(len(line) + 1, len(line) + 1, "narration", text(narration)))
    return prompts


def _events(prompts: list[Prompt], mode: Mode) -> list[bytes]:
    events: list[bytes] = []
    stored: StoredBody | None = None
    for number, prompt in enumerate(prompts):
        earlier = prompts[number - 1].body.data if number else None
        stored = store(prompt.body.data, earlier, f"turn_{number - 1:010}", stored.chain if stored else 0)
        window = Window(
            tokens=16_384, source="loaded", verified=True, enforceable=True, reachable=True, detail="said so"
        )
        event = PromptSent(
            turn=f"turn_{number:010}",
            node=2 * number + 2,
            branch=1,
            depth=2 * number + 2,
            endpoint="http://127.0.0.1:8080/v1",
            model="m",
            mode=mode,
            body=stored,
            sections=prompt.sections,
            tokens=prompt.tokens,
            window=window,
            history=prompt.history.model_copy(update={"prefix_kept": 0.9876}),
            built_from=number * 4,
        )
        events.append(catalogue().encode(event))
    return events


@pytest.mark.parametrize("mode", ["chat", "completion"])
@pytest.mark.parametrize(("narration", "action"), [(3_800, 200), (800, 100)])
def test_a_prompt_record_takes_less_than_five_kilobytes_a_turn(mode: Mode, narration: int, action: int) -> None:
    prompts = _told(mode, 100, narration, action)
    events = _events(prompts, mode)
    copies = [len(zlib.compress(prompt.body.data, 9)) for prompt in prompts]
    assert sum(map(len, events)) / 100 < 5_000
    assert sum(map(len, events)) < sum(copies) / 2
    assert sum(one.history.floor_depth != two.history.floor_depth for one, two in pairwise(prompts)) >= 3
