"""``wayproof inspect LOG``: a session as a timeline, and why its packet says what it says."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from wayproof.cli import CommandParser
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
from wayproof.cli.settings_file import add_settings_options, apply_settings
from wayproof.errors import InputError
from wayproof.text import clip, harmless

__all__ = ["configure", "run"]


def configure(parser: CommandParser) -> None:
    """Declare the arguments."""
    parser.intermixed = True
    parser.add_argument(
        "logs", metavar="LOG", nargs="+", help="log files, folders of logs, or - for stdin"
    )
    add_format(parser)
    parser.add_argument("--strict", action="store_true", help="exit 2 when any line was bad")
    parser.add_argument("--json", action="store_true", help="packet and timeline as JSON Lines")
    add_packet_options(parser.add_argument_group("packets"), select="listed")
    add_settings_options(parser)


def run(args: argparse.Namespace) -> int:
    """Show every session of some logs."""
    from wayproof.capture.discover import find_logs
    from wayproof.capture.lines import Problems, Source

    apply_settings(args, "capture")
    problems = Problems()
    for log in find_logs(args.logs, stdin=sys.stdin.buffer):
        try:
            _inspect_log(args, Source(log.path, name=log.name, problems=problems))
        except InputError as error:
            if log.named:
                raise
            tell(f"left out: {log.name}: {error.problem}")
    for problem in problems.named[:MAX_NAMED]:
        tell(str(problem))
    return 2 if args.strict and problems.count else 0


def _inspect_log(args: argparse.Namespace, source: Any) -> None:
    import msgspec

    from wayproof.capture.output import json_line
    from wayproof.capture.packet import make_packet, roots_of
    from wayproof.capture.registry import read_log
    from wayproof.capture.route import RouteCutter
    from wayproof.capture.sessions import Sessions
    from wayproof.capture.timeline import Timeline, why

    options = packet_options(args)
    sinks: dict[str, tuple[RouteCutter, Timeline]] = {}

    def sinks_of(info: Any) -> tuple[RouteCutter, Timeline]:
        cutter = RouteCutter(info, tier=args.select, until=route_end(args))
        sinks[info.key] = cutter, Timeline(info)
        return sinks[info.key]

    found = read_log(source, Sessions(sinks_of), format_name=format_name(args))
    for cutter, timeline in sinks.values():
        route = cutter.finish()
        packet = make_packet(route, format_name=found or "", file=source.name, options=options)
        entries = list(timeline.entries(route, roots_of(route, options)))
        if args.json:
            shown = {"packet": packet, "timeline": [msgspec.to_builtins(one) for one in entries]}
            print(json_line(shown).decode(), end="")
        else:
            _show(packet, entries, why(route))


def _show(packet: dict[str, Any], entries: Sequence[Any], reasons: Any) -> None:
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
    print(harmless(f"                 {clip(reasons.first_contact, 400)}"))
    print(f"  end            {packet['cut_reason']} at line {source['lines']['cut']}")
    print(harmless(f"                 {clip(reasons.end, 400)}"))
    calls = ", ".join(f"{count} {kind}" for kind, count in reasons.calls.items())
    print(f"  calls          {calls or 'none'}")
    for name in packet.get("created_files", [])[:20]:
        print(harmless(f"  created        {clip(name, 200)}"))
    wall, unmeasured = packet.get("wall_ms"), packet.get("wall_unmeasured_calls", 0)
    shown = "absent" if wall is None else wall
    print(f"  wall_ms        {shown} ({counted(unmeasured, 'unmeasured call')})")
    if packet["timed_out"] or packet["error"]:
        print(harmless(f"  error          {packet['error'] or 'timed out'}"))
    print()
