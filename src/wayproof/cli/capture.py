"""``wayproof capture``: packets from the logs people have.

``capture LOG…`` shares its position with the verbs ``formats``, ``inspect`` and ``trec``: a
word that is a verb is taken as one, and a log of that name is written ``./formats``.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wayproof.cli import CommandParser, say
from wayproof.cli.capture_places import check_places
from wayproof.cli.capture_put import put
from wayproof.cli.trec import export_arguments, import_arguments
from wayproof.errors import InputError
from wayproof.text import clip, harmless

_MAX_NAMED = 50


def configure(parser: CommandParser) -> None:
    """Declare the arguments."""
    parser.intermixed = True
    parser.add_argument(
        "logs", metavar="LOG", nargs="+", help="log files, folders of logs, or - for stdin"
    )
    parser.add_argument("--format", metavar="NAME", help="the logs' format (default: detected)")
    parser.add_argument("--out", metavar="FILE", default="-", help="packets (default: -, stdout)")
    parser.add_argument("--strict", action="store_true", help="exit 2 when any line was bad")
    parser.add_argument("--report", metavar="FILE", help="write what was read and left out as JSON")
    _packet_arguments(parser.add_argument_group("packets"))
    _task_arguments(parser.add_argument_group("tasks"))
    _verb_arguments(parser)


def _packet_arguments(group: Any) -> None:
    group.add_argument("--repo-root", metavar="DIR", help="repository root as the log spells it")
    group.add_argument(
        "--map",
        metavar="FROM=TO",
        action="append",
        default=[],
        help="take paths below FROM as below TO (an empty TO is the root); repeatable",
    )
    group.add_argument(
        "--select",
        choices=("read", "matched", "listed"),
        default=None,
        help="selected artifacts: files read (default), and matched, and listed",
    )
    group.add_argument(
        "--wall",
        choices=("native", "elapsed"),
        default="native",
        help="wall_ms from the log's own measurements (default) or from timestamps",
    )


def _task_arguments(group: Any) -> None:
    group.add_argument("--tasks", metavar="FILE", help="tasks to pair the sessions with")
    group.add_argument(
        "--task-id-from",
        metavar="SOURCE",
        default=None,
        help="session (default), file, or prompt:REGEX over the first prompt",
    )
    group.add_argument("--sidecar", metavar="FILE", help="JSON object of session_id: task_id")
    group.add_argument("--draft-tasks", metavar="FILE", help="write task drafts to fill in")


def _verb_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the verbs take; they stand where a log would."""
    looking = parser.add_argument_group(
        "capture formats, capture inspect LOG",
        "instead of capturing: list the log formats, or show sessions as a timeline with "
        "the first contact, the selections and the cut marked",
    )
    looking.add_argument("--json", action="store_true", help="the same as JSON")
    trec = parser.add_argument_group(
        "capture trec-import QRELS RUN, capture trec-export FILE",
        "the same as wayproof trec import and wayproof trec export",
    )
    import_arguments(trec)
    export_arguments(trec)


def run(args: argparse.Namespace) -> int:
    """Capture, or do what the verb says."""
    verb = _VERBS.get(args.logs[0])
    if verb is not None:
        args.logs = args.logs[1:]
        return verb(args)
    return _capture(args)


# -- capture --------------------------------------------------------------------------


def _capture(args: argparse.Namespace) -> int:
    from wayproof.capture.lines import Problems
    from wayproof.capture.matching import match, parse_task_key, read_sidecar, read_task_ids

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


def _options(args: argparse.Namespace) -> Any:
    from wayproof.capture.ids import parse_map
    from wayproof.capture.packet import PacketOptions

    return PacketOptions(
        repo_root=args.repo_root,
        maps=tuple(parse_map(text) for text in args.map),
        wall=args.wall,
    )


def _format_name(args: argparse.Namespace) -> str | None:
    from wayproof.capture.registry import FORMATS

    if args.format is not None and args.format not in FORMATS:
        raise InputError(
            "no such format",
            field="--format",
            expected=f"one of {', '.join(FORMATS)}",
            found=args.format,
        )
    name: str | None = args.format
    return name


def _read(args: argparse.Namespace, problems: Any) -> tuple[list[Any], list[str]]:
    from wayproof.capture.collect import capture_logs

    found = capture_logs(
        args.logs,
        problems=problems,
        format_name=_format_name(args),
        tier=args.select or "read",
        options=_options(args),
        stdin=sys.stdin.buffer,
    )
    return found.sessions, found.left_out


def _write(args: argparse.Namespace, captured: Sequence[Any], matched: Any) -> None:
    from wayproof.capture.drafts import draft_tasks
    from wayproof.capture.output import json_line, write_whole

    if args.draft_tasks is not None:
        drafts = draft_tasks(captured, matched.packets)
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
    for problem in problems.named[:_MAX_NAMED]:
        _say(str(problem))
    if problems.count > _MAX_NAMED:
        _say(f"… and {_counted(problems.count - _MAX_NAMED, 'more bad line')}")
    for text in skipped:
        _say(f"left out: {text}")
    for session in matched.unmatched_sessions:
        _say(f"session without a task: {session}")
    for task in matched.unmatched_tasks:
        _say(f"task without a session: {task} (scored as route_error)")
    _say(_summary(captured, matched, problems))
    if args.report is not None:
        _report(args.report, captured, matched, problems, skipped)


