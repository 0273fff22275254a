"""What ``wayproof verify`` can check of a fitness bundle."""

import argparse
from pathlib import Path

from wayproof.bundles.manifest import Manifest
from wayproof.errors import InputError

__all__ = ["add_arguments", "check"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what only fitness bundles need."""
    group = parser.add_argument_group("fitness bundles", "score the inputs again and compare")
    group.add_argument("--tasks", metavar="T", type=Path, help="the tasks file of the bundle")
    group.add_argument("--packets", metavar="P", type=Path, help="its packets file")


def check(folder: Path, manifest: Manifest, args: argparse.Namespace) -> list[str]:
    """Check a fitness bundle; return what was verified and what could not be."""
    from wayproof.fitness.check_bundle import check_bundle, check_rescored

    if (args.tasks is None) != (args.packets is None):
        raise InputError("--tasks and --packets go together")
    count = check_bundle(folder, manifest)
    lines = [f"digests: {len(manifest.files)} files match the manifest"]
    if count is None:
        lines.append("results: not kept (--summary-only), so nothing follows from them")
    else:
        lines.append(f"results: {count} agree with themselves; debts and summary follow from them")
    if args.tasks is None:
        lines.append("inputs: not given; results invented as a whole would not be noticed")
    else:
        check_rescored(folder, manifest, args.tasks, args.packets)
        lines.append("inputs: scored again, byte for byte the same")
    if count is None and args.tasks is None:
        return [*lines, "verified: digests only"]
    return [*lines, "verified"]
