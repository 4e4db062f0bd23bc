"""The small narrator's pure parts: the delay, the look at the port, the words of its errors, the command line."""

from itertools import accumulate, repeat
from pathlib import Path

import httpx
import pytest

from adapters.small_narrator import MODEL, NarratorFailedToStart, NarratorPortTaken
from adapters.small_narrator.child import Launch
from adapters.small_narrator.occupant import Occupant, occupant_who_answered
from adapters.small_narrator.restart_delay import restart_delay
from domain.errors import FabulaError


def test_a_child_that_keeps_dying_is_waited_for_longer_each_time_up_to_ten_seconds() -> None:
    first = restart_delay(None, healthy_for=0)
    delays = list(accumulate(repeat(0.0, 7), restart_delay, initial=first))
    assert delays == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]


def test_a_minute_of_health_is_forgiven() -> None:
    assert restart_delay(6.4, healthy_for=59.9) == 10.0
    assert restart_delay(6.4, healthy_for=60.0) == 0.2


@pytest.mark.parametrize(
    ("status", "body", "occupant"),
    [
        (200, {"data": [{"id": "another"}, {"id": MODEL}]}, Occupant.NARRATOR),
        (200, {"data": [{"id": "another"}]}, Occupant.STRANGER),
        (200, {"data": ["smollm2", None]}, Occupant.STRANGER),
        (200, {"data": {MODEL: 1}}, Occupant.STRANGER),
        (200, [MODEL], Occupant.STRANGER),
        (404, {"data": [{"id": MODEL}]}, Occupant.STRANGER),
        (503, {"error": {"message": "Loading model"}}, Occupant.LOADING),
    ],
)
def test_who_listens_is_known_by_the_list_of_models(status: int, body: object, occupant: Occupant) -> None:
    assert occupant_who_answered(httpx.Response(status, json=body), MODEL) is occupant


@pytest.mark.parametrize("content", [b"<html>It works!</html>", b"", b"\xff\xfe{"])
def test_who_answers_with_anything_but_json_is_a_stranger(content: bytes) -> None:
    assert occupant_who_answered(httpx.Response(200, content=content), MODEL) is Occupant.STRANGER


def test_a_taken_port_is_told_with_what_to_do_next() -> None:
    error = NarratorPortTaken(8421)
    assert isinstance(error, FabulaError)
    assert error.fields == {"port": 8421}
    assert all(word in error.message for word in ("8421", "FABULA_NARRATOR_PORT", "--no-narrator"))


def test_a_failed_start_is_told_with_what_the_child_said_last() -> None:
    error = NarratorFailedToStart("it ended", ["failed to open", "giving up"])
    assert isinstance(error, FabulaError)
    assert error.message.endswith("It said last:\n    failed to open\n    giving up")
    assert error.fields == {"why": "it ended", "lines": ["failed to open", "giving up"]}


def test_a_failed_start_without_a_word_from_the_child_promises_none() -> None:
    assert "It said last" not in NarratorFailedToStart("it ended").message


def test_the_child_is_our_program_with_nothing_to_import_from_the_working_directory() -> None:
    _, safe_path, program, *options = Launch(Path("m.gguf"), MODEL, 8421, 8192).command()
    assert safe_path == "-P"
    assert Path(program).is_file()
    assert options == ["--model", "m.gguf", "--alias", MODEL, "--port", "8421", "--context", "8192"]
