"""Candidates of all kinds over a real log: exactly the replies that they spoil are flagged, and none is waited for."""

import os
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

import orjson
import pytest

from adapters.event_log.log import SqlEventLog
from adapters.time_and_names import RandomNames, SystemClock
from api.cli import exits
from api.cli.commands import app
from domain.campaign.commands import AcceptNarration, CorrectState, OpenRetry, OpenTurn, StartCampaign
from domain.campaign.settings import CampaignSettings
from domain.errors import InvalidInput, UnknownCampaign
from domain.extraction.extractors import extract
from replays.comparison import IN_FORCE, Against
from replays.generated_log.writing import write
from replays.outside import ENDS_IN_A_ROW, CandidateUnusable, Outside
from replays.reading import Candidate, Released
from replays.replaying import Question, Replay

LIMIT = 1.0
"""Seconds for a reply, where a candidate loops."""

CANDIDATES = """
import ctypes, os, sys, threading, time
from domain.extraction.extractors import extract


def spoiled(raw):
    return sum(map(ord, raw)) % 40 == 0


def faithful(raw):
    found = extract(raw)
    events = list(found.proposal) if isinstance(found.proposal, tuple) else found.proposal
    return {"prose": found.prose, "removals": found.removals, "events": events, "block": found.block}


def spoiling(spoil):
    def read(raw):
        reading = faithful(raw)
        return spoil(reading) or reading if spoiled(raw) else reading
    return read


def forever(_):
    while True:
        pass


def ask_for_all_memory(_):
    held = []
    while True:
        held.append(bytearray(1 << 28))


def fork_and_stay(_):
    if os.fork() == 0:
        time.sleep(600)


def fork_and_answer(_):
    os.fork()


def print_an_answer(_):
    print('{"number": 1, "reading": {"prose": "", "removals": [], "events": "absent", "block": null}}', flush=True)
    os.write(1, b"noise\\n")
    sys.stdin.read()


drops_a_sentence = spoiling(lambda reading: {**reading, "prose": reading["prose"].partition(". ")[2]})
rewrites_a_word = spoiling(lambda reading: {**reading, "prose": reading["prose"].replace(" ", " gate ", 1)})
loses_the_proposal = spoiling(lambda reading: {**reading, "events": None})
names_no_rule = spoiling(lambda reading: {**reading, "removals": [("", 0, 3)], "prose": reading["prose"][3:]})
loops = spoiling(forever)
sleeps = spoiling(lambda _: time.sleep(600))
crashes = spoiling(lambda _: ctypes.string_at(0))
ends = spoiling(lambda _: os._exit(3))
exits = spoiling(lambda _: sys.exit(3))
interrupts = spoiling(lambda _: (_ for _ in ()).throw(KeyboardInterrupt()))
closes_everything = spoiling(lambda _: os.closerange(0, 100))
eats_memory = spoiling(ask_for_all_memory)
returns_a_number = spoiling(lambda _: 5)
returns_bad_spans = spoiling(lambda reading: {**reading, "removals": [("a", "x", 2)]})
returns_nan = spoiling(lambda reading: {**reading, "events": [float("nan")]})
returns_a_maze = spoiling(lambda reading: {**reading, "events": [__import__("functools").reduce(lambda a, _: [a], range(500), 0)]})
returns_surrogates = spoiling(lambda reading: {**reading, "prose": "\\ud800"})
raises_deeply = spoiling(lambda reading: raises_deeply_again(reading))
raises_deeply_again = lambda reading: raises_deeply_again(reading)
forks = spoiling(fork_and_stay)
forks_and_answers = spoiling(fork_and_answer)
prints = spoiling(print_an_answer)
leaves_a_thread = spoiling(lambda _: threading.Thread(target=time.sleep, args=(600,)).start())
always_ends = lambda raw: os._exit(1)
no_function = 5
"""

