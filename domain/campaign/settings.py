"""What a player sets for one story."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

SECTION_CHARACTERS = 16_000
"""The most characters that one section of the player's own text may hold."""

SectionText = Annotated[str, StringConstraints(max_length=SECTION_CHARACTERS)]
Name = Annotated[str, StringConstraints(max_length=200)]
NarrationLength = Literal["", "brief", "medium", "long"]


class Persona(BaseModel):
    """Whom the player plays."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name = ""
    pronouns: Name = ""
    description: SectionText = ""


class CampaignSettings(BaseModel):
    """The settings of a story, all but its opening, which is the first node and is never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Name = "Untitled"
    canon: tuple[SectionText, ...] = ()
    persona: Persona = Persona()
    instructions: SectionText = ""
    plot_essentials: SectionText = ""
    authors_note: SectionText = ""
    front_memory: SectionText = ""
    narration_length: NarrationLength = ""
    memory_enabled: bool = False
    summaries_enabled: bool = False
    protagonist: Name = ""


class CampaignRevision(BaseModel):
    """The settings that a revision names; the others stay."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Name | None = None
    canon: tuple[SectionText, ...] | None = None
    persona: Persona | None = None
    instructions: SectionText | None = None
    plot_essentials: SectionText | None = None
    authors_note: SectionText | None = None
    front_memory: SectionText | None = None
    narration_length: NarrationLength | None = None
    memory_enabled: bool | None = None
    summaries_enabled: bool | None = None
    protagonist: Name | None = None

    def applied_to(self, settings: CampaignSettings) -> CampaignSettings:
        """The settings as they are after this revision."""
        named = {field: value for field in type(self).model_fields if (value := getattr(self, field)) is not None}
        return settings.model_copy(update=named)
