"""How an entity looks, for whatever may draw it one day."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

DESCRIPTORS = 32
FEATURES = 32

Descriptor = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Look = Annotated[str, StringConstraints(max_length=300)]
StyleNotes = Annotated[str, StringConstraints(max_length=2000)]


class VisualProfile(BaseModel):
    """The look of one entity, in the player's words."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    descriptors: Annotated[
        dict[Descriptor, Look], Field(max_length=DESCRIPTORS, description="What it looks like, aspect by aspect.")
    ] = Field(default_factory=dict)
    features: Annotated[
        tuple[Look, ...], Field(max_length=FEATURES, description="What must be seen of it, piece by piece.")
    ] = ()
    style_notes: Annotated[StyleNotes, Field(description="How it should be drawn.")] = ""
