"""Stories and their settings."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, field_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from api.http.shapes.position import POSITION, PositionShape
from api.http.shapes.schema import as_tuple, change_with_examples, request_with_examples, with_examples
from domain.campaign.settings import CampaignSettings

OPENING_CHARACTERS = 200_000

_NEW: dict[str, Any] = {
    "title": "The far side",
    "opening": "The door at the end of the corridor has never been open before. Tonight it is.",
    "canon": ["Nobody has ever come back through the door."],
    "persona": {"name": "Ilse", "pronouns": "she/her", "description": "Patient, and a little deaf."},
}
_SETTINGS: dict[str, Any] = {
    **_NEW,
    "instructions": "",
    "plot_essentials": "",
    "authors_note": "",
    "front_memory": "",
    "narration_length": "",
    "memory_enabled": False,
    "summaries_enabled": False,
    "protagonist": "",
}
_TIMES = {"created_at": "2026-11-30T18:02:11.402113Z", "revised_at": "2026-11-30T18:02:11.402113Z"}
_ROW: dict[str, Any] = {
    "id": "c_k3v9m2x7qa",
    "title": "The far side",
    **_TIMES,
    "turns": 1,
    "nodes": 3,
    "played_at": "2026-11-30T18:03:40.119027Z",
}


class NewCampaign(CampaignSettings):
    """A story to be created. Everything has a default; the opening is node 1 and stays as it is."""

    model_config = request_with_examples(_NEW, {})

    opening: Annotated[
        str, Field(max_length=OPENING_CHARACTERS, description="How it begins: node 1, given once, when it is created.")
    ] = ""

    _canon_as_tuple = field_validator("canon", mode="before")(as_tuple)


def _refused(_: object) -> None:
    raise PydanticCustomError(
        "opening",
        "the opening cannot be changed; it is node 1 of the story (mend its text with PATCH …/nodes/1)",
    )


class CampaignChange(CampaignSettings):
    """The settings to change; what is absent stays. `opening` is not among them, and null is not a value of any."""

    model_config = change_with_examples({"authors_note": "Slow down; let the silence work."}, {"title": "Far side"})

    # Not described, since nothing is taken for it: it stands here to be refused with what can be done instead.
    opening: SkipJsonSchema[Annotated[None, BeforeValidator(_refused)]] = None

    _canon_as_tuple = field_validator("canon", mode="before")(as_tuple)


class CampaignShape(BaseModel):
    """A story, with what it was created with, as it is now."""

    model_config = with_examples(
        {"id": "c_k3v9m2x7qa", "title": "The far side", **_TIMES, "settings": _SETTINGS, "position": POSITION}
    )

    id: str
    title: str
    created_at: str
    revised_at: str
    settings: NewCampaign
    position: PositionShape


class CampaignRow(BaseModel):
    """A story in the list. `turns` counts accepted narrations, `nodes` every node with the opening."""

    model_config = with_examples(_ROW)

    id: str
    title: str
    created_at: str
    revised_at: str
    turns: int
    nodes: int
    played_at: str | None


class CampaignList(BaseModel):
    """Stories, newest first. `next` is what `after` takes for the following page; null at the end."""

    model_config = with_examples({"campaigns": [_ROW], "next": None})

    campaigns: list[CampaignRow]
    next: int | None


class Tombstone(BaseModel):
    """What is left of a deleted story: how many events it had, and the hash at its end."""

    model_config = with_examples(
        {
            "campaign": "c_k3v9m2x7qa",
            "title": "The far side",
            "events": 6,
            "head": "9f2c1d7b4e6a8035c1f0e2d4b6a89710325476981badcfe00123456789abcdef",
        }
    )

    campaign: str
    title: str
    events: int
    head: str
