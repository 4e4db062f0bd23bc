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
_TITLE_CHARACTERS = 60
_NEWEST = "SELECT campaign, settings FROM campaign WHERE substr(campaign, 1, ?) = ? ORDER BY created_at DESC LIMIT ?"


def campaign_ids(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """The ids of the newest stories that begin so, each with its title. Never raises."""
    try:
        yield from _campaigns(_home(ctx.params.get("home")), incomplete)
    except Exception:  # noqa: BLE001  # a shell's prompt is no place for errors
        return


def setting_names(incomplete: str) -> list[str]:
    """The names of the settings that begin so."""
    from domain.installation import Settings

    return [name for name in Settings.model_fields if name.startswith(incomplete)]


def _home(given: Any) -> Path:
    from platformdirs import user_data_dir

    return Path(given or os.environ.get("FABULA_HOME") or user_data_dir("fabula", appauthor=False))


def _campaigns(home: Path, beginning: str) -> Iterator[tuple[str, str]]:
    # The log's own adapter takes a second to import, and a second is long after TAB.
    from sqlite3 import connect

    path = home / "log.db"
    if not path.exists():
        return
    with closing(connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_SECONDS)) as connection:
        for campaign, settings in connection.execute(_NEWEST, (len(beginning), beginning, _MOST)):
            yield campaign, _plain(str(json.loads(settings).get("title", "")))


def _plain(title: str) -> str:
    """The title without what a shell, or the markup of a help text, would read as its own."""
    return " ".join(re.sub(r"[^\w.,-]", " ", title).split())[:_TITLE_CHARACTERS]
