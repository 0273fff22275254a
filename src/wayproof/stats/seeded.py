"""The one seeded generator: SplitMix64, keyed by SHA-256 of canonical ids.

Results must be the same bytes on any machine, operating system and Python, in any order
and with any number of processes. So every stream of random numbers has its own key,
made from the ids of what it is for, and no stream is ever shared: who draws first can't
matter. The streams of :mod:`random` and NumPy are not promised across versions.

Source: Guy L. Steele Jr., Doug Lea and Christine H. Flood, "Fast splittable
pseudorandom number generators", OOPSLA 2014; the constants are those of Sebastiano
Vigna's reference ``splitmix64.c``. Known answers stand in ``tests/test_seeded.py``.
"""

import hashlib
import sys
from array import array
from typing import Final

from wayproof.canonical import canonical_bytes

__all__ = ["SplitMix64", "stream", "stream_seed"]

_MASK: Final = (1 << 64) - 1
_GAMMA: Final = 0x9E3779B97F4A7C15
_MIX_1: Final = 0xBF58476D1CE4E5B9
_MIX_2: Final = 0x94D049BB133111EB
_RANGE: Final = 1 << 64

# For 256 integers at a time, side by side in the low halves of 128-bit lanes.
_LANES: Final = 256
_ONES: Final = sum(1 << 128 * lane for lane in range(_LANES))
_LOW_HALVES: Final = _ONES * _MASK
_STEPS: Final = sum(((lane + 1) * _GAMMA & _MASK) << 128 * lane for lane in range(_LANES))


def stream_seed(*ids: str | int) -> int:
    """64-bit seed of the stream named by ``ids``.

    The first eight bytes, big-endian, of the SHA-256 of the RFC 8785 bytes of the list
    ``ids``. The first id says what the stream is for, so that two uses never share one.
    """
    return int.from_bytes(hashlib.sha256(canonical_bytes(list(ids))).digest()[:8], "big")


class SplitMix64:
    """A stream of 64-bit integers.

    Parameters
    ----------
    seed
        The initial state; taken modulo 2^64.
    """

    __slots__ = ("_ahead", "_ahead_from", "_state")

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK
        # Integers made ahead of need, and the state that they start from (-1: nowhere).
        self._ahead = b""
        self._ahead_from = -1

    def next_u64(self) -> int:
        """Return the next integer of the stream, 0 … 2^64-1."""
        self._state = z = (self._state + _GAMMA) & _MASK
        z = ((z ^ (z >> 30)) * _MIX_1) & _MASK
        z = ((z ^ (z >> 27)) * _MIX_2) & _MASK
        return z ^ (z >> 31)

    def below(self, bound: int) -> int:
        """Return an integer from 0 to ``bound`` - 1, each equally likely.

        A draw at or above the largest multiple of ``bound`` is thrown away, so that no
        remainder is favoured.

        Raises
        ------
        ValueError
            When ``bound`` is not in 1 … 2^64.
        """
        if not 1 <= bound <= _RANGE:
            msg = f"bound must be in 1 … 2^64, not {bound}"
            raise ValueError(msg)
        limit = _RANGE - _RANGE % bound
        while True:
            drawn = self.next_u64()
            if drawn < limit:
                return drawn % bound

    def many_below(self, bound: int, count: int) -> list[int]:
        """Return ``count`` integers from 0 to ``bound`` - 1, for tables of them.

        Each 64-bit integer of the stream is cut into four 16-bit words, lowest first
        (two 32-bit words when ``bound`` is above 2^16), and each word is kept or thrown
        away as in :meth:`below`. What is left of the last integer is dropped.
        """
        if not 1 <= bound <= 1 << 32:
            msg = f"bound must be in 1 … 2^32, not {bound}"
            raise ValueError(msg)
        bits = 16 if bound <= 1 << 16 else 32
        mask = (1 << bits) - 1
        limit = (mask + 1) - (mask + 1) % bound
        kept: list[int] = []
        while len(kept) < count:
            missing = count - len(kept)
            words = array("H" if bits == 16 else "I")
            words.frombytes(self._next_bytes(missing * bits // 64 + 1))
            if sys.byteorder == "big":
                words.byteswap()
            kept.extend([word % bound for word in words if word < limit][:missing])
        return kept

    def _next_bytes(self, count: int) -> bytes:
        """Return the next ``count`` integers as bytes, eight each, lowest byte first.

        They are made side by side, in lanes of 128 bits of one long integer, which is
        several times faster than one by one: a lane holds the product of two 64-bit
        numbers, so nothing crosses into the next.
        """
        if count >= _LANES // 8:
            return self._made_side_by_side(count)
        if self._ahead_from != self._state:  # a single small draw, for all that is known
            drawn = b"".join([self.next_u64().to_bytes(8, "little") for _ in range(count)])
            self._ahead, self._ahead_from = b"", self._state
            return drawn
        if len(self._ahead) < 8 * count:  # one more of many: they are cut from whole lanes
            self._ahead = self._made_side_by_side(_LANES)
        drawn, self._ahead = self._ahead[: 8 * count], self._ahead[8 * count :]
        self._state = self._ahead_from = (self._ahead_from + count * _GAMMA) & _MASK
        return drawn

    def _made_side_by_side(self, count: int) -> bytes:
        result = []
        while count > 0:
            lanes = min(count, _LANES)
            z = (self._state * _ONES + _STEPS) & _LOW_HALVES
            z = ((z ^ (z >> 30)) & _LOW_HALVES) * _MIX_1 & _LOW_HALVES
            z = ((z ^ (z >> 27)) & _LOW_HALVES) * _MIX_2 & _LOW_HALVES
            z = (z ^ (z >> 31)) & _LOW_HALVES
            halves = memoryview(z.to_bytes(16 * _LANES, "little")).cast("Q")
            result.append(halves[: 2 * lanes : 2].tobytes())
            self._state = (self._state + lanes * _GAMMA) & _MASK
            count -= lanes
        return b"".join(result)


def stream(*ids: str | int) -> SplitMix64:
    """Return the stream named by ``ids``, at its beginning."""
    return SplitMix64(stream_seed(*ids))
