"""What a scene could be drawn from, and how entities look."""

from typing import Any

from pydantic import BaseModel

from api.http.shapes.schema import with_examples
from domain.narrative.scene_packet import ScenePacket
from domain.narrative.visual_profile import VisualProfile

_LOOK: dict[str, Any] = {
    "descriptors": {"hair": "grey, cropped", "coat": "long, oil-stained"},
    "features": ["a scar over the left eye"],
    "style_notes": "Lit from below.",
}
_PROFILE: dict[str, Any] = {"entity": "imani", "name": "Captain Imani", **_LOOK}
_CRYSTAL: dict[str, Any] = {"key": "crystal", "name": "The crystal", "type": "item", "visual_profile": None}


class VisualProfileRequest(VisualProfile):
    """How an entity looks. It takes the place of what was said before."""

    model_config = with_examples(_LOOK)


class VisualProfileShape(VisualProfile):
    """How an entity looks; `name` is null where there is no such entity at the head."""

    model_config = with_examples(_PROFILE)

    entity: str
    name: str | None


class VisualProfileList(BaseModel):
    """The visual profiles of a story."""

    model_config = with_examples({"visual_profiles": [_PROFILE]})

    visual_profiles: list[VisualProfileShape]


class ScenePacketShape(ScenePacket):
    """The scene at the node `at`. `scene_id` stays the same while summary, location and presence do."""

    model_config = with_examples(
        {
            "scene_id": "s_2f6c1f0a9d3be874",
            "summary": "Rain on the dome.",
            "location": {"key": "ceres", "name": "Ceres", "type": "location", "visual_profile": None},
            "characters": [
                {
                    "key": "imani",
                    "name": "Captain Imani",
                    "type": "character",
                    "visual_profile": _LOOK,
                    "status": "",
                    "holds": [_CRYSTAL],
                }
            ],
            "objects": [{**_CRYSTAL, "key": "lamp", "name": "Lamp", "status": "lit"}],
            "at": 3,
            "moment": 3,
        }
    )

    at: int
    moment: int
