"""The Explorer as a file: small, whole, and made from the suite it says."""

import json
from pathlib import Path

import pytest
from tools import explorer_sample, samples

from wayproof.canonical import canonical_bytes
from wayproof.cli import main
from wayproof.explorer.site import explorer_page
from wayproof.recovery.suite import PINNED_SUITES

FIRST_PAINT_BYTES = 300_000


def test_the_first_paint_is_small() -> None:
    """One file, everything in it: at most 300 KB."""
    assert sum(map(len, explorer_page().parts)) <= FIRST_PAINT_BYTES


def test_the_page_is_the_same_each_time() -> None:
    """No clock, no order of sets, no path: the same bytes."""
    assert b"".join(explorer_page().parts) == b"".join(explorer_page().parts)


def test_the_sample_is_what_a_run_of_its_suite_gives(tmp_path: Path) -> None:
    """Remade from a fresh run, the committed sample has the same bytes."""
    bundle = samples.recovery_bundle(tmp_path, "explorer-sample")
    made = explorer_sample.sample_of(bundle, PINNED_SUITES["wfrb-v0"])
    assert canonical_bytes(made) + b"\n" == explorer_sample.SAMPLE.read_bytes()


def test_the_sample_is_distinct_from_the_benchmark() -> None:
    """Another suite: no grid, no id and no digest in common with wfrb-v0."""
    from wayproof.recovery.suite import suite_path

    sample = json.loads(explorer_sample.SAMPLE.read_text("utf-8"))
    lines = suite_path("wfrb-v0").read_text("utf-8").splitlines()[1:]
    official = [json.loads(line) for line in lines]
    for field in ("grid_id", "rows"):
        assert not {str(grid[field]) for grid in sample["grids"]} & {
            str(grid[field]) for grid in official
        }
    assert sample["pins"]["wfrb-v0"] != sample["suite_sha256"]


def test_explore_writes_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """stdout names the page; what stands there is kept unless --overwrite."""
    out = tmp_path / "site"
    assert main(["explore", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out / 'index.html'}\n"
    assert main(["explore", "--out", str(out)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["explore", "--out", str(out), "--overwrite"]) == 0
    capsys.readouterr()
    assert main(["verify", str(out)]) == 0
    assert "not logs of WFRB agents" in capsys.readouterr().out


def test_the_default_folder_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Asking twice is no error; a folder of somebody else's is still kept."""
    monkeypatch.chdir(tmp_path)
    assert main(["explore"]) == 0
    assert main(["explore"]) == 0
    manifest = tmp_path / "wayproof-explorer" / "manifest.json"
    manifest.unlink()
    assert main(["explore"]) == 2
    assert "already exists" in capsys.readouterr().err


def test_bare_explore_replaces_nothing_but_an_explorer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bundle, a report or an edited page at the default place is kept without --overwrite."""
    monkeypatch.chdir(tmp_path)
    bundle = samples.fitness_bundle(tmp_path, 3)
    assert main(["report", str(bundle), "--out", "report"]) == 0
    assert main(["explore", "--out", "edited"]) == 0
    Path("edited/index.html").write_text("mine")
    for standing in (bundle, Path("report"), Path("edited")):
        place = standing.rename("wayproof-explorer")
        before = {file.name: file.read_bytes() for file in place.iterdir()}
        assert main(["explore"]) == 2
        assert "already exists" in capsys.readouterr().err
        assert {file.name: file.read_bytes() for file in place.iterdir()} == before
        place.rename(tmp_path / f"kept-{standing.name}")
