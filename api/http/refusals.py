"""Requests that are refused before any use case sees them.

    RequestProblem
    ├── cannot be read    NotJson · NotDeclaredAsJson · Unreadable · TooLarge · RequestInvalid
    ├── may not be asked  HostNotAllowed · OriginNotAllowed · TokenRequired
    └── is not there      UnknownPath · MethodNotAllowed

They belong to the tree of `domain.errors`; what each code means as a status is in `api.http.problems`.
"""

from collections.abc import Mapping, Sequence
from itertools import islice

from domain.errors import FabulaError

_MOST_FIELDS = 20
_LONGEST_NAME = 200


class RequestProblem(FabulaError):
    """A request that no use case has seen: nothing was changed."""


class NotJson(RequestProblem):
    code = "bad_request"
    title = "The body is not JSON"

    def __init__(self) -> None:
        super().__init__(
            'The body could not be read as JSON in UTF-8. Send an object such as {"kind": "continue"}; NaN, Infinity and '
            "more than some hundred levels are no part of it."
        )


class NotDeclaredAsJson(RequestProblem):
    code = "bad_request"
    title = "The body is not declared as JSON"

    def __init__(self, declared: str) -> None:
        super().__init__(
            f"The body is declared as {shortened(declared) or 'nothing'}. Send it with `Content-Type: application/json`."
        )


class Unreadable(RequestProblem):
    code = "bad_request"
    title = "The request cannot be read"

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}. /docs shows what is expected.")


class TooLarge(RequestProblem):
    code = "too_large"
    title = "The body is too large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"A body may have {limit:,} bytes at most. Nothing was changed.", limit=limit)


class RequestInvalid(RequestProblem):
    """`problems` maps the place of each (`settings.0`, `limit`) to what is wrong there."""

    code = "invalid"
    title = "The input is not valid"

    def __init__(self, problems: Mapping[str, str]) -> None:
        listed = {shortened(place): why for place, why in islice(problems.items(), _MOST_FIELDS)}
        more = len(problems) - len(listed)
        sentence = "; ".join(f"{place}: {why}" for place, why in listed.items())
        further = f"; and {more} more" if more > 0 else ""
        super().__init__(f"Nothing was changed. {sentence}{further}. /docs shows what is expected.", fields=listed)


class HostNotAllowed(RequestProblem):
    code = "host_not_allowed"
    title = "The host is not allowed"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"Requests must name this server by a loopback address, not {shortened(host)!r}. Set FABULA_ALLOWED_HOSTS "
            "to allow a name."
        )


class OriginNotAllowed(RequestProblem):
    code = "origin_not_allowed"
    title = "The origin is not allowed"

    def __init__(self, origin: str) -> None:
        super().__init__(
            f"A page of {shortened(origin)!r} may not change anything here. Ask from this server's own pages, or without "
            "a browser."
        )


class TokenRequired(RequestProblem):
    code = "token_required"
    title = "A token is required"

    def __init__(self) -> None:
        super().__init__(
            "Send the token that this server was started with (FABULA_TOKEN) as `Authorization: Bearer …`."
        )


class UnknownPath(RequestProblem):
    code = "unknown_path"
    title = "There is nothing here"

    def __init__(self, method: str, path: str) -> None:
        super().__init__(f"{method} {shortened(path)} is no path of this API; /docs lists them.")


class MethodNotAllowed(RequestProblem):
    code = "method_not_allowed"
    title = "The method is not allowed"

    def __init__(self, method: str, path: str, allowed: Sequence[str]) -> None:
        self.allowed = list(allowed)
        super().__init__(
            f"{method} {shortened(path)} is not possible; this path takes {', '.join(allowed)}.", allowed=self.allowed
        )


def shortened(given: str) -> str:
    """What a client sent, short enough to be said back."""
    return given if len(given) <= _LONGEST_NAME else f"{given[: _LONGEST_NAME - 1]}…"
