"""`/docs` without the network: Swagger UI's files come out of an installed package."""

from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'"
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Fabula: the API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" href="data:,">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
_START = """SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIBundle.SwaggerUIStandalonePreset],
});
"""

router = APIRouter(include_in_schema=False)


@router.get("/")
async def front_door() -> RedirectResponse:
    """To the page: whoever types the address alone wants to see something."""
    return RedirectResponse("/docs", HTTPStatus.TEMPORARY_REDIRECT)


@router.get("/docs")
async def page() -> HTMLResponse:
    """The page, with a policy that lets it load from this server only."""
    return HTMLResponse(_PAGE, headers={"content-security-policy": _POLICY, "x-content-type-options": "nosniff"})


@router.get("/docs/start.js")
async def start() -> Response:
    """What starts Swagger UI, in a file of its own since inline scripts are forbidden."""
    return Response(_START, media_type="text/javascript")


@router.get("/docs/swagger-ui.css")
async def style() -> FileResponse:
    """Swagger UI's own style."""
    return FileResponse(_static() / "swagger-ui.css", media_type="text/css")


@router.get("/docs/swagger-ui-bundle.js")
async def script() -> FileResponse:
    """Swagger UI itself."""
    return FileResponse(_static() / "swagger-ui-bundle.js", media_type="text/javascript")


def _static() -> Path:
    spec = find_spec("fastapi_offline")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("fastapi_offline is not installed")
    return Path(spec.origin).parent / "static"
