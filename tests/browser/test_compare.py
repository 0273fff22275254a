"""The compare page: from "+n new" to both results side by side."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from wayproof.cli import main

if TYPE_CHECKING:
    from playwright.sync_api import Page

Visit = Callable[..., "Page"]


@pytest.fixture(scope="module")
def record(sides: tuple[Path, Path]) -> dict[str, Any]:
    import msgspec

    from wayproof.compare import compare_bundles

    found: dict[str, Any] = json.loads(msgspec.json.encode(compare_bundles(*sides)))
    return found


def test_each_queue_stands_before_and_after(
    compare_report: Path, record: dict[str, Any], visit: Visit
) -> None:
    """The first screen: before, after, new, paid, carried; a debt of another kind apart."""
    page = visit(compare_report)
    for at, queue in enumerate(record["queues"]):
        said = " ".join(page.locator(".queue-change").nth(at).inner_text().split())
        changed = sum(
            each["change"] == "carried" and each["before"] != each["after"]
            for each in queue["debts"]
        )
        assert f"{queue['before']} → {queue['after']}" in said
        assert f"+{queue['new']} new" in said
        assert f"−{queue['paid']} paid" in said
        assert f"{queue['carried'] - changed} carried" in said
        assert (f"{changed} changed kind" in said) is (changed > 0)


def test_a_click_path_leads_from_a_count_to_both_results(
    compare_report: Path, record: dict[str, Any], visit: Visit
) -> None:
    """+n new → its rows → one row → base and new side by side, with ids gained and lost."""
    page = visit(compare_report)
    queue = record["queues"][0]
    page.locator(".queue-change a", has_text="new").first.click()
    expect(page.locator("#queue-count")).to_contain_text(f"Shown: {queue['new']}.")
    page.locator(".list-body .task").first.click()
    task = page.inner_text("#panel-title")
    pair = next(each for each in record["result_pairs"] if each["task_id"] == task)
    cards = page.locator("#panel .pair-sides .card")
    assert "sufficient" in cards.nth(0).inner_text()
    for at, side in enumerate(("base", "new")):
        missing = cards.nth(at).locator(".ids.bad li").all_inner_texts()
        assert missing == pair[side]["missing_expected_artifacts"]
    gone = set(pair["base"]["selected_artifacts"]) - set(pair["new"]["selected_artifacts"])
    shown = page.locator("#panel .axes-pair").last.locator(".ids.bad li").all_inner_texts()
    assert set(shown) == gone
    page.click('[data-take="command"]')
    command = page.input_value("#panel-take")
    assert command == "wayproof compare fitness new --report compare.html"
    link = page.evaluate("location.hash")
    assert "task=" in link
    page.go_back()
    expect(page.locator("#panel")).not_to_be_visible()
    other = visit(compare_report, query=f"#task={task}")
    assert other.inner_text("#panel-title") == task


def test_verdicts_and_the_unit_are_words(
    compare_report: Path, record: dict[str, Any], visit: Visit
) -> None:
    """Each measure with its verdict; the unit of resampling is named on the first screen."""
    page = visit(compare_report)
    words = {"better": "better", "worse": "worse", "undecided": "undecided"}
    for at, measure in enumerate(record["measures"]):
        row = page.locator("#differences tbody tr").nth(at).inner_text()
        assert measure["name"] in row
        assert words.get(measure["verdict"], "") in row
        assert measure["why"] in row
    assert record["unit"]["cluster"] in page.inner_text("#queues .card .facts")
    plotted = page.locator("figure svg.wide-only circle").count()
    assert plotted == sum(
        each["difference"] is not None and not each["name"].startswith("censored")
        for each in record["measures"]
    )


def test_carried_debts_and_identical_bundles(
    sides: tuple[Path, Path], tmp_path: Path, visit: Visit
) -> None:
    """A bundle beside itself: nothing new, nothing paid, no task changed."""
    out = tmp_path / "same.html"
    base = str(sides[0])
    assert main(["report", "--compare", base, base, "--out", str(out)]) == 0
    page = visit(out)
    assert "+0 new" in " ".join(page.inner_text(".queue-change >> nth=0").split())
    assert "no task changed" in page.inner_text("#differences")
    page.click("#tab-carried")
    page.locator(".list-body .task").first.click()
    assert "Nothing changed here" in page.inner_text("#panel-body")


def test_two_recovery_bundles(recovery: Path, tmp_path: Path, visit: Visit) -> None:
    """Per policy: completed and verified, before and after, and the verdict in words."""
    out = tmp_path / "recovery.html"
    bundle = str(recovery)
    assert main(["report", "--compare", bundle, bundle, "--out", str(out)]) == 0
    page = visit(out)
    assert page.locator("#differences tbody tr").count() == 3
    assert "300 → 300" in page.locator("#differences tbody tr", has_text="planner").inner_text()
    assert "no trial changed" in page.inner_text("#policies")


def test_what_is_no_pair_is_refused(
    sides: tuple[Path, Path], recovery: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One bundle, three, two kinds, or inputs beside them: status 2 and nothing written."""
    out = str(tmp_path / "x.html")
    base, new = map(str, sides)
    for bundles in ([base], [base, new, base], [base, str(recovery)]):
        assert main(["report", "--compare", *bundles, "--out", out]) == 2
    assert main(["report", "--compare", base, new, "--tasks", base, "--out", out]) == 2
    assert "a comparison reads bundles alone" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_compare_writes_the_page_too(
    sides: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`compare --report` beside its own output; what stands there is kept."""
    out = tmp_path / "page.html"
    base, new = map(str, sides)
    assert main(["compare", base, new, "--report", str(out)]) == 0
    assert "sufficiency debts" in capsys.readouterr().out
    assert out.read_text("utf-8").startswith("<!doctype html>")
    assert main(["compare", base, new, "--report", str(out)]) == 2


def test_three_bundles_show_their_trend(
    sides: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], visit: Visit
) -> None:
    """Each step's queues with new and paid, and since which step each open debt stands."""
    base, new = map(str, sides)
    out = tmp_path / "trend.html"
    row = [base, new, base, new]
    assert main(["compare", *row, "--report", str(out), "--format", "json"]) == 0
    trend = json.loads(capsys.readouterr().out)["trend"]
    page = visit(out)
    table, debts = page.locator("#trend table").all()
    for at, step in enumerate(trend["steps"]):
        said = table.locator("tbody tr").nth(at).inner_text().replace("+", "").replace("−", "")
        cells = said.split()
        queues = [
            str(step[f"{queue}_{count}"])
            for queue in ("sufficiency", "latency")
            for count in ("open", "new", "paid")
        ]
        assert cells[0] == str(at + 1)
        assert cells[-6:] == queues
    shown = debts.locator("tbody tr")
    assert shown.count() == min(200, len(trend["open_debts"]))
    last = trend["open_debts"][shown.count() - 1]
    assert last["task_id"] in shown.last.inner_text()
    assert f"{last['since']} · " in shown.last.inner_text()
    assert str(tmp_path.parent) not in page.inner_text("#trend"), "no machine's path"
