"""`fabula settings …`, as typer sees it."""

from typing import Annotated

import typer

from api.cli.completion import setting_names
from api.cli.options import Endpoint, Home, Json, Model

app = typer.Typer(help="Show the settings in force; change or test them.", invoke_without_command=True)


@app.callback()
def shown(ctx: typer.Context, home: Home = None, as_json: Json = False) -> None:
    """Show the settings in force; change or test them."""
    if ctx.invoked_subcommand is not None:
        if home is not None or as_json:
            raise typer.BadParameter(f"Give options after `{ctx.invoked_subcommand}`, not before it.")
        return
    from api.cli.settings import show_all
    from api.cli.stores import configured

    show_all(configured(home=home), as_json=as_json)


@app.command(name="set", context_settings={"ignore_unknown_options": True})
def change(
    name: Annotated[str, typer.Argument(help="The setting's name.", autocompletion=setting_names)],
    value: Annotated[str, typer.Argument(help='A number, null, a list such as ["###"], or text.')],
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Change a setting. null clears one that need not be set."""
    from api.cli.settings import change as change_one
    from api.cli.stores import configured

    change_one(configured(home=home), name, value, as_json=as_json)


@app.command(name="test")
def examine(home: Home = None, endpoint: Endpoint = None, model: Model = None, as_json: Json = False) -> None:
    """Ask the model server what it offers and how much it reads."""
    from api.cli.settings import examine as examine_them
    from api.cli.stores import configured

    examine_them(configured(home=home, endpoint=endpoint, model=model), as_json=as_json)
