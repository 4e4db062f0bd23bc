"""From a running turn to the record of what it sends: read the line, assemble, store the body as a difference."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from domain.campaign.facts import NodeFacts, TurnFacts
from domain.errors import LogDamaged
from domain.event import Recorded
from domain.installation import Settings, SettingsInForce
from domain.log import EventLog
from domain.ports import TokenCounter
from domain.prompt.assembly import Prompt, StoryView, assemble, history_budget, price
from domain.prompt.events import Mode, PromptSent, Window
from domain.prompt.floor import Floor
from domain.prompt.sections import HistoryNode, StateTold
from domain.prompt.state_pass import assemble_pass
from domain.prompt.stored_body import Words, common_prefix, rebuild, store

_PAGE = 64
_REMEMBERED_BODIES = 64
_LOOKED_BACK = 16
_LOOKED_BACK_BYTES = 28_000


@dataclass(frozen=True)
class _KnownBody:
    turn: str
    chain: int
    data: bytes


class Bodies:
    """The exact bytes of recorded requests, rebuilt from the log; the newest of each campaign is remembered."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._newest: OrderedDict[str, _KnownBody] = OrderedDict()
        self._guard = Lock()

    def of(self, campaign: str, prompt: PromptSent) -> bytes:
        """The body of a recorded request. Raises LogDamaged when it does not rebuild to its hash."""
        needed = [prompt]
        while (base := needed[-1].body.base) is not None:
            needed.append(self._prompt_of(campaign, base))
        data: bytes | None = None
        for record in reversed(needed):
            try:
                data = rebuild(record.body, data, self._log.payloads(campaign, record.body.words))
            except ValueError as error:
                raise LogDamaged(campaign, 0, f"the request of turn {record.turn}: {error}") from error
        return data or b""

    def newest(self, campaign: str) -> _KnownBody | None:
        """The campaign's newest recorded request."""
        recorded = self._log.last_prompt(campaign)
        if recorded is None or not isinstance(recorded.event, PromptSent):
            return None
        prompt = recorded.event
        with self._guard:
            known = self._newest.get(campaign)
        if known is not None and known.turn == prompt.turn:
            return known
        return _KnownBody(prompt.turn, prompt.body.chain, self.of(campaign, prompt))

    def remember(self, campaign: str, prompt: PromptSent, data: bytes) -> None:
        """Keeps a body that was just recorded at hand for the next one."""
        with self._guard:
            self._newest[campaign] = _KnownBody(prompt.turn, prompt.body.chain, data)
            self._newest.move_to_end(campaign)
            while len(self._newest) > _REMEMBERED_BODIES:
                self._newest.popitem(last=False)

    def _prompt_of(self, campaign: str, turn: str) -> PromptSent:
        for recorded in self._log.turn_events(campaign, turn):
            if isinstance(recorded.event, PromptSent) and recorded.event.purpose == "narration":
                return recorded.event
        raise LogDamaged(campaign, 0, f"turn {turn}, on which another request is based, has no record")


@dataclass(frozen=True)
class Prepared:
    """A request that is ready to be recorded and sent."""

    event: PromptSent
    body: bytes


