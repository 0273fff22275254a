"""What a comparison is asked for."""

import msgspec

__all__ = ["CompareRequest"]


class CompareRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How to compare.

    Attributes
    ----------
    measures
        Names of measures; None: the share of sufficient results, recall,
        precision, scent, and quantiles of time where they were measured.
    cluster
        Field of the result whose values are resampled whole, or ``task``; None chooses.
    allow_different_suites
        Compare what both sides have, and list the rest.
    all_topics
        Count tasks that expect nothing as 0 in ranked measures, as ``trec_eval -c`` does.
    needed
        A difference for which to say how large a sample it would need.
    """

    measures: tuple[str, ...] | None = None
    cluster: str | None = None
    allow_different_suites: bool = False
    all_topics: bool = False
    needed: float | None = None
