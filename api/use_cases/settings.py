"""The installation's settings: stored as events, with what the environment gives laid over them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapters.endpoint_policy import EndpointPolicy
from domain.installation import Settings
from domain.log import EventLog


@dataclass(frozen=True)
class Defaults:
    """What is in force where nothing is stored: the small narrator."""

    endpoint: str
    model: str


class InstallationSettings:
    """Reads and changes the settings in force.

    What the environment or a flag gave counts until that field is next changed, by this process or another: whoever
    spoke last is obeyed.
    """

    def __init__(self, log: EventLog, policy: EndpointPolicy, given: Mapping[str, str], defaults: Defaults) -> None:
        self._log = log
        self._policy = policy
        self._given = {name: value for name, value in given.items() if value}
        self._since = log.max_position()
        self._defaults = defaults

    def in_force(self) -> Settings:
        """The settings that the next turn is taken with; the endpoint and model are never empty for the narrator."""
        stored = self._log.settings()
        given = {name: value for name, value in self._given.items() if stored.set_at.get(name, 0) <= self._since}
        settings = stored.settings.model_copy(update=given)
        if settings.endpoint:
            return settings
        return settings.model_copy(
            update={"endpoint": self._defaults.endpoint, "model": settings.model or self._defaults.model}
        )

    def change(self, changes: Mapping[str, Any]) -> Settings:
        """Stores the fields and answers with what is in force. Raises InvalidInput, EndpointRefused, StoreFailure."""
        endpoint = changes.get("endpoint")
        if isinstance(endpoint, str) and endpoint:
            self._policy.check(endpoint)
        self._log.change_settings(changes)
        self._given = {name: value for name, value in self._given.items() if name not in changes}
        return self.in_force()
