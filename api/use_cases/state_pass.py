"""The second request of a turn: the block alone, asked for after a narration that brought none that can be used."""

from contextlib import aclosing

import structlog

from api.use_cases.prompting import Prepared, Prompter
from api.use_cases.waiting import aside
from domain.campaign.commands import RecordPrompt, StatePass
from domain.campaign.facts import TurnFacts
from domain.errors import FabulaError, ModelRefused
from domain.extraction.extractors import proposal_in
from domain.installation import SettingsInForce
from domain.log import EventLog
from domain.ports import Ended, Narrator, NarratorRequest, Usage
from domain.prompt.accounting import classify
from domain.prompt.events import Window

_log = structlog.get_logger(__name__)


class StatePasses:
    """Asks for blocks. Whatever goes wrong here costs the block, never the narration."""

    def __init__(self, log: EventLog, narrator: Narrator, prompter: Prompter) -> None:
        self._log = log
        self._narrator = narrator
        self._prompter = prompter

    async def ask(
        self, campaign: str, turn: TurnFacts, prose: str, settings: SettingsInForce, window: Window
    ) -> StatePass:
        """What the model answers, held to the schema; asked without it where the server refuses that."""
        try:
            try:
                return await self._asked(campaign, turn, prose, settings, window, constrained=True)
            except ModelRefused:
                return await self._asked(campaign, turn, prose, settings, window, constrained=False)
        except FabulaError as error:
            _log.warning("state_pass_failed", campaign=campaign, turn=turn.turn, error=error.code)
            return StatePass(error=error.message)

    async def _asked(
        self,
        campaign: str,
        turn: TurnFacts,
        prose: str,
        settings: SettingsInForce,
        window: Window,
        *,
        constrained: bool,
    ) -> StatePass:
        prepared = await aside(
            lambda: self._prompter.prepare_pass(campaign, turn, prose, settings, window, constrained=constrained)
        )
        await aside(self._log.execute, RecordPrompt(campaign, prepared.event))
        text, usage = await self._heard(prepared, settings)
        account = classify(usage, prepared.event.tokens, window_verified=window.verified)
        return StatePass(proposal_in(text), text, accounting=account)

    async def _heard(self, prepared: Prepared, settings: SettingsInForce) -> tuple[str, Usage]:
        request = NarratorRequest(
            settings.endpoint, settings.mode, prepared.body, float(settings.model_timeout_seconds)
        )
        text, usage = [], Usage()
        async with aclosing(self._narrator.stream(request)) as stream:  # type: ignore[type-var]  # an async generator
            async for piece in stream:
                if isinstance(piece, Ended):
                    usage = piece.usage
                else:
                    text.append(piece.text)
        return "".join(text), usage
