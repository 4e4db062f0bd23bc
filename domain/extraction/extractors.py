"""The extractors by version: each a list of rules, which never changes once it is released.

`0` takes a reply as story. `1` takes out the blocks, copies and echoes that fixed texts of ours are told by. `2`, the
default, also takes out what a narrator makes of them: R1 to R5. A new behaviour is a new version.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from domain.errors import InvalidInput
from domain.extraction import endings
from domain.extraction.blocks import blocks
from domain.extraction.context import CONTEXT, Context
from domain.extraction.ending import ending
from domain.extraction.event_calls import event_calls
from domain.extraction.extraction import Extraction, Removal, extract_plain, prose_of
from domain.extraction.pasted_state import pasted_state
from domain.extraction.reading import Claim, Reading, Rule
from domain.extraction.reasoning import reasoning
from domain.extraction.white_space import with_white_space
from domain.narrative.judging import Proposed
from domain.prompt import texts

Extractor = Callable[[str, Context], Extraction]
"""Pure and total: any text, never an exception. Linear in its length."""

DEFAULT_VERSION = "2"


def extract(raw: str, version: str = DEFAULT_VERSION, context: Context = CONTEXT) -> Extraction:
    """What the extractor of this version makes of a raw reply. Raises InvalidInput for a version that does not exist."""
    return extractor(version)(raw, context)


def proposal_in(block: str, version: str = DEFAULT_VERSION) -> Proposed:
    """What a text proposes that holds nothing but a block: as a reply would have it, else as if it stood in a fence."""
    found = extract(block, version).proposal
    return found if isinstance(found, tuple) else extract(f"{texts.FENCE_TOKEN}\n{block}\n```", version).proposal


def extractor(version: str) -> Extractor:
    """The extractor of this version. Raises InvalidInput for one that does not exist."""
    if version not in EXTRACTORS:
        raise InvalidInput({"version": f"there is no extractor {version!r}; there are {', '.join(EXTRACTORS)}"})
    return EXTRACTORS[version]


def composed(version: str, rules: Sequence[Rule]) -> Extractor:
    """The extractor that applies these rules, one after another, each to what those before it have left."""

    def extract_composed(raw: str, context: Context = CONTEXT) -> Extraction:
        reading = Reading(raw)
        for rule in rules:
            reading = reading.without(rule(reading, context))
        cuts = with_white_space(raw, reading.cuts)
        removals = tuple(Removal(rule=cut.rule, start=cut.start, end=cut.end) for cut in cuts)
        proposal, block = _proposed(cut.claim for cut in reading.cuts if cut.claim is not None)
        return Extraction(prose_of(raw, removals), removals, version, proposal, block)

    return extract_composed


def _proposed(claims: Iterable[Claim]) -> tuple[Proposed, str | None]:
    """The last block that can be read; else that there was one, and the last."""
    found = list(claims)
    if not found:
        return "absent", None
    last = next((claim for claim in reversed(found) if claim.events is not None), found[-1])
    return ("unparseable" if last.events is None else last.events), last.block


_UNFINISHED = (endings.unfinished_block, endings.leftover)
_FIRST = composed("1", (reasoning, blocks, pasted_state, ending((*_UNFINISHED, endings.echo))))
_SECOND = composed(
    "2",
    (
        reasoning,
        blocks,
        pasted_state,
        event_calls,
        ending(
            (
                *_UNFINISHED,
                endings.length_hint,
                endings.echo,
                endings.instruction_tail,
                endings.scene_line,
                endings.empty_fence,
            )
        ),
    ),
)

EXTRACTORS: Mapping[str, Extractor] = MappingProxyType(
    {"0": lambda raw, _: extract_plain(raw), "1": _FIRST, "2": _SECOND}
)
"""Every extractor that there ever was."""
