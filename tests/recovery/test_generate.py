"""The generator: the same bytes everywhere, and what it was calibrated to."""

import hashlib
import os
import subprocess
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from recovery.material import shipped_grids
from wayproof.cli import main
from wayproof.evidence.recovery_records import FINISH, Action, ScenarioRecord
from wayproof.recovery.calibrate import (
    expected_counts,
    in_published_regime,
    walk_probabilities,
)
from wayproof.recovery.generate import RECIPES, Parameters, Recipe, generate_grid, suite_lines
from wayproof.recovery.suite import (
    EXPECTED_RANDOM_WALK,
    PINNED_SUITES,
    SuiteReader,
    suite_path,
)
from wayproof.recovery.tracks.v0 import LoadedGrid, failure_state, load_grid
from wayproof.recovery.world import State, step


@pytest.mark.parametrize(
    ("variables", "arguments"),
    [
        ({"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"}, []),
        ({"PYTHONHASHSEED": "4711", "LC_ALL": "C.UTF-8", "TZ": "Asia/Kathmandu"}, []),
        ({"PYTHONHASHSEED": "1", "PYTHONUTF8": "0", "LANG": "tr_TR"}, ["--processes", "3"]),
        ({"PYTHONOPTIMIZE": "2"}, ["--processes", "2"]),
    ],
)
@pytest.mark.parametrize("suite", sorted(PINNED_SUITES))
def test_the_shipped_bytes_come_out_again(
    suite: str, variables: dict[str, str], arguments: list[str], tmp_path: Path
) -> None:
    """Whatever the hash seed, process count, locale and time zone."""
    out = tmp_path / "suite.jsonl"
    command = [sys.executable, "-m", "wayproof", "recovery", "generate", "--suite", suite]
    done = subprocess.run(
        [*command, "--out", str(out), *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.read_bytes() == suite_path(suite).read_bytes()
    assert f"SHA-256 {PINNED_SUITES[suite]}" in done.stdout
    assert "(official)" in done.stdout


def test_grid_seven_of_fifty_is_grid_seven_of_many() -> None:
    """Every grid has its own stream: neither order nor number matters."""
    few = Recipe("s", 3, Parameters(grids=50))
    many = Recipe("s", 3, Parameters(grids=400))
    assert generate_grid(few, 7) == generate_grid(many, 7)


def test_a_large_suite_is_streamed_and_valid(tmp_path: Path) -> None:
    """Any size; ids rise; every line certifies; another id than the official one."""
    out = tmp_path / "suite.jsonl"
    assert main(["recovery", "generate", "--grids", "1200", "--out", str(out)]) == 0
    with SuiteReader(out) as reader:
        assert reader.header.suite_id.startswith("custom-")
        assert sum(1 for _ in reader.grids()) == 1200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--grids", "0"], "grids: parameter out of range; expected 1 … 10000000; found 0"),
        (["--seed", "-1"], "--seed: generator seed out of range"),
        (["--seed", str(2**53)], "--seed: generator seed out of range"),
        (["--side-min", "2"], "side_min: parameter out of range; expected 3 … 256"),
        (["--side-max", "5"], "side_max: parameter out of range; expected 6 … 256"),
        (["--cost-max", "10"], "cost_max: parameter out of range; expected 1 … 9"),
        (["--budget-factor", "0"], "budget_factor: parameter out of range"),
        (["--blocked-percent", "61"], "blocked_percent: parameter out of range"),
        (["--suite", "other"], "--suite: no such recipe; expected wfrb-v0, explorer-sample"),
        (["--id", "wfrb-v0", "--seed", "9"], "--id: not an id for a custom suite"),
        (["--id", "a b"], "--id: not an id for a custom suite"),
        (["--processes", "0"], "--processes: can't run in that many processes"),
        (
            ["--side-min", "3", "--side-max", "3", "--remaining-min-moves", "20"],
            "no grid fits the parameters in",
        ),
        (["--budget-factor", "1"], "scenarios[0].budget: breaks the rule budget_suffices"),
        (
            [
                *[
                    "--side-min",
                    "3",
                    "--side-max",
                    "3",
                    "--cost-max",
                    "1",
                    "--remaining-min-moves",
                    "1",
                ],
                "--grids",
                "500",
                "--prefix-min-moves",
                "0",
            ],
            "grid 22: breaks the rule grids_differ; expected that no two grids",
        ),
    ],
)
def test_bad_parameters_are_refused(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, the parameter named, no file left behind."""
    assert main(["recovery", "generate", *arguments, "--out", str(tmp_path / "s")]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --overwrite nothing is replaced."""
    out = tmp_path / "s"
    out.write_text("mine")
    assert main(["recovery", "generate", "--grids", "2", "--out", str(out)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert main(["recovery", "generate", "--grids", "2", "--overwrite", "--out", str(out)]) == 0
    assert out.read_bytes().count(b"\n") == 3


@pytest.mark.parametrize("where", ["missing/s", "."])
def test_a_place_that_cannot_be_written_is_refused(
    where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing folder, or a folder itself: one line, status 2."""
    assert main(["recovery", "generate", "--overwrite", "--out", str(tmp_path / where)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def brute_force(loaded: LoadedGrid, scenario: ScenarioRecord) -> tuple[Fraction, Fraction]:
    """Every sequence of draws, walked through the world itself."""
    completed = verified = 0
    draws = scenario.budget - 1
    optimum = loaded.record.potentials[loaded.record.start[0]][loaded.record.start[1]]
    for turns in product(((-1, 0), (0, -1), (0, 1), (1, 0)), repeat=draws):
        state: State = failure_state(loaded.record, scenario)
        for row_step, column_step in turns:
            if state.position == loaded.grid.target:
                break
            row, column = state.position
            action = Action(move=(row + row_step, column + column_step))
            state = step(loaded.grid, state, action).state
        if step(loaded.grid, state, FINISH).accepted:
            completed += 1
            verified += state.spent == optimum
    return Fraction(completed, 4**draws), Fraction(verified, 4**draws)


@pytest.mark.parametrize("seed", range(4))
def test_the_expectation_is_exact(seed: int) -> None:
    """Dynamic programming gives what counting every sequence of draws gives."""
    parameters = Parameters(
        side_min=3,
        side_max=4,
        blocked_percent=20,
        remaining_min_moves=2,
        budget_factor=3,
        prefix_min_moves=0,
    )
    checked = 0
    for number in range(40):
        loaded = load_grid(generate_grid(Recipe("s", seed, parameters), number))
        for scenario in loaded.record.scenarios:
            if scenario.budget <= 7:
                assert walk_probabilities(loaded.record, scenario) == brute_force(loaded, scenario)
                checked += 1
                if checked == 3:
                    return
    pytest.fail("no scenario was small enough to count")


def test_the_frozen_suite_is_the_first_seed_in_the_published_regime() -> None:
    """Seed 0 lies in 17 to 37 and 2 to 8, so the search from 0 up ends there."""
    recipe = RECIPES["wfrb-v0"]
    assert (recipe.seed, recipe.parameters) == (0, Parameters())
    expected = expected_counts(grid.record for grid in shipped_grids("wfrb-v0"))
    assert in_published_regime(expected)
    assert round(float(expected.completed), 4) == 29.0943
    assert round(float(expected.verified), 4) == 3.2376


@pytest.mark.parametrize("suite", sorted(PINNED_SUITES))
def test_the_stated_expectations_are_made_again(suite: str) -> None:
    """What a run prints beside the random walk is the exact expectation."""
    expected = expected_counts((grid.record for grid in shipped_grids(suite)), policy_seeds=1)
    assert EXPECTED_RANDOM_WALK[suite] == (
        round(float(expected.completed), 6),
        round(float(expected.verified), 6),
    )


def test_the_lines_are_the_digest() -> None:
    """The library gives the bytes that the command writes."""
    for suite, recipe in RECIPES.items():
        digest = hashlib.sha256(b"".join(suite_lines(recipe))).hexdigest()
        assert digest == PINNED_SUITES[suite]
