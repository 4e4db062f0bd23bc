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

    endpoint: Annotated[
        str,
        Field(max_length=2048, description="The model server's OpenAI-compatible address; empty: the small narrator."),
    ] = ""
    model: Annotated[ModelName, Field(description="The model to ask for; empty: the first that the server offers.")] = (
        ""
    )
    mode: Annotated[
        Literal["chat", "completion"], Field(description="Whether the prompt is sent as messages or as one text.")
    ] = "chat"
    temperature: Annotated[
        float, Field(ge=0, le=5, allow_inf_nan=False, description="How freely words are chosen.")
    ] = 0.8
    top_p: Annotated[
        Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None,
        Field(description="The share of probability that words are chosen from."),
    ] = None
    seed: Annotated[
        Annotated[int, Field(ge=0, le=2**32 - 1)] | None, Field(description="Makes a server's choices repeatable.")
    ] = None
    stop: Annotated[
        tuple[Annotated[str, StringConstraints(min_length=1, max_length=200)], ...],
        Field(max_length=16, description="Texts at which a narration ends."),
    ] = ()
    max_output_tokens: Annotated[int, Field(ge=16, le=32_768, description="The longest narration, in tokens.")] = 400
    context_budget: Annotated[
        int, Field(ge=512, le=2_000_000, description="The most tokens for prompt and narration together.")
    ] = 16_384
    context_window_override: Annotated[
        Annotated[int, Field(ge=256, le=200_000)] | None,
        Field(description="How much the server reads, in tokens, where it does not say so itself."),
    ] = None
    model_timeout_seconds: Annotated[
        int, Field(ge=30, le=3_600, description="How long the model server may say nothing.")
    ] = 300
    extractor: Annotated[
        Annotated[str, StringConstraints(min_length=1, max_length=16)],
        Field(description="Which version of the extractor reads new narrations, where a story has adopted no other."),
    ] = "2"
    state_pass: Annotated[
        bool,
        Field(
            description="Whether a second, short request after each narration asks for the state block alone, where the "
            "narration has none that can be used."
        ),
    ] = False
    embedding_model: Annotated[ModelName, Field(description="The model for embeddings; no release uses it yet.")] = ""
    summary_model: Annotated[ModelName, Field(description="The model for summaries; no release uses it yet.")] = ""
    memory_top_k: Annotated[
        int, Field(ge=0, le=100, description="How many memories a prompt holds; no release uses it yet.")
    ] = 5
    memory_bank_capacity: Annotated[
        Annotated[int, Field(ge=1, le=1_000_000)] | None,
        Field(description="How many memories are kept; no release uses it yet."),
    ] = None
    low_water_percent: Annotated[
        int, Field(ge=10, le=95, description="How full of history a prompt is after its oldest part was given up.")
    ] = 60
    narrator_prompt: Annotated[
        str,
        Field(max_length=NARRATOR_PROMPT_CHARACTERS, description="The rules of narration; empty: those of Fabula."),
    ] = ""


class SettingsInForce(Settings):
    """The settings that count now. What is here besides them cannot be set: it was found out about them."""

    public_endpoint: Annotated[
        bool, Field(description="Whether the endpoint is one that the environment allows although it is public.")
    ] = False


class SettingsChanged(DomainEvent):
    """The player changed settings of the installation. Holds the fields that changed, with their new values."""

    topic: ClassVar = "settings.changed"

    changes: dict[str, Any]
    replaced_surrogates: int = 0
