r"""JUnit XML, as continuous integration reads it: a test case a result.

Timeouts and route errors are ``<error>``, other kinds ``<failure>``; latency debts stand in
a suite of their own, because time never touches sufficiency. Characters that XML 1.0
forbids (section 2.2) are written as ``\xNN``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from wayproof.evidence.comparison_records import Comparison, DebtQueue, RecoveryComparison
from wayproof.text import clip

__all__ = [
    "JUnitCase",
    "comparison_junit",
    "fixtures_junit",
    "junit_lines",
    "results_junit",
    "xml_text",
]

_FORBIDDEN: Final = re.compile(
    "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\ufdd0-\ufdef]|[\x7f-\x84\x86-\x9f]"
)
_ERRORS: Final = frozenset({"route_timeout", "route_error"})
_TEXT_CHARS: Final = 2000
_NAMED: Final = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "\t": "&#9;",
    "\n": "&#10;",
    "\r": "&#13;",
}


def xml_text(text: str) -> str:
    r"""Escape text for an attribute or an element; what XML forbids becomes ``\xNN``."""
    escaped = _FORBIDDEN.sub(lambda match: _escape(match[0]), text)
    return "".join(_NAMED.get(one, one) for one in escaped)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class JUnitCase(NamedTuple):
    """One test case.

    Attributes
    ----------
    outcome
        ``pass``, ``failure``, ``error`` or ``skipped``.
    kind
        What failed, in a word.
    """

    group: str
    name: str
    outcome: str
    kind: str = ""
    message: str = ""
    wall_s: float = 0.0


def junit_lines(suites: Mapping[str, Sequence[JUnitCase]]) -> Iterator[str]:
    """Yield the document, a line each."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield "<testsuites>\n"
    for name, cases in suites.items():
        counts = {
            "tests": len(cases),
            "failures": sum(case.outcome == "failure" for case in cases),
            "errors": sum(case.outcome == "error" for case in cases),
            "skipped": sum(case.outcome == "skipped" for case in cases),
        }
        shown = " ".join(f'{key}="{count}"' for key, count in counts.items())
        total_s = sum(case.wall_s for case in cases)
        yield f'  <testsuite name="{xml_text(name)}" {shown} time="{total_s:.3f}">\n'
        for case in cases:
            yield from _case(case)
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _case(case: JUnitCase) -> Iterator[str]:
    head = (
        f'    <testcase classname="{xml_text(clip(case.group, _TEXT_CHARS))}"'
        f' name="{xml_text(clip(case.name, _TEXT_CHARS))}" time="{case.wall_s:.3f}"'
    )
    if case.outcome == "pass":
        yield f"{head}/>\n"
        return
    message = xml_text(clip(case.message, _TEXT_CHARS))
    inner = "<skipped/>"
    if case.outcome != "skipped":
        inner = (
            f'<{case.outcome} type="{xml_text(case.kind)}" message="{message}">'
            f"{message}</{case.outcome}>"
        )
    yield f"{head}>\n      {inner}\n    </testcase>\n"


def _name(row: Mapping[str, Any]) -> str:
    attempt = row.get("attempt")
    return str(row["task_id"]) if attempt is None else f"{row['task_id']} (attempt {attempt})"


def results_junit(suite: str, rows: Iterable[Mapping[str, Any]]) -> dict[str, list[JUnitCase]]:
    """Turn results into two suites: sufficiency, and latency."""
    sufficiency: list[JUnitCase] = []
    latency: list[JUnitCase] = []
    for row in rows:
        wall_s = (row.get("wall_ms") or 0) / 1000
        group = f"{row.get('family', '')}.{row.get('route_type', '')}"
        sufficiency.append(_sufficiency(group, row, wall_s))
        latency.append(_latency(group, row, wall_s))
    return {f"{suite}: sufficiency": sufficiency, f"{suite}: latency": latency}


