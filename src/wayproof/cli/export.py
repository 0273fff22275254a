"""``wayproof export DIR``: a bundle's records as Parquet or CSV."""

import argparse
from pathlib import Path

from wayproof.errors import InputError
from wayproof.text import harmless

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("bundle", metavar="DIR", type=Path, help="the result folder")
    parser.add_argument(
        "--to",
        choices=("parquet", "csv"),
        required=True,
        help="form of the tables; Parquet needs the extra [parquet]",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="folder to make (default: the bundle's name with -parquet or -csv, beside it)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing export")


def run(args: argparse.Namespace) -> int:
    """Export, and say what was written."""
    from wayproof.outputs.export import export_bundle

    out = args.out
    if out is None:
        folder = args.bundle.resolve()
        if not folder.name:
            raise InputError("no folder to write beside", setting="out")
        out = args.bundle.parent.resolve() / f"{folder.name}-{args.to}"
        if args.bundle.name == folder.name:
            out = args.bundle.with_name(out.name)
    for one in export_bundle(args.bundle, args.to, out, overwrite=args.overwrite):
        print(harmless(f"{one.table}: {one.rows} rows, {one.path}"))
    return 0
