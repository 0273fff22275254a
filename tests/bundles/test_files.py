"""A single file is written whole or not at all, and replaces only its like."""

import os
from pathlib import Path

import pytest

from wayproof.bundles.whole_file import whole_file
from wayproof.errors import OutputError


def _write(path: Path, data: bytes, *, overwrite: bool = False) -> None:
    with whole_file(path, overwrite=overwrite) as file:
        file.write(data)


def _write_half(path: Path) -> None:
    with whole_file(path, overwrite=True) as file:
        file.write(b"half")
        raise RuntimeError


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    """Until then the old one stands, and nothing is left of a failed try."""
    _write(tmp_path / "f", b"old")
    with pytest.raises(RuntimeError):
        _write_half(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"old"
    with pytest.raises(OutputError, match="already exists"):
        _write(tmp_path / "f", b"new")
    _write(tmp_path / "f", b"new", overwrite=True)
    assert (tmp_path / "f").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    """Results are as readable as their neighbours."""
    _write(tmp_path / "f", b"x")
    (tmp_path / "g").write_bytes(b"x")
    assert (tmp_path / "f").stat().st_mode == (tmp_path / "g").stat().st_mode


def test_links_devices_pipes_and_folders_are_never_replaced(tmp_path: Path) -> None:
    """`--overwrite` is about files; a device node that is replaced is gone."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "real").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for name in ("pipe", "folder", "link"):
        with pytest.raises(OutputError, match="not a regular file"):
            _write(tmp_path / name, b"y", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    with pytest.raises(OutputError, match="not a regular file"):
        _write(Path("/dev/null"), b"y", overwrite=True)


def test_names_that_no_disk_takes_are_refused(tmp_path: Path) -> None:
    """Too long, or in a folder that isn't there: one message, no traceback."""
    for path in (tmp_path / ("x" * 5000), tmp_path / "no" / "f"):
        with pytest.raises(OutputError, match="can't be written to"):
            _write(path, b"x")
