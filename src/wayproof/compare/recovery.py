"""Two bundles of verified recovery on one suite: the grids are the units."""

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

import msgspec

from wayproof.bundles.reader import Bundle, LineFile, decoded_lines
from wayproof.compare.columns import rounded
from wayproof.compare.request import CompareRequest
from wayproof.errors import InputError
from wayproof.evidence.comparison_records import (
    COMPARISON_SCHEMA_VERSION,
    ComparedBundle,
    DiscordantTrial,
    PolicyComparison,
    RecoveryComparison,
    Verdict,
)
from wayproof.evidence.recovery_names import BUNDLE_KIND, RESULTS_NAME, SUITE_NAME
from wayproof.stats.exact_tests import holm, mcnemar
from wayproof.stats.numeric import EXTRA, has_numeric
from wayproof.stats.paired import (
    ALPHA,
    LEAST_CLUSTERS,
    UNIT,
    Paired,
    bootstrap_intervals,
    detectable_difference,
    resamples_for,
    share_sign_flip,
)

__all__ = ["compare_recovery"]

LIMITS: Final = (
    "It speaks of grids made by this suite's generator, and of these policies on them.",
    "A grid's scenarios and seeds are correlated: grids are flipped and drawn whole.",
    "Cells of agents whose outcome is not ok count as neither completed nor verified.",
    "Digests were checked; whether records follow from traces is for `verify` to say.",
)


class _Trial(msgspec.Struct, frozen=True, gc=False):
    """What comparing needs of one trial."""

    agent_outcome: str
    completed: bool
    grid_id: str
    policy: str
    policy_seed: int
    scenario_id: str
    suite_id: str
    verified_recovery: bool


class _Cell(NamedTuple):
    scenario_id: str
    policy_seed: int


_Policies = dict[str, dict[_Cell, _Trial]]


def _trials(bundle: Bundle) -> tuple[_Policies, str]:
    policies: _Policies = {}
    suite = ""
    with LineFile(bundle.folder / RESULTS_NAME) as lines:
        for trial in decoded_lines(lines, _Trial):
            cell = _Cell(trial.scenario_id, trial.policy_seed)
            policies.setdefault(trial.policy, {})[cell] = trial
            suite = trial.suite_id
    return policies, suite


def compare_recovery(base: Bundle, new: Bundle, request: CompareRequest) -> RecoveryComparison:
    """Compare two bundles of verified recovery, policy by policy.

    Policies are paired by name; where each side has just one, those two.

    Raises
    ------
    InputError
        When the suites or the cells differ and that was not allowed, or no policy is shared.
    """
    same_suite = base.digest(SUITE_NAME) == new.digest(SUITE_NAME)
    if not same_suite and not request.allow_different_suites:
        raise InputError(
            "the bundles were made on different suites",
            file=str(new.folder / SUITE_NAME),
            expected=f"SHA-256 {base.digest(SUITE_NAME)}",
            found=f"SHA-256 {new.digest(SUITE_NAME)}",
            mend="{allow_different_suites} compares the scenarios that both have",
        )
    (before, before_suite), (after, after_suite) = _trials(base), _trials(new)
    pairs = _policy_pairs(before, after)
    only_base = list(_only(before, after, pairs))
    only_new = list(_only(after, before, {there: here for here, there in pairs.items()}))
    if not pairs or ((only_base or only_new) and not request.allow_different_suites):
        raise InputError(
            "the bundles don't have the same trials",
            file=str(new.folder / RESULTS_NAME),
            expected=f"the policies, scenarios and seeds of {base.name}",
            found=f"{len(only_base)} trials only in {base.name}, "
            f"{len(only_new)} only in {new.name}",
            mend="{allow_different_suites} compares the trials that both have",
        )
    drafts = [
        _compared(here, before[here], there, after[there]) for here, there in sorted(pairs.items())
    ]
    with_p = [draft for draft in drafts if draft.p is not None]
    adjusted = holm([draft.p for draft in with_p if draft.p is not None])
    by_policy = {draft.base_policy: p for draft, p in zip(with_p, adjusted, strict=True)}
    return RecoveryComparison(
        base=_side(base, before, before_suite),
        gates=[],
        kind=BUNDLE_KIND,
        left_out=[] if has_numeric() else [f"no intervals without the extra {EXTRA}"],
        limits=list(LIMITS),
        new=_side(new, after, after_suite),
        only_base=only_base,
        only_new=only_new,
        policies=[_judged(draft, by_policy.get(draft.base_policy)) for draft in drafts],
        same_suite=same_suite,
        schema_version=COMPARISON_SCHEMA_VERSION,
        settings={
            "allow_different_suites": request.allow_different_suites,
            "alpha": ALPHA,
            "resamples": {draft.base_policy: resamples_for(draft.grids) for draft in drafts},
        },
    )


def _policy_pairs(before: _Policies, after: _Policies) -> dict[str, str]:
    if len(before) == len(after) == 1:
        return {next(iter(before)): next(iter(after))}
    return {name: name for name in before if name in after}


