"""``wayproof capture LOG…``: packets from the logs people have."""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wayproof.cli import CommandParser
from wayproof.cli.capture_places import check_places
from wayproof.cli.capture_put import put
from wayproof.cli.log_options import (
    MAX_NAMED,
    add_format,
    add_packet_options,
    counted,
    format_name,
    packet_options,
    route_end,
    tell,
)
from wayproof.cli.progress import count_progress
from wayproof.cli.settings_file import add_settings_options, apply_settings


def configure(parser: CommandParser) -> None:
    """Declare the arguments."""
    parser.intermixed = True
    parser.add_argument(
        "logs", metavar="LOG", nargs="+", help="log files, folders of logs, or - for stdin"
    )
    add_format(parser)
    parser.add_argument("--out", metavar="FILE", default="-", help="packets (default: -, stdout)")
    parser.add_argument("--strict", action="store_true", help="exit 2 when any line was bad")
    parser.add_argument("--report", metavar="FILE", help="write what was read and left out as JSON")
    add_packet_options(parser.add_argument_group("packets"), select="read")
    _task_arguments(parser.add_argument_group("tasks"))
    add_settings_options(parser)


def _task_arguments(group: Any) -> None:
    group.add_argument("--tasks", metavar="FILE", help="tasks to pair the sessions with")
    group.add_argument(
        "--task-id-from",
        metavar="SOURCE",
        default=None,
        help="session (default), file, or prompt:REGEX over the first prompt",
    )
    group.add_argument("--sidecar", metavar="FILE", help="JSON object of session_id: task_id")
    group.add_argument(
        "--draft-tasks",
        metavar="FILE",
        help="write task drafts to fill in, with the files that the session edited as suggestions",
    )
    group.add_argument(
        "--accept-suggestions",
        action="store_true",
        help="take suggestions for expected artifacts: such a task is no draft",
    )


def run(args: argparse.Namespace) -> int:
    """Capture."""
    from wayproof.capture.lines import Problems
    from wayproof.capture.matching import match, parse_task_key, read_sidecar, read_task_ids

    apply_settings(args, "capture")
    _check_places(args)
    key = parse_task_key(args.task_id_from) if args.task_id_from is not None else None
    task_ids = read_task_ids(Path(args.tasks)) if args.tasks is not None else None
    sidecar = read_sidecar(Path(args.sidecar)) if args.sidecar is not None else None
    problems = Problems()
    captured, skipped = _read(args, problems)
    matched = match(captured, task_ids=task_ids, key=key, sidecar=sidecar)
    if not args.strict or not problems.count:
        _write(args, captured, matched)
    _tell(args, problems, captured, matched, skipped)
    return 2 if args.strict and problems.count else 0


def _check_places(args: argparse.Namespace) -> None:
    read = [("LOG", text) for text in args.logs]
    named = [("--tasks", args.tasks), ("--sidecar", args.sidecar)]
    check_places(
        [*read, *((option, text) for option, text in named if text is not None)],
        {"--out": args.out, "--draft-tasks": args.draft_tasks, "--report": args.report},
    )


_MANY_LOGS = 100


def _read(args: argparse.Namespace, problems: Any) -> tuple[list[Any], list[str]]:
    from wayproof.capture.collect import capture_logs

    with count_progress("reading logs", worth_showing=_MANY_LOGS) as progress:
        found = capture_logs(
            args.logs,
            problems=problems,
            format_name=format_name(args),
            tier=args.select,
            until=route_end(args),
            edits=args.draft_tasks is not None,
            options=packet_options(args),
            stdin=sys.stdin.buffer,
            # Where nobody looks the logs are not counted first, either.
            progress=progress if sys.stderr.isatty() else None,
        )
    return found.sessions, found.left_out


def _write(args: argparse.Namespace, captured: Sequence[Any], matched: Any) -> None:
    from wayproof.capture.drafts import draft_tasks
    from wayproof.capture.output import json_line, write_whole

    if args.draft_tasks is not None:
        drafts = draft_tasks(captured, matched.packets, accept_suggestions=args.accept_suggestions)
        write_whole(Path(args.draft_tasks), map(json_line, drafts))
    put(args.out, map(json_line, matched.packets))


def _tell(
    args: argparse.Namespace,
    problems: Any,
    captured: Sequence[Any],
    matched: Any,
    skipped: Sequence[str],
) -> None:
    """Say on stderr what a person must know; the same as a file with ``--report``."""
    for problem in problems.named[:MAX_NAMED]:
        tell(str(problem))
    if problems.count > MAX_NAMED:
        tell(f"… and {counted(problems.count - MAX_NAMED, 'more bad line')}")
    for text in _by_reason(skipped):
        tell(f"left out: {text}")
    for session in matched.unmatched_sessions:
        tell(f"session without a task: {session}")
    for task in matched.unmatched_tasks:
        tell(f"task without a session: {task} (scored as route_error)")
    tell(_summary(captured, matched, problems))
    _advise(args, matched.packets)
    if args.report is not None:
        _report(args.report, captured, matched, problems, skipped)


_FEW = 5


def _by_reason(left_out: Sequence[str]) -> list[str]:
    """Name a few one by one; count many by their reason (the report has each)."""
    if len(left_out) <= _FEW:
        return list(left_out)
    counts: dict[str, int] = {}
    for text in left_out:
        reason = _SOMETHING.sub(r"\1 another", text.rsplit(": ", 1)[-1])
        counts[reason] = counts.get(reason, 0) + 1
    return [f"{count} × {reason}" for reason, count in counts.items()]


_SOMETHING = re.compile(r"^(repeats the route of|a sub-agent of|goes on with) .*$")


def _advise(args: argparse.Namespace, packets: Sequence[Any]) -> None:
    """Say what would make the packets better."""
    from wayproof.capture.advice import better_root, only_elapsed

    root = better_root(packets)
    if root is not None:
        tell(f"nearly all ids lie outside the repository root: --repo-root {root} would hold them")
    if args.wall == "native" and only_elapsed(packets):
        tell(
            "these logs measure no time: --wall elapsed takes it from timestamps, waiting included"
        )


def _summary(captured: Sequence[Any], matched: Any, problems: Any) -> str:
    packets = matched.packets
    unmeasured = sum("wall_ms" not in packet for packet in packets)
    unknown = sum(packet.get("first_contact_command") is None for packet in packets)
    parts = [
        f"{counted(len(captured), 'session')}, {counted(len(packets), 'packet')}",
        f"{unmeasured} without wall_ms",
        f"{unknown} without a first contact",
        counted(problems.count, "bad line"),
    ]
    return "; ".join(parts)


def _report(
    path: str, captured: Sequence[Any], matched: Any, problems: Any, skipped: Sequence[str]
) -> None:
    from wayproof.capture.output import json_line, write_whole

    record = {
        "sessions": [
            {
                "file": one.packet["source"]["file"],
                "format": one.format,
                "session_id": one.session_id,
            }
            for one in captured
        ],
        "packet_count": len(matched.packets),
        "unmatched_sessions": matched.unmatched_sessions,
        "unmatched_tasks": matched.unmatched_tasks,
        "left_out": list(skipped),
        "bad_line_count": problems.count,
        "bad_lines": [
            {"file": one.file, "line": one.line, "text": one.text, "mended": one.mended}
            for one in problems.named
        ],
    }
    write_whole(Path(path), [json_line(record)])
