"""How the API describes itself: what every route may answer with, names of operations, who may ask."""

import re
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel

from api.http.problem_examples import EXAMPLE_OF
from api.http.problems import MEDIA_TYPE, STATUS_OF
from api.http.shapes import (
    adoption,
    audit,
    campaigns,
    installation,
    log,
    places,
    position,
    problem,
    replays,
    scenes,
    state,
    state_document,
    story,
    turns,
)
from api.http.shapes.problem import Problem

Responses = dict[int | str, dict[str, Any]]

EVENT_STREAM = "text/event-stream"

SHAPES: dict[str, type[BaseModel]] = {
    name: shape
    for module in (
        adoption,
        audit,
        campaigns,
        installation,
        log,
        places,
        position,
        problem,
        replays,
        scenes,
        state,
        state_document,
        story,
        turns,
    )
    for name, shape in vars(module).items()
    if isinstance(shape, type) and issubclass(shape, BaseModel) and shape.__module__ == module.__name__
}
"""Every shape of the API by its name."""

_ANYWHERE = (
    "bad_request",
    "host_not_allowed",
    "token_required",
    "origin_not_allowed",
    "unknown_path",
    "method_not_allowed",
    "too_large",
    "invalid",
    "internal_error",
    "store_unavailable",
    "store_newer",
)
"""What any route may answer with, whatever it does."""

WHEN_WRITING = ("store_full", "store_read_only")
"""What a route may answer with that writes to the log."""


def problem_responses(*codes: str) -> Responses:
    """The OpenAPI responses of a route that answers with these codes, and with those that any route may."""
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys((*codes, *_ANYWHERE)):
        by_status.setdefault(STATUS_OF[code], []).append(code)
    return {status: _problems(of_status) for status, of_status in sorted(by_status.items())}


def _problems(codes: list[str]) -> dict[str, Any]:
    examples = {code: {"summary": EXAMPLE_OF[code]["title"], "value": EXAMPLE_OF[code]} for code in codes}
    schema = {"$ref": f"#/components/schemas/{Problem.__name__}"}
    return {
        "description": "; ".join(f"`{code}`: {EXAMPLE_OF[code]['title']}" for code in codes),
        "content": {MEDIA_TYPE: {"schema": schema, "examples": examples}},
    }


def or_stream(description: str, example: str) -> Responses:
    """The 200 of a route that streams its answer when it is asked with `Accept: text/event-stream`."""
    stream = {"schema": {"type": "string"}, "example": example}
    return {200: {"description": description, "content": {EVENT_STREAM: stream}}}


def operation_id(route: APIRoute) -> str:
    """The function's name: each is unique, and a verb with its object."""
    return route.name


def _first_sentence(text: str) -> str:
    """Without its full stop, as a title stands."""
    return re.split(r"\.(?:\s|$)", " ".join(text.split()), maxsplit=1)[0]


class DescribedAPI(FastAPI):
    """FastAPI, whose description holds the problem, a sentence for each operation, and the token where one is needed."""

    token_needed = False

    def openapi(self) -> dict[str, Any]:
        """The description. Made once."""
        made = self.openapi_schema is not None
        schema = super().openapi()
        if not made:
            self._complete(schema)
        return schema

    def _complete(self, schema: dict[str, Any]) -> None:
        components = schema.setdefault("components", {})
        schemas = components.setdefault("schemas", {})
        schemas[Problem.__name__] = Problem.model_json_schema()
        for name in SHAPES.keys() & schemas.keys():  # FastAPI drops what is null, in examples too
            schemas[name]["examples"] = SHAPES[name].model_json_schema()["examples"]
        for operations in schema["paths"].values():
            for operation in operations.values():
                operation["summary"] = _first_sentence(operation["description"])
        if self.token_needed:
            components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{"token": []}]
