"""Given these events, when this is asked, then those follow, or a refusal; and stories to begin with."""

from dataclasses import dataclass
from functools import reduce

import pytest

from domain.campaign.commands import CampaignCommand
from domain.campaign.decide import decide
from domain.campaign.facts import CampaignFacts, StoryEvent, evolve
from domain.campaign.story_tree import looked_ahead
from domain.errors import FabulaError
from tests.fakes.sample_story import CAMPAIGN, acted, failed, opened, started, told


@dataclass(frozen=True)
class Asked:
    """A command, asked of a story."""

    facts: CampaignFacts
    command: CampaignCommand

    def then(self, *events: StoryEvent) -> None:
        assert self.decided() == events

    def then_nothing(self) -> None:
        assert self.decided() == ()

    def then_refused(self, refusal: type[FabulaError], **fields: object) -> None:
        with pytest.raises(FabulaError) as refused:
            self.decided()
        assert type(refused.value) is refusal
        assert refused.value.fields.items() >= fields.items()

    def decided(self) -> tuple[StoryEvent, ...]:
        return decide(looked_ahead(self.facts, self.command), self.command)


@dataclass(frozen=True)
class Given:
    """A story as its events have made it."""

    facts: CampaignFacts

    def when(self, command: CampaignCommand) -> Asked:
        return Asked(self.facts, command)


def given(*events: StoryEvent) -> Given:
    return Given(reduce(evolve, events, CampaignFacts(CAMPAIGN)))


START = (started(),)
"""The opening alone."""

TELLING = (*START, opened("t_1", parent=2), acted("t_1", 2, parent=1, at=(1, 2), text="Climb the stairs."))
"""The first turn, still being told."""

TOLD = (*TELLING, *told("t_1", 3, parent=2, at=(1, 3), text="The stairs creak."))
"""The first turn, told: opening, action 2, narration 3."""

UNTOLD = (*TELLING, failed("t_1"))
"""The first turn failed: its action 2 is the head."""

INTERRUPTED = (*TELLING, failed("t_1", "interrupted"))
"""The first turn was closed because its process died."""

RETRYING = (*TOLD, opened("t_2", parent=2, operation="retry", retry_of=3))
"""Another take of narration 3 is being told."""

TWO_TAKES = (*RETRYING, *told("t_2", 4, parent=2, at=(2, 3), text="The stairs hold.", retry_of=3))
"""Two takes of the first turn, the second one the head."""

TWO_TURNS = (
    *TOLD,
    opened("t_2", parent=4),
    acted("t_2", 4, parent=3, at=(1, 4), text="Light the lamp."),
    *told("t_2", 5, parent=4, at=(1, 5), text="It burns."),
)
"""Two turns, told: opening, action 2, narration 3, action 4, narration 5."""
