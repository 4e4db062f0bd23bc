"""Who listens on the small narrator's port."""

from enum import Enum
from http import HTTPStatus

import httpx


class Occupant(Enum):
    NOBODY = "nobody"
    NARRATOR = "a server that offers the small narrator's model"
    LOADING = "a server that is still loading its model"
    STRANGER = "anything else, also what does not answer"


def occupant_of(client: httpx.Client, endpoint: str, model: str) -> Occupant:
    """Who answers at this endpoint. Never raises; takes no longer than the client's time-out."""
    try:
        response = client.get(f"{endpoint}/models")
    except httpx.ConnectError:
        return Occupant.NOBODY
    except httpx.HTTPError:
        return Occupant.STRANGER
    return occupant_who_answered(response, model)


def occupant_who_answered(response: httpx.Response, model: str) -> Occupant:
    """Who gives this answer to `GET /v1/models`. llama.cpp answers 503 while it loads."""
    if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        return Occupant.LOADING
    if response.status_code == HTTPStatus.OK and model in _offered(response):
        return Occupant.NARRATOR
    return Occupant.STRANGER


def _offered(response: httpx.Response) -> list[object]:
    """The ids in an OpenAI-compatible list of models; none where it is no such list."""
    try:
        listed = response.json()
    except ValueError:
        return []
    models = listed.get("data") if isinstance(listed, dict) else None
    return [model.get("id") for model in models if isinstance(model, dict)] if isinstance(models, list) else []
