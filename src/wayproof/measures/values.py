"""The value of one measure for one task, its attempts averaged; None where it has none."""

import math
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

from wayproof.errors import InputError
from wayproof.measures.ranked import Measure, Ranking, parse_measures, ranking_of
from wayproof.measures.rows import Row, is_vacuous

__all__ = [
    "DEFAULT_MEASURES",
    "SHARE",
    "Asked",
    "Attempts",
    "asked_measures",
    "passes",
    "wall_ms_of",
]

SHARE: Final = "sufficient"
DEFAULT_MEASURES: Final = (SHARE, "recall", "precision", "scent", "censored_p50", "censored_p95")
_PLAIN: Final = (*DEFAULT_MEASURES[1:4],)
_QUANTILES: Final = {"censored_p50": 50, "censored_p95": 95}

NO_EXPECTED = "expects nothing"
NOT_DEFINED = "not defined on both sides"
FEW_ATTEMPTS = "too few attempts"
VACUOUS = "could not fail"
UNMEASURED = "no time on both sides"


class Attempts:
    """All results of one task on one side; what several measures need is made once."""

    __slots__ = ("_rankings", "rows")

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self._rankings: list[Ranking] | None = None

    def rankings(self) -> list[Ranking]:
        """Return the ranking of each attempt."""
        if self._rankings is None:
            self._rankings = [ranking_from(row) for row in self.rows]
        return self._rankings

    def passes(self) -> tuple[int, int]:
        """Return how many results passed, and how many could fail."""
        if len(self.rows) == 1:
            row = self.rows[0]
            if row.sufficiency_failure_kind is not None:
                return 0, 1
            return (0, 0) if is_vacuous(row) else (1, 1)
        return passes(self.rows)


class Asked(NamedTuple):
    """One measure that a comparison looks at.

    Attributes
    ----------
    name
        As it is shown.
    kind
        ``share``, ``mean`` or ``quantile``.
    percent
        Of a quantile.
    value
        A task's value from its results on one side; of a ``mean``.
    ranked
        Whether a result without packet scores 0 in it, and is counted.
    without
        Why a task may have no value.
    """

    name: str
    kind: Literal["share", "mean", "quantile"]
    percent: int = 0
    value: Callable[[Attempts], float | None] = lambda _attempts: None
    ranked: bool = False
    without: str = NOT_DEFINED


def asked_measures(names: Sequence[str], *, all_topics: bool) -> tuple[Asked, ...]:
    """Read the names of measures; the share of sufficient results always comes first."""
    asked = [Asked(SHARE, "share", without=VACUOUS)]
    for name in names:
        if name in _QUANTILES:
            asked.append(
                Asked(name, "quantile", _QUANTILES[name], value=_wall_ms, without=UNMEASURED)
            )
        elif name in _PLAIN:
            asked.append(Asked(name, "mean", value=_PLAIN_VALUES[name]))
        elif name != SHARE:
            asked += [_ranked(one, all_topics=all_topics) for one in _parsed(name)]
    return tuple({one.name: one for one in asked}.values())


def _parsed(name: str) -> tuple[Measure, ...]:
    try:
        return parse_measures([name])
    except InputError as error:
        if error.expected is None or error.problem != "not a measure":
            raise
        raise InputError(
            error.problem,
            setting=error.setting,
            expected=", ".join([*DEFAULT_MEASURES, error.expected]),
            found=error.found,
        ) from None


def _ranked(measure: Measure, *, all_topics: bool) -> Asked:
    if measure.definition is None:
        return Asked(measure.name, "mean", value=_of_attempts(measure), without=FEW_ATTEMPTS)

    function, cutoff = measure.definition.function, measure.cutoff

    def value(attempts: Attempts) -> float | None:
        if not attempts.rows[0].expected_artifacts:
            return 0.0 if all_topics else None
        rankings = attempts.rankings()
        if len(rankings) == 1:
            return function(rankings[0], cutoff)
        return _mean([function(ranking, cutoff) for ranking in rankings])

    return Asked(measure.name, "mean", value=value, ranked=True, without=NO_EXPECTED)


