"""``wayproof trec``: relevance judgments and ranked lists of TREC, in and out."""

import argparse
from typing import Any

from wayproof.cli import CommandParser, say, whole_number
from wayproof.cli.capture_put import put
from wayproof.text import clip, harmless

__all__ = ["configure", "export_arguments", "import_arguments", "run"]


def configure(parser: CommandParser) -> None:
    """Declare the two subcommands."""
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="verb", required=True
    )
    into = commands.add_parser(
        "import",
        help="make tasks from judgments and packets from ranked lists",
        description="Read qrels as tasks and runs as packets. Which is which is told from the "
        "content: TREC's columns, BEIR's and MS MARCO's three, or JSON. A judgment that can't be "
        "read stops the import.",
    )
    into.intermixed = True
    into.add_argument("logs", metavar="FILE", nargs="*", help="files of judgments and runs")
    into.add_argument(
        "--out", metavar="FILE", default="-", help="packets, or tasks alone (default: -, stdout)"
    )
    into.add_argument("--strict", action="store_true", help="exit 2 for repeated judgments, too")
    import_arguments(into)
    out = commands.add_parser(
        "export",
        help="write tasks as qrels, or packets as a run",
        description="Write tasks as qrels or packets as a run; which is which is told by the keys.",
    )
    out.add_argument("logs", metavar="FILE", nargs="*", help="tasks or packets, one a line")
    out.add_argument("--out", metavar="FILE", default="-", help="where to (default: -, stdout)")
    export_arguments(out)


def import_arguments(parser: Any) -> None:
    """Declare what importing takes, its files apart."""
    parser.add_argument(
        "--qrels",
        metavar="FILE",
        action="append",
        default=[],
        help="judgments, where the content could be a run as well; repeatable",
    )
    parser.add_argument(
        "--run",
        metavar="FILE",
        action="append",
        default=[],
        help="a run, where the content could be judgments as well; repeatable",
    )
    parser.add_argument("--tasks-out", metavar="FILE", help="where imported tasks go")
    parser.add_argument(
        "--min-relevance",
        metavar="N",
        type=whole_number,
        default=1,
        help="judged relevant from this grade on (default: 1)",
    )
    parser.add_argument(
        "--skip-bad-lines",
        action="store_true",
        help="count lines that can't be read and go on, instead of refusing the file",
    )


def export_arguments(parser: Any) -> None:
    """Declare what exporting takes, its file apart."""
    parser.add_argument(
        "--attempt",
        metavar="N",
        type=whole_number,
        default=1,
        help="export the packets of this attempt (default: 1)",
    )


def run(args: argparse.Namespace) -> int:
    """Import or export."""
    from wayproof.cli import capture_trec

    verb = {"import": capture_trec.run_import, "export": capture_trec.run_export}[args.verb]
    return verb(args, put=put, say=_say)


def _say(text: str) -> None:
    say(harmless(clip(text, 500)))
