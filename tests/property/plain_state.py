"""The state of a story kept by other means: plain dictionaries, changed by hand.

Of the vocabulary it knows three events, which is enough for one to depend on another: something exists, it is in some
state, somebody holds it. When narrations are reread it goes through everything that happened from the beginning.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

Events = Sequence[Mapping[str, Any]]
State = dict[str, dict[str, Any]]


def may_be(state: State, event: Mapping[str, Any]) -> bool:
    """Whether a state event is accepted."""
    there = state["entities"]
    match event:
        case {"type": "create_entity", "entity": entity, "entity_type": _, "name": _}:
            return entity not in there
        case {"type": "set_entity_status", "entity": entity}:
            return entity in there
        case {"type": "set_possession", "item": item, "owner": owner}:
            return item in there and owner != item and (owner is None or owner in there)
        case _:
            return False


def change(state: State, event: Mapping[str, Any]) -> None:
    """Changes the state by an event that is accepted."""
    match event["type"]:
        case "create_entity":
            state["entities"][event["entity"]] = ""
        case "set_entity_status":
            state["entities"][event["entity"]] = event["status"]
        case "set_possession":
            state["held"].pop(event["item"], None)
            if event["owner"] is not None:
                state["held"][event["item"]] = event["owner"]


def take(state: State, events: Events) -> list[Mapping[str, Any]]:
    """Changes the state by those of the events that are accepted, one after another, and says which."""
    accepted = []
    for event in events:
        if may_be(state, event):
            change(state, event)
            accepted.append(event)
    return accepted


class PlainStates:
    """The state at every node, and all that made it so."""

    def __init__(self) -> None:
        self.at: dict[int, State] = {1: {"entities": {}, "held": {}}}
        self.told: dict[int, Events] = {}
        self._happened: list[tuple[str, int, Any]] = []
        self._readings: dict[int, Events] = {}

    def grow(self, node: int, parent: int) -> None:
        """A node begins with the state of its parent."""
        self._happened.append(("grown", node, parent))
        self.at[node] = deepcopy(self.at[parent])

    def tell(self, node: int, events: Events) -> None:
        """A narration proposes these events."""
        self.told[node] = take(self.at[node], events)
        self._happened.append(("told", node, self.told[node]))

    def correct(self, node: int, events: Events) -> bool:
        """The player asks for these; whether any could be so."""
        accepted = take(self.at[node], events)
        self._happened.append(("corrected", node, accepted))
        return bool(accepted)

    def reread(self, proposals: Mapping[int, Events]) -> dict[int, Events]:
        """These narrations propose other events than they did; what of those is accepted."""
        self._readings |= proposals
        self.at = {1: {"entities": {}, "held": {}}}
        for what, node, rest in self._happened:
            if what == "grown":
                self.at[node] = deepcopy(self.at[rest])
                if node in proposals:
                    self._readings[node] = take(self.at[node], proposals[node])
                else:
                    take(self.at[node], self._readings.get(node, ()))
            elif what == "corrected" or node not in self._readings:
                take(self.at[node], rest)
        return {node: self._readings[node] for node in proposals}
