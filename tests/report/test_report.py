"""From bundles to pages: what is counted, what is left out, what is refused."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tools import samples

from wayproof.cli import main
from wayproof.errors import InputError, IntegrityError
from wayproof.report.chart import column_chart, share_position
from wayproof.report.fitness_page import FitnessLimits, fitness_pages
from wayproof.report.provenance import NO_PROVENANCE
from wayproof.report.read import LineFile, open_bundle
from wayproof.report.recovery_page import RecoveryLimits, recovery_pages
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
            name, index = columns["page"][place].split("#result=")
            there = block(texts[name], "columns")
            assert there["ids"][int(index)] == identity
            found = details[name][there["detail"][int(index)]]
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
    assert "expected fitness or recovery" in capsys.readouterr().err


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


def test_small_columns_are_seen_and_none_is_none() -> None:
    """A count of one beside a million still has a mark; zero has none."""
    bars = column_chart([0, 1, 1_000_000], slot=10, width=6, height=100, baseline=100)
    assert [bar.height for bar in bars] == [0, 1, 100]
    assert share_position(None, left=0, width=10) is None
    assert share_position(0.5, left=10, width=10) == 15


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
