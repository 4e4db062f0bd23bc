"""Bodies are JSON in UTF-8, and what enters the log can be written back: lone surrogates are replaced, and counted."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from api.http.refusals import NotDeclaredAsJson, NotJson
from domain.text import without_lone_surrogates

_COUNT = "fabula_replaced_surrogates"


class CleanRequest(Request):
    """A request whose body has been read, judged and cleaned."""

    async def body(self) -> bytes:
        """The body, as JSON that any encoder can write. Raises TooLarge, NotDeclaredAsJson, NotJson."""
        if not hasattr(self, "_clean"):
            raw = await super().body()
            if raw:
                self._check_declared()
            self._clean, self.scope[_COUNT] = _cleaned(raw) if raw else (raw, 0)
        return self._clean

    def _check_declared(self) -> None:
        declared = self.headers.get("content-type", "")
        kind = declared.partition(";")[0].strip().lower()
        if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
            raise NotDeclaredAsJson(declared)


class CleanJSONRoute(APIRoute):
    """A route that reads bodies through `CleanRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given a clean request."""
        handler = super().get_route_handler()

        async def clean(request: Request) -> Response:
            cleaned = CleanRequest(request.scope, request.receive)
            await cleaned.body()  # here, so that its refusal is a problem of its own and not the framework's
            return await handler(cleaned)

        return clean


def replaced_surrogates(request: Request) -> int:
    """How many lone surrogates of this request's body were replaced."""
    return int(request.scope.get(_COUNT, 0))


def _cleaned(raw: bytes) -> tuple[bytes, int]:
    try:
        value = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
        if b"\\u" not in raw:  # only an escape can spell a lone surrogate in UTF-8
            return raw, 0
        clean, count = _without_surrogates(value)
        return (json.dumps(clean).encode(), count) if count else (raw, 0)
    except (ValueError, RecursionError) as error:
        raise NotJson from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _without_surrogates(value: Any) -> tuple[Any, int]:
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if isinstance(value, list):
        items = [_without_surrogates(item) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, dict):
        pairs = [(_without_surrogates(key), _without_surrogates(item)) for key, item in value.items()]
        return {key: item for (key, _), (item, _) in pairs}, sum(k + i for (_, k), (_, i) in pairs)
    return value, 0
