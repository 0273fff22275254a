"""From bundles to pages: what is counted, what is left out, what is refused."""

import html
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest
from tools import samples

from wayproof.bundles.reader import LineFile, open_bundle
from wayproof.cli import main
from wayproof.errors import InputError, IntegrityError
from wayproof.report.chart import NARROW_SHARES, Interval, bar_chart, column_chart, share_chart
from wayproof.report.fitness_page import FitnessLimits, fitness_pages
from wayproof.report.provenance import NO_PROVENANCE
from wayproof.report.recovery_page import RecoveryLimits, recovery_pages
from wayproof.report.run import bundle_names, run_facts
from wayproof.web.numbers import english_number
from wayproof.web.page import Page


@pytest.fixture(scope="module")
def fitness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return samples.fitness_bundle(tmp_path_factory.mktemp("fitness"), 400)


@pytest.fixture(scope="module")
def recovery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return samples.recovery_bundle(tmp_path_factory.mktemp("recovery"), "explorer-sample")


def text_of(page: Page) -> str:
    return b"".join(page.parts).decode("utf-8")


def block_text(text: str, name: str) -> str:
    opening = f'<script type="application/json" id="{name}">'
    found = re.search(f"{opening}(.*?)</script>", text, re.DOTALL)
    assert found is not None
    return found[1]


def block(text: str, name: str) -> Any:
    return json.loads(block_text(text, name))


def lines_of_block(text: str, name: str) -> list[Any]:
    return [json.loads(line) for line in block_text(text, name).splitlines()]


def first_page(bundle: Path, **settings: Any) -> str:
    pages = fitness_pages(open_bundle(bundle), NO_PROVENANCE, may_page=False, **settings)
    return text_of(next(pages))


def test_every_result_is_listed_and_has_its_panel(fitness: Path) -> None:
    """A report that leaves nothing out says nothing of leaving out."""
    text = first_page(fitness)
    results = [
        json.loads(line) for line in (fitness / "results.jsonl").read_text("utf-8").splitlines()
    ]
    columns = block(text, "columns")
    assert columns["ids"] == [each["task_id"] for each in results]
    assert columns["line"] == list(range(1, 401))
    assert [each["result"] for each in lines_of_block(text, "details")] == results
    assert 'id="left-out"' not in text


def test_a_full_file_serves_debts_first_and_counts_the_rest(fitness: Path) -> None:
    """Panels go to debts before sufficient results, and the file says how many are missing."""
    text = first_page(fitness, limits=FitnessLimits(panel_bytes=60_000))
    columns = block(text, "columns")
    missing = [place for place, at in enumerate(columns["detail"]) if at < 0]
    kept = [place for place, at in enumerate(columns["detail"]) if at >= 0]
    is_debt = [
        kind > 0 or status in {1, 2}
        for kind, status in zip(columns["kind"], columns["latency"], strict=True)
    ]
    assert kept
    assert missing
    assert all(is_debt[place] for place in kept) or not any(is_debt[place] for place in missing)
    said = re.search(r'id="left-out">.*?data-n="(\d+)"', text, re.DOTALL)
    assert said is not None
    assert int(said[1]) == len(missing)


def test_a_list_has_an_end_and_says_so(fitness: Path) -> None:
    """Beyond the longest list, results are counted and not listed."""
    text = first_page(fitness, limits=FitnessLimits(listed_results=150))
    assert len(block(text, "columns")["ids"]) == 150
    said = re.search(r'id="left-out">.*?data-n="(\d+)"', text, re.DOTALL)
    assert said is not None
    assert said[1] == "250"