def _sufficiency(group: str, row: Mapping[str, Any], wall_s: float) -> JUnitCase:
    kind = row["sufficiency_failure_kind"]
    if kind is None:
        outcome = "skipped" if row.get("vacuous") is True else "pass"
        return JUnitCase(group, _name(row), outcome, wall_s=wall_s)
    return JUnitCase(
        group,
        _name(row),
        "error" if kind in _ERRORS else "failure",
        kind,
        _why(kind, row),
        wall_s,
    )


def _why(kind: str, row: Mapping[str, Any]) -> str:
    parts = [kind]
    if row.get("missing_expected_artifacts"):
        parts.append("missing: " + ", ".join(row["missing_expected_artifacts"]))
    if row.get("missing_scent_terms"):
        parts.append("lacks the terms: " + ", ".join(row["missing_scent_terms"]))
    if row.get("forbidden_first_route_hits"):
        parts.append("forbidden: " + ", ".join(row["forbidden_first_route_hits"]))
    if row.get("error"):
        parts.append(f"error: {row['error']}")
    return "; ".join(parts)


def _latency(group: str, row: Mapping[str, Any], wall_s: float) -> JUnitCase:
    status = row["latency_status"]
    if status == "pass":
        return JUnitCase(group, _name(row), "pass", wall_s=wall_s)
    if status == "unmeasured":
        return JUnitCase(group, _name(row), "skipped", wall_s=wall_s)
    took = "cut off" if row.get("wall_ms") is None else f"{row['wall_ms']} ms"
    return JUnitCase(
        group,
        _name(row),
        "error" if status == "timeout" else "failure",
        status,
        f"{took}; the budget is {row['latency_budget_ms']} ms",
        wall_s,
    )


def fixtures_junit(record: Mapping[str, Any]) -> dict[str, list[JUnitCase]]:
    """Turn a folder of cases into one suite: a case whose expectation is unmet fails."""
    cases = []
    for case in record["cases"]:
        met = case["expectation_met"]
        bad = [
            f"{name}: expected {check['expected']!r}, observed {check['observed']!r}"
            for checks in (case["summary_checks"], *case["task_checks"].values())
            for name, check in checks.items()
            if not check["ok"]
        ]
        cases.append(
            JUnitCase(
                "cases",
                case["case_id"],
                "pass" if met else "failure",
                "" if met else "expectation_unmet",
                "; ".join(bad) or ("" if met else "no expectation was met"),
            )
        )
    return {"cases": cases}


def comparison_junit(
    comparison: Comparison | RecoveryComparison,
) -> dict[str, list[JUnitCase]]:
    """Turn a comparison into suites: gates, and new debts in each queue."""
    outcomes = {"pass": "pass", "fail": "failure", "undecided": "skipped"}
    suites = {
        "gates": [
            JUnitCase("gates", gate.name, outcomes[gate.state], gate.state, gate.line)
            for gate in comparison.gates
        ]
    }
    if isinstance(comparison, Comparison):
        for queue in comparison.queues:
            suites[f"new {queue.queue} debts"] = _new_debts(queue)
    else:
        suites["trials"] = [
            JUnitCase(
                policy.new_policy,
                f"{trial.scenario_id}/{trial.policy_seed}",
                "failure" if trial.base_verified else "pass",
                "no longer verified" if trial.base_verified else "",
                f"outcome {trial.new_outcome}, completed: {trial.new_completed}",
            )
            for policy in comparison.policies
            for trial in policy.discordant
        ]
    return suites


def _new_debts(queue: DebtQueue) -> list[JUnitCase]:
    return [
        JUnitCase(
            f"{debt.family}.{debt.route_type}",
            debt.debt_id,
            "error" if debt.after in {*_ERRORS, "timeout"} else "failure",
            str(debt.after),
            f"new debt: {debt.after}",
        )
        for debt in queue.debts
        if debt.change == "new"
    ]
