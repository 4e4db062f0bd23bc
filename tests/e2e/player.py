"""Somebody playing a story over HTTP, waiting for answers or listening to them as they come."""

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from tests.e2e.server_process import ANSWER_SECONDS, ServerProcess

STREAM = {"Accept": "text/event-stream"}


@dataclass(frozen=True)
class Heard:
    """One event of a stream."""

    name: str
    data: Any


class Listening:
    """A turn that is listened to, in a thread of its own. Leaving the context hangs up.

    `heard` is what has come so far. `broke` once the connection ended without `done` or `error`.
    """

    def __init__(self, client: httpx.Client, path: str, body: object, headers: dict[str, str]) -> None:
        self._client = client
        self._request = client.build_request("POST", path, json=body, headers={**STREAM, **headers})
        self._changed = threading.Condition()
        self._heard: list[Heard] = []
        self._response: httpx.Response | None = None
        self._over = False
        self._hung_up = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.join(ANSWER_SECONDS)
        self._client.close()

    @property
    def heard(self) -> list[Heard]:
        with self._changed:
            return list(self._heard)

    def until(self, name: str, count: int = 1) -> Heard:
        """The event of this name, the `count`th of its kind, when it has come."""

        def found() -> list[Heard]:
            return [one for one in self._heard if one.name == name]

        with self._changed:
            came = self._changed.wait_for(lambda: len(found()) >= count or self._over, ANSWER_SECONDS)
            assert came, f"no {name!r} in {ANSWER_SECONDS:g} seconds, only {self._heard}"
            assert len(found()) >= count, f"it ended without {name!r}: {self._heard}"
            return found()[count - 1]

    def until_over(self) -> list[Heard]:
        """Everything, when the connection has ended, however it did."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._over, ANSWER_SECONDS), f"it goes on: {self._heard}"
            return list(self._heard)

    @property
    def broke(self) -> bool:
        """Whether it ended, and not as a turn ends."""
        with self._changed:
            return self._over and not (self._heard and self._heard[-1].name in ("done", "error"))

    @property
    def turn(self) -> str:
        """The turn's name."""
        return str(self.until("accepted").data["turn"])

    def said(self) -> str:
        """The deltas so far, together."""
        return "".join(one.data["text"] for one in self.heard if one.name == "delta")

    def hang_up(self) -> None:
        """Close the connection at the next event that comes."""
        self._hung_up.set()

    def _listen(self) -> None:
        try:
            with suppress(httpx.HTTPError):
                response = self._client.send(self._request, stream=True)
                for event in _events(response.iter_lines()):
                    self._add(event)
                    if self._hung_up.is_set():
                        break
                response.close()
        finally:
            with self._changed:
                self._over = True
                self._changed.notify_all()

    def _add(self, event: Heard) -> None:
        with self._changed:
            self._heard.append(event)
            self._changed.notify_all()


def _events(lines: Iterable[str]) -> Iterator[Heard]:
    name, data = "", ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            data = line.removeprefix("data: ")
        elif not line and name:
            yield Heard(name, json.loads(data))
            name, data = "", ""
        elif line.startswith("{"):  # a refusal is no stream
            yield Heard("refused", json.loads(line))


