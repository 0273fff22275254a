"""Links to a row, a queue or a step: by id, the same in a fresh browser; Back takes back."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from tools.samples import HOSTILE_TEXTS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Visit = Callable[..., "Page"]


def results(bundle: Path) -> list[dict[str, Any]]:
    lines = (bundle / "results.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_task_is_found_by_its_id(fitness_report: Path, fitness: Path, visit: Visit) -> None:
    """A link with nothing but an id opens that result's panel, whatever queue it stands in."""
    for result in (results(fitness)[7], results(fitness)[123]):
        page = visit(fitness_report, query=f"#task={quote(result['task_id'], safe='')}")
        assert page.inner_text("#panel-title") == result["task_id"]
        assert result["task_prompt"] in page.inner_text("#panel-body")


QUICK = (1, 5, 11)
"""Markup, control characters and quotes: what the tests without the slow ones try."""


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(number, marks=[] if number in QUICK else pytest.mark.slow)
        for number in range(len(HOSTILE_TEXTS))
    ],
)
def test_hostile_ids_have_links_too(
    hostile_report: Path, browser: "Browser", visit: Visit, number: int
) -> None:
    """The copied link, opened in a fresh browser, shows the same result."""
    page = visit(hostile_report)
    page.click("#tab-all")
    page.locator(".list-body .task").nth(number).click()
    title = page.inner_text("#panel-title")
    page.click('[data-take="link"]')
    link = page.input_value("#panel-take")
    fresh = browser.new_context(locale="en-GB")
    other = fresh.new_page()
    other.goto(link)
    other.wait_for_selector("html[data-ready]")
    assert other.inner_text("#panel-title") == title
    fresh.close()


def test_back_closes_the_panel_and_reload_keeps_it(fitness_report: Path, visit: Visit) -> None:
    """Opening is a step of the history; what was filtered and sorted before stands there again."""
    page = visit(fitness_report)
    page.select_option("#filter-kind", label="missing id")
    page.click(".sort:has-text('Recall')")
    before = page.evaluate("location.hash")
    assert "kind=missing_id" in before
    assert "sort=-recall" in before
    page.locator(".list-body .task").nth(1).click()
    title = page.inner_text("#panel-title")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.inner_text("#panel-title") == title
    page.go_back()
    expect(page.locator("#panel")).not_to_be_visible()
    assert page.evaluate("location.hash") == before
    assert page.locator("#filter-kind option:checked").inner_text() == "missing id"
    page.go_forward()
    expect(page.locator("#panel-title")).to_have_text(title)
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).not_to_be_visible()


def test_attempts_have_links_of_their_own(tmp_path: Path, visit: Visit) -> None:
    """`attempt` tells two results of a task apart; without it the first is meant."""
    page = visit(attempts_report(tmp_path), query="#task=t%2B1&attempt=2")
    assert "20 ms" in page.inner_text("#panel-body")
    page = visit(tmp_path / "r.html", query="#task=t%2B1")
    assert "10 ms" in page.inner_text("#panel-body")
    page = visit(tmp_path / "r.html", query="#task=t+1&attempt=2")
    assert "20 ms" in page.inner_text("#panel-body")


