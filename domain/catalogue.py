"""Every event that a log may hold, in one list."""

from domain.campaign.events import (
    BranchNamed,
    CampaignDeleted,
    CampaignRevised,
    CampaignStarted,
    CancelRequested,
    HeadMoved,
    NarrationAccepted,
    NodeRevised,
    PlayerActed,
    SavePointRemoved,
    SavePointSet,
    TextCorrected,
    TurnFailed,
    TurnOpened,
)
from domain.event import DomainEvent, EventCatalogue
from domain.installation import SettingsChanged
from domain.narrative.events import (
    ExtractorAdopted,
    NarrationReread,
    ProposalJudged,
    StateCorrected,
    VisualProfileSet,
)
from domain.prompt.events import PromptSent, ReplyAccounted

EVENTS: tuple[type[DomainEvent], ...] = (
    CampaignStarted,
    CampaignRevised,
    CampaignDeleted,
    TurnOpened,
    PlayerActed,
    NarrationAccepted,
    TurnFailed,
    CancelRequested,
    NodeRevised,
    TextCorrected,
    HeadMoved,
    SavePointSet,
    SavePointRemoved,
    BranchNamed,
    ProposalJudged,
    StateCorrected,
    VisualProfileSet,
    NarrationReread,
    ExtractorAdopted,
    PromptSent,
    ReplyAccounted,
    SettingsChanged,
)


def catalogue() -> EventCatalogue:
    """The allow-list of this version of Fabula, with the way up from every older schema."""
    return EventCatalogue(EVENTS)
