"""What the environment may say, and what is made of it."""

import os
from pathlib import Path

import pytest

from api.config import BadEnvironment, Config, read_config
from api.reference import reference


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine's own."""
    for name in [name for name in os.environ if name.startswith("FABULA_")]:
        monkeypatch.delenv(name)


def test_a_variable_that_is_empty_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """`FABULA_HOME=` must not make the current directory the store."""
    unset = read_config({})
    for name in Config.model_fields:
        monkeypatch.setenv(f"FABULA_{name.upper()}", "")

    assert read_config({}) == unset
    assert unset.home != Path()


@pytest.mark.parametrize("level", ["WARNING", "Warning", "warning"])
def test_a_log_level_is_taken_in_any_case(monkeypatch: pytest.MonkeyPatch, level: str) -> None:
    monkeypatch.setenv("FABULA_LOG_LEVEL", level)

    assert read_config({}).log_level == "warning"


@pytest.mark.parametrize("hosts", ["*", "tower.local,*", "*.local"])
def test_a_pattern_of_hosts_is_refused(monkeypatch: pytest.MonkeyPatch, hosts: str) -> None:
    monkeypatch.setenv("FABULA_ALLOWED_HOSTS", hosts)

    with pytest.raises(BadEnvironment, match=r"^FABULA_ALLOWED_HOSTS: name each host; \* is not understood\."):
        read_config({})


def test_a_default_is_printed_as_it_would_be_set() -> None:
    row = next(line for line in reference().splitlines() if line.startswith("| `FABULA_NARRATOR` "))

    assert row.endswith("| `true` |")
