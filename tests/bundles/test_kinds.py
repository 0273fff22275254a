"""The kinds of bundles: one row a kind, and everything else follows from the row."""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from conftest import RunWayproof
from wayproof.bundles.kinds import KINDS, BundleFile, BundleKind, CheckReport, CheckRequest, load
from wayproof.bundles.manifest import Manifest, read_manifest
from wayproof.bundles.reader import open_bundle
from wayproof.bundles.writer import BundleWriter
from wayproof.canonical import Record, canonical_bytes
from wayproof.cli import main
from wayproof.errors import IntegrityError


class Note(Record, frozen=True):
    """The record of a toy kind."""

    text: str


def check_notes(folder: Path, manifest: Manifest, request: CheckRequest) -> CheckReport:
    """Check a toy bundle: its notes are signed "yours"."""
    del manifest, request
    if not (folder / "notes.jsonl").read_bytes().endswith(b'"yours"}\n'):
        raise IntegrityError("not signed", file=str(folder / "notes.jsonl"), line=1)
    return CheckReport(("notes: signed",), "verified", own_words=("verified\nby me",))


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """One module and one row: all that a new kind takes."""
    module = ModuleType("toy_notes")
    vars(module).update(Note=Note, check=check_notes)
    monkeypatch.setitem(sys.modules, "toy_notes", module)
    row = BundleKind(
        "notes", (BundleFile("notes.jsonl", record="toy_notes:Note"),), checker="toy_notes:check"
    )
    monkeypatch.setitem(KINDS, "notes", row)


def write_toy(out: Path, text: bytes = b'{"text":"yours"}\n') -> Path:
    with BundleWriter(out, kind="notes") as bundle:
        bundle.write("notes.jsonl", text)
        bundle.commit(inputs={}, settings={}, limits=["a toy"])
    return out


@pytest.mark.usefixtures("toy")
def test_a_kind_is_one_module_and_one_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Written, read and verified; a report says kindly that the kind has no page."""
    out = write_toy(tmp_path / "out")
    assert open_bundle(out).kind.name == "notes"
    record = load(open_bundle(out).kind.files[0].record or "")
    assert record is Note
    assert main(["verify", str(out)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "digests: 1 files match the manifest",
        "notes: signed",
        r'the bundle says of itself, unchecked: "verified\x0aby me"',
        "verified",
    ]
    assert main(["report", str(out), "--out", str(tmp_path / "report")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "no report for this kind of bundle; expected fitness or private or" in said.err
    forged = write_toy(tmp_path / "forged", b'{"text":"mine"}\n')
    assert main(["verify", str(forged)]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert "notes.jsonl:1: not signed" in said.err


@pytest.mark.usefixtures("toy")
def test_a_writer_keeps_to_the_files_of_its_kind(tmp_path: Path) -> None:
    """No bundle is born that its own reader would refuse."""
    with BundleWriter(tmp_path / "out", kind="notes") as bundle:
        for name in ("other.jsonl", "notes.sig.json"):
            with pytest.raises(ValueError, match="not a name for an evidence file of a notes"):
                bundle.open(name)
        with pytest.raises(ValueError, match="not the files of a notes bundle"):
            bundle.commit(inputs={}, settings={}, limits=[])
    with pytest.raises(KeyError):
        BundleWriter(tmp_path / "out", kind="unheard-of")


def test_every_row_leads_somewhere() -> None:
    """What a row names is there, under the name that it is listed by."""
    for name, kind in KINDS.items():
        assert kind.name == name
        places = [kind.checker, kind.page_maker, kind.comparison, *(f.record for f in kind.files)]
        assert all(load(place) is not None for place in places if place is not None)


def test_a_bundle_of_an_unknown_kind_is_named(
    tmp_path: Path, wayproof: RunWayproof, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 2 and the kinds that are known; nothing of it is trusted."""
    monkeypatch.setitem(KINDS, "notes", BundleKind("notes", (BundleFile("notes.jsonl"),), "x:y"))
    out = write_toy(tmp_path / "out")
    monkeypatch.delitem(KINDS, "notes")
    for command in (("verify", out), ("report", out, "--out", tmp_path / "report")):
        ran = wayproof(*command)
        assert (ran.status, ran.out) == (2, "")
        assert "unknown kind of bundle" in ran.err


# -- detached signatures --------------------------------------------------------------


