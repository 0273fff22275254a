"""What ``capture`` and ``inspect`` share: how logs are read, and how both speak of them."""

import argparse
from typing import Any

from wayproof.cli import say
from wayproof.cli.settings_file import ProgramDefault
from wayproof.errors import InputError
from wayproof.text import clip, harmless

__all__ = [
    "MAX_NAMED",
    "add_format",
    "add_packet_options",
    "counted",
    "format_name",
    "packet_options",
    "route_end",
    "tell",
]

MAX_NAMED = 50
"""How many bad lines are named one by one."""


def add_format(parser: argparse.ArgumentParser) -> None:
    """Declare the logs' format."""
    parser.add_argument("--format", metavar="NAME", help="the logs' format (default: detected)")


def add_packet_options(group: Any, *, select: str) -> None:
    """Declare how packets are made; ``select`` is the default tier."""
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
        default=ProgramDefault(select),
        help="selected artifacts: files read, and matched, and listed (default: %(default)s)",
    )
    group.add_argument(
        "--until",
        metavar="PLACE",
        default=ProgramDefault("edit"),
        help="where routes end: the first edit of what existed (default: edit), the first write "
        "(write), the answer whatever is edited (answer), first-contact, or calls=N",
    )
    group.add_argument(
        "--wall",
        choices=("native", "elapsed"),
        default=ProgramDefault("native"),
        help="wall_ms from the log's own measurements (default) or from timestamps",
    )


def packet_options(args: argparse.Namespace) -> Any:
    """Return how packets are made, as the capture room takes it."""
    from wayproof.capture.ids import parse_map
    from wayproof.capture.packet import PacketOptions

    return PacketOptions(
        repo_root=args.repo_root,
        maps=tuple(parse_map(text) for text in args.map),
        wall=args.wall,
    )


def route_end(args: argparse.Namespace) -> Any:
    """Return where routes end, as the capture room takes it."""
    from wayproof.capture.route.records import parse_until

    return parse_until(args.until)


def format_name(args: argparse.Namespace) -> str | None:
    """Return the format that was asked for; None: each log's own is detected."""
    from wayproof.capture.registry import FORMATS

    if args.format is not None and args.format not in FORMATS:
        raise InputError(
            "no such format",
            setting="format",
            expected=f"one of {', '.join(FORMATS)}",
            found=args.format,
        )
    name: str | None = args.format
    return name


def counted(count: int, what: str) -> str:
    """Word a count."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def tell(text: str) -> None:
    """Say a line on stderr, made harmless and short."""
    say(harmless(clip(text, 500)))
