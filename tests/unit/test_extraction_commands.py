"""`fabula extractor texts` and `run`, as programs use them."""

import io
import sys
from typing import Any

import orjson
import pytest

from api.cli import exits
from api.cli.commands import app
from domain.extraction.case_texts import case_texts
from tests.extraction_cases import cases, comparable

REPLY = 'Rain ticks.\n\n```state\n{"events": [{"type": "add_fact", "predicate": "it rains"}]}\n```\n'


def ran(capture: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capture.readouterr()
    status = 0
    try:
        exits.run(app, ["extractor", *arguments])
    except SystemExit as ended:
        status = int(ended.code or 0)
    out, err = capture.readouterr()
    return status, out, err


def give(monkeypatch: pytest.MonkeyPatch, reply: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(reply), encoding="utf-8"))


def read(capture: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, reply: str, *options: str) -> Any:
    give(monkeypatch, reply.encode())
    status, out, err = ran(capture, "run", *options)
    assert (status, err) == (0, "")
    return orjson.loads(out)


def test_a_reply_is_read(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(capsys, monkeypatch, REPLY) == {
        "prose": "Rain ticks.",
        "events": [{"type": "add_fact", "predicate": "it rains"}],
        "block": '{"events": [{"type": "add_fact", "predicate": "it rains"}]}',
        "removals": [
            {"rule": "whitespace", "start": 11, "end": 13},
            {"rule": "block", "start": 13, "end": 85},
            {"rule": "whitespace", "start": 85, "end": 86},
        ],
    }


def test_every_version_can_be_asked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(capsys, monkeypatch, REPLY, "--version", "0")["events"] == "absent"
    assert read(capsys, monkeypatch, f"{REPLY}\n```json", "--version", "1")["prose"] == "Rain ticks.\n\n```json"


def test_line_ends_and_signs_of_any_kind_come_through(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = "\ufeffRain.\r\nOren\0 waits\u2028 😀."
    assert read(capsys, monkeypatch, reply)["prose"] == reply


def test_the_cases_can_be_run_from_outside(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for case in cases("extraction.jsonl"):
        answer = read(capsys, monkeypatch, case.raw)
        assert comparable(answer["prose"]) in case.proses
        assert answer["events"] == case.events


def test_what_is_no_utf8_is_wrong_use(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, b"Rain \xff")
    status, out, err = ran(capsys, "run")
    assert (status, out) == (2, "")
    assert "byte 6" in err


def test_an_unknown_version_is_wrong_use(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, b"Rain.")
    status, out, err = ran(capsys, "run", "--version", "9")
    assert (status, out) == (2, "")
    assert "There are: 0, 1, 2." in " ".join(err.split())


def test_our_texts_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = ran(capsys, "texts", "--json")
    assert status == 0
    assert orjson.loads(out) == case_texts()
    status, out, _ = ran(capsys, "texts")
    assert status == 0
    assert case_texts()["REMINDER"] in out
