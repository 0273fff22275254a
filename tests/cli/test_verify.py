"""`wayproof verify`: no kind of bundle is a way around another's checks."""

import hashlib
from pathlib import Path

import pytest

from conftest import RunWayproof
from wayproof.canonical import canonical_bytes

EVIL = "\x1b[2Jofficial\u202e"


def _as_report(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    manifest = {
        "schema_version": "wayproof.bundle/1",
        "kind": "report",
        "files": {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in files.items()
        },
        "inputs": {EVIL: {"bytes": 0, "sha256": "0" * 64}},
        "settings": {},
        "limits": [EVIL],
        "varies": {},
    }
    (folder / "manifest.json").write_bytes(canonical_bytes(manifest) + b"\n")


def test_evidence_cannot_pass_as_a_report(tmp_path: Path, wayproof: RunWayproof) -> None:
    """Relabelling a forged bundle's kind doesn't switch its audit off."""
    _as_report(tmp_path / "forged", {"results.jsonl": b"{}\n", "summary.json": b"{}\n"})
    ran = wayproof("verify", tmp_path / "forged")
    assert (ran.status, ran.out) == (3, "")
    assert "results.jsonl: not a file of this kind of bundle; expected *.html" in ran.err


def test_a_report_is_no_evidence_and_says_so(tmp_path: Path, wayproof: RunWayproof) -> None:
    """Digests only; what a stranger wrote into the manifest is shown harmlessly."""
    _as_report(tmp_path / "report", {"index.html": b"<!doctype html>"})
    ran = wayproof("verify", tmp_path / "report")
    assert ran.status == 0
    assert "a report is no evidence" in ran.out
    assert ran.out.splitlines()[-1] == "verified: digests only"
    assert not set(ran.out) & set("\x1b\u202e")


@pytest.mark.parametrize("name", ["x" * 300, "x" * 5000, "no/such/place", ""])
def test_any_path_is_answered_with_one_line(
    tmp_path: Path, name: str, wayproof: RunWayproof
) -> None:
    """Whatever is given as a folder."""
    ran = wayproof("verify", name, cwd=tmp_path)
    assert (ran.status, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1


def test_options_of_another_kind_are_not_ignored(tmp_path: Path, wayproof: RunWayproof) -> None:
    """`--tasks` on a report is a misunderstanding, not a request to drop."""
    _as_report(tmp_path / "report", {"index.html": b"<!doctype html>"})
    ran = wayproof("verify", tmp_path / "report", "--tasks", "t", "--packets", "p")
    assert ran.status == 2
    assert "--tasks: this kind of bundle has no such inputs" in ran.err


def test_words_of_the_data_are_no_settings(tmp_path: Path, wayproof: RunWayproof) -> None:
    """`{out}` in a bundle stays as it is: only messages of ours spell options."""
    (tmp_path / "tasks.jsonl").write_text('{"task_id":"{out}","expected_artifacts":["{tasks}"]}\n')
    (tmp_path / "packets.jsonl").write_text('{"task_id":"{out}","selected_artifacts":["x"]}\n')
    wayproof(
        *("fitness", "score", "--tasks", "tasks.jsonl", "--packets", "packets.jsonl"),
        *("--out", "scored"),
        cwd=tmp_path,
    )
    results = tmp_path / "scored" / "results.jsonl"
    whole = results.read_text()
    for old, new in (('"{tasks}"', '"{packets}"'), ('"missing_id"', '"{overwrite}"')):
        results.write_text(whole.replace(old, new, 1))
        ran = wayproof("verify", "scored", cwd=tmp_path)
        assert (ran.status, ran.out) == (3, "")
        assert "first thing that doesn't hold" in ran.err
        assert "{" in ran.err
        assert "--" not in ran.err
