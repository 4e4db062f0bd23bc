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


@pytest.mark.parametrize("listed", ["https://models.test/v1", " https://models.test/v1 ,, http://8.8.8.8:80/v1/,"])
def test_public_endpoints_are_listed_with_commas(monkeypatch: pytest.MonkeyPatch, listed: str) -> None:
    monkeypatch.setenv("FABULA_PUBLIC_ENDPOINT", listed)

    assert read_config({}).public_endpoints <= {"https://models.test/v1", "http://8.8.8.8:80/v1/"}
    assert "https://models.test/v1" in read_config({}).public_endpoints


@pytest.mark.parametrize("listed", ["", " ", ",", " , "])
def test_no_public_endpoint_is_none(monkeypatch: pytest.MonkeyPatch, listed: str) -> None:
    monkeypatch.setenv("FABULA_PUBLIC_ENDPOINT", listed)

    assert read_config({}).public_endpoints == frozenset()


@pytest.mark.parametrize(
    ("listed", "why"),
    [
        ("models.test", "'models.test' cannot be allowed: it is not an http or https URL"),
        ("*", r"'\*' cannot be allowed"),
        ("https://a.test/v1,ftp://b.test/v1", "'ftp://b.test/v1' cannot be allowed"),
        ("https://me:secret@a.test/v1", r"'https://…@a\.test/v1' cannot be allowed: it holds a user name"),
        ("https://a.test/v1?key=secret", "it has a query or a fragment"),
        ("http://169.254.169.254/v1", "169.254.169.254 is a link-local address"),
        ("http://[64:ff9b::8.8.8.8]/v1", "an IPv4 address behind NAT64"),
    ],
)
def test_a_public_endpoint_that_cannot_be_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, listed: str, why: str
) -> None:
    monkeypatch.setenv("FABULA_PUBLIC_ENDPOINT", listed)

    with pytest.raises(BadEnvironment, match=why) as refused:
        read_config({})
    assert refused.value.message.startswith("FABULA_PUBLIC_ENDPOINT: ")
    assert "secret" not in f"{refused.value!r} {refused.value.fields}"


@pytest.mark.parametrize("url", ["sqlite:///geheim.db", "mysql://a:geheim@b/c", "geheim", "postgresql://a:gehe@im@b/c"])
def test_only_the_url_of_a_postgresql_database_is_taken_and_no_other_is_repeated(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("FABULA_DATABASE_URL", url)

    with pytest.raises(BadEnvironment, match=r"^FABULA_DATABASE_URL: .+ README lists the variables\.$") as refused:
        read_config({})
    assert "gehe" not in refused.value.message + str(refused.value.fields) + str(refused.value.__cause__)


def test_a_database_is_printed_without_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABULA_DATABASE_URL", "postgresql://fabula:geheim@db/stories")

    assert "geheim" not in repr(read_config({})) + str(read_config({}).model_dump())


def test_a_default_is_printed_as_it_would_be_set() -> None:
    row = next(line for line in reference().splitlines() if line.startswith("| `FABULA_NARRATOR` "))

    assert row.endswith("| `true` |")
