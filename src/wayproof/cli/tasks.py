"""``wayproof tasks from-git``: task drafts from a repository's history."""

import argparse
from pathlib import Path

from wayproof.cli import CommandParser, whole_number
from wayproof.cli.capture_places import check_places
from wayproof.cli.capture_put import put
from wayproof.cli.log_options import counted, tell
from wayproof.errors import InputError

__all__ = ["configure", "run"]


def configure(parser: CommandParser) -> None:
    """Declare the arguments."""
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", dest="verb", required=True)
    from_git = verbs.add_parser(
        "from-git",
        help="one draft a commit, with the files that it changed as suggestions",
        description="One draft a commit: the prompt from its message, the files that it changed "
        "as suggestions, the parent commit as the place to stand. Merges and reverts, vendored "
        "and lock files are left out. A draft stays one until a person takes its mark away.",
    )
    from_git.add_argument(
        "--repo", metavar="DIR", default=".", help="the repository (default: here)"
    )
    from_git.add_argument("--since", metavar="REV", help="only commits behind this revision")
    from_git.add_argument(
        "--max-files",
        metavar="N",
        type=whole_number,
        default=5,
        help="leave out commits that change more files (default: %(default)s)",
    )
    from_git.add_argument("--out", metavar="FILE", default="-", help="drafts (default: -, stdout)")


def run(args: argparse.Namespace) -> int:
    """Write the drafts."""
    from wayproof.capture.from_git import drafts_from_git
    from wayproof.capture.output import json_line

    if args.max_files < 1:
        raise InputError(
            "not a number of files", setting="max-files", expected="1 or more",
            found=str(args.max_files),
        )  # fmt: skip
    check_places([], {"--out": args.out})
    drafts = drafts_from_git(Path(args.repo), since=args.since, max_files=args.max_files)
    put(args.out, map(json_line, drafts))
    tell(f"{counted(len(drafts), 'draft')}; what a commit changed is a suggestion to confirm")
    return 0
