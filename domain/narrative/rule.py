"""What the narrator is told of the state: how to say what changed, and the vocabulary as the JSON to send.

Nothing here is in any genre's words. The example names what no story has, so that a narrator that copies it is refused.
"""

import json

from domain.narrative.vocabulary import VOCABULARY, EventType, Field
from domain.prompt import texts

PLACEHOLDER = "…"

EXAMPLE = {
    "events": [
        {"type": "set_possession", "item": "item-1", "owner": "character-1"},
        {"type": "set_current_location", "entity": "character-1", "location": "location-1"},
    ]
}
"""The worked example."""

RULE_OPENING = "After the prose, end each reply with one fenced block that tells what changed in it, as JSON, and nothing after it:"
RULE_IDS = (
    'If nothing changed, send {"events":[]}. Ids are lower-case slugs, such as item-1: use those that the state lists, '
    "or create what is new first, in the same block. What is marked as corrected by the player stands. Send no events "
    "but these:"
)


def state_rule() -> str:
    """The rule as it stands in a prompt: the same text always."""
    return "\n".join((RULE_OPENING, _fenced(EXAMPLE), RULE_IDS, vocabulary()))


def vocabulary() -> str:
    """Every type, a line each."""
    return "\n".join(vocabulary_line(kind) for kind in VOCABULARY.values())


def vocabulary_line(kind: EventType) -> str:
    """A type as the object to send, then its optional fields, then a few words on what it does."""
    required = compact({"type": kind.name, **{field.name: _placeholder(field) for field in kind.required}})
    optional = ",".join(f"{compact(field.name)}:{compact(_placeholder(field))}" for field in kind.optional)
    return f"{required}{f' (optional {optional})' if optional else ''}: {kind.does}"


def compact(value: object) -> str:
    """JSON as a narrator is shown it and sends it: no spaces, no escapes."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _placeholder(field: Field) -> str | list[str]:
    return PLACEHOLDER if field.entries is None else [PLACEHOLDER]


def _fenced(block: object) -> str:
    return f"```{texts.FENCE_LABEL}\n{compact(block)}\n```"
