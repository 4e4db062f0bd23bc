"""Asks a model server how much it will read, in the ways in which servers tell it.

Each way is a `Question`; `QUESTIONS` lists them, most trustworthy first. All are asked at once, and the first in the
list that tells a window is believed.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any

import httpx
import orjson

from adapters.endpoint_policy import EndpointPolicy
from adapters.model_server import authorization, opening_of
from adapters.server_refusal import bounded
from domain.errors import EndpointRefused
from domain.prompt.events import Window

CONNECT_SECONDS = 1.5
WHOLE_SECONDS = 2.0
KNOWN_SECONDS = 600.0
UNKNOWN_SECONDS = 60.0
MAX_ANSWER_BYTES = 4 * 2**20

_OK = 200


@dataclass(frozen=True)
class Finding:
    """What one answer tells, in tokens: the enforced window, and the model's own ceiling, which is never the window."""

    tokens: int | None = None
    model_max: int | None = None


@dataclass(frozen=True)
class Question:
    """One way to ask. `url` makes the address from the endpoint; `read` takes the answer, any JSON, and the model."""

    server: str
    url: Callable[[str], str]
    read: Callable[[Any, str], Finding]


@dataclass(frozen=True)
class _Answer:
    question: Question
    url: str
    finding: Finding = Finding()
    reached: bool = False
    problem: str = ""


def server_root(endpoint: str) -> str:
    """The endpoint without its trailing /v1: where servers keep what is not OpenAI's."""
    return endpoint.rstrip("/").removesuffix("/v1")


def read_props(content: Any, _model: str) -> Finding:
    """llama.cpp, GET /props: the window of one slot."""
    return Finding(tokens=_positive(_at(content, "default_generation_settings", "n_ctx")))


def read_model_meta(content: Any, model: str) -> Finding:
    """llama.cpp, GET /v1/models: `meta.n_ctx`, and `meta.n_ctx_train` as the ceiling."""
    meta = _at(_entry(_at(content, "data"), model), "meta")
    return Finding(tokens=_positive(_at(meta, "n_ctx")), model_max=_positive(_at(meta, "n_ctx_train")))


QUESTIONS: tuple[Question, ...] = (
    Question("llama.cpp", lambda endpoint: f"{server_root(endpoint)}/props", read_props),
    Question("llama.cpp", lambda endpoint: f"{endpoint.rstrip('/')}/models", read_model_meta),
)


