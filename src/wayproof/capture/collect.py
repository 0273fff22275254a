"""Logs to packets: the room's one entrance for the command line and for Python."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from wayproof.capture.adapter import Sessions
from wayproof.capture.lines import Problems, Source
from wayproof.capture.packet import PacketOptions, make_packet
from wayproof.capture.registry import read_log
from wayproof.capture.route import Route, Tier

__all__ = ["Captured", "capture", "capture_file", "originals"]


class Captured(msgspec.Struct, kw_only=True):
    """A session that was read: its route, and the packet made of it."""

    file: str
    format: str
    route: Route
    packet: dict[str, Any]

    @property
    def session_id(self) -> str | None:
        """The log's own name of the session."""
        return self.route.info.session_id


def capture_file(
    path: Path,
    *,
    problems: Problems,
    name: str | None = None,
    format_name: str | None = None,
    tier: Tier = "read",
    options: PacketOptions | None = None,
) -> Iterator[Captured]:
    """Yield the sessions of one log.

    Raises
    ------
    InputError
        When the log can't be read or its format isn't known.
    """
    source = Source(path, name=name, problems=problems)
    sessions = Sessions(tier=tier)
    found = read_log(source, sessions, format_name=format_name)
    if found is None:
        return
    for route in sessions.routes():
        packet = make_packet(
            route, format_name=found, file=source.name, options=options or PacketOptions()
        )
        yield Captured(file=source.name, format=found, route=route, packet=packet)


def capture(
    paths: Sequence[Path],
    *,
    problems: Problems,
    format_name: str | None = None,
    tier: Tier = "read",
    options: PacketOptions | None = None,
) -> list[Captured]:
    """Return the sessions of several logs, in their order; copies are left out.

    A resumed session's copy (same first prompt, same route) and a sub-agent's own file
    beside its parent's are not sessions of their own.
    """
    found: list[Captured] = []
    for path in paths:
        found += capture_file(
            path, problems=problems, format_name=format_name, tier=tier, options=options
        )
    return originals(found)[0]


def originals(found: Sequence[Captured]) -> tuple[list[Captured], list[str]]:
    """Return the sessions that are no copies, and a word on each that was left out."""
    known = {one.session_id for one in found if one.session_id is not None}
    seen: dict[tuple[str, str, tuple[str, ...]], str] = {}
    kept: list[Captured] = []
    left_out: list[str] = []
    for one in found:
        info = one.route.info
        if info.parent_session is not None and info.parent_session in known:
            left_out.append(f"{one.file}: a sub-agent of session {info.parent_session}")
            continue
        if info.origin is not None:
            calls = tuple(step.call_id for step in one.route.steps)
            identity = (one.format, info.origin, calls)
            if identity in seen:
                left_out.append(f"{one.file}: repeats the route of {seen[identity]}")
                continue
            seen[identity] = one.file
        kept.append(one)
    return kept, left_out
