"""The shapes that programs rely on, as the contract gives them: none of these keys may be missing."""

from collections.abc import Mapping
from typing import Any

import httpx

from api.http.problems import MEDIA_TYPE, STATUS_OF

POSITION = {"head", "moment", "label", "can_undo", "can_redo", "takes", "turn_in_progress"}
CAMPAIGN = {"id", "title", "created_at", "revised_at", "settings", "position"}
CAMPAIGN_SETTINGS = {
    "title",
    "opening",
    "canon",
    "persona",
    "instructions",
    "plot_essentials",
    "authors_note",
    "front_memory",
    "narration_length",
    "memory_enabled",
    "summaries_enabled",
    "protagonist",
}
TURN = {
    "turn",
    "player_node",
    "node",
    "prose",
    "finish_reason",
    "position",
    "state_changes",
    "proposal",
    "accounting",
}
PROPOSAL = {"outcome", "accepted", "refused"}
ACCOUNTING = {
    "status",
    "prompt_tokens",
    "estimate",
    "exact",
    "difference",
    "observed_margin",
    "safety_reserve",
    "cached_tokens",
    "window_verified",
    "detail",
}
STORY = {"nodes", "next", "position"}
STORY_NODE = {"node", "kind", "moment", "parent", "text", "takes", "outcome", "accounting"}
PROMPT = {
    "node",
    "turn",
    "sections",
    "tokens",
    "window",
    "history",
    "memories",
    "accounting",
    "knowledge",
    "endpoint",
    "public_endpoint",
    "model",
    "body_sha256",
}
SECTION = {"name", "label", "tokens", "text"}
TOKENS = {
    "total",
    "budget",
    "configured_budget",
    "reply",
    "reserve",
    "transport",
    "protected",
    "knowledge",
    "history",
    "exact",
}
WINDOW = {"tokens", "source", "verified", "enforceable", "capped", "model_max", "detail", "preflight"}
HISTORY = {"first_node", "last_node", "total", "floor_depth", "floor_moved", "prefix_kept", "oldest_truncated"}
MEMORIES = {"query", "eligible", "considered"}
EVENTS = {"events", "next"}
EVENT = {"position", "stream", "version", "topic", "schema", "at", "turn", "actor", "data", "chain"}
SETTINGS = {
    "endpoint",
    "model",
    "mode",
    "temperature",
    "top_p",
    "seed",
    "stop",
    "max_output_tokens",
    "context_budget",
    "context_window_override",
    "model_timeout_seconds",
    "extractor",
    "state_pass",
    "embedding_model",
    "summary_model",
    "memory_top_k",
    "memory_bank_capacity",
    "low_water_percent",
    "narrator_prompt",
    "public_endpoint",
}
CORRECTED = {"node", "text", "position"}
SAVE_POINT = {"id", "name", "node", "moment"}
BRANCH_NAME = {"branch", "name", "tip"}
TREE = {"nodes", "branches", "save_points", "head", "tip"}
TREE_NODE = {"node", "parent", "kind", "branch", "depth"}
TREE_BRANCH = {"branch", "parent_branch", "fork_depth", "tip", "tip_moment", "name"}
TREE_SAVE_POINT = {"id", "name", "node"}
DIFFERENCE = {"left", "right", "common", "text", "state", "memory", "prompts", "accounts"}
DIFFERENCE_PLACE = {"reference", "node", "moment", "branch", "moments_since"}
DIFFERENCE_ACCOUNTS = {
    "turns",
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "truncation_suspected",
    "unknown",
}
VERIFY = {"ok", "events", "head", "first_bad"}
PROJECTION = {"name", "version", "position", "lag", "state", "error", "parked_at", "rebuilding"}
PROBLEM = {"type", "title", "status", "code", "detail"}


def has_shape(answer: Mapping[str, Any], *shapes: set[str]) -> None:
    """Asserts that the answer has all of these keys."""
    missing = set().union(*shapes) - answer.keys()
    assert not missing, f"{missing} of {sorted(answer)}"


def problem(response: httpx.Response, code: str) -> dict[str, Any]:
    """Asserts that the response is this problem, whole, with the status that the code has; what it says."""
    assert response.status_code == STATUS_OF[code], response.text
    assert response.headers["content-type"] == MEDIA_TYPE
    said: dict[str, Any] = response.json()
    has_shape(said, PROBLEM)
    assert (said["code"], said["status"]) == (code, response.status_code), said
    assert said["type"] == "about:blank"
    assert said["title"]
    assert said["detail"].rstrip().endswith((".", "…`.")), said["detail"]
    return said
