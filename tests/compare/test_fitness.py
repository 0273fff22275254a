"""Two bundles of navigation fitness: pairs, flips, debts, verdicts."""

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compare_bundles import MakeBundle, packets_of, tasks_of
from conftest import RunWayproof
from wayproof.canonical import canonical_bytes
from wayproof.compare import CompareRequest, compare_bundles
from wayproof.compare.columns import judge
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.comparison_records import Comparison, MeasureChange
from wayproof.measures.means import measure_means
from wayproof.stats import numeric


def _compare(base: Path, new: Path, **options: Any) -> Comparison:
    found = compare_bundles(base, new, CompareRequest(**options))
    assert isinstance(found, Comparison)
    return found


def _measure(comparison: Comparison, name: str) -> MeasureChange:
    return next(row for row in comparison.measures if row.name == name)


def _changes(comparison: Comparison, queue: int) -> dict[str, str]:
    return {debt.debt_id: debt.change for debt in comparison.queues[queue].debts}


def test_identical_bundles_change_nothing(make_bundle: MakeBundle) -> None:
    """No flip, no debt new or paid, no task changed, whatever stands in them."""
    tasks = tasks_of(20)
    packets = packets_of(tasks)
    packets[3]["selected_artifacts"] = ["x"]
    packets[4]["wall_ms"] = 900
    base, new = (make_bundle(name, tasks, packets) for name in ("base", "new"))
    comparison = _compare(base, new)
    assert [(axis.flips, axis.unchanged) for axis in comparison.axes] == [([], 20), ([], 20)]
    assert _changes(comparison, 0) == {"sufficiency:t003": "carried"}
    assert _changes(comparison, 1) == {"latency:t004": "carried"}
    assert {row.verdict for row in comparison.measures} == {"no_task_changed"}
    assert comparison.result_pairs == []


def test_one_task_made_worse(make_bundle: MakeBundle) -> None:
    """Exactly one new debt, one flip, and both results beside each other."""
    tasks = tasks_of(20)
    packets = packets_of(tasks)
    base = make_bundle("base", tasks, packets)
    packets[7]["selected_artifacts"] = ["a7"]
    comparison = _compare(base, make_bundle("new", tasks, packets))
    assert _changes(comparison, 0) == {"sufficiency:t007": "new"}
    (flip,) = comparison.axes[0].flips
    assert (flip.task_id, flip.before, flip.after, flip.change) == (
        "t007",
        "sufficient",
        "missing_id",
        "newly_failing",
    )
    (pair,) = comparison.result_pairs
    assert pair.base is not None
    assert pair.new is not None
    assert msgspec.json.decode(pair.new)["found_expected_artifacts"] == ["a7"]
    recall = _measure(comparison, "recall")
    assert (recall.better, recall.equal, recall.worse) == (0, 19, 1)
    assert recall.difference == -0.025


def test_unmeasured_time_pays_nothing(make_bundle: MakeBundle) -> None:
    """Dropping wall_ms turns latency debts into "no longer measured"."""
    tasks = tasks_of(8)
    packets = packets_of(tasks, wall_ms=500)
    base = make_bundle("base", tasks, packets)
    new = make_bundle("new", tasks, packets_of(tasks, wall_ms=None))
    queue = _compare(base, new).queues[1]
    assert (queue.before, queue.after, queue.paid, queue.no_longer_measured) == (8, 0, 0, 8)
    assert {debt.reason for debt in queue.debts} == {"no time was measured"}


def test_a_check_that_was_not_made_pays_nothing(make_bundle: MakeBundle) -> None:
    """A forbidden first command that is now unknown is no longer measured."""
    tasks = [{**task, "forbidden_first_routes": ["grep -r"]} for task in tasks_of(8)]
    packets = packets_of(tasks)
    packets[0]["first_contact_command"] = "grep -r x ."
    packets[1]["first_contact_command"] = "grep -r x ."
    base = make_bundle("base", tasks, packets)
    packets[0]["first_contact_command"] = None
    packets[1]["first_contact_command"] = "look"
    comparison = _compare(base, make_bundle("new", tasks, packets))
    assert _changes(comparison, 0) == {
        "sufficiency:t000": "no_longer_measured",
        "sufficiency:t001": "paid",
    }
    assert comparison.queues[0].debts[0].reason == "the check of forbidden_route was not made"


