"""The application: routes, guard, problems."""

from fastapi import FastAPI

from api.config import Config
from api.http import docs, problems
from api.http.guard import Guard
from api.http.routes import campaigns, installation, log, story, turns
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
    {"name": "story", "description": "Reading."},
    {"name": "audit", "description": "Exactly what was sent and what came back."},
    {"name": "log", "description": "The events themselves."},
    {"name": "installation", "description": "Settings, views, health."},
]


def create_app(config: Config, fabula: Fabula | None = None) -> FastAPI:
    """The app over a running Fabula; without one it can only describe itself."""
    app = FastAPI(
        title="Fabula",
        version=VERSION,
        description=_DESCRIPTION,
        openapi_tags=_TAGS,
        docs_url=None,
        redoc_url=None,
    )
    app.state.fabula = fabula
    problems.install(app)
    app.add_middleware(Guard, allowed_hosts=config.allowed_hosts.split(","), token=config.token.get_secret_value())
    for module in (campaigns, turns, story, log, installation, docs):
        app.include_router(module.router)
    return app
