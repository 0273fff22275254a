"""``wayproof explore [--out DIR] [--open]``: the Explorer, as a page that opens from disk."""

import argparse
import sys
from pathlib import Path

DEFAULT_OUT = Path("wayproof-explorer")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help=f"folder to write index.html into (default: {DEFAULT_OUT}, where an Explorer that "
        "stands there is written anew)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing Explorer")
    parser.add_argument("--open", action="store_true", help="open it in the browser")


def run(args: argparse.Namespace) -> int:
    """Write the page, say where it is, and open it when asked."""
    from wayproof.explorer.site import EXPLORER_LIMITS, explorer_page, is_explorer
    from wayproof.web.write import write_folder

    out = args.out or DEFAULT_OUT
    write_folder(
        [explorer_page()],
        out,
        overwrite=args.overwrite or (args.out is None and is_explorer(out)),
        inputs={},
        limits=EXPLORER_LIMITS,
    )
    path = out / "index.html"
    print(path, file=sys.stdout)
    if args.open:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            print("wayproof: no browser was found; open the file yourself", file=sys.stderr)
    return 0