def test_every_failed_check_must_be_made_again(make_bundle: MakeBundle) -> None:
    """The first failing check passes now, but the second one was not made: nothing is paid."""
    tasks = [{**task, "forbidden_first_routes": ["grep -r"]} for task in tasks_of(8)]
    packets = packets_of(tasks)
    packets[0] |= {"first_contact_command": "grep -r x .", "selected_artifacts": []}
    base = make_bundle("base", tasks, packets)
    packets[0] |= {"first_contact_command": None, "selected_artifacts": ["a0", "b0"]}
    comparison = _compare(base, make_bundle("new", tasks, packets))
    assert _changes(comparison, 0) == {"sufficiency:t000": "no_longer_measured"}


def test_a_verdict_needs_both_p_and_interval(make_bundle: MakeBundle) -> None:
    """An adjusted p above .05 is undecided, whatever the interval; so is one that holds 0."""
    tasks = tasks_of(20, families=20)
    packets = packets_of(tasks)
    good = make_bundle("good", tasks, packets)
    for packet in packets[:16]:
        packet["selected_artifacts"] = []
    row = _measure(_compare(good, make_bundle("bad", tasks, packets)), "recall")
    assert judge(row)[0] == "worse"
    assert judge(msgspec.structs.replace(row, p_adjusted=0.05))[0] == "worse"
    assert judge(msgspec.structs.replace(row, p_adjusted=0.051))[0] == "undecided"
    assert judge(msgspec.structs.replace(row, high=0.0))[0] == "undecided"


def test_debts_that_change_their_kind_are_carried(make_bundle: MakeBundle) -> None:
    """A missing id that became a timeout is the same debt, of another kind."""
    tasks = tasks_of(8)
    packets = packets_of(tasks)
    packets[2]["selected_artifacts"] = []
    base = make_bundle("base", tasks, packets)
    packets[2]["timed_out"] = True
    comparison = _compare(base, make_bundle("new", tasks, packets))
    assert _changes(comparison, 0) == {"sufficiency:t002": "carried"}
    assert comparison.axes[0].changed_kind == 1
    assert _changes(comparison, 1) == {"latency:t002": "new"}


def test_other_suites_are_refused(make_bundle: MakeBundle) -> None:
    """Other tasks, or the same ids asking for something else; both can be compared when asked."""
    tasks = tasks_of(9)
    base = make_bundle("base", tasks, packets_of(tasks))
    changed = [{**tasks[0], "expected_artifacts": ["a0"]}, *tasks[1:8]]
    changed.append({"task_id": "z", "expected_artifacts": ["q"]})
    new = make_bundle("new", changed, packets_of(changed))
    with pytest.raises(InputError, match=r"1 tasks only in base .*1 tasks only in new .*1 tasks"):
        _compare(base, new)
    comparison = _compare(base, new, allow_different_suites=True)
    suites = comparison.suites
    assert (suites.only_base, suites.only_new, suites.changed) == (["t008"], ["z"], ["t000"])
    assert (suites.same, suites.compared_tasks) == (False, 8)
    assert _measure(comparison, "sufficient").pairs == 8


def test_a_removed_result_pays_nothing(make_bundle: MakeBundle) -> None:
    """A failing task that is gone from NEW is no longer measured."""
    tasks = tasks_of(8)
    packets = packets_of(tasks)
    packets[0]["selected_artifacts"] = []
    base = make_bundle("base", tasks, packets)
    new = make_bundle("new", tasks[1:], packets[1:])
    comparison = _compare(base, new, allow_different_suites=True)
    assert _changes(comparison, 0) == {"sufficiency:t000": "no_longer_measured"}


def test_vacuous_pairs_leave_the_share(make_bundle: MakeBundle) -> None:
    """What could not fail on either side is in no share, and pays no debt."""
    tasks = tasks_of(8)
    tasks[0] = {"task_id": "t000", "family": "f0", "forbidden_first_routes": ["rm"]}
    packets = packets_of([{**task, "expected_artifacts": []} for task in tasks[:1]])
    packets += packets_of(tasks[1:])
    packets[0]["first_contact_command"] = "rm x"
    base = make_bundle("base", tasks, packets)
    packets[0]["first_contact_command"] = None
    comparison = _compare(base, make_bundle("new", tasks, packets))
    share = _measure(comparison, "sufficient")
    assert (share.pairs, share.left_out) == (7, {"could not fail": 1})
    assert _changes(comparison, 0) == {"sufficiency:t000": "no_longer_measured"}
    assert [flip.change for flip in comparison.axes[0].flips] == ["no_longer_measured"]


