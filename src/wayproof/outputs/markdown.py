"""Markdown for a job summary or a pull request: short, and never longer than a comment may be.

Text from bundles is escaped: no id can start a heading, close a table cell, link, or mention
anybody. Long lists are folded and cut; how many are left out is said.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from wayproof.evidence.comparison_records import (
    Comparison,
    DebtQueue,
    MeasureChange,
    RecoveryComparison,
)
from wayproof.text import clip, harmless

__all__ = [
    "MOST_CHARS",
    "comparison_markdown",
    "fixtures_markdown",
    "safe_markdown",
    "scored_markdown",
]

MOST_CHARS: Final = 65_000
"""A comment on GitHub holds 65,536 characters."""
_FOLDED_FROM: Final = 10
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~@:&$^=/])")
_ID_CHARS: Final = 120


def safe_markdown(text: object) -> str:
    """Return text that reads as itself: control characters spelled out, marks escaped.

    Marks become character references, which no Markdown dialect reads as syntax.
    """
    plain = harmless(clip(str(text), _ID_CHARS))
    return _SPECIAL.sub(lambda match: f"&#{ord(match[1])};", plain)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def _folded(title: str, items: Sequence[str], room_chars: int) -> str:
    """List items, folded where they are many, cut where there is no room."""
    if not items:
        return ""
    kept: list[str] = []
    used = 0
    for item in items:
        used += len(item) + 3
        if used > room_chars:
            break
        kept.append(f"- {item}")
    if len(kept) < len(items):
        kept.append(f"- … and {len(items) - len(kept)} more")
    body = "\n".join(kept)
    if len(items) < _FOLDED_FROM:
        return f"**{title}**\n\n{body}"
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _joined(parts: Iterable[str]) -> str:
    text = "\n\n".join(part for part in parts if part) + "\n"
    if len(text) <= MOST_CHARS:
        return text
    cut = text[: MOST_CHARS - 100]
    return cut[: cut.rfind("\n")] + "\n\n… (cut: the whole is in the JSON)\n"


def _gates(lines: Sequence[str]) -> str:
    return "\n".join(f"- {_gate(line)}" for line in lines)


def _gate(line: str) -> str:
    mark = "❌" if line.startswith("gate FAIL") else "❔" if "undecided" in line[:16] else "✅"
    return f"{mark} {safe_line(line)}"


def safe_line(text: str) -> str:
    """Escape a whole sentence; longer than an id may be."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[1])};", harmless(clip(text, 1000)))


# -- comparison -----------------------------------------------------------------------


def comparison_markdown(comparison: Comparison | RecoveryComparison) -> str:
    """Write a comparison: verdict first, then queues, measures and what is new."""
    base, new = (safe_markdown(side.name) for side in (comparison.base, comparison.new))
    parts = [f"## {base} → {new}", _gates([gate.line for gate in comparison.gates])]
    if isinstance(comparison, RecoveryComparison):
        parts += _policies(comparison)
    else:
        parts += _fitness(comparison)
    parts += [f"_{safe_line(line)}_" for line in comparison.left_out]
    return _joined(parts)


def _fitness(comparison: Comparison) -> Iterator[str]:
    yield _table(
        ("queue", "before → after", "new", "paid", "carried", "no longer measured"),
        [
            (
                queue.queue,
                f"{queue.before} → {queue.after}",
                f"+{queue.new}",
                f"−{queue.paid}",
                str(queue.carried),
                str(queue.no_longer_measured),
            )
            for queue in comparison.queues
        ],
    )
    yield _table(
        ("measure", "base", "new", "difference", "95 % interval", "p (Holm)", "verdict"),
        [_measure_cells(row) for row in comparison.measures],
    )
    unit = comparison.unit
    yield (
        f"Unit: {safe_markdown(unit.cluster)}, {unit.clusters} clusters worth "
        f"{unit.effective:.1f}; {comparison.suites.compared_tasks} tasks compared."
    )
    yield "\n".join(f"> {safe_line(warning)}" for warning in unit.warnings)
    for queue in comparison.queues:
        yield from _queue_lists(queue)
    yield from _one_sided(comparison)


def _queue_lists(queue: DebtQueue) -> Iterator[str]:
    for change, title in (
        ("new", "new debts"),
        ("paid", "paid"),
        ("no_longer_measured", "no longer measured"),
    ):
        items = [
            f"{safe_markdown(debt.debt_id)}: "
            + safe_markdown(debt.reason or f"{debt.before or 'no debt'} → {debt.after or 'none'}")
            for debt in queue.debts
            if debt.change == change
        ]
        yield _folded(f"{queue.queue}: {len(items)} {title}", items, 8_000)


