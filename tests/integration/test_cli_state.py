"""`fabula state …` over a real store: readable, as JSON, and refused with what to do next."""

import io
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from adapters.time_and_names import RandomNames
from api.cli import exits
from api.cli.commands import app
from api.config import Config
from api.use_cases.campaigns import create_campaign
from api.wiring import open_log, open_store
from domain.campaign.commands import StatePass
from domain.campaign.settings import CampaignSettings
from domain.log import EventLog
from tests.told import CRYSTAL, MADE, block_of, tell

UNKNOWN = {"type": "set_possession", "item": "nothing", "owner": "imani"}
SCENE = {"type": "set_scene", "summary": "Rain on the dome.", "location": "ceres", "present": ["imani"]}
NASTY = {"type": "set_entity_status", "entity": "imani", "status": "\x1b[31mred [bold]plain[/bold] :smile:"}
SETTLED = (
    {"type": "add_fact", "subject": "crystal", "predicate": "belongs to", "object": "imani"},
    {"type": "add_fact", "predicate": "the docks are closed"},
    {"type": "invalidate_fact", "fact_id": "f2", "reason": "They opened."},
    {"type": "set_relationship", "source": "imani", "relationship": "fears", "target": "ceres"},
    {"type": "open_thread", "thread": "log", "title": "Who erased the log"},
    {"type": "set_entity_attribute", "entity": "imani", "attribute": "rank", "value": 3},
)


