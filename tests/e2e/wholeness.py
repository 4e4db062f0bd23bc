"""Whether a store is whole: its chain, its decision tables against a rebuild, its views against a rebuild, its turns."""

import shutil
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

from adapters.event_log.log import SqlEventLog
from adapters.event_log.tables import DECISION_TABLES
from projections.all import ALL, open_views
from tests.fakes.time_and_names import NumberedNames, TickingClock


def assert_whole(home: Path) -> None:
    """Every promise about a store that nobody has open. Looks at a copy, and changes nothing."""
    with TemporaryDirectory() as scratch:
        copy = Path(scratch) / "home"
        shutil.copytree(home, copy)
        log = SqlEventLog(copy / "log.db", TickingClock(), NumberedNames())
        try:
            verification = log.verify()
            assert verification.ok, verification
            _assert_turns_ended_once(copy / "log.db")
            _assert_views_are_rebuilt_alike(copy / "views", Path(scratch) / "anew", log)
            _assert_tables_are_rebuilt_alike(copy / "log.db", log)
        finally:
            log.close()


def _assert_tables_are_rebuilt_alike(database: Path, log: SqlEventLog) -> None:
    before = rows_of(database)
    log.rebuild_decision_tables()
    assert rows_of(database) == before


def rows_of(database: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every decision table."""
    connection = sqlite3.connect(database)
    try:
        return {
            table.name: sorted(connection.execute(str(table.select())).fetchall(), key=repr)
            for table in DECISION_TABLES
        }
    finally:
        connection.close()


def _assert_views_are_rebuilt_alike(standing: Path, anew: Path, log: SqlEventLog) -> None:
    views, rebuilt = open_views(standing, log), open_views(anew, log)
    try:
        for engine in (views, rebuilt):
            engine.catch_up()
        for view in ALL:
            assert views.digest(view.name) == rebuilt.digest(view.name), view.name
    finally:
        views.stop()
        rebuilt.stop()


def _assert_turns_ended_once(database: Path) -> None:
    """Each turn that was opened ended once, and no narration stands without its turn's end."""
    connection = sqlite3.connect(database)
    try:
        ended = connection.execute(
            "SELECT opened.turn, (SELECT count(*) FROM event AS ending WHERE ending.stream = opened.stream "
            "AND ending.turn = opened.turn AND ending.topic IN ('story.narration_accepted', 'story.turn_failed')) "
            "FROM event AS opened WHERE opened.topic = 'story.turn_opened'"
        ).fetchall()
        open_still = connection.execute("SELECT count(*) FROM campaign WHERE open_turn IS NOT NULL").fetchone()
    finally:
        connection.close()
    assert [turn for turn, times in ended if times != 1] == []
    assert open_still == (0,)
