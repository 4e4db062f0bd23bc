"""`python -m tests.fuzz.extraction [-runs=N] [-max_total_time=SECONDS]`: replies made to reach every line of extraction.

Needs atheris, which is not installed with the rest: `pip install atheris`. Options are libFuzzer's. Each reply is read
by every extractor; an error, an inexact extraction or a second reading that differs ends the run with the reply.
"""

import importlib
import sys
from collections.abc import Sequence
from typing import Any

_MOST_PIECES = 24
_LONGEST_PIECE = 12


def main() -> None:
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        sys.exit("The fuzzer is not installed: pip install atheris")
    with atheris.instrument_imports(include=["domain.extraction"]):
        extractors = importlib.import_module("domain.extraction.extractors")
    cases = importlib.import_module("tests.extraction_cases")
    scraps = importlib.import_module("tests.property.test_extraction").SCRAPS

    def one(data: bytes) -> None:
        raw = _reply(atheris.FuzzedDataProvider(data), scraps)
        for version in extractors.EXTRACTORS:
            extraction = extractors.extract(raw, version)
            cases.assert_exact(raw, extraction)
            assert extraction == extractors.extract(raw, version)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


def _reply(given: Any, scraps: Sequence[str]) -> str:
    """Scraps of protocol and any text, in the order that the fuzzer likes."""
    pieces: list[str] = []
    for _ in range(given.ConsumeIntInRange(1, _MOST_PIECES)):
        if given.ConsumeBool():
            pieces.append(scraps[given.ConsumeIntInRange(0, len(scraps) - 1)])
        else:
            pieces.append(given.ConsumeUnicode(given.ConsumeIntInRange(0, _LONGEST_PIECE)))
    return "".join(pieces)


if __name__ == "__main__":
    main()
