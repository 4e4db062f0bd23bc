"""What a rule may know beside the reply."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from domain.narrative.vocabulary import EVENT_TYPES


@dataclass(frozen=True)
class Context:
    """`event_types` is the vocabulary that the narrator was shown."""

    event_types: AbstractSet[str] = EVENT_TYPES


CONTEXT = Context()
