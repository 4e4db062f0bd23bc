"""Whatever is sent to the running server, it answers as its own description says.

The suite sends a fixed handful for each operation. Many more, new ones each time:
`FABULA_HTTP_EXAMPLES=500 .venv/bin/pytest tests/property/test_http_schemathesis.py`.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import GenerationMode, Response
from schemathesis.checks import CHECKS, load_all_checks

from api.config import Config
from api.http.app import create_app
from api.http.problems import MEDIA_TYPE
from tests.fakes.model_server import ScriptedModelServer
from tests.fakes.serving import Serving, serving

EXAMPLES = int(os.environ.get("FABULA_HTTP_EXAMPLES", "0"))
FEW = 8

Case = schemathesis.Case[Any]

load_all_checks()
CHECKED: list[Any] = CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "negative_data_rejection",
        "positive_data_acceptance",
        "missing_required_header",
        "unsupported_method",
        "allow_header_conformance",
    ]
)
_NO_MATTER_OF_FORM = (
    "endpoint_refused",
    "context_overflow",
    "idempotency_key_reused",
    "too_large",
    "correction_refused",
)
_JUDGED_BY_MEANING = {"name", "node", "position", "path", "entity", "events"}
"""Which names mean something already, that the opening has no sibling, that one place is named and not two, what there
is in a state, and what of an event can be recorded."""
_JUDGED_BY_FORM: list[Any] = CHECKS.get_by_names(["positive_data_acceptance", "negative_data_rejection"])
_SCHEMA = schemathesis.openapi.from_dict(create_app(Config(home=Path("unused"))).openapi())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with ScriptedModelServer(n_ctx=8192) as narrator:
        # The small narrator's place is the scripted one's, so that settings which name nobody lead nowhere else.
        home = tmp_path_factory.mktemp("home")
        with serving(home, narrator.endpoint, narrator_port=narrator.port) as running:
            yield running


@pytest.fixture
def known(server: Serving) -> dict[str, Any]:
    """What there is on the server: values for the path, so that not everything is unknown."""
    with server.client() as client:
        campaign = client.post("/api/campaigns", json={"title": "Known"}).json()["id"]
        turn = client.post(f"/api/campaigns/{campaign}/turns", json={"kind": "do", "text": "go"}).json()["turn"]
        point = client.post(f"/api/campaigns/{campaign}/save-points", json={"name": "here"}).json()["id"]
        made = {"type": "create_entity", "entity": "imani", "entity_type": "character", "name": "Imani"}
        client.post(f"/api/campaigns/{campaign}/state/corrections", json={"events": [made]}).raise_for_status()
        replay = client.post("/api/replays", json={"candidate": "1"}).json()["id"]
    return {
        "campaign": campaign,
        "turn": turn,
        "node": 3,
        "name": "story",
        "branch": 1,
        "save_point": point,
        "entity": "imani",
        "replay": replay,
    }


@_SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES or FEW,
    derandomize=EXAMPLES == 0,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_every_operation_answers_as_described(case: Case, server: Serving, known: dict[str, Any]) -> None:
    _aim(case, known)
    response = case.call(base_url=server.url, headers={"accept": "application/json"}, timeout=30)
    excused = _JUDGED_BY_FORM if _refused_for_what_no_schema_says(response) else []
    case.validate_response(response, checks=CHECKED, excluded_checks=excused)


def _aim(case: Case, known: dict[str, Any]) -> None:
    """Sends most of what is otherwise well formed to something that is there."""
    positive = case.meta is None or case.meta.generation.mode is GenerationMode.POSITIVE
    if positive and crc32(repr(case.path_parameters).encode()) % 4:
        case.path_parameters.update({name: known[name] for name in case.path_parameters})


def _refused_for_what_no_schema_says(response: Response) -> bool:
    """Where an address leads, whether a prompt fits, which keys were used before, how many bytes, what is established."""
    if response.headers["content-type"] != [MEDIA_TYPE]:
        return False
    problem = response.json()
    by_the_domain = problem["code"] == "invalid" and not problem["detail"].endswith("/docs shows what is expected.")
    return problem["code"] in _NO_MATTER_OF_FORM or (by_the_domain and problem["fields"].keys() <= _JUDGED_BY_MEANING)


def test_the_description_is_the_served_one(server: Serving) -> None:
    with server.client() as client:
        assert client.get("/openapi.json").json() == _SCHEMA.raw_schema
