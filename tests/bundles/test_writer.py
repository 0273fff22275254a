"""Bundles: whole or not at all, and honest about every byte."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from wayproof.bundles.manifest import FileDigest, digest_file, read_manifest, verify_digests
from wayproof.bundles.writer import BundleWriter
from wayproof.canonical import canonical_bytes
from wayproof.errors import InputError, IntegrityError, OutputError


def _write(out: Path, data: bytes = b"x\n", *, overwrite: bool = False) -> None:
    with BundleWriter(out, kind="fitness", overwrite=overwrite) as bundle:
        bundle.write("summary.json", data)
        bundle.commit(inputs={}, settings={"summary_only": True}, limits=["l"])


def _write_half(out: Path) -> None:
    with BundleWriter(out, kind="fitness", overwrite=True) as bundle:
        bundle.open("summary.json").write(b"half")
        raise RuntimeError


def test_a_bundle_reads_back_as_written(tmp_path: Path) -> None:
    """The manifest names every file with its size and digest, and the folder holds no more."""
    _write(tmp_path / "out")
    manifest = read_manifest(tmp_path / "out")
    assert manifest.files == {"summary.json": digest_file(tmp_path / "out" / "summary.json")}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    verify_digests(tmp_path / "out", manifest)


def test_times_stand_in_the_manifest_only(tmp_path: Path) -> None:
    """Two runs differ in `varies` and in nothing else."""
    for name in ("one", "two"):
        _write(tmp_path / name)
    one, two = (json.loads((tmp_path / n / "manifest.json").read_bytes()) for n in ("one", "two"))
    assert {"started_at", "host", "python"} <= set(one.pop("varies"))
    two.pop("varies")
    assert one == two


def test_an_exception_leaves_nothing(tmp_path: Path) -> None:
    """Leaving the block without commit removes all that was written."""
    with pytest.raises(RuntimeError):
        _write_half(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_overwrite_keeps_the_old_one_until_the_new_one_is_whole(tmp_path: Path) -> None:
    """A failed second run leaves the first one's result."""
    _write(tmp_path / "out", b"first\n")
    with pytest.raises(RuntimeError):
        _write_half(tmp_path / "out")
    assert (tmp_path / "out" / "summary.json").read_bytes() == b"first\n"
    _write(tmp_path / "out", b"second\n", overwrite=True)
    assert (tmp_path / "out" / "summary.json").read_bytes() == b"second\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_run_that_died_between_its_renames_is_put_right(tmp_path: Path) -> None:
    """The folder that was moved aside comes back."""
    _write(tmp_path / "out", b"first\n")
    (tmp_path / "out").rename(tmp_path / ".out.wayproof-previous")
    with pytest.raises(OutputError, match="already exists"):
        _write(tmp_path / "out", b"second\n")
    assert (tmp_path / "out" / "summary.json").read_bytes() == b"first\n"


RUN_UNTIL_KILLED = """
import sys, time
from pathlib import Path
from wayproof.bundles.writer import BundleWriter

out, stage = Path(sys.argv[1]), sys.argv[2]
rename = Path.rename

def slow_rename(self, target):
    if stage == "before the rename":
        time.sleep(60)
    return rename(self, target)

Path.rename = slow_rename
with BundleWriter(out, kind="fitness", overwrite=True) as bundle:
    bundle.write("summary.json", b"new")
    if stage == "before the manifest":
        time.sleep(60)
    bundle.commit(inputs={}, settings={"summary_only": True}, limits=[])
"""


def _wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("the other process didn't get there")


