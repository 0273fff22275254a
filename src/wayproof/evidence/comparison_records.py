"""What a comparison of bundles says, as typed records.

Fields stand in the order of their names. A number that is not there is null; whether it was
not asked for, could not be computed or is censored stands beside it.
"""

from typing import Any, Final, Literal

import msgspec

from wayproof.canonical import Record

__all__ = [
    "COMPARISON_SCHEMA_VERSION",
    "Axis",
    "ComparedBundle",
    "Comparison",
    "DebtChange",
    "DebtQueue",
    "DiscordantTrial",
    "Flip",
    "GateLine",
    "MeasureChange",
    "OpenDebt",
    "PolicyComparison",
    "RecoveryComparison",
    "RejectionComparison",
    "RejectionMeasure",
    "RejectionTask",
    "ResultPair",
    "Suites",
    "Trend",
    "TrendStep",
    "Unit",
]

COMPARISON_SCHEMA_VERSION: Final = "wayproof.compare/1"

Change = Literal["newly_failing", "mended", "changed_kind", "no_longer_measured", "newly_measured"]
DebtChangeKind = Literal["new", "carried", "paid", "no_longer_measured"]
Verdict = Literal["better", "worse", "undecided", "no_task_changed", "too_few", "unmeasured"]
GateState = Literal["pass", "fail", "undecided"]


class ComparedBundle(Record, frozen=True):
    """One side: which bundle it is, and how large.

    Attributes
    ----------
    inputs
        SHA-256 of what it was made from, by role.
    name
        The folder's own name.
    results_sha256
        SHA-256 of its results.
    """

    inputs: dict[str, str]
    name: str
    result_count: int
    results_sha256: str
    suite: str
    task_count: int
    vacuous_count: int


class Suites(Record, frozen=True):
    """Whether both sides scored the same tasks, and what only one of them has.

    Attributes
    ----------
    changed
        Tasks of both sides whose digests differ; they are compared all the same.
    how
        ``task_sha256`` (each task's digest), ``tasks file`` (the digest of the input), or
        ``not known`` where an older bundle holds neither.
    only_base, only_new
        Task ids of one side only.
    only_base_attempts, only_new_attempts
        ``[task_id, attempt]`` of results whose task both sides have.
    """

    changed: list[str]
    compared_tasks: int
    how: str
    only_base: list[str]
    only_base_attempts: list[tuple[str, int]]
    only_new: list[str]
    only_new_attempts: list[tuple[str, int]]
    same: bool


class Unit(Record, frozen=True):
    """What was resampled and flipped: whole clusters.

    Attributes
    ----------
    cluster
        ``task``, or the field of the result whose values are the clusters.
    effective
        What the clusters are worth: N² / Σn².
    largest, largest_share
        The largest cluster and its share of the tasks.
    warnings
        What to keep in mind, a sentence each.
    why
        Why this unit.
    """

    cluster: str
    clusters: int
    effective: float
    largest: str
    largest_share: float
    warnings: list[str]
    why: str


class Flip(Record, frozen=True):
    """One result that reads differently on the two sides.

    Attributes
    ----------
    before, after
        ``sufficient``, ``vacuous`` or a failure kind; on the other axis a latency status.
    """

    after: str
    attempt: int
    before: str
    change: Change
    family: str
    route_type: str
    task_id: str


class Axis(Record, frozen=True):
    """One axis, result by result: counts, and every result that changed.

    Attributes
    ----------
    lost
        Results that only the base measured.
    measured_base, measured_new
        Results that could fail (sufficiency), or whose time is known (latency).
    """

    axis: Literal["sufficiency", "latency"]
    changed_kind: int
    compared: int
    flips: list[Flip]
    lost: int
    measured_base: int
    measured_new: int
    mended: int
    newly_failing: int
    newly_measured: int
    no_longer_measured: int
    unchanged: int


class DebtChange(Record, frozen=True):
    """One debt of either side.

    Attributes
    ----------
    after, before
        The failure kind or latency status that makes the debt; null without debt.
    reason
        Why a debt counts as no longer measured; null otherwise.
    """

    after: str | None
    attempt: int
    before: str | None
    change: DebtChangeKind
    debt_id: str
    family: str
    reason: str | None
    route_type: str
    task_id: str


class DebtQueue(Record, frozen=True):
    """One repair queue: before → after, +new −paid, and every debt."""

    after: int
    before: int
    carried: int
    debts: list[DebtChange]
    new: int
    no_longer_measured: int
    paid: int
    queue: Literal["sufficiency", "latency"]


