"""The description of the API: complete, with examples that are true, and valid."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from fastapi.routing import APIRoute
from schemathesis.specs.openapi.definitions import OPENAPI_31

from api.config import Config
from api.http.app import create_app
from api.http.openapi import SHAPES
from api.http.problems import MEDIA_TYPE, STATUS_OF
from domain.narrative.vocabulary import VOCABULARY

DESCRIPTION: dict[str, Any] = create_app(Config(home=Path("unused"))).openapi()
METHODS = ("get", "put", "post", "delete", "patch")
OPERATIONS: dict[str, dict[str, Any]] = {
    f"{method.upper()} {path}": operation
    for path, methods in DESCRIPTION["paths"].items()
    for method, operation in methods.items()
}
CONTRACT = {
    "create_campaign": "POST /api/campaigns",
    "list_campaigns": "GET /api/campaigns",
    "read_campaign": "GET /api/campaigns/{campaign}",
    "change_campaign": "PATCH /api/campaigns/{campaign}",
    "delete_campaign": "DELETE /api/campaigns/{campaign}",
    "read_position": "GET /api/campaigns/{campaign}/position",
    "take_turn": "POST /api/campaigns/{campaign}/turns",
    "retry_turn": "POST /api/campaigns/{campaign}/retry",
    "cancel_turn": "POST /api/campaigns/{campaign}/turns/{turn}/cancel",
    "read_story": "GET /api/campaigns/{campaign}/story",
    "undo": "POST /api/campaigns/{campaign}/undo",
    "redo": "POST /api/campaigns/{campaign}/redo",
    "move_head": "POST /api/campaigns/{campaign}/head",
    "revise_node": "POST /api/campaigns/{campaign}/nodes/{node}/revise",
    "correct_node": "PATCH /api/campaigns/{campaign}/nodes/{node}",
    "list_save_points": "GET /api/campaigns/{campaign}/save-points",
    "set_save_point": "POST /api/campaigns/{campaign}/save-points",
    "remove_save_point": "DELETE /api/campaigns/{campaign}/save-points/{save_point}",
    "name_branch": "PUT /api/campaigns/{campaign}/branches/{branch}",
    "read_tree": "GET /api/campaigns/{campaign}/tree",
    "compare_places": "GET /api/campaigns/{campaign}/diff",
    "read_state": "GET /api/campaigns/{campaign}/state",
    "correct_state": "POST /api/campaigns/{campaign}/state/corrections",
    "explain_state": "GET /api/campaigns/{campaign}/state/why",
    "read_state_history": "GET /api/campaigns/{campaign}/state/history",
    "list_proposals": "GET /api/campaigns/{campaign}/state/proposals",
    "read_scene_packet": "GET /api/campaigns/{campaign}/scene-packet",
    "list_visual_profiles": "GET /api/campaigns/{campaign}/visual-profiles",
    "read_visual_profile": "GET /api/campaigns/{campaign}/visual-profiles/{entity}",
    "set_visual_profile": "PUT /api/campaigns/{campaign}/visual-profiles/{entity}",
    "read_prompt": "GET /api/campaigns/{campaign}/turns/{turn}/prompt",
    "read_request": "GET /api/campaigns/{campaign}/turns/{turn}/request",
    "read_reply": "GET /api/campaigns/{campaign}/turns/{turn}/reply",
    "read_prompt_of_node": "GET /api/campaigns/{campaign}/nodes/{node}/prompt",
    "read_request_of_node": "GET /api/campaigns/{campaign}/nodes/{node}/request",
    "read_reply_of_node": "GET /api/campaigns/{campaign}/nodes/{node}/reply",
    "read_events": "GET /api/campaigns/{campaign}/events",
    "verify_campaign": "GET /api/campaigns/{campaign}/verify",
    "read_settings": "GET /api/settings",
    "change_settings": "PATCH /api/settings",
    "check_settings": "POST /api/settings/test",
    "list_projections": "GET /api/projections",
    "rebuild_projection": "POST /api/projections/{name}/rebuild",
    "read_health": "GET /api/health",
}
"""Names that programs may have generated clients from: a new operation gets a new one, an old one keeps its own."""


def _contents() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every body that goes in or out: where, its media type, and what is said about it."""
    for name, operation in OPERATIONS.items():
        for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
            yield f"{name} request", media_type, content
        for status, response in operation["responses"].items():
            for media_type, content in response.get("content", {}).items():
                yield f"{name} {status}", media_type, content


