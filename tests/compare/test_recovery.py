"""Two bundles of verified recovery: the grids are the units."""

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import RunWayproof
from wayproof.bundles.writer import BundleWriter
from wayproof.canonical import canonical_bytes
from wayproof.compare import CompareRequest, compare_bundles
from wayproof.errors import InputError
from wayproof.evidence.comparison_records import RecoveryComparison
from wayproof.evidence.recovery_records import Action
from wayproof.gates.comparison import ComparisonGates, comparison_gates, parse_drop
from wayproof.recovery.agents.controls import CONTROL_SOURCES, Planner
from wayproof.recovery.agents.policy import Observation, client_agent
from wayproof.recovery.run import RunRequest, run_suite
from wayproof.recovery.suite import suite_path
from wayproof.stats.exact_tests import exact_sign_flip, mcnemar
from wayproof.stats.seeded import SplitMix64

GRIDS = 20


def _trial(policy: str, grid: int, scenario: int, *, verified: bool, **more: Any) -> dict[str, Any]:
    return {
        "agent_outcome": "ok",
        "completed": verified,
        "grid_id": f"g{grid:02}",
        "policy": policy,
        "policy_seed": 0,
        "scenario_id": f"g{grid:02}-s{scenario}",
        "suite_id": "made-up",
        "verified_recovery": verified,
        **more,
    }


def _bundle(folder: Path, trials: list[dict[str, Any]], suite: str = "one") -> Path:
    """Only what a comparison reads: nothing here was played."""
    with BundleWriter(folder, kind="recovery") as bundle:
        bundle.write("results.jsonl", b"".join(canonical_bytes(one) + b"\n" for one in trials))
        bundle.write("suite.jsonl", canonical_bytes(suite) + b"\n")
        bundle.write("summary.json", b"{}\n")
        bundle.write("traces.jsonl", b"")
        bundle.commit(inputs={}, settings={}, limits=[])
    return folder


