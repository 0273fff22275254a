"""The one seeded generator gives its published numbers, everywhere, without favour."""

import hashlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayproof.stats.seeded import SplitMix64, stream, stream_seed

# Vigna's splitmix64.c, as given on Rosetta Code (1234567) and in many test suites (0).
PUBLISHED = {
    1234567: (
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ),
    0: (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC),
}


@pytest.mark.parametrize("seed", sorted(PUBLISHED))
def test_splitmix64_gives_the_published_numbers(seed: int) -> None:
    """Anyone's SplitMix64 can reproduce our streams."""
    draw = SplitMix64(seed)
    assert tuple(draw.next_u64() for _ in PUBLISHED[seed]) == PUBLISHED[seed]


def test_a_stream_is_keyed_by_the_digest_of_its_canonical_ids() -> None:
    """The key is SHA-256 of the RFC 8785 list of ids, its first eight bytes."""
    digest = hashlib.sha256(b'["wayproof.example/1","a",7]').digest()
    assert stream_seed("wayproof.example/1", "a", 7) == int.from_bytes(digest[:8], "big")
    assert (
        stream("wayproof.example/1", "a", 7).next_u64()
        == SplitMix64(stream_seed("wayproof.example/1", "a", 7)).next_u64()
    )


@given(st.integers(0, 2**64 - 1), st.integers(1, 2**64))
def test_bounded_integers_are_drawn_by_rejection(seed: int, bound: int) -> None:
    """Every draw is the remainder of the first 64-bit integer below the largest multiple."""
    twin = SplitMix64(seed)
    drawn = 2**64
    while drawn >= 2**64 - 2**64 % bound:
        drawn = twin.next_u64()
    assert SplitMix64(seed).below(bound) == drawn % bound


@pytest.mark.parametrize("bound", [0, -1, 2**64 + 1])
def test_a_bound_out_of_range_is_refused(bound: int) -> None:
    """No stream gives an integer below nothing."""
    with pytest.raises(ValueError, match="bound must be"):
        SplitMix64(1).below(bound)


@pytest.mark.parametrize("bound", [0, 2**32 + 1])
def test_a_table_bound_out_of_range_is_refused(bound: int) -> None:
    """The words of a table have at most 32 bits."""
    with pytest.raises(ValueError, match="bound must be"):
        SplitMix64(1).many_below(bound, 1)


@given(
    st.integers(0, 2**64 - 1),
    st.integers(1, 2**32) | st.integers(1, 100),
    st.integers(0, 700),
)
def test_many_integers_are_the_words_of_the_stream(seed: int, bound: int, count: int) -> None:
    """A table's words are cut from the plain stream, lowest first, and drawn by rejection.

    In how many batches they are made can't be told from the outside.
    """
    bits = 16 if bound <= 2**16 else 32
    limit = 2**bits - 2**bits % bound
    kept: list[int] = []
    twin = SplitMix64(seed)
    while len(kept) < count:
        value = twin.next_u64()
        words = [value >> shift & 2**bits - 1 for shift in range(0, 64, bits)]
        kept += [word % bound for word in words if word < limit]
    assert SplitMix64(seed).many_below(bound, count) == kept[:count]


@given(st.integers(0, 2**64 - 1), st.integers(0, 1000))
def test_lanes_are_the_plain_stream(seed: int, count: int) -> None:
    """Integers made in lanes are the integers made one by one, and the stream goes on."""
    side_by_side, one_by_one = SplitMix64(seed), SplitMix64(seed)
    expected = b"".join(one_by_one.next_u64().to_bytes(8, "little") for _ in range(count))
    assert side_by_side._next_bytes(count) == expected
    assert side_by_side.next_u64() == one_by_one.next_u64()


def test_draws_are_spread_evenly() -> None:
    """No remainder is favoured: 60,000 draws below 6 stay within five standard errors."""
    draw = SplitMix64(42)
    counts = Counter(draw.below(6) for _ in range(60_000))
    assert sorted(counts) == list(range(6))
    assert all(abs(count - 10_000) < 5 * 91.3 for count in counts.values())


def test_small_draws_are_cut_from_one_stream() -> None:
    """Whatever is drawn in between, many small tables continue the stream, word by word."""
    drawn, words = SplitMix64(7), SplitMix64(7)
    for count in (50, 50, 1, 127, 50, 2000, 50, 50, 120, 120, 120, 120, 120):
        assert drawn.many_below(1 << 16, count) == _lowest_first(words, count)
        if count == 127:
            assert drawn.next_u64() == words.next_u64()


def _lowest_first(words: SplitMix64, count: int) -> list[int]:
    made = [words.next_u64() for _ in range(count * 16 // 64 + 1)]
    return [word >> shift & 0xFFFF for word in made for shift in (0, 16, 32, 48)][:count]
