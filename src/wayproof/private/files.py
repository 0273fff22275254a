"""Files of a private evaluation: read within bounds, written whole, kept from others."""

import os
import stat
from pathlib import Path
from typing import Final

from wayproof.bundles.places import check_place
from wayproof.bundles.whole_file import whole_file
from wayproof.errors import InputError, OutputError

__all__ = ["MOST_BYTES", "read_input", "write_private", "write_public"]

MOST_BYTES: Final = 1 << 20
"""Largest agreement, start, signature or key that is read."""


def read_input(path: Path, *, most_bytes: int = MOST_BYTES) -> bytes:
    """Read a small regular file; a pipe or a device is never waited for.

    Raises
    ------
    InputError
        When it is missing, no regular file, or larger than ``most_bytes``.
    """
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        found = error.strerror if isinstance(error, OSError) else "not a path"
        raise InputError("can't be read", file=str(path), found=found) from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise InputError("can't be read", file=str(path), expected="a regular file")
    with os.fdopen(fd, "rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise InputError("is too large", file=str(path), expected=f"at most {most_bytes} bytes")
    return data


def write_public(path: Path, data: bytes) -> None:
    """Write a whole file that others may read; one that exists is refused."""
    with whole_file(path, overwrite=False) as file:
        file.write(data)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that nobody else may read, from its first byte on; never over another.

    Raises
    ------
    OutputError
        When the place is taken, lies inside a bundle, or can't be written to.
    """
    check_place(path, overwrite=False)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise OutputError("can't be written to", file=str(path), found=error.strerror) from None
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise OutputError("can't be written to", file=str(path), found=error.strerror) from None