class Shell:
    """Runs commands in this process and remembers what they printed."""

    def __init__(self, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch, home: Path) -> None:
        self._capture = capture
        self._patch = patch
        self.home = home
        self.out = ""
        self.err = ""

    def run(self, *arguments: str, typed: bytes = b"", command: str = "state") -> int:
        """The exit status."""
        self._capture.readouterr()
        self._patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(typed)))
        with pytest.raises(SystemExit) as ended:
            exits.run(app, [command, *arguments, "--home", str(self.home)])
        self.out, self.err = self._capture.readouterr()
        return int(ended.value.code or 0)

    def json(self, *arguments: str, typed: bytes = b"") -> Any:
        assert self.run(*arguments, "--json", typed=typed) == 0, self.err
        return orjson.loads(self.out)

    def says(self, *arguments: str, typed: bytes = b"") -> str:
        assert self.run(*arguments, typed=typed) == 0, self.err
        return self.out

    def fails(self, *arguments: str, typed: bytes = b"") -> str:
        """What is said on standard error by a command that is used wrongly."""
        assert self.run(*arguments, typed=typed) == 2, self.out
        assert self.out == ""
        return self.err


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine's own."""
    for name in [name for name in os.environ if name.startswith("FABULA_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A store with a story of three turns, and a newer story in which nothing has happened."""
    home = tmp_path_factory.mktemp("original")
    with open_store(Config(home=home, narrator=False), following=False) as store:
        campaign = create_campaign(store.log, RandomNames(), CampaignSettings(title="T"), "It begins.")
        tell(store.log, campaign, "She walks in.", *MADE)
        tell(store.log, campaign, "She takes the crystal.", CRYSTAL, UNKNOWN, SCENE, NASTY, *SETTLED)
        tell(store.log, campaign, "Nothing happens.", state_pass=StatePass(error="the server refused it"))
        newer = create_campaign(store.log, RandomNames(), CampaignSettings(title="Newer"), "It begins.")
    return home, campaign, newer


@pytest.fixture
def shell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, original: tuple[Path, str, str], tmp_path: Path
) -> Shell:
    """A shell over a copy of that store."""
    shutil.copytree(original[0], tmp_path / "home")
    return Shell(capsys, monkeypatch, tmp_path / "home")


@pytest.fixture
def campaign(original: tuple[Path, str, str]) -> str:
    return original[1]


@pytest.fixture
def log(shell: Shell) -> Iterator[EventLog]:
    with open_log(Config(home=shell.home)) as log:
        yield log


def test_the_state_is_shown_by_its_ids(shell: Shell, campaign: str) -> None:
    said = shell.says(campaign)
    for line in (
        "Moment 7 · node 7",
        "Rain on the dome. (at Ceres; present: Captain Imani)",
        "  imani  Captain Imani · ␛[31mred [bold]plain[/bold] :smile:; holds The crystal; rank: 3",
        "  crystal  The crystal · held by Captain Imani",
        "  f1  The crystal belongs to Captain Imani",
        "  f2  the docks are closed · They opened.",
        "  r1  Captain Imani fears Ceres",
        "  log  Who erased the log",
    ):
        assert line in said
    assert "`fabula state why " in said
    assert "\x1b" not in said
    assert all(
        heading in said for heading in ("Characters", "Established", "No longer true", "Between them", "Still open")
    )


def test_show_need_not_be_named_and_neither_the_newest_story(shell: Shell, campaign: str) -> None:
    assert shell.json(campaign) == shell.json("show", campaign)
    assert shell.json("--at", "1") == shell.json("show", "--at", "1")
    assert shell.json()["document"]["entities"] == {}
    assert "Nothing is established yet." in shell.says()
    assert shell.json(campaign, "--at", "3")["document"]["possessions"] == {}
    assert shell.json(campaign, "--position", "1")["at"] == 1


def test_why_shows_the_words_in_the_narration(shell: Shell, campaign: str) -> None:
    said = shell.says("why", "possessions.crystal", "--campaign", campaign)
    assert "possessions.crystal: imani" in said
    assert "The narrator said so at moment 5 (node 5, turn t_told" in said
    assert "She takes the crystal." in said
    assert json.dumps(CRYSTAL) in said
    assert "of the reply:" in said
    answer = shell.json("why", "possessions.crystal", "--campaign", campaign)
    assert (answer["event"], answer["words"]["text"]) == (CRYSTAL, json.dumps(CRYSTAL))
    assert "is as every story begins" in shell.says("why", "scene.location", "--campaign", campaign, "--at", "3")


def test_why_of_what_a_second_request_and_the_player_said(shell: Shell, log: EventLog, campaign: str) -> None:
    tell(
        log,
        campaign,
        "He comes.",
        state_pass=StatePass((CRYSTAL | {"owner": "ceres"},), block_of(CRYSTAL | {"owner": "ceres"})),
    )
    assert "which a second request asked for" in shell.says("why", "possessions.crystal", "--campaign", campaign)
    assert (
        shell.run("correct", "--campaign", campaign, "--note", "She kept it.", typed=json.dumps(CRYSTAL).encode()) == 0
    )
    said = shell.says("why", "possessions.crystal", "--campaign", campaign)
    assert "You said so at moment 9" in said
    assert "She kept it." in said


def test_history_lists_the_changes(shell: Shell, campaign: str) -> None:
    shell.run("correct", "--campaign", campaign, typed=json.dumps(CRYSTAL | {"owner": None}).encode())
    lines = shell.says("history", "possessions.crystal", "--campaign", campaign).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["5", "5", "the", "narrator", "possessions.crystal", "–", "imani"],
        ["7", "7", "you", "possessions.crystal", "imani", "–"],
    ]
    assert len(shell.json("history", "entities.imani", "--campaign", campaign)["changes"]) > 4
    assert "nothing has set it" in shell.says("history", "scene", "--campaign", campaign, "--at", "3")


@pytest.mark.parametrize("command", ["why", "history"])
def test_a_path_that_is_none_says_what_there_is(shell: Shell, campaign: str, command: str) -> None:
    said = shell.fails(command, "entities.nobody", "--campaign", campaign)
    assert "'entities.nobody' is no leaf of this state; leaves like it are: entities.imani.type" in said
    assert "no leaf" in shell.fails(command, "x", "--campaign", campaign)


@pytest.mark.parametrize(
    "body", [[CRYSTAL | {"owner": "ceres"}], CRYSTAL | {"owner": "ceres"}, {"events": [CRYSTAL | {"owner": "ceres"}], "note": "x"}]
)  # fmt: skip
def test_events_are_entered_from_standard_input(shell: Shell, campaign: str, body: Any) -> None:
    said = shell.says("correct", "--campaign", campaign, typed=json.dumps(body).encode())
    assert said.splitlines()[1].split() == ["possessions.crystal", "imani", "ceres"]
    assert shell.json(campaign)["document"]["corrected"] == ["possessions.crystal"]
    assert "crystal  The crystal · held by Ceres; your word" in shell.says(campaign)


