"""A PostgreSQL database: how it is reached, how it is named to people, and what its errors mean for them.

The URL holds a password. It goes to the driver and nowhere else: what is shown is put together from the host, the port,
the user and the database alone.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import StrDumperUnknown, TextLoader
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from domain.errors import StoreDamaged, StoreFailure, StoreFull, StoreReadOnly, StoreUnavailable

Connection = psycopg.Connection[Any]

LOCK_SECONDS = 30
"""How long a writer waits for another's transaction. Each lasts milliseconds."""

_SCHEMES = ("postgresql", "postgres")
_WANTED = MappingProxyType(
    {
        "application_name": "fabula",
        "connect_timeout": "10",
        # A server that is gone without a word is noticed within half a minute, and not after two hours.
        "keepalives_idle": "10",
        "keepalives_interval": "5",
        "keepalives_count": "3",
        "tcp_user_timeout": "20000",
    }
)
"""What a connection is made with where the URL does not say otherwise."""

# The other way round too, since the server keeps the locks of a client that is gone until it notices. And what is
# acknowledged is on the disk, also where the server's default would wait less; where it waits for more, that stands.
_SESSION = f"""
SELECT set_config('lock_timeout', '{LOCK_SECONDS}s', false), set_config('tcp_keepalives_idle', '10', false),
       set_config('tcp_keepalives_interval', '5', false), set_config('tcp_keepalives_count', '3', false),
       CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END
"""

_READ_ONLY = ("25006", "42501")
_FULL = ("53100",)
_DAMAGED = ("XX001", "XX002", "58P01")
_WAITED_FOR_A_LOCK = "55P03"
_STRANGE = ("42P01", "42703", "42809")
"""No such table, no such column, not that kind of table."""
_LOST = ("08", "57P")
_GRANT = "Let this user write there, and connect to a server that takes writes"


class PostgresqlDatabase:
    """The database that a URL names. `str` and `repr` name it without the password.

    Raises ValueError, with a sentence that repeats nothing of the URL, for what is no URL of a PostgreSQL database.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._parts = _parts(url)

    def __str__(self) -> str:
        """The database as people know it, and may see it."""
        host, user = (self._parts.get(part, "") for part in ("host", "user"))
        at = f"{quote(user)}@" if user else ""
        port = f":{self._parts['port']}" if self._parts.get("port", "").strip(",") else ""
        place = "" if host.startswith("/") else f"{host}{port}"
        socket = f"?host={host}" if host.startswith("/") else ""
        return f"postgresql://{at}{place}/{quote(self._parts.get('dbname', ''))}{socket}"

    def __repr__(self) -> str:
        """As `str`."""
        return f"PostgresqlDatabase({str(self)!r})"

    def connected(self, *, autocommit: bool = False) -> Connection:
        """A new connection, on which text may hold NUL. Raises the driver's own errors."""
        wanted: dict[str, Any] = {name: value for name, value in _WANTED.items() if name not in self._parts}
        connection = psycopg.connect(self._url, autocommit=True, client_encoding="utf8", **wanted)
        connection.adapters.register_dumper(str, _TextDumper)
        for name in ("text", "varchar"):
            connection.adapters.register_loader(name, _TextLoader)
        connection.execute(_SESSION)
        connection.autocommit = autocommit
        return connection

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turns the database's errors into a StoreFailure that says what to do."""
        try:
            yield
        except DBAPIError as error:
            raise self._meaning(error.orig) from error
        except SQLAlchemyError as error:
            raise StoreUnavailable(f"{type(error).__name__} at {self}") from error
        except psycopg.Error as error:
            raise self._meaning(error) from error

    def _meaning(self, error: BaseException | None) -> StoreFailure:
        state = getattr(error, "sqlstate", None) or ""
        said = _said(error)
        if state in _READ_ONLY:
            return StoreReadOnly(str(self), f"{_GRANT} ({said})")
        if state in _FULL:
            return StoreFull(str(self))
        if state in _DAMAGED:
            return StoreDamaged(str(self), said)
        if state == _WAITED_FOR_A_LOCK:
            return StoreUnavailable(f"another program has been writing to {self} for {LOCK_SECONDS} seconds")
        if state.startswith(_LOST) or (isinstance(error, psycopg.OperationalError) and not state):
            return StoreUnavailable(f"there is no connection to {self} ({said}). Start it, or mend FABULA_DATABASE_URL")
        if state in _STRANGE:
            return StoreUnavailable(f"{said} at {self}: name a database, or a schema, that holds nothing else")
        return StoreUnavailable(f"{said} at {self}")


def without_nul(text: str) -> str:
    """The text as PostgreSQL can keep it: it has no NUL, so NUL and the character that stands for it are written as two."""
    if "\x00" not in text and "\x01" not in text:
        return text
    return text.replace("\x01", "\x011").replace("\x00", "\x010")


def with_nul(kept: str) -> str:
    """The text that was kept so."""
    return kept.replace("\x010", "\x00").replace("\x011", "\x01") if "\x01" in kept else kept


class _TextDumper(StrDumperUnknown):
    def dump(self, obj: str) -> Any:
        return super().dump(without_nul(obj))


class _TextLoader(TextLoader):
    def load(self, data: Any) -> str:
        return with_nul(str(data, "utf-8"))


def _parts(url: str) -> dict[str, str]:
    scheme, separator, rest = url.partition("://")
    if scheme not in _SCHEMES or not separator:
        raise ValueError("only postgresql://user:password@host:5432/database is understood")
    path = rest.partition("?")[0]
    if path.count("@") > 1 or "@" in path.partition("/")[2]:
        raise ValueError("write @, /, : and % in a name or password as %40, %2F, %3A and %25")
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:  # not its words, and not as a cause: they repeat what they do not understand
        raise ValueError(
            "it is no URL of a PostgreSQL database: postgresql://user:password@host:5432/database"
        ) from None
    if not re.fullmatch(r"\d*(,\d*)*", str(parts.get("port", ""))):
        raise ValueError("the port is no number; write : and / in a name or password as %3A and %2F")
    return {name: str(value) for name, value in parts.items()}


def _said(error: BaseException | None) -> str:
    """The error in a line. Details are left out: they repeat what was to be written."""
    diagnosis = getattr(error, "diag", None)
    told = (diagnosis.message_primary if diagnosis else None) or str(error)
    return " ".join(told.split("\nMultiple connection attempts failed")[0].split()).rstrip(".") or type(error).__name__
