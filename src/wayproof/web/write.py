"""Pages to disk: a whole file, or a whole folder, or nothing."""

import contextlib
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from wayproof.bundle import BundleWriter, FileDigest
from wayproof.errors import OutputError
from wayproof.web.page import Page

__all__ = ["write_file", "write_folder"]


def write_folder(
    pages: Iterable[Page],
    out: Path,
    *,
    overwrite: bool,
    inputs: Mapping[str, FileDigest],
    limits: Sequence[str],
) -> None:
    """Write pages as a folder with a manifest, like every other result."""
    with BundleWriter(out, kind="report", overwrite=overwrite) as bundle:
        for page in pages:
            writer = bundle.open(page.name)
            for part in page.parts:
                writer.write(part)
            bundle.close(page.name)
        bundle.commit(inputs=inputs, settings={}, limits=limits)


def write_file(page: Page, out: Path, *, overwrite: bool) -> None:
    """Write one page; an existing file is kept unless ``overwrite``.

    Raises
    ------
    OutputError
        When the place can't be written to, or something stands there.
    """
    if os.path.lexists(out) and not (overwrite and out.is_file()):
        raise OutputError(
            "already exists; nothing was written",
            file=str(out),
            mend="choose another --out"
            if out.is_dir()
            else "choose another --out, or say --overwrite",
        )
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{out.name}.partial-", dir=out.parent)
    except OSError as error:
        raise OutputError("can't be written to", file=str(out.parent), found=str(error)) from None
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for part in page.parts:
                file.write(part)
        partial.chmod(0o666 & ~_umask())
        partial.replace(out)
    except OSError as error:
        raise OutputError("could not be written", file=str(out), found=str(error)) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