def test_attempts_average_within_their_task(make_bundle: MakeBundle) -> None:
    """Nine attempts of one task weigh as much as one of another; debts are per attempt."""
    tasks = tasks_of(8)
    packets = packets_of(tasks[1:])
    for attempt in range(1, 10):
        (packet,) = packets_of(tasks[:1])
        packets.append({**packet, "attempt": attempt})
    base = make_bundle("base", tasks, packets)
    for packet in packets[-3:]:
        packet["selected_artifacts"] = ["a0"]
    comparison = _compare(base, make_bundle("new", tasks, packets))
    share = _measure(comparison, "sufficient")
    assert share.new == pytest.approx((7 + 6 / 9) / 8)
    assert sorted(_changes(comparison, 0)) == [f"sufficiency:t000#{n}" for n in (7, 8, 9)]
    recall = _measure(comparison, "recall")
    assert recall.new == pytest.approx((7 + (6 + 3 * 0.5) / 9) / 8)


def test_attempt_measures(make_bundle: MakeBundle) -> None:
    """pass@2 and pass^2 beside the mean; tasks with fewer attempts are left out and counted."""
    tasks = tasks_of(8)
    packets = packets_of(tasks)
    packets += [{**one, "attempt": 2} for one in packets_of(tasks[:7])]
    base = make_bundle("base", tasks, packets)
    packets[0]["selected_artifacts"] = []
    comparison = _compare(base, make_bundle("new", tasks, packets), measures=("pass@2", "pass^2"))
    at, all_of = _measure(comparison, "pass@2"), _measure(comparison, "pass^2")
    assert (at.new, at.left_out) == (1, {"too few attempts": 1})
    assert all_of.new == pytest.approx(6 / 7)


def test_the_unit_is_chosen_and_said(make_bundle: MakeBundle) -> None:
    """Families where given for all and at least six; else tasks; else what was asked for."""
    tasks = tasks_of(24)
    packets = packets_of(tasks)
    base, new = (make_bundle(name, tasks, packets) for name in ("base", "new"))
    assert (_compare(base, new).unit.cluster, _compare(base, new).unit.clusters) == ("family", 8)
    assert _compare(base, new, cluster="task").unit.clusters == 24
    assert _compare(base, new, cluster="route_role").unit.warnings[0].startswith("1 clusters")
    with pytest.raises(InputError, match="not a field of a result"):
        _compare(base, new, cluster="colour")
    few = tasks_of(24, families=5)
    assert _compare(*(make_bundle(n, few, packets_of(few)) for n in "ab")).unit.cluster == "task"
    del tasks[5]["family"]
    some = _compare(*(make_bundle(n, tasks, packets) for n in "cd"))
    assert (some.unit.cluster, some.unit.why) == ("task", "not every task gives a family")


def test_too_few_clusters_give_figures_and_no_verdict(make_bundle: MakeBundle) -> None:
    """With five clusters no p can reach .05: figures, no interval, no verdict."""
    tasks = tasks_of(5)
    packets = packets_of(tasks)
    base = make_bundle("base", tasks, packets)
    for packet in packets:
        packet["selected_artifacts"] = []
    row = _measure(_compare(base, make_bundle("new", tasks, packets)), "recall")
    assert (row.verdict, row.difference, row.low, row.p_adjusted) == ("too_few", -1, None, None)


def test_a_clear_difference_is_told(make_bundle: MakeBundle) -> None:
    """Sixteen of twenty tasks lost: worse; the other way round: better."""
    tasks = tasks_of(20, families=20)
    packets = packets_of(tasks)
    good = make_bundle("good", tasks, packets)
    for packet in packets[:16]:
        packet["selected_artifacts"] = []
    bad = make_bundle("bad", tasks, packets)
    assert _measure(_compare(good, bad), "recall").verdict == "worse"
    assert _measure(_compare(bad, good), "recall").verdict == "better"
    share = _measure(_compare(bad, good), "sufficient")
    assert share.p == pytest.approx(2 * 0.5**16, rel=1e-5)
    assert share.p is not None
    assert share.p_adjusted is not None
    assert share.p_adjusted >= share.p


def test_times_with_a_censored_end(make_bundle: MakeBundle) -> None:
    """Timeouts stand above every time; lower is better; lost measurements are counted."""
    tasks = tasks_of(20, families=20)
    packets = packets_of(tasks)
    base = make_bundle("base", tasks, packets)
    for packet in packets[:15]:
        packet["timed_out"] = True
    del packets[19]["wall_ms"]
    row = _measure(_compare(base, make_bundle("new", tasks, packets)), "censored_p50")
    assert (row.base, row.new, row.new_censored) == (50, None, True)
    assert (row.pairs, row.left_out["lost in NEW"]) == (19, 1)
    assert (row.high, row.high_censored, row.verdict) == (None, "above", "worse")


