"""The cases of extraction, with our own texts in the places that they leave for them."""

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from domain.extraction.case_texts import case_texts
from domain.extraction.extraction import Extraction, prose_of

CASES = Path(__file__).parent / "cases"
RULES = frozenset(
    {
        "block",
        "reasoning",
        "pasted-state",
        "unfinished-block",
        "leftover",
        "echo",
        "whitespace",
        "R1",
        "R2",
        "R3",
        "R4",
        "R5",
    }
)
_TEXTS = case_texts()


@dataclass(frozen=True)
class Case:
    """A raw reply, and what must come of it: any of these proses, exactly these events, at least these rules."""

    id: str
    raw: str
    proses: tuple[str, ...]
    events: Any
    rules: frozenset[str]


def filled(text: str) -> str:
    return re.sub(r"\{\{([A-Z_]+)\}\}", lambda found: _TEXTS[found[1]], text)


def cases(name: str) -> list[Case]:
    lines = (CASES / name).read_text(encoding="utf-8").split("\n")
    return [_case(json.loads(line)) for line in lines if line]


def _case(written: dict[str, Any]) -> Case:
    proses = tuple(comparable(filled(prose)) for prose in written.get("prose_any", [written["prose"]]))
    return Case(written["id"], filled(written["raw"]), proses, written["events"], frozenset(written["rules"]))


def comparable(prose: str) -> str:
    """As the cases compare it: white space at the ends of lines and of the whole is ignored."""
    return "\n".join(line.rstrip() for line in prose.split("\n")).strip()


def events_of(extraction: Extraction) -> Any:
    return extraction.proposal if isinstance(extraction.proposal, str) else list(extraction.proposal)


def assert_exact(raw: str, extraction: Extraction) -> None:
    """Prose and removals, put back in place, are the reply; removals are in order, apart, not empty, and named."""
    removals = extraction.removals
    assert extraction.prose == prose_of(raw, removals)
    assert extraction.prose == extraction.prose.strip()
    assert len(extraction.prose) + sum(each.end - each.start for each in removals) == len(raw)
    assert all(0 <= each.start < each.end <= len(raw) for each in removals)
    assert all(one.end <= other.start for one, other in pairwise(removals))
    assert {each.rule for each in removals} <= RULES
    assert all(raw[each.start : each.end].isspace() for each in removals if each.rule == "whitespace")
