"""Two bundles of one kind, paired: what changed, whether it is more than chance, which debts.

Reads evidence and bundles; knows nothing of how either came about.
"""

from wayproof.compare.bundles import CompareRequest, compare_bundles

__all__ = ["CompareRequest", "compare_bundles"]
