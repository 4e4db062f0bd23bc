"""What the server said it read, and what that means."""

from typing import Any

import pytest

from domain.ports import Usage
from domain.prompt.accounting import classify
from domain.prompt.events import AccountingStatus, TokenTally

TALLY = TokenTally(
    total=3_000,
    budget=4_096,
    configured_budget=16_384,
    reply=400,
    reserve=256,
    transport=40,
    protected=900,
    history=2_796,
)


def status(read: Any, *, exact: int | None = None, cached: Any = None) -> AccountingStatus:
    tokens = TALLY.model_copy(update={"exact": exact})
    return classify(Usage(read, 100, cached), tokens, window_verified=True).status


@pytest.mark.parametrize("nothing", [None, 0, -1, -3_000, True, False, 3_000.0, "3000"])
def test_without_a_positive_count_nothing_can_be_said(nothing: Any) -> None:
    account = classify(Usage(nothing), TALLY, window_verified=True)
    assert (account.status, account.prompt_tokens) == ("unknown", None)
    assert (account.difference, account.observed_margin) == (None, None)
    assert status(nothing, exact=3_000) == "unknown"


@pytest.mark.parametrize(
    ("read", "expected"),
    [(1, "truncation_suspected"), (2_743, "truncation_suspected"), (2_744, "fits"), (3_000, "fits")],
)
def test_a_truncation_is_suspected_beyond_the_reserve(read: int, expected: AccountingStatus) -> None:
    assert status(read) == expected


@pytest.mark.parametrize(
    ("read", "expected"),
    [(2_900, "truncation_suspected"), (2_999, "truncation_suspected"), (3_000, "fits"), (3_001, "fits")],
)
def test_an_exact_count_leaves_no_room_for_doubt(read: int, expected: AccountingStatus) -> None:
    assert status(read, exact=3_000) == expected


def test_an_exact_count_takes_the_place_of_the_estimate() -> None:
    assert status(2_500, exact=2_500) == "fits"


@pytest.mark.parametrize(("read", "expected"), [(3_696, "fits"), (3_697, "exceeded"), (9_999, "exceeded")])
def test_the_bound_is_exceeded_where_the_reply_no_longer_fits(read: int, expected: AccountingStatus) -> None:
    assert status(read) == expected


def test_a_truncation_is_looked_for_before_an_excess() -> None:
    both = TALLY.model_copy(update={"total": 9_000})
    assert classify(Usage(4_000), both, window_verified=True).status == "truncation_suspected"
    assert classify(Usage(9_000), both, window_verified=True).status == "exceeded"


@pytest.mark.parametrize(
    ("read", "cached", "counted"),
    [
        (3_000, None, 3_000),
        (3_000, 0, 3_000),
        (3_000, 2_999, 3_000),
        (3_000, 3_000, 3_000),
        (100, 2_900, 3_000),
        (3_000, -5_000, 3_000),
        (3_000, True, 3_000),
    ],
)
def test_cached_tokens_are_within_what_was_read_unless_there_are_more_of_them(
    read: int, cached: Any, counted: int
) -> None:
    account = classify(Usage(read, cached_tokens=cached), TALLY, window_verified=True)
    assert (account.prompt_tokens, account.status) == (counted, "fits")


def test_cached_tokens_alone_are_no_count() -> None:
    assert status(0, cached=3_000) == "unknown"
    assert status(None, cached=3_000) == "unknown"


def test_the_account_holds_what_it_was_judged_by() -> None:
    account = classify(
        Usage(3_100, 250, 2_000), TALLY.model_copy(update={"exact": 3_050}), window_verified=False
    ).model_dump(exclude={"detail"})
    assert account == {
        "status": "fits",
        "prompt_tokens": 3_100,
        "completion_tokens": 250,
        "estimate": 3_000,
        "exact": 3_050,
        "difference": 100,
        "observed_margin": 4_096 - 400 - 3_100,
        "safety_reserve": 256,
        "cached_tokens": 2_000,
        "window_verified": False,
    }


@pytest.mark.parametrize("odd", [True, -1, 2.5, "2"])
def test_what_is_no_count_is_not_recorded_as_one(odd: Any) -> None:
    account = classify(Usage(3_000, odd, odd), TALLY, window_verified=True)
    assert (account.completion_tokens, account.cached_tokens) == (None, None)


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (Usage(), ["did not say"]),
        (Usage(2_000), ["2000", "3000", "the front of the prompt", "context_budget"]),
        (Usage(3_900), ["3900", "400", "4096", "max_output_tokens"]),
        (Usage(3_000), ["3000"]),
    ],
)
def test_each_verdict_is_a_sentence_with_its_figures(usage: Usage, words: list[str]) -> None:
    detail = classify(usage, TALLY, window_verified=True).detail
    assert detail.endswith(".")
    assert [word for word in words if word not in detail] == []


def test_the_sentence_of_a_suspicion_names_the_count_that_it_rests_on() -> None:
    exact = TALLY.model_copy(update={"exact": 3_050})
    assert "3050" in classify(Usage(2_999), exact, window_verified=True).detail
