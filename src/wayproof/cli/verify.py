"""``wayproof verify DIR``: check a bundle of any kind."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from wayproof.text import quoted

if TYPE_CHECKING:
    from wayproof.bundles.check import CheckedBundle

__all__ = ["configure", "run", "trusted_keys"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("bundle", metavar="DIR", type=Path, help="the result folder")
    group = parser.add_argument_group("fitness bundles", "score the inputs again and compare")
    group.add_argument("--tasks", metavar="T", type=Path, help="the tasks file of the bundle")
    group.add_argument("--packets", metavar="P", type=Path, help="its packets file")
    logs = parser.add_argument_group("bundles of rejected calls", "read the logs again and compare")
    logs.add_argument(
        "--logs", metavar="LOG", nargs="+", default=[], help="the logs of the bundle, or a folder"
    )
    signed = parser.add_argument_group("private bundles", "whose signatures count")
    signed.add_argument(
        "--trust",
        metavar="ROLE=KEY",
        action="append",
        help="client=KEY or evaluator=KEY: a public key, or its file; without both, signatures "
        "are checked and their signers are unknown, which is status 1",
    )


def run(args: argparse.Namespace) -> int:
    """Check the bundle; say what was checked and what was not, the verdict last."""
    from wayproof.bundles.check import check_bundle
    from wayproof.bundles.kinds import CheckRequest
    from wayproof.cli.progress import count_progress
    from wayproof.text import harmless

    given = {"tasks": args.tasks, "packets": args.packets}
    sources = {role: path for role, path in given.items() if path is not None}
    with count_progress("verifying") as progress:
        keys = trusted_keys(args.trust)
        request = CheckRequest(sources, progress, tuple(args.logs), keys)
        checked = check_bundle(args.bundle, request)
    for line in _lines(checked):
        print(harmless(line))
    return 0 if checked.report.is_whole else 1


def trusted_keys(words: list[str] | None) -> dict[str, str]:
    """Return ``ROLE=KEY`` words by role."""
    from wayproof.errors import InputError

    keys: dict[str, str] = {}
    for word in words or []:
        role, sign, key = word.partition("=")
        if not sign or not key or role in keys:
            raise InputError(
                "not a role and a key, or a role twice",
                setting="trust",
                expected="client=KEY or evaluator=KEY",
                found=quoted(word),
            )
        keys[role] = key
    return keys


def _lines(checked: "CheckedBundle") -> Iterator[str]:
    yield f"digests: {len(checked.manifest.files)} files match the manifest"
    yield from checked.report.findings
    for words in checked.report.own_words:
        yield f"the bundle says of itself, unchecked: {quoted(words, 400)}"
    for name in checked.unchecked_signatures:
        yield f"signature {name}: not checked"
    yield checked.report.verdict