class MeasureChange(Record, frozen=True):
    """One measure on both sides.

    Attributes
    ----------
    base, new
        Means over the pairs (each task once); a quantile for times, null where censored.
    better, equal, worse
        How many pairs moved which way.
    clusters, effective
        How many clusters have a pair, and what they are worth.
    detectable
        The smallest difference this sample would have shown with 80 % power.
    difference
        ``new`` - ``base``.
    direction
        Whether higher or lower is better.
    high, low
        95 % interval of the difference; null where there is none or the end is censored.
    high_beyond, low_beyond
        Of a censored end: the outermost difference that was not.
    high_censored, low_censored
        On which side a censored end lies: beyond every difference that is known.
    left_out
        Tasks that have no pair, by reason.
    missing_base, missing_new
        Results without packet, which score 0 in ranked measures.
    needed_clusters, needed_tasks
        About how many a difference as asked for would need.
    p, p_adjusted
        Two-sided sign-flip p, and after Holm over the measures with a p.
    p_method
        ``exact`` or ``drawn``.
    why
        One sentence behind the verdict.
    """

    base: float | None
    base_censored: bool
    better: int
    clusters: int
    detectable: float | None
    difference: float | None
    direction: Literal["higher", "lower"]
    effective: float
    equal: int
    high: float | None
    high_beyond: float | None
    high_censored: Literal["below", "above"] | None
    left_out: dict[str, int]
    low: float | None
    low_beyond: float | None
    low_censored: Literal["below", "above"] | None
    missing_base: int
    missing_new: int
    name: str
    needed_clusters: int | None
    needed_tasks: int | None
    new: float | None
    new_censored: bool
    p: float | None
    p_adjusted: float | None
    p_method: str | None
    pairs: int
    verdict: Verdict
    why: str
    worse: int


class ResultPair(Record, frozen=True):
    """The two results of a task and attempt that changed, as the bundles hold them."""

    attempt: int
    base: msgspec.Raw | None
    new: msgspec.Raw | None
    task_id: str


class GateLine(Record, frozen=True):
    """One gate: what it was held against, its bound, and what came out."""

    bound: str
    line: str
    name: str
    state: GateState
    value: float | int | str | None


class TrendStep(Record, frozen=True):
    """One bundle of a row of them.

    Attributes
    ----------
    latency_new, latency_open, latency_paid
        The latency queue: since the step before.
    measures
        The means of what was asked for.
    sufficient_share
        (Passes - vacuous) / (results - vacuous).
    """

    latency_new: int
    latency_no_longer_measured: int
    latency_open: int
    latency_paid: int
    measured: int
    measures: dict[str, float | None]
    name: str
    result_count: int
    sufficiency_new: int
    sufficiency_no_longer_measured: int
    sufficiency_open: int
    sufficiency_paid: int
    sufficient_share: float | None
    unmeasured: int


class OpenDebt(Record, frozen=True):
    """A debt that the last bundle holds, or that was never paid.

    Attributes
    ----------
    kind
        What makes it a debt, last seen.
    not_measured
        Steps (from 1) since then at which it was not measured: those pay nothing.
    since
        The step (from 1) since which it stands.
    since_name
        That bundle's name.
    """

    attempt: int
    debt_id: str
    kind: str
    not_measured: list[int]
    queue: Literal["sufficiency", "latency"]
    since: int
    since_name: str
    task_id: str


class Trend(Record, frozen=True):
    """Bundles in the order given."""

    open_debts: list[OpenDebt]
    steps: list[TrendStep]


class Comparison(Record, frozen=True):
    """Two bundles of navigation fitness, paired task by task.

    Attributes
    ----------
    left_out
        What was not computed, and why: a sentence each.
    result_pairs
        Both results of every task and attempt with a flip, or a debt that is new, paid or
        no longer measured.
    settings
        What was asked for, and seeds, draws and resamples.
    trend
        Only where more than two bundles were given.
    """

    axes: list[Axis]
    base: ComparedBundle
    gates: list[GateLine]
    kind: str
    left_out: list[str]
    limits: list[str]
    measures: list[MeasureChange]
    new: ComparedBundle
    queues: list[DebtQueue]
    result_pairs: list[ResultPair]
    schema_version: str
    settings: dict[str, Any]
    suites: Suites
    trend: Trend | None
    unit: Unit