HARMLESS = ("faithful", "forks", "forks_and_answers", "prints", "leaves_a_thread")
BUGS = {
    "drops_a_sentence": "unexplained_removal",
    "rewrites_a_word": "text_rewritten",
    "names_no_rule": "unexplained_removal",
    **dict.fromkeys(
        (
            "loops",
            "sleeps",
            "crashes",
            "ends",
            "exits",
            "interrupts",
            "closes_everything",
            "eats_memory",
            "returns_a_number",
            "returns_bad_spans",
            "returns_nan",
            "returns_a_maze",
            "returns_surrogates",
            "raises_deeply",
        ),
        "candidate_failed",
    ),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated store, and the candidates beside it."""
    home = tmp_path_factory.mktemp("home")
    write(home / "log.db", seed=5, events=900, campaigns=3)
    (home / "candidates.py").write_text(CANDIDATES, encoding="utf-8")
    return home


@pytest.fixture(scope="module")
def log(home: Path) -> Iterator[SqlEventLog]:
    with closing(SqlEventLog(home / "log.db", SystemClock(), RandomNames())) as opened:
        yield opened


@pytest.fixture(scope="module")
def replies(log: SqlEventLog) -> list[str]:
    """Every raw reply of the store."""
    told = log.read(0, 10_000, topics=["story.narration_accepted"])
    return [each.event.raw_reply for each in told]  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def spoiled(replies: list[str]) -> set[str]:
    """Those that the candidates spoil."""
    found = {raw for raw in replies if sum(map(ord, raw)) % 40 == 0}
    assert 1 <= len(found) <= 12
    return found


def replayed(log: SqlEventLog, candidate: Candidate, against: Against = IN_FORCE) -> Replay:
    run = Replay(Question(candidate, against))
    run.run(log)
    return run


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_flagged_on_exactly_the_replies_that_it_spoils(
    log: SqlEventLog, home: Path, spoiled: set[str], name: str
) -> None:
    begun = monotonic()
    memory = 512 * 1024**2 if name == "eats_memory" else 4 * 1024**3
    with (
        closing(Outside(f"{home}/candidates.py:{name}", seconds=LIMIT, most_memory=memory)) as candidate,
        closing(replayed(log, candidate)) as run,
    ):
        flagged = {row["raw_reply"]: {each["flag"] for each in row["flags"]} for row in run.replies if row["flags"]}
    assert set(flagged) == spoiled
    assert all(BUGS[name] in flags for flags in flagged.values())
    assert run.tally.flagged == len(spoiled)
    assert monotonic() - begun < 10 + len(spoiled) * (LIMIT + 1)


def test_a_lost_proposal_is_flagged_where_there_was_one(log: SqlEventLog, home: Path, spoiled: set[str]) -> None:
    with (
        closing(Outside(f"{home}/candidates.py:loses_the_proposal")) as candidate,
        closing(replayed(log, candidate)) as run,
    ):
        flagged = {row["raw_reply"] for row in run.replies if row["flags"]}
    assert flagged == {raw for raw in spoiled if extract(raw).proposal != "absent"}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_does_no_harm_is_not_flagged(log: SqlEventLog, home: Path, name: str) -> None:
    with (
        closing(Outside(f"{home}/candidates.py:{name}", seconds=5)) as candidate,
        closing(replayed(log, candidate)) as run,
    ):
        assert (run.tally.flagged, run.tally.changed, run.tally.changed_ends) == (0, 0, 0)


def test_nothing_of_a_candidate_outlives_it(home: Path) -> None:
    candidate = Outside(f"{home}/candidates.py:forks")
    spoiling = next(text for text in map(chr, range(40, 2000)) if ord(text) % 40 == 0)
    candidate.read(spoiling)
    group = candidate._pipe._process.pid  # type: ignore[union-attr]
    os.killpg(group, 0)
    candidate.close()
    deadline = monotonic() + 5
    while monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
    raise AssertionError("its group is still there")


def test_a_candidate_that_survives_no_reply_is_given_up(log: SqlEventLog, home: Path, replies: list[str]) -> None:
    with closing(Outside(f"{home}/candidates.py:always_ends")) as candidate, closing(replayed(log, candidate)) as run:
        told = [row["flags"][0]["detail"] for row in run.replies]
    assert run.tally.flagged == len(set(replies))
    assert sum("given up" in detail for detail in told) == len(set(replies)) - ENDS_IN_A_ROW


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("{home}/candidates.py:no_function", "has no function 'no_function'"),
        ("{home}/candidates.py:nothing", "has no function 'nothing'"),
        ("{home}/missing.py:read", "FileNotFoundError"),
        ("no_such_module:read", "ModuleNotFoundError"),
        ("{home}/broken.py:read", "SyntaxError"),
        ("{home}/leaving.py:read", "SystemExit"),
        ("{home}/dying.py:read", "its process ended while it was loaded (exit status 9)"),
    ],
)
def test_what_cannot_be_loaded_is_refused(home: Path, spec: str, why: str) -> None:
    (home / "broken.py").write_text("def", encoding="utf-8")
    (home / "leaving.py").write_text("raise SystemExit", encoding="utf-8")
    (home / "dying.py").write_text("import os; os._exit(9)", encoding="utf-8")
    with pytest.raises(CandidateUnusable) as refused:
        Outside(spec.format(home=home))
    assert why in refused.value.message


def test_a_candidate_may_return_an_object(home: Path) -> None:
    (home / "objects.py").write_text(
        "from types import SimpleNamespace as N\n"
        "def read(raw):\n"
        "    return N(prose=raw[2:], removals=[N(rule='mine', start=0, end=2)], events=[])\n",
        encoding="utf-8",
    )
    with closing(Outside(f"{home}/objects.py:read")) as candidate:
        found = candidate.read("ab c 😀")
    assert (found.prose, found.proposed) == (" c 😀", ())  # type: ignore[union-attr]


# The history


STORY = "c_by_hand"
BLOCK = 'It stirs.\n```state\n{"events": [%s]}\n```'
DOOR = '{"type": "create_entity", "entity": "door", "entity_type": "item", "name": "Door"}'


@pytest.fixture
def own(tmp_path: Path) -> Iterator[SqlEventLog]:
    with closing(SqlEventLog(tmp_path / "log.db", SystemClock(), RandomNames())) as opened:
        opened.execute(StartCampaign(STORY, CampaignSettings(title="T"), "It begins."))
        yield opened


def tell(log: SqlEventLog, raw: str, *, again: bool = False) -> None:
    turn = RandomNames().new("t")
    opening = OpenRetry(STORY, turn, "p", "h") if again else OpenTurn(STORY, turn, "continue", "", "p", "h")
    log.execute(opening)
    log.execute(AcceptNarration(STORY, turn, raw, "", extract(raw), "stop", None))


def test_every_take_and_line_is_replayed_and_the_state_followed_to_each_end(own: SqlEventLog) -> None:
    tell(own, BLOCK % DOOR)
    tell(own, "It rains.")
    tell(own, "It pours.", again=True)
    own.execute(CorrectState(STORY, ({"type": "set_entity_status", "entity": "door", "status": "shut"},)))
    with closing(replayed(own, Released("0"))) as run:
        [row] = run.replies
        ends = {line["node"]: [change["path"] for change in line["changes"]] for line in run.lines}
    assert (run.tally.replies, run.tally.line_ends, run.tally.changed_ends) == (3, 2, 2)
    assert row["node"] == 2
    assert ends[3] == ["entities.door.type", "entities.door.name"]
    assert ends[4] == ["entities.door.type", "entities.door.name", "entities.door.status"]


def test_a_change_that_was_met_before_counts_once(own: SqlEventLog) -> None:
    for _ in range(3):
        tell(own, "It stirs.\n```\n")
    with closing(replayed(own, Released("0"))) as run:
        assert (run.tally.replies, run.tally.distinct, run.tally.changed) == (3, 1, 1)


def test_a_story_or_a_version_that_is_not_there_is_told_of(own: SqlEventLog) -> None:
    with closing(Replay(Question(Released("2"), IN_FORCE, "c_nothere"))) as run, pytest.raises(UnknownCampaign):
        run.run(own)
    with pytest.raises(InvalidInput):
        Released("7")


def test_memory_does_not_grow_with_the_replies(tmp_path: Path) -> None:
    grown = []
    for events in (1_500, 6_000):
        write(tmp_path / f"{events}.db", seed=2, events=events, campaigns=3)
        with closing(SqlEventLog(tmp_path / f"{events}.db", SystemClock(), RandomNames())) as log:
            with closing(replayed(log, Released("0"))):
                pass
            tracemalloc.start()
            with closing(replayed(log, Released("0"))) as run:
                grown.append(tracemalloc.get_traced_memory()[1] / 2**20)
            tracemalloc.stop()
            assert run.tally.changed > events / 20
    assert grown[1] < grown[0] + 4, grown


# The command


def command(home: Path, *arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        exits.run(app, ["replay", "--home", str(home), *arguments])
    return int(ended.value.code or 0)


def test_nothing_flagged_is_0_and_something_is_1(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(home, "--candidate", "2") == 0
    assert "0 changed" in capsys.readouterr().out
    assert command(home, "--candidate", f"{home}/candidates.py:drops_a_sentence") == 1
    assert "! unexplained removal" in capsys.readouterr().out


def test_wrong_use_is_2_and_a_broken_store_is_3(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        [],
        ["--candidate", "9"],
        ["--candidate", "2", "--against", "9"],
        ["--candidate", "missing.py:f"],
        ["--candidate", "2", "--campaign", "c_nothere"],
        ["--candidate", "2", "--time-limit", "0"],
    ):
        assert command(home, *arguments) == 2, arguments
    assert command(tmp_path, "--candidate", "2") == 2
    (tmp_path / "log.db").write_bytes(b"no store at all" * 1000)
    assert command(tmp_path, "--candidate", "2") == 3
    assert "Traceback" not in capsys.readouterr().err


def test_the_reports_are_written_and_stand_alone(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    candidate = f"{home}/candidates.py:rewrites_a_word"
    assert command(home, "--candidate", candidate, "--report", str(tmp_path / "report"), "--json") == 1
    printed = orjson.loads(capsys.readouterr().out)
    stored = orjson.loads((tmp_path / "report" / "replay.json").read_bytes())
    assert {**printed, "summary": None} == {**stored, "summary": None}
    assert stored["summary"]["flagged"] == len(stored["replies"]) > 0
    assert "text rewritten" in (tmp_path / "report" / "replay.txt").read_text()
    page = (tmp_path / "report" / "replay.html").read_text()
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")


def test_all_text_of_a_page_is_escaped(own: SqlEventLog, tmp_path: Path) -> None:
    tell(own, "<script>alert(1)</script>\n```\n")
    own.close()
    assert command(tmp_path, "--candidate", "0", "--report", str(tmp_path / "r")) == 1
    page = (tmp_path / "r" / "replay.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_example_of_readme_does_what_readme_says(
    own: SqlEventLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    example = readme.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "mine.py").write_text(example, encoding="utf-8")
    tell(own, "You step through. *Something* clicks behind you.")
    tell(own, BLOCK % DOOR)
    own.close()
    assert command(tmp_path, "--candidate", f"{tmp_path}/mine.py:read") == 1
    out = capsys.readouterr().out
    assert "1 flagged: text added 1" in out
    assert "rule stars: 0 (0 lines) → 2 (2 lines)" in out
    assert '- stars: "*"' in out
