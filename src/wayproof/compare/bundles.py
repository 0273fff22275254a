"""The way in: two or more folders, one record."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from wayproof.bundles.kinds import KINDS, load
from wayproof.bundles.reader import Bundle, open_bundle
from wayproof.compare.request import CompareRequest
from wayproof.compare.trend import trend_of
from wayproof.errors import InputError
from wayproof.evidence.comparison_records import (
    Comparison,
    RecoveryComparison,
    RejectionComparison,
)

__all__ = ["CompareRequest", "compare_bundles", "compare_row"]

AnyComparison = Comparison | RecoveryComparison | RejectionComparison
_DEFAULT = CompareRequest()


def compare_bundles(
    base: Path | str, new: Path | str, request: CompareRequest = _DEFAULT
) -> AnyComparison:
    """Compare two bundles of one kind, pair by pair.

    Parameters
    ----------
    base, new
        Their folders.
    request
        Measures, clusters and what else ``wayproof compare`` takes.

    Returns
    -------
    Comparison, RecoveryComparison or RejectionComparison
        What the command line prints as JSON, as records.

    Raises
    ------
    InputError
        When a folder is no bundle, the kinds or suites differ, or a bundle lacks what was
        asked for.
    IntegrityError
        When a file isn't what its manifest says.
    """
    return _compare(open_bundle(Path(base)), open_bundle(Path(new)), request)


def compare_row(folders: Sequence[Path], request: CompareRequest = _DEFAULT) -> AnyComparison:
    """Compare the last two of a row of bundles; with more than two, the trend as well."""
    bundles = [open_bundle(folder) for folder in folders]
    comparison = _compare(bundles[-2], bundles[-1], request)
    if len(bundles) == 2:
        return comparison
    if not isinstance(comparison, Comparison):
        raise InputError(
            "a trend needs bundles of navigation fitness",
            expected="two bundles",
            found=f"{len(bundles)} bundles",
        )
    return msgspec.structs.replace(comparison, trend=trend_of(bundles, request))


def _compare(base: Bundle, new: Bundle, request: CompareRequest) -> AnyComparison:
    kinds = [side.manifest.kind for side in (base, new)]
    if kinds[0] != kinds[1]:
        raise InputError(
            "bundles of two kinds",
            file=str(new.folder),
            expected=f"a {kinds[0]} bundle",
            found=f"a {kinds[1]} bundle",
        )
    place = base.kind.comparison
    if place is None:
        raise InputError(
            "bundles of this kind can't be compared",
            file=str(base.folder),
            expected=" or ".join(kind.name for kind in KINDS.values() if kind.comparison),
            found=kinds[0],
        )
    compared: AnyComparison = load(place)(base, new, request)
    return compared
