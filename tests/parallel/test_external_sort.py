"""Sorting outside memory gives what sorting in memory gives."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayproof.parallel.external_sort import PieceFile, SortingSpool, merge_runs

records = st.lists(st.binary(min_size=8, max_size=40), max_size=60)


@settings(max_examples=150)
@given(records, st.integers(60, 600), st.booleans(), st.binary(max_size=9), st.binary(max_size=9))
def test_any_range_of_any_runs_comes_out_sorted(
    tmp_path_factory: pytest.TempPathFactory,
    given_records: list[bytes],
    budget_bytes: int,
    on_disk: bool,
    low: bytes,
    high: bytes,
) -> None:
    """Whatever spills, and whichever part is asked for."""
    folder = tmp_path_factory.mktemp("spool")
    spool = SortingSpool(folder, "s", budget_bytes=budget_bytes)
    for record in given_records:
        spool.add(record)
    runs = spool.runs(on_disk=on_disk)
    assert list(merge_runs(runs)) == sorted(given_records)
    part = [record for record in sorted(given_records) if low <= record < high]
    assert list(merge_runs(runs, low, high)) == part
    if on_disk:
        assert all(run.path is not None for run in runs)


def test_many_runs_are_compacted(tmp_path: Path) -> None:
    """The number of open files stays bounded."""
    spool = SortingSpool(tmp_path, "s", budget_bytes=60)
    numbers = [number * 7919 % 5000 for number in range(5000)]
    for number in numbers:
        spool.add(number.to_bytes(8, "big"))
    runs = spool.runs()
    assert len(runs) <= 64
    assert [int.from_bytes(record, "big") for record in merge_runs(runs)] == list(range(5000))
    assert len(list(tmp_path.iterdir())) <= 64


def test_pieces_are_read_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A walk, jumps back and forth, and pieces larger than the window."""
    monkeypatch.setattr("wayproof.parallel.external_sort._WINDOW_BYTES", 1000)
    path = tmp_path / "f"
    data = bytes(range(256)) * 100
    path.write_bytes(data)
    pieces = PieceFile(path)
    places = [*range(0, 25_000, 90), 3, 20_000, 19_990, 20_010, 0, 25_590]
    assert all(pieces.read(at, 10) == data[at : at + 10] for at in places)
    assert pieces.read(25_590, 5) == data[25_590:25_595]
    assert pieces.read(100, 5000) == data[100:5100]
    assert pieces.read(5100, 5000) == data[5100:10_100]
    pieces.close()
