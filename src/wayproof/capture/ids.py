"""Paths in a log to stable artifact ids.

An id is a path below the repository root with ``/`` between its parts, whatever machine,
container or working directory the agent ran in. A path outside the root is kept and marked
``external:``: dropping it would make a route look more precise than it was. Paths are text
here; the file system is never asked.
"""

import posixpath
import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

import msgspec

from wayproof.errors import InputError

__all__ = ["EXTERNAL", "PathMap", "Roots", "parse_map", "stable_id"]

EXTERNAL = "external:"
"""Prefix of an id outside the repository root, or with no known root."""

_DRIVE = re.compile(r"[A-Za-z]:/")


class PathMap(msgspec.Struct, frozen=True):
    """Paths below ``source`` are taken to lie below ``target``.

    An empty target is the repository root itself.
    """

    source: str
    target: str


class Roots(msgspec.Struct, frozen=True):
    """What ids are relative to: the root (None: unknown), and prefixes mapped before it."""

    root: str | None = None
    maps: tuple[PathMap, ...] = ()


def parse_map(text: str) -> PathMap:
    """Parse ``FROM=TO``.

    Raises
    ------
    InputError
        When there is no ``=`` or nothing before it.
    """
    source, equals, target = text.partition("=")
    if not equals or not source:
        raise InputError(
            "not a path mapping",
            setting="maps",
            expected="FROM=TO, like /testbed= or /workspace/app=/home/me/app",
            found=text,
        )
    return PathMap(_slashes(source), _slashes(target))


def _slashes(path: str) -> str:
    return path.replace("\\", "/")


def _normal(path: str) -> str:
    """Collapse ``.``, ``..`` and doubled slashes; a leading ``//`` is one slash here."""
    normal = posixpath.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def is_absolute(path: str) -> bool:
    """Whether a slashed path names its place by itself."""
    return path.startswith(("/", "~")) or _DRIVE.match(path) is not None


def _below(path: str, prefix: str) -> str | None:
    """Return ``path`` relative to ``prefix``, or None when it lies elsewhere."""
    stem = prefix.rstrip("/")
    if path == stem:
        return ""
    return path[len(stem) + 1 :] if path.startswith(stem + "/") else None


def _mapped(path: str, maps: Iterable[PathMap]) -> str:
    for one in maps:
        rest = _below(path, one.source)
        if rest is not None:
            return _normal(f"{one.target.rstrip('/')}/{rest}") if one.target else rest or "."
    return path


def _from_uri(path: str) -> str:
    if not path.startswith("file:"):
        return path
    try:
        inner = unquote(urlsplit(path).path)
    except ValueError:
        return path
    return inner[1:] if _DRIVE.match(inner[1:]) else inner


def stable_id(path: str, *, folders: Iterable[str | None] = (), roots: Roots) -> str | None:
    """Return the id of a path as an agent named it, or None for an empty one.

    Parameters
    ----------
    path
        Absolute, relative, with either slash, or a ``file:`` URI. Letter case is kept.
    folders
        Working directories from the outermost inwards; a later relative one is taken
        relative to the ones before it. With none that is absolute, a relative path is
        taken as relative to the root.
    roots
        The root and the mappings.
    """
    full = _slashes(_from_uri(path.strip()))
    if not full or "\n" in full:
        return None
    base = ""
    for folder in folders:
        if folder:
            slashed = _slashes(folder)
            base = slashed if is_absolute(slashed) else posixpath.join(base, slashed)
    if not is_absolute(full) and base:
        full = posixpath.join(base, full)
    full = _mapped(_normal(full), roots.maps)
    if not is_absolute(full):
        return EXTERNAL + full if full.startswith("../") or full == ".." else full
    root = roots.root
    if root is not None:
        inside = _below(full, _mapped(_normal(_slashes(root)), roots.maps))
        if inside is not None:
            return inside or "."
    return EXTERNAL + full
