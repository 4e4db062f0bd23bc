"""What shapes say about themselves beyond their fields."""

from typing import Any

from pydantic import ConfigDict

from domain.extraction.extractors import EXTRACTORS


def with_examples(*examples: dict[str, Any]) -> ConfigDict:
    """The configuration of a shape with these examples."""
    return ConfigDict(json_schema_extra={"examples": list(examples)})


def request_with_examples(*examples: dict[str, Any]) -> ConfigDict:
    """The configuration of a request's shape: nothing unknown, nothing converted."""
    return ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": list(examples)})


def change_with_examples(*examples: dict[str, Any]) -> ConfigDict:
    """The configuration of a change's shape: as a request's, and absent fields have no default since they stay."""

    def described(schema: dict[str, Any]) -> None:
        for property_schema in schema["properties"].values():
            property_schema.pop("default", None)
        schema["examples"] = list(examples)

    return ConfigDict(extra="forbid", strict=True, json_schema_extra=described)


def as_tuple(value: object) -> object:
    """A JSON array as the tuple that the domain's models hold; what is no array is left to be refused."""
    return tuple(value) if isinstance(value, list) else value


def as_integer(value: object) -> object:
    """A whole number as one: to JSON, 5.0 is 5. What is no whole number is left to be judged as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def an_extractor(*others: str) -> dict[str, Any]:
    """The description of a field that names a version of an extractor, or one of the others. What asks for it judges it."""
    return {"enum": [*others, *EXTRACTORS]}
