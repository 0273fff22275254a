"""Two bundles of navigation fitness: paired task by task, in one pass over both."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from wayproof.bundles.reader import Bundle
from wayproof.compare.columns import Column, compared_measures
from wayproof.compare.queues import Ledger
from wayproof.compare.read import Side, TaskRows, open_side
from wayproof.compare.request import CompareRequest
from wayproof.compare.units import Grouping, unit_record
from wayproof.errors import InputError
from wayproof.evidence.comparison_records import (
    COMPARISON_SCHEMA_VERSION,
    Comparison,
    MeasureChange,
    ResultPair,
    Suites,
)
from wayproof.evidence.fitness_names import BUNDLE_KIND
from wayproof.measures.rows import Row
from wayproof.measures.values import DEFAULT_MEASURES, Attempts, asked_measures, ranking_from
from wayproof.stats.numeric import EXTRA, has_numeric
from wayproof.stats.paired import ALPHA, DRAWS, POWER, resamples_for
from wayproof.text import quoted

__all__ = ["compare_fitness"]

LIMITS: Final = (
    "Two runs over the same tasks: it speaks of these tasks and of tasks like them, no others.",
    "Digests were checked; whether the records follow from each other is for `verify` to say.",
    "Undecided is no proof of no difference; the detectable difference says what could be missed.",
    "The coverage of intervals is promised for means, not for quantiles of time.",
)


WITHOUT_NUMERIC: Final = (
    "NumPy and SciPy are not installed: no intervals, no detectable differences, and no tests "
    f"beyond exact ones; install {EXTRA}"
)


class _Both(NamedTuple):
    """One task: its results on either side; None where a side lacks it."""

    before: TaskRows | None
    after: TaskRows | None


def _paired_tasks(base: Side, new: Side) -> Iterator[_Both]:
    """Walk both sides at once; their tasks are in one order."""
    before_all, after_all = base.tasks(), new.tasks()
    before, after = next(before_all, None), next(after_all, None)
    while before is not None or after is not None:
        if after is None or (before is not None and before.task_id < after.task_id):
            yield _Both(before, None)
            before = next(before_all, None)
        elif before is None or after.task_id < before.task_id:
            yield _Both(None, after)
            after = next(after_all, None)
        else:
            yield _Both(before, after)
            before, after = next(before_all, None), next(after_all, None)


class _Collector:
    """Everything that is added up while both sides are read."""

    def __init__(self, request: CompareRequest) -> None:
        names = DEFAULT_MEASURES if request.measures is None else request.measures
        self.columns = [
            Column(asked) for asked in asked_measures(names, all_topics=request.all_topics)
        ]
        self.grouping = Grouping(request.cluster)
        self.ledger = Ledger()
        self.changed: list[tuple[str, int, int | None, int | None]] = []
        self.compared = 0
        self.only: tuple[list[str], list[str]] = ([], [])
        self.only_attempts: tuple[list[tuple[str, int]], list[tuple[str, int]]] = ([], [])
        self.other_digest: list[str] = []
        self.digest_unknown = False

    def add(self, both: _Both) -> None:
        """Take one task."""
        before, after = both
        if before is not None and after is not None:
            self._add_pair(before, after)
        else:
            for side, rows in zip(self.only, both, strict=True):
                if rows is not None:
                    side.append(rows.task_id)
        self._add_results(before, after)

    def _add_pair(self, before: TaskRows, after: TaskRows) -> None:
        was, now = before.rows[0].task_sha256, after.rows[0].task_sha256
        if was is None or now is None:
            self.digest_unknown = True
        elif was != now:
            self.other_digest.append(before.task_id)
        self.grouping.add(before.rows[0])
        was_all = now_all = Attempts(before.rows)
        if len(before.rows) != 1 or len(after.rows) != 1 or before.rows[0] is not after.rows[0]:
            now_all = Attempts(after.rows)
        for column in self.columns:
            column.add(was_all, now_all)
        self.compared += 1

    def _add_results(self, before: TaskRows | None, after: TaskRows | None) -> None:
        if before is not None and after is not None:
            first, second = before.rows[0], after.rows[0]
            if len(before.rows) == len(after.rows) == 1 and first.attempt == second.attempt:
                # Nearly all tasks: one result a side.
                if self.ledger.add(first, second, first.attempt, numbered=False):
                    lines = (before.lines[0], after.lines[0])
                    self.changed.append((before.task_id, first.attempt, *lines))
                return
        was, now = _by_attempt(before), _by_attempt(after)
        numbered = max(len(was), len(now)) > 1
        any_task = before if before is not None else after
        if any_task is None:
            return
        for attempt in sorted({*was, *now}):
            (old, old_line), (fresh, fresh_line) = (
                side.get(attempt, (None, None)) for side in (was, now)
            )
            if before is not None and after is not None and (old is None or fresh is None):
                self.only_attempts[old is None].append((any_task.task_id, attempt))
            if self.ledger.add(old, fresh, attempt, numbered=numbered):
                self.changed.append((any_task.task_id, attempt, old_line, fresh_line))


def _by_attempt(task: TaskRows | None) -> dict[int, tuple[Row | None, int | None]]:
    if task is None:
        return {}
    return {row.attempt: (row, at) for row, at in zip(task.rows, task.lines, strict=True)}


def _has_rankings(task: TaskRows) -> bool:
    """Tell whether a task's results hold what ranked measures need."""
    try:
        for row in task.rows:
            ranking_from(row)
    except InputError:
        return False
    return True


