"""The event log on a real PostgreSQL server: what is peculiar to it, and every pitfall that others have met."""

import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
import typer
from sqlalchemy import Connection, text

from adapters.event_log import recorder as recorders
from adapters.event_log.log import SqlEventLog
from adapters.event_log.postgresql import PostgresqlStore
from adapters.event_log.recorder import StampedEvent
from adapters.event_log.tables import LOG_FORMAT
from adapters.time_and_names import RandomNames, SystemClock
from api.cli.commands import app
from api.cli.completion import campaign_ids
from domain.errors import (
    StoreDamaged,
    StoreFailure,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
    StoreUnavailable,
    UnknownCampaign,
    UnknownTurn,
)
from tests.fakes.postgresql import Server, running_server
from tests.fakes.sample_story import CAMPAIGN, accept, revise, start, take_turn

MIB = 2**20
SOON = 10.0
"""Seconds after which something that takes milliseconds did not happen."""


@contextmanager
def opened(url: str) -> Iterator[SqlEventLog]:
    log = SqlEventLog(PostgresqlStore(url), SystemClock(), RandomNames())
    try:
        yield log
    finally:
        log.close()


@pytest.fixture
def log(database_url: str) -> Iterator[SqlEventLog]:
    """An empty log on PostgreSQL."""
    with opened(database_url) as log:
        yield log


@pytest.fixture
def told(log: SqlEventLog) -> SqlEventLog:
    """A log with a story that has begun."""
    log.execute(start())
    return log


@pytest.fixture
def ask(database_url: str) -> Callable[..., list[Any]]:
    """Runs a statement behind the program's back."""

    def asked(statement: str, *values: object) -> list[Any]:
        with psycopg.connect(database_url, autocommit=True) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    return asked


Ask = Callable[..., list[Any]]


def everything(ask: Ask) -> dict[str, list[Any]]:
    """Every row of every table."""
    tables = ask("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1")
    return {name: ask(f"SELECT * FROM {name}") for (name,) in tables}  # noqa: S608


def shape(ask: Ask) -> list[Any]:
    """Every column and every index."""
    columns = ask(
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns ORDER BY 1, 2"
    )
    return columns + ask("SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1")


