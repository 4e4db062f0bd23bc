"""The `eventsourcing` library's own test cases for recorders, run against ours.

`AggregateRecorderTestCase` is left out: it asks that `insert_events` returns None, which is the promise of a recorder
without positions; an application recorder returns them, and `ApplicationRecorderTestCase` asks for that.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from unittest import TestCase
from uuid import uuid4

import pytest
from eventsourcing.persistence import ApplicationRecorder

from adapters.event_log import tables
from adapters.event_log.database import Database
from adapters.event_log.postgresql import PostgresqlStore
from adapters.event_log.recorder import SqlRecorder
from adapters.event_log.sqlite import SqliteFile
from tests.fakes.event_log import MemoryRecorder
from tests.fakes.postgresql import Server


def _wait_for_readers() -> None:
    """The library's cases tell their readers to stop, and do not wait until they have."""
    for thread in set(threading.enumerate()) - {threading.main_thread()}:
        if "read_continuously" in thread.name:
            thread.join()


@contextmanager
def _without_its_cipher() -> Iterator[None]:
    """The module of test cases also imports the library's cipher, which needs a package that nothing of ours needs."""
    cipher = ModuleType("eventsourcing.cipher")
    cipher.AESCipher = object  # type: ignore[attr-defined]  # a name to import, never used by these cases
    sys.modules["eventsourcing.cipher"] = cipher
    try:
        yield
    finally:
        del sys.modules["eventsourcing.cipher"]


with _without_its_cipher():
    from eventsourcing.tests import persistence


class _OnSql(TestCase):
    def new_originator_id(self) -> str:
        return str(uuid4())

    def create_recorder(self) -> SqlRecorder:
        database = self.database()
        writes, reads = database.writing_engine(), database.reading_engine()
        with writes.begin() as connection:
            tables.metadata.create_all(connection)
            database.prepare(connection)
        recorder = SqlRecorder(database, writes, reads)
        for close in (writes.dispose, reads.dispose, recorder.close):
            self.addCleanup(close)
        self.addCleanup(_wait_for_readers)
        return recorder

    def database(self) -> Database:
        raise NotImplementedError


class _OnSqlite(_OnSql):
    def database(self) -> Database:
        directory = TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        return SqliteFile(Path(directory.name) / "log.db")


class _OnPostgresql(_OnSql):
    @pytest.fixture(autouse=True)
    def _server(self, postgresql_server: Server) -> None:
        self.server = postgresql_server

    def database(self) -> Database:
        return PostgresqlStore(self.enterContext(self.server.database()))


class _InMemory(TestCase):
    def new_originator_id(self) -> str:
        return str(uuid4())

    def create_recorder(self) -> MemoryRecorder:
        return MemoryRecorder()


class TestSqliteRecorder(_OnSqlite, persistence.ApplicationRecorderTestCase[SqlRecorder]):
    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class TestPostgresqlRecorder(_OnPostgresql, persistence.ApplicationRecorderTestCase[SqlRecorder]):
    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class TestMemoryRecorder(_InMemory, persistence.ApplicationRecorderTestCase[MemoryRecorder]):
    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class TestSqlitePositionsDoNotInterleave(_OnSqlite, persistence.NonInterleavingNotificationIDsBaseCase):
    pass


class TestPostgresqlPositionsDoNotInterleave(_OnPostgresql, persistence.NonInterleavingNotificationIDsBaseCase):
    pass


class TestMemoryPositionsDoNotInterleave(_InMemory, persistence.NonInterleavingNotificationIDsBaseCase):
    pass


def test_ours_are_application_recorders_of_the_library() -> None:
    assert issubclass(SqlRecorder, ApplicationRecorder)
    assert issubclass(MemoryRecorder, ApplicationRecorder)