@pytest.mark.parametrize("stage", ["before the manifest", "before the rename"])
def test_a_killed_run_leaves_nothing_that_reads_as_a_result(tmp_path: Path, stage: str) -> None:
    """Neither the folder nor its leftover is accepted, and the next run sweeps up."""
    out = tmp_path / "out"
    child = subprocess.Popen([sys.executable, "-c", RUN_UNTIL_KILLED, out, stage])
    name = "summary.json" if stage == "before the manifest" else "manifest.json"
    _wait_for(lambda: any(tmp_path.glob(f".out.wayproof-partial-*/{name}")))
    time.sleep(0.1)
    child.kill()
    child.wait()
    assert not out.exists()
    (leftover,) = tmp_path.iterdir()
    with pytest.raises(InputError):
        read_manifest(leftover)
    _write(out)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_run_in_progress_is_not_swept_away(tmp_path: Path) -> None:
    """Only what nobody holds any more is a leftover."""
    with BundleWriter(tmp_path / "out", kind="fitness") as first:
        first.write("summary.json", b"first\n")
        _write(tmp_path / "out", b"second\n")
        with pytest.raises(OutputError, match="another run"):
            first.commit(inputs={}, settings={"summary_only": True}, limits=[])
    assert (tmp_path / "out" / "summary.json").read_bytes() == b"second\n"


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "manifest.json", "", "x" * 200])
def test_evidence_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    """No file name leads out of the bundle."""
    with (
        pytest.raises(ValueError, match="not a name"),
        BundleWriter(tmp_path / "out", kind="fitness") as bundle,
    ):
        bundle.open(name)


def _edit(path: Path, change: Callable[[dict[str, object]], None]) -> None:
    manifest = json.loads(path.read_bytes())
    change(manifest)
    path.write_bytes(canonical_bytes(manifest) + b"\n")


def test_edits_are_caught(tmp_path: Path) -> None:
    """A changed, missing, surplus or linked file is named."""
    out = tmp_path / "out"
    _write(out)
    manifest = read_manifest(out)
    results = out / "summary.json"
    results.write_bytes(b"y\n")
    with pytest.raises(IntegrityError, match=r"summary\.json: digest"):
        verify_digests(out, manifest)
    results.unlink()
    with pytest.raises(IntegrityError, match="missing"):
        verify_digests(out, manifest)
    (tmp_path / "elsewhere").write_bytes(b"x\n")
    results.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(IntegrityError, match=r"not a regular file; .*found a link"):
        verify_digests(out, manifest)
    results.unlink()
    results.write_bytes(b"x\n")
    (out / "more.jsonl").write_bytes(b"")
    with pytest.raises(IntegrityError, match="not named"):
        verify_digests(out, manifest)


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"{}", b'{"kind": 5}', b"\xff", b"[" * 100_000, b'{"files": {"../x": {}}}'],
)
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, text: bytes) -> None:
    """One message, whatever stands in the file."""
    _write(tmp_path / "out")
    (tmp_path / "out" / "manifest.json").write_bytes(text)
    with pytest.raises((InputError, IntegrityError), match=r"manifest\.json"):
        read_manifest(tmp_path / "out")


def test_a_manifest_cannot_point_outside(tmp_path: Path) -> None:
    """A forged name doesn't make `verify` read other files."""
    _write(tmp_path / "out")
    digest = {"bytes": 0, "sha256": "0" * 64}
    _edit(
        tmp_path / "out" / "manifest.json",
        lambda manifest: manifest.update(files={"../secret": digest}),
    )
    with pytest.raises(IntegrityError, match="outside"):
        read_manifest(tmp_path / "out")


def test_a_large_file_is_digested_in_blocks(tmp_path: Path) -> None:
    """The digest is that of the whole file, whatever its size."""
    import hashlib

    data = os.urandom((8 << 20) + 17)
    (tmp_path / "f").write_bytes(data)
    assert digest_file(tmp_path / "f") == FileDigest(
        bytes=len(data), sha256=hashlib.sha256(data).hexdigest()
    )
    (tmp_path / "empty").write_bytes(b"")
    assert digest_file(tmp_path / "empty").bytes == 0


