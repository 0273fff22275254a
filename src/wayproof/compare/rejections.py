"""Two bundles of rejected calls over the same tasks: the tasks are the units."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Final, Literal, NamedTuple

import msgspec

from wayproof.bundles.reader import Bundle, LineFile, decoded_lines
from wayproof.compare.columns import rounded
from wayproof.compare.request import CompareRequest
from wayproof.errors import InputError
from wayproof.evidence.comparison_records import (
    COMPARISON_SCHEMA_VERSION,
    ComparedBundle,
    RejectionComparison,
    RejectionMeasure,
    RejectionTask,
    Verdict,
)
from wayproof.evidence.rejection_names import BUNDLE_KIND, EPISODES_NAME, REACHED, SESSIONS_NAME
from wayproof.stats.exact_tests import holm
from wayproof.stats.numeric import EXTRA, has_numeric
from wayproof.stats.paired import (
    ALPHA,
    LEAST_CLUSTERS,
    Paired,
    bootstrap_intervals,
    detectable_difference,
    in_units,
    sign_flip,
)

__all__ = ["compare_rejections"]

LIMITS: Final = (
    "It speaks of these tasks and this format; none of the figures says that a task succeeded.",
    (
        "Shares of episodes compare only tasks that have episodes on both sides: an agent that is "
        "rejected less often has fewer of them."
    ),
    "Sessions of one task are added up; the tasks are flipped and drawn whole.",
    (
        "Digests were checked; whether episodes follow from the logs is for `verify` with the logs "
        "to say."
    ),
)
_SETTINGS: Final = ("window", "phrases", "maps")


class _Session(msgspec.Struct, frozen=True, gc=False):
    """What comparing needs of a session."""

    class Strata(msgspec.Struct, frozen=True, gc=False):
        """Its results that were no success."""

        invalid: int

    calls: int
    format: str
    session: str
    strata: Strata
    task_id: str | None


class _Episode(msgspec.Struct, frozen=True, gc=False):
    """What comparing needs of an episode."""

    episode_id: str
    in_parallel: bool
    outcome: str
    stratum: str


class _Task:
    """The counts of one task on one side."""

    def __init__(self) -> None:
        self.formats: set[str] = set()
        self.calls = self.invalid = self.episodes = self.reached = self.alone = self.floor = 0

    def take(self, episode: _Episode) -> None:
        """Count an episode."""
        if episode.stratum != "invalid":
            return
        self.episodes += 1
        self.reached += episode.outcome in REACHED
        if not episode.in_parallel:
            self.alone += 1
            self.floor += episode.outcome == "recovered"


class _Side(NamedTuple):
    tasks: dict[str, _Task]
    unnamed: list[str]
    sessions: int


def _side(bundle: Bundle) -> _Side:
    tasks: dict[str, _Task] = {}
    of_session: dict[str, _Task] = {}
    unnamed: list[str] = []
    sessions = 0
    with LineFile(bundle.folder / SESSIONS_NAME) as lines:
        for session in decoded_lines(lines, _Session):
            sessions += 1
            if session.task_id is None:
                unnamed.append(session.session)
                continue
            task = tasks.setdefault(session.task_id, _Task())
            task.formats.add(session.format)
            task.calls += session.calls
            task.invalid += session.strata.invalid
            of_session[session.session] = task
    with LineFile(bundle.folder / EPISODES_NAME) as lines:
        for episode in decoded_lines(lines, _Episode):
            found = of_session.get(episode.episode_id.rpartition(":")[0])
            if found is not None:
                found.take(episode)
    return _Side(tasks, unnamed, sessions)


def compare_rejections(base: Bundle, new: Bundle, request: CompareRequest) -> RejectionComparison:
    """Compare two bundles of rejected calls, task by task.

    Raises
    ------
    InputError
        When they were made with other settings, share no task, or tasks stand on one side only
        or in two formats and that was not allowed.
    """
    _check_request(request)
    for name in _SETTINGS:
        here, there = base.manifest.settings.get(name), new.manifest.settings.get(name)
        if here != there:
            raise InputError(
                "the bundles were made with other settings",
                file=str(new.folder),
                field=f"settings.{name}",
                expected=str(here),
                found=str(there),
                mend="measure both with the same ones",
            )
    before, after = _side(base), _side(new)
    shared = sorted(set(before.tasks) & set(after.tasks))
    only_base = sorted(set(before.tasks) - set(after.tasks))
    only_new = sorted(set(after.tasks) - set(before.tasks))
    if not shared:
        raise InputError(
            "the bundles share no task",
            file=str(new.folder / SESSIONS_NAME),
            expected=f"tasks of {base.name}",
            found=f"{len(only_new)} others",
            mend="measure both with the same {task_id_from}: sessions' own ids differ by run",
        )
    mixed = [one for one in shared if before.tasks[one].formats != after.tasks[one].formats]
    if (only_base or only_new or mixed) and not request.allow_different_suites:
        raise InputError(
            "the bundles aren't over the same tasks in the same format",
            file=str(new.folder / SESSIONS_NAME),
            found=f"{len(only_base)} tasks only in {base.name}, {len(only_new)} only in "
            f"{new.name}, {len(mixed)} in another format",
            mend="{allow_different_suites} compares the tasks that both have in one format",
        )
    tasks = [one for one in shared if one not in set(mixed)]
    return RejectionComparison(
        base=_record(base, before),
        kind=BUNDLE_KIND,
        left_out=list(_left_out(before, after, mixed)),
        limits=list(LIMITS),
        measures=_measures(tasks, before.tasks, after.tasks),
        new=_record(new, after),
        only_base=only_base,
        only_new=only_new,
        schema_version=COMPARISON_SCHEMA_VERSION,
        settings={"allow_different_suites": request.allow_different_suites, "alpha": ALPHA},
        tasks=[_task(one, before.tasks[one], after.tasks[one]) for one in tasks],
    )


def _check_request(request: CompareRequest) -> None:
    for name in ("measures", "cluster", "needed"):
        if getattr(request, name) is not None:
            raise InputError(
                "bundles of rejected calls are compared by their own measures, over tasks",
                setting=name,
                mend=f"leave {{{name}}} out",
            )


def _left_out(before: _Side, after: _Side, mixed: Sequence[str]) -> Iterator[str]:
    if mixed:
        yield f"{len(mixed)} tasks stand in another format on the other side"
    unnamed = len(before.unnamed) + len(after.unnamed)
    if unnamed:
        yield f"{unnamed} sessions name no task"
    if not has_numeric():
        yield f"no intervals without the extra {EXTRA}"


def _record(bundle: Bundle, side: _Side) -> ComparedBundle:
    return ComparedBundle(
        inputs={role: digest.sha256 for role, digest in sorted(bundle.manifest.inputs.items())},
        name=bundle.name,
        result_count=side.sessions,
        results_sha256=bundle.digest(EPISODES_NAME),
        suite="",
        task_count=len(side.tasks),
        vacuous_count=0,
    )


def _task(name: str, before: _Task, after: _Task) -> RejectionTask:
    return RejectionTask(
        base_calls=before.calls,
        base_episodes=before.episodes,
        base_invalid=before.invalid,
        base_reached=before.reached,
        new_calls=after.calls,
        new_episodes=after.episodes,
        new_invalid=after.invalid,
        new_reached=after.reached,
        task_id=name,
    )


# -- measures ---------------------------------------------------------------------------


class _Measure(NamedTuple):
    """A figure of one task, as a fraction; None: the task has none."""

    name: str
    direction: Literal["higher", "lower"]
    value: Callable[[_Task], Fraction | None]


def _share(part: int, whole: int) -> Fraction | None:
    return Fraction(part, whole) if whole else None


_MEASURES: Final = (
    _Measure("invalid_per_100_calls", "lower", lambda one: _share(100 * one.invalid, one.calls)),
    _Measure("reached", "higher", lambda one: _share(one.reached, one.episodes)),
    _Measure("at_floor", "higher", lambda one: _share(one.floor, one.alone)),
)


def _measures(
    tasks: Sequence[str], before: dict[str, _Task], after: dict[str, _Task]
) -> list[RejectionMeasure]:
    drafts = [_draft(one, tasks, before, after) for one in _MEASURES]
    with_p = [one for one in drafts if one.p is not None]
    adjusted = dict(
        zip(
            (one.name for one in with_p),
            holm([one.p for one in with_p if one.p is not None]),
            strict=True,
        )
    )
    return [_judged(one, adjusted.get(one.name)) for one in drafts]


def _draft(
    measure: _Measure, tasks: Sequence[str], before: dict[str, _Task], after: dict[str, _Task]
) -> RejectionMeasure:
    pairs = [
        (was, now)
        for was, now in ((measure.value(before[one]), measure.value(after[one])) for one in tasks)
        if was is not None and now is not None
    ]
    differences = [now - was for was, now in pairs]
    paired = Paired([in_units(float(one)) for one in differences], [1] * len(pairs))
    enough = has_numeric() and len(pairs) >= LEAST_CLUSTERS
    interval = bootstrap_intervals([paired])[0] if enough else None
    flip = sign_flip(paired) if pairs else None
    sign = 1 if measure.direction == "higher" else -1
    count = len(pairs)
    return RejectionMeasure(
        base=_mean([was for was, _ in pairs]),
        better=sum(sign * one > 0 for one in differences),
        detectable=rounded(detectable_difference(paired)) if enough else None,
        difference=_mean(differences),
        direction=measure.direction,
        equal=sum(one == 0 for one in differences),
        high=None if interval is None else rounded(interval.high),
        low=None if interval is None else rounded(interval.low),
        name=measure.name,
        new=_mean([now for _, now in pairs]),
        p=None if flip is None else float(f"{float(flip.p):.6g}"),
        p_adjusted=None,
        pairs=count,
        verdict="unmeasured",
        why="",
        worse=sum(sign * one < 0 for one in differences),
    )


def _mean(values: Sequence[Fraction]) -> float | None:
    return rounded(float(sum(values, Fraction(0)) / len(values))) if values else None


def _judged(draft: RejectionMeasure, adjusted: float | None) -> RejectionMeasure:
    verdict, why = _verdict(draft, adjusted)
    shown = None if adjusted is None else float(f"{adjusted:.6g}")
    return msgspec.structs.replace(draft, p_adjusted=shown, verdict=verdict, why=why)


def _verdict(draft: RejectionMeasure, adjusted: float | None) -> tuple[Verdict, str]:
    if not draft.pairs:
        return "unmeasured", "no task has a value on both sides"
    if draft.equal == draft.pairs:
        return "no_task_changed", "no task changed"
    if draft.pairs < LEAST_CLUSTERS:
        return "too_few", f"{draft.pairs} tasks; a verdict needs at least {LEAST_CLUSTERS}"
    return _decided(draft, adjusted)


def _decided(draft: RejectionMeasure, adjusted: float | None) -> tuple[Verdict, str]:
    if draft.low is None or draft.high is None or adjusted is None:
        return "undecided", f"no interval without the extra {EXTRA}"
    if adjusted > ALPHA:
        return "undecided", "p is above .05 after adjusting for the measures"
    if draft.low <= 0 <= draft.high:
        return "undecided", "the interval holds 0"
    is_up = draft.low > 0
    return ("better" if is_up is (draft.direction == "higher") else "worse"), (
        "the interval excludes 0"
    )
