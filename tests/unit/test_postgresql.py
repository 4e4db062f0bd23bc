"""A URL of a PostgreSQL database is judged without being repeated, and text that it cannot keep is written otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.event_log.postgresql import PostgresqlStore
from adapters.postgresql import PostgresqlDatabase, with_nul, without_nul


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://fabula:geheim@db.local:5433/stories", "postgresql://fabula@db.local:5433/stories"),
        ("postgres://db.local/stories", "postgresql://db.local/stories"),
        ("postgresql:///stories", "postgresql:///stories"),
        ("postgresql://fabula:geheim@/stories?host=/run/pg", "postgresql://fabula@/stories?host=/run/pg"),
        ("postgresql://db.local/stories?user=fabula&password=geheim", "postgresql://fabula@db.local/stories"),
        ("postgresql://a%40b:gehe%40im%2F@db.local/my%20db", "postgresql://a%40b@db.local/my%20db"),
        (
            "postgresql://fabula:geheim@one,two/stories?target_session_attrs=primary",
            "postgresql://fabula@one,two/stories",
        ),
    ],
)
def test_a_database_is_named_without_its_password(url: str, shown: str) -> None:
    assert str(PostgresqlDatabase(url)) == str(PostgresqlStore(url)) == shown
    assert "geheim" not in repr(PostgresqlDatabase(url)) + repr(PostgresqlStore(url))


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///geheim.db",
        "geheim",
        "postgresql:geheim",
        "postgresql+psycopg://fabula:geheim@db/stories",
        "postgresql://fabula:gehe@im@db/stories",
        "postgresql://fabula:gehe/im@db/stories",
        "postgresql://fabula:geheim@db:port/stories",
        "postgresql://fabula:gehe%im@db/stories",
        "postgresql://fabula:geheim@db/stories?sslmod=geheim",
    ],
)
def test_what_is_no_such_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011  # each has a sentence of its own
        PostgresqlDatabase(url)
    assert "gehe" not in str(refused.value)
    assert refused.value.__cause__ is None


@given(st.text(st.sampled_from("\x00\x0101ab")) | st.text())
def test_text_with_nul_is_kept_without_and_comes_back(text: str) -> None:
    kept = without_nul(text)
    assert "\x00" not in kept
    assert with_nul(kept) == text


@given(st.text(st.sampled_from("\x00\x0101")), st.text(st.sampled_from("\x00\x0101")))
def test_two_texts_are_never_kept_as_one(one: str, other: str) -> None:
    assert (without_nul(one) == without_nul(other)) == (one == other)
