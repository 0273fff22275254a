"""Gates: over how many they speak, and that nothing measured is never good."""

from fractions import Fraction
from typing import Any

import pytest

from wayproof.errors import InputError
from wayproof.fitness import evaluate_benchmark
from wayproof.fitness.gates import Gate, GateName, check_gates, parse_rate


def _summary(*cases: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    document = {"cases": [{"task": task, "packet": packet} for task, packet in cases]}
    summary: dict[str, Any] = evaluate_benchmark(document)["summary"]
    return summary


def _ok(
    summary: dict[str, Any], name: GateName, bound: str, debt_class: str | None = None
) -> tuple[bool, int, int]:
    (verdict,) = check_gates(summary, [Gate(name, Fraction(bound), bound, debt_class)])
    assert ("pass" if verdict.ok else "FAIL") in verdict.line()
    assert f"{verdict.measured_count} measured, {verdict.unmeasured_count} not" in verdict.line()
    return verdict.ok, verdict.measured_count, verdict.unmeasured_count


WANTS: dict[str, Any] = {"expected_artifacts": ["a"]}
HIT: dict[str, Any] = {"selected_artifacts": ["a"], "wall_ms": 1}


def test_what_could_not_fail_raises_no_share() -> None:
    """Real published results passed a gate that they missed over the tasks that can fail."""
    nothing = [({"task_id": f"v{n}"}, HIT) for n in range(8)]
    summary = _summary(({**WANTS, "task_id": "a"}, HIT), ({**WANTS, "task_id": "b"}, {}), *nothing)
    assert summary["sufficiency_pass_count"] == 9
    assert _ok(summary, "min-sufficient", "1/2") == (True, 2, 8)
    assert _ok(summary, "min-sufficient", "51/100") == (False, 2, 8)
    assert _ok(summary, "min-sufficient-tasks", "1/2") == (True, 2, 8)
    assert _ok(summary, "max-debts", "0", "sufficiency_debt") == (False, 2, 8)


def test_a_failure_always_counts() -> None:
    """A task that expects nothing can still time out."""
    summary = _summary(({}, {"timed_out": True}), ({}, HIT))
    assert _ok(summary, "min-sufficient", "0") == (True, 1, 1)
    assert _ok(summary, "min-sufficient", "1/100") == (False, 1, 1)


@pytest.mark.parametrize("bound", ["0", "1/2", "1"])
def test_nothing_of_nothing_passes_no_gate(bound: str) -> None:
    """0 of 0 is no share, and where nobody measured nothing was fast."""
    summary = _summary(({}, {"selected_artifacts": ["a"]}), ({}, {}))
    assert _ok(summary, "min-sufficient", bound) == (False, 0, 2)
    assert _ok(summary, "min-sufficient-tasks", bound)[0] is False
    assert _ok(summary, "max-debts", "9", "sufficiency_debt") == (False, 0, 2)
    assert _ok(summary, "max-debts", "9", "latency_debt") == (False, 0, 2)
    assert _ok(summary, "max-p95-ms", "9999") == (False, 0, 2)
    assert _ok(summary, "max-unmeasured", "2") == (True, 0, 2)
    assert _ok(_summary(), "max-unmeasured", "2") == (False, 0, 0)


def test_each_task_counts_once_where_that_is_asked() -> None:
    """Nine good attempts of one task don't make up for a task that failed."""
    many = [({**WANTS, "task_id": "a"}, {**HIT, "attempt": n}) for n in range(1, 10)]
    summary = _summary(*many, ({**WANTS, "task_id": "b"}, {}))
    assert _ok(summary, "min-sufficient", "9/10") == (True, 10, 0)
    assert _ok(summary, "min-sufficient-tasks", "1/2") == (True, 2, 0)
    assert _ok(summary, "min-sufficient-tasks", "500001/1000000") == (False, 2, 0)


def test_a_share_is_rounded_down_to_no_bound_that_it_missed() -> None:
    """1/3 meets 1/3; just under a bound of six decimals misses it."""
    third = _summary(
        *[({**WANTS, "task_id": "a"}, {**HIT, "attempt": n}) for n in (1,)],
        ({**WANTS, "task_id": "b"}, {}),
        ({**WANTS, "task_id": "c"}, {}),
    )
    assert third["mean_sufficiency"] == 0.333333
    assert _ok(third, "min-sufficient-tasks", "1/3")[0]
    assert not _ok(third, "min-sufficient-tasks", "0.333334")[0]


@pytest.mark.parametrize(
    ("text", "rate"),
    [("0.9", "9/10"), ("9/10", "9/10"), ("90%", "9/10"), ("1", "1"), ("0", "0"), ("0.5%", "1/200")],
)
def test_rates_are_read_exactly(text: str, rate: str) -> None:
    """No bound is moved by a float."""
    assert parse_rate(text) == Fraction(rate)


@pytest.mark.parametrize(
    ("text", "question"),
    [("60", "60 % or 0.6?"), ("99.5", "99.5 % or 0.995?"), ("100", "100 % or 1?"), ("101", None),
     ("-1", None), ("nan", None), ("", None), ("110%", None), ("3/2", None)],
)  # fmt: skip
def test_a_rate_that_may_be_a_percentage_is_asked_about(text: str, question: str | None) -> None:
    """`--min-sufficient 60` is a slip, and which one can't be guessed."""
    with pytest.raises(InputError) as caught:
        parse_rate(text)
    assert caught.value.mend == question
