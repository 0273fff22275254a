"""Rejected calls of some logs, as a bundle."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import msgspec

from wayproof.bundles.manifest import FileDigest
from wayproof.bundles.writer import BundleWriter
from wayproof.canonical import record_bytes, record_lines
from wayproof.capture.ids import parse_map
from wayproof.capture.matching import parse_task_key
from wayproof.evidence.rejection_names import (
    BUNDLE_KIND,
    DEFAULT_WINDOW_CALLS,
    EPISODES_NAME,
    LIMITS,
    MAX_WINDOW_CALLS,
    SESSIONS_NAME,
    SUMMARY_NAME,
)
from wayproof.evidence.rejection_records import Summary
from wayproof.rejections.collect import WatchedLogs, watch_logs
from wayproof.rejections.phrases import PHRASES_VERSION
from wayproof.rejections.summary import brief_of, summarize

__all__ = ["RejectionSettings", "summary_of", "watched", "write_bundle"]

_NO_PROGRESS: Final[Callable[[int, int], None] | None] = None


class RejectionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was asked for; enough to make the same bytes again from the same logs.

    Attributes
    ----------
    format
        The logs' format; None: told from their content.
    maps
        ``FROM=TO``: path prefixes that are mapped before paths are compared.
    phrases
        Version of the tables of phrases and checkers.
    task_id_from
        Where a session's task id is read.
    window
        An episode ends after so many calls.
    with_text
        Keep what was called and said.
    """

    format: str | None = None
    maps: tuple[str, ...] = ()
    phrases: str = PHRASES_VERSION
    task_id_from: str = "session"
    window: Annotated[int, msgspec.Meta(ge=1, le=MAX_WINDOW_CALLS)] = DEFAULT_WINDOW_CALLS
    with_text: bool = False


def watched(
    places: Sequence[str | Path],
    settings: RejectionSettings,
    *,
    stdin: BinaryIO | None = None,
    progress: Callable[[int, int], None] | None = _NO_PROGRESS,
) -> WatchedLogs:
    """Read logs with some settings.

    Raises
    ------
    InputError
        As :func:`~wayproof.rejections.collect.watch_logs` does.
    """
    return watch_logs(
        places,
        format_name=settings.format,
        window_calls=settings.window,
        maps=tuple(map(parse_map, settings.maps)),
        task_key=parse_task_key(settings.task_id_from),
        with_text=settings.with_text,
        stdin=stdin,
        progress=progress,
    )


def evidence_files(logs: WatchedLogs, window_calls: int) -> tuple[dict[str, bytes], Summary]:
    """Return the bytes of a bundle's files by name, and the summary."""
    episodes = record_lines([one for session in logs.sessions for one in session.episodes])
    sessions = record_lines([session.record for session in logs.sessions])
    summary = summarize(
        [session.record for session in logs.sessions],
        (
            brief_of(episode, place)
            for place, session in enumerate(logs.sessions)
            for episode in session.episodes
        ),
        window_calls=window_calls,
        digests=(hashlib.sha256(episodes).hexdigest(), hashlib.sha256(sessions).hexdigest()),
    )
    files = {
        EPISODES_NAME: episodes,
        SESSIONS_NAME: sessions,
        SUMMARY_NAME: record_bytes(summary) + b"\n",
    }
    return files, summary


def summary_of(logs: WatchedLogs, settings: RejectionSettings) -> Summary:
    """Return the summary of some logs without writing anything."""
    return evidence_files(logs, settings.window)[1]


def write_bundle(
    logs: WatchedLogs, settings: RejectionSettings, out: Path, *, overwrite: bool = False
) -> Summary:
    """Write a bundle and return its summary.

    Raises
    ------
    OutputError
        When the place is taken or can't be written to.
    """
    with BundleWriter(out, kind=BUNDLE_KIND, overwrite=overwrite) as bundle:
        files, summary = evidence_files(logs, settings.window)
        for name, data in files.items():
            bundle.write(name, data)
        bundle.commit(
            inputs=inputs_of(logs),
            settings=msgspec.to_builtins(settings),
            limits=LIMITS,
        )
    return summary


def inputs_of(logs: WatchedLogs) -> dict[str, FileDigest]:
    """Return the logs' digests by the roles that a manifest has them under."""
    return {f"log:{name}": digest for name, digest in logs.digests().items()}
