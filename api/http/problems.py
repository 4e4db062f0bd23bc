"""Errors as RFC 9457 problems: the one place that knows what an error means in HTTP."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from api.http.refusals import MethodNotAllowed, NotJson, RequestInvalid, UnknownPath, Unreadable
from domain.errors import FabulaError
from domain.text import with_lists

_METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")

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
    "unknown_save_point": 404,
    "unknown_branch": 404,
    "unknown_projection": 404,
    "unknown_replay": 404,
    "method_not_allowed": 405,
    "turn_in_progress": 409,
    "turn_not_running": 409,
    "nothing_to_undo": 409,
    "nothing_to_redo": 409,
    "nothing_to_retry": 409,
    "name_taken": 409,
    "overtaken": 409,
    "too_many_replays": 409,
    "correction_refused": 400,
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
    """The problem as a response. `headers` are added to those that belong to its status."""
    problem = problem_of(error)
    challenge = {"WWW-Authenticate": "Bearer"} if problem["status"] == HTTPStatus.UNAUTHORIZED else {}
    return Response(orjson.dumps(problem, default=str), problem["status"], {**challenge, **(headers or {})}, MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Makes every refusal of the app a problem. What breaks instead is for `api.http.last_resort`."""

    @app.exception_handler(FabulaError)
    async def _(_: Request, error: FabulaError) -> Response:
        return problem_response(error)

    @app.exception_handler(RequestValidationError)
    async def _(_: Request, error: RequestValidationError) -> Response:
        return problem_response(_invalid(error))

    @app.exception_handler(HTTPException)
    async def _(request: Request, error: HTTPException) -> Response:
        problem = _http(request, error)
        allowed = {"Allow": ", ".join(problem.allowed)} if isinstance(problem, MethodNotAllowed) else {}
        return problem_response(problem, {**(error.headers or {}), **allowed})


def _invalid(error: RequestValidationError) -> FabulaError:
    found = error.errors()
    if any(one["type"] == "json_invalid" for one in found):
        return NotJson()
    return RequestInvalid({_place(one["loc"]): with_lists(str(one["msg"])) for one in found})


def _place(loc: tuple[object, ...]) -> str:
    """Where in the request: without the first part, which says whether it is the body, the query or the path."""
    return ".".join(map(str, loc[1:])) or str(loc[0])


def _http(request: Request, error: HTTPException) -> FabulaError:
    method, path = request.method, request.url.path
    if error.status_code == HTTPStatus.NOT_FOUND:
        return UnknownPath(method, path)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return MethodNotAllowed(method, path, _methods_of(request))
    return Unreadable(f"{method} {path}: {error.detail}")


def _methods_of(request: Request) -> list[str]:
    """What the path takes, over all of its routes; the framework names the methods of the first alone."""

    def takes(method: str) -> bool:
        scope = {**request.scope, "method": method}
        return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)

    return [method for method in _METHODS if takes(method)]