@pytest.mark.usefixtures("toy")
def test_signatures_may_stand_beside_the_evidence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A signature is made after the manifest: no surplus file, and never taken for checked."""
    out = write_toy(tmp_path / "out")
    (out / "client.sig.json").write_text("{}")
    assert main(["verify", str(out)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-2:] == ["signature client.sig.json: not checked", "verified"]
    (out / "client.sig.json").write_bytes(b" " * ((1 << 20) + 1))
    assert main(["verify", str(out)]) == 3
    assert "too large for a signature" in capsys.readouterr().err


@pytest.mark.usefixtures("toy")
def test_a_name_of_a_signature_is_no_name_for_evidence(tmp_path: Path) -> None:
    """Nothing that the manifest vouches for may pass as a signature, nor the reverse."""
    out = write_toy(tmp_path / "out")
    data = (out / "manifest.json").read_bytes()
    digest = b'{"bytes":2,"sha256":"%s"}' % hashlib.sha256(b"{}").hexdigest().encode()
    (out / "manifest.json").write_bytes(
        data.replace(b'"files":{', b'"files":{"a.sig.json":%s,' % digest)
    )
    with pytest.raises(Exception, match="outside the bundle"):
        read_manifest(out)


@pytest.mark.usefixtures("toy")
def test_a_signed_bundle_is_not_replaced(tmp_path: Path) -> None:
    """A signature is somebody's work: `--overwrite` doesn't take it along."""
    out = write_toy(tmp_path / "out")
    (out / "client.sig.json").write_text("{}")
    with pytest.raises(Exception, match=r'also "client\.sig\.json"'):
        BundleWriter(out, kind="notes", overwrite=True)
    assert (out / "client.sig.json").is_file()


# -- files that are none --------------------------------------------------------------


def make_report(folder: Path) -> Path:
    folder.mkdir()
    (folder / "index.html").write_bytes(b"<!doctype html>")
    digest = hashlib.sha256(b"<!doctype html>").hexdigest()
    manifest = {
        "schema_version": "wayproof.bundle/1",
        "kind": "report",
        "files": {"index.html": {"bytes": 15, "sha256": digest}},
        "inputs": {},
        "settings": {},
        "limits": [],
        "varies": {},
    }
    (folder / "manifest.json").write_bytes(canonical_bytes(manifest) + b"\n")
    return folder


def make_fitness(folder: Path) -> Path:
    from wayproof.fitness.score import ScoreRequest, score

    tasks, packets = folder.with_suffix(".tasks"), folder.with_suffix(".packets")
    tasks.write_text('{"task_id":"a","expected_artifacts":["x"]}\n')
    packets.write_text('{"task_id":"a","selected_artifacts":["x"],"wall_ms":1}\n')
    score(ScoreRequest(tasks=tasks, packets=packets), folder)
    return folder


def make_recovery(folder: Path) -> Path:
    from wayproof.recovery.agents.controls import controls_named
    from wayproof.recovery.run import RunRequest, run_suite
    from wayproof.recovery.suite import suite_path

    run_suite(
        RunRequest(
            suite_path("explorer-sample"), policies=controls_named(("planner",)), policy_seeds=(0,)
        ),
        folder,
    )
    return folder


MAKERS = {"report": make_report, "fitness": make_fitness, "recovery": make_recovery}
STRANGERS: dict[str, Callable[[Path], object]] = {
    "missing": lambda _path: None,
    "a link": lambda path: path.symlink_to("/dev/zero"),
    "a pipe": os.mkfifo,
    "a folder": os.mkdir,
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.timeout(60)
def test_what_is_no_regular_file_is_never_opened(
    kind: str, tmp_path: Path, wayproof: RunWayproof
) -> None:
    """A pipe, a link to a device, a folder, nothing: exit 3 at once, for every kind and file."""
    bundle = MAKERS[kind](tmp_path / "bundle")
    names = sorted(read_manifest(bundle).files)
    for name in names:
        kept = tmp_path / "kept"
        (bundle / name).rename(kept)
        for what, make in STRANGERS.items():
            make(bundle / name)
            ran = wayproof("verify", bundle)
            assert (ran.status, ran.out) == (3, ""), (name, what)
            assert f"{name}: " in ran.err
            assert what in ran.err
            if what == "a folder":
                (bundle / name).rmdir()
            else:
                (bundle / name).unlink(missing_ok=True)
        kept.rename(bundle / name)
    assert wayproof("verify", bundle).status == 0
