"""How entities look: said by the player, for whatever may draw them one day."""

from typing import Any

from domain.campaign.commands import SetVisualProfile
from domain.errors import InvalidInput
from domain.log import EventLog
from domain.narrative.document import Document
from domain.narrative.visual_profile import VisualProfile


def visual_profiles_answer(log: EventLog, campaign: str) -> dict[str, Any]:
    """The profiles of a story, whichever line their entities are on. Raises UnknownCampaign."""
    document = _at_head(log, campaign)
    profiles = log.visual_profiles(campaign)
    return {"visual_profiles": [_profile(document, entity, profile) for entity, profile in profiles.items()]}


def visual_profile_answer(log: EventLog, campaign: str, entity: str) -> dict[str, Any]:
    """How one entity looks; of one that nothing is said of, an empty profile.

    Raises UnknownCampaign, and InvalidInput for what neither is an entity at the head nor has a profile.
    """
    document, profiles = _at_head(log, campaign), log.visual_profiles(campaign)
    if entity not in profiles:
        _check_there_is(document, entity)
    return _profile(document, entity, profiles.get(entity, VisualProfile()))


def set_visual_profile(
    log: EventLog, campaign: str, entity: str, profile: VisualProfile, *, replaced_surrogates: int = 0
) -> dict[str, Any]:
    """Says how an entity looks, on every line. Raises UnknownCampaign, and InvalidInput for what is none at the head."""
    document = _at_head(log, campaign)
    _check_there_is(document, entity)
    log.execute(SetVisualProfile(campaign, entity, profile, replaced_surrogates))
    return _profile(document, entity, profile)


def _at_head(log: EventLog, campaign: str) -> Document:
    return log.state(campaign, log.campaign(campaign).head)


def _check_there_is(document: Document, entity: str) -> None:
    if entity not in document.entities:
        raise InvalidInput(
            {
                "entity": f"there is no entity {entity!r} where the story stands; the state lists those there are, and "
                "a correction with `create_entity` makes one"
            }
        )


def _profile(document: Document, entity: str, profile: VisualProfile) -> dict[str, Any]:
    """`name` is None for an entity that is not there at the head."""
    known = document.entities.get(entity)
    return {"entity": entity, "name": known.name if known else None, **profile.model_dump(mode="json")}
