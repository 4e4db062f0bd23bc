"""What breaks: a problem for the client, and a line in the log that says where, without a word of story."""

import traceback

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.breakage import place_of
from api.http.problems import problem_response
from domain.errors import InternalError

_log = structlog.get_logger(__name__)


class LastResort:
    """ASGI middleware around everything that can break.

    Nothing is raised any further: the server would log the message of the exception, which may hold story text. A
    response that has begun cannot be taken back; it is cut off, which a client can tell from an end.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes everything on."""
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:  # noqa: BLE001  # whatever it is, the client is told and the log says where
            where = _named(scope)
            _log.error("request_broke", request=where, error=type(error).__name__, at=place_of(error))
            _log.debug("request_broke_so", traceback="".join(traceback.format_exception(error)))
            if not begun and scope["type"] == "http":
                problem = InternalError(f"{where} ({type(error).__name__})")
                await problem_response(problem)(scope, receive, watched)


def _named(scope: Scope) -> str:
    """The request by its route: a path or a query may hold words of the player's."""
    return f"{scope.get('method', scope['type'])} {getattr(scope.get('route'), 'path', '(no route)')}"
