"""The application: routes, and the layers that every request goes through."""

from api.config import Config
from api.http import docs, problems
from api.http.bounded_body import BoundedBody
from api.http.guard import Guard
from api.http.last_resort import LastResort
from api.http.openapi import DescribedAPI, operation_id
from api.http.routes import campaigns, installation, log, places, replays, state, story, turns
from api.http.security_headers import SecurityHeaders
from api.wiring import VERSION, Fabula

_DESCRIPTION = """\
Interactive stories told with a language model that you run yourself. Everything that ever happened is an event in an
append-only log; the story, the prompts and the lists are views of it.

A first story: `POST /api/campaigns`, then `POST /api/campaigns/{id}/turns`, with `Accept: text/event-stream` to hear
the narration as it comes. Errors are RFC 9457 problems with a `code`.
"""
_TAGS = [
    {"name": "campaigns", "description": "Stories and their settings."},
    {"name": "turns", "description": "Acting and being told what happens."},
    {"name": "places", "description": "Going back, forth and aside, naming places, comparing two."},
    {"name": "story", "description": "Reading."},
    {"name": "state", "description": "What is established: read, explained, corrected."},
    {"name": "audit", "description": "Exactly what was sent and what came back."},
    {"name": "log", "description": "The events themselves."},
    {
        "name": "extraction",
        "description": "What of a reply is story: trying an extractor on history, and adopting one.",
    },
    {"name": "installation", "description": "Settings, views, health."},
]


def create_app(config: Config, fabula: Fabula | None = None) -> DescribedAPI:
    """The app over a running Fabula; without one it can only describe itself."""
    app = DescribedAPI(
        title="Fabula",
        version=VERSION,
        description=_DESCRIPTION,
        openapi_tags=_TAGS,
        generate_unique_id_function=operation_id,
        redirect_slashes=False,  # a path with another slash is another path, and there is nothing there
        docs_url=None,
        redoc_url=None,
    )
    app.state.fabula = fabula
    app.token_needed = bool(config.token.get_secret_value())
    problems.install(app)
    _add_layers(app, config)
    for module in (campaigns, turns, places, story, state, log, replays, installation, docs):
        app.include_router(module.router)
    return app


def _add_layers(app: DescribedAPI, config: Config) -> None:
    """From the innermost to the outermost: the guard sees a request last, and an answer passes it first."""
    allowed = (*config.allowed_hosts.split(","), config.host)
    app.add_middleware(Guard, allowed_hosts=allowed, token=config.token.get_secret_value())
    app.add_middleware(BoundedBody)
    app.add_middleware(LastResort)
    app.add_middleware(SecurityHeaders)
