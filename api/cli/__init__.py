"""The commands: `fabula serve`, `fabula play`, and those that read, check and change a store."""


def main() -> None:
    """The entry point. Every error ends as a sentence on standard error and an exit status, never as a traceback."""
    from api.cli.commands import app
    from api.cli.exits import run

    run(app)
