"""Both reports, as a person uses them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

Visit = Callable[..., "Page"]


def results(bundle: Path) -> list[dict[str, Any]]:
    lines = (bundle / "results.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def column(page: "Page", place: int) -> list[str]:
    cells = page.locator(f".list-body .list-row > :nth-child({place})")
    return cells.all_inner_texts()


def test_the_matrix_shows_the_summarys_counts(
    fitness_report: Path, fitness: Path, visit: Visit
) -> None:
    """The first screen crosses the two axes, count by count."""
    page = visit(fitness_report)
    matrix = json.loads((fitness / "summary.json").read_text("utf-8"))["sufficiency_latency_matrix"]
    rows = page.locator(".matrix tbody tr")
    order = ["sufficient", "route_timeout", "route_error", "missing_id", "weak_scent"]
    for place, name in enumerate([*order, "forbidden_route"]):
        shown = rows.nth(place).locator("td").all_inner_texts()
        counts = [matrix[name][status] for status in ("pass", "fail", "timeout", "unmeasured")]
        assert [int(text.replace(",", "")) for text in shown] == [*counts, sum(counts)]


def test_limits_and_digests_are_on_the_first_screen(
    fitness_report: Path, recovery_report: Path, fitness: Path, recovery: Path, visit: Visit
) -> None:
    """Not in a footnote: within the first screenful, on both reports."""
    for path, bundle in ((fitness_report, fitness), (recovery_report, recovery)):
        page = visit(path)
        digest = json.loads((bundle / "manifest.json").read_text("utf-8"))["files"]
        shown = page.locator(".digest", has_text=digest["results.jsonl"]["sha256"]).first
        limits = page.locator("li[data-fr]").first
        for element in (shown, limits):
            box = element.bounding_box()
            assert box is not None
            assert box["y"] + box["height"] < 900


def test_queues_hold_exactly_the_debts(fitness_report: Path, fitness: Path, visit: Visit) -> None:
    """Each queue counts the debts of its class, and no more."""
    page = visit(fitness_report)
    debts = [
        json.loads(line)["debt_class"]
        for line in (fitness / "debts.jsonl").read_text("utf-8").splitlines()
    ]
    for tab, kind in (("sufficiency", "sufficiency_debt"), ("latency", "latency_debt")):
        page.click(f"#tab-{tab}")
        assert page.inner_text("#queue-count").startswith(f"Shown: {debts.count(kind)}.")


def test_lists_sort_both_ways_and_filter(fitness_report: Path, fitness: Path, visit: Visit) -> None:
    """A column head sorts, again reverses; filters narrow; clearing brings all back."""
    page = visit(fitness_report)
    page.click("#tab-latency")
    page.click(".sort:has-text('Time, ms')")
    shown = [float(text.replace(",", "")) for text in column(page, 3) if text != "–"]
    assert shown == sorted(shown, reverse=True)
    page.click(".sort:has-text('Time, ms')")
    assert page.locator('[aria-sort="ascending"]').count() == 1
    page.click("#tab-all")
    page.select_option("#filter-kind", label="missing id")
    missing = sum(each["sufficiency_failure_kind"] == "missing_id" for each in results(fitness))
    assert page.inner_text("#queue-count").startswith(f"Shown: {missing}.")
    page.fill("#filter-text", "no such task anywhere")
    page.wait_for_selector(".list-row.empty")
    assert "No result fits these filters." in page.inner_text("#list")
    page.click("#filter-clear")
    assert page.inner_text("#queue-count").startswith("Shown: 300.")


def test_a_cell_of_the_matrix_lists_its_tasks(fitness_report: Path, visit: Visit) -> None:
    """Choosing a count shows just those results."""
    page = visit(fitness_report)
    cell = page.locator('.matrix a[data-kind="missing_id"][data-latency="fail"]')
    count = cell.inner_text()
    cell.click()
    assert page.inner_text("#queue-count").startswith(f"Shown: {count}.")
    assert page.get_attribute("#tab-all", "aria-selected") == "true"


def test_the_panel_shows_one_result_whole(
    fitness_report: Path, fitness: Path, visit: Visit
) -> None:
    """Prompt, first command with forbidden text marked, ids, scent terms, source."""
    page = visit(fitness_report)
    result = next(
        each
        for each in results(fitness)
        if each["forbidden_first_route_hits"] and each["missing_expected_artifacts"]
    )
    task = next(
        json.loads(line)
        for line in (fitness.parent / "tasks.jsonl").read_text("utf-8").splitlines()
        if json.loads(line)["task_id"] == result["task_id"]
    )
    page.click("#tab-all")
    page.fill("#filter-text", result["task_id"])
    expect(page.locator(".list-body .task")).to_have_count(1)
    page.click(".list-body .task")
    said = page.inner_text("#panel-body")
    assert result["task_prompt"] in said
    assert page.locator("#panel mark").all_inner_texts() == ["grep -r", "--paper-module"]
    found, missing, extra = (
        page.locator(f"#panel .ids.{mark}").first for mark in ("good", "bad", "none")
    )
    assert missing.locator("li code").all_inner_texts() == result["missing_expected_artifacts"]
    if result["found_expected_artifacts"]:
        assert found.locator("li code").all_inner_texts() == result["found_expected_artifacts"]
    expected = set(result["expected_artifacts"])
    surplus = [each for each in result["selected_artifacts"] if each not in expected]
    if surplus:
        assert extra.locator("li code").all_inner_texts() == surplus
    assert all(term in said for term in task["scent_terms"])
    assert "sessions/day.jsonl" in said


def test_lists_and_panel_work_by_keyboard(fitness_report: Path, visit: Visit) -> None:
    """Arrows walk, Enter opens, arrows leaf, Escape closes and comes back."""
    page = visit(fitness_report)
    page.focus("#tab-sufficiency")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#tab-latency", "aria-selected") == "true"
    page.locator('.list-body .task[tabindex="0"]').focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.place") == "2"
    page.keyboard.press("Enter")
    assert page.inner_text("#panel-place").startswith("3 of")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#panel-place").startswith("4 of")
    page.keyboard.press("Escape")
    assert page.evaluate("document.getElementById('panel').open") is False
    # Closing goes back in the history, which ends a moment later.
    page.wait_for_function("document.activeElement.dataset.place === '3'")
    page.keyboard.press("End")
    last = int(page.inner_text("#queue-count").split()[1].rstrip(".")) - 1
    assert page.evaluate("document.activeElement.dataset.place") == str(last)


def test_fitness_report_in_french(fitness_report: Path, visit: Visit) -> None:
    """Texts, numbers and the bundle's known sentences change language together."""
    page = visit(fitness_report, query="?lang=fr")
    assert page.inner_text("h1") == "Aptitude à la navigation · fitness"
    assert "pas une exécution de routes" in page.inner_text("li[data-fr] >> nth=0")
    assert "," in page.inner_text("#metrics tbody td.number >> nth=0")


