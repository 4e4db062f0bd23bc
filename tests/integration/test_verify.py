"""Edits behind the program's back, made with sqlite3 on a real file: each is found, and the first bad event is named."""
# ruff: noqa: S608  # the statements are put together from names that stand in this file

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from adapters.event_log.log import SqlEventLog
from domain.log import FirstBad, Verification
from tests.fakes.sample_story import (
    ACCOUNT,
    CAMPAIGN,
    accept,
    fail,
    prompted,
    record,
    revise,
    start,
    take_turn,
)
from tests.fakes.time_and_names import NumberedNames, TickingClock

OTHER = "c_harbour"

Edit = Callable[[sqlite3.Connection], object]


@contextmanager
def opened(store: Path) -> Iterator[SqlEventLog]:
    log = SqlEventLog(store, TickingClock(), NumberedNames())
    try:
        yield log
    finally:
        log.close()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of thirteen events in three streams. Copied for each test, never edited itself.

    position      1  2  3  4  5  6  7  8  9 10 11 12 13
    CAMPAIGN      1     2  3     4  5  6  7        8
    OTHER            1        2              3        4
    installation                                1
    """
    store = tmp_path_factory.mktemp("told") / "log.db"
    with opened(store) as log:
        log.execute(start())
        log.execute(start(campaign=OTHER))
        log.execute(take_turn("t_1", "do", "Climb."))
        log.execute(take_turn("t_1", "continue", campaign=OTHER))
        log.execute(record(prompted("t_1")))
        log.execute(accept("t_1", "Fog.", account=ACCOUNT))
        log.execute(fail("t_1", campaign=OTHER))
        log.change_settings({"model": "small"})
        log.execute(revise(title="The Lamp"))
        log.execute(revise(campaign=OTHER, title="The Harbour"))
        assert log.max_position() == 13
    return store


@pytest.fixture
def store(told: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(told, tmp_path / "log.db"))


def edited(store: Path, edit: Edit) -> None:
    with closing(sqlite3.connect(store)) as connection:
        edit(connection)
        connection.commit()


def verified(store: Path, stream: str | None = None) -> Verification:
    with opened(store) as log:
        return log.verify(stream)


def sql(*statements: str) -> Edit:
    def edit(connection: sqlite3.Connection) -> None:
        for statement in statements:
            assert connection.execute(statement).rowcount > 0

    return edit


def flip_a_byte(connection: sqlite3.Connection) -> None:
    (payload,) = connection.execute("SELECT payload FROM event WHERE position = 4").fetchone()
    flipped = payload[:20] + bytes([payload[20] ^ 1]) + payload[21:]
    connection.execute("UPDATE event SET payload = ? WHERE position = 4", [flipped])


def rehash_a_payload(connection: sqlite3.Connection) -> None:
    """Careful enough to compute the payload's hash anew, not careful enough for the chain."""
    payload = b'{"colour":"grey"}'
    connection.execute(
        "UPDATE event SET payload = ?, payload_hash = ? WHERE position = 4", [payload, hashlib.sha256(payload).digest()]
    )


def swap(columns: str, one: int, other: int) -> Edit:
    """Exchanges columns of two rows."""
    names = columns.split(", ")
    values = ", ".join(f"{name} = ?" for name in names)

    def edit(connection: sqlite3.Connection) -> None:
        rows = [
            connection.execute(f"SELECT {columns} FROM event WHERE position = ?", [at]).fetchone()
            for at in (one, other)
        ]
        for at in (one, other):
            connection.execute("UPDATE event SET version = -version WHERE position = ?", [at])
        for at, row in ((one, rows[1]), (other, rows[0])):
            connection.execute(f"UPDATE event SET {values} WHERE position = ?", [*row, at])
            connection.execute("UPDATE event SET version = abs(version) WHERE position = ?", [at])

    return edit


def swap_positions(one: int, other: int) -> Edit:
    return sql(
        f"UPDATE event SET position = -1 WHERE position = {one}",
        f"UPDATE event SET position = {one} WHERE position = {other}",
        f"UPDATE event SET position = {other} WHERE position = -1",
    )


EVERYTHING = "stream, version, topic, schema_version, event_id, at, turn, actor, payload_hash, payload, chain"
FORGED = (
    "'c_lighthouse', 9, 'campaign.revised', 1, 'e_forged', '2026', NULL, 'player', x'00', CAST('{}' AS BLOB), x'00'"
)

