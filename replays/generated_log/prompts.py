"""The requests that would have been sent: assembled by the domain from the story, and stored as it stores them."""

from collections.abc import Sequence

from domain.installation import Settings
from domain.prompt.assembly import StoryView, assemble, history_budget
from domain.prompt.events import PromptSent, Window
from domain.prompt.floor import Floor
from domain.prompt.stored_body import Words, common_prefix, store
from replays.generated_log.story import Moment, Story

WINDOW = Window(tokens=8192, source="loaded", verified=True, enforceable=True, model_max=32_768, reachable=True)
"""What the server of these stories reads."""

_LOOKED_BACK = 16
_LOOKED_BACK_BYTES = 28_000
_CHARACTERS_A_TOKEN = 4


class RoughCounter:
    """Counts four characters as a token: near enough for English, and a hundred times quicker than counting."""

    def count(self, text: str) -> int:
        """How many tokens the text has, about."""
        return -(-len(text) // _CHARACTERS_A_TOKEN)

    def tail(self, text: str, tokens: int) -> str:
        """The end of the text that has so many."""
        return text[-tokens * _CHARACTERS_A_TOKEN :] if tokens > 0 else ""


class Requests:
    """The requests of one story, one after the other: each is stored as its difference from the one before."""

    def __init__(self, story: Story, window: Window = WINDOW) -> None:
        self._story = story
        self._window = window
        self._counter = RoughCounter()
        self._before: tuple[PromptSent, bytes] | None = None

    def next(self, settings: Settings) -> PromptSent:
        """The record of the request of the story's open turn, which must then be appended."""
        opened = self._story.opened
        if opened is None:
            raise ValueError("no turn was opened")
        end = self._story.moments[opened.parent]
        line = self._line(end, settings)
        view = StoryView(
            self._story.settings,
            tuple(moment.told for moment in line),
            end.told.depth,
            self._story.floor(opened.parent),
            self._story.state(opened.parent),
        )
        prompt = assemble(view, settings, self._window, self._counter)
        body, words = prompt.body.data, self._words(prompt.history.nodes)
        kept = None
        if self._before is None:
            stored = store(body, words=words)
        else:
            earlier, data = self._before
            stored = store(body, data, earlier.turn, earlier.body.chain, words)
            kept = round(common_prefix(body, data) / len(data), 4)
        record = PromptSent(
            turn=opened.turn,
            node=end.told.node,
            branch=end.branch,
            depth=end.told.depth,
            endpoint=settings.endpoint,
            model=settings.model,
            mode=settings.mode,
            body=stored,
            sections=prompt.sections,
            tokens=prompt.tokens,
            window=self._window,
            history=prompt.history.model_copy(update={"prefix_kept": kept}),
            built_from=self._story.position,
        )
        self._before = record, body
        return record

    def _line(self, end: Moment, settings: Settings) -> list[Moment]:
        """The end of the line, oldest first: down to the floor, or as much as can possibly fit."""
        told, window = self._story.settings, self._window
        state, awaits_action = self._story.state(end.told.node), not end.told.is_player
        budget = history_budget(told, settings, window, self._counter, state, awaits_action=awaits_action)
        floor = self._story.floor(end.told.node)
        line: list[Moment] = []
        tokens = 0
        for moment in self._story.line(end.told.node):
            line.append(moment)
            tokens += self._counter.count(moment.told.text)
            if tokens > budget or _reached(moment, floor, budget):
                break
        return line[::-1]

    def _words(self, nodes: Sequence[int]) -> Sequence[Words]:
        """The events that hold what was said last, as many as the compression can look back into."""
        words = [self._story.moments[node].words for node in sorted(nodes[-_LOOKED_BACK:])]
        while len(words) > 1 and sum(len(event.payload) for event in words) > _LOOKED_BACK_BYTES:
            words = words[1:]
        return words


def _reached(moment: Moment, floor: Floor | None, budget: int) -> bool:
    """Whether the floor holds, and this is where it stands."""
    return floor is not None and budget <= floor.budget and moment.told.depth <= floor.depth