def _of_attempts(measure: Measure) -> Callable[[Attempts], float | None]:
    def value(attempts: Attempts) -> float | None:
        return measure.of_attempts(*passes(attempts.rows))

    return value


def ranking_from(row: Row) -> Ranking:
    """Look a result's expected ids up in the packet's order.

    Raises
    ------
    InputError
        When the bundle is of a version that doesn't hold the order.
    """
    order = row.selection_order
    selected = row.selected_artifacts
    if order is None:
        if selected:
            raise InputError(
                "the bundle doesn't hold the packet's order, which ranked measures need",
                field="selection_order",
                expected="a bundle of wayproof.fitness/2",
                found="wayproof.fitness/1",
                mend="score the packets again with this version",
            )
        order = []
    try:
        ordered = list(map(selected.__getitem__, order))
    except IndexError:
        raise InputError(
            "points beyond selected_artifacts",
            field="selection_order",
            expected=f"a permutation of 0 … {len(selected) - 1}",
            found=str(max(order)),
        ) from None
    return ranking_of(
        ordered, row.expected_artifacts, literal_ids=row.literal_ids, relevance=row.relevance
    )


def _mean(values: Sequence[float]) -> float | None:
    if not values:
        return None
    return values[0] if len(values) == 1 else math.fsum(values) / len(values)


def _recall(attempts: Attempts) -> float | None:
    if len(attempts.rows) == 1:
        row = attempts.rows[0]
        expected = len(row.expected_artifacts)
        return len(row.found_expected_artifacts) / expected if expected else None
    return _mean(
        [
            len(row.found_expected_artifacts) / len(row.expected_artifacts)
            for row in attempts.rows
            if row.expected_artifacts
        ]
    )


def _precision(attempts: Attempts) -> float | None:
    if len(attempts.rows) == 1:
        row = attempts.rows[0]
        selected = len(row.selected_artifacts)
        return _relevant_count(row) / selected if selected else None
    return _mean(
        [
            _relevant_count(row) / len(row.selected_artifacts)
            for row in attempts.rows
            if row.selected_artifacts
        ]
    )


def _relevant_count(row: Row) -> int:
    """Count the selected ids that some expected id matches."""
    expected = row.expected_artifacts
    if "*" not in "".join(expected):
        return len(row.found_expected_artifacts)
    prefixes = tuple(one[:-1] for one in expected if one[-1:] == "*" and one not in row.literal_ids)
    if not prefixes:
        return len(row.found_expected_artifacts)
    exact = set(expected) - {f"{prefix}*" for prefix in prefixes}
    return sum(one in exact or one.startswith(prefixes) for one in row.selected_artifacts)


def _scent(attempts: Attempts) -> float | None:
    if len(attempts.rows) == 1:
        return attempts.rows[0].scent_coverage
    return _mean([row.scent_coverage for row in attempts.rows if row.scent_coverage is not None])


_PLAIN_VALUES: Final = {"recall": _recall, "precision": _precision, "scent": _scent}


def passes(rows: Sequence[Row]) -> tuple[int, int]:
    """Return how many results passed, and how many could fail."""
    able = [row for row in rows if row.state != "vacuous"]
    return sum(row.sufficiency_failure_kind is None for row in able), len(able)


def _wall_ms(attempts: Attempts) -> float | None:
    return wall_ms_of(attempts.rows)


def wall_ms_of(rows: Sequence[Row]) -> float | None:
    """Return a task's time: the mean of its attempts, ``inf`` where one was cut off.

    None where an attempt was neither measured nor cut off.
    """
    if any(row.timed_out for row in rows):
        return math.inf
    return _mean_time([row.wall_ms for row in rows])


def _mean_time(walls: Sequence[float | None]) -> float | None:
    known = [wall for wall in walls if wall is not None]
    return _mean(known) if len(known) == len(walls) else None