def test_without_numeric_packages(make_bundle: MakeBundle, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flips, debts and exact tests stay; what is left out is said, and nothing is guessed."""
    tasks = tasks_of(40, families=40)
    packets = packets_of(tasks)
    base = make_bundle("base", tasks, packets)
    for packet in packets[:30]:
        packet["selected_artifacts"] = []
    new = make_bundle("new", tasks, packets)
    monkeypatch.setattr("wayproof.compare.columns.has_numeric", lambda: False)
    monkeypatch.setattr("wayproof.compare.fitness.has_numeric", lambda: False)
    monkeypatch.setattr("wayproof.stats.paired.has_numeric", lambda: False)
    comparison = _compare(base, new)
    assert comparison.left_out[0].endswith(numeric.EXTRA)
    share, recall = _measure(comparison, "sufficient"), _measure(comparison, "recall")
    assert (share.p_method, share.low, share.verdict) == ("exact", None, "undecided")
    assert recall.p is None
    assert comparison.queues[0].new == 30


def test_ranked_measures_are_the_same_from_packets_and_bundle(make_bundle: MakeBundle) -> None:
    """The bundle keeps the packet's order: `score` and `compare` show one number."""
    tasks = tasks_of(8)
    packets = packets_of(tasks)
    packets[1]["selected_artifacts"] = ["q", "b1", "a1", "b1"]
    del packets[2]
    base = make_bundle("base", tasks, packets)
    names = ("RR", "nDCG@10", "R@2", "AP")
    means = {one.name: one for one in measure_means(base / "results.jsonl", names)}
    comparison = _compare(base, base, measures=names)
    for name in names:
        assert _measure(comparison, name).base == pytest.approx(means[name].mean, abs=1e-12)
    assert means["RR"].mean == pytest.approx((7 * 0.5) / 8)
    assert means["RR"].missing_packets == 1
    assert _measure(comparison, "RR").missing_base == 1


def test_topics_that_judge_nothing_relevant(make_bundle: MakeBundle) -> None:
    """Left out and counted; with all topics they count as 0, as trec_eval -c does."""
    tasks = [*tasks_of(7), {"task_id": "z", "scent_terms": ["x"]}]
    base = make_bundle("base", tasks, packets_of(tasks[:7]))
    results = base / "results.jsonl"
    (some,) = measure_means(results, ["RR"])
    (every,) = measure_means(results, ["RR"], all_topics=True)
    assert (some.tasks, some.left_out, some.mean) == (7, {"expects nothing": 1}, 0.5)
    assert (every.tasks, every.left_out, every.mean) == (8, {}, 3.5 / 8)


def test_damaged_and_odd_bundles_are_refused(make_bundle: MakeBundle, tmp_path: Path) -> None:
    """A changed file is an integrity failure; a summary alone can't be compared."""
    tasks = tasks_of(6)
    base = make_bundle("base", tasks, packets_of(tasks))
    brief = make_bundle("brief", tasks, packets_of(tasks), summary_only=True)
    with pytest.raises(InputError, match="holds no results"):
        _compare(base, brief)
    with pytest.raises(InputError, match="not a folder"):
        _compare(base, tmp_path / "nowhere")
    results = base / "results.jsonl"
    results.write_bytes(results.read_bytes().replace(b'"family":"f1"', b'"family":"f9"'))
    with pytest.raises(IntegrityError):
        _compare(base, base)


def test_same_bytes_for_the_same_bundles(make_bundle: MakeBundle) -> None:
    """Twice the same record, and any order of the packets' lines."""
    tasks = tasks_of(30)
    packets = packets_of(tasks)
    for packet in packets[::4]:
        packet["selected_artifacts"] = ["b4", "b8"]
    base = make_bundle("base", tasks, packets_of(tasks))
    new = make_bundle("new", tasks, packets)
    again = make_bundle("again", tasks, packets[::-1])
    first, second, third = (msgspec.json.encode(_compare(base, one)) for one in (new, new, again))
    assert first == second
    assert json.loads(first)["measures"] == json.loads(third)["measures"]


def test_compare_bundles_is_what_the_command_prints(
    make_bundle: MakeBundle, wayproof: RunWayproof
) -> None:
    """`--format json` and Python say the same."""
    tasks = tasks_of(12)
    packets = packets_of(tasks)
    base = make_bundle("base", tasks, packets)
    packets[1]["selected_artifacts"] = []
    new = make_bundle("new", tasks, packets)
    ran = wayproof("compare", base, new, "--format", "json")
    assert ran.status == 0
    assert json.loads(ran.out) == json.loads(msgspec.json.encode(compare_bundles(base, new)))


def test_numbers_of_the_real_rankers(shared_data: Path, tmp_path: Path) -> None:
    """RepoMap against lexical on 287 real tasks: the published difference and its interval."""
    from wayproof.fitness.score import ScoreRequest, score

    folder = shared_data / "agent-retrieval-bench"
    for name in ("lexical", "repomap"):
        packets = folder / f"packets-{name}.jsonl"
        score(ScoreRequest(tasks=folder / "tasks.jsonl", packets=packets), tmp_path / name)
    for cluster, low, high, p, worth in (
        ("task", 0.038, 0.152, 0.0066, 287),
        ("family", 0.024, 0.151, 0.040, 8.5),
    ):
        comparison = _compare(
            tmp_path / "lexical", tmp_path / "repomap", measures=("R@20",), cluster=cluster
        )
        row = _measure(comparison, "R@20")
        assert row.difference == pytest.approx(0.09547, abs=5e-6)
        assert (row.better, row.equal, row.worse) == (62, 193, 32)
        assert row.low == pytest.approx(low, abs=0.004)
        assert row.high == pytest.approx(high, abs=0.003)
        assert _measure(comparison, "sufficient").p == pytest.approx(p, rel=0.02)
        assert row.effective == pytest.approx(worth, abs=0.05)
        queue = comparison.queues[0]
        assert (queue.new, queue.paid, queue.carried) == (27, 52, 89)


def test_a_result_that_could_not_fail_pays_no_error(make_bundle: MakeBundle) -> None:
    """A task that expects nothing failed by its route's error; without one nothing was checked."""
    tasks = [{"task_id": "t000", "family": "f0"}, *tasks_of(8)[1:]]
    packets = [{"task_id": "t000", "error": "broken"}, *packets_of(tasks_of(8)[1:])]
    base = make_bundle("base", tasks, packets)
    del packets[0]["error"]
    comparison = _compare(base, make_bundle("new", tasks, packets))
    assert _changes(comparison, 0) == {"sufficiency:t000": "no_longer_measured"}
    (debt,) = comparison.queues[0].debts
    assert debt.reason == "the new result could not fail"


def test_debts_have_the_ids_of_their_bundle(make_bundle: MakeBundle) -> None:
    """Whatever looks like an attempt's number in a task's id."""
    names = ["a", "a#", "a#0", "a#01", "a#2", "a#x", "a#\u0663", "#2", "a#2#3", "b"]
    tasks = [{"task_id": name, "expected_artifacts": ["x"]} for name in names]
    packets: list[dict[str, Any]] = [{"task_id": name} for name in names]
    packets.append({"task_id": "b", "attempt": 2})
    base = make_bundle("base", tasks, packets)
    owed = [
        json.loads(line)["debt_id"] for line in (base / "debts.jsonl").read_bytes().splitlines()
    ]
    comparison = _compare(base, base)
    assert sorted(_changes(comparison, 0)) == sorted(owed)
    assert len(set(owed)) == len(packets)


@pytest.mark.parametrize("order", [(1, 0), (0, 0), (2, 1), (2, 2)])
def test_results_out_of_order_are_refused(make_bundle: MakeBundle, order: tuple[int, int]) -> None:
    """Two bundles are read side by side: a task or an attempt at the wrong place is no pair."""
    tasks = tasks_of(2)
    first, second = packets_of(tasks)
    packets = [first, {**second, "attempt": 1}, {**second, "attempt": 2}]
    base = make_bundle("base", tasks, packets)
    new = make_bundle("new", tasks, packets)
    lines = (new / "results.jsonl").read_bytes().splitlines(keepends=True)
    data = b"".join(lines[at] for at in order)
    (new / "results.jsonl").write_bytes(data)
    manifest = json.loads((new / "manifest.json").read_bytes())
    digest = hashlib.sha256(data).hexdigest()
    manifest["files"]["results.jsonl"] = {"bytes": len(data), "sha256": digest}
    (new / "manifest.json").write_bytes(canonical_bytes(manifest) + b"\n")
    with pytest.raises(InputError, match="results are not in order"):
        compare_bundles(base, new, CompareRequest(allow_different_suites=True))