def _entry(data: Any, model: str) -> Any:
    """The model's entry in a list of models; the only one, whatever its name, since such a server ignores the name."""
    entries = [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []
    named = [entry for entry in entries if entry.get("id") == model or model in _list(entry.get("aliases"))]
    if named:
        return named[0]
    return entries[0] if len(entries) == 1 else None


def _at(content: Any, *path: str) -> Any:
    for name in path:
        content = content.get(name) if isinstance(content, dict) else None
    return content


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


class ServerWindowProbe:
    """Implements `domain.ports.WindowProbe`. `client` is `policed_client`'s, and is closed by whoever built it.

    What a server said is remembered per endpoint and model, for KNOWN_SECONDS or, if it told no window, UNKNOWN_SECONDS,
    by `monotonic`, a clock in seconds.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        policy: EndpointPolicy,
        *,
        api_key: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        connect_seconds: float = CONNECT_SECONDS,
        whole_seconds: float = WHOLE_SECONDS,
        questions: Sequence[Question] = QUESTIONS,
    ) -> None:
        self._client = client
        self._policy = policy
        self._authorization = authorization(api_key)
        self._monotonic = monotonic
        self._timeout = httpx.Timeout(whole_seconds, connect=connect_seconds)
        self._whole_seconds = whole_seconds
        self._questions = tuple(questions)
        self._remembered: dict[tuple[str, str], tuple[float, Window]] = {}
        self._forgettings = 0

    async def window(self, endpoint: str, model: str) -> Window:
        """The window that the server enforces; unknown, with the reason in `detail`, when it does not say."""
        key = _key(endpoint, model)
        until, window = self._remembered.get(key, (0.0, None))
        if window is not None and self._monotonic() < until:
            return window
        forgettings = self._forgettings
        window = await self._asked(endpoint, model)
        if forgettings == self._forgettings:  # else it may be what someone has just declared wrong
            lasting = KNOWN_SECONDS if window.verified else UNKNOWN_SECONDS
            self._remembered[key] = (self._monotonic() + lasting, window)
        return window

    def forget(self, endpoint: str, model: str) -> None:
        """Ask anew next time."""
        self._forgettings += 1
        self._remembered.pop(_key(endpoint, model), None)

    async def _asked(self, endpoint: str, model: str) -> Window:
        try:
            base = str(self._policy.check_form(endpoint))
        except EndpointRefused as refusal:
            return Window(detail=refusal.message)
        return found(await self._answers(base, model), base)

    async def _answers(self, endpoint: str, model: str) -> Sequence[_Answer]:
        """An answer for each question, in their order."""
        asked = (self._ask(question, endpoint, model) for question in self._questions)
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        return [
            outcome if isinstance(outcome, _Answer) else _failed(question, endpoint, outcome)
            for question, outcome in zip(self._questions, outcomes, strict=True)
        ]

    async def _ask(self, question: Question, endpoint: str, model: str) -> _Answer:
        answer = _Answer(question, question.url(endpoint))
        try:
            async with asyncio.timeout(self._whole_seconds), self._get(answer.url) as response:
                answer = replace(answer, reached=True)
                if response.status_code != _OK:
                    return replace(answer, problem=f"HTTP {response.status_code}")
                body = await opening_of(response, MAX_ANSWER_BYTES, self._whole_seconds)
            finding = question.read(orjson.loads(body), model)
        except (EndpointRefused, httpx.HTTPError, TimeoutError, orjson.JSONDecodeError) as error:
            return replace(answer, problem=self._problem(error))
        return replace(answer, finding=finding, problem="" if finding.tokens else "it tells no window")

    def _get(self, url: str) -> AbstractAsyncContextManager[httpx.Response]:
        return self._client.stream("GET", url, headers=self._authorization, timeout=self._timeout)

    def _problem(self, error: Exception) -> str:
        match error:
            case EndpointRefused():
                return error.message
            case TimeoutError() | httpx.TimeoutException():
                return f"no answer within {self._whole_seconds:g} seconds"
            case httpx.HTTPError():
                return bounded(str(error)) or "the connection broke"
            case _:
                return "its answer is not JSON"


def _failed(question: Question, endpoint: str, error: BaseException) -> _Answer:
    """A question that failed by a fault of its own. The others' answers are not to be lost for it."""
    return _Answer(question, question.url(endpoint), problem=f"asking failed ({error!r})")


def found(answers: Sequence[_Answer], endpoint: str) -> Window:
    """What the answers, most trustworthy first, come to."""
    model_max = next((answer.finding.model_max for answer in answers if answer.finding.model_max), None)
    reachable = any(answer.reached for answer in answers)
    for answer in answers:
        tokens = answer.finding.tokens
        if tokens is not None:
            detail = f"The server says that it reads {tokens:,} tokens ({answer.question.server}, {answer.url})."
            return Window(
                tokens=tokens,
                source="loaded",
                verified=True,
                enforceable=True,
                model_max=model_max,
                reachable=True,
                detail=detail,
            )
    return Window(model_max=model_max, reachable=reachable, detail=_why_unknown(answers, endpoint, reachable=reachable))


def _why_unknown(answers: Sequence[_Answer], endpoint: str, *, reachable: bool) -> str:
    if not reachable:
        problems = dict.fromkeys(answer.problem for answer in answers)
        return f"Nothing answers at {endpoint}: {'; '.join(problems)}."
    problems = dict.fromkeys(f"{answer.url}: {answer.problem}" for answer in answers)
    return f"The server does not say how much it reads. {'; '.join(problems)}."


def _key(endpoint: str, model: str) -> tuple[str, str]:
    return endpoint.rstrip("/"), model
