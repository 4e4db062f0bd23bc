"""The installation: the settings that hold for every story, in a stream of their own."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from domain.event import DomainEvent

INSTALLATION_STREAM = "installation"

ModelName = Annotated[str, StringConstraints(max_length=512)]
NARRATOR_PROMPT_CHARACTERS = 16_000


class Settings(BaseModel):
    """The installation's settings. Tokens for budgets, seconds for time-outs. Secrets are never among them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: Annotated[str, StringConstraints(max_length=2048)] = ""
    model: ModelName = ""
    mode: Literal["chat", "completion"] = "chat"
    temperature: Annotated[float, Field(ge=0, le=5, allow_inf_nan=False)] = 0.8
    top_p: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] | None = None
    stop: Annotated[
        tuple[Annotated[str, StringConstraints(min_length=1, max_length=200)], ...], Field(max_length=16)
    ] = ()
    max_output_tokens: Annotated[int, Field(ge=16, le=32_768)] = 400
    context_budget: Annotated[int, Field(ge=512, le=2_000_000)] = 16_384
    context_window_override: Annotated[int, Field(ge=256, le=200_000)] | None = None
    model_timeout_seconds: Annotated[int, Field(ge=30, le=3_600)] = 300
    embedding_model: ModelName = ""
    summary_model: ModelName = ""
    memory_top_k: Annotated[int, Field(ge=0, le=100)] = 5
    memory_bank_capacity: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    low_water_percent: Annotated[int, Field(ge=10, le=95)] = 60
    narrator_prompt: Annotated[str, StringConstraints(max_length=NARRATOR_PROMPT_CHARACTERS)] = ""


class SettingsChanged(DomainEvent):
    """The player changed settings of the installation. Holds the fields that changed, with their new values."""

    topic: ClassVar = "settings.changed"

    changes: dict[str, Any]