def test_a_folder_holds_every_panel_once(fitness: Path) -> None:
    """Pages share the panels out; each entry leads to the page and place of its own."""
    limits = FitnessLimits(panel_bytes=60_000)
    texts = {
        page.name: text_of(page)
        for page in fitness_pages(open_bundle(fitness), NO_PROVENANCE, may_page=True, limits=limits)
    }
    assert len(texts) > 2
    columns = block(texts["index.html"], "columns")
    details = {name: lines_of_block(text, "details") for name, text in texts.items()}
    assert sum(map(len, details.values())) == 400
    for place, identity in enumerate(columns["ids"]):
        if columns["detail"][place] >= 0:
            found = details["index.html"][columns["detail"][place]]
        else:
            name, wanted = columns["panel_link"][place].split("#task=")
            there = block(texts[name], "columns")
            assert unquote(wanted) == identity
            found = details[name][there["detail"][there["ids"].index(identity)]]
        assert found["result"]["task_id"] == identity


def test_the_same_bundle_gives_the_same_bytes(fitness: Path, recovery: Path) -> None:
    """No clock and no path in a page."""
    assert first_page(fitness) == first_page(fitness)
    pages = [text_of(next(recovery_pages(open_bundle(recovery)))) for _ in range(2)]
    assert pages[0] == pages[1]


def test_summary_only_bundles_have_a_report(tmp_path: Path) -> None:
    """Counts and limits without lists; the page says that there are none."""
    samples.fitness_bundle(tmp_path, 20)
    shutil.rmtree(tmp_path / "fitness")
    bundle = samples.scored(tmp_path, "--summary-only")
    text = first_page(bundle)
    assert "The bundle holds a summary only" in text
    assert 'id="columns"' not in text


def test_an_empty_suite_has_a_report(tmp_path: Path) -> None:
    """No task at all: zeros and dashes, no division by zero."""
    bundle = samples.fitness_bundle(tmp_path, 0)
    assert block(first_page(bundle), "columns")["ids"] == []


