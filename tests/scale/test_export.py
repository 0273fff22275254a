"""Exports, read back by pandas, polars and DuckDB: the JSON Lines in every value and null."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wayproof.cli import main
from wayproof.errors import InputError, OutputError
from wayproof.outputs.export import export_bundle

pytestmark = pytest.mark.filterwarnings("ignore")
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A bundle of each kind, with nulls first, errors of every form, and odd text."""
    folder = tmp_path_factory.mktemp("bundles")
    tasks, packets = folder / "tasks.jsonl", folder / "packets.jsonl"
    task = {"expected_artifacts": ["a.py"], "scent_terms": ["=x", "é\U0001f600"]}
    tasks.write_text("".join(json.dumps({"task_id": f"t{at}", **task}) + "\n" for at in range(6)))
    errors: list[Any] = [None, None, "", "null", {"code": 1.5, "x": [None]}]
    with packets.open("w") as file:
        for at, error in enumerate(errors):
            packet = {"task_id": f"t{at}", "error": error, "wall_ms": [None, 3, 99.5, 0, 7][at]}
            packet["selected_artifacts"] = ["a.py"][: at % 2]
            packet["first_contact_command"] = [None, "", " ", "=cmd", "cat a"][at]
            file.write(json.dumps(packet) + "\n")
    score = ["fitness", "score", "--tasks", str(tasks), "--packets", str(packets)]
    assert main([*score, "--out", str(folder / "fitness")]) == 0
    run = ["recovery", "run", "--suite", "explorer-sample", "--seeds", "0"]
    assert main([*run, "--out", str(folder / "recovery")]) == 0
    return {name: folder / name for name in ("fitness", "recovery")}


# -- readers --------------------------------------------------------------------------------


def by_pandas(path: Path) -> Rows:
    import pandas as pd

    frame = pd.read_parquet(path, dtype_backend="pyarrow")
    return [{key: plain(value) for key, value in row.items()} for row in frame.to_dict("records")]


def plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if type(value).__name__ == "NAType" or (isinstance(value, float) and value != value):  # noqa: PLR0124
        return None
    return value


def by_polars(path: Path) -> Rows:
    import polars as pl

    return pl.read_parquet(path).to_dicts()


def by_duckdb(path: Path) -> Rows:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    found = duckdb.sql(f"select * from read_parquet('{path}')")  # noqa: S608 - our own path
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


READERS = (by_pandas, by_polars, by_duckdb)


def expected_rows(bundle: Path, table: str, as_json: list[str]) -> Rows:
    """Read the JSON Lines by the standard library, in the form of the docs."""
    rows: Rows = []
    source = "traces" if table == "steps" else table
    for line in (bundle / f"{source}.jsonl").read_text("utf-8").split("\n")[:-1]:
        record = json.loads(line)
        if table != "steps":
            rows.append(record)
            continue
        for number, step in enumerate(record.pop("steps")):
            action = step.pop("action")
            name = "move" if "move" in action else "finish"
            rows.append({**record, **step, "step": number, "action": name})
            rows[-1]["move"] = action.get("move")
    for row in rows:
        for name in as_json:
            if row.get(name) is not None:
                text = json.dumps(row[name], sort_keys=True, separators=(",", ":"))
                row[name] = json.loads(text)
    return rows


TABLES = [
    ("fitness", "results"),
    ("fitness", "debts"),
    ("recovery", "results"),
    ("recovery", "steps"),
]


@pytest.mark.parametrize("reader", READERS, ids=lambda one: one.__name__)
@pytest.mark.parametrize(("kind", "table"), TABLES)
def test_parquet_is_the_json_lines(
    kind: str,
    table: str,
    reader: Callable[[Path], Rows],
    bundles: dict[str, Path],
    tmp_path: Path,
) -> None:
    """Every value and every null, in order; nothing is guessed and no column is lost."""
    pq = pytest.importorskip("pyarrow.parquet", reason="the extra [parquet] is not installed")
    export_bundle(bundles[kind], "parquet", tmp_path / "out")
    path = tmp_path / "out" / f"{table}.parquet"
    told = pq.read_schema(path).metadata
    as_json = [name for name in told[b"wayproof.json_columns"].decode().split(",") if name]
    rows = reader(path)
    for row in rows:
        for name in as_json:
            if row[name] is not None:
                row[name] = json.loads(row[name])
    expected = expected_rows(bundles[kind], table, as_json)
    assert len(rows) == len(expected) > 0
    for row, line in zip(rows, expected, strict=True):
        assert set(line) <= set(row)
        assert row == {name: line.get(name) for name in row}
        for name, value in row.items():
            assert isinstance(value, bool) == isinstance(line.get(name), bool)


