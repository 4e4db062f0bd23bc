"""The list of events: what may be written, what may be read, and what was written once and for ever."""

import json
from typing import Any, ClassVar

import pytest

from domain.campaign.events import CampaignStarted, CancelRequested
from domain.catalogue import EVENTS, catalogue
from domain.errors import LogDamaged, StoreNewer
from domain.event import DomainEvent, EventCatalogue, canonical_json
from tests.fakes.sample_story import started

PUBLISHED = {
    "campaign.started": b'{"opening":"The lamp is out.","replaced_surrogates":0,"settings":{"authors_note":"",'
    b'"canon":["The sea is grey."],"front_memory":"","instructions":"","memory_enabled":false,'
    b'"narration_length":"brief","persona":{"description":"","name":"Ada","pronouns":"she"},"plot_essentials":"",'
    b'"protagonist":"","summaries_enabled":false,"title":"The Lighthouse"}}',
    "campaign.revised": b'{"changes":{"authors_note":"Slow.","canon":null,"front_memory":null,"instructions":null,'
    b'"memory_enabled":null,"narration_length":null,"persona":null,"plot_essentials":null,"protagonist":null,'
    b'"summaries_enabled":null,"title":null}}',
    "campaign.deleted": b'{"campaign":"c_a","events":5,"head":"00ff","title":"The Lighthouse"}',
    "story.turn_opened": b'{"idempotency_key":null,"kind":"do","operation":"retry","parent":2,"process":"p_a",'
    b'"request_hash":"00","retry_of":3,"turn":"t_a"}',
    "story.player_acted": b'{"branch":1,"depth":2,"kind":"say","node":2,"parent":1,"replaced_surrogates":1,'
    b'"text":"Hello \xef\xbf\xbd","turn":"t_a"}',
    "story.narration_accepted": b'{"branch":2,"depth":3,"extractor":"0","finish_reason":"stop","late":true,"node":4,'
    b'"parent":2,"raw_reply":"Fog.\\n","reasoning":"","removals":[{"end":5,"rule":"whitespace","start":4}],'
    b'"retry_of":3,"turn":"t_a"}',
    "story.turn_failed": b'{"error":"model_timeout","message":"It took too long.","partial_reasoning":"",'
    b'"partial_reply":"Fo","stage":"model","turn":"t_a"}',
    "story.cancel_requested": b'{"turn":"t_a"}',
    "prompt.sent": b'{"body":{"base":null,"chain":0,"copies":[],"length":2,"literal":"c$}4zKmGtw","literals":[],'
    b'"sha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},"branch":1,"built_from":1,'
    b'"depth":2,"endpoint":"http://127.0.0.1:9/v1","history":{"budget":50,"first_node":1,"floor_depth":null,'
    b'"floor_moved":null,"last_node":2,"nodes":[1,2],"oldest_truncated":false,"prefix_kept":0.5,"total":2},'
    b'"mode":"chat","model":"small","node":2,"purpose":"narration","sections":[{"label":"Canon","name":"canon",'
    b'"spans":[[0,3]],"tokens":3,"why":"always"}],"server":null,"tokens":{"budget":120,"configured_budget":120,'
    b'"exact":null,"history":50,"knowledge":0,"protected":40,"reply":20,"reserve":8,"total":94,"transport":4},'
    b'"turn":"t_a","window":{"detail":"","enforceable":true,"model_max":null,"reachable":true,"source":"loaded",'
    b'"tokens":4096,"verified":true}}',
    "accounting.reply_accounted": b'{"accounting":{"cached_tokens":null,"completion_tokens":12,"detail":"It fits.",'
    b'"difference":-4,"estimate":94,"exact":null,"observed_margin":10,"prompt_tokens":90,"safety_reserve":8,'
    b'"status":"fits","window_verified":true},"branch":1,"depth":3,"node":3,"turn":"t_a"}',
    "state.proposal_judged": b'{"accepted":[{"entity":"lamp","entity_type":"item","name":"Lamp","type":"create_entity"}],'
    b'"block":"{\\"events\\":[\xe2\x80\xa6]}","branch":2,"depth":3,"node":4,"outcome":"partly_applied",'
    b'"pass_error":null,"refused":[{"code":"unknown_reference","detail":"There is no x.","event":{"item":"lamp",'
    b'"owner":"x","type":"set_possession"}}],"source":"state_pass","turn":"t_a"}',
    "state.corrected": b'{"accepted":[{"entity":"lamp","status":"lit","type":"set_entity_status"}],"branch":2,"depth":3,'
    b'"node":4,"note":"It burns.","refused":[{"code":"unknown_reference","detail":"There is no x.","event":{"item":"lamp",'
    b'"owner":"x","type":"set_possession"}}],"replaced_surrogates":1}',
    "story.narration_reread": b'{"accepted":[{"entity":"lamp","entity_type":"item","name":"Lamp","type":"create_entity"}],'
    b'"block":"{}","branch":2,"depth":3,"extractor":"2","node":4,"outcome":"applied","prose":"Fog.","refused":[{"code":'
    b'"unknown_reference","detail":"There is no x.","event":{"item":"lamp","owner":"x","type":"set_possession"}}],'
    b'"removals":[{"end":5,"rule":"block","start":4}]}',
    "extractor.adopted": b'{"extractor":"2","scope":"whole_history"}',
    "state.visual_profile_set": b'{"entity":"lamp","profile":{"descriptors":{"colour":"green"},"features":["a dent"],'
    b'"style_notes":"Ink."},"replaced_surrogates":0}',
    "settings.changed": b'{"changes":{"seed":null,"stop":["\\n"],"temperature":0.5}}',
}
"""One payload of each kind as the first schema wrote it. Never edited: stores in the world hold such bytes."""