def test_recovery_report_shows_both_measures_apart(
    recovery_report: Path, recovery: Path, visit: Visit
) -> None:
    """Completed and verified stand side by side with intervals, ours beside the published."""
    page = visit(recovery_report)
    summary = json.loads((recovery / "summary.json").read_text("utf-8"))
    table = page.inner_text("#policies table")
    for policy in summary["policies"]:
        total = policy["total"]
        row = page.locator("#policies tbody tr", has_text=policy["policy"]).first.inner_text()
        assert f"{total['completed']} / {total['cells']}" in row
        assert f"{total['verified']} / {total['cells']}" in row
    assert "92.9% – 100.0%" in table
    published = page.inner_text("#published")
    assert "27 / 300" in published
    assert "4 / 300" in published


def test_recovery_trials_are_stepped_as_recorded(
    recovery_report: Path, recovery: Path, visit: Visit
) -> None:
    """The ledger of a trial says what its trace recorded, step by step."""
    page = visit(recovery_report)
    traces = [
        json.loads(line) for line in (recovery / "traces.jsonl").read_text("utf-8").splitlines()
    ]
    trace = next(each for each in traces if each["policy"] == "random-walk")
    page.fill("#filter-text", trace["scenario_id"])
    page.select_option("#filter-policy", label="random-walk")
    expect(page.locator(".list-body .task")).to_have_text([trace["scenario_id"]] * 2)
    page.locator(".list-body .task").first.click()
    page.click("#jump-last")
    spent = page.locator("#ledger tbody tr td:last-child").all_inner_texts()
    assert [int(text.split(" / ")[0]) for text in spent] == [
        step["spent"] for step in trace["steps"]
    ]
    outcomes = page.locator("#ledger tbody tr td:nth-child(4)").all_inner_texts()
    words = {None: "accepted", "collision": "collision", "invalid_path": "invalid path"}
    assert outcomes == [words[step["rejection"]] for step in trace["steps"]]