def test_events_are_entered_from_a_file(shell: Shell, campaign: str, tmp_path: Path) -> None:
    file = tmp_path / "events.json"
    file.write_text(json.dumps([UNKNOWN, CRYSTAL | {"owner": None}]))
    answer = shell.json("correct", str(file), "--campaign", campaign)
    assert [refused["code"] for refused in answer["refused"]] == ["unknown_reference"]
    assert answer["document"]["possessions"] == {}
    file.write_text(json.dumps([UNKNOWN, CRYSTAL]))
    assert "Refused: " in shell.says("correct", str(file), "--campaign", campaign)
    file.write_text(json.dumps([CRYSTAL]))
    assert "It was so already" in shell.says("correct", str(file), "--campaign", campaign)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (b"", "input: it is no JSON"),
        (b"\xff", "input: it is no JSON"),
        (b"[NaN]", "NaN is no JSON"),
        (b"[" * 100_000, "input: it is no JSON"),
        (b"[]", "events: List should have at least 1 item"),
        (b"7" * 2_000_000, "input: it has more than 1,048,576 bytes"),
        (b'{"events": [], "more": 1}', "more: Extra inputs are not permitted"),
        (json.dumps([UNKNOWN]).encode(), "Nothing was changed: every event was refused."),
        (b"7", "every event was refused"),
        (b"[1e999]", "events: a number is too large"),
        (b"9" * 30, "events: a number has at most 64 bits"),
    ],
)
def test_what_is_no_correction_changes_nothing(shell: Shell, campaign: str, typed: bytes, said: str) -> None:
    before = shell.json(campaign)
    assert said in shell.fails("correct", "--campaign", campaign, typed=typed)
    assert shell.json(campaign) == before


def test_a_file_that_is_not_there_is_named(shell: Shell, campaign: str, tmp_path: Path) -> None:
    assert "nothing.json cannot be read: No such file" in shell.fails(
        "correct", str(tmp_path / "nothing.json"), "--campaign", campaign
    )


def test_bytes_that_are_no_text_do_not_stop_a_correction(shell: Shell, campaign: str) -> None:
    shell.says(
        "correct",
        "--campaign",
        campaign,
        "--note",
        "x\udcff",
        typed=rb'{"type":"rename_entity","entity":"imani","name":"I\ud83d"}',
    )
    assert shell.json("why", "entities.imani.name", "--campaign", campaign)["note"] == "x\ufffd"


def test_proposals_say_what_became_of_them(shell: Shell, campaign: str) -> None:
    said = shell.says("proposals", "--campaign", campaign)
    assert "Moment 7 · node 7  absent; the second request failed: the server refused it" in said
    assert "Moment 5 · node 5  partly_applied" in said
    assert f"  + {json.dumps(CRYSTAL)}" in said
    assert f"  - {json.dumps(UNKNOWN)}\n    “nothing”, for `item`, is not the id of an entity." in said
    assert "Older ones: --before 5" in shell.says("proposals", "--campaign", campaign, "--limit", "2")
    assert [each["node"] for each in shell.json("proposals", "--campaign", campaign, "--before", "7")["proposals"]] == [
        5,
        3,
    ]
    assert "No narration of this line has been judged yet." in shell.says("proposals")


def test_the_packet_of_a_scene(shell: Shell, campaign: str) -> None:
    shell.says("profile", "imani", "--descriptor", "hair=grey", "--campaign", campaign)
    said = shell.says("packet", "--campaign", campaign)
    assert "Rain on the dome." in said
    assert "  imani  Captain Imani · ␛[31mred [bold]plain[/bold] :smile:; holds The crystal; hair: grey" in said
    assert "The scene has not been set." in shell.says("packet", "--campaign", campaign, "--at", "3")
    assert shell.json("packet", "--campaign", campaign)["characters"][0]["visual_profile"]["descriptors"] == {
        "hair": "grey"
    }


