"""What the configured model server offers: the connection test."""

from typing import Any

from domain.errors import FabulaError
from domain.installation import SettingsInForce
from domain.ports import Narrator, WindowProbe


async def connection_answer(settings: SettingsInForce, narrator: Narrator, probe: WindowProbe) -> dict[str, Any]:
    """Lists the server's models and reports its window. A server that does not answer is reported, not raised."""
    answer: dict[str, Any] = {
        "endpoint": settings.endpoint,
        "public_endpoint": settings.public_endpoint,
        "model": settings.model,
        "reachable": False,
        "models": [],
        "model_listed": False,
        "window": (await probe.window(settings.endpoint, settings.model)).model_dump(mode="json"),
    }
    try:
        models = list(await narrator.models(settings.endpoint))
    except FabulaError as error:
        return answer | {"detail": error.message}
    listed = settings.model in models
    detail = "The server answers." if listed else _not_listed(settings.model, models)
    return answer | {"reachable": True, "models": models, "model_listed": listed, "detail": detail}


def _not_listed(model: str, models: list[str]) -> str:
    offered = ", ".join(models) or "none"
    if not model:
        return f"The server answers, and no model is chosen: turns go to the first it offers. It offers {offered}."
    return f"The server answers, but {model!r} is not among the models that it offers: {offered}. Install it there, or choose another."