def _one_sided(comparison: Comparison) -> Iterator[str]:
    suites = comparison.suites
    for ids, what in (
        (suites.only_base, "tasks only in the base"),
        (suites.only_new, "tasks only in the new bundle"),
        (suites.changed, "tasks that changed"),
    ):
        yield _folded(f"{len(ids)} {what}", [safe_markdown(one) for one in ids], 4_000)


def _measure_cells(row: MeasureChange) -> tuple[str, ...]:
    return (
        safe_markdown(row.name),
        _number(row.base, censored=row.base_censored),
        _number(row.new, censored=row.new_censored),
        "—" if row.difference is None else f"{row.difference:+.4f}",
        _interval(row),
        "—" if row.p_adjusted is None else f"{row.p_adjusted:.4f}",
        row.verdict.replace("_", " "),
    )


def _number(value: float | None, *, censored: bool) -> str:
    return "&gt;" if censored else "—" if value is None else f"{value:.4f}"


def _interval(row: MeasureChange) -> str:
    ends = (
        (row.low, row.low_censored, row.low_beyond),
        (row.high, row.high_censored, row.high_beyond),
    )
    if all(end is None and censored is None for end, censored, _ in ends):
        return "—"
    return ", ".join(_end(*end) for end in ends)


def _end(end: float | None, censored: str | None, beyond: float | None) -> str:
    if censored is None:
        return "—" if end is None else f"{end:.4f}"
    sign = "&gt;" if censored == "above" else "&lt;"
    return sign if beyond is None else f"{sign} {beyond:.4f}"


def _policies(comparison: RecoveryComparison) -> Iterator[str]:
    yield _table(
        ("policy", "verified", "completed", "difference", "95 % interval", "p (Holm)", "verdict"),
        [
            (
                safe_markdown(f"{one.base_policy} → {one.new_policy}"),
                f"{one.base_verified} → {one.new_verified} of {one.cells}",
                f"{one.base_completed} → {one.new_completed}",
                f"{one.difference:+.4f}",
                "—" if one.low is None else f"{one.low:.4f}, {one.high:.4f}",
                "—" if one.p_adjusted is None else f"{one.p_adjusted:.4f}",
                one.verdict.replace("_", " "),
            )
            for one in comparison.policies
        ],
    )
    for one in comparison.policies:
        lost = [
            safe_markdown(f"{trial.scenario_id}/{trial.policy_seed}: {trial.new_outcome}")
            for trial in one.discordant
            if trial.base_verified
        ]
        title = f"{safe_markdown(one.new_policy)}: {len(lost)} trials no longer verified"
        yield _folded(title, lost, 8_000)


# -- one suite ------------------------------------------------------------------------


def scored_markdown(
    record: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], gates: Sequence[str]
) -> str:
    """Write a scored suite: gates, counts, means, and what failed."""
    summary = record["summary"]
    vacuous = summary.get("vacuous_count", 0)
    able = summary["task_count"] - vacuous
    counts = [(kind, str(count)) for kind, count in summary["failure_kind_counts"].items() if count]
    sufficient = summary["sufficiency_pass_count"] - vacuous
    means = [
        (name.replace("_", " "), "—" if summary[name] is None else f"{summary[name]:.6f}")
        for name in ("mean_recall_at_packet", "mean_precision_at_packet", "mean_scent_coverage")
    ]
    means += [
        (safe_markdown(one["name"]), "—" if one["mean"] is None else f"{one['mean']:.6f}")
        for one in record.get("measures", ())
    ]
    failing = [
        f"{safe_markdown(row['task_id'])}: {row['sufficiency_failure_kind']}"
        for row in rows
        if row["sufficiency_failure_kind"] is not None
    ]
    latency = (
        f"Latency: {summary['latency_pass_count']} in time, {summary['latency_fail_count']} late "
        f"or timed out, {summary['latency_unmeasured_count']} with no time."
    )
    return _joined(
        [
            f"## {safe_markdown(record['suite'])}: {sufficient} of {able} sufficient",
            _gates(gates),
            f"{vacuous} of {summary['task_count']} results could not fail and stand in no share."
            if vacuous
            else "",
            _table(("failure", "results"), counts) if counts else "",
            _table(("mean", "value"), means),
            latency,
            _folded(f"{len(failing)} results that failed", failing, 40_000),
        ]
    )


def fixtures_markdown(record: Mapping[str, Any]) -> str:
    """Write a folder of cases: which expectations were met."""
    unmet = [
        safe_markdown(case["case_id"]) for case in record["cases"] if not case["expectation_met"]
    ]
    return _joined(
        [
            f"## {record['passed_case_count']} of {record['case_count']} cases met",
            _folded(f"{len(unmet)} cases unmet", unmet, 50_000),
        ]
    )