def _summary(captured: Sequence[Any], matched: Any, problems: Any) -> str:
    packets = matched.packets
    unmeasured = sum("wall_ms" not in packet for packet in packets)
    unknown = sum(packet.get("first_contact_command") is None for packet in packets)
    parts = [
        f"{_counted(len(captured), 'session')}, {_counted(len(packets), 'packet')}",
        f"{unmeasured} without wall_ms",
        f"{unknown} without a first contact",
        _counted(problems.count, "bad line"),
    ]
    return "; ".join(parts)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


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


def _say(text: str) -> None:
    say(harmless(clip(text, 500)))


# -- formats --------------------------------------------------------------------------


def _formats(args: argparse.Namespace) -> int:
    from wayproof.capture.adapter import FIELDS
    from wayproof.capture.registry import formats

    described = list(formats())
    if args.json:
        import msgspec

        print(msgspec.json.encode(described).decode())
        return 0
    for one in described:
        print(f"{one.name}: {one.title}")
        print(f"  files     {one.files}")
        sampled = f" (newest sample: {one.sampled})" if one.sampled else ""
        print(f"  versions  {one.versions}{sampled}")
        print(f"  told by   {one.detected_by}")
        for level in ("native", "derived", "unknown"):
            names = [FIELDS[key] for key, value in one.fields.items() if value == level]
            if names:
                print(f"  {level:<9} {', '.join(names)}")
        for limit in one.limits:
            print(f"  note      {limit}")
        print()
    return 0


# -- inspect --------------------------------------------------------------------------


def _inspect(args: argparse.Namespace) -> int:
    from wayproof.capture.discover import find_logs
    from wayproof.capture.lines import Problems, Source

    if not args.logs:
        raise InputError("inspect needs a LOG", mend="wayproof capture inspect LOG")
    problems = Problems()
    for log in find_logs(args.logs, stdin=sys.stdin.buffer):
        try:
            _inspect_log(args, Source(log.path, name=log.name, problems=problems))
        except InputError as error:
            if log.named:
                raise
            _say(f"left out: {log.name}: {error.problem}")
    for problem in problems.named[:_MAX_NAMED]:
        _say(str(problem))
    return 2 if args.strict and problems.count else 0


def _inspect_log(args: argparse.Namespace, source: Any) -> None:
    import msgspec

    from wayproof.capture.output import json_line
    from wayproof.capture.packet import make_packet, roots_of
    from wayproof.capture.registry import read_log
    from wayproof.capture.route import RouteCutter
    from wayproof.capture.sessions import Sessions
    from wayproof.capture.timeline import Timeline

    options = _options(args)
    sinks: dict[str, tuple[RouteCutter, Timeline]] = {}

    def sinks_of(info: Any) -> tuple[RouteCutter, Timeline]:
        sinks[info.key] = RouteCutter(info, tier=args.select or "listed"), Timeline(info)
        return sinks[info.key]

    found = read_log(source, Sessions(sinks_of), format_name=_format_name(args))
    for cutter, timeline in sinks.values():
        route = cutter.finish()
        packet = make_packet(route, format_name=found or "", file=source.name, options=options)
        entries = list(timeline.entries(route, roots_of(route, options)))
        if args.json:
            shown = {"packet": packet, "timeline": [msgspec.to_builtins(one) for one in entries]}
            print(json_line(shown).decode(), end="")
        else:
            _show(packet, entries)


def _show(packet: dict[str, Any], entries: Sequence[Any]) -> None:
    source = packet["source"]
    print(harmless(f"session {source.get('session_id', '(unnamed)')}"))
    print(harmless(f"  {source['format']} · {source['file']}"))
    for entry in entries:
        thread = f"   [{entry.thread}]" if entry.thread else ""
        text = harmless(clip(" ".join(entry.text.split()), 160))
        print(f"{entry.line:>7}  {entry.kind:<9}{harmless(thread)} {text}")
        for tier, artifact in entry.selects[:40]:
            print(harmless(f"{'':>19}{tier:<8} {clip(artifact, 200)}"))
        if len(entry.selects) > 40:
            print(f"{'':>19}… and {len(entry.selects) - 40} more")
        if entry.notes:
            print(harmless(f"{'':>19}» {clip('; '.join(entry.notes), 400)}"))
    command = packet["first_contact_command"]
    first = command if command is not None else f"null ({packet.get('first_contact_reason')})"
    print(harmless(f"  first contact  {clip(first, 400)}"))
    wall, unmeasured = packet.get("wall_ms"), packet.get("wall_unmeasured_calls", 0)
    shown = "absent" if wall is None else wall
    print(f"  wall_ms        {shown} ({_counted(unmeasured, 'unmeasured call')})")
    print(f"  cut            {packet['cut_reason']} at line {source['lines']['cut']}")
    if packet["timed_out"] or packet["error"]:
        print(harmless(f"  error          {packet['error'] or 'timed out'}"))
    print()


# -- TREC -----------------------------------------------------------------------------


def _trec_import(args: argparse.Namespace) -> int:
    from wayproof.cli import capture_trec

    return capture_trec.run_import(args, put=put, say=_say)


def _trec_export(args: argparse.Namespace) -> int:
    from wayproof.cli import capture_trec

    return capture_trec.run_export(args, put=put, say=_say)


_VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "formats": _formats,
    "inspect": _inspect,
    "trec-import": _trec_import,
    "trec-export": _trec_export,
}