def test_looks_are_said_piece_by_piece(shell: Shell, campaign: str) -> None:
    imani = ("profile", "imani", "--campaign", campaign)
    assert "nothing was said of it" in shell.says(*imani)
    assert "Nothing has been said" in shell.says("profile", "--campaign", campaign)
    shell.says(*imani, "--descriptor", "hair=grey", "--descriptor", "coat=long", "--feature", "a scar")
    answer = shell.json(*imani, "--descriptor", "coat=", "--style-notes", "Ink.")
    assert (answer["descriptors"], answer["features"], answer["style_notes"]) == ({"hair": "grey"}, ["a scar"], "Ink.")
    said = " ".join(shell.says("profile", "--campaign", campaign).split())
    assert all(piece in said for piece in ("imani Captain Imani", "hair grey", "feature a scar", "style Ink."))
    answer = shell.json(*imani, "--anew", "--feature", "a limp")
    assert (answer["descriptors"], answer["features"], answer["style_notes"]) == ({}, ["a limp"], "")


def test_looks_that_cannot_be_are_refused(shell: Shell, campaign: str) -> None:
    assert "there is no entity 'nobody'" in shell.fails("profile", "nobody", "--campaign", campaign)
    assert "as in hair=grey" in shell.fails("profile", "imani", "--descriptor", "grey", "--campaign", campaign)
    assert "Name the entity" in shell.fails("profile", "--feature", "x", "--campaign", campaign)
    assert "style_notes:" in shell.fails("profile", "imani", "--style-notes", "x" * 2001, "--campaign", campaign)


@pytest.mark.parametrize(
    "arguments",
    [
        ("c_nope",),
        ("why", "scene.summary", "--campaign", "c_nope"),
        ("history", "scene.summary", "--campaign", "c_nope"),
        ("correct", "--campaign", "c_nope"),
        ("proposals", "--campaign", "c_nope"),
        ("packet", "--campaign", "c_nope"),
        ("profile", "--campaign", "c_nope"),
        ("profile", "imani", "--campaign", "c_nope"),
    ],
)
def test_an_unknown_story_is_named(shell: Shell, arguments: tuple[str, ...]) -> None:
    assert "There is no campaign 'c_nope'" in shell.fails(*arguments)


@pytest.mark.parametrize("arguments", [(), ("why", "scene.summary"), ("history", "scene"), ("proposals",), ("packet",)])
def test_an_unknown_node_is_named(shell: Shell, campaign: str, arguments: tuple[str, ...]) -> None:
    story = ("--campaign", campaign) if arguments else (campaign,)
    assert "has no node 99" in shell.fails(*arguments, *story, "--at", "99")


def test_the_game_shows_what_is_established_and_why(shell: Shell, campaign: str) -> None:
    typed = b"/state\n/why possessions.crystal\n/why\n/help\n/quit\n"
    assert shell.run(campaign, "--no-narrator", command="play", typed=typed) == 0
    for line in (
        "  crystal  The crystal · held by Captain Imani",
        "/why possessions.ID, or entities.ID.FIELD, says where it comes from.",
        "possessions.crystal: imani",
        "The narrator said so at moment 5",
        "as in: /why entities.imani.location",
        "  /state    what is established here",
        "  /why      why something of it is so",
    ):
        assert line in shell.out


def test_the_game_says_what_there_is_to_ask_for(shell: Shell, campaign: str) -> None:
    assert shell.run(campaign, "--no-narrator", command="play", typed=b"/why crystal\n") == 2
    assert "leaves like it are: entities.crystal.type" in shell.err


def test_a_store_without_a_story_says_how_to_begin(
    shell: Shell, log: EventLog, original: tuple[Path, str, str]
) -> None:
    for campaign in original[1:]:
        log.delete_campaign(campaign)
    for arguments in ((), ("why", "scene.summary"), ("correct",), ("profile",)):
        assert "there is no story in this store yet; `fabula play` begins one" in shell.fails(*arguments)


def test_without_a_store_a_command_makes_none(shell: Shell) -> None:
    shell.home = shell.home / "elsewhere"
    assert "holds no store" in shell.fails()
    assert not shell.home.exists()


def test_help_lists_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        exits.run(app, ["state", "--help"])
    assert not ended.value.code
    said = capsys.readouterr().out
    assert all(word in said for word in ("show", "why", "history", "correct", "proposals", "packet", "profile"))
