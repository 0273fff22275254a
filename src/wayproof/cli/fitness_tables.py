"""Tables for ``wayproof fitness``: records in, text on the terminal out."""

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from rich.table import Table
from rich.text import Text

from wayproof.cli.terminal import console, print_rows, say
from wayproof.evidence.fitness_names import FAILURE_KINDS, LATENCY_WORDS, LIMITS_LINE
from wayproof.first_contacts import ContactRow, ContactTally, first_contact
from wayproof.text import clip, harmless

__all__ = [
    "contacts_in",
    "contacts_of",
    "debts_from",
    "matrix_of",
    "missed_in",
    "missed_of",
    "print_cases",
    "print_contacts",
    "print_debts",
    "print_measure",
    "print_suite",
    "print_twins",
]

_QUEUE_TOP = 5
_ID_CHARS = 60
_COLUMNS = tuple(LATENCY_WORDS)


def _safe(text: object, limit_chars: int = _ID_CHARS) -> str:
    return harmless(clip(str(text), limit_chars))


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def matrix_of(results: Iterable[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Cross the two axes from task results."""
    table = {row: dict.fromkeys(_COLUMNS, 0) for row in ("sufficient", *FAILURE_KINDS)}
    for result in results:
        row = result["sufficiency_failure_kind"] or "sufficient"
        table[row][result["latency_status"]] += 1
    return table


def print_suite(record: dict[str, Any], matrix: dict[str, dict[str, int]]) -> None:
    """Print a suite's two axes as a matrix, its means and its percentiles."""
    summary = record["summary"]
    say(f"suite {_safe(record['suite'])}")
    table = Table(title="sufficiency × latency", title_justify="left", box=None, pad_edge=False)
    table.add_column("", justify="left")
    for name in _COLUMNS:
        table.add_column(LATENCY_WORDS[name], justify="right")
    table.add_column("all", justify="right")
    for row, cells in matrix.items():
        counts = [cells[name] for name in _COLUMNS]
        table.add_row(row, *(str(count) if count else "·" for count in counts), str(sum(counts)))
    columns = [sum(cells[name] for cells in matrix.values()) for name in _COLUMNS]
    table.add_row("all", *(str(count) for count in columns), str(sum(columns)), style="bold")
    console().print(table)
    for line in _share_lines(summary):
        say(line)
    for label, name in (
        ("recall", "mean_recall_at_packet"),
        ("precision", "mean_precision_at_packet"),
        ("scent", "mean_scent_coverage"),
    ):
        mean, denominator = summary[name], summary[f"{name}_denominator"]
        shown = "—" if mean is None else f"{mean:.6f}"
        say(f"mean {label:<9} {shown} over {_counted(denominator, 'task')}")
    p50, p95 = summary["p50_wall_ms"], summary["p95_wall_ms"]
    measured = summary["task_count"] - summary["latency_unmeasured_count"]
    times = "no wall time measured" if p50 is None else f"p50 {p50} ms, p95 {p95} ms"
    say(
        f"latency {times}; {summary['latency_unmeasured_count']} with no time, "
        f"{measured} measured or timed out"
    )
    if summary["first_contact_unknown_count"]:
        unknown = _counted(summary["first_contact_unknown_count"], "result")
        say(f"first command unknown in {unknown}")


def _share_lines(summary: dict[str, Any]) -> Iterator[str]:
    """Say the share of sufficient results, over how many, and what is in no share."""
    vacuous_count = summary["vacuous_count"]
    sufficient_count = summary["sufficiency_pass_count"] - vacuous_count
    yield (
        f"sufficient {sufficient_count} of {summary['task_count'] - vacuous_count}"
        f" results ({_counted(summary['distinct_task_count'], 'task')})"
    )
    if vacuous_count:
        yield (
            f"vacuous {vacuous_count} of {_counted(summary['task_count'], 'result')}: nothing was "
            "expected of them, so they could not fail and are in no share"
        )
    if summary["distinct_task_count"] != summary["task_count"]:
        mean, denominator = summary["mean_sufficiency"], summary["mean_sufficiency_denominator"]
        shown = "—" if mean is None else f"{mean:.6f}"
        yield f"sufficient share per task {shown} over {_counted(denominator, 'task')}"


class Missed(msgspec.Struct, frozen=True):
    """What is needed of a result to look for near twins of the ids that it misses."""

    task_id: str
    missing_expected_artifacts: list[str]
    selected_artifacts: list[str]


def missed_in(path: Path) -> Iterator[Missed]:
    """Read from a bundle's results those that miss an id."""
    decode = msgspec.json.Decoder(Missed).decode
    with path.open("rb") as file:
        for line in file:
            if b'"missing_id"' in line:
                yield decode(line)


def missed_of(results: Iterable[dict[str, Any]]) -> Iterator[Missed]:
    """Take from results in memory those that miss an id."""
    for result in results:
        if result["missing_expected_artifacts"]:
            yield msgspec.convert(result, Missed)


def print_twins(results: Iterable[Missed]) -> None:
    """Point out selected ids that differ from a missing one in spelling alone."""
    from wayproof.fitness.twins import near_twins

    shown: list[tuple[str, ...]] = []
    count = 0
    for result in results:
        for twin in near_twins(result.missing_expected_artifacts, result.selected_artifacts):
            count += 1
            if len(shown) < _QUEUE_TOP:
                differ_by = ", ".join(twin.differ_by)
                shown.append((result.task_id, twin.missing, twin.selected, differ_by))
    if count:
        title = f"near twins of missing ids: {count} (ids are compared literally)"
        headings = ("task", "missing", "selected", "they differ by")
        _print_queue(title, headings, shown, count)


def print_measure(one: dict[str, Any]) -> None:
    """Print one ranked measure's mean, over how many tasks, and what is in it."""
    mean = "—" if one["mean"] is None else f"{one['mean']:.6f}"
    parts = [f"{count} left out ({why})" for why, count in one["left_out"].items()]
    if one["missing_packets"]:
        parts.append(f"{one['missing_packets']} without packet, scored 0")
    told = "".join(f"; {part}" for part in parts)
    say(f"{one['name']:<14} {mean} over {_counted(one['tasks'], 'task')}{told}")


def debts_from(path: Path) -> Iterator[dict[str, Any]]:
    """Read a bundle's debts one by one."""
    with path.open("rb") as file:
        for line in file:
            yield msgspec.json.decode(line)


def print_debts(debts: Iterable[dict[str, Any]]) -> None:
    """Print the top of both queues: sufficiency in task order, latency by overrun."""
    sufficiency: list[dict[str, Any]] = []
    latency: list[tuple[float, int, dict[str, Any]]] = []
    sufficiency_count = latency_count = 0
    for debt in debts:
        if debt["debt_class"] == "sufficiency_debt":
            sufficiency_count += 1
            if len(sufficiency) < _QUEUE_TOP:
                sufficiency.append(debt)
        else:
            latency_count += 1
            latency.append((_overrun_ms(debt), -latency_count, debt))
            if len(latency) > 64:
                latency = heapq.nlargest(_QUEUE_TOP, latency)
    _print_queue(
        f"to repair: sufficiency debts: {sufficiency_count}",
        ("task", "repair", "missing ids", "forbidden text"),
        [
            (
                debt["debt_id"].partition(":")[2],
                debt["repair_class"],
                ", ".join(debt["missing_expected_artifacts"]) or "—",
                ", ".join(debt["forbidden_first_route_hits"]) or "—",
            )
            for debt in sufficiency
        ],
        sufficiency_count,
    )
    _print_queue(
        f"to repair: latency debts: {latency_count}",
        ("task", "status", "wall ms", "budget ms"),
        [
            (
                debt["debt_id"].partition(":")[2],
                LATENCY_WORDS[debt["latency_status"]],
                "—" if debt["wall_ms"] is None else str(debt["wall_ms"]),
                str(debt["latency_budget_ms"]),
            )
            for _, _, debt in heapq.nlargest(_QUEUE_TOP, latency)
        ],
        latency_count,
    )


def _overrun_ms(debt: dict[str, Any]) -> float:
    wall_ms = debt["wall_ms"]
    return float("inf") if wall_ms is None else float(wall_ms - debt["latency_budget_ms"])


def _print_queue(
    title: str, headings: tuple[str, ...], rows: list[tuple[str, ...]], count: int
) -> None:
    say("")
    say(title)
    if rows:
        print_rows(
            headings,
            [tuple(map(_safe, row)) for row in rows],
            is_number=[heading.endswith("ms") for heading in headings],
        )
    if count > len(rows):
        say(f"… and {count - len(rows)} more", indent=2)


class Contact(msgspec.Struct, frozen=True):
    """What is needed of a result to count it by the program that came first."""

    expected_artifacts: list[msgspec.Raw]
    first_contact_command: str | None
    forbidden_first_route_hits: list[msgspec.Raw]
    forbidden_status: str
    scent_status: str
    sufficiency_failure_kind: str | None
    wall_ms: float | None


def contacts_in(path: Path) -> Iterator[Contact]:
    """Read from a bundle's results what came first."""
    decode = msgspec.json.Decoder(Contact).decode
    with path.open("rb") as file:
        for line in file:
            yield decode(line)


def contacts_of(results: Iterable[dict[str, Any]]) -> Iterator[Contact]:
    """Take from results in memory what came first."""
    encode = msgspec.json.encode
    decode = msgspec.json.Decoder(Contact).decode
    return (decode(encode(result)) for result in results)


def print_contacts(contacts: Iterable[Contact]) -> None:
    """Print the programs and tools that came first most often, and what came of them."""
    tally = ContactTally()
    for one in contacts:
        examined = one.expected_artifacts or not (
            one.scent_status == one.forbidden_status == "unscored"
        )
        failed = one.sufficiency_failure_kind is not None
        tally.add(
            first_contact(one.first_contact_command),
            could_fail=bool(examined) or failed,
            is_sufficient=not failed,
            has_hit=bool(one.forbidden_first_route_hits),
            wall_ms=one.wall_ms,
        )
    rows = tally.rows()
    if not any(row.program for row in rows):
        return
    say("")
    say("first contacts, by program or tool")
    print_rows(
        ("program", "came first", "sufficient", "p50 ms", "forbidden"),
        [_contact_cells(row) for row in rows[:_QUEUE_TOP]],
        is_number=(False, True, True, True, True),
    )
    if len(rows) > _QUEUE_TOP:
        say(f"… and {len(rows) - _QUEUE_TOP} more", indent=2)


def _contact_cells(row: ContactRow) -> tuple[str, ...]:
    share = row.sufficient_share
    passes = "—" if share is None else f"{round(share * row.could_fail)} of {row.could_fail}"
    return (
        _safe(row.program) if row.program else "(unknown)",
        str(row.task_count),
        passes,
        "—" if row.p50_wall_ms is None else f"{row.p50_wall_ms:g}",
        str(row.hit_count) if row.hit_count else "·",
    )


def print_cases(result: dict[str, Any]) -> None:
    """Print each case with its verdict and every check that failed."""
    for case in result["cases"]:
        met = case["expectation_met"]
        say(f"{'met    ' if met else 'UNMET  '}{_safe(case['case_id'])}")
        if met:
            _print_case_axes(case["result"])
        summary = case["result"]["summary"]
        if summary["vacuous_count"]:
            say(
                f"vacuous {summary['vacuous_count']} of "
                f"{_counted(summary['task_count'], 'result')}: nothing was expected of them",
                indent=9,
            )
        for line in _failed_lines(case):
            say(_safe(line, 200), indent=9)
    verdict = f"{result['passed_case_count']} of {result['case_count']} cases met"
    say(f"{verdict}: {result['status']}")
    if result["cases"]:
        print_limits()


def _print_case_axes(suite: dict[str, Any]) -> None:
    for task in suite["task_results"]:
        kind = task["sufficiency_failure_kind"]
        wall = "—" if task["wall_ms"] is None else f"{task['wall_ms']}"
        say(
            f"{_safe(task['task_id'], 40)}"
            f": sufficiency {task['sufficiency_status']}"
            f"{f' ({kind})' if kind else ''}, {LATENCY_WORDS[task['latency_status']]}"
            f" ({wall} of {task['latency_budget_ms']} ms)",
            indent=7,
        )


def _failed_lines(case: dict[str, Any]) -> Iterator[str]:
    if case["observed_status"] != case["expected_status"]:
        yield f"status: expected {case['expected_status']}, observed {case['observed_status']}"
    checks = itertools.chain(
        case["summary_checks"].items(),
        (
            (f"{task_id}.{name}", check)
            for task_id, fields in case["task_checks"].items()
            for name, check in fields.items()
        ),
    )
    failed_any = case["observed_status"] != case["expected_status"]
    for name, check in checks:
        if not check["ok"]:
            failed_any = True
            why = f" ({check['why']})" if "why" in check else ""
            yield f"{name}: expected {check['expected']!r}, observed {check['observed']!r}{why}"
    if not failed_any and not case["expectation_met"]:
        yield "the case states no expectation, so it could not fail"


def print_limits() -> None:
    """Print what the numbers don't mean, on one line; files carry the long form."""
    say("")
    say(Text(f"limits: {LIMITS_LINE}", style="dim"))


def print_set_aside(record: dict[str, Any]) -> None:
    """Say how many packets had no task, and how many tasks were drafts, where there were any."""
    ignored_count, draft_count = record["ignored_packet_count"], record["draft_task_count"]
    if ignored_count:
        without = _counted(ignored_count, "packet")
        say(f"set aside: {without} without task (--ignore-unknown)")
    if draft_count:
        packets = _counted(record["draft_packet_count"], "packet")
        say(f"set aside: {_counted(draft_count, 'unfilled draft')} among the tasks, with {packets}")


def print_origins(counts: Counter[str]) -> None:
    """Say which expectations no person wrote down: a score can't be better than they are."""
    for origin, count in counts.most_common(_QUEUE_TOP):
        shown = harmless(clip(origin, 40))
        say(f"expected_from {shown}: {_counted(count, 'task')}; not by a person")


def print_unknown_keys(counts: Counter[str]) -> None:
    """Name the task keys that were passed over, with how many tasks carry each."""
    if counts:
        shown = [f"{harmless(clip(key, 40))} ({n})" for key, n in counts.most_common(_QUEUE_TOP)]
        rest = len(counts) - len(shown)
        more = f" and {rest} more" if rest else ""
        say(Text(f"task keys passed over: {', '.join(shown)}{more}", style="dim"))


def print_written(out: Path | None) -> None:
    """Say where the bundle is."""
    if out is not None:
        # One whole line: a path is for copying.
        console().print(Text(f"written: {harmless(str(out))}"))
