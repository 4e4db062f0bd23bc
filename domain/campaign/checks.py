"""What several decisions check first."""

from domain.campaign.facts import CampaignFacts, NodeFacts
from domain.campaign.settings import CampaignSettings
from domain.errors import InvalidInput, TurnInProgress, UnknownCampaign, UnknownNode


def started(facts: CampaignFacts) -> CampaignSettings:
    """The story's settings. Raises UnknownCampaign for one that was never started."""
    if facts.settings is None:
        raise UnknownCampaign(facts.campaign)
    return facts.settings


def not_during_a_turn(facts: CampaignFacts) -> None:
    """Raises TurnInProgress while a turn runs: it would be told from another place than it was asked at."""
    if facts.open_turn is not None:
        raise TurnInProgress(facts.campaign, facts.open_turn)


def known_node(facts: CampaignFacts, node: int) -> NodeFacts:
    """The node. Raises UnknownNode."""
    found = facts.nodes.get(node)
    if found is None:
        raise UnknownNode(facts.campaign, node)
    return found


def some_text(text: str) -> None:
    """Raises InvalidInput for a text of nothing but white space."""
    if not text.strip():
        raise InvalidInput({"text": "it needs some text"})
