"""Runs: the reference experiment, the same bytes every time, and what is left of a killed one."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayproof.bundles.manifest import digest_file, read_manifest
from wayproof.canonical import canonical_bytes
from wayproof.cli import main
from wayproof.errors import InputError
from wayproof.evidence.recovery_names import LIMITS
from wayproof.evidence.recovery_records import FINISH, Action, Result
from wayproof.recovery.agents.controls import CONTROL_SOURCES, controls_named
from wayproof.recovery.agents.policy import (
    Observation,
    PolicyFailedError,
    PolicySource,
    client_agent,
)
from wayproof.recovery.run import RunRequest, run_suite
from wayproof.recovery.suite import (
    REFERENCE_RESULTS_SHA256,
    SuiteReader,
    suite_path,
)
from wayproof.recovery.summary import Summary, Tally, summarize
from wayproof.recovery.tracks.v0 import LoadedGrid, verdict_on
from wayproof.recovery.trial import run_trial
from wayproof.stats.seeded import SplitMix64

EVIDENCE = ("results.jsonl", "suite.jsonl", "summary.json", "traces.jsonl")
RUN = [sys.executable, "-m", "wayproof", "recovery", "run"]


def evidence(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in EVIDENCE}


def results(folder: Path) -> list[Result]:
    lines = (folder / "results.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Result) for line in lines]


# -- the reference experiment ---------------------------------------------------------


def test_the_reference_result_is_the_published_digest(official_bundle: Path) -> None:
    """The digest of the README: wfrb-v0, three controls, seeds 0 and 1."""
    published = "8520390d377dc63065e24930e370e0b0c914302e766c86edb3e3a095e3fee7b1"
    assert digest_file(official_bundle / "results.jsonl").sha256 == published
    assert published == REFERENCE_RESULTS_SHA256


def test_the_controls_do_what_validates_the_bench(official_bundle: Path) -> None:
    """Planner 300 of 300 verified, blind repeat none complete, random walk as drawn."""
    summary = msgspec.json.decode((official_bundle / "summary.json").read_bytes(), type=Summary)
    counts = {
        row.policy: (row.total.cells, row.total.completed, row.total.verified)
        for row in summary.policies
    }
    assert counts == {
        "blind-repeat": (300, 0, 0),
        "planner": (300, 300, 300),
        "random-walk": (300, 33, 1),
    }
    assert (summary.grids, summary.scenarios, summary.trials) == (50, 150, 900)


def test_a_result_says_only_what_its_trace_shows(official_bundle: Path) -> None:
    """Completion and verified recovery, excess cost and budget hang together in all 900."""
    for result in results(official_bundle):
        assert result.proposals <= result.budget
        assert result.proposals == (
            result.accepted_moves + result.rejected_proposals + result.completed
        )
        assert result.rejection == result.failure_kind
        assert (result.excess_cost is None) is not result.completed
        assert result.verified_recovery is (result.completed and result.excess_cost == 0)
        if result.policy == "blind-repeat":
            assert result.repeated_rejected_action == result.proposals == result.budget
            assert result.first_accepted_proposal is None
        if result.policy == "planner":
            assert result.first_accepted_proposal == 0


def test_results_are_sorted_and_canonical(official_bundle: Path) -> None:
    """By policy, scenario, seed; every line its own RFC 8785 bytes."""
    found = results(official_bundle)
    keys = [(result.policy, result.scenario_id, result.policy_seed) for result in found]
    assert keys == sorted(set(keys))
    for name in EVIDENCE:
        for line in (official_bundle / name).read_bytes().splitlines()[::37]:
            assert canonical_bytes(json.loads(line)) == line


def test_the_limits_travel(official_bundle: Path) -> None:
    """In manifest and summary, whole."""
    summary = json.loads((official_bundle / "summary.json").read_bytes())
    assert summary["limits"] == list(LIMITS) == read_manifest(official_bundle).limits


# -- the same bytes -------------------------------------------------------------------


@pytest.mark.parametrize("processes", [2, 3])
def test_any_number_of_processes_gives_the_same_bytes(
    processes: int, official_bundle: Path, tmp_path: Path
) -> None:
    """Blocks are made side by side and written in order."""
    out = tmp_path / "out"
    run_suite(RunRequest(suite_path("wfrb-v0"), processes=processes), out)
    assert evidence(out) == evidence(official_bundle)


def test_the_order_of_the_arguments_does_not_matter(official_bundle: Path, tmp_path: Path) -> None:
    """Policies and seeds are sets; streams are keyed by ids."""
    request = RunRequest(
        suite_path("wfrb-v0"),
        policies=controls_named(("random-walk", "planner", "blind-repeat")),
        policy_seeds=(1, 0),
    )
    run_suite(request, tmp_path / "out")
    assert evidence(tmp_path / "out") == evidence(official_bundle)


def test_a_part_of_a_run_has_the_same_trials(official_bundle: Path, tmp_path: Path) -> None:
    """One policy and one seed alone give the very lines of the whole run."""
    request = RunRequest(
        suite_path("wfrb-v0"), policies=controls_named(("random-walk",)), policy_seeds=(1,)
    )
    run_suite(request, tmp_path / "out")
    whole = (official_bundle / "traces.jsonl").read_bytes().splitlines()
    part = (tmp_path / "out" / "traces.jsonl").read_bytes().splitlines()
    assert len(part) == 150
    assert set(part) < set(whole)


def test_reproduce_compares_two_fresh_processes(capsys: pytest.CaptureFixture[str]) -> None:
    """Both digests are printed, they are equal, and equal to the published one."""
    assert main(["recovery", "reproduce"]) == 0
    printed = capsys.readouterr().out
    assert printed.count(REFERENCE_RESULTS_SHA256) == 2
    assert "byte-identical" in printed
    assert "published" in printed


def test_reproduce_tells_a_difference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One different byte is status 3, naming the file."""
    from wayproof.recovery import reproduce

    honest = reproduce.invoke

    def tampered(number: int, out: Path, arguments: list[str]) -> reproduce.Invocation:
        made = honest(number, out, arguments)
        if number == 1:
            with (out / "traces.jsonl").open("ab") as file:
                file.write(b"\n")
        return made

    monkeypatch.setattr(reproduce, "invoke", tampered)
    assert main(["recovery", "reproduce", "--policy", "planner"]) == 3
    assert "traces.jsonl: two invocations differ" in capsys.readouterr().err


