"""Whatever the two bodies are, the later one comes back to the byte."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.prompt.events import StoredBody
from domain.prompt.stored_body import WHOLE_EVERY, common_prefix, rebuild, store

PIECES = st.sampled_from(
    [b'{"role"', b'{"role":"user","content":"', rb"\n\n", b'"},', b"a" * 47, b"a" * 48, b"ab" * 60, b"\0", b"\xff" * 97]
)
BODIES = st.one_of(
    st.binary(max_size=300),
    st.lists(PIECES | st.binary(max_size=120), max_size=40).map(b"".join),
    st.tuples(PIECES, st.integers(0, 200)).map(lambda repeated: repeated[0] * repeated[1]),
)


@st.composite
def relatives(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A body, and another that was made of stretches of it in any order, with something between."""
    base = draw(BODIES)
    cuts = st.integers(0, len(base))
    stretches = st.tuples(cuts, cuts).map(lambda cut: base[min(cut) : max(cut)])
    return base, b"".join(draw(st.lists(stretches | PIECES, max_size=12)))


@settings(deadline=None)
@given(relatives() | st.tuples(BODIES, BODIES), st.integers(0, 2 * WHOLE_EVERY))
def test_a_body_comes_back_to_the_byte(bodies: tuple[bytes, bytes], chain: int) -> None:
    base, body = bodies
    stored = store(body, base, "turn_1", chain)
    assert rebuild(stored, base) == body
    assert rebuild(StoredBody.model_validate_json(stored.model_dump_json()), base) == body
    assert stored.chain < WHOLE_EVERY
    assert (stored.base is None) == (stored.chain == 0)


@settings(deadline=None)
@given(st.lists(BODIES, min_size=1, max_size=8))
def test_a_chain_of_bodies_comes_back_from_its_first(bodies: list[bytes]) -> None:
    stored = [store(bodies[0])]
    for number, (base, body) in enumerate(pairwise(bodies)):
        stored.append(store(body, base, str(number), stored[-1].chain))
    rebuilt: bytes | None = None
    for body, record in zip(bodies, stored, strict=True):
        rebuilt = rebuild(record, rebuilt)
        assert rebuilt == body


@settings(deadline=None)
@given(relatives())
def test_what_is_copied_is_never_stored_again(bodies: tuple[bytes, bytes]) -> None:
    base, body = bodies
    stored = store(body, base, "turn_1", 0)
    copied = sum(length for _, length in stored.copies)
    assert 0 <= copied <= len(body)
    assert all(start >= 0 and length > 0 and start + length <= len(base) for start, length in stored.copies)


@settings(deadline=None)
@given(relatives() | st.tuples(BODIES, BODIES))
def test_the_common_prefix_is_the_longest(bodies: tuple[bytes, bytes]) -> None:
    one, other = bodies
    shared = common_prefix(one, other)
    assert one[:shared] == other[:shared]
    assert one[shared : shared + 1] != other[shared : shared + 1] or shared == len(one) == len(other)