def attempts_report(folder: Path) -> Path:
    from wayproof.cli import main

    task = {"task_id": "t+1", "expected_artifacts": ["a"], "latency_budget_ms": 5}
    packets: list[dict[str, Any]] = [
        {"task_id": "t+1", "attempt": number, "wall_ms": 10 * number, "selected_artifacts": []}
        for number in (1, 2)
    ]
    for name, rows in (("tasks", [task]), ("packets", packets)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    inputs = [f"--{name}={folder / name}.jsonl" for name in ("tasks", "packets")]
    assert main(["fitness", "score", *inputs, "--out", str(folder / "bundle")]) == 0
    assert main(["report", str(folder / "bundle"), "--out", str(folder / "r.html")]) == 0
    return folder / "r.html"


def test_a_queue_is_a_link(fitness_report: Path, fitness: Path, visit: Visit) -> None:
    """Queue, filters and order from the address alone; unknown names are passed over."""
    page = visit(
        fitness_report,
        query="#queue=latency&route=keyword_search&family=core&sort=-wall&nonsense=1&x",
    )
    assert page.get_attribute("#tab-latency", "aria-selected") == "true"
    count = sum(
        each["latency_status"] in {"fail", "timeout"}
        and each["route_type"] == "keyword_search"
        and each["family"] == "core"
        for each in results(fitness)
    )
    assert page.inner_text("#queue-count").startswith(f"Shown: {count}.")
    assert page.locator('[aria-sort="descending"]').inner_text().startswith("Time, ms")


def test_an_id_that_is_not_there_is_said(fitness_report: Path, visit: Visit) -> None:
    """A stale link opens nothing and says so, in the page."""
    page = visit(fitness_report, query="#task=gone%1b[31m")
    assert "No result here has the id gone\\x1b[31m" in page.inner_text("#queue-count")
    assert not page.is_visible("#panel")


def test_totals_bars_and_first_contacts_are_links(
    fitness_report: Path, fitness: Path, visit: Visit
) -> None:
    """Each leads to just the results that it counts."""
    page = visit(fitness_report)
    found = results(fitness)
    page.locator('.matrix tfoot a[href*="latency=timeout"]').click()
    count = sum(each["latency_status"] == "timeout" for each in found)
    expect(page.locator("#queue-count")).to_contain_text(f"Shown: {count}.")
    page.locator('figure svg.wide-only a[href*="ratio=4"]').click()
    count = sum(
        each["latency_status"] in {"pass", "fail"}
        and 1 < each["wall_ms"] / each["latency_budget_ms"] <= 2
        for each in found
    )
    expect(page.locator("#queue-count")).to_contain_text(f"Shown: {count}.")
    page.locator("#contacts a", has_text="grep").click()
    count = sum((each["first_contact_command"] or "").startswith("grep") for each in found)
    expect(page.locator("#queue-count")).to_contain_text(f"Shown: {count}.")
    page.locator("#families a").first.click()
    assert "family=" in page.evaluate("location.hash")


def test_the_filtered_list_is_saved_as_csv(tmp_path: Path, visit: Visit) -> None:
    """All rows of the list, in its order, and no cell that a spreadsheet would run."""
    folder = tmp_path
    tasks = [
        {"task_id": name, "expected_artifacts": ['a"b'], "family": "=1+1"}
        for name in ("=cmd", "plain, with comma")
    ]
    for name, rows in (("tasks", tasks), ("packets", [])):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    from wayproof.cli import main

    inputs = [f"--{name}={folder / name}.jsonl" for name in ("tasks", "packets")]
    assert main(["fitness", "score", *inputs, "--out", str(folder / "bundle")]) == 0
    assert main(["report", str(folder / "bundle"), "--out", str(folder / "r.html")]) == 0
    page = visit(folder / "r.html")
    with page.expect_download() as caught:
        page.click("#take-csv")
    saved = folder / "saved.csv"
    caught.value.save_as(saved)
    assert caught.value.suggested_filename == "sufficiency.csv"
    rows = list(csv.DictReader(io.StringIO(saved.read_text("utf-8"), newline="")))
    assert [row["task_id"] for row in rows] == ["'=cmd", "plain, with comma"]
    assert {row["family"] for row in rows} == {"'=1+1"}
    assert {row["missing"] for row in rows} == {'a"b'}


def test_on_paper_the_filtered_list_stands_as_a_table(
    fitness_report: Path, fitness: Path, visit: Visit
) -> None:
    """The first rows in the list's order, saying how many; no control is printed."""
    page = visit(fitness_report)
    page.click("#tab-all")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="dark")
    count = len(results(fitness))
    assert f"the first {count} of {count} rows" in page.inner_text("#print-rows")
    assert page.locator("#print-rows tbody tr").count() == count
    assert page.locator("button:visible, select:visible, input:visible").count() == 0
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(int(part) for part in ground[4:-1].split(",")) > 600
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#print-rows tr").count() == 0


def test_a_row_opens_on_a_click_anywhere(fitness_report: Path, visit: Visit) -> None:
    """Not only on its id."""
    page = visit(fitness_report)
    page.locator(".list-body .list-row").nth(2).locator("> :nth-child(2)").click()
    assert page.is_visible("#panel")
    assert page.inner_text("#panel-place").startswith("3 of")