EDITS: dict[str, tuple[Edit, str, int]] = {
    "a byte of a payload": (flip_a_byte, CAMPAIGN, 3),
    "a payload and its hash": (rehash_a_payload, CAMPAIGN, 3),
    "a payload, with a text function": (
        sql("UPDATE event SET payload = replace(payload, 'Climb', 'Shout') WHERE position = 4"),
        CAMPAIGN,
        3,
    ),
    "a payload's kind alone": (
        sql("UPDATE event SET payload = CAST(payload AS TEXT) WHERE position = 4"),
        CAMPAIGN,
        3,
    ),
    "the hash of a payload": (sql("UPDATE event SET payload_hash = x'00' WHERE position = 4"), CAMPAIGN, 3),
    "when": (sql("UPDATE event SET at = '2025-01-01T00:00:00.000000Z' WHERE position = 5"), OTHER, 2),
    "when, to bytes": (sql("UPDATE event SET at = CAST(at AS BLOB) WHERE position = 5"), OTHER, 2),
    "who": (sql("UPDATE event SET actor = 'player' WHERE position = 7"), CAMPAIGN, 5),
    "which turn": (sql("UPDATE event SET turn = 't_2' WHERE position = 7"), CAMPAIGN, 5),
    "that it belongs to a turn": (sql("UPDATE event SET turn = NULL WHERE position = 7"), CAMPAIGN, 5),
    "the topic": (sql("UPDATE event SET topic = 'story.turn_failed' WHERE position = 5"), OTHER, 2),
    "the schema": (sql("UPDATE event SET schema_version = 0 WHERE position = 5"), OTHER, 2),
    "the name": (sql("UPDATE event SET event_id = 'e_other' WHERE position = 8"), CAMPAIGN, 6),
    "a chain value": (sql("UPDATE event SET chain = x'00' WHERE position = 6"), CAMPAIGN, 4),
    "the last chain value of a stream": (sql("UPDATE event SET chain = x'00' WHERE position = 12"), CAMPAIGN, 8),
    "the stream of an event": (sql("UPDATE event SET stream = 'c_ghost' WHERE position = 4"), "c_ghost", 3),
    "an event in the middle, removed": (sql("DELETE FROM event WHERE position = 4"), CAMPAIGN, 4),
    "the first event, removed": (sql("DELETE FROM event WHERE position = 1"), CAMPAIGN, 2),
    "the newest event, removed": (sql("DELETE FROM event WHERE position = 13"), OTHER, 4),
    "the newest events, removed": (sql("DELETE FROM event WHERE position > 9"), OTHER, 3),
    "the end of a stream, removed": (sql("DELETE FROM event WHERE position = 12"), CAMPAIGN, 8),
    "a whole stream, removed": (sql("DELETE FROM event WHERE stream = 'c_harbour'"), OTHER, 1),
    "every event, removed": (sql("DELETE FROM event"), OTHER, 1),
    "two payloads, swapped": (swap("payload", 3, 4), CAMPAIGN, 2),
    "two payloads and their hashes, swapped": (swap("payload, payload_hash", 3, 4), CAMPAIGN, 2),
    "two payloads of two streams, swapped": (swap("payload, payload_hash", 3, 5), CAMPAIGN, 2),
    "two versions, swapped": (swap("version", 3, 4), CAMPAIGN, 3),
    "two events of a stream, swapped": (swap_positions(3, 4), CAMPAIGN, 3),
    "two events of a stream but their versions, swapped": (
        swap(EVERYTHING.replace("version, ", "", 1), 3, 4),
        CAMPAIGN,
        2,
    ),
    "an event, added at an end": (sql(f"INSERT INTO event ({EVERYTHING}) VALUES ({FORGED})"), CAMPAIGN, 9),
    "an event, added in a stream of its own": (
        sql(f"INSERT INTO event ({EVERYTHING}) VALUES ({FORGED.replace('lighthouse', 'ghost').replace('9', '1', 1)})"),
        "c_ghost",
        1,
    ),
    "an end, moved back": (sql("UPDATE stream_head SET version = 7 WHERE stream = 'c_lighthouse'"), CAMPAIGN, 8),
    "an end, moved on": (sql("UPDATE stream_head SET version = 10 WHERE stream = 'c_lighthouse'"), CAMPAIGN, 9),
    "the hash of an end": (sql("UPDATE stream_head SET chain = x'00' WHERE stream = 'c_harbour'"), OTHER, 4),
    "an end, removed": (sql("DELETE FROM stream_head WHERE stream = 'c_harbour'"), OTHER, 4),
    "an end, added": (sql("INSERT INTO stream_head VALUES ('c_ghost', 2, x'00')"), "c_ghost", 1),
}


@pytest.mark.parametrize(("edit", "stream", "version"), EDITS.values(), ids=EDITS.keys())
def test_an_edit_is_found_and_the_first_bad_event_is_named(store: Path, edit: Edit, stream: str, version: int) -> None:
    edited(store, edit)
    bad = verified(store).first_bad
    assert bad is not None
    assert (bad.stream, bad.version) == (stream, version)
    assert bad.why


@pytest.mark.parametrize(("edit", "stream", "version"), EDITS.values(), ids=EDITS.keys())
def test_the_stream_alone_shows_the_same(store: Path, edit: Edit, stream: str, version: int) -> None:
    edited(store, edit)
    bad = verified(store, stream).first_bad
    assert bad is not None
    assert (bad.stream, bad.version) == (stream, version)


