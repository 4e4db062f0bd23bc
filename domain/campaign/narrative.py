"""Decisions about the state of a story: what is judged, corrected, reread."""

from domain.campaign.checks import not_during_a_turn, started
from domain.campaign.commands import AcceptNarration, AdoptExtractor, CorrectState, ReviseNode, SetVisualProfile
from domain.campaign.events import NarrationAccepted, NodeRevised
from domain.campaign.facts import CampaignFacts
from domain.errors import CorrectionRefused, InvalidInput, OvertakenMeanwhile
from domain.narrative.document import EMPTY
from domain.narrative.events import ExtractorAdopted, NarrationReread, ProposalJudged, StateCorrected, VisualProfileSet
from domain.narrative.judging import judge, judge_proposal


def judged(facts: CampaignFacts, command: AcceptNarration, accepted: NarrationAccepted) -> ProposalJudged:
    """What becomes of the block of a narration, on the state of the node that it hangs under."""
    extra = command.state_pass
    passed = extra is not None and extra.block is not None
    proposed, block = (
        (extra.proposed, extra.block)
        if extra is not None and passed
        else (command.extraction.proposal, command.extraction.block)
    )
    judgement = judge_proposal(facts.states.get(accepted.parent, EMPTY), proposed)
    return ProposalJudged(
        node=accepted.node,
        branch=accepted.branch,
        depth=accepted.depth,
        turn=accepted.turn,
        outcome=judgement.outcome,
        accepted=tuple(dict(event) for event in judgement.accepted),
        refused=judgement.refused,
        block=block,
        source="state_pass" if passed else "reply",
        pass_error=None if extra is None else extra.error,
    )


def judged_again(facts: CampaignFacts, command: ReviseNode, revised: NodeRevised) -> ProposalJudged:
    """What becomes of the block of a narration that the player wrote anew: the words are the player's, the block stays."""
    judgement = judge_proposal(facts.states.get(revised.parent, EMPTY), command.proposed)
    return ProposalJudged(
        node=revised.node,
        branch=revised.branch,
        depth=revised.depth,
        outcome=judgement.outcome,
        accepted=tuple(dict(event) for event in judgement.accepted),
        refused=judgement.refused,
        block=command.block,
    )


def correct(facts: CampaignFacts, command: CorrectState) -> tuple[StateCorrected, ...]:
    """The player's correction at the head. Raises CorrectionRefused when nothing of it can be so."""
    started(facts)
    not_during_a_turn(facts)
    if not command.events:
        raise InvalidInput({"events": "name at least one state event"})
    head = facts.nodes[facts.head]
    judgement = judge(facts.states.get(head.node, EMPTY), command.events, by="player")
    if not judgement.accepted:
        raise CorrectionRefused([refused.model_dump(mode="json") for refused in judgement.refused])
    corrected = StateCorrected(
        node=head.node,
        branch=head.branch,
        depth=head.depth,
        accepted=tuple(dict(event) for event in judgement.accepted),
        refused=judgement.refused,
        note=command.note,
        replaced_surrogates=command.replaced_surrogates,
    )
    return (corrected,)


def adopt(facts: CampaignFacts, command: AdoptExtractor) -> tuple[NarrationReread | ExtractorAdopted, ...]:
    """Nothing where the extractor is in force already and reads nothing otherwise."""
    started(facts)
    not_during_a_turn(facts)
    if command.scope == "whole_history" and command.version != facts.version:
        raise OvertakenMeanwhile(facts.campaign)
    readings = command.readings if command.scope == "whole_history" else ()
    if facts.extractor == command.extractor and not readings:
        return ()
    return (*readings, ExtractorAdopted(extractor=command.extractor, scope=command.scope))


def set_profile(facts: CampaignFacts, command: SetVisualProfile) -> tuple[VisualProfileSet, ...]:
    """Nothing where the entity is said to look so already."""
    started(facts)
    if facts.profiles.get(command.entity) == command.profile:
        return ()
    surrogates = command.replaced_surrogates
    return (VisualProfileSet(entity=command.entity, profile=command.profile, replaced_surrogates=surrogates),)
