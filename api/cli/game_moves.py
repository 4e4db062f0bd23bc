"""Going back, forth and aside in the terminal game, and naming places."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from adapters.time_and_names import RandomNames
from api.cli.screen import Screen
from api.use_cases import places
from api.use_cases.difference import difference
from api.use_cases.tree import drawing
from api.wiring import Fabula
from domain.prompt.wording import as_prompted
from domain.text import without_lone_surrogates


class Played(Protocol):
    """The game, as far as a move needs it."""

    fabula: Fabula
    screen: Screen
    campaign: str


def undo(game: Played, _: str) -> None:
    """Back over the newest turn."""
    _arrived(game, _past_dead_turns(game, lambda: places.undo(game.fabula.log, game.campaign)))


def redo(game: Played, _: str) -> None:
    """Forth to the next turn."""
    _arrived(game, _past_dead_turns(game, lambda: places.redo(game.fabula.log, game.campaign)))


def select(game: Played, text: str) -> None:
    """To another take of this moment, by its number in /takes."""
    takes = game.fabula.log.takes(game.campaign, game.fabula.log.campaign(game.campaign).head)
    numbered = {str(number): take for number, take in enumerate(takes, start=1)}
    if text not in numbered:
        return game.screen.note(f"Name a take from 1 to {len(takes)}, as /takes lists them: /select 1")
    return _go(game, numbered[text])


def save(game: Played, text: str) -> None:
    """A name for this moment."""
    if not text:
        return game.screen.note("Add the name, as in: /save before the storm")
    name, _ = without_lone_surrogates(text)
    point = places.set_save_point(game.fabula.log, RandomNames(), game.campaign, name, None)
    return game.screen.note(
        f"Moment {point['moment']} is saved as {point['name']}. /restore {point['name']} comes back to it."
    )


def saves(game: Played, _: str) -> None:
    """The save points."""
    points = places.save_points(game.fabula.log, game.campaign)["save_points"]
    for point in points:
        game.screen.show(f"{point['name']}: moment {point['moment']}, node {point['node']}")
    if not points:
        game.screen.note("There are none yet. /save NAME sets one.")


def restore(game: Played, text: str) -> None:
    """To a save point, a branch, or any node."""
    if not text:
        return game.screen.note("Name a save point, a branch or a node, as in: /restore before the storm")
    node = places.place_named(game.fabula.log, game.campaign, text)
    return _go(game, node)


def revise(game: Played, text: str) -> None:
    """The newest text anew, beside the old one."""
    if not text:
        return game.screen.note("Add the words, as in: /revise The door holds.")
    return _rewritten(game, places.revise, text)


def correct(game: Played, text: str) -> None:
    """The newest text mended in place."""
    if not text:
        return game.screen.note("Add the words, as in: /correct The door gives way.")
    return _rewritten(game, places.correct, text)


def name_branch(game: Played, text: str) -> None:
    """A name for the branch that the story is on."""
    if not text:
        return game.screen.note("Add the name, as in: /branch the harbour")
    head = game.fabula.log.node(game.campaign, game.fabula.log.campaign(game.campaign).head)
    named = places.name_branch(game.fabula.log, game.campaign, head.branch, without_lone_surrogates(text)[0])
    return game.screen.note(f"Branch {named['branch']} is called {named['name']}.")


def tree(game: Played, _: str) -> None:
    """The whole tree."""
    from api.cli.output import console
    from api.cli.tree import print_tree

    print_tree(drawing(game.fabula.log, game.campaign), console())


def diff(game: Played, text: str) -> None:
    """How two places differ."""
    from api.cli.diff import print_difference
    from api.cli.output import console

    words = text.split()
    if not 1 <= len(words) <= PLACES:
        return game.screen.note("Name one place to compare with here, or two, as in: /diff 12 31")
    left, right = words if len(words) == PLACES else (words[0], "head")
    return print_difference(difference(game.fabula.store, game.campaign, left, right), console())


PLACES = 2


def _go(game: Played, node: int) -> None:
    _arrived(game, _past_dead_turns(game, lambda: places.move_head(game.fabula.log, game.campaign, node, None)))


def _rewritten(game: Played, rewrite: Callable[..., dict[str, Any]], text: str) -> None:
    new, replaced = without_lone_surrogates(text)
    log = game.fabula.log
    head = log.campaign(game.campaign).head
    answer = _past_dead_turns(game, lambda: rewrite(log, game.campaign, head, new, replaced_surrogates=replaced))
    return _arrived(game, answer["position"])


def _past_dead_turns(game: Played, move: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    return game.fabula.turns.dead.past(move)


def _arrived(game: Played, position: Mapping[str, Any]) -> None:
    """Shows where the story stands now."""
    (node,) = game.fabula.log.end_of_line(game.campaign, position["head"], limit=1)
    game.screen.show(f"{as_prompted(node)}\n", "bold" if node.is_player else "")
    game.screen.note(str(position["label"]))


MOVES: Mapping[str, tuple[str, Callable[[Played, str], None]]] = {
    "/undo": ("back to before the newest turn", undo),
    "/redo": ("forth again, one turn", redo),
    "/select": ("go on from another take: /select 1", select),
    "/save": ("name this moment: /save before the storm", save),
    "/saves": ("the save points", saves),
    "/restore": ("go to a save point, a branch or a node", restore),
    "/revise": ("write the newest text anew, beside the old one", revise),
    "/correct": ("mend the newest text in place", correct),
    "/branch": ("name the branch that you are on", name_branch),
    "/tree": ("the whole tree: where you are, and what was left", tree),
    "/diff": ("how two places differ: /diff 12 31", diff),
}
"""What each word does, for /help, and how."""
