"""README says what the code says."""

import re
from pathlib import Path

import pytest

from api.cli.commands import app
from api.config import Config
from api.http.problems import STATUS_OF
from api.reference import rewritten
from domain.catalogue import EVENTS
from domain.installation import Settings

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_reference_is_written_out_of_the_code_of_today() -> None:
    assert rewritten(README) == README, "run `make docs`"


@pytest.mark.parametrize(
    "word",
    [
        *(f"`{name}`" for name in Settings.model_fields),
        *(f"`FABULA_{name.upper()}`" for name in Config.model_fields),
        *(f"`{event.topic}`" for event in EVENTS),
        *(f"`{code}`" for code in STATUS_OF),
        *(f"`{command.name or command.callback.__name__}`" for command in app.registered_commands if command.callback),
    ],
)
def test_every_setting_variable_event_code_and_command_is_in_it(word: str) -> None:
    assert word in README


def test_it_is_finished() -> None:
    assert "@@" not in README
    assert "TODO" not in README


def test_what_it_says_of_make_is_in_the_makefile() -> None:
    named = set(re.findall(r"(?:`|\$ )make ([a-z]+)", README))
    assert named
    assert named <= set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))


def test_the_version_has_an_entry_in_the_changelog() -> None:
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None
    assert f"## {version[1]}\n" in CHANGELOG


def test_the_lock_names_no_host_and_hashes_everything() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^[a-z0-9_.-]+==\S+", lock, re.MULTILINE)
    assert len(pins) > 50
    assert "://" not in lock
    assert lock.count("--hash=sha256:") >= len(pins)
