"""One of each problem, as the program itself would say it: the documentation's examples are made of real errors."""

from typing import Any

from api.http import refusals
from api.http.problems import problem_of
from domain import errors
from domain.errors import FabulaError

_CAMPAIGN = "c_k3v9m2x7qa"
_TURN = "t_4m2kq7xw3a"
_ENDPOINT = "http://127.0.0.1:11434/v1"

_SAMPLES: tuple[FabulaError, ...] = (
    refusals.NotJson(),
    refusals.HostNotAllowed("stories.example"),
    refusals.TokenRequired(),
    refusals.OriginNotAllowed("https://elsewhere.example"),
    refusals.UnknownPath("GET", "/api/campaign"),
    errors.UnknownCampaign(_CAMPAIGN),
    errors.UnknownNode(_CAMPAIGN, 99),
    errors.UnknownTurn(_CAMPAIGN, _TURN),
    errors.UnknownSavePoint(_CAMPAIGN, "s_x4q7bd2mza"),
    errors.UnknownBranch(_CAMPAIGN, 9),
    errors.UnknownProjection("stories", ("campaigns", "story", "prompts")),
    errors.UnknownReplay("r_m3vx7q2kda"),
    refusals.MethodNotAllowed("PUT", f"/api/campaigns/{_CAMPAIGN}", ("DELETE", "GET", "PATCH")),
    errors.TurnInProgress(_CAMPAIGN, _TURN),
    errors.TurnNotRunning(_TURN, "accepted"),
    errors.NothingToUndo(_CAMPAIGN),
    errors.NothingToRedo(_CAMPAIGN),
    errors.NothingToRetry(_CAMPAIGN),
    errors.NameTaken(_CAMPAIGN, "the harbour", "branch 3"),
    errors.OvertakenMeanwhile(_CAMPAIGN),
    errors.TooManyReplays(16),
    errors.TurnCancelled(_TURN),
    refusals.TooLarge(1024 * 1024),
    refusals.RequestInvalid({"kind": "Input should be 'do', 'say', 'story' or 'continue'"}),
    errors.CorrectionRefused(
        [
            {
                "event": {"type": "set_possession", "item": "key", "owner": "imani"},
                "code": "unknown_reference",
                "detail": "“key”, for `item`, is not the id of an entity. Name one that the state lists, or make it "
                "first with `create_entity`.",
            }
        ]
    ),
    errors.ContextOverflow({"instructions": 310, "canon": 420}, 512, window_binds=False),
    errors.EndpointRefused("http://203.0.113.7/v1", "203.0.113.7 is a public address"),
    errors.IdempotencyKeyReused("step-1", _TURN),
    errors.InternalError("GET /api/campaigns/{campaign}/story (KeyError)"),
    errors.ModelUnreachable(_ENDPOINT, "connection refused"),
    errors.ModelRefused(_ENDPOINT, "model 'llama3.2' not found", 404),
    errors.ModelReplyIncomplete("the connection was closed"),
    errors.ModelReplyEmpty("it ended with stop and no words"),
    errors.ModelTimeout(300),
    errors.TurnInterrupted(_TURN),
    errors.ViewBehind("story", 4180, 4211),
    errors.StoreUnavailable("database is locked"),
    errors.StoreReadOnly("/home/ilse/.local/share/fabula"),
    errors.StoreFull("/home/ilse/.local/share/fabula"),
    errors.StoreNewer("a log of format 2"),
)

EXAMPLE_OF: dict[str, dict[str, Any]] = {sample.code: problem_of(sample) for sample in _SAMPLES}
"""Each code with a problem that bears it."""
