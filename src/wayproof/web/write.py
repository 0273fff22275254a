"""Pages to disk: a whole file, or a whole folder, or nothing."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from wayproof.bundles.kinds import REPORT_KIND
from wayproof.bundles.manifest import FileDigest
from wayproof.bundles.whole_file import whole_file
from wayproof.bundles.writer import BundleWriter
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
    with BundleWriter(out, kind=REPORT_KIND, overwrite=overwrite) as bundle:
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
    with whole_file(out, overwrite=overwrite) as file:
        for part in page.parts:
            file.write(part)
