"""The one module that draws from the operating system's random numbers.

A salt, a nonce, a suite's seed and a key must not be guessable; everything else in
wayproof draws from :mod:`wayproof.stats.seeded`.
"""

import secrets

__all__ = ["random_bytes"]


def random_bytes(count: int) -> bytes:
    """Return ``count`` bytes that nobody can guess."""
    return secrets.token_bytes(count)