def _only(here: _Policies, there: _Policies, pairs: Mapping[str, str]) -> Iterator[str]:
    for policy, cells in sorted(here.items()):
        others = there[pairs[policy]] if policy in pairs else {}
        for cell in sorted(cells):
            if cell not in others:
                yield f"{policy}/{cell.scenario_id}/{cell.policy_seed}"


def _side(bundle: Bundle, policies: _Policies, suite: str) -> ComparedBundle:
    count = sum(map(len, policies.values()))
    return ComparedBundle(
        inputs={role: digest.sha256 for role, digest in sorted(bundle.manifest.inputs.items())},
        name=bundle.name,
        result_count=count,
        results_sha256=bundle.digest(RESULTS_NAME),
        suite=suite,
        task_count=len({cell for cells in policies.values() for cell in cells}),
        vacuous_count=0,
    )


def _compared(
    here: str, before: Mapping[_Cell, _Trial], there: str, after: Mapping[_Cell, _Trial]
) -> PolicyComparison:
    cells = sorted(cell for cell in before if cell in after)
    grids = sorted({before[cell].grid_id for cell in cells})
    places = {grid: place for place, grid in enumerate(grids)}
    moved, sizes = [0] * len(grids), [0] * len(grids)
    was_whole, is_whole = [True] * len(grids), [True] * len(grids)
    for cell in cells:
        was, now = before[cell], after[cell]
        place = places[was.grid_id]
        moved[place] += now.verified_recovery - was.verified_recovery
        sizes[place] += 1
        was_whole[place] &= was.verified_recovery
        is_whole[place] &= now.verified_recovery
    paired = Paired([one * UNIT for one in moved], sizes)
    enough = has_numeric() and len(grids) >= LEAST_CLUSTERS
    interval = bootstrap_intervals([paired])[0] if enough else None
    flip = share_sign_flip(moved)
    whole = list(zip(was_whole, is_whole, strict=True))
    lost = sum(was and not now for was, now in whole)
    gained = sum(now and not was for was, now in whole)
    return PolicyComparison(
        base_completed=sum(before[cell].completed for cell in cells),
        base_outcomes=_outcomes(before[cell] for cell in cells),
        base_policy=here,
        base_verified=sum(before[cell].verified_recovery for cell in cells),
        base_verified_grids=sum(was_whole),
        better_grids=sum(one > 0 for one in moved),
        cells=len(cells),
        detectable=rounded(detectable_difference(paired)) if has_numeric() else None,
        difference=rounded(float(Fraction(sum(moved), max(1, len(cells))))) or 0.0,
        discordant=[
            _discordant(before[cell], after[cell])
            for cell in cells
            if before[cell].verified_recovery != after[cell].verified_recovery
        ],
        equal_grids=sum(one == 0 for one in moved),
        gained_grids=gained,
        grids=len(grids),
        high=None if interval is None else rounded(interval.high),
        lost_grids=lost,
        low=None if interval is None else rounded(interval.low),
        mcnemar_p=float(f"{float(mcnemar(lost, gained)):.6g}"),
        new_completed=sum(after[cell].completed for cell in cells),
        new_outcomes=_outcomes(after[cell] for cell in cells),
        new_policy=there,
        new_verified=sum(after[cell].verified_recovery for cell in cells),
        new_verified_grids=sum(is_whole),
        p=None if flip is None else float(f"{float(flip.p):.6g}"),
        p_adjusted=None,
        verdict="unmeasured",
        why="",
        worse_grids=sum(one < 0 for one in moved),
    )


def _outcomes(trials: Any) -> dict[str, int]:
    return dict(sorted(Counter(trial.agent_outcome for trial in trials).items()))


def _discordant(was: _Trial, now: _Trial) -> DiscordantTrial:
    return DiscordantTrial(
        base_completed=was.completed,
        base_outcome=was.agent_outcome,
        base_verified=was.verified_recovery,
        grid_id=was.grid_id,
        new_completed=now.completed,
        new_outcome=now.agent_outcome,
        new_verified=now.verified_recovery,
        policy_seed=was.policy_seed,
        scenario_id=was.scenario_id,
    )


def _judged(draft: PolicyComparison, adjusted: float | None) -> PolicyComparison:
    verdict, why = _verdict(draft, adjusted)
    shown = None if adjusted is None else float(f"{adjusted:.6g}")
    return msgspec.structs.replace(draft, p_adjusted=shown, verdict=verdict, why=why)


def _verdict(  # noqa: PLR0911 - one return a rule
    draft: PolicyComparison, adjusted: float | None
) -> tuple[Verdict, str]:
    if not draft.cells:
        return "unmeasured", "no trial stands on both sides"
    if not draft.discordant:
        return "no_task_changed", "no trial changed"
    if draft.grids < LEAST_CLUSTERS:
        return "too_few", f"{draft.grids} grids; a verdict needs at least {LEAST_CLUSTERS}"
    if draft.low is None or draft.high is None or adjusted is None:
        return "undecided", f"no interval without the extra {EXTRA}"
    if adjusted > ALPHA:
        return "undecided", "p is above .05 after adjusting for the policies"
    if draft.low <= 0 <= draft.high:
        return "undecided", "the interval holds 0"
    return ("better" if draft.low > 0 else "worse"), "the interval excludes 0"
