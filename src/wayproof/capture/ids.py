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

__all__ = ["EXTERNAL", "PathMap", "Roots", "full_path", "parse_map", "stable_id"]

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
    if _DRIVE.match(stem + "/") and path[: len(stem)].lower() == stem.lower():
        path = stem + path[len(stem) :]  # Windows' names are the same in either case
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


def full_path(path: str, *, folders: Iterable[str | None] = ()) -> str | None:
    """Return a path as an agent named it, from its folders on, or None for an empty one.

    Parameters
    ----------
    path
        Absolute, relative, with either slash, or a ``file:`` URI. Letter case is kept; a
        drive's letter is written large, and ``/c/…`` is a drive where the folders have one.
    folders
        Working directories from the outermost inwards; a later relative one is taken
        relative to the ones before it.
    """
    full = _slashes(_from_uri(path.strip()))
    if not full or "\n" in full:
        return None
    base = ""
    windows = False
    for folder in folders:
        if folder:
            slashed = _slashes(folder)
            windows = windows or _DRIVE.match(slashed) is not None
            base = slashed if is_absolute(slashed) else posixpath.join(base, slashed)
    if not is_absolute(full) and base:
        full = posixpath.join(base, full)
    return _normal(_with_drive(full) if windows or full[1:2] == ":" else full)


_MOUNTED = re.compile(r"/(?:mnt/|cygdrive/)?([A-Za-z])(?=/|$)")


def _with_drive(path: str) -> str:
    """Spell a Windows path one way: Git's and Cygwin's shells write ``/c/`` for ``C:/``."""
    if _DRIVE.match(path):
        return path[0].upper() + path[1:]
    found = _MOUNTED.match(path)
    return f"{found[1].upper()}:/{path[found.end() :].lstrip('/')}" if found else path


def stable_id(path: str, *, folders: Iterable[str | None] = (), roots: Roots) -> str | None:
    """Return the id of a path as an agent named it, or None for an empty one.

    Parameters
    ----------
    path, folders
        As in :func:`full_path`. With no folder that is absolute, a relative path is taken
        as relative to the root.
    roots
        The root and the mappings.
    """
    root = roots.root
    inner = tuple(folders)
    full = full_path(path, folders=inner)
    if full is None:
        return None
    if root is not None and _DRIVE.match(_slashes(root)):
        full = _with_drive(full)
    full = _mapped(full, roots.maps)
    if not is_absolute(full):
        return EXTERNAL + full if full.startswith("../") or full == ".." else full
    if root is not None:
        inside = _below(full, _mapped(full_path(root) or root, roots.maps))
        if inside is not None:
            return inside or "."
    return EXTERNAL + full