def test_parquet_says_where_it_is_from(bundles: dict[str, Path], tmp_path: Path) -> None:
    """The digest of the JSON Lines, and types that hold also where all is null."""
    pa = pytest.importorskip("pyarrow", reason="the extra [parquet] is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    written = export_bundle(bundles["recovery"], "parquet", tmp_path / "out")
    assert [one.table for one in written] == ["results", "steps"]
    manifest = json.loads((bundles["recovery"] / "manifest.json").read_bytes())
    schema = pq.read_schema(tmp_path / "out" / "steps.parquet")
    digest = manifest["files"]["traces.jsonl"]["sha256"].encode()
    assert schema.metadata[b"wayproof.source_sha256"] == digest
    assert schema.metadata[b"wayproof.source"] == b"traces.jsonl"
    results = pq.read_schema(tmp_path / "out" / "results.parquet")
    for name, kind in (
        ("excess_cost", pa.int64()),
        ("first_failed_check", pa.string()),
        ("completed", pa.bool_()),
        ("final_position", pa.list_(pa.int64())),
    ):
        assert results.field(name).type == kind
    again = export_bundle(bundles["recovery"], "parquet", tmp_path / "again")
    for one, other in zip(written, again, strict=True):
        assert one.path.read_bytes() == other.path.read_bytes()


@pytest.mark.parametrize(("kind", "table"), TABLES)
def test_csv_has_the_same_columns(
    kind: str, table: str, bundles: dict[str, Path], tmp_path: Path
) -> None:
    """Empty for null, JSON for lists and objects, and no cell that a spreadsheet runs."""
    export_bundle(bundles[kind], "csv", tmp_path / "out")
    with (tmp_path / "out" / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, strict=True))
    expected = expected_rows(bundles[kind], table, [])
    for row, line in zip(rows, expected, strict=True):
        for name, cell in row.items():
            value = line.get(name)
            assert not cell.startswith(("=", "+", "@")), name
            if value is None:
                assert cell == ""
            elif isinstance(value, str) and name != "error":
                assert cell in {value, f"'{value}"}
            elif name != "error":
                assert json.loads(cell) == value


# -- the command ----------------------------------------------------------------------------


def test_the_command(
    bundles: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Beside the bundle by default; nothing that isn't an export is replaced."""
    bundle = bundles["fitness"]
    monkeypatch.chdir(bundle.parent)
    assert main(["export", "fitness", "--to", "csv"]) == 0
    assert capsys.readouterr().out == (
        "results: 6 rows, fitness-csv/results.csv\ndebts: "
        f"{len((bundle / 'debts.jsonl').read_bytes().splitlines())} rows, fitness-csv/debts.csv\n"
    )
    assert main(["export", "fitness", "--to", "csv"]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["export", "fitness", "--to", "csv", "--overwrite"]) == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    for place, message in (
        (tmp_path / "mine", "is no export"),
        (bundle / "inside", "inside the bundle"),
        (tmp_path / "no" / "where", "doesn't exist"),
    ):
        with pytest.raises(OutputError, match=message):
            export_bundle(bundle, "csv", place, overwrite=True)
    assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"
    assert main(["verify", str(bundle)]) == 0


def test_a_bundle_that_does_not_hold_is_not_exported(
    bundles: dict[str, Path], tmp_path: Path
) -> None:
    """Digests are checked first."""
    import shutil

    edited = Path(shutil.copytree(bundles["recovery"], tmp_path / "edited"))
    results = edited / "results.jsonl"
    results.write_bytes(results.read_bytes().replace(b"true", b"null", 1))
    assert main(["export", str(edited), "--to", "csv", "--out", str(tmp_path / "out")]) == 3
    assert not (tmp_path / "out").exists()


def test_without_pyarrow(
    bundles: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What to install is said, and nothing is written."""
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(InputError, match="pyarrow is not installed"):
        export_bundle(bundles["fitness"], "parquet", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
