"""The sections of a prompt: the closed list of their names, their labels and their order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from domain.campaign.events import NodeKind
from domain.campaign.settings import CampaignSettings, Persona
from domain.narrative.document import EMPTY, Document
from domain.narrative.refusal_note import refusal_note
from domain.narrative.refusals import Refused
from domain.narrative.rendering import render
from domain.narrative.rule import state_rule
from domain.prompt import texts

StaticName = Literal[
    "narrator_prompt",
    "state_rule",
    "canon",
    "knowledge_always",
    "instructions",
    "persona",
    "plot_essentials",
]
LiveName = Literal[
    "summary",
    "memories",
    "knowledge",
    "state",
    "authors_note",
    "front_memory",
    "length_hint",
    "refusal_note",
    "state_reminder",
    "continue_hint",
]
SectionName = StaticName | Literal["history"] | LiveName

STATIC: tuple[StaticName, ...] = get_args(StaticName)
LIVE: tuple[LiveName, ...] = get_args(LiveName)
ORDER: tuple[SectionName, ...] = (*STATIC, "history", *LIVE)

LABELS: dict[SectionName, str] = {
    "narrator_prompt": "Narrator prompt",
    "state_rule": "State rule",
    "canon": "Canon",
    "knowledge_always": "Knowledge, always included",
    "instructions": "Instructions",
    "persona": "Persona",
    "plot_essentials": "Plot essentials",
    "history": "History",
    "summary": "Summary",
    "memories": "Memories",
    "knowledge": "Knowledge, retrieved",
    "state": "Narrative state",
    "authors_note": "Author's note",
    "front_memory": "Front memory",
    "length_hint": "Length hint",
    "refusal_note": "Refusal note",
    "state_reminder": "State reminder",
    "continue_hint": "Continue hint",
}


@dataclass(frozen=True)
class Section:
    """One section's text, and why it is in the prompt."""

    name: SectionName
    text: str
    why: str

    @property
    def label(self) -> str:
        """The name as people read it."""
        return LABELS[self.name]


@dataclass(frozen=True)
class HistoryNode:
    """A node of the line, as the story holds it."""

    node: int
    depth: int
    kind: NodeKind
    text: str

    @property
    def is_player(self) -> bool:
        """Whether it is the player's, hence a user message."""
        return self.kind in ("do", "say", "story")


@dataclass(frozen=True)
class StateTold:
    """What a narrator is told of the state: the document, what was refused of its last block, whether to send another."""

    document: Document = EMPTY
    refused: tuple[Refused, ...] = ()
    asks_for_block: bool = True


def static_sections(
    campaign: CampaignSettings, narrator_prompt: str, state: StateTold | None = None
) -> tuple[Section, ...]:
    """The sections that are the same bytes on every turn while no setting changes, in order; the empty ones absent."""
    asked = state is not None and state.asks_for_block
    sections = (
        Section("narrator_prompt", narrator_prompt.strip() or texts.NARRATOR_PROMPT, "the rules of narration"),
        Section("state_rule", state_rule() if asked else "", "the narrator is asked for what changes"),
        Section("canon", _canon(campaign.canon), "the story's canon is in every prompt"),
        Section(
            "instructions",
            _under(texts.INSTRUCTIONS_HEADING, campaign.instructions),
            "the story's instructions are in every prompt",
        ),
        Section("persona", _persona(campaign.persona), "the player's character is in every prompt"),
        Section(
            "plot_essentials",
            _under(texts.PLOT_HEADING, campaign.plot_essentials),
            "the plot essentials are in every prompt",
        ),
    )
    return tuple(section for section in sections if section.text)


def live_sections(
    campaign: CampaignSettings, state: StateTold | None = None, *, awaits_action: bool
) -> tuple[Section, ...]:
    """The sections that may change each turn, in order; the empty ones absent.

    `awaits_action`: the player gave no words, so the continue hint stands in their place.
    """
    told = state or StateTold(asks_for_block=False)
    sections = (
        Section("state", render(told.document), "what is established where the story stands"),
        Section(
            "authors_note",
            _under(texts.AUTHORS_NOTE_HEADING, campaign.authors_note),
            "the author's note stands close to the end",
        ),
        Section(
            "front_memory",
            _under(texts.FRONT_MEMORY_HEADING, campaign.front_memory),
            "the front memory stands close to the end",
        ),
        Section(
            "refusal_note",
            refusal_note(told.refused) if told.asks_for_block else "",
            "part of what the last block asked for was refused",
        ),
        Section(
            "state_reminder",
            texts.STATE_REMINDER if told.asks_for_block else "",
            "the narrator is reminded of the block",
        ),
        Section(
            "continue_hint", texts.CONTINUE_HINT if awaits_action else "", "the player asked the narrator to go on"
        ),
    )
    return tuple(section for section in sections if section.text)


def _under(heading: str, text: str) -> str:
    return f"{heading}\n{text.strip()}" if text.strip() else ""


def _canon(canon: Sequence[str]) -> str:
    return _under(texts.CANON_HEADING, "\n".join(f"- {entry.strip()}" for entry in canon if entry.strip()))


def _persona(persona: Persona) -> str:
    name, pronouns = persona.name.strip(), persona.pronouns.strip()
    called = f"{name} ({pronouns})" if name and pronouns else name or pronouns
    return _under(texts.PERSONA_HEADING, "\n".join(part for part in (called, persona.description.strip()) if part))
