"""A row of bundles: since when each debt stands."""

from pathlib import Path

from compare_bundles import MakeBundle, packets_of, tasks_of
from conftest import RunWayproof
from wayproof.compare.bundles import compare_row
from wayproof.evidence.comparison_records import Comparison, Trend


def _row(make_bundle: MakeBundle) -> list[Path]:
    """Five bundles. t1 fails from 2 on; t2 in 1 and 2, then paid, and again in 5; t3 is slow
    from 1 on, unmeasured in 3; t4 fails in 1 and is forbidden to be checked after."""
    tasks = tasks_of(8)
    folders = []
    for step in range(1, 6):
        packets = packets_of(tasks)
        if step >= 2:
            packets[1]["selected_artifacts"] = []
        if step in {1, 2, 5}:
            packets[2]["selected_artifacts"] = ["a2"]
        packets[3]["wall_ms"] = 500
        if step == 3:
            del packets[3]["wall_ms"]
        folders.append(make_bundle(f"v{step}", tasks, packets))
    return folders


def _trend(folders: list[Path]) -> Trend:
    found = compare_row(folders)
    assert isinstance(found, Comparison)
    assert found.trend is not None
    return found.trend


def test_each_debt_names_since_when_it_stands(make_bundle: MakeBundle) -> None:
    """A paid debt that comes back is young; an unmeasured step pays nothing."""
    trend = _trend(_row(make_bundle))
    assert [
        (debt.debt_id, debt.since, debt.since_name, debt.not_measured) for debt in trend.open_debts
    ] == [
        ("sufficiency:t001", 2, "v2", []),
        ("sufficiency:t002", 5, "v5", []),
        ("latency:t003", 1, "v1", [3]),
    ]


def test_steps_count_what_is_new_and_paid(make_bundle: MakeBundle) -> None:
    """Open after each step = open before + new - paid, the unmeasured aside."""
    steps = _trend(_row(make_bundle)).steps
    assert [(one.sufficiency_open, one.sufficiency_new, one.sufficiency_paid) for one in steps] == [
        (1, 1, 0),
        (2, 1, 0),
        (1, 0, 1),
        (1, 0, 0),
        (2, 1, 0),
    ]
    assert [(one.latency_open, one.latency_no_longer_measured) for one in steps] == [
        (1, 0),
        (1, 0),
        (0, 1),
        (1, 0),
        (1, 0),
    ]
    assert [one.sufficient_share for one in steps] == [0.875, 0.75, 0.875, 0.875, 0.75]
    assert steps[2].unmeasured == 1


def test_the_command_shows_the_trend(make_bundle: MakeBundle, wayproof: RunWayproof) -> None:
    """Five folders in a row; what is compared in detail is the last two."""
    ran = wayproof("compare", *_row(make_bundle))
    assert ran.status == 0
    assert "since 2 (v2): sufficiency:t001 (missing_id)" in ran.out
    assert "since 1 (v1): latency:t003 (late, not measured at [3])" in ran.out
    assert "base v4 → new v5" in ran.out


def test_one_bundle_is_no_comparison(make_bundle: MakeBundle, wayproof: RunWayproof) -> None:
    """It is said what is missing."""
    tasks = tasks_of(6)
    ran = wayproof("compare", make_bundle("one", tasks, packets_of(tasks)))
    assert ran.status == 2
    assert "BASE and NEW" in ran.err


def test_a_trend_of_attempts_and_of_what_could_not_fail(make_bundle: MakeBundle) -> None:
    """Debts of attempts are numbered, and a task that expects nothing is in no share."""
    tasks = [*tasks_of(4), {"task_id": "nothing"}]
    packets = [{**one, "attempt": n} for one in packets_of(tasks[:4]) for n in (1, 2)]
    packets.append({"task_id": "nothing"})
    packets[1]["selected_artifacts"] = []
    trend = _trend([make_bundle(f"v{step}", tasks, packets) for step in range(3)])
    assert [debt.debt_id for debt in trend.open_debts] == ["sufficiency:t000#2"]
    assert [step.sufficient_share for step in trend.steps] == [0.875] * 3
    assert [(step.measured, step.unmeasured) for step in trend.steps] == [(8, 1)] * 3