class Rained(DomainEvent):
    """It rained, as the third version of a program says it."""

    topic: ClassVar = "weather.rained"
    schema_version: ClassVar = 3

    millimetres: float
    place: str


class RainedElsewhere(DomainEvent):
    """Another event that claims the same topic."""

    topic: ClassVar = "weather.rained"


def _with_a_place(payload: dict[str, Any]) -> dict[str, Any]:
    return payload | {"place": "here"}


def _in_millimetres(payload: dict[str, Any]) -> dict[str, Any]:
    return {"millimetres": payload["inches"] * 25.4, "place": payload["place"]}


UPCASTERS = {("weather.rained", 1): _with_a_place, ("weather.rained", 2): _in_millimetres}
WEATHER = EventCatalogue([Rained], UPCASTERS)


class TestTheListItself:
    def test_no_two_events_claim_one_topic(self) -> None:
        with pytest.raises(ValueError, match=r"two events claim the topic 'weather\.rained'"):
            EventCatalogue([Rained, RainedElsewhere], UPCASTERS)

    @pytest.mark.parametrize("missing", [1, 2])
    def test_every_older_schema_has_its_way_up(self, missing: int) -> None:
        there = {step: upcast for step, upcast in UPCASTERS.items() if step[1] != missing}
        with pytest.raises(ValueError, match=rf"'weather\.rained' has no upcaster from schema \[{missing}\]"):
            EventCatalogue([Rained], there)

    def test_todays_list_holds_every_event_under_its_own_topic(self) -> None:
        assert dict(catalogue().topics) == {event.topic: event for event in EVENTS}
        assert len({event.topic for event in EVENTS}) == len(EVENTS)

    def test_topics_are_never_taken_back(self) -> None:
        assert catalogue().topics.keys() >= PUBLISHED.keys()

    def test_topics_are_words_of_the_domain_and_no_paths_of_modules(self) -> None:
        for event in EVENTS:
            assert event.topic.count(".") == 1
            assert event.topic == event.topic.lower()
            assert event.__module__ not in event.topic

    def test_every_event_says_when_it_is_written(self) -> None:
        assert all(event.__doc__ for event in EVENTS)


class TestWriting:
    def test_is_compact_json_with_sorted_keys(self) -> None:
        assert (
            WEATHER.encode(Rained(place="Łódź\x00", millimetres=2))
            == '{"millimetres":2.0,"place":"Łódź\\u0000"}'.encode()
        )

    def test_refuses_what_is_not_in_the_list(self) -> None:
        with pytest.raises(ValueError, match="CampaignStarted is not in the catalogue of events"):
            WEATHER.encode(started())

    def test_refuses_another_class_under_a_topic_that_is(self) -> None:
        with pytest.raises(ValueError, match="RainedElsewhere is not in the catalogue"):
            WEATHER.encode(RainedElsewhere())


