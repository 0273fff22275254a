"""What ``wayproof compare`` shows on a terminal, in 60, 80 or 120 columns."""

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wayproof.evidence.comparison_records import (
    Comparison,
    DebtQueue,
    MeasureChange,
    PolicyComparison,
    RecoveryComparison,
    Trend,
)
from wayproof.evidence.fitness_names import LATENCY_WORDS
from wayproof.text import clip, harmless

__all__ = ["print_comparison"]

_TOP: Final = 5
_NARROWEST: Final = 60
_WIDEST: Final = 120
_TABLE_FROM: Final = 80
_VERDICTS: Final = {
    "no_task_changed": "no task changed",
    "too_few": "no verdict",
    "unmeasured": "not measured",
}


def _columns() -> int:
    return min(_WIDEST, max(_NARROWEST, shutil.get_terminal_size((_TABLE_FROM, 24)).columns))


class _Page:
    """Lines that fit the terminal."""

    def __init__(self) -> None:
        self.columns = _columns()
        self._console = Console(highlight=False, soft_wrap=True, width=self.columns)

    def say(self, text: str, *, indent: int = 0) -> None:
        """Print a sentence, folded to the width."""
        pad = " " * indent
        lines = textwrap.wrap(text, self.columns, initial_indent=pad, subsequent_indent=f"{pad}  ")
        for line in lines or [""]:
            self._console.print(Text(line))

    def table(self, table: Table) -> None:
        """Print a table that was made for the width."""
        self._console.print(table, soft_wrap=False)


def _safe(text: str, limit_chars: int) -> str:
    return harmless(clip(text, limit_chars))


def print_comparison(comparison: Comparison | RecoveryComparison) -> None:
    """Print a comparison: queues first, then flips, measures and what one side lacks."""
    page = _Page()
    base, new = comparison.base, comparison.new
    page.say(f"base {_safe(base.name, 60)} → new {_safe(new.name, 60)}")
    if isinstance(comparison, RecoveryComparison):
        _print_recovery(page, comparison)
    else:
        _print_fitness(page, comparison)
    for line in comparison.left_out:
        page.say(f"left out: {line}")
    page.say("")
    page.say(f"limits: {comparison.limits[0]} {comparison.limits[1]}")


def _print_fitness(page: _Page, comparison: Comparison) -> None:
    suites = comparison.suites
    page.say(f"{suites.compared_tasks} tasks compared; {_one_sided(comparison)}")
    if comparison.trend is not None:
        _print_trend(page, comparison.trend)
    for queue in comparison.queues:
        page.say("")
        _print_queue(page, queue)
    page.say("")
    for axis in comparison.axes:
        parts = [
            f"{count} {words}"
            for count, words in (
                (axis.newly_failing, "newly failing"),
                (axis.mended, "mended"),
                (axis.changed_kind, "changed kind"),
                (axis.no_longer_measured, "no longer measured"),
                (axis.newly_measured, "newly measured"),
            )
            if count
        ]
        told = ", ".join([*parts, f"{axis.unchanged} unchanged"])
        page.say(f"{axis.axis}: {told} of {axis.compared} results")
    page.say("")
    _print_measures(page, comparison.measures)
    unit = comparison.unit
    page.say(
        f"unit: {_safe(unit.cluster, 40)} ({unit.why}); {unit.clusters} clusters worth "
        f"{unit.effective:.1f}"
    )
    for warning in unit.warnings:
        page.say(f"warning: {harmless(warning)}")


def _one_sided(comparison: Comparison) -> str:
    suites = comparison.suites
    parts = [
        f"{len(ids)} {what} ({', '.join(_safe(one, 40) for one in ids[:_TOP])})"
        for ids, what in (
            (suites.only_base, "only in base"),
            (suites.only_new, "only in new"),
            (suites.changed, "changed"),
        )
        if ids
    ]
    attempts = len(suites.only_base_attempts) + len(suites.only_new_attempts)
    if attempts:
        parts.append(f"{attempts} attempts on one side only")
    return ", ".join(parts) or "both sides have the same tasks"