def compare_fitness(base: Bundle, new: Bundle, request: CompareRequest) -> Comparison:
    """Compare two bundles of navigation fitness.

    Raises
    ------
    InputError
        When the suites differ and that was not allowed, or a bundle lacks what was asked.
    """
    collector = _Collector(request)
    cluster = None if request.cluster == "task" else request.cluster
    recent: dict[bytes, Row] = {}
    with (
        open_side(base, cluster, recent) as before,
        open_side(new, cluster, recent) as after,
    ):
        for both in _paired_tasks(before, after):
            try:
                collector.add(both)
            except InputError as error:
                is_base = both.before is not None and not _has_rankings(both.before)
                raise error.at(file=str((base if is_base else new).folder)) from None
        suites = _suites(collector, base, new)
        if not request.allow_different_suites:
            _refuse_different(suites, base, new)
        clusters = collector.grouping.clusters()
        unit = unit_record(clusters)
        measures = compared_measures(
            collector.columns,
            clusters,
            missing=(before.missing_count, after.missing_count),
            needed=request.needed,
        )
        asked = request.measures is not None
        return Comparison(
            axes=collector.ledger.axes(),
            base=before.record(),
            gates=[],
            kind=BUNDLE_KIND,
            left_out=_left_out(),
            limits=list(LIMITS),
            measures=[row for row in measures if asked or row.pairs or row.name == "sufficient"],
            new=after.record(),
            queues=collector.ledger.queues(),
            result_pairs=[
                ResultPair(
                    attempt=attempt, base=_raw(before, at), new=_raw(after, now), task_id=id_
                )
                for id_, attempt, at, now in collector.changed
            ],
            schema_version=COMPARISON_SCHEMA_VERSION,
            settings=_settings(request, measures, clusters.cluster_count),
            suites=suites,
            trend=None,
            unit=unit,
        )


def _raw(side: Side, number: int | None) -> msgspec.Raw | None:
    return None if number is None else msgspec.Raw(side.line(number))


def _settings(
    request: CompareRequest, measures: Sequence[MeasureChange], clusters: int
) -> dict[str, Any]:
    return {
        "all_topics": request.all_topics,
        "allow_different_suites": request.allow_different_suites,
        "alpha": ALPHA,
        "cluster": request.cluster,
        "draws": DRAWS,
        "measures": [row.name for row in measures],
        "needed": request.needed,
        "power": POWER,
        "resamples": resamples_for(clusters),
        "seeds": ["wayproof.compare.bootstrap/1", "wayproof.compare.sign-flip/1"],
    }


def _left_out() -> list[str]:
    if has_numeric():
        return []
    return [WITHOUT_NUMERIC]


# -- suites ---------------------------------------------------------------------------


def _suites(collector: _Collector, base: Bundle, new: Bundle) -> Suites:
    before, after = (side.manifest.inputs.get("tasks") for side in (base, new))
    how = "task_sha256"
    same_tasks = not collector.other_digest
    if collector.digest_unknown:
        how = "tasks file" if before is not None and before == after else "not known"
        same_tasks = same_tasks and how == "tasks file"
    return Suites(
        changed=collector.other_digest,
        compared_tasks=collector.compared,
        how=how,
        only_base=collector.only[0],
        only_base_attempts=collector.only_attempts[0],
        only_new=collector.only[1],
        only_new_attempts=collector.only_attempts[1],
        same=same_tasks and not any(collector.only),
    )


def _refuse_different(suites: Suites, base: Bundle, new: Bundle) -> None:
    if suites.same:
        return
    parts = [
        f"{len(ids)} {what} (such as {quoted(ids[0])})"
        for ids, what in (
            (suites.only_base, f"tasks only in {base.name}"),
            (suites.only_new, f"tasks only in {new.name}"),
            (suites.changed, "tasks that changed"),
        )
        if ids
    ]
    if suites.how == "not known":
        parts.append("tasks without digest, from different task files (wayproof.fitness/1)")
    raise InputError(
        "the bundles don't score the same tasks",
        file=str(new.folder),
        expected="the same task ids, each task unchanged",
        found=", ".join(parts),
        mend="{allow_different_suites} compares what both have and lists the rest",
    )
