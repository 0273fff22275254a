"""Rejected calls from Python."""

from pathlib import Path

import pytest

import wayproof
from rejections.test_bundle import bundle_of


def test_measure_and_read(tmp_path: Path) -> None:
    """The same records, measured or read back from a bundle; verify takes the logs."""
    logs, bundle = bundle_of(tmp_path)
    found = wayproof.measure_rejections(logs)
    read = wayproof.read_bundle(bundle, kind="rejections")
    assert list(read.episodes) == list(found.episodes)
    assert list(read.sessions) == list(found.sessions)
    assert read.summary == found.summary
    assert found.to_dicts() == read.to_dicts()
    assert found.to_dicts()[0]["source"]["lines"]["rejection"] == 2
    assert "<table>" in found._repr_html_()
    assert "17 episodes" in repr(found)
    assert wayproof.verify(bundle, logs=logs).findings[-1] == (
        "logs: read again, byte for byte the same"
    )
    out = tmp_path / "again"
    paths = sorted(logs.rglob("*.json*"))
    wayproof.measure_rejections(reversed(paths), out=out)
    assert (out / "episodes.jsonl").read_bytes() == (bundle / "episodes.jsonl").read_bytes()


def test_settings_that_cant_be() -> None:
    """A setting that can't be is an InputError."""
    for more in ({"window": 0}, {"window": True}, {"maps": "x"}, {"task_id_from": "nope"}):
        with pytest.raises(wayproof.InputError):
            wayproof.measure_rejections([], **more)
    with pytest.raises(wayproof.InputError):
        wayproof.measure_rejections({"a": 1})