class TestOpening:
    def test_again_finds_what_was_written_and_changes_nothing(self, database_url: str, ask: Ask) -> None:
        with opened(database_url) as log:
            written = log.execute(start()).events
        before = shape(ask), everything(ask)
        with opened(database_url) as log:
            assert list(log.read(0, 10)) == list(written)
        assert (shape(ask), everything(ask)) == before

    def test_by_many_at_once_makes_one_store(self, postgresql_server: Server) -> None:
        for _ in range(3):
            with postgresql_server.database() as url, ThreadPoolExecutor(4) as makers:
                together = threading.Barrier(4)

                def make(url: str = url, together: threading.Barrier = together) -> None:
                    together.wait()
                    with opened(url) as log:
                        log.execute(start())

                for made in [makers.submit(make) for _ in range(4)]:
                    made.result()
                with opened(url) as log:
                    assert (log.max_position(), log.verify().ok) == (1, True)

    def test_a_store_of_a_newer_program_is_refused_and_not_touched(self, database_url: str, ask: Ask) -> None:
        with opened(database_url) as log:
            log.execute(start())
        ask("UPDATE store SET format = %s", LOG_FORMAT + 1)
        ask("DROP TABLE setting")  # which opening would make again
        before = everything(ask)
        with pytest.raises(StoreNewer, match=f"format {LOG_FORMAT + 1}"):
            SqlEventLog(PostgresqlStore(database_url), SystemClock(), RandomNames())
        assert everything(ask) == before

    def test_an_older_store_is_brought_up(self, database_url: str, ask: Ask) -> None:
        with opened(database_url) as log:
            log.execute(start(title="The Lighthouse"))
        ask("UPDATE store SET format = 1")
        ask("UPDATE campaign SET settings = '{}'")
        with opened(database_url) as log:
            settings = log.campaign(CAMPAIGN).settings
            assert settings is not None
            assert settings.title == "The Lighthouse"

    def test_keeps_to_the_schema_that_the_connection_begins_in(self, database_url: str, ask: Ask) -> None:
        ask("CREATE SCHEMA ours")
        elsewhere = f"{database_url}&options=-csearch_path%3Dours"
        with opened(database_url) as log, opened(elsewhere) as other:
            log.execute(start())
            assert (log.max_position(), other.max_position()) == (1, 0)

    @pytest.mark.parametrize("table", ["event (id bigint)", "store (name text)"])
    def test_beside_the_tables_of_another_program_touches_nothing(
        self, database_url: str, ask: Ask, table: str
    ) -> None:
        ask(f"CREATE TABLE {table}")
        before = shape(ask)
        with pytest.raises(StoreUnavailable, match="name a database, or a schema, that holds nothing else"):
            SqlEventLog(PostgresqlStore(database_url), SystemClock(), RandomNames())
        assert shape(ask) == before

    def test_a_database_in_another_encoding_is_refused(self, postgresql_server: Server) -> None:
        postgresql_server.run("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
        try:
            with pytest.raises(StoreUnavailable, match="encoded in LATIN1; make a database with ENCODING 'UTF8'"):
                SqlEventLog(PostgresqlStore(postgresql_server.url("latin")), SystemClock(), RandomNames())
        finally:
            postgresql_server.run("DROP DATABASE latin WITH (FORCE)")


def test_a_shell_is_offered_the_stories_of_the_database(
    told: SqlEventLog, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told.execute(revise(title="The Lamp"))
    context = typer.Context(typer.main.get_command(app))
    monkeypatch.setenv("FABULA_DATABASE_URL", database_url)
    assert list(campaign_ids(context, "c_l")) == [(CAMPAIGN, "The Lamp")]
    assert list(campaign_ids(context, "c_x")) == []
    monkeypatch.setenv("FABULA_DATABASE_URL", "postgresql://127.0.0.1:1/nowhere")
    assert list(campaign_ids(context, "c_l")) == []


class TestText:
    @pytest.mark.parametrize(
        "text", ["a\x00b", "\x00", "\x01", "\x010", "\x00\x011\x01\x00", "\ufffd \U0001f5fc \uffff"]
    )
    def test_may_hold_any_character_also_where_it_is_a_key(self, told: SqlEventLog, text: str) -> None:
        told.execute(take_turn(f"t_{text}", "do", f"{text}.", key=text))
        told.execute(accept(f"t_{text}", f"{text}."))
        assert told.turn(CAMPAIGN, f"t_{text}").idempotency_key == text
        assert {recorded.turn for recorded in told.turn_events(CAMPAIGN, f"t_{text}")} == {f"t_{text}"}
        assert told.node(CAMPAIGN, 3).turn == f"t_{text}"
        assert told.verify().ok
        with pytest.raises(UnknownTurn):
            told.turn(CAMPAIGN, f"t_{text}0")

    def test_what_has_no_such_name_is_not_there(self, told: SqlEventLog) -> None:
        with pytest.raises(UnknownCampaign):
            told.campaign("c_\x00")
        assert (told.read(0, 10, stream="c_\x00"), told.max_position("\x01")) == ([], 0)
        assert told.place_called(CAMPAIGN, "\x00") is None

    def test_numbers_beyond_any_node_are_of_none(self, told: SqlEventLog) -> None:
        assert told.floor(CAMPAIGN, 2**53 - 1) is None

    @pytest.mark.parametrize("said", ['{"_type_": "datetime", "_data_": [1]}', '{"_type_":"x","_data_":"\\u0000"}'])
    def test_words_that_look_like_the_librarys_own_come_back_as_they_were(self, told: SqlEventLog, said: str) -> None:
        told.execute(take_turn("t_1", "do", said))
        told.execute(accept("t_1", said))
        told.recorder.insert_events([StampedEvent("raw", 1, "topic", said.encode())])
        assert [node.text for node in told.end_of_line(CAMPAIGN, 3, limit=2)] == [said, said]
        assert told.recorder.select_events("raw")[0].state == said.encode()

    def test_twenty_megabytes_go_in_and_come_out(self, told: SqlEventLog) -> None:
        said = "A lamp, a stair, a door. \x00 " * (20 * MIB // 27)
        told.execute(take_turn("t_1", "do", "Look."))
        told.execute(accept("t_1", said))
        assert told.end_of_line(CAMPAIGN, 3, limit=1)[0].text == said.strip()
        assert told.verify().ok

    def test_many_large_events_go_in_at_once(self, told: SqlEventLog) -> None:
        """The driver's pipeline mode hangs here."""
        large = [StampedEvent("raw", number, "topic", b"x" * MIB) for number in range(1, 21)]
        assert told.recorder.insert_events(large) == list(range(2, 22))
        assert [len(stored.state) for stored in told.recorder.select_events("raw")] == [MIB] * 20


WRITERS, APPENDS, TOGETHER = 8, 125, 50


def write_batches(url: str, name: str) -> None:
    with opened(url) as log:
        for first in range(1, APPENDS * TOGETHER, TOGETHER):
            batch = [StampedEvent(name, first + more, "topic", b"{}") for more in range(TOGETHER)]
            log.recorder.insert_events(batch)


class TestPositions:
    def test_a_reader_that_follows_eight_processes_misses_none_and_sees_them_only_grow(
        self, log: SqlEventLog, database_url: str
    ) -> None:
        seen: list[int] = []
        woken = threading.Event()
        log.listen(woken)
        names = [f"writer {number}" for number in range(WRITERS)]
        with ProcessPoolExecutor(WRITERS, mp_context=multiprocessing.get_context("forkserver")) as writers:
            writing = [writers.submit(write_batches, database_url, name) for name in names]
            while len(seen) < WRITERS * APPENDS * TOGETHER:
                assert woken.wait(SOON)
                woken.clear()
                page = log.recorder.select_notifications(len(seen) + 1, 5000)
                assert [one.id for one in page] == list(range(len(seen) + 1, len(seen) + len(page) + 1))
                seen += [one.id for one in page]
                if page:  # there may be more by now
                    woken.set()
        for one in writing:
            one.result()
        assert len(seen) == log.max_position() == 50_000

    def test_are_not_used_up_by_what_is_undone(self, told: SqlEventLog) -> None:
        def fails(connection: Connection) -> None:
            told.recorder.insert_into(connection, [StampedEvent("raw", 1, "topic", b"{}")])
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            told._write(fails)
        assert told.execute(revise(title="New")).position == 2

    def test_of_what_is_gone_are_not_given_again(self, told: SqlEventLog, ask: Ask) -> None:
        told.execute(revise(title="New"))
        ask("DELETE FROM event WHERE position = 2")
        told.recorder.insert_events([StampedEvent("raw", 1, "topic", b"{}")])
        assert [notification.id for notification in told.recorder.select_notifications(1, 10)] == [1, 3]


EDITS = {
    "a payload": ("UPDATE event SET payload = '{}' WHERE position = 2", CAMPAIGN, 2),
    "a payload and its hash": (
        "UPDATE event SET payload = '{}', payload_hash = sha256('{}') WHERE position = 2",
        CAMPAIGN,
        2,
    ),
    "when": ("UPDATE event SET at = '2020' WHERE position = 1", CAMPAIGN, 1),
    "an event in the middle, removed": ("DELETE FROM event WHERE position = 2", CAMPAIGN, 3),
    "the newest event, removed": ("DELETE FROM event WHERE position = 3", CAMPAIGN, 3),
    "an end, moved back": ("UPDATE stream_head SET version = 2", CAMPAIGN, 3),
    "the newest event, removed with its end moved back": (
        (
            "WITH gone AS (DELETE FROM event WHERE position = 3) UPDATE stream_head SET version = 2, "
            "chain = (SELECT chain FROM event WHERE position = 2)"
        ),
        "",
        0,
    ),
    "a story, removed with its end": (
        "WITH gone AS (DELETE FROM event) DELETE FROM stream_head",
        "",
        0,
    ),
    "a position, given by hand": ("UPDATE event SET position = 500 WHERE position = 3", "", 0),
}


@pytest.mark.parametrize(("edit", "stream", "version"), EDITS.values(), ids=EDITS.keys())
def test_an_edit_is_found(told: SqlEventLog, ask: Ask, edit: str, stream: str, version: int) -> None:
    for title in ("New", "Newer"):
        told.execute(revise(title=title))
    assert told.verify().ok
    ask(edit)
    bad = told.verify().first_bad
    assert bad is not None
    if stream:
        assert (bad.stream, bad.version) == (stream, version)


class TestWhoListens:
    def test_is_woken_by_what_another_process_appends(self, told: SqlEventLog, database_url: str) -> None:
        woken = threading.Event()
        told.listen(woken)
        assert woken.wait(SOON)
        woken.clear()
        with opened(database_url) as other:
            other.execute(revise(title="New"))
        assert woken.wait(SOON)
        assert told.max_position() == 2

    def test_learns_of_what_was_committed_between_its_first_read_and_its_listening(
        self, told: SqlEventLog, database_url: str
    ) -> None:
        woken = threading.Event()
        assert told.max_position() == 1
        with opened(database_url) as other:
            other.execute(revise(title="New"))
        told.listen(woken)
        assert woken.wait(SOON)
        assert told.max_position() == 2

    def test_by_a_subscription_is_woken_too(
        self, told: SqlEventLog, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(recorders, "POLL_SECONDS", 2 * SOON)
        with told.recorder.subscribe(gt=1) as subscription, ThreadPoolExecutor(1) as followers:
            heard = followers.submit(next, subscription)
            time.sleep(0.1)  # by now it waits
            with opened(database_url) as other:
                other.execute(revise(title="New"))
            assert heard.result(SOON).id == 2

    def test_ends_with_the_log(self, database_url: str, ask: Ask) -> None:
        with opened(database_url) as log:
            log.listen(threading.Event())
        connected = (
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'fabula' AND datname = current_database()"
        )
        deadline = time.monotonic() + SOON
        while ask(connected) != [(0,)]:
            assert time.monotonic() < deadline


def cut_off(ask: Ask) -> None:
    """Ends every session of the program's."""
    ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fabula'")


class TestWhatTheDatabaseCannotDo:
    def test_a_connection_lost_in_the_middle_fails_that_command_and_no_other(self, told: SqlEventLog, ask: Ask) -> None:
        def cut(connection: Connection) -> None:
            told.recorder.insert_into(connection, [StampedEvent("raw", 1, "topic", b"{}")])
            cut_off(ask)
            connection.execute(text("SELECT 1"))

        with pytest.raises(StoreUnavailable, match="there is no connection to postgresql://postgres@"):
            told._write(cut)
        assert told.execute(revise(title="New")).position == 2
        assert told.verify().ok

    def test_connections_lost_while_nobody_used_them_fail_nothing(self, told: SqlEventLog, ask: Ask) -> None:
        cut_off(ask)
        assert told.max_position() == 1
        told.execute(revise(title="New"))

    def test_nothing_is_printed_of_a_connection_that_was_lost(
        self, told: SqlEventLog, ask: Ask, caplog: pytest.LogCaptureFixture
    ) -> None:
        def cut(connection: Connection) -> None:
            cut_off(ask)
            connection.execute(text("SELECT 1"))

        for work in (told._write, told._read):
            with pytest.raises(StoreUnavailable):
                work(cut)
        assert caplog.records == []

    def test_a_read_only_database_says_so(self, told: SqlEventLog, ask: Ask) -> None:
        (name,) = ask("SELECT current_database()")[0]
        ask(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        cut_off(ask)
        with pytest.raises(StoreReadOnly) as refused:
            told.execute(revise(title="New"))
        assert "takes writes" in refused.value.message
        assert len(told.read(0, 10)) == 1

    def test_a_user_who_may_not_write_is_told(self, told: SqlEventLog, ask: Ask) -> None:
        ask("DROP ROLE IF EXISTS reader")
        ask("CREATE ROLE reader")
        ask("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        with pytest.raises(StoreReadOnly, match="permission denied"):
            told._write(lambda connection: connection.execute(text("SET LOCAL ROLE reader; DELETE FROM event")))
        assert told.max_position() == 1

    @pytest.mark.parametrize(
        ("state", "failure"),
        [("53100", StoreFull), ("XX001", StoreDamaged), ("53200", StoreUnavailable), ("58030", StoreUnavailable)],
    )
    def test_what_the_server_says_of_its_disk_is_told(
        self, told: SqlEventLog, ask: Ask, state: str, failure: type[StoreFailure]
    ) -> None:
        ask(
            "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION 'it fails' USING ERRCODE = '{state}'; END $$"
        )
        ask("CREATE TRIGGER fails BEFORE INSERT ON event EXECUTE FUNCTION fails()")
        before = everything(ask)
        with pytest.raises(failure) as refused:
            told.execute(revise(title="New"))
        assert str(told._database) in refused.value.message
        assert everything(ask) == before

    def test_behind_another_writer_that_never_ends_it_gives_up(self, told: SqlEventLog, database_url: str) -> None:
        def impatient() -> None:
            raw = told._writes.raw_connection()
            raw.cursor().execute("SET lock_timeout = 50")
            raw.commit()
            raw.close()

        impatient()
        with opened(database_url) as other:

            def wait(_: Connection) -> None:
                with pytest.raises(StoreUnavailable, match="another program has been writing"):
                    told.execute(revise(title="New"))
                assert told.max_position() == 1  # and reading waits for nobody

            other._write(wait)
        told.execute(revise(title="New"))

    @pytest.mark.parametrize(
        "url",
        [
            "postgresql://fabula:geheim@127.0.0.1:1/stories",
            "postgresql://fabula:geheim@/stories?host=/nowhere",
        ],
    )
    def test_a_server_that_is_not_there_is_named_without_the_password(self, url: str) -> None:
        with pytest.raises(StoreUnavailable) as refused:
            SqlEventLog(PostgresqlStore(url), SystemClock(), RandomNames())
        assert "there is no connection to postgresql://fabula@" in refused.value.message
        assert "Start it, or mend FABULA_DATABASE_URL" in refused.value.message
        assert "geheim" not in refused.value.message + repr(refused.value.__cause__)

    def test_a_database_that_is_not_there_is_named(self, postgresql_server: Server) -> None:
        with pytest.raises(StoreUnavailable, match='database "nowhere" does not exist'):
            SqlEventLog(PostgresqlStore(postgresql_server.url("nowhere")), SystemClock(), RandomNames())


def test_a_server_that_goes_away_and_comes_back_is_found_again() -> None:
    woken = threading.Event()
    with running_server() as server, server.database() as url, opened(url) as log:
        log.listen(woken)
        log.execute(start())
        server.stop()
        began = time.monotonic()
        for asked in (lambda: log.execute(revise(title="New")), log.max_position, log.open_turns):
            with pytest.raises(StoreUnavailable, match="Start it"):
                asked()
        assert time.monotonic() - began < SOON
        woken.clear()
        server.start()
        assert woken.wait(SOON)  # since something may have been appended that nobody heard of
        log.execute(revise(title="New"))
        assert (log.max_position(), log.verify().ok) == (2, True)
        woken.clear()
        with opened(url) as other:
            other.execute(revise(title="Newer"))
        assert woken.wait(SOON)