class DiscordantTrial(Record, frozen=True):
    """One cell that is verified on one side only."""

    base_completed: bool
    base_outcome: str
    base_verified: bool
    grid_id: str
    new_completed: bool
    new_outcome: str
    new_verified: bool
    policy_seed: int
    scenario_id: str


class PolicyComparison(Record, frozen=True):
    """One policy's cells on both sides.

    Attributes
    ----------
    base_outcomes, new_outcomes
        Cells by the agent's own outcome; all but ``ok`` are neither completed nor verified.
    base_verified_grids, new_verified_grids
        Grids all of whose cells are verified.
    better_grids, equal_grids, worse_grids
        Grids with more, as many, or fewer verified cells.
    gained_grids, lost_grids
        Grids that became, or ceased to be, wholly verified: McNemar's discordant pairs.
    low, high
        95 % interval of the difference in the share of verified cells.
    mcnemar_p
        Exact, over grids.
    p
        Exact sign-flip p of the grids' differences in verified cells.
    """

    base_completed: int
    base_outcomes: dict[str, int]
    base_policy: str
    base_verified: int
    base_verified_grids: int
    better_grids: int
    cells: int
    detectable: float | None
    difference: float
    discordant: list[DiscordantTrial]
    equal_grids: int
    gained_grids: int
    grids: int
    high: float | None
    lost_grids: int
    low: float | None
    mcnemar_p: float
    new_completed: int
    new_outcomes: dict[str, int]
    new_policy: str
    new_verified: int
    new_verified_grids: int
    p: float | None
    p_adjusted: float | None
    verdict: Verdict
    why: str
    worse_grids: int


class RecoveryComparison(Record, frozen=True):
    """Two bundles of verified recovery on one suite.

    Attributes
    ----------
    only_base, only_new
        Cells (``policy/scenario/seed``) of one side only.
    """

    base: ComparedBundle
    gates: list[GateLine]
    kind: str
    left_out: list[str]
    limits: list[str]
    new: ComparedBundle
    only_base: list[str]
    only_new: list[str]
    policies: list[PolicyComparison]
    same_suite: bool
    schema_version: str
    settings: dict[str, Any]


class RejectionMeasure(Record, frozen=True):
    """One measure of two bundles of rejected calls, paired task by task.

    Attributes
    ----------
    base, new
        Its mean over the tasks that both sides have a value of; null: there is none.
    better, equal, worse
        Tasks whose value went up, stayed, or went down, in the measure's own direction.
    detectable
        The smallest difference that this sample would have shown with 80 % power.
    difference
        NEW less BASE, each task counting alike.
    direction
        Whether higher or lower is better.
    high, low
        95 % interval of the difference, over tasks.
    name
        ``invalid_per_100_calls``, ``reached`` or ``at_floor`` (shares of decided and undecided
        episodes without effect).
    pairs
        Tasks with a value on both sides.
    p, p_adjusted
        Two-sided sign-flip p, and the same after Holm over the measures.
    verdict, why
        ``better``, ``worse`` or ``undecided``, and what decided it.
    """

    base: float | None
    better: int
    detectable: float | None
    difference: float | None
    direction: Literal["higher", "lower"]
    equal: int
    high: float | None
    low: float | None
    name: str
    new: float | None
    p: float | None
    p_adjusted: float | None
    pairs: int
    verdict: Verdict
    why: str
    worse: int


class RejectionTask(Record, frozen=True):
    """One task on both sides: its sessions' counts, added up.

    Attributes
    ----------
    base_calls, new_calls
        Calls.
    base_episodes, new_episodes
        Episodes without effect.
    base_invalid, new_invalid
        Calls rejected without effect.
    base_reached, new_reached
        Episodes whose goal was seen reached.
    task_id
        The task.
    """

    base_calls: int
    base_episodes: int
    base_invalid: int
    base_reached: int
    new_calls: int
    new_episodes: int
    new_invalid: int
    new_reached: int
    task_id: str


class RejectionComparison(Record, frozen=True):
    """Two bundles of rejected calls over the same tasks, paired task by task.

    Attributes
    ----------
    left_out
        What was not computed or compared, and why: a sentence each.
    only_base, only_new
        Tasks of one side only.
    tasks
        What stands on both sides.
    """

    base: ComparedBundle
    kind: str
    left_out: list[str]
    limits: list[str]
    measures: list[RejectionMeasure]
    new: ComparedBundle
    only_base: list[str]
    only_new: list[str]
    schema_version: str
    settings: dict[str, Any]
    tasks: list[RejectionTask]
