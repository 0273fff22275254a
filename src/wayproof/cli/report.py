"""``wayproof report BUNDLE… --out DIR|FILE.html``: bundles as pages that open from disk."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wayproof.evidence.comparison_records import Comparison, RecoveryComparison
    from wayproof.web.page import Page


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("bundles", metavar="BUNDLE", nargs="+", type=Path, help="a result folder")
    parser.add_argument(
        "--out",
        metavar="DIR|FILE.html",
        type=Path,
        required=True,
        help="a folder, with index.html first; or one file, which says what it leaves out of a "
        "very large bundle",
    )
    parser.add_argument(
        "--compare",
        action="store_true",
        help="one page that compares two bundles of one kind, BASE and NEW: queues, differences, "
        "and what changed for each task",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing report")
    parser.add_argument(
        "--tasks",
        metavar="T",
        type=Path,
        help="the tasks that a fitness bundle was scored from: adds the scent terms that were hit",
    )
    parser.add_argument(
        "--packets",
        metavar="P",
        type=Path,
        help="the packets that it was scored from: adds where each packet came from",
    )


def run(args: argparse.Namespace) -> int:
    """Write the report and say where it is."""
    from wayproof.bundles.reader import open_bundle
    from wayproof.errors import InputError
    from wayproof.report.site import REPORT_LIMITS, file_page, folder_pages, source_digests
    from wayproof.web.write import write_file, write_folder

    if args.compare:
        return _write_comparison(args)
    bundles = [open_bundle(folder) for folder in args.bundles]
    sources = {"tasks": args.tasks, "packets": args.packets}
    if args.out.suffix == ".html":
        if len(bundles) > 1:
            raise InputError(
                "several bundles don't fit into one file",
                field="--out",
                expected="a folder",
                found=str(args.out),
            )
        pages = file_page(bundles[0], sources)
        write_file(next(pages), args.out, overwrite=args.overwrite)
        first = args.out
    else:
        write_folder(
            _told(folder_pages(bundles, sources)),
            args.out,
            overwrite=args.overwrite,
            inputs=source_digests(bundles),
            limits=REPORT_LIMITS,
        )
        first = args.out / "index.html"
    print(first, file=sys.stdout)
    return 0


def _write_comparison(args: argparse.Namespace) -> int:
    """Compare two bundles and write the page, as a folder or as one file."""
    from wayproof.compare import compare_bundles
    from wayproof.errors import InputError
    from wayproof.evidence.comparison_records import RejectionComparison

    if len(args.bundles) != 2:
        raise InputError(
            "a comparison is of two bundles",
            setting="compare",
            expected="BASE and NEW",
            found=str(len(args.bundles)),
        )
    if args.tasks is not None or args.packets is not None:
        raise InputError(
            "a comparison reads bundles alone",
            setting="compare",
            mend="leave {tasks} and {packets} out",
        )
    comparison = compare_bundles(*args.bundles)
    if isinstance(comparison, RejectionComparison):
        raise InputError(
            "a comparison of rejected calls has no page", mend="see 'wayproof compare BASE NEW'"
        )
    print(write_comparison(comparison, args.bundles, args.out, overwrite=args.overwrite))
    return 0


def write_comparison(
    comparison: "Comparison | RecoveryComparison",
    folders: "Sequence[Path]",
    out: Path,
    *,
    overwrite: bool,
) -> Path:
    """Write a comparison's page, as a folder or as one file; return the page's path."""
    from wayproof.bundles.reader import open_bundle
    from wayproof.report.compare_page import compare_page
    from wayproof.report.site import REPORT_LIMITS, source_digests
    from wayproof.web.write import write_file, write_folder

    bundles = [open_bundle(folder) for folder in folders]
    pages = compare_page(comparison, bundles)
    if out.suffix == ".html":
        write_file(next(pages), out, overwrite=overwrite)
        return out
    write_folder(
        pages,
        out,
        overwrite=overwrite,
        inputs=source_digests(bundles),
        limits=REPORT_LIMITS,
    )
    return out / "index.html"


def _told(pages: Iterator["Page"]) -> Iterator["Page"]:
    """Say on a terminal's stderr which page is being written."""
    is_watched = sys.stderr.isatty()
    for page in pages:
        if is_watched:
            print(f"\rwriting {page.name}\x1b[K", end="", file=sys.stderr, flush=True)
        yield page
    if is_watched:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
