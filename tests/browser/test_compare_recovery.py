"""The compare page of recovery bundles: which trials ended otherwise, and both on two boards."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from playwright.sync_api import expect
from tools import samples

from wayproof.cli import main
from wayproof.compare import compare_bundles

if TYPE_CHECKING:
    from playwright.sync_api import Page

Visit = Callable[..., "Page"]


@pytest.fixture(scope="module")
def record(walkers: tuple[Path, Path]) -> dict[str, Any]:
    found = json.loads(msgspec.json.encode(compare_bundles(*walkers)))
    policy: dict[str, Any] = found["policies"][0]
    return policy


def results(bundle: Path) -> dict[tuple[str, int], dict[str, Any]]:
    rows = map(json.loads, (bundle / "results.jsonl").read_text("utf-8").splitlines())
    return {(row["scenario_id"], row["policy_seed"]): row for row in rows}


def step_count(bundle: Path, scenario: str, seed: int) -> int:
    rows = map(json.loads, (bundle / "traces.jsonl").read_text("utf-8").splitlines())
    found = next(
        row for row in rows if (row["scenario_id"], row["policy_seed"]) == (scenario, seed)
    )
    return len(found["steps"])


def test_counts_are_those_of_the_comparison(
    walker_report: Path, walkers: tuple[Path, Path], record: dict[str, Any], visit: Visit
) -> None:
    """Verified before → after, gained and lost, and the same by failure kind; the interval too."""
    page = visit(walker_report)
    gained = sum(not each["base_verified"] for each in record["discordant"])
    lost = len(record["discordant"]) - gained
    said = " ".join(page.inner_text(".queue-change").split())
    assert f"{record['base_verified']} → {record['new_verified']} / {record['cells']}" in said
    assert f"+{gained} newly verified" in said
    assert f"−{lost} no longer verified" in said
    assert f"{record['base_completed']} → {record['new_completed']} / {record['cells']}" in said
    assert f"{record['base_outcomes']['crashed']} crashed" in said
    row = page.inner_text("#differences tbody tr")
    assert f"[{record['low']:.4f}, {record['high']:.4f}]" in row
    assert record["verdict"] in row
    before, after = map(results, walkers)
    for at, kind in enumerate(("collision", "invalid_path", "premature_end")):
        cells = page.locator("#kinds tbody tr").nth(at).locator("td").all_inner_texts()
        here = [key for key, each in before.items() if each["failure_kind"] == kind]
        verified = [sum(side[key]["verified_recovery"] for key in here) for side in (before, after)]
        assert cells[1] == str(len(here))
        assert cells[3] == f"{verified[0]} → {verified[1]}"
        gains = [int(cell.strip("+−")) for cell in cells[4:6]]
        assert gains[0] - gains[1] == verified[1] - verified[0]


def test_a_click_path_leads_from_a_count_to_two_boards(
    walker_report: Path, walkers: tuple[Path, Path], record: dict[str, Any], visit: Visit
) -> None:
    """−n → its trials → one trial → two boards that one scrubber moves, each to its verdict."""
    page = visit(walker_report)
    lost = [each for each in record["discordant"] if each["base_verified"]]
    page.locator(".queue-change a").nth(1).click()
    expect(page.locator("#queue-count")).to_contain_text(f"Shown: {len(lost)}.")
    page.locator(".list-body .task").nth(1).click()
    scenario = page.inner_text("#trial-name")
    assert scenario in {each["scenario_id"] for each in lost}
    seed = int(page.inner_text("#base-name").rpartition("/")[2])
    lengths = [step_count(bundle, scenario, seed) for bundle in walkers]
    assert page.get_attribute("#scrub", "max") == str(max(lengths))
    page.click("#jump-forward")
    assert page.inner_text("#moment").startswith("Step 0,")
    assert page.inner_text("#other-moment").startswith("Step 0,")
    page.click("#jump-last")
    for at, ledger in enumerate(("#ledger", "#other-ledger")):
        assert page.locator(f"{ledger} tbody tr").count() == lengths[at]
    marks = [
        page.get_attribute(f'#{place} [data-verdict="verified"]', "data-value")
        for place in ("verdict", "other-verdict")
    ]
    assert marks == ["true", "false"]


def test_a_link_shows_the_same_pair_and_step(walker_report: Path, visit: Visit) -> None:
    """By ids; a reload and Back work, filters included."""
    page = visit(walker_report, query="#kind=collision&change=gained")
    expect(page.locator("#queue-count")).to_contain_text("Shown: ")
    page.locator(".list-body .task").nth(2).click()
    name = page.inner_text("#base-name")
    page.click("#jump-forward")
    page.click("#jump-forward")
    expect(page).to_have_url(re.compile("step=1"))
    other = visit(walker_report, query=page.evaluate("location.hash"))
    assert other.inner_text("#base-name") == name
    assert other.input_value("#scrub") == "2"
    kinds = set(other.locator(".list-body .list-row > :nth-child(4)").all_inner_texts())
    assert kinds == {"Collision"}
    page.locator(".list-body .task").nth(0).click()
    page.go_back()
    expect(page.locator("#base-name")).to_have_text(name)
    page.click('[data-take="command.new"]')
    assert page.input_value("#trial-take") == f"wayproof recovery replay walker-2 --trial {name}"


def test_without_scripts_the_changes_are_there(
    walker_report: Path, record: dict[str, Any], still: "Callable[[Path], Page]"
) -> None:
    """Every count and every discordant trial, as far as 200, and a word on what needs scripts."""
    page = still(walker_report)
    shown = page.locator("#discordant .no-script tbody th").all_inner_texts()
    assert {each["scenario_id"] for each in record["discordant"]} <= set(shown)
    assert "Scripts are blocked or off here." in page.inner_text("main")
    assert not page.is_visible("#stage")


def test_one_bundle_beside_itself(walkers: tuple[Path, Path], tmp_path: Path, visit: Visit) -> None:
    """No trial changed: no board, no empty scrubber, and a verdict that says so."""
    bundle = str(walkers[0])
    assert main(["report", "--compare", bundle, bundle, "--out", str(tmp_path / "x.html")]) == 0
    page = visit(tmp_path / "x.html")
    assert "no trial changed" in page.inner_text("#policies")
    assert not page.is_visible("#trial")
    assert page.inner_text(".list-body").strip() == "No trial fits these filters."
    heading = page.inner_text("h1")
    assert "walker-1 (1)" in heading
    assert "walker-1 (2)" in heading


def test_two_suites_keep_their_own_grids(tmp_path: Path, visit: Visit) -> None:
    """A grid of one name may be another grid on the other side: each board draws its own."""
    sides = []
    for seed in (4, 5):
        folder = tmp_path / str(seed)
        folder.mkdir()
        suite = folder / "suite.jsonl"
        generate = ["recovery", "generate", "--suite", "wfrb-v0", "--grids", "9", "--id", "mine"]
        sizes = ["--seed", str(seed), "--side-max", "6"]
        assert main([*generate, *sizes, "--out", str(suite)]) == 0
        sides.append(samples.walker_bundles(folder, suite)[seed % 2])
    out = tmp_path / "page.html"
    arguments = ["--report", str(out), *map(str, sides)]
    assert main(["compare", *arguments]) == 2
    assert main(["compare", "--allow-different-suites", *arguments]) == 0
    page = visit(out)
    assert "The suites differ" in page.inner_text("#policies")
    boards = [
        page.locator(f"{board} .cost").all_text_contents() for board in ("#board", "#other-board")
    ]
    assert boards[0] != boards[1]
