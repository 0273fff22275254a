"""Which pages a report has: one bundle's, or an index over several."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from wayproof.bundles.kinds import KINDS, load
from wayproof.bundles.manifest import MANIFEST_NAME, FileDigest, digest_file
from wayproof.bundles.reader import Bundle
from wayproof.errors import InputError
from wayproof.report.index_page import index_page
from wayproof.report.run import ReportPlace, bundle_names
from wayproof.web.page import Page

__all__ = ["REPORT_LIMITS", "file_page", "folder_pages", "source_digests"]

Sources = Mapping[str, Path | None]
REPORT_LIMITS: Final = ("A report shows its bundles' files and adds no evidence of its own.",)


def _pages(
    bundle: Bundle, sources: Sources, place: ReportPlace, *, may_page: bool
) -> Iterator[Page]:
    kind = bundle.kind
    if kind.page_maker is None:
        raise InputError(
            "no report for this kind of bundle",
            file=str(bundle.folder),
            expected=" or ".join(sorted(row.name for row in KINDS.values() if row.page_maker)),
            found=kind.name,
        )
    given = {role: path for role, path in sources.items() if path is not None}
    if not given.keys() <= set(kind.source_roles):
        raise InputError(
            f"a {kind.name} bundle has no {' and '.join(sources)}",
            file=str(bundle.folder),
            mend="leave {tasks} and {packets} out",
        )
    pages: Iterator[Page] = load(kind.page_maker)(bundle, given, place, may_page=may_page)
    return pages


def source_digests(bundles: Sequence[Bundle]) -> dict[str, FileDigest]:
    """Digests of the bundles that a report was made from: their manifests name the rest."""
    return {
        f"{number:02d}-{bundle.manifest.kind}/{MANIFEST_NAME}": digest_file(
            bundle.folder / MANIFEST_NAME
        )
        for number, bundle in enumerate(bundles, 1)
    }


def file_page(bundle: Bundle, sources: Sources) -> Iterator[Page]:
    """Yield one bundle's one page. Its parts are read from the bundle while it is written."""
    return _pages(bundle, sources, ReportPlace("index", bundle.name), may_page=False)


def folder_pages(bundles: Sequence[Bundle], sources: Sources) -> Iterator[Page]:
    """Yield a folder's pages: one bundle's own, or an index and each bundle's."""
    if len(bundles) == 1:
        place = ReportPlace("index", bundles[0].name)
        yield from _pages(bundles[0], sources, place, may_page=True)
        return
    names = bundle_names([bundle.folder for bundle in bundles])
    places = [
        ReportPlace(f"{number:02d}-{bundle.manifest.kind}", name)
        for number, (bundle, name) in enumerate(zip(bundles, names, strict=True), 1)
    ]
    made = [
        _pages(bundle, sources, place, may_page=True)
        for bundle, place in zip(bundles, places, strict=True)
    ]
    yield from index_page(bundles, places)
    for pages in made:
        yield from pages
