"""What a clock and a source of names promise."""

import re
from datetime import timedelta

import pytest

from adapters.time_and_names import RandomNames, SystemClock
from domain.ports import Clock, IdSource
from tests.fakes.time_and_names import NumberedNames, TickingClock


@pytest.mark.parametrize("clock", [SystemClock(), TickingClock()])
def test_a_clock_tells_the_time_in_utc_and_never_an_earlier_one(clock: Clock) -> None:
    times = [clock.now() for _ in range(100)]
    assert {time.utcoffset() for time in times} == {timedelta(0)}
    assert times == sorted(times)


@pytest.mark.parametrize("names", [RandomNames(), NumberedNames()])
def test_a_name_has_its_prefix_and_ten_letters_and_is_never_given_twice(names: IdSource) -> None:
    given = [names.new("t") for _ in range(1000)]
    assert len(set(given)) == len(given)
    assert all(re.fullmatch("t_[a-z2-7]{10}", name) for name in given)
