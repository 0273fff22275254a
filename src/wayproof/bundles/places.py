"""Places to write to: what may be replaced, what killed runs left behind, and taking turns.

Whatever is written is built beside its place and renamed when it is whole. The name of the
unfinished sibling is ``.NAME.wayproof-partial-XXXX``; its maker holds a lock on it, so that
the next run can tell what a killed run left from what another run is still writing.
"""

import contextlib
import errno
import glob
import os
import shutil
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

from wayproof.bundles.manifest import MANIFEST_NAME, PARTIAL_MARK, read_manifest
from wayproof.errors import InputError, IntegrityError, OutputError

__all__ = [
    "check_place",
    "hold",
    "partial_prefix",
    "permissions",
    "refuse_existing",
    "refuse_inside_bundle",
    "sweep",
    "turn",
]

_TURN_S = 10.0
_WAIT_S = 0.02


def permissions(mode: int) -> int:
    """Return ``mode`` less the user's umask: temporary files are private, results are not."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mode & ~mask


# -- what may be replaced -------------------------------------------------------------


def check_place(path: Path, *, overwrite: bool) -> None:
    """Refuse a place for a file that is taken or lies inside a bundle.

    Raises
    ------
    OutputError
        As :func:`refuse_inside_bundle` and :func:`refuse_existing` do.
    """
    refuse_inside_bundle(path.parent, str(path))
    refuse_existing(path, overwrite=overwrite)


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


def refuse_inside_bundle(folder: Path, shown: str) -> None:
    """Refuse to write into a bundle: it holds its evidence and nothing else.

    Raises
    ------
    OutputError
        When ``folder``, or a folder around it, is a bundle, whole or edited.
    """
    place = folder.resolve()
    for around in (place, *place.parents):
        manifest = around / MANIFEST_NAME
        if manifest.is_symlink() or not manifest.is_file():
            continue
        try:
            read_manifest(around)
        except IntegrityError:
            pass  # an edited bundle is one, too
        except InputError:
            continue
        raise OutputError(
            "lies inside a bundle, which would not be whole any more",
            file=shown,
            mend="choose another {out}",
        )


# -- unfinished siblings --------------------------------------------------------------


def partial_prefix(name: str) -> str:
    """Return how the name of an unfinished sibling of ``name`` begins."""
    return f".{name}{PARTIAL_MARK}"


def hold(path: Path) -> int | None:
    """Lock an unfinished file or folder until this process ends or closes the descriptor.

    None when another process holds it, or the system has no such locks.
    """
    try:
        import fcntl
    except ImportError:
        return None
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd


def sweep(parent: Path, name: str) -> None:
    """Remove what killed runs to the same place left behind; call it in one's :func:`turn`."""
    for leftover in parent.glob(f"{glob.escape(partial_prefix(name))}*"):
        with contextlib.suppress(OSError):
            fd = hold(leftover)
            if fd is None:
                continue
            if leftover.is_dir() and not leftover.is_symlink():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink()
            os.close(fd)


@contextlib.contextmanager
def turn(parent: Path) -> Iterator[None]:
    """Do the block while no other run of wayproof looks at or changes names in ``parent``.

    Only short steps are done so: making a sibling, renaming it into place. Where the system
    has no such locks, or somebody holds one for ten seconds, the block is done all the same.
    """
    fd = _waited_for(parent)
    try:
        yield
    finally:
        if fd is not None:
            os.close(fd)


def _waited_for(parent: Path) -> int | None:
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fd = os.open(parent, os.O_RDONLY)
    except OSError:
        return None
    # Threads of one process are told apart, too: each has its own open file.
    for _ in range(round(_TURN_S / _WAIT_S)):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in {errno.EAGAIN, errno.EACCES}:
                break  # no locks on this file system
            threading.Event().wait(_WAIT_S)
        else:
            return fd
    os.close(fd)
    return None