def _print_queue(page: _Page, queue: DebtQueue) -> None:
    gone = f", {queue.no_longer_measured} no longer measured" if queue.no_longer_measured else ""
    page.say(
        f"to repair: {queue.queue} debts: {queue.before} → {queue.after}, +{queue.new} new "
        f"−{queue.paid} paid, {queue.carried} carried{gone}"
    )
    for change, sign, words in (
        ("new", "+", "new"),
        ("paid", "−", "paid"),
        ("no_longer_measured", "?", "no longer measured"),
    ):
        debts = [debt for debt in queue.debts if debt.change == change]
        for debt in debts[:_TOP]:
            kind = debt.after or debt.before or ""
            named = LATENCY_WORDS if queue.queue == "latency" else {}
            why = debt.reason or named.get(kind, kind)
            name = _safe(debt.debt_id.partition(":")[2], page.columns - len(why) - 8)
            page.say(f"{sign} {name} ({why})", indent=2)
        if len(debts) > _TOP:
            page.say(f"{sign} … and {len(debts) - _TOP} more {words}", indent=2)


# -- measures -------------------------------------------------------------------------


def _print_measures(page: _Page, rows: Sequence[MeasureChange]) -> None:
    if page.columns < _TABLE_FROM:
        for row in rows:
            _print_measure_lines(page, row)
        return
    wide = page.columns >= _WIDEST
    table = Table(box=None, pad_edge=False, width=page.columns)
    table.add_column("measure", overflow="fold")
    for heading in ("base", "new", "change", "95 % interval", "p"):
        table.add_column(heading, justify="right", overflow="fold")
    if wide:
        for heading in ("better/same/worse", "would show"):
            table.add_column(heading, justify="right", overflow="fold")
    table.add_column("verdict", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in _cells(row, wide=wide)))
    page.table(table)
    for row in rows:
        for line in _notes(row, wide=wide):
            page.say(line, indent=2)


def _cells(row: MeasureChange, *, wide: bool) -> Iterator[str]:
    yield _safe(row.name, 20)
    yield _number(row.base, censored=row.base_censored)
    yield _number(row.new, censored=row.new_censored)
    yield "—" if row.difference is None else f"{row.difference:+.4f}"
    yield _interval(row)
    yield _p(row.p_adjusted)
    if wide:
        yield f"{row.better}/{row.equal}/{row.worse}"
        yield "—" if row.detectable is None else f"{row.detectable:.4f}"
    yield _VERDICTS.get(row.verdict, row.verdict)


def _print_measure_lines(page: _Page, row: MeasureChange) -> None:
    verdict = _VERDICTS.get(row.verdict, row.verdict)
    base = _number(row.base, censored=row.base_censored)
    new = _number(row.new, censored=row.new_censored)
    page.say(f"{_safe(row.name, 20)}: {base} → {new}: {verdict}")
    if row.difference is not None:
        page.say(f"{row.difference:+.4f} {_interval(row)}, p {_p(row.p_adjusted)}", indent=2)
    for line in _notes(row, wide=False):
        page.say(line, indent=2)


def _notes(row: MeasureChange, *, wide: bool) -> Iterator[str]:
    name = _safe(row.name, 20)
    if row.pairs and not wide:
        shown = "" if row.detectable is None else f"; {row.detectable:.4f} would have shown"
        yield f"{name}: {row.better} better, {row.equal} same, {row.worse} worse{shown}"
    if row.needed_tasks is not None:
        yield (
            f"{name}: such a difference needs about {row.needed_tasks} tasks in "
            f"{row.needed_clusters} clusters"
        )
    left = [f"{count} {why}" for why, count in row.left_out.items()]
    if left:
        yield f"{name}: left out: {', '.join(left)}"
    if row.missing_base or row.missing_new:
        yield f"{name}: without packet {row.missing_base} → {row.missing_new}, scored 0"


def _number(value: float | None, *, censored: bool) -> str:
    if censored:
        return ">"
    return "—" if value is None else f"{value:.4f}" if abs(value) < 10 else f"{value:.1f}"


def _p(p: float | None) -> str:
    return "—" if p is None else f"{p:.4f}"