class Prompter:
    """Builds the requests of turns. Reads only; the same code serves the turn and the dry run."""

    def __init__(self, log: EventLog, counter: TokenCounter, bodies: Bodies) -> None:
        self._log = log
        self._counter = counter
        self._bodies = bodies

    def prepare(
        self, campaign: str, turn: TurnFacts, settings: Settings, window: Window, *, public_endpoint: bool = False
    ) -> Prepared:
        """The request for a running turn. Raises ContextOverflow before any model is asked."""
        built_from = self._log.max_position(campaign)
        place = self._log.node(campaign, turn.parent)
        prompt = self._assembled(campaign, place, settings, window)
        earlier = self._bodies.newest(campaign)
        body = prompt.body.data
        words = self._words(campaign, prompt.history.nodes)
        if earlier is None:
            stored = store(body, words=words)
        else:
            stored = store(body, earlier.data, earlier.turn, earlier.chain, words)
        kept = round(common_prefix(body, earlier.data) / len(earlier.data), 4) if earlier and earlier.data else None
        event = PromptSent(
            turn=turn.turn,
            node=place.node,
            branch=place.branch,
            depth=place.depth,
            endpoint=settings.endpoint,
            public_endpoint=public_endpoint,
            model=settings.model,
            mode=settings.mode,
            body=stored,
            sections=prompt.sections,
            tokens=prompt.tokens,
            window=window,
            history=prompt.history.model_copy(update={"prefix_kept": kept}),
            built_from=built_from,
        )
        return Prepared(event, body)

    def prepare_pass(
        self,
        campaign: str,
        turn: TurnFacts,
        prose: str,
        settings: SettingsInForce,
        window: Window,
        *,
        constrained: bool,
    ) -> Prepared:
        """The second request of a running turn, about the narration that it was told. Raises ContextOverflow."""
        built_from = self._log.max_position(campaign)
        (under,) = self._log.end_of_line(campaign, turn.parent, limit=1)
        document = self._log.state(campaign, turn.parent)
        request = assemble_pass(document, under, prose, settings, window, self._counter, constrained=constrained)
        place = self._log.node(campaign, turn.parent)
        event = PromptSent(
            turn=turn.turn,
            purpose="state",
            node=place.node,
            branch=place.branch,
            depth=place.depth,
            endpoint=settings.endpoint,
            public_endpoint=settings.public_endpoint,
            model=settings.model,
            mode=settings.mode,
            body=store(request.body.data, words=self._words(campaign, (place.node,))),
            sections=request.sections,
            tokens=request.tokens,
            window=window,
            history=request.history,
            built_from=built_from,
        )
        return Prepared(event, request.body.data)

    def _words(self, campaign: str, nodes: Sequence[int]) -> Sequence[Words]:
        """The events that hold what was said last, as many as the compression can look back into."""
        words = self._log.words_of(campaign, nodes[-_LOOKED_BACK:])
        while len(words) > 1 and sum(len(event.payload) for event in words) > _LOOKED_BACK_BYTES:
            words = words[1:]
        return words

    def assemble(self, campaign: str, parent: int, settings: Settings, window: Window) -> Prompt:
        """The request for a narration under `parent`, with nothing recorded."""
        return self._assembled(campaign, self._log.node(campaign, parent), settings, window)

    def _assembled(self, campaign: str, end: NodeFacts, settings: Settings, window: Window) -> Prompt:
        told = self._log.campaign(campaign).settings
        if told is None:
            raise AssertionError("a campaign of the log has settings")
        state = self._state(campaign, end, settings)
        budget = history_budget(told, settings, window, self._counter, state, awaits_action=not end.is_player)
        floor = self._log.floor(campaign, end.node)
        line = self._line(campaign, end, settings.mode, budget, floor)
        view = StoryView(campaign=told, line=line, depth=end.depth, earlier=floor, state=state)
        return assemble(view, settings, window, self._counter)

    def _state(self, campaign: str, end: NodeFacts, settings: Settings) -> StateTold:
        """What the narrator is told of the state where the line ends; of refusals, only those of the line's last turn."""
        document = self._log.state(campaign, end.node)
        if settings.state_pass:
            return StateTold(document, asks_for_block=False)
        last = self._log.node(campaign, end.parent) if end.is_player and end.parent is not None else end
        judged = self._log.judgement(campaign, last.node)
        return StateTold(document, () if judged is None else judged.refused)

    def _line(
        self, campaign: str, end: NodeFacts, mode: Mode, budget: int, floor: Floor | None
    ) -> tuple[HistoryNode, ...]:
        """The end of the line: down to the floor, or as much as can possibly fit."""
        line: list[HistoryNode] = []
        tokens = 0
        wanted = _first_page(end, budget, floor)
        while not _enough(line, tokens, budget, floor):
            before = line[0].depth if line else None
            page = self._log.end_of_line(campaign, end.node, limit=wanted, before=before)
            tokens += sum(price(node, self._counter, mode) for node in page)
            line[:0] = page
            wanted = _PAGE
        return tuple(line)


def _first_page(end: NodeFacts, budget: int, floor: Floor | None) -> int:
    """How many nodes to read at once: just those above the floor, where it holds."""
    if floor is None or budget > floor.budget or floor.depth > end.depth:
        return _PAGE
    return end.depth - floor.depth + 1


def _enough(line: list[HistoryNode], tokens: int, budget: int, floor: Floor | None) -> bool:
    if not line:
        return False
    holds = floor is not None and budget <= floor.budget and line[0].depth <= floor.depth
    return holds or line[0].depth == 1 or tokens > budget


def record_of(recorded: Recorded) -> PromptSent:
    """The prompt record in an event that is one."""
    if not isinstance(recorded.event, PromptSent):
        raise TypeError(f"{recorded.topic} is no prompt record")
    return recorded.event
