"""What of the protocol stayed in a narration, counted by kind."""

from collections import Counter

import orjson
import pytest

from api.cli.leaks import as_plain
from api.use_cases.leaks import CampaignLeaks
from domain.extraction.leaks import leaks
from domain.prompt import texts


@pytest.mark.parametrize(
    ("kind", "prose"),
    [
        ("heading", f"Fog.\n\n{texts.HEADING_FACTS}\n  the lamp is out\n\nRain."),
        ("heading", f"Fog.\n\n**{texts.HEADING_HELD}**\n  the lamp: Oren"),
        ("block", 'Fog.\n{"events": []}'),
        ("block", '> {"type": "set_possession", "item": "lamp"}'),
        ("call", "Fog.\nset_possession(lamp, oren)\nRain."),
        ("call", '> Create_entity ("ilse")'),
        ("reminder", f"Fog.\n\n{texts.STATE_REMINDER}\n\nRain."),
        ("reminder", f"Fog. {texts.STATE_REMINDER[:60]}"),
        ("hint", f"{texts.CONTINUE_HINT}\n\nFog."),
        ("hint", f"[{texts.LENGTH_OPENING} this turn must not exceed 180 words.]\nFog."),
        ("fence", "Fog.\n```state"),
        ("fence", "Fog.\n```JSON\n{}\n```"),
        ("scene_line", "Fog.\n\nScene: Two in the hold. (at The hold)"),
    ],
)
def test_each_kind_is_counted(kind: str, prose: str) -> None:
    assert leaks(prose) == {kind: 1}


@pytest.mark.parametrize(
    "prose",
    [
        "",
        "Rain ticks on the hatch.",
        f"{texts.HEADING_HELD}\nnothing, by order of the port.",
        "Scene: the hold at dawn.\n\nRain.",
        "[The sign on the hatch reads: Closed]",
        "She typed:\n```\nrun\n```",
        "> open_door(north)",
        "Create_entity is a terrible name.",
        '> {"name": "Vesna"}',
    ],
)
def test_story_is_not(prose: str) -> None:
    assert not leaks(prose)


def test_all_of_a_narration_is_counted() -> None:
    prose = f"set_possession(a, b)\nset_possession(b, a)\n{texts.STATE_REMINDER}"
    assert leaks(prose) == {"call": 2, "reminder": 1}


def test_a_long_line_takes_no_time_to_speak_of() -> None:
    assert not leaks("[" * 1_000_000 + "x" * 1_000_000)


def test_what_was_found_can_be_told_to_a_program() -> None:
    found = CampaignLeaks("c_one", "One", narrations=2, leaks=Counter(fence=1), nodes=[3])
    assert orjson.loads(orjson.dumps(as_plain(found)))["leaks"] == {"fence": 1}
