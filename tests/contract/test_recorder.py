"""The `eventsourcing` library's own test cases for recorders, run against ours.

`AggregateRecorderTestCase` is left out: it asks that `insert_events` returns None, which is the promise of a recorder
without positions; an application recorder returns them, and `ApplicationRecorderTestCase` asks for that.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from unittest import TestCase
from uuid import uuid4

from eventsourcing.persistence import ApplicationRecorder

from adapters.event_log import tables
from adapters.event_log.recorder import SqlRecorder
from adapters.event_log.sqlite import reading_engine, writing_engine
from tests.fakes.event_log import MemoryRecorder


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
        directory = TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = Path(directory.name) / "log.db"
        writes, reads = writing_engine(path), reading_engine(path)
        self.addCleanup(writes.dispose)
        self.addCleanup(reads.dispose)
        tables.metadata.create_all(writes)
        return SqlRecorder(writes, reads)


class _InMemory(TestCase):
    def new_originator_id(self) -> str:
        return str(uuid4())

    def create_recorder(self) -> MemoryRecorder:
        return MemoryRecorder()


class TestSqlRecorder(_OnSql, persistence.ApplicationRecorderTestCase[SqlRecorder]):
    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class TestMemoryRecorder(_InMemory, persistence.ApplicationRecorderTestCase[MemoryRecorder]):
    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class TestSqlPositionsDoNotInterleave(_OnSql, persistence.NonInterleavingNotificationIDsBaseCase):
    pass


class TestMemoryPositionsDoNotInterleave(_InMemory, persistence.NonInterleavingNotificationIDsBaseCase):
    pass


def test_ours_are_application_recorders_of_the_library() -> None:
    assert issubclass(SqlRecorder, ApplicationRecorder)
    assert issubclass(MemoryRecorder, ApplicationRecorder)
