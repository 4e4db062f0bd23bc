"""Errors as RFC 9457 problems: the one place that knows what an error means in HTTP."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from api.http.shapes import ProblemShape
from domain.errors import FabulaError, InternalError

MEDIA_TYPE = "application/problem+json"

STATUS_OF: Mapping[str, int] = {
    "bad_request": 400,
    "host_not_allowed": 400,
    "token_required": 401,
    "origin_not_allowed": 403,
    "unknown_path": 404,
    "unknown_campaign": 404,
    "unknown_node": 404,
    "unknown_turn": 404,
    "unknown_projection": 404,
    "method_not_allowed": 405,
    "turn_in_progress": 409,
    "turn_not_running": 409,
    "nothing_to_retry": 409,
    "turn_cancelled": 409,
    "too_large": 413,
    "invalid": 422,
    "context_overflow": 422,
    "endpoint_refused": 422,
    "idempotency_key_reused": 422,
    "internal_error": 500,
    "model_unreachable": 502,
    "model_refused": 502,
    "model_reply_incomplete": 502,
    "model_reply_empty": 502,
    "model_timeout": 504,
    "turn_interrupted": 503,
    "view_behind": 503,
    "store_unavailable": 503,
    "store_read_only": 503,
    "store_full": 503,
    "store_newer": 503,
}
"""Every code there is, with its status."""


class RequestProblem(FabulaError):
    """A request that is refused before any use case sees it."""

    def __init__(self, code: str, title: str, detail: str, **fields: object) -> None:
        super().__init__(detail, **fields)
        self.code = code  # type: ignore[misc]  # one class for the refusals of this layer
        self.title = title  # type: ignore[misc]


def problem_of(error: FabulaError) -> dict[str, Any]:
    """The problem as JSON values."""
    return {
        "type": "about:blank",
        "title": error.title,
        "status": STATUS_OF[error.code],
        "code": error.code,
        "detail": error.message,
        **{name: value for name, value in error.fields.items() if value is not None},
    }


def problem_response(error: FabulaError, headers: Mapping[str, str] | None = None) -> Response:
    """The problem as a response."""
    problem = problem_of(error)
    return Response(orjson.dumps(problem, default=str), problem["status"], headers, MEDIA_TYPE)


def responses(*codes: str) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI responses of a route that answers with these codes, and with those that any route may."""
    by_status: dict[int, list[str]] = {}
    for code in (*codes, *_ANYWHERE):
        by_status.setdefault(STATUS_OF[code], []).append(code)
    return {
        status: {
            "model": ProblemShape,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemShape"}}},
            "description": "`" + "` `".join(dict.fromkeys(named)) + "`",
        }
        for status, named in by_status.items()
    }


_ANYWHERE = (
    "bad_request",
    "host_not_allowed",
    "token_required",
    "origin_not_allowed",
    "too_large",
    "invalid",
    "internal_error",
    "store_unavailable",
)


def install(app: FastAPI) -> None:
    """Makes every error of the app a problem."""

    @app.exception_handler(FabulaError)
    async def _(_: Request, error: FabulaError) -> Response:
        return problem_response(error)

    @app.exception_handler(RequestValidationError)
    async def _(_: Request, error: RequestValidationError) -> Response:
        return problem_response(_invalid(error))

    @app.exception_handler(HTTPException)
    async def _(request: Request, error: HTTPException) -> Response:
        return problem_response(_http(request, error), error.headers)

    @app.exception_handler(Exception)
    async def _(request: Request, error: Exception) -> Response:
        return problem_response(InternalError(f"{type(error).__name__} in {request.method} {request.url.path}"))


def _invalid(error: RequestValidationError) -> FabulaError:
    found = error.errors()
    if any(one["type"] == "json_invalid" for one in found):
        return not_json()
    problems = {".".join(map(str, one["loc"][1:])) or str(one["loc"][0]): str(one["msg"]) for one in found}
    listed = "; ".join(f"{field}: {problem}" for field, problem in problems.items())
    return RequestProblem(
        "invalid",
        "The input is not valid",
        f"Nothing was changed. {listed}. /docs shows what is expected.",
        fields=problems,
    )


def not_json() -> FabulaError:
    """The body is no JSON."""
    return RequestProblem(
        "bad_request",
        "The body is not JSON",
        'The body could not be read as JSON in UTF-8. Send an object such as {"kind": "continue"}.',
    )


def _http(request: Request, error: HTTPException) -> FabulaError:
    where = f"{request.method} {request.url.path}"
    if error.status_code == HTTPStatus.NOT_FOUND:
        return RequestProblem(
            "unknown_path", "There is nothing here", f"{where} is no path of this API; /docs lists them."
        )
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = (error.headers or {}).get("Allow", "another method")
        return RequestProblem(
            "method_not_allowed", "The method is not allowed", f"{where} is not possible; this path takes {allowed}."
        )
    return RequestProblem(
        "bad_request", "The request cannot be read", f"{where}: {error.detail}. /docs shows what is expected."
    )
