"""What commands say to a shell: statuses, JSON, command lines, the values of settings."""

import shutil
import subprocess
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.cli import exits
from api.cli.audit import curl
from api.cli.output import print_json, print_json_line, show, table
from api.cli.rebuild import _more
from api.cli.settings import meant
from domain.errors import (
    EndpointRefused,
    FabulaError,
    InternalError,
    ModelUnreachable,
    NothingToRetry,
    StoreFull,
    StoreNewer,
    UnknownCampaign,
)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UnknownCampaign("c_x"), 2),
        (NothingToRetry("c_x"), 2),
        (EndpointRefused("ftp://x", "it is not an http or https URL"), 2),
        (ModelUnreachable("http://127.0.0.1:1", "refused"), 3),
        (StoreFull("/x"), 3),
        (StoreNewer("a log of format 9"), 3),
        (InternalError("It"), 3),
    ],
)
def test_wrong_use_is_2_and_failure_is_3(error: FabulaError, status: int) -> None:
    assert exits.status_of(error) == status


def test_an_error_is_said_on_standard_error_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    exits.told(StoreNewer("an event of the kind '\x1b[2J'"))

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("This store holds an event of the kind '␛[2J'")


@given(st.text(st.characters(codec="utf-8")))
@settings(max_examples=50)
def test_printed_json_is_the_same_value_and_harmless(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        written: list[str] = []
        patch.setattr("api.cli.output.write", written.append)
        print_json({"text": text})
        print_json_line({"text": text})

    assert [orjson.loads(one) for one in written] == [{"text": text}] * 2
    obeyed = (
        *range(10),
        *range(11, 32),
        *range(127, 160),
        0x200E,
        0x200F,
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
    )
    assert not set("".join(written)) & {chr(code) for code in obeyed}
    assert written[1].count("\n") == 1


def test_a_table_holds_text_as_it_is_and_no_blanks_at_the_ends_of_lines(capsys: pytest.CaptureFixture[str]) -> None:
    show(table(("name", "value"), [("[bold]x[/bold]", ":smile: \x1b"), ("none", None)]))

    assert capsys.readouterr().out == "name            value\n[bold]x[/bold]  :smile: ␛\nnone\n"


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"it\'s": "$HOME `x` \\n"}',
        "é日本\x7f".encode(),
        b"FABULA_BODY",
        b"two\nlines\n",
        b"",
        b"FABULA_BODY\n",
    ],
)
def test_the_command_line_sends_exactly_the_body(body: bytes) -> None:
    command = curl("http://127.0.0.1:1/v1/chat/completions", body, with_key=False)
    bash = shutil.which("bash") or "sh"

    sent = subprocess.run([bash], input=b"curl() { cat; }\n" + command, capture_output=True, check=True)

    assert sent.stdout == body
    assert sent.stderr == b""


def test_the_command_line_quotes_the_address_and_never_holds_the_key() -> None:
    with_key = curl("http://h/v1;rm -rf x", b"{}", with_key=True)

    assert b"'http://h/v1;rm -rf x'" in with_key
    assert b'-H "Authorization: Bearer $FABULA_API_KEY"' in with_key
    assert b"Authorization" not in curl("http://h/v1", b"{}", with_key=False)


@pytest.mark.parametrize(
    ("name", "value", "means"),
    [
        ("max_output_tokens", "500", 500),
        ("temperature", "0.5", 0.5),
        ("seed", "null", None),
        ("stop", '["###"]', ["###"]),
        ("model", "llama3.2", "llama3.2"),
        ("model", '"llama3.2"', "llama3.2"),
        ("model", "42", "42"),
        ("model", "", ""),
        ("model", '["a"]', '["a"]'),
        ("endpoint", "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
        ("narrator_prompt", "Tell it slowly.", "Tell it slowly."),
        ("mode", "completion", "completion"),
    ],
)
def test_a_typed_value_means_json_or_text(name: str, value: str, means: Any) -> None:
    assert meant(name, value) == means


def test_a_build_beside_and_a_parked_view_are_told_below_the_table() -> None:
    build = {
        "position": 40,
        "target": 200,
        "events_per_second": 80.0,
        "seconds_left": 2.0,
        "parked_at": None,
        "error": None,
    }
    standing: list[dict[str, Any]] = [
        {"name": "campaigns", "parked_at": None, "error": None, "rebuilding": None},
        {"name": "story", "parked_at": None, "error": None, "rebuilding": build},
        {
            "name": "prompts",
            "parked_at": 17,
            "error": "LookupError",
            "rebuilding": {**build, "seconds_left": None, "parked_at": 17, "error": "LookupError"},
        },
    ]
    assert list(_more(standing)) == [
        "story is being built anew: 40 of 200, 2 s left.",
        (
            "prompts cannot take in the event at position 17 (LookupError). `fabula rebuild prompts`, or a start of the "
            "program, tries again."
        ),
        "prompts is being built anew: 40 of 200, parked at 17 (LookupError).",
    ]
