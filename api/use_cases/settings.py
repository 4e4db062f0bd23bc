"""The installation's settings: stored as events, with what the environment gives laid over them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapters.endpoint_policy import EndpointPolicy
from domain.errors import InvalidInput
from domain.extraction.extractors import EXTRACTORS
from domain.installation import Settings, SettingsInForce
from domain.log import EventLog
from domain.prompt.texts import NARRATOR_PROMPT


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

    def in_force(self) -> SettingsInForce:
        """The settings that the next turn is taken with; what is empty there is filled with what it stands for."""
        stored = self._log.settings()
        given = {name: value for name, value in self._given.items() if stored.set_at.get(name, 0) <= self._since}
        return self._filled(stored.settings.model_copy(update=given))

    def _filled(self, settings: Settings) -> SettingsInForce:
        """With what an empty setting stands for. The small narrator's model is only the default of its own endpoint."""
        ours = {} if settings.endpoint else {"endpoint": self._defaults.endpoint}
        if ours and not settings.model:
            ours["model"] = self._defaults.model
        if not settings.narrator_prompt.strip():
            ours["narrator_prompt"] = NARRATOR_PROMPT
        filled = settings.model_copy(update=ours)
        return SettingsInForce(**dict(filled), public_endpoint=self._policy.is_public(filled.endpoint))

    def change(self, changes: Mapping[str, Any], *, replaced_surrogates: int = 0) -> SettingsInForce:
        """Stores the fields and answers with what is in force. Raises InvalidInput, EndpointRefused, StoreFailure."""
        extractor = changes.get("extractor")
        if isinstance(extractor, str) and extractor not in EXTRACTORS:
            raise InvalidInput({"extractor": f"there is no extractor {extractor!r}; there are {', '.join(EXTRACTORS)}"})
        endpoint = changes.get("endpoint")
        if isinstance(endpoint, str) and endpoint:
            self._policy.check(endpoint)
        self._log.change_settings(changes, replaced_surrogates=replaced_surrogates)
        self._given = {name: value for name, value in self._given.items() if name not in changes}
        return self.in_force()
