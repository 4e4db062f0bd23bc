"""`python -m tests.golden.extraction`: notes what the extractors make of cases that are not in their golden files yet.

What a file holds already it leaves as it is: an extractor never changes once it is released.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from domain.extraction.extractors import extract
from tests.extraction_cases import cases, events_of

VERSIONS = ("1", "2")
_CASES = ("extraction.jsonl", "extraction_more.jsonl")


def golden_file(version: str) -> Path:
    return Path(__file__).parent / f"extraction-{version}.jsonl"


def noted(version: str) -> list[dict[str, Any]]:
    """What the golden file holds, in its order."""
    path = golden_file(version)
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    return [json.loads(line) for line in lines if line]


def read(raw: str, version: str) -> dict[str, Any]:
    """An input with the exact prose, block, events and removals."""
    extraction = extract(raw, version)
    return {
        "raw": raw,
        "prose": extraction.prose,
        "block": extraction.block,
        "events": events_of(extraction),
        "removals": [[each.rule, each.start, each.end] for each in extraction.removals],
    }


def missing(version: str) -> Iterator[str]:
    """The raw replies of cases that the golden file does not hold."""
    known = {each["raw"] for each in noted(version)}
    for case in (case for name in _CASES for case in cases(name)):
        if case.raw not in known:
            known.add(case.raw)
            yield case.raw


def main() -> None:
    for version in VERSIONS:
        new = [read(raw, version) for raw in missing(version)]
        with golden_file(version).open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(each, ensure_ascii=False)}\n" for each in new)
        print(f"{golden_file(version).name}: {len(new)} added")


if __name__ == "__main__":
    main()