class TestReading:
    def test_an_event_is_what_it_was(self) -> None:
        event = Rained(place="here", millimetres=2)
        assert WEATHER.decode("weather.rained", 3, WEATHER.encode(event)) == event

    def test_an_older_schema_is_brought_up_step_by_step(self) -> None:
        assert WEATHER.decode("weather.rained", 1, b'{"inches":2}') == Rained(millimetres=50.8, place="here")
        assert WEATHER.decode("weather.rained", 2, b'{"inches":1,"place":"there"}') == Rained(
            millimetres=25.4, place="there"
        )

    @pytest.mark.parametrize(("topic", "schema"), [("weather.snowed", 1), ("weather.rained", 4), ("", 1)])
    def test_a_newer_program_wrote_what_is_not_known(self, topic: str, schema: int) -> None:
        with pytest.raises(StoreNewer) as refused:
            WEATHER.decode(topic, schema, b"no matter what")
        assert repr(topic) in refused.value.message

    @pytest.mark.parametrize(
        "payload",
        [
            b"",
            b"{",
            b"\xff",
            b"[]",
            b"null",
            b"3",
            b"{}",
            b'{"place":"here"}',
            b'{"millimetres":2,"place":"","wind":1}',
        ],
    )
    def test_bytes_that_are_no_such_event_are_damage_at_their_place(self, payload: bytes) -> None:
        with pytest.raises(LogDamaged) as damage:
            WEATHER.decode("weather.rained", 3, payload, stream="sky", version=7)
        assert damage.value.fields == {"stream": "sky", "version": 7}
        assert "weather.rained" in damage.value.message

    @pytest.mark.parametrize("payload", [b"", b"[]", b"null", b"{}", b'{"inches":"two"}', b'{"inches":null}'])
    def test_bytes_that_no_upcaster_can_read_are_damage_too(self, payload: bytes) -> None:
        with pytest.raises(LogDamaged):
            WEATHER.decode("weather.rained", 1, payload, stream="sky", version=7)

    @pytest.mark.parametrize("schema", [0, -1])
    def test_a_schema_that_never_was_is_damage(self, schema: int) -> None:
        with pytest.raises(LogDamaged):
            WEATHER.decode("weather.rained", schema, b'{"inches":2}', stream="sky", version=7)


def assert_holds(written: Any, published: Any) -> None:
    """That nothing of what was published is missing or different; fields with a default may have come since."""
    if isinstance(published, dict):
        for name, value in published.items():
            assert_holds(written[name], value)
    elif isinstance(published, list):
        for one, other in zip(written, published, strict=True):
            assert_holds(one, other)
    else:
        assert written == published


class TestWhatIsPublished:
    @pytest.mark.parametrize("topic", PUBLISHED)
    def test_is_read_for_ever(self, topic: str) -> None:
        event = catalogue().decode(topic, 1, PUBLISHED[topic])
        assert event.topic == topic

    @pytest.mark.parametrize("topic", PUBLISHED)
    def test_keeps_all_that_was_written_while_its_schema_is_the_first(self, topic: str) -> None:
        if catalogue().topics[topic].schema_version == 1:
            written = catalogue().encode(catalogue().decode(topic, 1, PUBLISHED[topic]))
            assert_holds(json.loads(written), json.loads(PUBLISHED[topic]))

    def test_says_nothing_that_was_not_said(self) -> None:
        event = catalogue().decode("campaign.started", 1, PUBLISHED["campaign.started"])
        assert isinstance(event, CampaignStarted)
        assert (event.settings.title, event.settings.persona.name) == ("The Lighthouse", "Ada")


class TestAnEvent:
    def test_is_frozen(self) -> None:
        event = CancelRequested(turn="t_a")
        with pytest.raises(ValueError, match="frozen"):
            event.turn = "t_b"  # type: ignore[misc]  # that is what is tested

    def test_holds_nothing_but_its_fields(self) -> None:
        with pytest.raises(ValueError, match="extra"):
            CancelRequested(turn="t_a", reason="rain")  # type: ignore[call-arg]  # that is what is tested


class TestCanonicalJson:
    def test_is_the_same_bytes_for_the_same_value(self) -> None:
        assert canonical_json({"b": [1, None], "a": "ł\x00"}) == '{"a":"ł\\u0000","b":[1,null]}'.encode()
        assert canonical_json({"a": 1, "b": 2}) == canonical_json({"b": 2, "a": 1})

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
    def test_refuses_what_json_has_no_word_for(self, value: float) -> None:
        with pytest.raises(ValueError, match="JSON compliant"):
            canonical_json(value)
