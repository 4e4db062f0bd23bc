"""Errors as problems: the closed list of codes, and what each problem holds."""

import ast
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from api.http import refusals
from api.http.problem_examples import EXAMPLE_OF
from api.http.problems import MEDIA_TYPE, STATUS_OF, problem_of, problem_response
from domain import errors
from domain.errors import FabulaError

ROOT = Path(__file__).parents[2]
MEMBERS = {"type", "title", "status", "code", "detail"}
CONTRACT = {
    400: {"bad_request", "host_not_allowed"},
    401: {"token_required"},
    403: {"origin_not_allowed"},
    404: {"unknown_path", "unknown_campaign", "unknown_node", "unknown_turn", "unknown_projection"},
    409: {"turn_in_progress", "nothing_to_retry", "turn_not_running"},
    413: {"too_large"},
    422: {"invalid", "context_overflow", "endpoint_refused", "idempotency_key_reused"},
    502: {"model_unreachable", "model_refused", "model_reply_incomplete", "model_reply_empty"},
    504: {"model_timeout"},
    503: {"view_behind", "store_unavailable", "store_read_only", "store_full", "store_newer"},
}
"""Of the contract's table, what can happen in what there is."""


def _below(error: type[FabulaError]) -> Iterator[type[FabulaError]]:
    for subclass in error.__subclasses__():
        yield subclass
        yield from _below(subclass)


def _told_over_http() -> set[type[FabulaError]]:
    modules = (errors.__name__, refusals.__name__)
    return {error for error in _below(FabulaError) if error.__module__ in modules and hasattr(error, "code")}


def test_every_code_has_its_status_and_every_status_its_code() -> None:
    assert {error.code for error in _told_over_http()} == set(STATUS_OF)


def test_the_statuses_are_those_of_the_contract() -> None:
    for status, codes in CONTRACT.items():
        for code in codes:
            assert STATUS_OF[code] == status, code


def test_every_error_that_can_be_raised_has_a_code_and_a_title() -> None:
    for error in _told_over_http():
        assert error.code.islower(), error
        assert error.title[0].isupper(), error
        assert not error.title.endswith("."), error


def test_no_code_is_made_up_where_it_is_raised() -> None:
    for path in (ROOT / "api").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("FabulaError", "RequestProblem"), f"{path}:{node.lineno}"


@pytest.mark.parametrize("code", sorted(STATUS_OF))
def test_each_code_has_an_example_that_the_program_would_give(code: str) -> None:
    example = EXAMPLE_OF[code]
    assert example.keys() >= MEMBERS
    assert (example["code"], example["status"]) == (code, STATUS_OF[code])
    assert len(example["detail"].split()) > 4
    orjson.dumps(example)


@pytest.mark.parametrize("code", sorted(STATUS_OF))
def test_the_fields_of_an_error_stand_beside_the_members_and_never_in_their_place(code: str) -> None:
    example = EXAMPLE_OF[code]
    assert example["type"] == "about:blank"
    assert isinstance(example["title"], str)
    assert isinstance(example["status"], int)


def test_a_problem_is_sent_as_one() -> None:
    response = problem_response(errors.UnknownNode("c_x", 4))
    assert response.status_code == 404
    assert response.media_type == MEDIA_TYPE
    assert orjson.loads(response.body) == {
        "type": "about:blank",
        "title": "There is no such node",
        "status": 404,
        "code": "unknown_node",
        "detail": "Campaign c_x has no node 4. Its story lists the nodes there are.",
        "campaign": "c_x",
        "node": 4,
    }


def test_a_field_that_is_none_is_left_out() -> None:
    assert "upstream_status" not in problem_of(errors.ModelRefused("http://127.0.0.1", "no"))
    assert problem_of(errors.ModelRefused("http://127.0.0.1", "no", 500))["upstream_status"] == 500


def test_a_challenge_belongs_to_its_status() -> None:
    assert problem_response(refusals.TokenRequired()).headers["www-authenticate"] == "Bearer"
    assert "www-authenticate" not in problem_response(refusals.HostNotAllowed("x")).headers


def test_what_is_said_back_is_short() -> None:
    assert len(refusals.UnknownPath("GET", "/" + "a" * 10_000).message) < 400
    assert len(refusals.HostNotAllowed("h" * 10_000).message) < 500
    many = refusals.RequestInvalid({f"field{number}": "Field required" for number in range(1000)})
    assert "and 980 more" in many.message
    assert len(many.fields["fields"]) == 20  # type: ignore[arg-type]  # a dict


def test_refusals_belong_to_the_tree() -> None:
    for error in _below(refusals.RequestProblem):
        assert issubclass(error, FabulaError)
        assert error.__name__ in (refusals.__doc__ or "")
