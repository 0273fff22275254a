"""Check a bundle of any kind: its files, their digests, then what the kind can show."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from wayproof.bundles.kinds import KINDS, CheckReport, CheckRequest, kind_of, load
from wayproof.bundles.manifest import Manifest, read_manifest, signature_names, verify_digests
from wayproof.bundles.reader import check_files
from wayproof.errors import InputError, IntegrityError

__all__ = ["CheckedBundle", "check_bundle", "located"]


class CheckedBundle(NamedTuple):
    """A bundle that holds, and what that rests on.

    Attributes
    ----------
    manifest
        The bundle's manifest.
    report
        What its kind's checker found.
    unchecked_signatures
        Names of detached signatures in the folder that the kind's checker didn't check.
    """

    manifest: Manifest
    report: CheckReport
    unchecked_signatures: tuple[str, ...]


def check_bundle(folder: Path, request: CheckRequest | None = None) -> CheckedBundle:
    """Check a bundle without trusting it.

    In this order, each step only after the one before: the manifest; that every file of
    the kind stands there, is a regular file, and nothing else is there; the digests; what
    the kind's own checker finds.

    Raises
    ------
    InputError
        When the folder is no bundle, of an unknown kind, or the request doesn't fit it.
    IntegrityError
        Naming the first file, line and field that doesn't hold.
    """
    request = request or CheckRequest()
    manifest = read_manifest(folder)
    kind = kind_of(manifest, folder)
    for role in (*request.sources, *(("logs",) if request.logs else ())):
        if role not in kind.source_roles:
            raise InputError(
                "this kind of bundle has no such inputs to be checked against",
                file=str(folder),
                setting=role,
                expected=" or ".join(
                    f"a {row.name} bundle" for row in KINDS.values() if role in row.source_roles
                ),
                found=f"a {kind.name} bundle",
            )
    check_files(folder, manifest, kind)
    checker = load(kind.checker)
    try:
        verify_digests(folder, manifest)
    except IntegrityError as stale:
        raise located(
            stale, lambda: checker(folder, manifest, CheckRequest(trust=request.trust))
        ) from None
    report: CheckReport = checker(folder, manifest, request)
    unchecked = set(signature_names(folder)) - set(report.checked_signatures)
    return CheckedBundle(manifest, report, tuple(sorted(unchecked)))


def located(stale: IntegrityError, check: Callable[[], object]) -> IntegrityError:
    """Return a digest's error with the place of the damage, when ``check`` finds one.

    A digest tells the file but not the line. The verdict stays that of the digest.
    """
    try:
        check()
    except (IntegrityError, InputError) as deeper:
        return IntegrityError(
            stale.problem,
            file=stale.file,
            expected=stale.expected,
            found=f"{stale.found}; first thing that doesn't hold: {deeper}",
        )
    return stale
