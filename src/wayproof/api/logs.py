"""Packets from logs, from Python."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from wayproof.api.given import path_of, text_of, texts_of, word_of
from wayproof.api.html import table
from wayproof.capture.collect import capture_logs as capture_sessions
from wayproof.capture.ids import PathMap
from wayproof.capture.matching import match, parse_task_key
from wayproof.capture.packet import PacketOptions
from wayproof.errors import InputError
from wayproof.text import quoted

__all__ = ["CapturedLogs", "capture_logs"]

_SHOWN = ("task_id", "attempt", "first_contact_command", "wall_ms", "cut_reason")


class CapturedLogs(msgspec.Struct, frozen=True, kw_only=True):
    """The packets of some logs, ready to be scored.

    Attributes
    ----------
    packets
        One a session, with the keys of a packets file and the evidence beside them.
    unmatched_sessions
        Sessions that name none of the tasks.
    unmatched_tasks
        Tasks without a session: scoring counts each as a ``route_error``.
    left_out
        A sentence on each log or session that was found and not captured.
    problems
        Places in the logs that are not as they should be: file, line, and what.
    """

    packets: tuple[dict[str, Any], ...]
    unmatched_sessions: tuple[str, ...]
    unmatched_tasks: tuple[str, ...]
    left_out: tuple[str, ...]
    problems: tuple[str, ...]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the packets, for a data frame."""
        return list(self.packets)

    def _repr_html_(self) -> str:
        return table(_SHOWN, self.packets, note="; ".join(self.left_out))


def capture_logs(  # noqa: PLR0913 - the settings of the command, all optional and named
    paths: str | Path | Iterable[str | Path],
    *,
    tasks: Iterable[str] | None = None,
    task_id_from: str = "session",
    sidecar: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002 - the word of the command line
    select: Literal["read", "matched", "listed"] = "read",
    wall: Literal["native", "elapsed"] = "native",
    repo_root: str | None = None,
    maps: Mapping[str, str] | None = None,
) -> CapturedLogs:
    """Make packets from the logs of coding agents. Nothing in a log is ever run.

    Parameters
    ----------
    paths
        Log files and folders of them.
    tasks
        Ids of the tasks to pair the sessions with; None: each session is its own task.
    task_id_from
        Where a session's task id is read: ``session``, ``file``, or ``prompt:REGEX``.
    sidecar
        Task ids by session id; goes before ``task_id_from``.
    format
        The logs' format; None: told from their content.
    select
        Selected artifacts: files read, and matched, and listed.
    wall
        ``wall_ms`` (milliseconds) from the log's own measurements, or from timestamps.
    repo_root
        The repository root as the log spells it; None: what the log says.
    maps
        Paths below a key are taken to lie below its value; an empty value is the root.

    Returns
    -------
    CapturedLogs
        The packets, and what was left out and why.

    Raises
    ------
    InputError
        When a log that was named can't be read or its format isn't known. In a folder,
        such a file is left out and named.
    """
    places = [paths] if isinstance(paths, str | Path) else paths
    if isinstance(places, Mapping) or not isinstance(places, Iterable):
        raise InputError("not a list", setting="paths", expected="paths", found=quoted(paths))
    word_of(select, ("read", "matched", "listed"), "select")
    word_of(wall, ("native", "elapsed"), "wall")
    options = PacketOptions(
        repo_root=None if repo_root is None else text_of(repo_root, "repo_root"),
        maps=tuple(PathMap(*pair) for pair in _pairs(maps, "maps").items()),
        wall=wall,
    )
    found = capture_sessions(
        [path_of(place, "paths") for place in places],
        format_name=format,
        tier=select,
        options=options,
    )
    matched = match(
        found.sessions,
        task_ids=None if tasks is None else texts_of(tasks, "tasks"),
        key=parse_task_key(text_of(task_id_from, "task_id_from")),
        sidecar=_pairs(sidecar, "sidecar"),
    )
    return CapturedLogs(
        packets=tuple(matched.packets),
        unmatched_sessions=tuple(matched.unmatched_sessions),
        unmatched_tasks=tuple(matched.unmatched_tasks),
        left_out=tuple(found.left_out),
        problems=tuple(map(str, found.problems.named)),
    )


def _pairs(given: Any, setting: str) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError("not a dict", setting=setting, expected="a dict", found=quoted(given))
    return {text_of(key, setting): text_of(value, setting) for key, value in given.items()}
