"""What is established, in the terminal game, and why."""

from collections.abc import Callable, Mapping

from api.cli.game_moves import Played
from api.use_cases.state import state_answer
from api.use_cases.state_history import why_answer


def state(game: Played, _: str) -> None:
    """What is established where the story stands."""
    from api.cli.state import show_parts
    from api.cli.state_text import state_parts

    show_parts(state_parts(state_answer(game.fabula.log, game.campaign)))
    game.screen.note("\n/why possessions.ID, or entities.ID.FIELD, says where it comes from.")


def why(game: Played, text: str) -> None:
    """Where something that is established comes from."""
    from api.cli.output import console
    from api.cli.state import show_parts
    from api.cli.state_text import why_parts

    if not text:
        return game.screen.note("Name what /state shows, by section, id and field, as in: /why entities.imani.location")
    return show_parts(why_parts(why_answer(game.fabula.log, game.campaign, text), console()))


STATE: Mapping[str, tuple[str, Callable[[Played, str], None]]] = {
    "/state": ("what is established here", state),
    "/why": ("why something of it is so: /why possessions.crystal", why),
}
"""What each word does, for /help, and how."""
