"""wayproof: evidence about an agent's first move and its recovery after a refusal.

Two benchmarks share one evidence format:

* :mod:`wayproof.fitness` scores captured route packets against typed tasks;
* :mod:`wayproof.recovery` measures verified recovery after a rejected action.
"""

from wayproof._version import __version__

__all__ = ["__version__"]
