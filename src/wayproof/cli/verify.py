"""``wayproof verify DIR``: check a bundle of any kind."""

import argparse
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from wayproof.bundles.manifest import read_manifest, verify_digests
from wayproof.errors import InputError, IntegrityError
from wayproof.text import harmless

# Each kind of bundle has a module with ``add_arguments(parser)`` and ``check(folder, args)``.
_KINDS: dict[str, str] = {
    "fitness": "wayproof.cli.verify_fitness",
    "recovery": "wayproof.cli.verify_recovery",
    "report": "wayproof.cli.verify_report",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("bundle", metavar="DIR", type=Path, help="the result folder")
    for module in _KINDS.values():
        import_module(module).add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Verify digests, then what the bundle's kind can verify beyond them."""
    manifest = read_manifest(args.bundle)
    module = _KINDS.get(manifest.kind)
    if module is None:
        raise InputError(
            "unknown kind of bundle",
            file=str(args.bundle),
            expected=" or ".join(sorted(_KINDS)),
            found=manifest.kind,
        )
    if manifest.kind != "fitness" and (args.tasks or args.packets):
        raise InputError(
            "--tasks and --packets are for fitness bundles",
            file=str(args.bundle),
            found=f"a bundle of kind {manifest.kind}",
        )
    check: Callable[[], list[str]] = partial(
        import_module(module).check, args.bundle, manifest, args
    )
    try:
        verify_digests(args.bundle, manifest)
    except IntegrityError as stale:
        raise located(stale, check) from None
    for line in check():
        print(harmless(line))
    return 0


def located(stale: IntegrityError, check: Callable[[], object]) -> IntegrityError:
    """Return a digest's error with the place of the damage, when the deeper check finds one."""
    try:
        check()
    except (IntegrityError, InputError) as deeper:
        return IntegrityError(
            f"{stale.problem}; first thing that doesn't hold: {deeper}",
            file=stale.file,
            expected=stale.expected,
            found=stale.found,
        )
    return stale
