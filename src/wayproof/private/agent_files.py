"""The agent's files: hashed for an agreement, and copied for a run.

What runs is a copy, and the digest that counts is the copy's: a file that changes while it
is read can't be hashed as one thing and run as another.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from wayproof.errors import InputError
from wayproof.private.agreement import is_file_path, refused
from wayproof.text import quoted

__all__ = ["copy_files", "hash_files"]

_MOST_FILES: Final = 10_000
_MOST_BYTES: Final = 16 << 30
_BLOCK_BYTES: Final = 1 << 20


def hash_files(folder: Path) -> dict[str, str]:
    """Return SHA-256 of every file below a folder, by its path with slashes, sorted.

    Raises
    ------
    InputError
        For a link, a device, a name that can't be agreed on, too many files, or none.
    """
    found: dict[str, str] = {}
    for path in _below(folder):
        name = path.relative_to(folder).as_posix()
        if not is_file_path(name):
            raise InputError("a name that can't stand in an agreement", file=quoted(str(path)))
        with _opened(path) as file:
            found[name] = _pumped(file, None, str(path))
        if len(found) > _MOST_FILES:
            raise InputError("too many files", file=str(folder), expected=f"at most {_MOST_FILES}")
    if not found:
        raise InputError("no files of an agent", file=str(folder))
    return dict(sorted(found.items()))


def copy_files(folder: Path, agreed: Mapping[str, str], copy: Path) -> None:
    """Copy the agreed files, and no others, and check what was copied.

    Parameters
    ----------
    folder
        Where the agent's files lie.
    agreed
        SHA-256 of each by its path.
    copy
        An empty folder.

    Raises
    ------
    InputError
        Naming clause and file, when one is missing, is a link, or isn't what was agreed.
    """
    for name, digest in sorted(agreed.items()):
        target = copy / name
        _make_way(copy, name)
        try:
            with _opened_below(folder, name) as file, target.open("xb") as out:
                found = _pumped(file, out, name)
        except InputError as error:
            raise refused(
                "agent.files", error.problem, found=error.found, expected=quoted(name)
            ) from None
        if found != digest:
            raise refused(
                "agent.files",
                f"the file {quoted(name)} is not the one that was agreed on",
                expected=f"SHA-256 {digest}",
                found=found,
            )
        target.chmod(0o555)  # whether a file may be executed is no part of its hash


def _make_way(copy: Path, name: str) -> None:
    """Make the folders that lead to a file; anybody may look into them, whatever the umask."""
    way = copy
    for part in name.split("/")[:-1]:
        way /= part
        way.mkdir(exist_ok=True)
        way.chmod(0o755)


def _below(folder: Path) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise InputError("can't be read", file=str(folder), found=error.strerror) from None
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _below(Path(entry.path))
        elif entry.is_file(follow_symlinks=False):
            yield Path(entry.path)
        else:
            raise InputError(
                "is neither a file nor a folder",
                file=entry.path,
                mend="put the file itself in a link's place",
            )


def _opened_below(folder: Path, name: str) -> BinaryIO:
    """Open a file without following a link anywhere on the way below ``folder``."""
    way = folder
    for part in name.split("/")[:-1]:
        way /= part
        if way.is_symlink():
            raise InputError("lies behind a link", file=str(way))
    return _opened(folder / name)


def _opened(path: Path) -> BinaryIO:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        fd = os.open(path, flags)
    except OSError as error:
        raise InputError("can't be read", file=str(path), found=error.strerror) from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise InputError("is not a regular file", file=str(path))
    return os.fdopen(fd, "rb")


def _pumped(file: BinaryIO, out: BinaryIO | None, name: str) -> str:
    """Read a file to its end, into another if there is one; return SHA-256 of what was read."""
    digest, size_bytes = hashlib.sha256(), 0
    while block := file.read(_BLOCK_BYTES):
        size_bytes += len(block)
        if size_bytes > _MOST_BYTES:
            raise InputError("is too large", file=name, expected=f"at most {_MOST_BYTES} bytes")
        digest.update(block)
        if out is not None:
            out.write(block)
    return digest.hexdigest()
