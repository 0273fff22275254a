"""A single file, written whole or not at all."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from wayproof.errors import OutputError

__all__ = ["permissions", "refuse_existing", "whole_file"]


def permissions(mode: int) -> int:
    """Return ``mode`` less the user's umask: temporary files are private, results are not."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mode & ~mask


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Refuse a place that is taken; with ``overwrite`` only a regular file may be replaced.

    Raises
    ------
    OutputError
        Saying what stands there: a link, a device, a pipe or a folder is never replaced.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError("can't be written to", file=str(path), found=error.strerror) from None
    if not stat.S_ISREG(mode):
        raise OutputError(
            "is not a regular file, so it is not replaced",
            file=str(path),
            mend="choose another {out}",
        )
    if not overwrite:
        raise OutputError(
            "already exists; nothing was written",
            file=str(path),
            mend="choose another {out}, or set {overwrite}",
        )


@contextlib.contextmanager
def whole_file(path: Path, *, overwrite: bool) -> Iterator[IO[bytes]]:
    """Yield a binary file that takes its place only when the block ends well.

    Raises
    ------
    OutputError
        When the place is taken (see :func:`refuse_existing`) or can't be written to.
    """
    refuse_existing(path, overwrite=overwrite)
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.wayproof-partial-", delete=False
        ) as file:
            partial = Path(file.name)
            try:
                yield file
                file.close()
                partial.chmod(permissions(0o666))
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError("can't be written to", file=str(path), found=error.strerror) from None
