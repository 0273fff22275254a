"""``wayproof verify DIR``: check a bundle of any kind."""

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from wayproof.bundle import read_manifest, verify_digests
from wayproof.errors import InputError

# Each kind of bundle has a module with ``add_arguments(parser)`` and ``check(folder, args)``.
_KINDS: dict[str, str] = {
    "fitness": "wayproof.cli.verify_fitness",
    "recovery": "wayproof.cli.verify_recovery",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("bundle", metavar="DIR", type=Path, help="the result folder")
    for module in _KINDS.values():
        import_module(module).add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Verify digests, then what the bundle's kind can verify beyond them."""
    manifest = read_manifest(args.bundle)
    verify_digests(args.bundle, manifest)
    module = _KINDS.get(manifest.kind)
    if module is None:
        raise InputError(
            "unknown kind of bundle",
            file=str(args.bundle),
            expected=" or ".join(sorted(_KINDS)),
            found=manifest.kind,
        )
    check: Callable[..., list[str]] = import_module(module).check
    for line in check(args.bundle, manifest, args):
        print(line, file=sys.stdout)
    return 0
