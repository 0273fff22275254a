"""``wayproof verify DIR`` for a recovery bundle."""

import argparse
from pathlib import Path

from wayproof.bundles.manifest import Manifest

__all__ = ["add_arguments", "check"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare nothing: a recovery bundle carries all that its verification needs."""
    del parser


def check(folder: Path, manifest: Manifest, args: argparse.Namespace) -> list[str]:
    """Audit the bundle and say what was checked, and what no bundle can show."""
    from wayproof.cli.progress import count_progress
    from wayproof.recovery.check_bundle import NOT_DETECTABLE, audit_bundle

    del args
    with count_progress("verifying trials") as progress:
        report = audit_bundle(folder, manifest, progress=progress)
    standing = (
        "official suite: its bytes are the pinned ones"
        if report.official
        else "custom suite: certified, but no pin stands behind it"
    )
    reference = " (the digest that is published with wayproof)" if report.is_reference else ""
    return [
        f"{folder}: holds",
        f"suite {report.suite_id}, SHA-256 {report.suite_sha256}",
        f"{standing}; {report.grids} certificates checked",
        f"{report.trials} trials: every transition checked and replayed",
        f"{report.controls_run_again} trials of reference controls run again: the same steps",
        "records and summary follow from the traces",
        f"results.jsonl SHA-256 {report.results_sha256}{reference}",
        NOT_DETECTABLE,
    ]
