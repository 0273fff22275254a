"""``wayproof merge``: make one result of the parts that shards wrote."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from wayproof.cli import write_json
from wayproof.errors import InputError

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("parts", metavar="PART", type=Path, nargs="+", help="a part's folder")
    parser.add_argument(
        "--tasks", metavar="T", type=Path, help="the tasks file of parts of `fitness score`"
    )
    parser.add_argument("--packets", metavar="P", type=Path, help="their packets file")
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        required=True,
        help="folder for the bundle, or the suite's file for parts of `recovery generate`",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing result")
    parser.add_argument("--json", action="store_true", help="print the data alone, as JSON")


def run(args: argparse.Namespace) -> int:
    """Merge the parts of whatever kind the first one is."""
    from wayproof.bundles.manifest import read_manifest
    from wayproof.evidence import fitness_names, recovery_names

    kind = read_manifest(args.parts[0]).kind
    inputs = [name for name in ("tasks", "packets") if getattr(args, name) is not None]
    if kind == fitness_names.PART_KIND:
        if len(inputs) < 2:
            raise InputError(
                "parts of navigation fitness are merged with their inputs",
                setting="tasks" if "tasks" not in inputs else "packets",
            )
        return _fitness(args)
    if inputs:
        raise InputError("belongs to parts of navigation fitness", setting=inputs[0])
    if kind == recovery_names.SUITE_PART_KIND:
        return _suite(args.parts, args)
    if kind == recovery_names.PART_KIND:
        return _recovery(args.parts, args)
    raise InputError(
        "not a part",
        file=str(args.parts[0]),
        expected=f"{fitness_names.PART_KIND}, {recovery_names.PART_KIND} or "
        f"{recovery_names.SUITE_PART_KIND}",
        found=kind,
    )


def _fitness(args: argparse.Namespace) -> int:
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


def _recovery(parts: Sequence[Path], args: argparse.Namespace) -> int:
    import msgspec

    from wayproof.cli.recovery import bench_holds, print_report
    from wayproof.recovery.parts import merge_run_parts

    report = merge_run_parts(parts, args.out, overwrite=args.overwrite)
    if args.json:
        write_json(msgspec.to_builtins(report.summary))
    else:
        print_report(report)
    return 0 if bench_holds(report.summary) else 1


def _suite(parts: Sequence[Path], args: argparse.Namespace) -> int:
    from wayproof.recovery.parts import merge_suite_parts

    merged = merge_suite_parts(parts, args.out, overwrite=args.overwrite)
    if args.json:
        write_json(
            {"suite_id": merged.suite_id, "grids": merged.grids, "sha256": merged.digest.sha256}
        )
    else:
        from wayproof.cli.recovery import print_suite

        print_suite(merged.suite_id, merged.grids, merged.digest.sha256, args.out)
    return 0
