"""An extractor that was released makes of every reply what it made of it then."""

from typing import Any

import pytest

from tests.golden.extraction import VERSIONS, missing, noted, read

GOLDEN = [(version, each) for version in VERSIONS for each in noted(version)]


@pytest.mark.parametrize(("version", "golden"), GOLDEN)
def test_an_extractor_never_changes(version: str, golden: dict[str, Any]) -> None:
    assert read(golden["raw"], version) == golden, "make it a new version; a released one stays as it is"


@pytest.mark.parametrize("version", VERSIONS)
def test_every_case_is_in_the_golden_file(version: str) -> None:
    assert list(missing(version)) == [], "run `python -m tests.golden.extraction`"


def test_the_golden_files_hold_the_same_replies() -> None:
    first, second = ({each["raw"] for each in noted(version)} for version in VERSIONS)
    assert first == second
