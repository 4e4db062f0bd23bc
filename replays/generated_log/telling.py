"""Tells the turns of one story: what is sent, and what a narrator answers who is a list of words."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Literal

from domain.campaign.commands import (
    AcceptNarration,
    CampaignCommand,
    FailTurn,
    OpenRetry,
    OpenTurn,
    RecordPrompt,
    RequestCancel,
)
from domain.campaign.events import FailureStage
from domain.errors import (
    ContextOverflow,
    FabulaError,
    ModelReplyEmpty,
    ModelReplyIncomplete,
    ModelTimeout,
    ModelUnreachable,
    TurnCancelled,
    TurnInterrupted,
)
from domain.extraction.extractors import extract
from domain.installation import Settings
from domain.log import Execution
from domain.ports import IdSource, Usage
from domain.prompt.accounting import classify
from domain.prompt.events import Accounting, PromptSent
from replays.generated_log.blocks import below_the_prose
from replays.generated_log.chance import Dice
from replays.generated_log.prompts import Requests
from replays.generated_log.prose import Prose
from replays.generated_log.story import Story

Playing = Generator[CampaignCommand, Execution, None]
"""Commands, each answered with what it made happen."""

End = Literal["accepted", "unsent", "unreachable", "silent", "broken off", "empty", "cancelled", "interrupted", "late"]

NARRATION_WORDS = (60, 200)

_ENDS: Mapping[End, float] = {
    "accepted": 94,
    "unsent": 0.3,
    "unreachable": 1.2,
    "silent": 0.6,
    "broken off": 0.8,
    "empty": 0.3,
    "cancelled": 1.5,
    "interrupted": 0.9,
    "late": 0.4,
}
"""How turns end, of a hundred."""

_REASONS = 0.04
_REASONING_WORDS = (30, 80)
_EDGED = 0.08
_CUT_SHORT = 0.04
_UNCOUNTED = 0.02
_READ_OF_ESTIMATE = (92, 103)
_CHARACTERS_A_TOKEN = 4


@dataclass
class Installed:
    """What all stories of one installation share. The settings and the process change while they are played."""

    dice: Dice
    prose: Prose
    names: IdSource
    settings: Settings
    process: str


class Teller:
    """Tells one story. Whether a turn was accepted is seen in the story."""

    def __init__(self, story: Story, installed: Installed) -> None:
        self._story = story
        self._installed = installed
        self._dice = installed.dice
        self._requests = Requests(story)

    def ask(self, command: CampaignCommand) -> Playing:
        """Asks for something, and takes in what it makes happen."""
        execution = yield command
        for recorded in execution.events:
            self._story.goes_on(recorded)

    def turn(self, opening: OpenTurn | OpenRetry) -> Playing:
        """A turn from its opening to its end, whichever that is."""
        yield from self.ask(opening)
        end = self._dice.weighed(_ENDS)
        if end == "unsent":
            parts = {"narrator_prompt": 120, "canon": self._installed.settings.context_budget}
            error = ContextOverflow(parts, self._installed.settings.context_budget, window_binds=False)
            yield from self.ask(self._failure(opening, "prompt", error))
            return
        prompt = self._requests.next(self._installed.settings)
        yield from self.ask(RecordPrompt(opening.campaign, prompt))
        if end == "accepted":
            yield from self.ask(self._narration(opening, prompt))
        else:
            yield from self._without_narration(opening, prompt, end)

    def _without_narration(self, opening: OpenTurn | OpenRetry, prompt: PromptSent, end: End) -> Playing:
        turn, settings = opening.turn, self._installed.settings
        partial = self._installed.prose.told(20)
        match end:
            case "unreachable":
                error = ModelUnreachable(settings.endpoint, "connection refused")
                yield from self.ask(self._failure(opening, "model", error))
            case "silent":
                timeout = ModelTimeout(settings.model_timeout_seconds)
                yield from self.ask(self._failure(opening, "model", timeout))
            case "broken off":
                broken = ModelReplyIncomplete("the connection was closed")
                yield from self.ask(self._failure(opening, "model", broken, partial, self._account(prompt, partial)))
            case "empty":
                empty = ModelReplyEmpty("nothing but white space")
                yield from self.ask(self._failure(opening, "reply", empty, "\n", self._account(prompt, "\n")))
            case "cancelled":
                yield from self.ask(RequestCancel(opening.campaign, turn))
                yield from self.ask(self._failure(opening, "cancelled", TurnCancelled(turn), partial))
            case _:
                yield from self.ask(self._failure(opening, "interrupted", TurnInterrupted(turn)))
                if end == "late":
                    yield from self.ask(self._narration(opening, prompt))

    def _failure(
        self,
        opening: OpenTurn | OpenRetry,
        stage: FailureStage,
        error: FabulaError,
        partial: str = "",
        account: Accounting | None = None,
    ) -> FailTurn:
        return FailTurn(
            opening.campaign, opening.turn, stage, error.code, error.message, partial_reply=partial, accounting=account
        )

    def _narration(self, opening: OpenTurn | OpenRetry, prompt: PromptSent) -> AcceptNarration:
        dice, prose = self._dice, self._installed.prose
        told = prose.told(dice.whole(*NARRATION_WORDS)) + below_the_prose(dice, prose)
        raw = f"\n\n{told} \n" if dice.happens(_EDGED) else told
        return AcceptNarration(
            opening.campaign,
            opening.turn,
            raw_reply=raw,
            reasoning=prose.told(dice.whole(*_REASONING_WORDS)) if dice.happens(_REASONS) else "",
            extraction=extract(raw),
            finish_reason="length" if dice.happens(_CUT_SHORT) else "stop",
            accounting=self._account(prompt, raw),
        )

    def _account(self, prompt: PromptSent, reply: str) -> Accounting:
        read = prompt.tokens.total * self._dice.whole(*_READ_OF_ESTIMATE) // 100
        cached = int(read * (prompt.history.prefix_kept or 0))
        usage = Usage(read, 1 + len(reply) // _CHARACTERS_A_TOKEN, cached)
        counted = Usage() if self._dice.happens(_UNCOUNTED) else usage
        return classify(counted, prompt.tokens, window_verified=prompt.window.verified)
