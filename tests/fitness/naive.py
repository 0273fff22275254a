"""A second, naive statement of the contract, written from its text and for nothing but clarity.

It shares no code with the package. Where the package is clever, this is slow.
"""

import hashlib
import unicodedata
from collections.abc import Collection
from fractions import Fraction
from math import ceil
from typing import Any

import rfc8785

DEFAULTS: dict[str, Any] = {
    "task_id": "unknown_task",
    "family": "public_fixture",
    "task_prompt": "",
    "route_type": "context_pack",
    "expected_artifacts": [],
    "forbidden_first_routes": [],
    "latency_budget_ms": 1500,
    "route_role": "first_contact",
    "scent_terms": [],
}
PACKET_FIELDS = (
    "first_contact_command",
    "command_used",
    "wall_ms",
    "timed_out",
    "error",
    "selected_artifacts",
    "selected_rows",
    "summary",
    "title",
    "route_hint",
)


def fold(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def not_blank(texts: list[str]) -> list[str]:
    return [text for text in texts if text.strip() != ""]


def selected_ids(packet: dict[str, Any]) -> set[str]:
    ids = set(packet.get("selected_artifacts") or [])
    for row in packet.get("selected_rows") or []:
        kind, row_id = row.get("kind_id") or "", row.get("row_id") or ""
        if kind.strip() and row_id.strip():
            ids.add(kind + ":" + row_id)
        ids |= set(row.get("artifact_ids") or [])
    return set(not_blank(list(ids)))


def selection(packet: dict[str, Any]) -> list[str]:
    """The selected ids in the packet's order, each where it first stands."""
    ids = list(packet.get("selected_artifacts") or [])
    for row in packet.get("selected_rows") or []:
        kind, row_id = row.get("kind_id") or "", row.get("row_id") or ""
        ids += [kind + ":" + row_id] if kind.strip() and row_id.strip() else []
        ids += row.get("artifact_ids") or []
    return list(dict.fromkeys(not_blank(ids)))


def canonical_task(row: dict[str, Any]) -> dict[str, Any]:
    """What a task gives of the fields that scoring knows, without blank ids and terms."""
    task = {}
    for name in (*DEFAULTS, "relevance", "literal_ids"):
        if row.get(name) is not None:
            task[name] = row[name]
    for name in ("expected_artifacts", "forbidden_first_routes", "scent_terms"):
        if name in task:
            task[name] = not_blank(task[name])
    if task.get("literal_ids") == []:
        del task["literal_ids"]
    return task


def matches(wanted: str, chosen: str, literal: Collection[str] = ()) -> bool:
    if wanted.endswith("*") and wanted not in literal:
        return chosen.startswith(wanted[:-1])
    return wanted == chosen


def scent_text(packet: dict[str, Any], selected: set[str]) -> str:
    parts = [packet.get(name) or "" for name in ("summary", "title", "route_hint")]
    parts.append(packet.get("first_contact_command") or "")
    parts += sorted(selected)
    for row in packet.get("selected_rows") or []:
        parts += [row.get(name) or "" for name in ("title", "summary", "reason")]
    return fold("\n".join(parts))


def ladder(
    *, timed_out: bool, error: bool, missing: bool, weak: bool, forbidden: bool
) -> list[str]:
    """The rungs in the order of the contract, one `if` each."""
    failed = []
    if timed_out:
        failed.append("route_timeout")
    if error:
        failed.append("route_error")
    if missing:
        failed.append("missing_id")
    if weak:
        failed.append("weak_scent")
    if forbidden:
        failed.append("forbidden_route")
    return failed


def evaluate_task(row: dict[str, Any], packet: dict[str, Any]) -> dict[str, Any]:
    task = {
        name: default if row.get(name) is None else row[name] for name, default in DEFAULTS.items()
    }
    defaulted = [name for name in DEFAULTS if row.get(name) is None]
    for name in PACKET_FIELDS:
        is_given_null = name == "error" and name in packet  # null is a value of `error`
        if packet.get(name) is None and not is_given_null:
            defaulted.append(f"packet.{name}")
    expected = set(not_blank(task["expected_artifacts"]))
    selected = selected_ids(packet)
    grades = row.get("relevance")
    literal = {
        one
        for one in row.get("literal_ids") or []
        if one.endswith("*") and one in expected | set(grades or {})
    }
    found = {
        wanted for wanted in expected if any(matches(wanted, one, literal) for one in selected)
    }
    relevant = {
        one for one in selected if any(matches(wanted, one, literal) for wanted in expected)
    }
    command = packet.get("first_contact_command")
    knows_command = (command or "").strip() != ""
    forbidden = not_blank(task["forbidden_first_routes"])
    hits = [text for text in forbidden if knows_command and text in (command or "")]
    terms = list(dict.fromkeys(fold(term) for term in not_blank(task["scent_terms"])))
    text = scent_text(packet, selected)
    missing_terms = [term for term in terms if term not in text]
    timed_out = bool(packet.get("timed_out"))
    error = packet.get("error")
    failed = ladder(
        timed_out=timed_out,
        error=error is not None and error not in ("", {}),
        missing=found != expected,
        weak=bool(missing_terms),
        forbidden=bool(hits),
    )
    wall_ms = packet.get("wall_ms")
    if wall_ms is not None:
        wall_ms = round(float(wall_ms), 3)
    if timed_out:
        latency = "timeout"
    elif wall_ms is None:
        latency = "unmeasured"
    else:
        latency = "pass" if wall_ms <= task["latency_budget_ms"] else "fail"
    return {
        "task_id": task["task_id"],
        "family": task["family"],
        "task_prompt": task["task_prompt"],
        "route_type": task["route_type"],
        "route_role": task["route_role"],
        "command_used": command if packet.get("command_used") is None else packet["command_used"],
        "first_contact_command": command,
        "wall_ms": wall_ms,
        "latency_budget_ms": task["latency_budget_ms"],
        "latency_status": latency,
        "selected_artifacts": sorted(selected),
        "selected_artifact_count": len(selected),
        "expected_artifacts": sorted(expected),
        "found_expected_artifacts": sorted(found),
        "missing_expected_artifacts": sorted(expected - found),
        "recall_at_packet": round(len(found) / len(expected), 4) if expected else 1.0,
        "precision_at_packet": round(len(relevant) / len(selected), 4) if selected else 1.0,
        "forbidden_first_route_hits": hits,
        "forbidden_status": (
            "unscored" if not forbidden or not knows_command else "fail" if hits else "pass"
        ),
        "scent_status": "unscored" if not terms else "fail" if missing_terms else "pass",
        "scent_coverage": (
            round((len(terms) - len(missing_terms)) / len(terms), 4) if terms else None
        ),
        "missing_scent_terms": missing_terms,
        "sufficiency_status": "fail" if failed else "pass",
        "sufficiency_failure_kind": failed[0] if failed else None,
        "failed_checks": failed,
        "timed_out": timed_out,
        "error": error,
        "defaulted_fields": defaulted,
        "vacuous_metrics": [
            name
            for name, ids in (("recall_at_packet", expected), ("precision_at_packet", selected))
            if not ids
        ],
        "literal_ids": sorted(literal),
        "relevance": grades,
        "selection_order": [sorted(selected).index(one) for one in selection(packet)],
        "task_sha256": hashlib.sha256(rfc8785.dumps(canonical_task(row))).hexdigest(),
        "vacuous": not failed
        and not expected
        and not terms
        and (not forbidden or not knows_command),
        **({"attempt": packet["attempt"]} if packet.get("attempt") is not None else {}),
    }


def percentile(values: list[float], percent: int) -> float | None:
    """The ⌈p/100·n⌉-th smallest."""
    if not values:
        return None
    return sorted(values)[max(1, ceil(Fraction(percent, 100) * len(values))) - 1]


def mean_within_tasks(results: list[dict[str, Any]], part: str) -> tuple[float | None, int]:
    """Average a metric within each task, then over tasks, leaving vacuous ones out."""
    by_task: dict[str, list[Fraction]] = {}
    for result in results:
        share = _share(result, part)
        if share is not None:
            by_task.setdefault(result["task_id"], []).append(share)
    means = [sum(values, Fraction(0)) / len(values) for values in by_task.values()]
    if not means:
        return None, 0
    return round(float(sum(means, Fraction(0)) / len(means)), 6), len(means)


def _share(result: dict[str, Any], part: str) -> Fraction | None:
    expected, selected = result["expected_artifacts"], result["selected_artifacts"]
    if part == "recall":
        if not expected:
            return None
        return Fraction(len(result["found_expected_artifacts"]), len(expected))
    if not selected:
        return None
    literal = result["literal_ids"]
    relevant = [
        one for one in selected if any(matches(wanted, one, literal) for wanted in expected)
    ]
    return Fraction(len(relevant), len(selected))


def sufficiency_within_tasks(results: list[dict[str, Any]]) -> tuple[float | None, int]:
    """The share of sufficient results within each task, then over tasks, rounded down."""
    by_task: dict[str, list[int]] = {}
    for result in results:
        if not result["vacuous"]:
            by_task.setdefault(result["task_id"], []).append(result["sufficiency_status"] == "pass")
    means = [Fraction(sum(passes), len(passes)) for passes in by_task.values()]
    if not means:
        return None, 0
    mean = sum(means, Fraction(0)) / len(means)
    return int(mean * 1_000_000) / 1_000_000, len(means)
