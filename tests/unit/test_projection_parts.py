"""The small parts of the engine: stamps, checkpoints, digests, and what errors mean."""

import errno
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import AliasPath, BaseModel
from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, create_engine, delete, insert
from sqlalchemy.exc import IntegrityError

from domain.catalogue import catalogue
from domain.errors import StoreFull, StoreReadOnly, StoreUnavailable
from projections.all import ALL
from projections.engine import checkpoint
from projections.engine.checkpoint import Standing
from projections.engine.digest import digest_of
from projections.engine.failures import ViewBusy, ViewDamaged, explained, meaning_of
from projections.projection import Projection, Stamp, stamp_of

STAMP = Stamp("story", 1, "abc")


@pytest.fixture
def connection() -> Iterator[Connection]:
    """A database in memory, with a checkpoint at 0."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        checkpoint.metadata.create_all(connection)
        checkpoint.begin(connection, STAMP)
        yield connection
    engine.dispose()


# The checkpoint


def position(connection: Connection) -> int | None:
    found = checkpoint.standing(connection, STAMP)
    return None if found is None else found.position


def test_a_position_moves_from_where_it_was_thought_to_be(connection: Connection) -> None:
    assert checkpoint.standing(connection, STAMP) == Standing(0)
    assert checkpoint.advance(connection, STAMP, 0, 7)
    assert position(connection) == 7


def test_a_position_that_another_moved_stays(connection: Connection) -> None:
    checkpoint.advance(connection, STAMP, 0, 7)
    assert not checkpoint.advance(connection, STAMP, 0, 5)
    assert position(connection) == 7


@pytest.mark.parametrize("other", [Stamp("tree", 1, "abc"), Stamp("story", 2, "abc"), Stamp("story", 1, "abd")])
def test_a_position_of_other_code_is_none(connection: Connection, other: Stamp) -> None:
    assert checkpoint.standing(connection, other) is None
    assert not checkpoint.advance(connection, other, 0, 7)


def test_a_parked_position_says_where_and_why_until_it_is_let_go(connection: Connection) -> None:
    checkpoint.advance(connection, STAMP, 0, 7, target=9, rate=3.5)
    assert not checkpoint.park(connection, STAMP, 5, 6, "LookupError"), "it stands elsewhere by now"
    assert checkpoint.park(connection, STAMP, 7, 8, "LookupError")
    assert checkpoint.standing(connection, STAMP) == Standing(7, 9, 3.5, parked_at=8, error="LookupError")
    checkpoint.unpark(connection, STAMP)
    assert checkpoint.standing(connection, STAMP) == Standing(7, 9, 3.5)


# What is read of an event


@pytest.mark.parametrize("projection", ALL, ids=lambda projection: projection.name)
def test_an_outline_has_fields_of_its_event_and_of_those_types(projection: Projection) -> None:
    for topic, model in projection.reads.items():
        if model is not None:
            assert_is_outline(model, catalogue().topics[topic])


def assert_is_outline(outline: type[BaseModel], event: type[BaseModel]) -> None:
    for name, field in outline.model_fields.items():
        whole = field_at(
            event, field.validation_alias.path if isinstance(field.validation_alias, AliasPath) else [name]
        )
        if (
            isinstance(field.annotation, type)
            and issubclass(field.annotation, BaseModel)
            and field.annotation is not whole
        ):
            assert isinstance(whole, type)
            assert_is_outline(field.annotation, whole)
        else:  # what is kept as it is may be any object
            assert field.annotation in (whole, dict[str, Any])


def field_at(event: type[BaseModel], path: Sequence[str | int]) -> Any:
    """The type of what stands there in an event."""
    at: Any = event
    for name in path:
        at = at.model_fields[name].annotation
    return at


# The stamp


def test_every_view_has_a_name_and_a_stamp_of_its_own() -> None:
    stamps = [stamp_of(projection) for projection in ALL]
    assert len({stamp.name for stamp in stamps}) == len(ALL)
    assert len({stamp.fingerprint for stamp in stamps}) == len(ALL)
    assert stamps == [stamp_of(projection) for projection in ALL]


def test_a_fingerprint_is_of_the_source_of_all_modules_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "view_before.py").write_text("ROWS = 1\n")
    (tmp_path / "view_after.py").write_text("ROWS = 2\n")
    (tmp_path / "view_moved.py").write_text("ROWS = 1\n")

    def fingerprint(*sources: str) -> str:
        return stamp_of(Projection("v", 1, MetaData(), {}, lambda _connection, _events: None, sources)).fingerprint

    assert fingerprint("view_before") == fingerprint("view_moved")
    assert fingerprint("view_before") != fingerprint("view_after")
    assert fingerprint("view_before") != fingerprint("view_before", "view_after")


def test_every_view_names_its_own_module_first() -> None:
    assert [projection.sources[0] for projection in ALL] == [f"projections.{projection.name}" for projection in ALL]


# The digest

held = Table("held", MetaData(), Column("who", Text, primary_key=True), Column("what", Text), Column("weight", Integer))


def digest(connection: Connection, rows: list[tuple[str, str | None, int | None]]) -> str:
    held.metadata.create_all(connection)
    connection.execute(delete(held))
    if rows:
        connection.execute(insert(held), [dict(zip(("who", "what", "weight"), row, strict=True)) for row in rows])
    return digest_of(connection, held.metadata)


def test_a_digest_is_of_the_rows_and_not_of_their_order(connection: Connection) -> None:
    rows: list[tuple[str, str | None, int | None]] = [("a", "lamp", 1), ("b", "\ud7ff\x00é", None)]
    assert digest(connection, rows) == digest(connection, rows[::-1])
    assert len(digest(connection, rows)) == 64


def test_a_digest_tells_any_difference(connection: Connection) -> None:
    different: list[list[tuple[str, str | None, int | None]]] = [
        [],
        [("a", "lamp", 1)],
        [("a", "lamp", 2)],
        [("a", "lamp", None)],
        [("a", None, 1)],
        [("a", "", 1)],
        [("a", "null", 1)],
        [("a", "lamp", 1), ("b", "lamp", 1)],
    ]
    assert len({digest(connection, rows) for rows in different}) == len(different)


# What errors mean


def read_only(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA query_only=ON")
        raw.execute("CREATE TABLE t (x)")


def full(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA max_page_count=1")
        raw.execute("CREATE TABLE t (x)")


def damaged(path: Path) -> None:
    path.write_bytes(b"no database" * 1000)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("SELECT * FROM sqlite_master")


def busy(path: Path) -> None:
    with closing(sqlite3.connect(path)) as one, closing(sqlite3.connect(path, timeout=0)) as other:
        one.execute("BEGIN EXCLUSIVE")
        other.execute("BEGIN IMMEDIATE")


def missing(path: Path) -> None:
    sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True).close()


@pytest.mark.parametrize(
    ("fails", "meaning"),
    [
        (read_only, StoreReadOnly),
        (full, StoreFull),
        (damaged, ViewDamaged),
        (busy, ViewBusy),
        (missing, StoreUnavailable),
    ],
)
def test_what_sqlite_cannot_do_is_a_failure_of_the_store(
    tmp_path: Path, fails: Callable[[Path], None], meaning: type[Exception]
) -> None:
    with pytest.raises(meaning, match=r"view\.db") as failure, explained(str(tmp_path / "view.db")):
        fails(tmp_path / "view.db")
    assert type(failure.value) is meaning


def test_a_mistake_in_a_statement_is_no_failure_of_the_store(connection: Connection) -> None:
    with pytest.raises(IntegrityError), explained("here"):
        checkpoint.begin(connection, STAMP)
    with pytest.raises(sqlite3.OperationalError), explained("here"), closing(sqlite3.connect(":memory:")) as raw:
        raw.execute("SELEKT")


@pytest.mark.parametrize(
    ("number", "meaning"),
    [
        (errno.EACCES, StoreReadOnly),
        (errno.EROFS, StoreReadOnly),
        (errno.ENOSPC, StoreFull),
        (errno.ENOTDIR, StoreUnavailable),
    ],
)
def test_what_the_system_refuses_is_a_failure_of_the_store(number: int, meaning: type[Exception]) -> None:
    assert type(meaning_of(OSError(number, "no"), "here")) is meaning