def test_recovery_filters_by_verdict(recovery_report: Path, recovery: Path, visit: Visit) -> None:
    """Completed but not verified: the difference that the benchmark is about."""
    page = visit(recovery_report)
    page.select_option("#filter-verdict", label="completed, not verified")
    count = sum(each["completed"] and not each["verified_recovery"] for each in results(recovery))
    assert page.inner_text("#queue-count").startswith(f"Shown: {count}.")


def test_closing_a_panel_gives_the_focus_back(fitness_report: Path, visit: Visit) -> None:
    """To the control of the result that was shown, however the panel is closed."""
    page = visit(fitness_report)
    for close in ("#panel-close", None):
        page.locator(".list-body .task").nth(1).click()
        page.click("#panel-next")
        if close:
            page.click(close)
        else:
            page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.dataset.place") == "2"


def test_language_and_colours_follow_the_links(
    fitness: Path, recovery: Path, tmp_path: Path, visit: Visit
) -> None:
    """From the index to a report and back, as chosen."""
    from wayproof.cli import main

    out = tmp_path / "both"
    assert main(["report", str(fitness), str(recovery), "--out", str(out)]) == 0
    for name in ("01-fitness.html", "02-recovery.html"):
        page = visit(out / "index.html")
        page.click('[data-language="fr"]')
        page.click('[data-theme-choice="dark"]')
        for link in (f'a[href^="{name}"]', 'a[href^="index.html"]'):
            page.click(link)
            page.wait_for_selector("html[data-ready]")
            assert page.get_attribute("html", "lang") == "fr"
            assert page.get_attribute("html", "data-theme") == "dark"


def scored(folder: Path, tasks: list[dict[str, Any]], packets: list[dict[str, Any]]) -> Path:
    from wayproof.cli import main

    for name, rows in (("tasks", tasks), ("packets", packets)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    inputs = [f"--{name}={folder / name}.jsonl" for name in ("tasks", "packets")]
    assert main(["fitness", "score", *inputs, "--out", str(folder / "bundle")]) == 0
    assert main(["report", str(folder / "bundle"), "--out", str(folder / "r.html")]) == 0
    return folder / "r.html"


def test_attempts_sort_by_number_and_near_values_stay_apart(tmp_path: Path, visit: Visit) -> None:
    """#2 before #10; 100.04 ms over a budget of 100 is more than 1.00 times it."""
    task = {"task_id": "t", "expected_artifacts": ["a"], "latency_budget_ms": 100}
    packets = [
        {"task_id": "t", "attempt": number, "wall_ms": 100.04, "timed_out": False}
        for number in (10, 2, 1)
    ]
    page = visit(scored(tmp_path, [task], packets))
    page.click("#tab-all")
    assert column(page, 1) == ["t #1", "t #2", "t #10"]
    page.click("#tab-latency")
    assert set(column(page, 3)) == {"100.04"}
    assert set(column(page, 5)) == {"1.0004 ×"}
    assert "3 results, 1 distinct task" in page.inner_text(".lead >> nth=0")


def test_an_unmeasured_time_is_called_so(tmp_path: Path, visit: Visit) -> None:
    """No dash in the place of a number of milliseconds."""
    task = {"task_id": "t", "expected_artifacts": ["a"], "latency_budget_ms": 100}
    page = visit(scored(tmp_path, [task], [{"task_id": "t", "timed_out": False}]))
    page.click("#tab-all")
    page.locator(".list-body .task").first.click()
    assert "Not measured; the budget is 100 ms." in page.inner_text("#panel")


def test_charts_and_both_measurements_are_readable_on_a_phone(
    fitness_report: Path, recovery_report: Path, visit: Visit
) -> None:
    """At 360 px no chart text is under 10 px, and no column of the table is cut."""
    for path in (fitness_report, recovery_report):
        page = visit(path)
        page.set_viewport_size({"width": 360, "height": 800})
        sizes = page.evaluate(
            """() => [...document.querySelectorAll(".chart text")]
                 .map((text) => text.getBoundingClientRect().height).filter((px) => px > 0)"""
        )
        assert len(sizes) >= 10
        assert min(sizes) >= 10
    for language in ("en", "fr"):
        page.click(f'[data-language="{language}"]')
        frame = page.locator(".scroll:has(.side-by-side)")
        assert frame.evaluate("frame => frame.scrollWidth <= frame.clientWidth")
