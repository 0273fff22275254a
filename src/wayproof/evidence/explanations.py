"""What ``wayproof explain`` and the generated page of failure kinds say.

Nothing is written here twice: the words stand in :mod:`wayproof.evidence.fitness_names`.
"""

from typing import NamedTuple

from wayproof.evidence.fitness_names import LATENCY_STATUSES, RUNGS

__all__ = ["EXPLANATIONS", "Explanation"]


class Explanation(NamedTuple):
    """One kind of failure (or of latency status), ready to be shown."""

    kind: str
    place: str
    meaning: str
    paragraphs: tuple[tuple[str, str], ...]


def _of_rungs() -> list[Explanation]:
    return [
        Explanation(
            rung.failure_kind,
            f"rung {number} of {len(RUNGS)} of the sufficiency ladder",
            rung.meaning,
            (
                ("What it means", rung.meaning),
                ("Why it stands here", rung.why_here),
                ("How one mends it", rung.mend),
            ),
        )
        for number, rung in enumerate(RUNGS, 1)
    ]


def _of_latency() -> list[Explanation]:
    return [
        Explanation(
            f"latency:{row.status}",
            "a status of the latency axis, which never touches sufficiency",
            row.meaning,
            (
                ("What it means", row.meaning),
                ("Debt", "Makes one latency debt." if row.is_debt else "Makes no debt."),
            ),
        )
        for row in LATENCY_STATUSES
    ]


EXPLANATIONS: dict[str, Explanation] = {
    explanation.kind: explanation for explanation in (*_of_rungs(), *_of_latency())
}
