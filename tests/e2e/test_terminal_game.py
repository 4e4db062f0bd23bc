"""`fabula play` at a terminal: the real program behind a pseudo-terminal, and a model server on a real socket."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pytest

from tests.fakes.model_server import Reply, ScriptedModelServer

SECONDS = 60
PROMPT = "\r\n> "


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine's own, and a narrator's port that nobody else has."""
    for name in [name for name in os.environ if name.startswith("FABULA_")] + ["COLUMNS", "LINES", "NO_COLOR"]:
        monkeypatch.delenv(name, raising=False)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        monkeypatch.setenv("FABULA_NARRATOR_PORT", str(listener.getsockname()[1]))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("INPUTRC", os.devnull)


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(n_ctx=4096) as server:
        yield server


def _as_from_a_background_job() -> None:
    """Shells begin those with Ctrl-C ignored, which a terminal that is opened there passes on to the game."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def terminal(home: Path, server: ScriptedModelServer, *arguments: str) -> Iterator["pexpect.spawn[str]"]:
    """The game in a terminal of 60 columns."""
    given = ["--home", str(home), "--endpoint", server.endpoint, "--model", "scripted-model", "--no-narrator"]
    command = ["-c", "from api.cli import main; main()", "play", *arguments, *given]
    # Given, since the readline of this process may have put its own terminal's size where only C sees it.
    variables = dict(os.environ)
    game = pexpect.spawn(
        sys.executable,
        command,
        encoding="utf-8",
        dimensions=(40, 60),
        timeout=SECONDS,
        env=variables,
        preexec_fn=_as_from_a_background_job,
    )
    try:
        yield game
    finally:
        game.close(force=True)


def begin(game: "pexpect.spawn[str]", title: str, opening: str) -> None:
    game.expect_exact("What is the story called? ")
    game.sendline(title)
    game.expect_exact("How does it begin?")
    game.sendline(opening)
    game.expect_exact(PROMPT)


def end_status(game: "pexpect.spawn[str]") -> int | None:
    game.expect_exact("The story is kept.")
    game.expect(pexpect.EOF)
    game.close()
    return game.exitstatus


def test_a_story_is_played_left_and_taken_up_again(tmp_path: Path, server: ScriptedModelServer) -> None:
    hold = threading.Event()
    long = "The door gives way to a corridor that is a good deal longer than the house around it."
    server.script(
        Reply("Rain begins. And it ends.", deltas=("Rain begins. ", "And it ", "ends."), hang_until=hold, hang_after=1),
        Reply(long),
        Reply("\x1b]0;owned\x07Quiet\x00 and \x9b31m[bold]plain[/bold] :smile:."),
        Reply.refusal(500, "out of memory"),
        Reply("It answers at last."),
        Reply("Another answer."),
    )
    with terminal(tmp_path, server) as game:
        begin(game, "The dóor", "")
        game.sendline("I wait")
        game.expect_exact("Rain begins.")  # while the rest has not been said
        assert not hold.is_set()
        hold.set()
        game.expect_exact("And it ends.")
        game.expect_exact("Moment 3")
        game.expect_exact(PROMPT)

        game.sendline("")
        game.expect_exact("The door gives way to a corridor that is a good deal longer\r\nthan the house around it.")
        game.expect_exact("Moment 4")
        game.expect_exact(PROMPT)

        game.sendline("/say Who is there?")
        game.expect_exact("␛]0;owned␇Quiet␀ and \ufffd31m[bold]plain[/bold] :smile:.")
        game.expect_exact(PROMPT)

        game.sendline("I ask again")
        game.expect_exact("out of memory")
        game.expect_exact("Your words are kept: an empty line tells them again")
        game.expect_exact(PROMPT)

        game.sendline("")
        game.expect_exact("It answers at last.")
        game.expect_exact("Moment 8")
        game.expect_exact(PROMPT)

        game.sendline("/retry")
        game.expect_exact("Another answer.")
        game.expect_exact(PROMPT)
        game.sendline("/takes")
        game.expect_exact("1. It answers at last.")
        game.expect_exact("2. Another answer.  ← the story goes on from")
        game.expect_exact(PROMPT)
        game.sendline("/context")
        game.expect_exact("Narrator prompt")
        game.expect_exact(PROMPT)
        game.sendline("/dance")
        game.expect_exact("There is no /dance.")
        game.expect_exact(PROMPT)
        game.sendeof()
        assert end_status(game) == 0

    with terminal(tmp_path, server) as game:
        game.expect_exact("The dóor")
        game.expect_exact("> You ask again")
        game.expect_exact("Another answer.")
        game.expect_exact("Moment 8")
        game.expect_exact(PROMPT)
        game.sendline("/story")
        game.expect_exact("The lamps have gone out")
        game.expect_exact("Rain begins.")
        game.expect_exact(PROMPT)
        interrupt_two_turns(game, server)
        game.sendline("")
        game.expect_exact("Told to its end.")
        game.expect_exact("Moment 10")
        game.expect_exact(PROMPT)
        game.sendintr()
        assert end_status(game) == 0
    assert b"You ring it" in server.narrations[-1].body


def interrupt_two_turns(game: "pexpect.spawn[str]", server: ScriptedModelServer) -> None:
    """One in the middle of its telling, one before its first word. The words are kept, and the model server is let go."""
    never, taken = threading.Event(), len(server.narrations)
    server.script(
        Reply("Half of it and no more than that", hang_until=never, hang_after=4),
        Reply("Nothing at all", hang_until=never),
        Reply("Told to its end."),
    )
    game.sendline("I ring it")
    game.expect_exact("Half of it")
    game.sendintr()
    game.expect_exact("Cancelled. Your words are kept: an empty line tells them")
    assert server.wait_for_disconnect(count=1)
    game.expect_exact(PROMPT)
    game.sendline("/retry")
    while len(server.narrations) < taken + 2:
        server.wait_for_requests(len(server.requests) + 1, timeout=0.2)
    game.sendintr()
    game.expect_exact("Cancelled.")
    game.expect_exact(PROMPT)


def test_a_reader_goes_back_forth_and_aside_and_comes_back_the_next_day(
    tmp_path: Path, server: ScriptedModelServer
) -> None:
    server.script(Reply("Rain begins."), Reply("It turns to snow."), Reply("The sun comes out."))
    with terminal(tmp_path, server) as game:
        begin(game, "The weather", "It is evening.")
        for line, seen, label in (
            ("I wait", "Rain begins.", "Moment 3"),
            ("/save the rain", "Moment 3 is saved as the rain.", "/restore the rain"),
            ("I wait longer", "It turns to snow.", "Moment 5"),
            ("/undo", "Rain begins.", "Moment 3 · later story ahead"),
            ("/redo", "It turns to snow.", "Moment 5"),
            ("/restore 3", "Rain begins.", "Moment 3 · later story ahead"),
            ("I go in", "The sun comes out.", "Moment 5"),
            ("/branch indoors", "is called indoors", "."),
            ("/redo", "The story stands at its newest moment", "/help lists what there is."),  # and the game goes on
            ("/revise The moon rises.", "The moon rises.", "Moment 5"),
            ("/tree", "you are here", "the rain"),
            ("/restore the rain", "Rain begins.", "Moment 3 · later story ahead"),
        ):
            game.sendline(line)
            game.expect_exact(seen)
            if line != "/tree":  # where the names stand is the drawing's affair
                game.expect_exact(label)
            game.expect_exact(PROMPT)
        game.sendline("/quit")
        assert end_status(game) == 0
    with terminal(tmp_path, server) as game:
        game.expect_exact("Rain begins.")
        game.expect_exact("Moment 3 · later story ahead")
        game.expect_exact(PROMPT)
        game.sendline("/redo")
        game.expect_exact("The moon rises.")
        game.expect_exact(PROMPT)
        game.sendeof()
        assert end_status(game) == 0