@pytest.mark.parametrize("manifest", ['{"name": "my web app"}', "{}", None])
def test_only_bundles_and_empty_folders_are_replaced(tmp_path: Path, manifest: str | None) -> None:
    """A folder of somebody else's is never overwritten, whatever its files are called."""
    out = tmp_path / "out"
    (out / "src").mkdir(parents=True)
    (out / "src" / "app.js").write_text("precious")
    if manifest is not None:
        (out / "manifest.json").write_text(manifest)
    with pytest.raises(OutputError, match="not a wayproof bundle"):
        _write(out, overwrite=True)
    assert (out / "src" / "app.js").read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_bundle_with_a_file_of_the_users_is_not_replaced(tmp_path: Path) -> None:
    """Notes that somebody put beside the evidence (or the inputs!) are kept."""
    out = tmp_path / "out"
    _write(out)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"notes\.txt"):
        _write(out, overwrite=True)
    assert (out / "notes.txt").read_text() == "mine"


def test_a_link_is_not_replaced(tmp_path: Path) -> None:
    """What a link leads to is not ours to judge."""
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    with pytest.raises(OutputError, match="a link"):
        _write(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out").is_symlink()


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    """`mkdir out` before the run is no obstacle, when asked to overwrite."""
    (tmp_path / "out").mkdir()
    _write(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "summary.json").is_file()


def test_strangers_files_neither_block_nor_flood_a_reader(tmp_path: Path) -> None:
    """A pipe, a device or a link in place of a file is refused at once."""
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero"), os.mkdir):
        out = tmp_path / "out"
        _write(out, overwrite=True)
        (out / "manifest.json").unlink()
        make(out / "manifest.json")
        with pytest.raises(IntegrityError, match="not a regular file"):
            read_manifest(out)
        manifest = out / "manifest.json"
        manifest.rmdir() if manifest.is_dir() else manifest.unlink()
        (out / "summary.json").unlink()
        out.rmdir()


def test_unknown_keys_do_not_ride_along_in_a_manifest(tmp_path: Path) -> None:
    """Nobody can add `approved_by` to a manifest that verifies."""
    _write(tmp_path / "out")
    _edit(tmp_path / "out" / "manifest.json", lambda manifest: manifest.update(approved_by="me"))
    with pytest.raises(IntegrityError, match="approved_by: unknown field"):
        read_manifest(tmp_path / "out")


def test_a_bundle_of_another_kind_is_not_replaced(tmp_path: Path) -> None:
    """A report written over the evidence it was made from would be the end of the evidence."""
    out = tmp_path / "out"
    _write(out)
    with (
        pytest.raises(OutputError, match="of this kind"),
        BundleWriter(out, kind="report", overwrite=True),
    ):
        pytest.fail("it was let in")
    assert (out / "summary.json").is_file()


def test_nothing_is_written_into_a_bundle(tmp_path: Path) -> None:
    """A result inside a bundle would break the bundle around it."""
    _write(tmp_path / "out")
    with pytest.raises(OutputError, match="inside a bundle"):
        _write(tmp_path / "out" / "sub")
    verify_digests(tmp_path / "out", read_manifest(tmp_path / "out"))


def test_the_way_to_a_folder_may_lead_through_it(tmp_path: Path) -> None:
    """`out/../out` is `out`, also while it is moved aside."""
    _write(tmp_path / "out", b"first\n")
    _write(tmp_path / "out" / ".." / "out", b"second\n", overwrite=True)
    assert (tmp_path / "out" / "summary.json").read_bytes() == b"second\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", [".", "..", "x.wayproof-partial-1", ".x.wayproof-previous"])
def test_names_that_mark_something_else_are_refused(tmp_path: Path, name: str) -> None:
    """No result is born unreadable."""
    (tmp_path / "in").mkdir()
    with pytest.raises(OutputError):
        _write(tmp_path / "in" / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_a_manifest_in_other_bytes_is_refused(tmp_path: Path) -> None:
    """Spaces, duplicate keys and unsafe numbers have no place in evidence."""
    _write(tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    data = path.read_bytes()
    for other in (
        data + b" ",
        data.replace(b":", b": ", 1),
        data.replace(b'"summary_only":true', b'"summary_only":true,"summary_only":true'),
        data.replace(b'"summary_only":true', b'"summary_only":9007199254740993'),
    ):
        assert other != data
        path.write_bytes(other)
        with pytest.raises(IntegrityError, match=r"manifest\.json"):
            read_manifest(tmp_path / "out")