@settings(max_examples=25)
@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_shuffled_results_give_the_same_summary(
    official_bundle: Path, draw: random.Random, parts: int
) -> None:
    """The summary is a fold: neither order nor grouping of the results matters."""
    found = results(official_bundle)[::9]
    whole = summarize(found, "0" * 64)
    draw.shuffle(found)
    tally = Tally()
    for part in range(parts):
        share = Tally()
        for result in found[part::parts]:
            share.add(result)
        tally.merge(share)
    assert tally.summary("0" * 64) == whole


# -- policies -------------------------------------------------------------------------


def test_an_observation_holds_no_secret(worked: LoadedGrid) -> None:
    """Neither optimum nor potentials nor reference path; only what the contract lists."""
    assert Observation.__struct_fields__ == (
        "grid",
        "position",
        "spent",
        "rejected_action",
        "rejection",
        "proposals_left",
    )
    assert set(worked.grid.__struct_fields__) == {
        "rows",
        "height",
        "width",
        "stride",
        "costs",
        "start",
        "target",
    }


class _Scripted:
    """An outside policy that does what its name says."""

    def __init__(self, name: str) -> None:
        self.name = name

    def propose(self, observation: Observation) -> Action:
        if self.name == "raises":
            raise RuntimeError(observation.rejection)
        if self.name == "times-out":
            raise PolicyFailedError("timed_out")
        odd: object = {
            "says-nothing": None,
            "says-text": "up",
            "says-floats": Action(move=(1.0, 2.0)),  # type: ignore[arg-type]
            "says-list": Action(move=[1, 2]),  # type: ignore[arg-type]
            "says-true": Action(move=(True, 0)),
            "says-huge": Action(move=(2**53, 0)),
        }[self.name]
        return odd  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("raises", "crashed"),
        ("times-out", "timed_out"),
        ("says-nothing", "malformed"),
        ("says-text", "malformed"),
        ("says-floats", "malformed"),
        ("says-list", "malformed"),
        ("says-true", "malformed"),
        ("says-huge", "malformed"),
    ],
)
def test_an_outside_policy_that_fails_ends_its_trial_alone(
    worked: LoadedGrid, name: str, outcome: str
) -> None:
    """Its failure is an outcome of its own; the trace so far stands and is judged."""
    source = client_agent(name, lambda _: _Scripted(name))
    case = worked.cases()[0]
    trace, found, log = run_trial("worked", case, source, 0)
    assert found == outcome
    assert (outcome == "timed_out") is not bool(log)
    assert [step.phase for step in trace.steps] == ["prefix", "injected"]
    verdict = verdict_on(case, trace)
    assert verdict.failure is not None
    assert verdict.failure.check == "finished_at_target"


def test_a_fault_in_a_control_is_not_hidden(worked: LoadedGrid) -> None:
    """A control that raises is a fault of the bench."""
    source = PolicySource("raises", "reference_control", lambda _: _Scripted("raises"), "raises")
    with pytest.raises(RuntimeError, match="collision"):
        run_trial("worked", worked.cases()[0], source, 0)


