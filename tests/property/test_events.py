"""What holds of every event, whatever is in it: it is written, read back, and written again as the same bytes."""

from collections.abc import Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, StringConstraints
from pydantic.fields import FieldInfo

from domain.catalogue import EVENTS, catalogue
from domain.event import DomainEvent

TEXT = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["\x00", "a\x00b", "\ufffd\uffff\ufdd0", "\u2028\u2029", "e\u0301\u200d", "\U0001f5fc", '"\\/', "{}"]
    ),
)
"""Any text that UTF-8 can hold: NUL, non-characters, line separators and all. Lone surrogates never get this far."""

WHOLE = (-(2**63), 2**63 - 1)
"""What a JSON number may be here where a field says nothing else."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(*WHOLE) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def events(event: type[DomainEvent]) -> st.SearchStrategy[DomainEvent]:
    """Events of this class, by what its fields say that they may hold."""
    return models(event)


def models(model: type[Any]) -> st.SearchStrategy[Any]:
    """Instances of a model; fields that have a default are sometimes left to it. pydantic builds, hence checks, each."""
    required = {name: of_field(field) for name, field in model.model_fields.items() if field.is_required()}
    others = {name: of_field(field) for name, field in model.model_fields.items() if not field.is_required()}
    return st.fixed_dictionaries(required, optional=others).map(lambda values: model(**values))


def of_field(field: FieldInfo) -> st.SearchStrategy[Any]:
    return of_type(field.annotation, field.metadata)


def of_type(wanted: Any, said: Sequence[Any] = ()) -> st.SearchStrategy[Any]:
    """Values of an annotated type. A kind of type that no event has had yet is to be added here."""
    origin, inside = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return of_type(inside[0], [*said, *inside[1:]])
    if origin is Literal:
        return st.sampled_from(inside)
    if origin in (Union, UnionType):
        return st.one_of([of_type(each, said) for each in inside])
    if origin is tuple and inside[-1] is Ellipsis:
        return st.lists(of_type(inside[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*[of_type(each) for each in inside])
    if origin is dict:
        return st.dictionaries(of_type(inside[0]), of_type(inside[1]), max_size=4)
    if wanted is Any:
        return JSON
    if isinstance(wanted, type) and issubclass(wanted, BaseModel):
        return models(wanted)
    return of_scalar(wanted, bounds(said))


def of_scalar(wanted: Any, limits: Sequence[Any]) -> st.SearchStrategy[Any]:
    least: Any = next((limit.ge for limit in limits if isinstance(limit, annotated_types.Ge)), WHOLE[0])
    texts = [limit for limit in limits if isinstance(limit, StringConstraints)]
    scalars = {
        NoneType: st.none(),
        bool: st.booleans(),
        int: st.integers(least, WHOLE[1]),
        float: st.floats(allow_nan=False, allow_infinity=False),
        str: of_text(texts[0]) if texts else TEXT,
    }
    return scalars[wanted]


def of_text(limit: StringConstraints) -> st.SearchStrategy[str]:
    return TEXT.map(lambda text: text[: limit.max_length]).filter(lambda text: len(text) >= (limit.min_length or 0))


def bounds(said: Sequence[Any]) -> Sequence[Any]:
    """The limits that annotations state, those inside a `Field(...)` too."""
    return [limit for each in said for limit in (each.metadata if isinstance(each, FieldInfo) else [each])]


@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: str(kind.topic))
@given(data=st.data())
def test_an_event_is_read_back_as_it_was_written_and_to_the_same_bytes(kind: type[DomainEvent], data: Any) -> None:
    event = data.draw(events(kind))
    written = catalogue().encode(event)
    read = catalogue().decode(kind.topic, kind.schema_version, written)
    assert read == event
    assert type(read) is kind
    assert catalogue().encode(read) == written


@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: str(kind.topic))
@given(data=st.data())
def test_a_payload_is_compact_json_whose_keys_are_sorted(kind: type[DomainEvent], data: Any) -> None:
    written = catalogue().encode(data.draw(events(kind)))
    assert orjson.dumps(orjson.loads(written), option=orjson.OPT_SORT_KEYS) == written


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: str(kind.topic))
def test_every_older_schema_of_an_event_leads_up_to_todays(kind: type[DomainEvent]) -> None:
    steps = [(kind.topic, version) for version in range(1, kind.schema_version)]
    assert catalogue()._upcasters.keys() >= set(steps)
