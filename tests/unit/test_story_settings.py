"""What is said of a story's settings, wherever they are named."""

import pytest
from typer.testing import CliRunner

from api.cli.commands import app
from api.http.shapes.campaigns import NewCampaign
from api.reference import reference
from domain.campaign.settings import NO_EFFECT, CampaignSettings, Persona

WITHOUT_EFFECT = {"narration_length", "memory_enabled", "summaries_enabled", "protagonist"}


def test_every_field_says_what_it_is_and_whether_anything_uses_it() -> None:
    for model in (CampaignSettings, Persona, NewCampaign):
        for name, field in model.model_fields.items():
            assert field.description, name
            assert (NO_EFFECT in field.description) == (name in WITHOUT_EFFECT), name


def test_the_reference_has_a_table_of_them() -> None:
    table = reference().partition("### Settings of a story")[2].partition("###")[0]

    for name in (*NewCampaign.model_fields, *(f"persona.{name}" for name in Persona.model_fields)):
        assert f"| `{name}` | " in table
    assert "| `canon` | What is always true in it, piece by piece. | empty | each at most 16,000 characters |" in table
    assert f"{NO_EFFECT}. | `false` |" in table
    assert f"{NO_EFFECT}. | empty | empty, `brief`, `medium`, `long` |" in table


@pytest.mark.parametrize("command", ["new", "revise"])
def test_the_help_of_the_commands_says_so_too(command: str) -> None:
    said = CliRunner().invoke(app, ["campaigns", command, "--help"], env={"COLUMNS": "300"}).output

    assert said.count(NO_EFFECT) == len(WITHOUT_EFFECT)