@pytest.mark.parametrize("stream", [None, CAMPAIGN, OTHER, "installation"])
def test_a_store_that_nobody_touched_is_well(store: Path, stream: str | None) -> None:
    assert verified(store, stream).ok


def test_the_bad_event_is_named_with_its_position_and_what_is_wrong(store: Path) -> None:
    edited(store, flip_a_byte)
    why = "its payload is not the one that was recorded"
    assert verified(store) == Verification(3, verified(store).head, FirstBad(CAMPAIGN, 3, 4, why))


def test_damage_to_one_stream_leaves_the_others_well(store: Path) -> None:
    edited(store, flip_a_byte)
    assert not verified(store, CAMPAIGN).ok
    assert verified(store, OTHER).ok
    assert verified(store, "installation").ok


def test_the_first_of_two_bad_events_is_named(store: Path) -> None:
    edited(store, sql("UPDATE event SET actor = 'nobody' WHERE position IN (5, 10)"))
    bad = verified(store).first_bad
    assert bad is not None
    assert (bad.stream, bad.version, bad.position) == (OTHER, 2, 5)


class TestWhatOnlyTheNumberOfPositionsShows:
    def test_a_tail_that_was_removed_with_its_end_moved_back(self, store: Path) -> None:
        edited(
            store,
            sql(
                "DELETE FROM event WHERE position = 13",
                "UPDATE stream_head SET version = 3, chain = (SELECT chain FROM event WHERE position = 10) "
                "WHERE stream = 'c_harbour'",
            ),
        )
        assert verified(store, OTHER).ok
        bad = verified(store).first_bad
        assert bad is not None
        assert bad.position == 13

    def test_a_stream_that_was_removed_with_its_end(self, store: Path) -> None:
        edited(
            store,
            sql("DELETE FROM event WHERE stream = 'c_harbour'", "DELETE FROM stream_head WHERE stream = 'c_harbour'"),
        )
        bad = verified(store).first_bad
        assert bad is not None
        assert "4 of their events are gone without a tombstone" in bad.why

    def test_an_event_that_was_given_a_position_by_hand(self, store: Path) -> None:
        edited(store, sql("UPDATE event SET position = 500 WHERE position = 13"))
        bad = verified(store).first_bad
        assert bad is not None
        assert bad.position == 500


class TestADeletedCampaign:
    def test_leaves_the_store_well(self, store: Path) -> None:
        with opened(store) as log:
            log.delete_campaign(OTHER)
            assert log.verify().ok
        assert verified(store).ok

    def test_leaves_the_store_well_when_it_begins_anew_and_is_deleted_again(self, store: Path) -> None:
        with opened(store) as log:
            for _ in range(3):
                log.delete_campaign(OTHER)
                log.execute(start(campaign=OTHER))
            assert log.verify().ok

    def test_does_not_hide_what_else_was_removed(self, store: Path) -> None:
        with opened(store) as log:
            log.delete_campaign(OTHER)
        edited(store, sql("DELETE FROM event WHERE topic = 'settings.changed'"))
        bad = verified(store).first_bad
        assert bad is not None
        assert (bad.stream, bad.version) == ("installation", 2)

    def test_whose_tombstone_is_removed_is_missed(self, store: Path) -> None:
        with opened(store) as log:
            log.delete_campaign(OTHER)
        edited(store, sql("DELETE FROM event WHERE topic = 'campaign.deleted'"))
        bad = verified(store).first_bad
        assert bad is not None
        assert (bad.stream, bad.version) == ("installation", 2)


class TestWhoComputesTheChainAnew:
    """It has no key: against this there is the head, noted elsewhere."""

    def test_is_believed_but_has_another_head(self, store: Path) -> None:
        before = verified(store)
        edited(store, rewritten)
        after = verified(store)
        assert after.ok
        assert after.head != before.head

    def test_has_the_same_head_where_nothing_was_changed(self, store: Path) -> None:
        assert verified(store).head == verified(store).head


def rewritten(connection: sqlite3.Connection) -> None:
    """The settings say something else, and everything that hangs on it is computed as the program would."""
    payload = b'{"changes":{"model":"other"}}'
    digest = hashlib.sha256(payload).digest()
    fields = connection.execute(
        "SELECT '', stream, version, topic, schema_version, event_id, at, turn, actor FROM event WHERE stream = 'installation'"
    ).fetchone()
    written = json.dumps([*fields, digest.hex()], separators=(",", ":"))
    chain = hashlib.sha256(written.encode()).digest()
    connection.execute(
        "UPDATE event SET payload = ?, payload_hash = ?, chain = ? WHERE stream = 'installation'",
        [payload, digest, chain],
    )
    connection.execute("UPDATE stream_head SET chain = ? WHERE stream = 'installation'", [chain])