def _policy(name: str, verified: int, *, lost: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    """Three scenarios on each grid; the first ``verified`` grids are wholly verified."""
    return [
        _trial(name, grid, scenario, verified=grid < verified and grid not in lost)
        for grid in range(GRIDS)
        for scenario in range(3)
    ]


def _compare(base: Path, new: Path, **options: Any) -> RecoveryComparison:
    found = compare_bundles(base, new, CompareRequest(**options))
    assert isinstance(found, RecoveryComparison)
    return found


def test_grids_are_flipped_whole(tmp_path: Path) -> None:
    """The exact sign-flip p of the grids' differences, and McNemar's over whole grids."""
    base = _bundle(tmp_path / "base", _policy("walker", 5, lost=(1,)))
    changed = _policy("walker", 12, lost=(2,))
    changed[0]["verified_recovery"] = False  # one cell of grid 0
    (row,) = _compare(base, _bundle(tmp_path / "new", changed)).policies
    moved = [-1, 3, -3, *[3] * 7]
    assert row.p == pytest.approx(float(exact_sign_flip(moved) or 0), rel=1e-5)
    assert row.mcnemar_p == pytest.approx(float(mcnemar(2, 8)), rel=1e-5)
    assert (row.gained_grids, row.lost_grids, row.better_grids, row.worse_grids) == (8, 2, 8, 2)
    assert row.difference == pytest.approx(sum(moved) / 60)
    assert row.low is not None
    assert row.high is not None
    assert row.low <= row.difference <= row.high
    assert len(row.discordant) == 1 + 3 + 3 + 21


def test_one_policy_each_is_paired_whatever_the_names(tmp_path: Path) -> None:
    """Two agents on one suite; outcomes other than ok are shown beside."""
    base = _bundle(tmp_path / "base", _policy("mine-1", 3))
    changed = _policy("mine-2", 19)
    changed[-1]["agent_outcome"] = "crashed"
    (row,) = _compare(base, _bundle(tmp_path / "new", changed)).policies
    assert (row.base_policy, row.new_policy, row.verdict) == ("mine-1", "mine-2", "better")
    assert row.new_outcomes == {"crashed": 1, "ok": 59}


def test_other_suites_and_other_trials_are_refused(tmp_path: Path) -> None:
    """By name; when asked, what both have is compared and the rest listed."""
    base = _bundle(tmp_path / "base", _policy("walker", 5))
    other = _bundle(tmp_path / "other", _policy("walker", 5), suite="two")
    short = _bundle(tmp_path / "short", _policy("walker", 5)[:-1])
    with pytest.raises(InputError, match="different suites"):
        _compare(base, other)
    with pytest.raises(InputError, match="1 trials only in base"):
        _compare(base, short)
    found = _compare(base, short, allow_different_suites=True)
    assert found.only_base == ["walker/g19-s2/0"]
    assert found.policies[0].cells == 59
    assert not _compare(base, other, allow_different_suites=True).same_suite


def test_the_controls_of_the_shipped_suite(tmp_path: Path, wayproof: RunWayproof) -> None:
    """A run against itself: no trial changed, three policies, and gates pass."""
    run = tmp_path / "run"
    assert wayproof("recovery", "run", "--out", run).status == 0
    ran = wayproof("compare", run, run, "--max-drop", "verified=0")
    assert ran.status == 0
    assert ran.out.count("no task changed (no trial changed)") == 3
    assert ran.out.count("gate pass: max-drop verified") == 3
    document = json.loads(wayproof("compare", run, run, "--format", "json").out)
    assert document == json.loads(msgspec.json.encode(compare_bundles(run, run)))


class _Steady:
    """Plans; in its newer version it gets lost after a collision, or asks for the impossible."""

    name = "steady"

    def __init__(self, stream: SplitMix64, loses: str = "") -> None:
        self._planner, self._loses = Planner(stream), loses

    def propose(self, observation: Observation) -> Action:
        if observation.rejection == self._loses == "collision":
            raise RuntimeError("lost")
        if observation.rejection == self._loses:
            return observation.rejected_action
        return self._planner.propose(observation)


def _played(folder: Path, suite: str, name: str, loses: str = "") -> Path:
    agent = client_agent(name, lambda stream: _Steady(stream, loses))
    run_suite(RunRequest(suite_path(suite), policies=(agent,), policy_seeds=(0,)), folder)
    return folder


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Bundles that were really run: two versions of a client agent, another, a control."""
    folder = tmp_path_factory.mktemp("played")
    control = RunRequest(
        suite_path("wfrb-v0"), policies=(CONTROL_SOURCES["planner"],), policy_seeds=(0,)
    )
    run_suite(control, folder / "planner")
    return {
        "old": _played(folder / "old", "wfrb-v0", "steady"),
        "new": _played(folder / "new", "wfrb-v0", "steady", "collision"),
        "other": _played(folder / "other", "wfrb-v0", "other", "invalid_path"),
        "planner": folder / "planner",
        "sample": _played(folder / "sample", "explorer-sample", "steady"),
    }


def test_two_versions_of_a_client_agent(played: dict[str, Path], wayproof: RunWayproof) -> None:
    """Crashed trials stand in the denominator, and how the agent ended stands beside."""
    (row,) = _compare(played["old"], played["new"]).policies
    assert (row.base_policy, row.new_policy, row.verdict) == ("steady", "steady", "worse")
    assert (row.cells, row.grids, row.worse_grids, row.lost_grids) == (150, 50, 50, 50)
    assert (row.base_verified, row.new_verified, row.new_completed) == (150, 100, 100)
    assert row.difference == pytest.approx(-1 / 3, abs=1e-6)
    # All 50 grids moved the same way: one of 2^50 assignments of signs, on either side.
    assert row.p == pytest.approx(2 / 2**50, rel=1e-5)
    assert row.mcnemar_p == pytest.approx(2 / 2**50, rel=1e-5)
    assert (row.base_outcomes, row.new_outcomes) == ({"ok": 150}, {"crashed": 50, "ok": 100})
    assert len(row.discordant) == 50
    assert {one.new_outcome for one in row.discordant} == {"crashed"}
    assert {one.scenario_id.rpartition("-")[2] for one in row.discordant} == {"collision"}
    ran = wayproof("compare", played["old"], played["new"], "--max-drop", "verified=0")
    assert ran.status == 1
    assert "new: agents ended 50 crashed" in ran.out
    assert wayproof("compare", played["old"], played["old"], "--max-drop", "verified=0").status == 0


def test_a_client_agent_against_a_control_and_another(played: dict[str, Path]) -> None:
    """One policy a side is paired whatever its name and class; several are paired by name."""
    (row,) = _compare(played["planner"], played["old"]).policies
    assert (row.base_policy, row.new_policy) == ("planner", "steady")
    assert (row.verdict, row.discordant, row.p) == ("no_task_changed", [], 1.0)
    (row,) = _compare(played["new"], played["other"]).policies
    assert (row.base_outcomes, row.new_outcomes) == ({"crashed": 50, "ok": 100}, {"ok": 150})
    assert (row.equal_grids, row.difference, len(row.discordant)) == (50, 0.0, 100)
    assert row.verdict == "undecided"


def test_client_agents_on_different_suites_are_refused(
    played: dict[str, Path], wayproof: RunWayproof
) -> None:
    """Status 2, with both digests; other grids have nothing to compare when asked either."""
    ran = wayproof("compare", played["old"], played["sample"])
    assert (ran.status, ran.out) == (2, "")
    assert "different suites" in ran.err
    found = _compare(played["old"], played["sample"], allow_different_suites=True)
    assert not found.same_suite
    assert found.policies[0].verdict == "unmeasured"
    assert (len(found.only_base), len(found.only_new)) == (150, 36)


def test_an_edited_client_bundle_is_not_compared(
    played: dict[str, Path], tmp_path: Path, wayproof: RunWayproof
) -> None:
    """Status 3: digests are checked before anything is read."""
    edited = tmp_path / "edited"
    shutil.copytree(played["new"], edited)
    results = edited / "results.jsonl"
    results.write_bytes(results.read_bytes().replace(b'"crashed"', b'"ok"', 1))
    ran = wayproof("compare", played["old"], edited)
    assert (ran.status, ran.out) == (3, "")
    assert "results.jsonl" in ran.err


def test_kinds_are_not_mixed(tmp_path: Path, wayproof: RunWayproof) -> None:
    """Debts and trends belong to navigation fitness."""
    base = _bundle(tmp_path / "base", _policy("walker", 5))
    assert wayproof("compare", base, base, base).status == 2
    ran = wayproof("compare", base, base, "--fail-on", "new-latency-debt")
    assert (ran.status, ran.out) == (2, "")
    ran = wayproof("compare", base, base, "--min-sufficient", "50%", "--must-pass", "t*")
    assert (ran.status, ran.out) == (2, "")
    assert "--min-sufficient, --must-pass: gates of navigation fitness" in ran.err
    assert "--no-config" in ran.err


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [
        (-0.1, 0.1, "pass"),
        (-0.1001, 0.1, "undecided"),
        (-0.3, -0.1, "undecided"),
        (-0.3, -0.1001, "fail"),
        (None, None, "undecided"),
    ],
)
def test_a_bound_on_verified_has_three_states(
    tmp_path: Path, low: float | None, high: float | None, state: str
) -> None:
    """Wholly within passes, wholly beyond fails; at the bound itself it is within."""
    base = _bundle(tmp_path / "base", _policy("walker", 5))
    found = _compare(base, _bundle(tmp_path / "new", _policy("walker", 4)))
    policies = [msgspec.structs.replace(one, low=low, high=high) for one in found.policies]
    gates = ComparisonGates(max_drop=(parse_drop("verified=0.1"),))
    lines = comparison_gates(msgspec.structs.replace(found, policies=policies), gates)
    assert [line.state for line in lines] == [state]