CONTENTS = list(_contents())


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = DESCRIPTION["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def _examples(content: dict[str, Any]) -> list[Any]:
    """Those at the body itself, and those of its schema."""
    beside = [example["value"] for example in content.get("examples", {}).values()]
    own = [content["example"]] if "example" in content else []
    return [*beside, *own, *_resolved(content["schema"]).get("examples", [])]


def _validator(schema: dict[str, Any]) -> jsonschema_rs.Validator:
    return jsonschema_rs.Draft202012Validator({**schema, "components": DESCRIPTION["components"]})


def test_the_description_is_valid_openapi() -> None:
    errors = [error.message for error in jsonschema_rs.validator_for(OPENAPI_31).iter_errors(DESCRIPTION)]
    assert errors == []
    assert DESCRIPTION["openapi"].startswith("3.1")


@pytest.mark.parametrize("name", sorted(DESCRIPTION["components"]["schemas"]))
def test_every_schema_is_one(name: str) -> None:
    jsonschema_rs.meta.validate(DESCRIPTION["components"]["schemas"][name])
    assert DESCRIPTION["components"]["schemas"][name]["description"]


def test_every_reference_leads_somewhere() -> None:
    def references(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            for item in value.values():
                yield from references(item)
        elif isinstance(value, list):
            for item in value:
                yield from references(item)

    for reference in references(DESCRIPTION):
        assert reference.rsplit("/", 1)[1] in DESCRIPTION["components"]["schemas"]


def test_operations_have_the_names_that_they_always_had() -> None:
    named = {operation["operationId"]: name for name, operation in OPERATIONS.items()}
    assert len(named) == len(OPERATIONS)
    assert named.items() >= CONTRACT.items()


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_operation_says_what_it_does(name: str) -> None:
    operation = OPERATIONS[name]
    assert operation["description"].replace("\n", " ").startswith(f"{operation['summary']}.")
    assert operation["description"].rstrip().endswith(".")
    assert set(operation["tags"]) <= {tag["name"] for tag in DESCRIPTION["tags"]}
    for parameter in operation.get("parameters", []):
        assert parameter["description"], parameter["name"]


def test_a_summary_is_a_sentence_and_not_the_name_of_a_function() -> None:
    assert OPERATIONS["GET /api/health"]["summary"] == "Whether the store answers and the views have caught up"
    assert OPERATIONS["POST /api/campaigns"]["summary"] == "Create a story"


def test_every_route_of_the_api_is_described() -> None:
    described = {tuple(name.split(" ")) for name in OPERATIONS}
    app = create_app(Config(home=Path("unused")))
    routes = {
        (method, route.path)
        for included in app.routes
        for route in getattr(getattr(included, "original_router", None), "routes", ())
        if isinstance(route, APIRoute) and route.path.startswith("/api") and route.include_in_schema
        for method in route.methods or ()
    }
    assert routes == described


@pytest.mark.parametrize(("where", "media_type", "content"), CONTENTS, ids=[f"{w} {m}" for w, m, _ in CONTENTS])
def test_every_body_has_examples_that_fit_its_schema(where: str, media_type: str, content: dict[str, Any]) -> None:
    examples = _examples(content)
    assert examples, f"{where} has no example as {media_type}"
    validator = _validator(content["schema"])
    for example in examples:
        assert [error.message for error in validator.iter_errors(example)] == []


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_every_shape_takes_its_examples(name: str) -> None:
    shape = SHAPES[name]
    examples = shape.model_json_schema(mode="validation").get("examples", [])
    assert examples
    for example in examples:
        assert isinstance(shape.model_validate(example), shape)


@pytest.mark.parametrize("name", sorted(name for name, shape in SHAPES.items() if not shape.model_config.get("strict")))
def test_an_example_of_an_answer_leaves_nothing_out(name: str) -> None:
    shape = SHAPES[name]  # a request, which is strict, may leave out what has a default
    fields = {field.alias or field_name for field_name, field in shape.model_fields.items()}
    for example in shape.model_json_schema()["examples"]:
        assert example.keys() >= fields


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_problems_are_documented_with_their_codes(name: str) -> None:
    for status, response in OPERATIONS[name]["responses"].items():
        if int(status) < 400:
            continue
        assert list(response["content"]) == [MEDIA_TYPE]
        examples = response["content"][MEDIA_TYPE]["examples"]
        for code, example in examples.items():
            assert STATUS_OF[code] == int(status)
            assert example["value"]["code"] == code
            assert f"`{code}`" in response["description"]


def test_every_code_is_documented_somewhere() -> None:
    documented = {
        code
        for operation in OPERATIONS.values()
        for response in operation["responses"].values()
        for code in response.get("content", {}).get(MEDIA_TYPE, {}).get("examples", {})
    }
    assert documented == set(STATUS_OF)


@pytest.mark.parametrize("name", ["take_turn", "retry_turn", "read_events"])
def test_streams_are_documented_beside_the_json(name: str) -> None:
    content = OPERATIONS[CONTRACT[name]]["responses"]["200"]["content"]
    assert set(content) == {"application/json", "text/event-stream"}
    assert "event: " in content["text/event-stream"]["example"]


def test_the_digest_is_documented() -> None:
    headers = OPERATIONS[CONTRACT["read_request"]]["responses"]["200"]["headers"]
    assert "Repr-Digest" in headers


def test_the_token_is_documented_where_it_is_needed() -> None:
    assert "security" not in DESCRIPTION
    guarded = create_app(Config(home=Path("unused"), token="secret")).openapi()
    assert guarded["security"] == [{"token": []}]
    assert guarded["components"]["securitySchemes"]["token"] == {"type": "http", "scheme": "bearer"}
    assert "secret" not in str(guarded).replace("securitySchemes", "")


def test_a_change_has_no_defaults_since_what_is_absent_stays() -> None:
    for name in ("CampaignChange", "SettingsChange"):
        schema = DESCRIPTION["components"]["schemas"][name]
        assert not any("default" in field for field in schema["properties"].values())
        assert "required" not in schema
    assert "opening" not in DESCRIPTION["components"]["schemas"]["CampaignChange"]["properties"]


def test_a_correction_takes_what_the_vocabulary_has_and_judges_all_else() -> None:
    schema = DESCRIPTION["components"]["schemas"]["CorrectionRequest"]["properties"]["events"]
    described = [kind["properties"]["type"]["const"] for kind in schema["items"]["anyOf"] if "properties" in kind]
    assert described == list(VOCABULARY)
    assert _validator(schema).is_valid([{"type": "no such"}, None])
    assert not _validator(schema).is_valid([])
