"""What the real small narrator replied, in stories of three genres: nothing of the story is lost."""

from pathlib import Path

from domain.extraction.extractors import extract
from domain.extraction.leaks import leaks
from tests.corpus.playing import read

REPLIES = read(Path(__file__).parents[1] / "corpus" / "replies.jsonl")

BLOCK = '```state\n{"events":[{"type":"change","name":"key","event":"key"}]}\n```'
"""The one block that it wrote. Its type is made up, so that it is refused."""


def test_it_holds_the_turns_of_three_stories_in_both_modes() -> None:
    played = {(reply.story, reply.mode): 0 for reply in REPLIES}
    for reply in REPLIES:
        played[reply.story, reply.mode] += 1
    assert played == {(story, mode): 20 for story in ("stage", "desert", "archive") for mode in ("chat", "completion")}


def test_nothing_but_the_block_and_white_space_is_taken_out() -> None:
    for version in ("1", "2"):
        removed = [
            (removal.rule, reply.raw[removal.start : removal.end])
            for reply in REPLIES
            for removal in extract(reply.raw, version).removals
            if removal.rule != "whitespace"
        ]
        assert removed == [("block", BLOCK)]


def test_both_extractors_read_each_reply_alike() -> None:
    assert all(extract(reply.raw, "1").prose == extract(reply.raw, "2").prose for reply in REPLIES)


def test_what_stays_is_a_fence_that_opens_and_holds_story() -> None:
    """It opened a state fence, told the story in it and never closed it: the words are story, and nothing of them goes."""
    leaking = [reply for reply in REPLIES if leaks(extract(reply.raw).prose)]
    assert [(reply.story, reply.mode, reply.number) for reply in leaking] == [("stage", "completion", 16)]
    assert leaks(extract(leaking[0].raw).prose) == {"fence": 1}
