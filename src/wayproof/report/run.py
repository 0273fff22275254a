"""Which run a page shows: the bundle's name, and what its manifest says varied."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from wayproof.bundles.reader import Bundle

__all__ = ["ReportPlace", "RunFacts", "bundle_names", "run_facts"]

_MOST_ARGUMENTS: Final = 200


class ReportPlace(NamedTuple):
    """Where a bundle's pages stand: the stem of their names, and what the bundle is called."""

    stem: str
    name: str


class Fact(NamedTuple):
    """One thing that a manifest says of its run; ``name`` is the message's key."""

    name: str
    text: str


class RunFacts(NamedTuple):
    """A bundle's name among those shown, and what its manifest says of the run.

    The facts are the bundle's own words: no digest covers them, and nobody checked them.
    """

    name: str
    facts: list[Fact]


def _command(argv: Any) -> str | None:
    if not isinstance(argv, list) or not all(isinstance(each, str) for each in argv) or not argv:
        return None
    shown = argv[:_MOST_ARGUMENTS]
    # The program's folder says where it was installed, not what was asked.
    program = "wayproof" if shown[0].endswith("__main__.py") else Path(shown[0]).name
    return shlex.join([program, *shown[1:]]) + (" …" if len(argv) > len(shown) else "")


def run_facts(bundle: Bundle, name: str) -> RunFacts:
    """Gather what a page says of its run."""
    varies = bundle.manifest.varies
    found = {
        "version": varies.get("wayproof"),
        "started": varies.get("started_at"),
        "command": _command(varies.get("argv")),
    }
    facts = [Fact(key, text) for key, text in found.items() if isinstance(text, str) and text]
    return RunFacts(name, facts)


def bundle_names(folders: Sequence[Path]) -> list[str]:
    """Name folders by as many of their last parts as tell them apart.

    Folders that are the same place, or have no more parts, get a number as well.
    """
    paths = [folder.resolve() for folder in folders]
    names = []
    for path in paths:
        others = {other for other in paths if other != path}
        count = 1
        while count < len(path.parts) and any(
            other.parts[-count:] == path.parts[-count:] for other in others
        ):
            count += 1
        names.append("/".join(path.parts[-count:]) if path.name else str(path))
    return [
        f"{name} ({names[:place].count(name) + 1})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]
