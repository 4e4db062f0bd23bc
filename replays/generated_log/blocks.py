"""What a narrator who is a list of words writes below its prose: blocks, good and bad, and now and then our own words."""

import orjson

from domain.prompt import texts
from replays.generated_log.chance import Dice
from replays.generated_log.prose import Prose

_BLOCK = 0.6
_UNFENCED = 0.1
_CUT_OFF = 0.05
_ECHO = 0.08
_EVENTS = (1, 4)
_KNOWN = 12
"""So many entities there are for a story to speak about: what is said of them is mostly about what exists already."""

_KINDS = {"create": 3.0, "give": 3.0, "fact": 3.0, "status": 2.0, "scene": 1.0, "thread": 1.0, "nonsense": 0.5}

_REPEATED = (texts.STATE_REMINDER, texts.CONTINUE_HINT, texts.LENGTH_HINT.format(ceiling=200, floor=80))
"""What is repeated of our own words. Only the newer extractor knows all of them."""

Event = dict[str, object]


def below_the_prose(dice: Dice, prose: Prose) -> str:
    """What follows the prose of a reply, often nothing."""
    echo = f"\n\n{dice.choice(_REPEATED)}" if dice.happens(_ECHO) else ""
    if not dice.happens(_BLOCK):
        return echo
    events = [_event(dice, prose) for _ in range(dice.whole(*_EVENTS))]
    block = orjson.dumps({"events": events}).decode()
    fenced = block if dice.happens(_UNFENCED) else f"{texts.FENCE_TOKEN}\n{block}\n```"
    written = fenced[: len(fenced) * 2 // 3] if dice.happens(_CUT_OFF) else fenced
    return f"{echo}\n\n{written}"


def _event(dice: Dice, prose: Prose) -> Event:
    one, other = f"entity-{dice.whole(1, _KNOWN)}", f"entity-{dice.whole(1, _KNOWN)}"
    words = prose.told(dice.whole(2, 6))
    match dice.weighed(_KINDS):
        case "create":
            kind = dice.choice(("character", "location", "item"))
            return {"type": "create_entity", "entity": one, "entity_type": kind, "name": words[:60]}
        case "give":
            return {"type": "set_possession", "item": one, "owner": other}
        case "fact":
            return {"type": "add_fact", "predicate": words[:60], "subject": one}
        case "status":
            return {"type": "set_entity_status", "entity": one, "status": words[:60]}
        case "scene":
            return {"type": "set_scene", "summary": words, "present": [one]}
        case "thread":
            return {"type": "open_thread", "thread": one, "title": words[:60]}
        case _:
            return {"type": words[:20], "entity": one}


def corrections(dice: Dice, prose: Prose) -> list[Event]:
    """What a player corrects: something new first, so that not all of it is refused."""
    name = prose.told(2)
    new: Event = {
        "type": "create_entity",
        "entity": dice.letters("abcdefgh", 8),
        "entity_type": "item",
        "name": name[:60],
    }
    return [new, _event(dice, prose)]
