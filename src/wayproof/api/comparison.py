"""Two bundles compared, from Python."""

from collections.abc import Iterable
from pathlib import Path

from wayproof.api.given import path_of, text_of, texts_of
from wayproof.compare.bundles import compare_bundles as compare_folders
from wayproof.compare.request import CompareRequest
from wayproof.errors import InputError
from wayproof.evidence.comparison_records import (
    Comparison,
    RecoveryComparison,
    RejectionComparison,
)
from wayproof.text import quoted

__all__ = ["compare_bundles"]


def compare_bundles(
    base: str | Path,
    new: str | Path,
    *,
    measures: Iterable[str] | None = None,
    cluster: str | None = None,
    allow_different_suites: bool = False,
    all_topics: bool = False,
    needed: float | None = None,
) -> Comparison | RecoveryComparison | RejectionComparison:
    """Compare two bundles of one kind, pair by pair: what changed, and is it more than chance.

    Parameters
    ----------
    base, new
        Their folders.
    measures
        Names of measures, such as ``nDCG@10``; None: the share of sufficient results, recall,
        precision, scent, and quantiles of time where they were measured.
    cluster
        Field of the result whose values are resampled whole, or ``task``; None chooses.
    allow_different_suites
        Compare what both sides have, and list the rest.
    all_topics
        Count tasks that expect nothing as 0 in ranked measures.
    needed
        A difference for which to say how large a sample it would need.

    Returns
    -------
    Comparison, RecoveryComparison or RejectionComparison
        Flips and debts by task, and for each measure the paired difference with its interval
        and verdict.

    Raises
    ------
    InputError
        When a folder is no bundle, the kinds or suites differ, or a bundle lacks what was
        asked for.
    IntegrityError
        When a file isn't what its manifest says.
    """
    if needed is not None and (isinstance(needed, bool) or not isinstance(needed, int | float)):
        raise InputError(
            "not a difference", setting="needed", expected="a number", found=quoted(needed)
        )
    request = CompareRequest(
        measures=None if measures is None else tuple(texts_of(measures, "measures")),
        cluster=None if cluster is None else text_of(cluster, "cluster"),
        allow_different_suites=allow_different_suites,
        all_topics=all_topics,
        needed=None if needed is None else float(needed),
    )
    return compare_folders(path_of(base, "base"), path_of(new, "new"), request)
