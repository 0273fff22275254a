"""Trials on the stage, in the report and in the Explorer: links, losses, two side by side."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

Visit = Callable[..., "Page"]
SAMPLE = Path(__file__).parents[2] / "src" / "wayproof" / "explorer" / "static" / "sample.json"


def lines(bundle: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (bundle / name).read_text("utf-8").splitlines()]


def dearest(recovery: Path) -> dict[str, Any]:
    between = [
        each
        for each in lines(recovery, "results.jsonl")
        if each["completed"] and not each["verified_recovery"]
    ]
    return max(between, key=lambda each: int(each["excess_cost"]))


def name_of(result: dict[str, Any]) -> str:
    return f"{result['policy']}/{result['scenario_id']}/{result['policy_seed']}"


def losses(recovery: Path, result: dict[str, Any]) -> list[int]:
    grid = next(
        each for each in lines(recovery, "suite.jsonl")[1:] if each["grid_id"] == result["grid_id"]
    )
    trace = next(
        each
        for each in lines(recovery, "traces.jsonl")
        if all(each[key] == result[key] for key in ("policy", "scenario_id", "policy_seed"))
    )

    def cost_to_go(cell: list[int]) -> int:
        return int(grid["potentials"][cell[0]][cell[1]])

    position, spent, found = grid["start"], 0, []
    for step in trace["steps"]:
        lost = step["spent"] - spent + cost_to_go(step["position"]) - cost_to_go(position)
        found.append(lost)
        position, spent = step["position"], step["spent"]
    return found


def test_the_report_opens_on_the_most_telling_trial(
    recovery_report: Path, recovery: Path, visit: Visit
) -> None:
    """Completed, and dearest of all: not the first of the list."""
    page = visit(recovery_report)
    result = dearest(recovery)
    assert page.inner_text("#trial-name") == name_of(result)


def test_the_ledger_says_where_optimality_was_lost(
    recovery_report: Path, recovery: Path, visit: Visit
) -> None:
    """Loss = entry cost + cost to go after - before; the verdict names the first step with one."""
    page = visit(recovery_report)
    result = dearest(recovery)
    expected = losses(recovery, result)
    page.click("#jump-last")
    cells = page.locator("#ledger tbody td[data-loss]")
    assert [int(str(cell.get_attribute("data-loss"))) for cell in cells.all()] == expected
    assert sum(expected) == result["excess_cost"]
    first = next(at for at, lost in enumerate(expected) if lost)
    said = f"{result['excess_cost']} too much; first lost at step {first}."
    assert said in page.inner_text("#verdict")
    numbers = page.locator("#ledger tbody td:first-child").all_inner_texts()
    assert numbers == [str(at) for at in range(len(expected))]


@pytest.mark.parametrize("kind", ["report", "explorer"])
def test_a_link_shows_the_same_step(
    recovery_report: Path, explorer: Path, recovery: Path, visit: Visit, kind: str
) -> None:
    """By policy, scenario, seed and the step's number in the files; a fresh page, a reload."""
    if kind == "report":
        path, result = recovery_report, lines(recovery, "results.jsonl")[700]
    else:
        path = explorer
        result = json.loads(SAMPLE.read_text("utf-8"))["trials"][-1]
    page = visit(path, query=f"#trial={name_of(result).replace('/', '%2F')}&step=3")
    assert page.input_value("#scrub") == "4"
    assert page.inner_text("#moment").startswith("Step 3,")
    page.click("#jump-forward")
    expect(page).to_have_url(re.compile("step=4"))
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.input_value("#scrub") == "5"


def test_back_leads_to_the_trial_before(recovery_report: Path, visit: Visit) -> None:
    """Choosing a trial is a step of the history."""
    page = visit(recovery_report)
    expect(page).to_have_url(re.compile("trial="))
    first = page.inner_text("#trial-name")
    page.locator(".list-body .task").nth(3).click()
    assert page.inner_text("#trial-name") != first
    page.go_back()
    expect(page.locator("#trial-name")).to_have_text(first)


def test_a_trials_link_and_command_can_be_copied(
    recovery_report: Path, recovery: Path, visit: Visit
) -> None:
    """The command is the one that replays this trial."""
    page = visit(recovery_report)
    page.click('[data-take="command"]')
    name = name_of(dearest(recovery))
    command = f"wayproof recovery replay {recovery.name} --trial {name}"
    assert page.input_value("#trial-take") == command
    page.click('[data-take="link"]')
    assert page.input_value("#trial-take").endswith(f"#trial={name.replace('/', '%2F')}")


@pytest.mark.parametrize("kind", ["report", "explorer"])
def test_two_policies_stand_side_by_side(
    recovery_report: Path, explorer: Path, visit: Visit, kind: str
) -> None:
    """One scenario, one scrubber: both boards move, each to its own verdict."""
    page = visit(recovery_report if kind == "report" else explorer)
    assert not page.is_visible("#other-board")
    page.select_option("#other-policy", label="planner" if kind == "report" else "Planner")
    page.click("#jump-last")
    assert "planner/" in page.inner_text("#other-name")
    assert "verified recovery" in page.inner_text("#other-verdict")
    assert "no verified recovery" in page.inner_text("#verdict")
    page.click("#jump-first")
    assert page.inner_text("#other-verdict") == ""
    assert "At the start" in page.inner_text("#other-moment")
    page.select_option("#other-policy", value="")
    assert not page.is_visible("#other-board")


def test_keys_work_page_wide_but_not_in_fields(
    explorer: Path, recovery_report: Path, visit: Visit
) -> None:
    """Arrows step from anywhere; on the radio buttons they don't switch the policy."""
    page = visit(explorer)
    page.locator("body").press("ArrowRight")
    assert page.input_value("#scrub") == "1"
    chosen = page.locator('input[name="policy"]:checked')
    before = chosen.get_attribute("value")
    chosen.focus()
    page.keyboard.press("ArrowRight")
    assert page.input_value("#scrub") == "2"
    assert page.locator('input[name="policy"]:checked').get_attribute("value") == before
    page = visit(recovery_report)
    page.fill("#filter-text", "wfrb")
    page.press("#filter-text", "ArrowRight")
    assert page.input_value("#scrub") == "0"
    page.focus("#filter-policy")
    page.keyboard.press("ArrowRight")
    assert page.input_value("#scrub") == "0"


def test_costs_to_go_can_be_shown(explorer: Path, recovery_report: Path, visit: Visit) -> None:
    """One number a reachable cell, 0 on the target; hidden until asked for."""
    for path in (explorer, recovery_report):
        page = visit(path)
        assert page.locator("#board .to-go").count() == 0
        page.check("#show-to-go")
        shown = page.locator("#board .to-go").all_text_contents()
        assert shown.count("0") == 1
        assert len(shown) > 10