def test_the_panel_says_what_to_do(fitness_report: Path, fitness: Path, visit: Visit) -> None:
    """Five ticks, and under the one that named the failure how it is mended, as `explain` says."""
    from wayproof.evidence.fitness_names import RUNGS

    named = {each["sufficiency_failure_kind"]: each for each in results(fitness)}
    seen = [rung for rung in RUNGS if rung.failure_kind in named]
    assert len(seen) >= 4
    for rung in seen:
        result = named[rung.failure_kind]
        page = visit(fitness_report, query=f"#task={quote(result['task_id'], safe='')}")
        ticks = page.locator("#panel [data-rung]")
        marks = {
            str(tick.get_attribute("data-rung")): tick.get_attribute("data-mark")
            for tick in ticks.all()
        }
        assert [name for name, mark in marks.items() if mark == "bad"] == result["failed_checks"]
        said = page.locator(f'#panel [data-rung="{rung.failure_kind}"]').inner_text()
        assert rung.mend in said
        assert page.locator("#panel .ladder .mend").count() == 1
        page.close()


TWINS = ("./src/a.py", "src\\a.py", "SRC/A.py", "src/a.py:12", "src//a.py", "src/%61.py")


@pytest.mark.parametrize("twin", TWINS)
def test_a_near_twin_of_a_missing_id_is_pointed_out(
    tmp_path: Path, visit: Visit, twin: str
) -> None:
    """Ids stay literal; the reader sees which spelling was selected."""
    from wayproof.cli import main

    task = {"task_id": "t", "expected_artifacts": ["src/a.py", "src/b.py"]}
    packet = {"task_id": "t", "selected_artifacts": [twin, "src/c.py"]}
    for name, row in (("tasks", task), ("packets", packet)):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    inputs = [f"--{name}={tmp_path / name}.jsonl" for name in ("tasks", "packets")]
    assert main(["fitness", "score", *inputs, "--out", str(tmp_path / "bundle")]) == 0
    assert main(["report", str(tmp_path / "bundle"), "--out", str(tmp_path / "r.html")]) == 0
    page = visit(tmp_path / "r.html", query="#task=t")
    notes = page.locator("#panel .ids.bad .id-note")
    assert notes.count() == 1
    assert twin in notes.first.inner_text()


def test_the_index_has_each_bundles_numbers(index_page: Path, fitness: Path, visit: Visit) -> None:
    """One row a bundle: both axes, both queues, completed and verified, digest; limits once."""
    page = visit(index_page)
    summary = json.loads((fitness / "summary.json").read_text("utf-8"))["summary"]
    rows = page.locator("table.index > tbody > tr")
    assert rows.count() == 2
    said = " ".join(rows.nth(0).inner_text().split())
    assert str(summary["sufficiency_fail_count"]) in said
    assert str(summary["latency_fail_count"]) in said
    assert "planner: 300 completed, 300 verified / 300" in rows.nth(1).inner_text()
    assert page.locator("#limits .card").count() == 2
    page.locator(".index thead button").nth(0).click()
    page.locator(".index thead button").nth(0).click()
    assert page.locator('[aria-sort="descending"]').count() == 1
    names = page.locator("table.index > tbody > tr > th").all_inner_texts()
    assert names == sorted(names, reverse=True)
    other = visit(index_page, query=page.evaluate("location.hash"))
    assert other.locator("table.index > tbody > tr > th").all_inner_texts() == names
    page.locator('.index a[href*="queue=latency"]').click()
    page.wait_for_selector("html[data-ready]")
    assert page.get_attribute("#tab-latency", "aria-selected") == "true"


def test_a_row_says_when_its_panel_was_left_out(
    fitness: Path, tmp_path: Path, visit: Visit
) -> None:
    """In a file that is full: on the row, and never on a debt's while another has one."""
    from wayproof.bundles.reader import open_bundle
    from wayproof.report.fitness_page import FitnessLimits, fitness_pages
    from wayproof.report.provenance import NO_PROVENANCE

    lines = (fitness / "results.jsonl").read_text("utf-8").splitlines()
    debts = [
        len(line)
        for line in lines
        if json.loads(line)["sufficiency_status"] == "fail"
        or json.loads(line)["latency_status"] in {"fail", "timeout"}
    ]
    limits = FitnessLimits(panel_bytes=sum(debts) + 2_000)
    made = fitness_pages(open_bundle(fitness), NO_PROVENANCE, may_page=False, limits=limits)
    out = tmp_path / "full.html"
    out.write_bytes(b"".join(next(made).parts))
    page = visit(out)
    page.click("#tab-all")
    rows = page.locator(".list-body .task").all_inner_texts()
    assert any("(no panel in this file)" in row for row in rows)
    page.click("#tab-sufficiency")
    rows = page.locator(".list-body .task").all_inner_texts()
    assert not any("(no panel" in row for row in rows)
