"""``wayproof merge``: make one bundle of the parts that shards wrote."""

import argparse
from pathlib import Path

from wayproof.cli import write_json

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("parts", metavar="PART", type=Path, nargs="+", help="a part's folder")
    parser.add_argument(
        "--tasks", metavar="T", type=Path, required=True, help="the tasks file of the parts"
    )
    parser.add_argument(
        "--packets", metavar="P", type=Path, required=True, help="their packets file"
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, required=True, help="folder for the bundle"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing bundle")
    parser.add_argument("--json", action="store_true", help="print the data alone, as JSON")


def run(args: argparse.Namespace) -> int:
    """Merge the parts."""
    from wayproof.fitness.parts import merge_parts

    record = merge_parts(args.parts, args.tasks, args.packets, args.out, overwrite=args.overwrite)
    if args.json:
        write_json(record)
    else:
        from wayproof.cli import fitness_tables as tables

        tables.print_suite(record, record["sufficiency_latency_matrix"])
        tables.print_limits()
        tables.print_set_aside(record)
        tables.print_written(args.out)
    return 0 if record["status"] == "pass" else 1
