"""An instant model in a process of its own, and how long it takes by itself."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import httpx


@contextmanager
def instant_model(reply: str) -> Iterator[str]:
    """The endpoint of a model server that answers every narration with this text, at once."""
    command = [sys.executable, "-m", "tests.fakes.model_server", "--reply", reply, "--n-ctx", "32768"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class DirectClient:
    """Sends a body as any client would, and reads the reply to its end."""

    def __init__(self, endpoint: str) -> None:
        self._client = httpx.Client(trust_env=False)
        self._url = f"{endpoint}/chat/completions"

    def seconds(self, body: bytes) -> float:
        """How long the model server takes for it."""
        begun = perf_counter()
        self._client.post(self._url, content=body, headers={"Content-Type": "application/json"}).raise_for_status()
        return perf_counter() - begun

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()
