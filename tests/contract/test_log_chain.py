"""What the log promises of its hash chain: the same for the same history, whole, and compared with what should be."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.event_log.log import SqlEventLog
from adapters.event_log.recorder import StampedEvent
from domain.event import Recorded
from domain.log import EventLog
from domain.prompt.events import StoredBody
from domain.prompt.stored_body import store
from tests.contract.conftest import Log
from tests.fakes.event_log import MemoryEventLog, MemoryStore
from tests.fakes.sample_story import (
    ACCOUNT,
    CAMPAIGN,
    accept,
    fail,
    prompted,
    record,
    retry,
    revise,
    start,
    take_turn,
)
from tests.fakes.time_and_names import NumberedNames, TickingClock

OTHER = "c_harbour"


def tell(log: EventLog) -> None:
    """A history with every kind of event, two campaigns, settings, and a deletion."""
    log.execute(start("The lamp \x00 has gone out · \U0001f5fc", title="The Lighthouse"))
    log.execute(start(campaign=OTHER))
    log.execute(take_turn("t_1", "do", "Climb."))
    log.execute(take_turn("t_1", "say", "Ahoy!", campaign=OTHER))
    log.execute(record(prompted("t_1")))
    log.execute(fail("t_1", "interrupted", campaign=OTHER))
    log.execute(accept("t_1", " Fog. ", account=ACCOUNT))
    log.change_settings({"model": "small"})
    log.execute(accept("t_1", "An echo.", campaign=OTHER))
    log.execute(retry("t_2"))
    log.execute(revise(title="The Lamp"))
    log.execute(accept("t_2", "Mist."))
    log.delete_campaign(OTHER)


def chain_of(previous: bytes, recorded: Recorded) -> bytes:
    """As the architecture states it."""
    fields = [
        previous.hex(),
        recorded.stream,
        recorded.version,
        recorded.topic,
        recorded.schema_version,
        recorded.event_id,
        recorded.at,
        recorded.turn,
        recorded.actor,
        recorded.payload_hash.hex(),
    ]
    written = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(written.encode()).digest()


class TestTheChain:
    def test_links_each_event_to_the_one_before_it_in_its_stream(self, log: EventLog) -> None:
        tell(log)
        ends: dict[str, bytes] = {}
        for recorded in log.read(0, 100):
            assert recorded.chain == chain_of(ends.get(recorded.stream, b""), recorded)
            ends[recorded.stream] = recorded.chain
        assert ends.keys() == {CAMPAIGN, "installation"}

    def test_hashes_the_payload_as_it_is_stored(self, log: Log) -> None:
        tell(log)
        stored = log.recorder.select_events(CAMPAIGN)
        hashes = [recorded.payload_hash for recorded in log.read(0, 100, stream=CAMPAIGN)]
        assert hashes == [hashlib.sha256(event.state).digest() for event in stored]

    def test_is_the_same_in_every_log_for_the_same_history_time_and_names(self, tmp_path: Path) -> None:
        sql = SqlEventLog(tmp_path / "log.db", TickingClock(), NumberedNames())
        memory = MemoryEventLog(TickingClock(), NumberedNames())
        tell(sql)
        tell(memory)
        assert sql.read(0, 100) == memory.read(0, 100)
        assert sql.verify() == memory.verify()
        assert sql.verify(CAMPAIGN) == memory.verify(CAMPAIGN)
        sql.close()


class TestVerifying:
    def test_an_empty_log_is_well(self, log: EventLog) -> None:
        found = log.verify()
        assert (found.ok, found.events) == (True, 0)
        assert found.head == hashlib.sha256(b"[]").hexdigest()

    def test_a_log_that_nobody_touched_is_well(self, log: EventLog) -> None:
        tell(log)
        found = log.verify()
        assert (found.ok, found.first_bad, found.events) == (True, None, len(log.read(0, 100)))

    def test_one_stream_answers_with_the_hash_at_its_end(self, log: EventLog) -> None:
        tell(log)
        events = log.read(0, 100, stream=CAMPAIGN)
        found = log.verify(CAMPAIGN)
        assert (found.ok, found.events, found.head) == (True, len(events), events[-1].chain.hex())

    def test_all_streams_answer_with_the_hash_over_their_ends(self, log: EventLog) -> None:
        tell(log)
        ends = {recorded.stream: [recorded.version, recorded.chain.hex()] for recorded in log.read(0, 100)}
        listed = [[stream, *end] for stream, end in sorted(ends.items())]
        written = json.dumps(listed, separators=(",", ":")).encode()
        assert log.verify().head == hashlib.sha256(written).hexdigest()

    def test_the_head_changes_with_every_event(self, log: EventLog) -> None:
        heads = []
        for number in range(5):
            log.execute(start(campaign=f"c_{number}"))
            heads.append(log.verify().head)
        assert len(set(heads)) == 5

    def test_a_log_from_which_a_campaign_was_deleted_is_well(self, log: EventLog) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "continue"))
        log.delete_campaign(CAMPAIGN)
        assert log.verify().ok
        assert (log.verify(CAMPAIGN).ok, log.verify(CAMPAIGN).events) == (True, 0)
        log.execute(start())
        assert log.verify().ok

    def test_prompts_that_are_stored_as_differences_are_rebuilt_one_from_another(self, log: EventLog) -> None:
        log.execute(start())
        body, base, name = b'{"messages":["' + b"fog " * 99 + b'"]}', None, None
        for number in range(4):
            log.execute(take_turn(f"t_{number}", "continue"))
            stored = store(body, base, name, number - 1 if name else 0)
            log.execute(record(prompted(f"t_{number}", body=stored)))
            log.execute(fail(f"t_{number}"))
            base, name, body = body, f"t_{number}", body.replace(b'"]}', b'","Then rain."]}')
        assert log.verify().ok

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda body: body.model_copy(update={"sha256": "0" * 64}),
            lambda body: body.model_copy(update={"literal": store(b"other").literal}),
            lambda body: body.model_copy(update={"literal": "0000000000"}),
            lambda body: body.model_copy(update={"literal": "not base 85: \\"}),
            lambda body: body.model_copy(update={"literal": ""}),
            lambda body: body.model_copy(update={"base": "t_0", "chain": 1}),
            lambda body: body.model_copy(update={"copies": ((0, 4),), "literals": ()}),
        ],
        ids=["hash", "text", "no zlib", "no base 85", "nothing", "no such base", "uneven"],
    )
    def test_a_prompt_that_no_longer_rebuilds_is_named(
        self, log: EventLog, spoil: Callable[[StoredBody], StoredBody]
    ) -> None:
        log.execute(start())
        log.execute(take_turn("t_1", "continue"))
        log.execute(record(prompted("t_1", body=spoil(store(b'{"messages":[]}')))))
        log.execute(fail("t_1"))
        bad = log.verify().first_bad
        assert bad is not None
        assert (bad.stream, bad.version, bad.position) == (CAMPAIGN, 3, 3)


class TestTheFakeItself:
    """The damage to a real file is in the integration tests; that the fake looks at all is here."""

    @pytest.mark.parametrize(
        "changes",
        [{"state": b"{}"}, {"at": "2020"}, {"actor": "nobody"}, {"originator_version": 9}, {"chain": b""}],
        ids=["payload", "at", "actor", "version", "chain"],
    )
    def test_finds_a_changed_event(self, changes: dict[str, object]) -> None:
        kept = MemoryStore()
        log = MemoryEventLog(TickingClock(), NumberedNames(), store=kept)
        tell(log)
        position, event = list(kept.recorder.stamped())[2]
        kept.recorder._events[position] = StampedEvent(**{**vars(event), **changes})
        bad = log.verify().first_bad
        assert bad is not None
        assert (bad.stream, bad.position) == (CAMPAIGN, position)

    def test_finds_a_stream_that_is_gone(self) -> None:
        kept = MemoryStore()
        log = MemoryEventLog(TickingClock(), NumberedNames(), store=kept)
        tell(log)
        kept.recorder.drop(CAMPAIGN)
        bad = log.verify().first_bad
        assert bad is not None
        assert (bad.stream, bad.version) == (CAMPAIGN, 1)
        del kept.ends[CAMPAIGN]
        assert not log.verify().ok
