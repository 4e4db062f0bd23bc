"""What a player sets for one story."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

SECTION_CHARACTERS = 16_000
"""The most characters that one section of the player's own text may hold."""

NO_EFFECT = "no release uses it yet"
"""Said of a setting that is kept with the story, for a release to come, and changes nothing that is sent."""

SectionText = Annotated[str, StringConstraints(max_length=SECTION_CHARACTERS)]
Name = Annotated[str, StringConstraints(max_length=200)]
NarrationLength = Literal["", "brief", "medium", "long"]


class Persona(BaseModel):
    """Whom the player plays."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[Name, Field(description="Their name.")] = ""
    pronouns: Annotated[Name, Field(description="Their pronouns, as in she/her.")] = ""
    description: Annotated[SectionText, Field(description="What they are like.")] = ""


class CampaignSettings(BaseModel):
    """The settings of a story, all but its opening, which is the first node and is never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Annotated[Name, Field(description="What the story is called.")] = "Untitled"
    canon: Annotated[tuple[SectionText, ...], Field(description="What is always true in it, piece by piece.")] = ()
    persona: Annotated[Persona, Field(description="Whom the player plays.")] = Persona()
    instructions: Annotated[SectionText, Field(description="How it is to be told.")] = ""
    plot_essentials: Annotated[SectionText, Field(description="What the narrator must keep in mind.")] = ""
    authors_note: Annotated[SectionText, Field(description="A note close to the newest words.")] = ""
    front_memory: Annotated[SectionText, Field(description="What stands right before the reply.")] = ""
    narration_length: Annotated[NarrationLength, Field(description=f"How long a narration should be; {NO_EFFECT}.")] = (
        ""
    )
    memory_enabled: Annotated[bool, Field(description=f"Whether scenes are remembered; {NO_EFFECT}.")] = False
    summaries_enabled: Annotated[bool, Field(description=f"Whether what is old is summed up; {NO_EFFECT}.")] = False
    protagonist: Annotated[Name, Field(description=f"Whom the story is about; {NO_EFFECT}.")] = ""


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
