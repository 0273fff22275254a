"""NumPy and SciPy, where they are installed, and SplitMix64 in arrays.

Both are the extra ``[stats]`` and are imported on first use: a comparison without them
still has its exact tests. Everything random is drawn by position: the number at place i of
a stream is a function of the stream's seed and i alone, so a table is the same however it
is cut into blocks. Sums are sums of integers; they don't depend on their order.
"""

from functools import cache
from typing import Any, Final

__all__ = ["EXTRA", "has_numeric", "numpy", "special", "u64_at"]

EXTRA: Final = "wayproof[stats]"
"""What to install for intervals, seeded tests and detectable differences."""

_GAMMA: Final = 0x9E3779B97F4A7C15
_MIX_1: Final = 0xBF58476D1CE4E5B9
_MIX_2: Final = 0x94D049BB133111EB
_MASK: Final = (1 << 64) - 1


@cache
def has_numeric() -> bool:
    """Tell whether NumPy and SciPy can be imported."""
    try:
        import numpy as np  # noqa: F401 - whether it can be
        import scipy  # noqa: F401 - its parts are imported where they are needed
    except ImportError:
        return False
    return True


def numpy() -> Any:
    """Import NumPy."""
    import numpy as np

    return np


def special() -> Any:
    """Import SciPy's special functions; ``scipy.stats`` takes ten times as long."""
    from scipy import special as functions

    return functions


def u64_at(seed: int, first: int, count: int) -> Any:
    """Return the integers at places ``first`` … ``first + count - 1`` of a stream.

    Place i (from 0) is what :class:`~wayproof.stats.seeded.SplitMix64` with the same seed
    returns as its i-th integer. The answer is an array of uint64.
    """
    np = numpy()
    z = np.arange(1, count + 1, dtype=np.uint64)
    z *= np.uint64(_GAMMA)
    z += np.uint64((seed + first * _GAMMA) & _MASK)
    shifted = z >> np.uint64(30)
    z ^= shifted
    z *= np.uint64(_MIX_1)
    np.right_shift(z, np.uint64(27), out=shifted)
    z ^= shifted
    z *= np.uint64(_MIX_2)
    np.right_shift(z, np.uint64(31), out=shifted)
    z ^= shifted
    return z
