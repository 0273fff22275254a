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
    size_bytes: int = 0

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
        yield Captured(
            file=source.name,
            format=found,
            route=route,
            packet=packet,
            size_bytes=path.stat().st_size,
        )


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
    copies: dict[tuple[str, str, tuple[str, ...]], list[Captured]] = {}
    for one in found:
        identity = _identity(one)
        if identity is not None and one.route.info.parent_session not in known:
            copies.setdefault(identity, []).append(one)
    first = {identity: min(same, key=_age) for identity, same in copies.items()}
    kept: list[Captured] = []
    left_out: list[str] = []
    for one in found:
        info = one.route.info
        if info.parent_session is not None and info.parent_session in known:
            left_out.append(f"{one.file}: a sub-agent of session {info.parent_session}")
            continue
        identity = _identity(one)
        if identity is not None and first[identity] is not one:
            left_out.append(f"{one.file}: repeats the route of {first[identity].file}")
            continue
        kept.append(one)
    return kept, left_out


def _identity(one: Captured) -> tuple[str, str, tuple[str, ...]] | None:
    """Return what a session and its copies share; None where the format names no origin."""
    origin = one.route.info.origin
    if origin is None:
        return None
    return one.format, origin, tuple(step.call_id for step in one.route.steps)


def _age(one: Captured) -> tuple[bool, bool, int, str, str]:
    """Order copies, the original first, whatever the order of the files.

    A resumed session's file repeats the original's records and goes on: the original is
    the file that carries its own session's name, else the shorter one.
    """
    info, session_id = one.route.info, one.session_id
    named = session_id is not None and session_id in one.file.replace("\\", "/").rsplit("/", 1)[-1]
    return (info.replays, not named, one.size_bytes, session_id or "", one.file)
