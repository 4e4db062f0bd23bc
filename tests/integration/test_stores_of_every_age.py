"""A store that an earlier version wrote opens, and answers as it answered then."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from adapters.event_log.log import SqlEventLog
from tests.fakes.serving import serving
from tests.fakes.time_and_names import NumberedNames, TickingClock

STORES = sorted(path for path in (Path(__file__).parent.parent / "stores").iterdir() if (path / "log.db").exists())


@pytest.fixture(params=STORES, ids=lambda path: path.name)
def aged(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of the store of a released version, in a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(request.param / "log.db", home / "log.db")
    shutil.copy(request.param / "answers.json", tmp_path / "answers.json")
    return home


@pytest.fixture
def asked(aged: Path) -> Iterator[httpx.Client]:
    with serving(aged, "") as server, server.client() as client:
        yield client


def within(then: Any, now: Any, path: str = "") -> list[str]:
    """Where the answer of today lacks, or says otherwise, what was answered then. More than then is fine."""
    if isinstance(then, dict) and isinstance(now, dict):
        lacking = [f"{path}.{key} is gone" for key in then.keys() - now.keys()]
        return lacking + [
            lack for key in then.keys() & now.keys() for lack in within(then[key], now[key], f"{path}.{key}")
        ]
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        return [lack for at, (a, b) in enumerate(zip(then, now, strict=True)) for lack in within(a, b, f"{path}[{at}]")]
    return [] if then == now else [f"{path} was {then!r}, is {now!r}"]


def test_there_is_a_store_of_a_released_version() -> None:
    assert STORES


def test_it_answers_as_it_did_then(aged: Path, asked: httpx.Client) -> None:
    answers = json.loads((aged.parent / "answers.json").read_text(encoding="utf-8"))
    for mine in ("endpoint", "model"):  # those in force here are this test's own
        del answers["/api/settings"][mine]
    for path, then in answers.items():
        assert within(then, asked.get(path).raise_for_status().json(), path) == []


def test_it_is_whole_and_its_tables_are_what_its_events_make_of_them(aged: Path) -> None:
    log = SqlEventLog(aged / "log.db", TickingClock(), NumberedNames())
    try:
        assert log.verify().ok
        before = dump(aged)
        log.rebuild_decision_tables()
        assert dump(aged) == before
    finally:
        log.close()


def test_its_schema_is_that_of_a_fresh_one(aged: Path, tmp_path: Path) -> None:
    schemas = []
    for path in (aged / "log.db", tmp_path / "fresh.db"):
        SqlEventLog(path, TickingClock(), NumberedNames()).close()
        with closing(sqlite3.connect(path)) as store:
            query = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
            schemas.append(store.execute(query).fetchall())
    assert schemas[0] == schemas[1]


_EVERYTHING = "SELECT * FROM {}"  # with names out of the database itself


def dump(home: Path) -> dict[str, list[Any]]:
    """Every row of every table but the events'."""
    with sqlite3.connect(home / "log.db") as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {
            name: sorted(map(repr, connection.execute(_EVERYTHING.format(name)))) for name in names if name != "event"
        }
    connection.close()
    return rows