@dataclass(frozen=True)
class Player:
    """Plays one story through one server."""

    server: ServerProcess
    campaign: str

    @classmethod
    def of_a_new_story(cls, server: ServerProcess, **settings: object) -> Self:
        """Creates the story."""
        wanted = {"title": "The far side", "opening": "A door stands open.", **settings}
        answer = server.client.post("/api/campaigns", json=wanted)
        assert answer.status_code == 201, answer.text
        return cls(server, answer.json()["id"])

    def through(self, server: ServerProcess) -> "Player":
        """The same story, played through another server."""
        return Player(server, self.campaign)

    @property
    def path(self) -> str:
        return f"/api/campaigns/{self.campaign}"

    def get(self, path: str, **parameters: Any) -> Any:
        """A JSON answer of this story; it must be a 200."""
        answer = self.server.client.get(self.path + path, params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: object = None, key: str | None = None) -> httpx.Response:
        """Whatever is answered to a POST."""
        headers = {"Idempotency-Key": key} if key else {}
        return self.server.client.post(self.path + path, json=body, headers=headers)

    def act(self, text: str, kind: str = "do", key: str | None = None) -> httpx.Response:
        """Takes a turn with words and waits for its answer."""
        return self.post("/turns", {"kind": kind, "text": text}, key)

    def go_on(self, key: str | None = None) -> httpx.Response:
        """Takes a turn without words and waits for its answer."""
        return self.post("/turns", {"kind": "continue"}, key)

    def retry(self, key: str | None = None) -> httpx.Response:
        """Asks for another take and waits for the answer."""
        return self.post("/retry", key=key)

    def cancel(self, turn: str) -> httpx.Response:
        """Asks for a turn to stop, and waits until it has."""
        return self.post(f"/turns/{turn}/cancel")

    def listen(self, text: str | None = None, *, kind: str = "do", retry: bool = False, key: str = "") -> Listening:
        """Takes a turn and listens to it."""
        body: object = {"kind": "continue"} if text is None else {"kind": kind, "text": text}
        headers = {"Idempotency-Key": key} if key else {}
        path = "/retry" if retry else "/turns"
        return Listening(self.server.new_client(), self.path + path, None if retry else body, headers)

    @contextmanager
    def waiting(self, text: str, *, kind: str = "do", key: str = "") -> Iterator[Callable[[], httpx.Response]]:
        """Takes a turn and waits for its JSON answer, in a thread of its own; the answer when it is asked for."""
        headers = {"Idempotency-Key": key} if key else {}
        with self.server.new_client() as client, ThreadPoolExecutor(1) as thread:
            body = {"kind": kind, "text": text}
            answer = thread.submit(client.post, f"{self.path}/turns", json=body, headers=headers)
            yield lambda: answer.result(ANSWER_SECONDS)

    @contextmanager
    def abandoned(self, request: httpx.Request) -> Iterator[None]:
        """Sends a request, and hangs up at the end of the context without having read a byte of its answer."""
        where = (request.url.host, request.url.port or 80)
        head = f"{request.method} {request.url.raw_path.decode()} HTTP/1.1\r\n"
        lines = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        with socket.create_connection(where, ANSWER_SECONDS) as connection:
            connection.sendall(f"{head}{lines}\r\n".encode() + request.content)
            yield

    def told(self) -> list[tuple[str, str]]:
        """The story's nodes after the opening: their kinds and texts."""
        nodes = self.get("/story", limit=500)["nodes"]
        return [(node["kind"], node["text"]) for node in nodes[1:]]

    def position(self) -> dict[str, Any]:
        """Where the reader is."""
        position: dict[str, Any] = self.get("")["position"]
        return position

    def events(self, *topics: str) -> list[dict[str, Any]]:
        """The story's events, of these topics or all."""
        found: list[dict[str, Any]] = []
        page = self.get("/events", limit=1000)
        found += page["events"]
        while page["next"] is not None:
            page = self.get("/events", limit=1000, after=page["next"])
            found += page["events"]
        return [event for event in found if not topics or event["topic"] in topics]

    def endings(self) -> dict[str, list[str]]:
        """How each turn ended, by the events that end it: the stage of a failure, or `accepted`."""
        ends: dict[str, list[str]] = {event["turn"]: [] for event in self.events("story.turn_opened")}
        for event in self.events("story.narration_accepted", "story.turn_failed"):
            ends[event["turn"]].append(event["data"].get("stage", "accepted"))
        return ends


def problem(answer: httpx.Response) -> tuple[int, str]:
    """The status and the code of a problem."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    said = answer.json()
    assert said["status"] == answer.status_code
    return answer.status_code, said["code"]


def codes(answers: Sequence[httpx.Response]) -> list[int]:
    """Their statuses."""
    return [answer.status_code for answer in answers]
