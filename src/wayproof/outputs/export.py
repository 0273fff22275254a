"""Exports of bundles: Parquet (extra ``[parquet]``) and CSV, a file a table."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from wayproof.bundles.places import partial_prefix, permissions
from wayproof.bundles.reader import open_bundle
from wayproof.errors import InputError, OutputError
from wayproof.outputs.columns import Row, Table, tables_of
from wayproof.outputs.csv_rows import csv_lines

__all__ = ["EXPORT_FORMS", "Exported", "export_bundle", "parquet_writer"]

EXPORT_FORMS: Final = ("parquet", "csv")
_GROUP_ROWS: Final = 65_536


class Exported(NamedTuple):
    """A file that was written: its table's name, its path and how many rows it has."""

    table: str
    path: Path
    rows: int


def export_bundle(folder: Path, form: str, out: Path, *, overwrite: bool = False) -> list[Exported]:
    """Write a bundle's records as tables into the folder ``out``.

    Parameters
    ----------
    folder
        The bundle; its digests are checked first.
    form
        One of :data:`EXPORT_FORMS`.
    out
        The folder to make, outside the bundle.
    overwrite
        Replace a folder that holds nothing but an export.

    Raises
    ------
    InputError
        When the bundle can't be read or holds no records, or the extra isn't installed.
    IntegrityError
        When a file isn't what the manifest says.
    OutputError
        When ``out`` is taken, or can't be written.
    """
    bundle = open_bundle(folder)
    tables = tables_of(bundle)
    write = parquet_writer() if form == "parquet" else _write_csv
    _refuse_place(folder, out, overwrite=overwrite)
    try:
        partial = Path(tempfile.mkdtemp(prefix=partial_prefix(out.name), dir=out.parent))
    except OSError as error:
        raise OutputError(
            "can't be written to", file=str(out.parent), found=error.strerror
        ) from None
    try:
        written = []
        for table in tables:
            name = f"{table.name}.{form}"
            rows = write(table, partial / name)
            written.append(Exported(table.name, out / name, rows))
        partial.chmod(permissions(0o777))
        if out.exists():
            shutil.rmtree(out)
        partial.rename(out)
    except OSError as error:
        raise OutputError("could not be written", file=str(out), found=str(error)) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return written


def _refuse_place(folder: Path, out: Path, *, overwrite: bool) -> None:
    if out.resolve().is_relative_to(folder.resolve()):
        raise OutputError(
            "lies inside the bundle, which holds its evidence and nothing else",
            file=str(out),
            mend="choose another {out}",
        )
    if not out.parent.is_dir():
        raise OutputError("the folder to write into doesn't exist", file=str(out.parent))
    if not os.path.lexists(out):
        return
    if not overwrite:
        raise OutputError(
            "already exists; nothing was written",
            file=str(out),
            mend="choose another {out}, or set {overwrite}",
        )
    others = _others(out)
    if others:
        raise OutputError(
            "exists and is no export, so it is not overwritten", file=str(out), found=others
        )


def _others(out: Path) -> str | None:
    if out.is_symlink() or not out.is_dir():
        return "no folder"
    suffixes = {f".{form}" for form in EXPORT_FORMS}
    others = sorted(path.name for path in out.iterdir() if path.suffix not in suffixes)
    return others[0] if others else None


def _write_csv(table: Table, path: Path) -> int:
    names = [column.name for column in table.columns]
    rows = -1
    with path.open("x", encoding="utf-8", newline="") as file:
        rows_by_name = (dict(zip(names, row, strict=True)) for row in table.rows())
        for line in csv_lines(names, rows_by_name):
            file.write(line)
            rows += 1
    return rows


def parquet_writer() -> Callable[[Table, Path], int]:
    """Return what writes a table as a Parquet file and gives the number of its rows.

    Raises
    ------
    InputError
        When the extra isn't installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(
            "pyarrow is not installed",
            setting="to",
            mend='python -m pip install "wayproof[parquet]"',
        ) from None
    types = {
        "boolean": pa.bool_(),
        "integer": pa.int64(),
        "integers": pa.list_(pa.int64()),
        "json": pa.string(),
        "number": pa.float64(),
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
    }

    def write(table: Table, path: Path) -> int:
        told = {
            "wayproof.source": table.source,
            "wayproof.source_sha256": table.source_sha256,
            "wayproof.json_columns": ",".join(
                column.name for column in table.columns if column.kind == "json"
            ),
        }
        schema = pa.schema(
            [pa.field(column.name, types[column.kind]) for column in table.columns], metadata=told
        )
        count = 0
        with pq.ParquetWriter(path, schema, compression="zstd") as file:
            for rows in _groups(table.rows()):
                columns = [
                    pa.array(values, type=field.type)
                    for field, values in zip(schema, zip(*rows, strict=True), strict=True)
                ]
                file.write_table(pa.Table.from_arrays(columns, schema=schema))
                count += len(rows)
        return count

    return write


def _groups(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while group := list(islice(rows, _GROUP_ROWS)):
        yield group