def test_a_policy_sees_the_latest_rejection(worked: LoadedGrid) -> None:
    """The injected one first, then its own."""
    seen = []

    class Watcher:
        name = "watcher"

        def propose(self, observation: Observation) -> Action:
            seen.append((observation.rejected_action, observation.rejection))
            assert observation.target == (1, 3)
            return FINISH

    source = client_agent("watcher", lambda _: Watcher())
    run_trial("worked", worked.cases()[0], source, 0)
    assert seen[0] == (Action.to(1, 1), "collision")
    assert set(seen[1:]) == {(FINISH, "premature_end")}
    assert len(seen) == 28


def test_the_random_walk_draws_four_moves_and_asks_to_finish(worked: LoadedGrid) -> None:
    """Draws 0 to 3 are up, left, right, down; off-grid moves are proposed too."""
    draws = SplitMix64(99)
    walk = CONTROL_SOURCES["random-walk"].make(99)
    at = Observation(worked.grid, (0, 0), 0, FINISH, "premature_end", 9)
    for _ in range(40):
        up, left, right, down = (-1, 0), (0, -1), (0, 1), (1, 0)
        assert walk.propose(at).move == (up, left, right, down)[draws.below(4)]
    there = Observation(worked.grid, (1, 3), 8, FINISH, "premature_end", 9)
    assert walk.propose(there) == FINISH


# -- bad arguments --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "genius"], "--policy: unknown policy; expected blind-repeat, planner, rand"),
        (["--policy", "planner", "--policy", "planner"], "--policy: named twice"),
        (["--seeds", "0,0"], "--seeds: named twice"),
        (["--seeds", ""], "--seeds: not a list of seeds"),
        (["--seeds", "1.5"], "--seeds: not a list of seeds"),
        (["--seeds=-1"], "--seeds: not a list of seeds"),
        (["--seeds", "3-1"], "--seeds: nothing named"),
        (["--seeds", str(2**53)], "--seeds: policy seed out of range"),
        (["--seeds", "0-999999"], "--seeds: too many seeds"),
        (["--seeds", "9" * 50], "--seeds: too many seeds, or too large"),
        (["--seeds", "\u0661"], "--seeds: not a list of seeds"),
        (["--processes", "0"], "--processes: can't run in that many processes"),
        (["--processes", "65"], "--processes: can't run in that many processes"),
    ],
)
def test_bad_arguments_are_refused(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, the argument named, nothing written."""
    assert main(["recovery", "run", *arguments, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_refused_and_kept(official_bundle: Path, tmp_path: Path) -> None:
    """Without overwrite the old result stays as it was."""
    out = tmp_path / "out"
    shutil.copytree(official_bundle, out)
    before = (out / "manifest.json").read_bytes()
    request = RunRequest(suite_path("explorer-sample"))
    with pytest.raises(InputError, match="already exists"):
        run_suite(request, out)
    assert (out / "manifest.json").read_bytes() == before
    report = run_suite(request, out, overwrite=True)
    assert read_manifest(out).files["results.jsonl"] == report.results
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


# -- killed ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_killed_run_leaves_nothing_that_looks_like_a_result(
    processes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SIGKILL at any moment: nothing that verify accepts, unless whole; the next run works."""
    out = tmp_path / "out"
    draw = random.Random(processes)
    command = [*RUN, "--seeds", "0-5", "--processes", processes, "--out", str(out)]
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    whole_s = time.monotonic() - started
    whole = evidence(out)
    killed = 0
    for _ in range(60):
        if killed == 6:
            break
        shutil.rmtree(out, ignore_errors=True)
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(draw.uniform(0.05, 1.0) * whole_s)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        killed += not out.exists()
        for left in tmp_path.iterdir():
            status = main(["verify", str(left)])
            assert status == (0 if left == out else 2), left
            capsys.readouterr()
        if out.exists():
            assert evidence(out) == whole
    assert killed == 6
    time.sleep(1.5)  # orphaned workers notice within half a second
    subprocess.run([*command, "--overwrite"], check=True, stdout=subprocess.DEVNULL)
    assert evidence(out) == whole
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_all_suites_of_the_package_run(tmp_path: Path) -> None:
    """The Explorer's sample is a suite like any other, with a pin of its own."""
    report = run_suite(RunRequest(suite_path("explorer-sample")), tmp_path / "out")
    assert report.official
    assert report.summary.published == ()
    with SuiteReader(tmp_path / "out" / "suite.jsonl") as reader:
        assert reader.header.suite_id == "explorer-sample"
