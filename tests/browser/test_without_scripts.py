"""What a page says where scripts are blocked, as viewers of build artefacts do."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

Visit = Callable[..., "Page"]


def summary_of(bundle: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((bundle / "summary.json").read_text("utf-8"))
    return record


def digits(texts: list[str]) -> list[int]:
    return [int(text.replace(",", "")) for text in texts]


def test_a_fitness_page_holds_every_count(
    fitness_report: Path, fitness: Path, still: Callable[[Path], "Page"]
) -> None:
    """Matrix, route types, latency, means: equal to summary.json, with a word on the rest."""
    page = still(fitness_report)
    record = summary_of(fitness)
    matrix = record["sufficiency_latency_matrix"]
    rows = page.locator(".matrix tbody tr")
    kinds = ["sufficient", "route_timeout", "route_error", "missing_id", "weak_scent"]
    for place, name in enumerate([*kinds, "forbidden_route"]):
        shown = digits(rows.nth(place).locator("td").all_inner_texts())
        counts = [matrix[name][status] for status in ("pass", "fail", "timeout", "unmeasured")]
        assert shown == [*counts, sum(counts)]
    for name, row in record["route_type_metrics"].items():
        said = page.locator("#routes tbody tr", has_text=name).inner_text()
        assert digits(said.split()[1:3]) == [row["task_count"], row["sufficiency_pass_count"]]
    summary = record["summary"]
    said = page.inner_text("#latency")
    for field in ("latency_pass_count", "latency_fail_count", "latency_unmeasured_count"):
        assert str(summary[field]) in said
    means = page.locator("#metrics tbody tr td:nth-child(2)").all_inner_texts()
    fields = ("mean_recall_at_packet", "mean_precision_at_packet", "mean_scent_coverage")
    assert [float(mean) for mean in means] == [round(summary[field], 4) for field in fields]
    assert "Scripts are blocked or off here." in page.inner_text("main")
    assert not page.is_visible("#list")
    debts = (fitness / "debts.jsonl").read_text("utf-8").splitlines()
    first = json.loads(debts[0])["debt_id"].partition(":")[2]
    assert first in page.inner_text("#tasks")


def test_a_recovery_page_holds_every_count(
    recovery_report: Path, recovery: Path, still: Callable[[Path], "Page"]
) -> None:
    """Completed and verified of each policy and kind, and which check failed first."""
    page = still(recovery_report)
    record = summary_of(recovery)
    for policy in record["policies"]:
        row = page.locator("#policies tbody tr", has_text=policy["policy"]).inner_text()
        for name in ("completed", "verified"):
            assert f"{policy['total'][name]} / {policy['total']['cells']}" in row
        failed = page.locator("#failed tbody tr", has_text=policy["policy"]).first
        counts = digits(failed.locator("td").all_inner_texts())
        assert sum(counts) == policy["total"]["cells"]
        kinds = page.locator("#kinds tbody tr", has_text=policy["policy"])
        assert kinds.count() == len(policy["by_failure_kind"])
        for place, stratum in enumerate(policy["by_failure_kind"]):
            assert f"{stratum['verified']} / {stratum['cells']}" in kinds.nth(place).inner_text()
    assert page.locator("#trials-section tbody tr").count() == 200
    assert "Scripts are blocked or off here." in page.inner_text("main")


def test_no_number_changes_when_the_script_runs(
    fitness_report: Path,
    recovery_report: Path,
    still: Callable[[Path], "Page"],
    visit: Visit,
) -> None:
    """The HTML and the script spell every number alike, and no place is empty in either."""
    read = "[...document.querySelectorAll('[data-n]')].map(e => e.textContent)"
    for path in (fitness_report, recovery_report):
        source = path.read_text("utf-8")
        stand = re.findall(r"<(?:span|text)[^>]* data-n=[^>]*>([^<]*)<", source)
        assert len(stand) > 50
        assert visit(path).evaluate(read) == stand
        assert "" not in stand
        still(path)


@pytest.mark.parametrize(
    "name", ["fitness_report", "recovery_report", "compare_report", "walker_report"]
)
def test_one_chart_of_each_figure_is_visible(
    request: pytest.FixtureRequest, name: str, visit: Visit
) -> None:
    """At 360, 768 and 1280 px, on paper too: never the wide and the narrow one together."""
    path: Path = request.getfixturevalue(name)
    page = visit(path)

    def seen() -> list[int]:
        figures: list[int] = page.evaluate(
            """() => [...document.querySelectorAll('figure')].map(figure =>
                 [...figure.querySelectorAll('svg.chart')]
                   .filter(chart => chart.getBoundingClientRect().height > 0).length)"""
        )
        return figures

    for width in (360, 640, 641, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert seen() == [1]
    page.emulate_media(media="print")
    assert seen() == [1]


def test_an_index_holds_every_count(
    index_page: Path, fitness: Path, recovery: Path, still: Callable[[Path], "Page"]
) -> None:
    """Both axes, both queues, the share with its denominator, completed and verified, digests."""
    page = still(index_page)
    summary = summary_of(fitness)["summary"]
    row = page.locator("#bundles > div > table > tbody > tr").first
    assert str(summary["sufficiency_fail_count"]) in row.locator("> td").nth(4).inner_text()
    cells = digits(row.locator(".small-matrix .number").all_inner_texts())
    assert sum(cells) == summary["task_count"]
    assert sum(cells[:3]) == summary["sufficiency_pass_count"]
    assert f"/ {summary['task_count'] - summary['vacuous_count']}" in row.inner_text()
    said = page.locator("#bundles").inner_text()
    for policy in summary_of(recovery)["policies"]:
        total = policy["total"]
        assert (
            f"{policy['policy']}: {total['completed']} completed, {total['verified']} verified"
            in said
        )
    assert page.locator("th .digest").count() == 2


def test_a_compare_page_holds_every_count(
    compare_report: Path, sides: tuple[Path, Path], still: Callable[[Path], "Page"]
) -> None:
    """Queues before and after, measures with their verdicts, and the first 200 changes."""
    import msgspec

    from wayproof.compare import compare_bundles

    record = json.loads(msgspec.json.encode(compare_bundles(*sides)))
    page = still(compare_report)
    for at, queue in enumerate(record["queues"]):
        said = " ".join(page.locator(".queue-change").nth(at).inner_text().split())
        assert f"{queue['before']} → {queue['after']} +{queue['new']} new" in said
    changed = [
        debt
        for queue in record["queues"]
        for debt in queue["debts"]
        if debt["change"] != "carried" or debt["before"] != debt["after"]
    ]
    rows = page.locator("#changes .no-script tbody tr")
    assert rows.count() == min(200, len(changed))
    assert {debt["task_id"] for debt in changed[:200]} == {
        text.partition(" #")[0] for text in rows.locator("th").all_inner_texts()
    }


def test_the_script_hides_what_stands_in_for_it(fitness_report: Path, visit: Visit) -> None:
    """With scripts on there is no second list and no word on blocked scripts."""
    page = visit(fitness_report)
    assert page.is_visible("#list")
    assert page.locator(".no-script:visible").count() == 0
