"""``wayproof rejections LOG…``: what agents did after a rejected call, in the logs people have."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayproof.cli import CommandParser, write_json
from wayproof.cli.log_options import MAX_NAMED, add_format, counted, format_name, tell
from wayproof.cli.progress import count_progress
from wayproof.errors import InputError
from wayproof.evidence.rejection_names import DEFAULT_WINDOW_CALLS, MAX_WINDOW_CALLS

if TYPE_CHECKING:
    from wayproof.evidence.rejection_records import Rate, StratumCounts, Summary
    from wayproof.rejections.collect import WatchedLogs

__all__ = ["configure", "run"]

_MANY_LOGS = 100


def configure(parser: CommandParser) -> None:
    """Declare the arguments."""
    parser.intermixed = True
    parser.add_argument(
        "logs", metavar="LOG", nargs="+", help="log files, folders of logs, or - for stdin"
    )
    add_format(parser)
    parser.add_argument(
        "--window",
        metavar="N",
        type=int,
        default=DEFAULT_WINDOW_CALLS,
        help=f"an episode ends after so many calls, 1 to {MAX_WINDOW_CALLS} (default: %(default)s)",
    )
    parser.add_argument(
        "--map",
        metavar="FROM=TO",
        action="append",
        default=[],
        help="take paths below FROM as below TO (an empty TO is the root); repeatable",
    )
    parser.add_argument(
        "--task-id-from",
        metavar="SOURCE",
        default="session",
        help="session (default), file, or prompt:REGEX over the first prompt",
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="write a bundle")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing bundle")
    parser.add_argument(
        "--with-text",
        action="store_true",
        help="keep what was called and said, up to 2,000 characters each",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def run(args: argparse.Namespace) -> int:
    """Read the logs, write the bundle, show the figures."""
    import msgspec

    from wayproof.rejections.run import RejectionSettings, summary_of, watched, write_bundle

    settings = RejectionSettings(
        format=format_name(args),
        maps=tuple(args.map),
        task_id_from=args.task_id_from,
        window=args.window,
        with_text=args.with_text,
    )
    if args.with_text and args.out is None:
        raise InputError("{with_text} says what a bundle keeps", mend="name one with {out}")
    with count_progress("reading logs", worth_showing=_MANY_LOGS) as progress:
        logs = watched(
            args.logs,
            settings,
            stdin=sys.stdin.buffer,
            progress=progress if sys.stderr.isatty() else None,
        )
    if not logs.sessions:
        _tell(logs)
        raise InputError(
            "no session in these logs", mend="see 'wayproof inspect LOG' for what a log holds"
        )
    if args.out is not None:
        summary = write_bundle(logs, settings, args.out, overwrite=args.overwrite)
    else:
        summary = summary_of(logs, settings)
    _tell(logs)
    if args.json:
        write_json(msgspec.to_builtins(summary))
    else:
        _show(summary, args.out)
    return 0


def _tell(logs: "WatchedLogs") -> None:
    """Say on stderr what a person must know."""
    for problem in logs.problems.named[:MAX_NAMED]:
        tell(str(problem))
    if logs.problems.count > MAX_NAMED:
        tell(f"… and {counted(logs.problems.count - MAX_NAMED, 'more bad line')}")
    for text in logs.left_out[:MAX_NAMED]:
        tell(f"left out: {text}")
    if len(logs.left_out) > MAX_NAMED:
        tell(f"… and {len(logs.left_out) - MAX_NAMED} more left out")


def _show(summary: "Summary", out: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table

    from wayproof.report.rejection_numbers import headline
    from wayproof.text import harmless

    for sentence in headline(summary):
        print(sentence)
    console = Console(highlight=False, soft_wrap=True)
    print()
    table = Table(box=None, pad_edge=False)
    for title in ("format", "rates are"):
        table.add_column(title)
    for title in ("sessions", "calls", "rejected", "reached", "at floor"):
        table.add_column(title, justify="right")
    for row in summary.formats:
        table.add_row(
            harmless(row.format),
            _RULES[row.rules],
            f"{row.sessions:,}",
            f"{row.calls:,}",
            f"{row.strata.invalid:,}",
            _share(row.reached),
            _share(row.at_floor),
        )
    console.print(table)
    for lines in (_kinds(summary), _strata(summary.strata)):
        print()
        for line in lines:
            print(line)
    print()
    print(
        f"Counted as others do (a later success of the same tool): {summary.same_tool_success:,} "
        f"of {summary.reached.episodes:,} episodes."
    )
    for limit in summary.limits[:2]:
        print(f"Limit: {limit}")
    if out is not None:
        print(f"Written to {harmless(str(out))}; see 'wayproof verify' and 'wayproof report'.")


_RULES = {
    "checked": "checked",
    "unchecked": "unchecked",
    "no_outcomes": "no outcomes logged",
}


def _share(rate: "Rate") -> str:
    from wayproof.report.rejection_numbers import share_of

    ends = share_of(rate)
    return "–" if ends is None else f"{ends[0]} to {ends[1]}"


def _kinds(summary: "Summary") -> Iterator[str]:
    yield "episodes by kind:"
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for row in summary.formats:
        for kind in row.kinds:
            outcomes = counts.setdefault((kind.stratum, kind.kind), {})
            for name, count in kind.outcomes.items():
                outcomes[name] = outcomes.get(name, 0) + count
    if not counts:
        yield "  none"
    for (stratum, kind_name), outcomes in counts.items():
        told = ", ".join(
            f"{name.replace('_', ' ')} {count}" for name, count in sorted(outcomes.items())
        )
        yield f"  {stratum} {kind_name}: {sum(outcomes.values())} ({told})"


def _strata(strata: "StratumCounts") -> Sequence[str]:
    names = ("invalid", "malformed", "refused", "failed", "verdict", "cancelled")
    told: Any = ", ".join(f"{name} {getattr(strata, name):,}" for name in names)
    return [f"results that were no success: {told}"]
