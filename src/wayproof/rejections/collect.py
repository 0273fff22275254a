"""Logs to sessions with their rejected calls: the room's entrance for commands and Python."""

import os.path
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from wayproof.bundles.manifest import FileDigest, digest_file
from wayproof.capture.collect import Captured, capture_logs
from wayproof.capture.ids import PathMap
from wayproof.capture.lines import Problems
from wayproof.capture.matching import TaskKey, match
from wayproof.capture.output import storable
from wayproof.capture.session import SessionInfo
from wayproof.errors import InputError
from wayproof.evidence.rejection_names import DEFAULT_WINDOW_CALLS, MAX_WINDOW_CALLS
from wayproof.evidence.rejection_records import Episode, SessionRecord
from wayproof.rejections.watch import RejectionWatcher, WatchOptions

__all__ = ["Watched", "WatchedLogs", "watch_logs"]

_MAX_NAME_CHARS: Final = 300
_STDIN: Final = "<stdin>"


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """A session and its episodes."""

    record: SessionRecord
    episodes: tuple[Episode, ...]


class WatchedLogs(msgspec.Struct, frozen=True, kw_only=True):
    """What some logs hold of rejected calls.

    Attributes
    ----------
    sessions
        In the order of their names.
    files
        The logs that they come from and that are files of their own, by name.
    left_out
        A sentence on each log or session that was found and isn't among them.
    problems
        Places in the logs that are not as they should be.
    """

    sessions: tuple[Watched, ...]
    files: dict[str, Path]
    left_out: tuple[str, ...]
    problems: Problems

    def digests(self) -> dict[str, FileDigest]:
        """Return the logs' digests: only a bundle needs them, and a log may be large."""
        return {name: digest_file(path) for name, path in self.files.items()}


def watch_logs(  # noqa: PLR0913 - each is a setting of its own
    places: Sequence[str | Path],
    *,
    format_name: str | None = None,
    window_calls: int = DEFAULT_WINDOW_CALLS,
    maps: tuple[PathMap, ...] = (),
    task_key: TaskKey | None = None,
    with_text: bool = False,
    each_opens: bool = False,
    problems: Problems | None = None,
    stdin: BinaryIO | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> WatchedLogs:
    """Read logs and follow each rejected call; nothing in a log is ever run.

    Parameters
    ----------
    places
        Log files and folders of them, in any order; ``"-"`` is ``stdin``, where that is given.
    format_name
        The logs' format; None: told from their content.
    window_calls
        An episode ends after so many calls.
    maps
        Path prefixes that are mapped before paths are compared.
    task_key
        Where a session's task id is read; None: the session's id.
    with_text
        Keep what was called and said.
    each_opens
        Later rejections of the same intent open episodes of their own, too.
    problems
        Where bad lines are counted; None: in a new count of its own.
    stdin
        The stream that ``"-"`` stands for.
    progress
        Called after each log with (logs read, logs in all).

    Raises
    ------
    InputError
        When a log that was named can't be read, its format isn't known, or the window is none.
    """
    if not 1 <= window_calls <= MAX_WINDOW_CALLS:
        raise InputError(
            "not a window",
            setting="window",
            expected=f"1 to {MAX_WINDOW_CALLS} calls",
            found=str(window_calls),
        )
    options = WatchOptions(
        window_calls=window_calls, maps=maps, with_text=with_text, each_opens=each_opens
    )

    def watch(info: SessionInfo, name: str) -> RejectionWatcher:
        return RejectionWatcher(info, name, options)

    own = _each_once(places)
    found = capture_logs(
        own,
        format_name=format_name,
        problems=problems,
        stdin=stdin,
        progress=progress,
        watch=watch,
    )
    names = _Names(own)
    sessions = _records(found.sessions, names, task_key)
    return WatchedLogs(
        sessions=tuple(sessions),
        files=_files(found.sessions, names),
        left_out=tuple(found.left_out),
        problems=found.problems,
    )


def _each_once(places: Iterable[str | Path]) -> list[str | Path]:
    """Return the places in one order, without those that lie in another one."""
    whole = {os.path.realpath(place): place for place in places if place != "-"}
    kept: list[str | Path] = ["-"] if any(place == "-" for place in places) else []
    for real in sorted(whole):
        above = Path(real).parents
        if not any(str(one) in whole and one.is_dir() for one in above):
            kept.append(whole[real])
    return kept


class _Names:
    """What logs are called: their path below the folder that all places share."""

    def __init__(self, places: Iterable[str | Path]) -> None:
        folders = [
            os.path.abspath(place if Path(place).is_dir() else Path(place).parent)  # noqa: PTH100
            for place in places
            if place != "-"
        ]
        self._base = os.path.commonpath(folders) if folders else ""

    def __call__(self, name: str) -> str:
        if name == _STDIN:
            return name
        full = os.path.abspath(name)  # noqa: PTH100 - links are names like any other
        below = os.path.relpath(full, self._base).replace("\\", "/")
        shown: str = storable(below)
        return shown[-_MAX_NAME_CHARS:]


def _records(
    captured: Sequence[Captured], names: _Names, task_key: TaskKey | None
) -> list[Watched]:
    by_file: dict[str, list[Captured]] = {}
    for one in captured:
        if one.route.info.ranked is None:
            by_file.setdefault(names(one.file), []).append(one)
    return [
        _record(one, file, number, names, task_key)
        for file in sorted(by_file)
        for number, one in enumerate(by_file[file], 1)
    ]


def _record(
    one: Captured, file: str, number: int, names: _Names, task_key: TaskKey | None
) -> Watched:
    watcher = one.watcher
    if not isinstance(watcher, RejectionWatcher):
        msg = "the sink isn't the one that was asked for"
        raise TypeError(msg)
    session = f"{file}#{number}"
    episodes = watcher.finish(session, lambda own: file if own is None else names(own))
    packets = match([one], key=task_key).packets
    task_id = packets[0]["task_id"] if packets else None
    record = SessionRecord(
        calls=watcher.calls,
        episodes=len(episodes),
        file=file,
        format=one.format,
        session=session,
        session_id=_short(one.session_id),
        strata=watcher.strata,
        task_id=_short(task_id),
        unknown=watcher.unknown,
    )
    return Watched(record=record, episodes=tuple(episodes))


def _short(text: str | None) -> str | None:
    if text is None:
        return None
    shown: str = storable(text)
    return shown[:_MAX_NAME_CHARS]


def _files(captured: Iterable[Captured], names: _Names) -> dict[str, Path]:
    """Return the logs that are files of their own, in order of name."""
    found = {
        names(one.file): Path(one.file)
        for one in captured
        if one.route.info.ranked is None and Path(one.file).is_file()
    }
    return dict(sorted(found.items()))