def _interval(row: MeasureChange) -> str:
    low = _end(row.low, row.low_censored, row.low_beyond)
    high = _end(row.high, row.high_censored, row.high_beyond)
    return "—" if low == high == "—" else f"[{low}, {high}]"


def _end(end: float | None, censored: str | None, beyond: float | None) -> str:
    if censored is not None:
        sign = ">" if censored == "above" else "<"
        return sign if beyond is None else f"{sign}{beyond:.1f}"
    return "—" if end is None else f"{end:.4f}" if abs(end) < 10 else f"{end:.1f}"


# -- trend ----------------------------------------------------------------------------


def _print_trend(page: _Page, trend: Trend) -> None:
    page.say("")
    page.say("trend, in the order given:")
    for number, step in enumerate(trend.steps, start=1):
        share = "—" if step.sufficient_share is None else f"{step.sufficient_share:.4f}"
        page.say(
            f"{number}. {_safe(step.name, 40)}: sufficient {share}; sufficiency debts "
            f"{step.sufficiency_open} (+{step.sufficiency_new} −{step.sufficiency_paid}); "
            f"latency debts {step.latency_open} (+{step.latency_new} −{step.latency_paid})",
            indent=2,
        )
        for name, mean in step.measures.items():
            page.say(f"{name} {_number(mean, censored=False)}", indent=5)
    page.say(f"open debts: {len(trend.open_debts)}, oldest first")
    for debt in trend.open_debts[: 2 * _TOP]:
        gaps = f", not measured at {debt.not_measured}" if debt.not_measured else ""
        named = LATENCY_WORDS if debt.queue == "latency" else {}
        page.say(
            f"since {debt.since} ({_safe(debt.since_name, 30)}): {_safe(debt.debt_id, 60)}"
            f" ({named.get(debt.kind, debt.kind)}{gaps})",
            indent=2,
        )
    if len(trend.open_debts) > 2 * _TOP:
        page.say(f"… and {len(trend.open_debts) - 2 * _TOP} more", indent=2)
    page.say("")
    page.say("the last two:")


# -- recovery -------------------------------------------------------------------------


def _print_recovery(page: _Page, comparison: RecoveryComparison) -> None:
    if comparison.only_base or comparison.only_new:
        page.say(
            f"trials on one side only: {len(comparison.only_base)} base, "
            f"{len(comparison.only_new)} new"
        )
    for policy in comparison.policies:
        page.say("")
        _print_policy(page, policy)


def _print_policy(page: _Page, one: PolicyComparison) -> None:
    name = _safe(one.base_policy, 40)
    if one.new_policy != one.base_policy:
        name += f" → {_safe(one.new_policy, 40)}"
    page.say(f"{name}: {_VERDICTS.get(one.verdict, one.verdict)} ({one.why})")
    ends = "no interval" if one.low is None else f"[{one.low:.4f}, {one.high:.4f}]"
    page.say(
        f"verified {one.base_verified} → {one.new_verified} of {one.cells} cells: "
        f"{one.difference:+.4f} {ends}, p {_p(one.p_adjusted)}",
        indent=2,
    )
    page.say(
        f"grids: {one.better_grids} better, {one.equal_grids} same, {one.worse_grids} worse; "
        f"wholly verified {one.base_verified_grids} → {one.new_verified_grids} of {one.grids} "
        f"(+{one.gained_grids} −{one.lost_grids}, McNemar p {one.mcnemar_p:.4f})",
        indent=2,
    )
    page.say(f"completed {one.base_completed} → {one.new_completed}", indent=2)
    for side, outcomes in (("base", one.base_outcomes), ("new", one.new_outcomes)):
        odd = [f"{count} {outcome}" for outcome, count in outcomes.items() if outcome != "ok"]
        if odd:
            page.say(f"{side}: agents ended {', '.join(odd)}", indent=2)
    for trial in one.discordant[:_TOP]:
        sign = "−" if trial.base_verified else "+"
        page.say(f"{sign} {_safe(trial.scenario_id, 60)}/{trial.policy_seed}", indent=2)
    if len(one.discordant) > _TOP:
        page.say(f"… and {len(one.discordant) - _TOP} more discordant trials", indent=2)
