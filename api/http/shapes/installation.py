"""The installation: settings, views, health."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, field_validator

from api.http.shapes.schema import an_extractor, as_integer, as_tuple, change_with_examples, with_examples
from domain.installation import Settings, SettingsInForce
from domain.prompt.events import Window

_SETTINGS: dict[str, Any] = {
    "endpoint": "http://127.0.0.1:11434/v1",
    "model": "llama3.2",
    "mode": "chat",
    "temperature": 0.8,
    "top_p": None,
    "seed": None,
    "stop": [],
    "max_output_tokens": 400,
    "context_budget": 16384,
    "context_window_override": None,
    "model_timeout_seconds": 300,
    "embedding_model": "",
    "summary_model": "",
    "memory_top_k": 5,
    "memory_bank_capacity": None,
    "low_water_percent": 60,
    "extractor": "2",
    "state_pass": False,
    "narrator_prompt": "",
}
_WINDOW: dict[str, Any] = {
    "tokens": None,
    "source": "unknown",
    "verified": False,
    "enforceable": False,
    "model_max": None,
    "reachable": True,
    "detail": "The server does not say how much it reads.",
}
_PROJECTION: dict[str, Any] = {
    "name": "story",
    "version": 1,
    "position": 4211,
    "lag": 0,
    "state": "current",
    "error": None,
    "parked_at": None,
    "rebuilding": None,
}
_BUILD: dict[str, Any] = {
    "position": 120_000,
    "target": 200_000,
    "events_per_second": 61_000.5,
    "seconds_left": 1.3,
    "parked_at": None,
    "error": None,
}
_DIFFERENCE: dict[str, Any] = {
    "table": "node",
    "key": {"campaign": "c_k3v9m2x7qa", "node": 3},
    "position": 4211,
    "stored": {"text": "It rains."},
    "rebuilt": {"text": "It rained."},
}


class SettingsChange(Settings):
    """Any of the settings; what is absent stays, null clears an optional one."""

    model_config = change_with_examples(
        {"endpoint": "http://127.0.0.1:11434/v1", "model": "llama3.2"}, {"top_p": None, "stop": ["\n\n\n"]}
    )

    extractor: Annotated[
        str, Field(description=Settings.model_fields["extractor"].description, json_schema_extra=an_extractor())
    ] = Settings.model_fields["extractor"].default

    public_endpoint: Annotated[
        bool | None,
        Field(
            description="As the settings say it, or absent: the environment decides it, and it cannot be set.",
            json_schema_extra={"readOnly": True},
        ),
    ] = None

    _whole_numbers = field_validator("*", mode="before")(as_integer)
    _stop_as_tuple = field_validator("stop", mode="before")(as_tuple)


class SettingsShape(SettingsInForce):
    """The settings in force: as stored, with what the environment or a flag gave laid over them.

    `public_endpoint` cannot be set; the environment decides it.
    """

    model_config = with_examples(_SETTINGS | {"public_endpoint": False})


class SettingsTest(BaseModel):
    """What the configured server offers. `detail` says what to do about what is missing."""

    model_config = with_examples(
        {
            "endpoint": "http://127.0.0.1:11434/v1",
            "public_endpoint": False,
            "model": "llama3.2",
            "reachable": True,
            "models": ["llama3.2"],
            "model_listed": True,
            "window": _WINDOW,
            "detail": "The server answers.",
        }
    )

    endpoint: str
    public_endpoint: bool
    model: str
    reachable: bool
    models: list[str]
    model_listed: bool
    window: Window
    detail: str


class BuildShape(BaseModel):
    """A build beside the one that serves, on its way to the position `target`."""

    model_config = with_examples(_BUILD)

    position: int
    target: int
    events_per_second: float | None
    seconds_left: float | None
    parked_at: int | None
    error: str | None


class ProjectionShape(BaseModel):
    """A view: how far it has come. `lag` is the number of positions it has yet to pass.

    `state`: `current`; `behind`; `rebuilding` while nothing complete serves; `parked` at an event that it cannot take in,
    `parked_at`; `failed`, kept from going on by something else and tried again. `error` is what was raised. `rebuilding` is
    a build beside the one that serves, if there is one.
    """

    model_config = with_examples(_PROJECTION, {**_PROJECTION, "rebuilding": _BUILD})

    name: str
    version: int
    position: int
    lag: int
    state: Literal["current", "behind", "rebuilding", "parked", "failed"]
    error: str | None
    parked_at: int | None
    rebuilding: BuildShape | None


class RowDifference(BaseModel):
    """The first row that is not what the log makes of it: both sides' differing columns, null where there is no such row."""

    model_config = with_examples(_DIFFERENCE)

    table: str
    key: dict[str, Any]
    position: int
    stored: dict[str, Any] | None
    rebuilt: dict[str, Any] | None


class ProjectionCheck(BaseModel):
    """Whether a view is what the log makes of it, up to `position`; a view that is parked has come no further."""

    model_config = with_examples(
        {"name": "story", "ok": True, "position": 4211, "parked_at": None, "difference": None},
        {"name": "story", "ok": False, "position": 4211, "parked_at": None, "difference": _DIFFERENCE},
    )

    name: str
    ok: bool
    position: int
    parked_at: int | None
    difference: RowDifference | None


class ProjectionList(BaseModel):
    """All views."""

    model_config = with_examples({"projections": [_PROJECTION]})

    projections: list[ProjectionShape]


class HealthShape(BaseModel):
    """Whether the program can be used now. `position` is that of the newest event; `detail` says what to do, if anything.

    `public_endpoint`: stories are told at an endpoint that the environment allows although it is public.
    """

    model_config = with_examples(
        {
            "status": "ready",
            "version": "0.1.0",
            "position": 4211,
            "public_endpoint": False,
            "projections": [_PROJECTION],
            "detail": "Everything is up to date.",
        }
    )

    status: Literal["ready", "catching_up"]
    version: str
    position: int
    public_endpoint: bool
    projections: list[ProjectionShape]
    detail: str