def test_scent_terms_and_sources_come_from_the_very_inputs(
    fitness: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the tasks and packets that were scored, panels know more; with others, exit 2."""
    out = tmp_path / "report.html"
    tasks, packets = (fitness.parent / name for name in ("tasks.jsonl", "packets.jsonl"))
    inputs = ["--tasks", str(tasks), "--packets", str(packets)]
    assert main(["report", str(fitness), "--out", str(out), *inputs]) == 0
    details = lines_of_block(out.read_text("utf-8"), "details")
    assert sum("scent_terms" in each for each in details) == 400
    assert any(each.get("source", {}).get("file") == "sessions/day.jsonl" for each in details)
    other = tmp_path / "other.jsonl"
    other.write_bytes(tasks.read_bytes() + b"\n")
    again = tmp_path / "again.html"
    assert main(["report", str(fitness), "--out", str(again), "--tasks", str(other)]) == 2
    assert "not the tasks that this bundle was scored from" in capsys.readouterr().err
    assert not again.exists()


def test_every_trial_is_listed_with_its_steps(recovery: Path) -> None:
    """Lists, grids and steps of a recovery bundle, packed without loss."""
    text = text_of(next(recovery_pages(open_bundle(recovery))))
    traces = [
        json.loads(line) for line in (recovery / "traces.jsonl").read_text("utf-8").splitlines()
    ]
    trials = block(text, "trials")
    steps = lines_of_block(text, "steps")
    grids = block(text, "grids")
    assert len(trials["steps"]) == len(traces)
    recorded = {(each["scenario_id"], each["policy"], each["policy_seed"]): each for each in traces}
    for place, at in enumerate(trials["steps"]):
        key = (
            trials["scenarios"][trials["scenario"][place]],
            trials["policies"][trials["policy"][place]],
            trials["seed"][place],
        )
        assert len(steps[at]) == len(recorded[key]["steps"])
        assert steps[at][-1][-1] == recorded[key]["steps"][-1]["spent"]
        assert trials["grids"][trials["grid"][place]] in grids


def test_left_out_steps_are_whole_grids(recovery: Path) -> None:
    """What doesn't fit is left out grid by grid, the same for every policy, and said."""
    pages = recovery_pages(open_bundle(recovery), limits=RecoveryLimits(step_bytes=20_000))
    text = text_of(next(pages))
    trials = block(text, "trials")
    with_steps = [grid for grid, at in zip(trials["grid"], trials["steps"], strict=True) if at >= 0]
    without = [grid for grid, at in zip(trials["grid"], trials["steps"], strict=True) if at < 0]
    assert max(with_steps) <= min(without)
    assert "listed trials are here without their steps" in text


def test_an_edited_bundle_has_no_report(recovery: Path, tmp_path: Path) -> None:
    """A report never shows what its bundle's manifest doesn't vouch for."""
    forged = shutil.copytree(recovery, tmp_path / "forged")
    path = forged / "results.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"completed":false', b'"completed":true ', 1))
    with pytest.raises(IntegrityError, match="digest"):
        open_bundle(forged)


def remade(bundle: Path, name: str, old: bytes, new: bytes) -> Path:
    """Edit a file and its digest in the manifest."""
    from wayproof.canonical import canonical_bytes, sha256_hex

    data = (bundle / name).read_bytes()
    assert old in data
    (bundle / name).write_bytes(data.replace(old, new, 1))
    path = bundle / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    data = (bundle / name).read_bytes()
    manifest["files"][name] = {"bytes": len(data), "sha256": sha256_hex(data)}
    path.write_bytes(canonical_bytes(manifest) + b"\n")
    return bundle


@pytest.mark.parametrize(
    ("kind", "name", "old", "new", "error"),
    [
        ("fitness", "summary.json", b'"missing_id":{"fail":', b'"missing_id":{"fail":9', "follow"),
        ("fitness", "summary.json", b'"task_count"', b'"task_cnt"', "task_count"),
        (
            "fitness",
            "results.jsonl",
            b'"latency_status":"pass"',
            b'"latency_status":"?"',
            "latency",
        ),
        ("fitness", "results.jsonl", b'"task_id"', b'"task_ix"', "results.jsonl:1"),
        ("fitness", "results.jsonl", b'"latency_budget_ms":', b'"latency_budget_ms":-', "results"),
        ("recovery", "results.jsonl", b'"final_cost":', b'"final_cost":-', "final_cost"),
        ("recovery", "results.jsonl", b'"budget":', b'"budget":99999999999999999999', "budget"),
        ("recovery", "summary.json", b'"verified":72', b'"verified":73', "follow"),
        ("recovery", "results.jsonl", b'"failure_kind":"coll', b'"failure_kind":"x', "unknown"),
        ("recovery", "traces.jsonl", b'"policy_seed":0', b'"policy_seed":7', "without a trace"),
        ("recovery", "traces.jsonl", b'"phase":"prefix"', b'"phase":"prelude"', "phase"),
    ],
)
def test_a_bundle_that_contradicts_itself_is_refused(
    fitness: Path,
    recovery: Path,
    tmp_path: Path,
    kind: str,
    name: str,
    old: bytes,
    new: bytes,
    error: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Even with digests that agree: a message with file and place, and nothing written."""
    source = fitness if kind == "fitness" else recovery
    bundle = remade(shutil.copytree(source, tmp_path / "bundle"), name, old, new)
    out = tmp_path / "report.html"
    assert main(["report", str(bundle), "--out", str(out)]) in {2, 3}
    said = capsys.readouterr().err
    assert error in said
    assert name in said
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_one_file_holds_one_bundle(
    fitness: Path, recovery: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Several bundles need a folder, which gets an index over them."""
    both = [str(fitness), str(recovery)]
    assert main(["report", *both, "--out", str(tmp_path / "x.html")]) == 2
    assert "several bundles" in capsys.readouterr().err
    assert main(["report", *both, "--out", str(tmp_path / "x")]) == 0
    names = sorted(path.name for path in (tmp_path / "x").iterdir())
    assert names == ["01-fitness.html", "02-recovery.html", "index.html", "manifest.json"]
    index = (tmp_path / "x" / "index.html").read_text("utf-8")
    assert all(f'href="{name}"' in index for name in names[:2])


def test_what_stands_there_is_kept(
    fitness: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file is replaced only with --overwrite; a folder never by a file."""
    out = tmp_path / "report.html"
    out.write_text("mine")
    assert main(["report", str(fitness), "--out", str(out)]) == 2
    assert out.read_text() == "mine"
    assert main(["report", str(fitness), "--out", str(out), "--overwrite"]) == 0
    assert out.read_text("utf-8").startswith("<!doctype html>")
    out.unlink()
    out.mkdir()
    assert main(["report", str(fitness), "--out", str(out), "--overwrite"]) == 2
    assert "already exists" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [out]


def test_a_write_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    """Half a page is no page."""
    from wayproof.web.write import write_file

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise InputError("the disk is full of sand")

    with pytest.raises(InputError, match="sand"):
        write_file(Page("x.html", broken()), tmp_path / "x.html", overwrite=False)
    assert list(tmp_path.iterdir()) == []


def test_recovery_has_no_tasks(
    recovery: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option that can't mean anything is refused, not passed over."""
    out = str(tmp_path / "r.html")
    assert main(["report", str(recovery), "--out", out, "--tasks", "t.jsonl"]) == 2
    assert "no tasks and packets" in capsys.readouterr().err


def test_a_report_is_not_a_bundle_to_report_on(
    fitness: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says what is expected instead."""
    assert main(["report", str(fitness), "--out", str(tmp_path / "r")]) == 0
    assert main(["report", str(tmp_path / "r"), "--out", str(tmp_path / "q")]) == 2
    assert "expected fitness or private or" in capsys.readouterr().err


def test_lines_are_found_by_number(tmp_path: Path) -> None:
    """The first, the last, an empty one; a cut-off file is refused."""
    path = tmp_path / "lines"
    path.write_bytes(b"one\n\nthree\n")
    with LineFile(path) as lines:
        assert list(lines) == [b"one", b"", b"three"]
        assert [lines.line(number) for number in range(3)] == [b"one", b"", b"three"]
        assert lines.size_bytes(2) == 5
    path.write_bytes(b"one\ntw")
    with LineFile(path) as lines, pytest.raises(InputError, match="cut off"):
        list(lines)


def test_small_bars_are_seen_and_none_is_none() -> None:
    """A count of one beside a million still has a mark; zero has none; upright or lying."""
    counts = [0, 1, 1_000_000]
    assert [bar.height for bar in column_chart(counts)] == [0, 1, 150]
    assert [bar.width for bar in bar_chart(counts)] == [0, 1, 150]


def test_shares_stand_at_their_place_on_the_axis() -> None:
    """A half stands in the middle, none has no bar, and the interval's ends are the ends."""
    measured = [
        Interval("completed", 0.5, 0.25, 0.75, "1 / 2"),
        Interval("verified", None, 0, 1, "0 / 0"),
    ]
    chart = share_chart([("mine", measured)], NARROW_SHARES)
    completed, verified = chart.rows[0].marks
    assert completed.width == chart.ticks[1].x - chart.ticks[0].x == 110
    assert (completed.low, completed.high) == (65, 175)
    assert verified.width == 0
    assert (verified.low, verified.high) == (chart.ticks[0].x, chart.ticks[-1].x)


def scored_records(
    folder: Path, tasks: list[dict[str, Any]], packets: list[dict[str, Any]]
) -> Path:
    for name, rows in (("tasks", tasks), ("packets", packets)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    return samples.scored(folder)


def test_a_cut_off_time_is_in_no_bin_of_the_latency_chart(tmp_path: Path) -> None:
    """A timeout's time says when it was cut, not how long it takes: it has a column of its own."""
    walls = {"fast": 10, "edge": 100, "late": 150, "cut": 100, "cut-later": 9000}
    tasks = [
        {"task_id": name, "latency_budget_ms": 100, "expected_artifacts": ["a"]} for name in walls
    ]
    packets = [
        {"task_id": name, "wall_ms": wall, "timed_out": name.startswith("cut")}
        for name, wall in walls.items()
    ]
    text = first_page(scored_records(tmp_path, tasks, packets))
    table = text[text.index('data-t="chart.table"') : text.index("</figure>")]
    counts = [
        int(count)
        for count in re.findall(r'<td class="number"><a[^>]*><span data-n="(\d+)"', table)
    ]
    assert counts == [1, 0, 0, 1, 1, 0, 0, 0, 2, 0]


def test_shares_say_over_how_many_that_could_fail(tmp_path: Path) -> None:
    """What expects nothing is in no share: 1 of 3 that could fail, not 3 of 5."""
    tasks: list[dict[str, Any]] = [
        {"task_id": f"empty-{number}", "route_type": "mixed"} for number in range(2)
    ]
    tasks += [
        {"task_id": f"real-{number}", "expected_artifacts": ["a"], "route_type": "mixed"}
        for number in range(3)
    ]
    packets: list[dict[str, Any]] = [
        {"task_id": each["task_id"], "selected_artifacts": []} for each in tasks
    ]
    packets[2]["selected_artifacts"] = ["a"]
    text = first_page(scored_records(tmp_path, tasks, packets))
    figure = re.search(r'data-t="routes.sufficient">.*?</dd>', text)
    assert figure is not None
    assert re.findall(r'data-n="([\d.]+)"', figure[0]) == [str(1 / 3), "1", "3"]
    assert "vacuous" in text[text.index('id="vacuous"') :][:400]
    route = text[text.index("<bdi>mixed</bdi>", text.index('id="routes"')) :]
    row = re.findall(r'data-n="([\d.]+)"', route[: route.index("</tr>")])
    assert row == ["5", "3", str(1 / 3), "3", "2", "0"]


def test_the_share_in_time_is_over_what_was_timed(tmp_path: Path) -> None:
    """Unmeasured time is in no share: 1 of 3 measured or cut off, not 1 of 4."""
    tasks: list[dict[str, Any]] = [
        {"task_id": f"t-{number}", "expected_artifacts": ["a"], "latency_budget_ms": 10}
        for number in range(4)
    ]
    times: list[dict[str, Any]] = [{"wall_ms": 5}, {"wall_ms": 50}, {"timed_out": True}, {}]
    packets = [
        {"task_id": task["task_id"], "selected_artifacts": ["a"], **time}
        for task, time in zip(tasks, times, strict=True)
    ]
    figure = re.search(
        r'data-t="latency.within">.*?</dd>', first_page(scored_records(tmp_path, tasks, packets))
    )
    assert figure is not None
    assert re.findall(r'data-n="([\d.]+)"', figure[0]) == [str(1 / 3), "1", "3"]


def test_nothing_that_could_fail_has_no_share(tmp_path: Path) -> None:
    """0 of 0 is a dash, never 100 %."""
    bundle = samples.fitness_bundle(tmp_path, 0)
    text = first_page(bundle)
    figure = re.search(r'data-t="routes.sufficient">.*?</dd>', text)
    assert figure is not None
    assert "–" in figure[0]
    assert "%" not in figure[0]


def test_a_page_names_its_run(fitness: Path, recovery: Path, tmp_path: Path) -> None:
    """The bundle's name stands in title and heading; version, time and command are folded away."""
    for source in (fitness, recovery):
        bundle = shutil.copytree(source, tmp_path / f"night-{source.name}")
        opened = open_bundle(bundle)
        text = first_page(bundle) if source is fitness else text_of(next(recovery_pages(opened)))
        heading = re.search(r"<h1>.*?</h1>", text)
        assert heading is not None
        assert bundle.name in heading[0]
        assert re.search(rf"<title>{bundle.name} ", text)
        folded = text[text.index('<details class="run-facts') :]
        folded = folded[: folded.index("</details>")]
        assert opened.manifest.varies["started_at"] in folded
        assert opened.manifest.varies["wayproof"] in folded


def test_two_bundles_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """By as many folders as it takes, and by a number where they are the same place."""
    folders = [tmp_path / "a" / "run", tmp_path / "b" / "run", tmp_path / "c"]
    assert bundle_names(folders) == ["a/run", "b/run", "c"]
    names = bundle_names([folders[0], folders[0]])
    assert len(set(names)) == 2


def test_a_manifests_odd_words_are_left_out(fitness: Path) -> None:
    """What isn't text is no fact of a run; the command's program is shown without its folder."""
    bundle = open_bundle(fitness)
    odd = {"wayproof": 7, "started_at": None, "argv": ["/opt/bin/wayproof", "a b"]}
    forged = bundle._replace(manifest=msgspec.structs.replace(bundle.manifest, varies=odd))
    assert run_facts(forged, "x").facts == [("command", "wayproof 'a b'")]
    empty = bundle._replace(manifest=msgspec.structs.replace(bundle.manifest, varies={"argv": [1]}))
    assert run_facts(empty, "x").facts == []


def visible_text(text: str) -> str:
    """Text of a page's body, without data blocks and scripts."""
    body = re.sub(r"<script.*?</script>|<style.*?</style>", "", text, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", body))


def test_the_html_holds_the_first_debts(fitness: Path) -> None:
    """Without scripts the first 200 debts are there, missing ids by name, the rest counted."""
    text = first_page(fitness)
    results = [
        json.loads(line) for line in (fitness / "results.jsonl").read_text("utf-8").splitlines()
    ]
    debts = [
        each
        for each in results
        if each["sufficiency_status"] == "fail" or each["latency_status"] in {"fail", "timeout"}
    ]
    said = visible_text(text)
    assert len(debts) > 3
    for each in debts[:200]:
        assert each["task_id"] in said
        assert all(name in said for name in each["missing_expected_artifacts"][:3])
    assert f"{len(debts) - 200} more are not in this table" in " ".join(said.split()) or (
        len(debts) <= 200
    )


@pytest.mark.parametrize(
    ("value", "digits", "unit", "text"),
    [
        (0, 0, "", "0"),
        (1234567, 0, "", "1,234,567"),
        (2.5, 0, "", "3"),
        (0.125, 2, "", "0.13"),
        (12.5, 3, "", "12.5"),
        (1e21, 0, "", "1,000,000,000,000,000,000,000"),
        (None, 0, "", "–"),
        (0.99996, 4, "mean", "0.99996"),
        (1, 4, "mean", "1"),
        (0.5, 1, "share", "50.0%"),
        (0.99999, 1, "share", "99.999%"),
        (0.0001, 1, "share", "0.01%"),
        (1, 1, "share", "100.0%"),
        (0, 1, "share", "0.0%"),
    ],
)
def test_numbers_are_spelled_as_the_script_spells_them(
    value: float | None, digits: int, unit: str, text: str
) -> None:
    """English grouping, rounding half up, and nothing rounded to all or nothing that isn't."""
    assert english_number(value, digits, unit) == text


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("fitness", "results.jsonl"),
        ("fitness", "summary.json"),
        ("recovery", "results.jsonl"),
        ("recovery", "traces.jsonl"),
        ("recovery", "suite.jsonl"),
    ],
)
def test_a_bundle_without_a_file_of_its_kind_is_named(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    name: str,
) -> None:
    """The file that is missing, status 3, and nothing written."""
    from wayproof.canonical import canonical_bytes

    bundle = shutil.copytree(request.getfixturevalue(kind), tmp_path / "bundle")
    (bundle / name).unlink()
    manifest = json.loads((bundle / "manifest.json").read_text("utf-8"))
    del manifest["files"][name]
    (bundle / "manifest.json").write_bytes(canonical_bytes(manifest) + b"\n")
    assert main(["report", str(bundle), "--out", str(tmp_path / "r.html")]) == 3
    said = capsys.readouterr().err
    assert "lacks a file of its kind" in said
    assert name in said
    assert not (tmp_path / "r.html").exists()
