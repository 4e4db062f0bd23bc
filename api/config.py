"""What the environment decides: where the store is, which port, which secrets. Each has a default that works."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import platformdirs
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from domain.errors import NotAcceptable

DEFAULT_PORT = 8420
DEFAULT_NARRATOR_PORT = 8421


def _in_lower_case(given: object) -> object:
    return given.lower() if isinstance(given, str) else given


def _naming_each(hosts: str) -> str:
    """The hosts. Refuses a pattern: requests are compared with names, and one that let any host in would guard nothing."""
    if "*" in hosts:
        raise PydanticCustomError("pattern", "name each host; * is not understood")
    return hosts


def _of_a_database(url: SecretStr) -> SecretStr:
    """The URL. Refuses what is none of a PostgreSQL database, without repeating it: it may hold a password."""
    if url.get_secret_value():
        from adapters.postgresql import PostgresqlDatabase

        try:
            PostgresqlDatabase(url.get_secret_value())
        except ValueError as error:
            raise PydanticCustomError("database_url", str(error)) from None
    return url


def _listed(endpoints: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, endpoints.split(","))))


def _fit_to_be_allowed(endpoints: str) -> str:
    """The endpoints. Refuses one that is no URL, or that leads where nothing may."""
    if not _listed(endpoints):
        return endpoints
    from adapters.endpoint_policy import refusal_of_public, shown  # httpx, which most commands do without

    for endpoint in _listed(endpoints):
        why = refusal_of_public(endpoint)
        if why is not None:
            problem = "{endpoint} cannot be allowed: {why}; name each by its exact URL, separated by commas"
            raise PydanticCustomError("endpoint", problem, {"endpoint": repr(shown(endpoint)), "why": why})
    return endpoints


class Config(BaseSettings):
    """Read from `FABULA_…` variables. Secrets live here and nowhere else: never in an event, a log line or an answer.

    A variable that is empty counts as not set.
    """

    model_config = SettingsConfigDict(
        env_prefix="FABULA_", env_ignore_empty=True, frozen=True, extra="ignore", hide_input_in_errors=True
    )

    home: Annotated[
        Path, Field(description="The data directory. The default is the platform's place for user data.")
    ] = Field(default_factory=lambda: Path(platformdirs.user_data_dir("fabula", appauthor=False)))
    database_url: Annotated[
        SecretStr,
        AfterValidator(_of_a_database),
        Field(
            description="A PostgreSQL database to keep the store in, in place of the data directory: "
            "postgresql://user:password@host:5432/database."
        ),
    ] = SecretStr("")
    host: Annotated[str, Field(description="The address to listen on. Anything but loopback needs FABULA_TOKEN.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Field(ge=0, le=65535, description="The port to listen on.")] = DEFAULT_PORT
    endpoint: Annotated[
        str,
        Field(max_length=2048, description="The model server, in force over the stored setting until that is changed."),
    ] = ""
    model: Annotated[
        str,
        Field(max_length=512, description="The model's name, in force over the stored setting until that is changed."),
    ] = ""
    api_key: Annotated[
        SecretStr, Field(description="The model server's key, sent as a bearer token and never stored.")
    ] = SecretStr("")
    public_endpoint: Annotated[
        str,
        AfterValidator(_fit_to_be_allowed),
        Field(
            description="Model servers on the internet that may be asked all the same, each by its exact URL, separated by "
            "commas. What a story holds is sent there."
        ),
    ] = ""
    token: Annotated[SecretStr, Field(description="When set, every request to the API needs it as a bearer token.")] = (
        SecretStr("")
    )
    allowed_hosts: Annotated[
        str,
        AfterValidator(_naming_each),
        Field(description="Host names besides loopback that requests may name, separated by commas."),
    ] = ""
    narrator: Annotated[bool, Field(description="Whether to start the small narrator when it is the endpoint.")] = True
    narrator_port: Annotated[int, Field(ge=1, le=65535, description="The small narrator's port.")] = (
        DEFAULT_NARRATOR_PORT
    )
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        BeforeValidator(_in_lower_case),
        Field(description="How much is logged, to standard error: debug, info, warning or error."),
    ] = "info"

    @property
    def public_endpoints(self) -> frozenset[str]:
        """The endpoints that are allowed although they are public."""
        return frozenset(_listed(self.public_endpoint))


def read_config(given: Mapping[str, object | None], **more: object | None) -> Config:
    """The configuration: what was given on the command line, else the environment, else the default.

    Raises BadEnvironment when a variable cannot be what it says.
    """
    named = {name: value for name, value in {**given, **more}.items() if value is not None}
    try:
        return Config(**named)  # type: ignore[arg-type]  # checked by the model itself
    except ValidationError as error:
        raise BadEnvironment({str(one["loc"][0]): one["msg"] for one in error.errors()}) from error


class BadEnvironment(NotAcceptable):
    code = "invalid"
    title = "The configuration is not valid"

    def __init__(self, problems: Mapping[str, str]) -> None:
        listed = "; ".join(f"FABULA_{name.upper()}: {problem}" for name, problem in problems.items())
        super().__init__(f"{listed}. README lists the variables.", problems=dict(problems))
