"""``wayproof verify DIR`` for a report or Explorer folder: its digests are all there is."""

import argparse
from pathlib import Path

from wayproof.bundles.manifest import Manifest
from wayproof.errors import IntegrityError

__all__ = ["add_arguments", "check"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare nothing: a report carries no evidence to check."""
    del parser


def check(folder: Path, manifest: Manifest, args: argparse.Namespace) -> list[str]:
    """Say what the digests, checked by the caller, stand for."""
    del args
    for name in manifest.files:
        if not name.endswith(".html"):
            raise IntegrityError(
                "a report holds pages only",
                file=str(folder / name),
                mend="evidence is verified as what it is; a report stands for none",
            )
    made_from = [
        f"made from {role}, SHA-256 {digest.sha256}"
        for role, digest in sorted(manifest.inputs.items())
    ]
    return [
        f"{folder}: {len(manifest.files)} pages are what the manifest says",
        *made_from,
        *manifest.limits,
        "a report is no evidence: verify the bundles that it was made from",
        "verified: digests only",
    ]
