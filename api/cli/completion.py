"""What a shell offers at the TAB key. Quick, and silent when there is nothing to offer."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import typer

_MOST = 50
_SECONDS = 0.2
_CONNECT_SECONDS = 2
_TITLE_CHARACTERS = 60
_NEWEST = "SELECT campaign, settings FROM campaign WHERE substr(campaign, 1, ?) = ? ORDER BY created_at DESC LIMIT ?"
_NEWEST_THERE = _NEWEST.replace("?", "%s")


def campaign_ids(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """The ids of the newest stories that begin so, each with its title. Never raises."""
    try:
        url = os.environ.get("FABULA_DATABASE_URL")
        found = _in_database(url, incomplete) if url else _in_file(_home(ctx.params.get("home")), incomplete)
        for campaign, settings in found:
            yield campaign, _plain(str(json.loads(settings).get("title", "")))
    except Exception:  # noqa: BLE001  # a shell's prompt is no place for errors
        return


def setting_names(incomplete: str) -> list[str]:
    """The names of the settings that begin so."""
    from domain.installation import Settings

    return [name for name in Settings.model_fields if name.startswith(incomplete)]


def _home(given: Any) -> Path:
    from platformdirs import user_data_dir

    return Path(given or os.environ.get("FABULA_HOME") or user_data_dir("fabula", appauthor=False))


def _in_file(home: Path, beginning: str) -> Iterator[tuple[str, str]]:
    # The log's own adapter takes a second to import, and a second is long after TAB.
    from sqlite3 import connect

    path = home / "log.db"
    if not path.exists():
        return
    with closing(connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_SECONDS)) as connection:
        yield from connection.execute(_NEWEST, (len(beginning), beginning, _MOST))


def _in_database(url: str, beginning: str) -> Iterator[tuple[str, str]]:
    from psycopg import connect

    with connect(url, connect_timeout=_CONNECT_SECONDS) as connection:
        yield from connection.execute(_NEWEST_THERE, (len(beginning), beginning, _MOST))


def _plain(title: str) -> str:
    """The title without what a shell, or the markup of a help text, would read as its own."""
    return " ".join(re.sub(r"[^\w.,-]", " ", title).split())[:_TITLE_CHARACTERS]
