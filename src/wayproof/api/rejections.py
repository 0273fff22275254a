"""Rejected calls in logs, from Python."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from wayproof.api.given import path_of, text_of
from wayproof.api.html import table
from wayproof.errors import InputError
from wayproof.evidence.rejection_names import DEFAULT_WINDOW_CALLS
from wayproof.evidence.rejection_records import Episode, SessionRecord, Summary
from wayproof.rejections.run import RejectionSettings, summary_of, watched, write_bundle
from wayproof.strict_json import plain_value
from wayproof.text import quoted

__all__ = ["MeasuredRejections", "measure_rejections"]

_SHOWN = ("kind", "outcome", "extra_calls", "tool", "target", "file", "line")


class MeasuredRejections(msgspec.Struct, frozen=True, kw_only=True):
    """The rejected calls of some logs, and what became of each.

    Attributes
    ----------
    summary
        Counts by stratum, format and kind; both rates, null where there is too little.
    episodes
        One a rejected call whose goal was followed.
    sessions
        One a session; those without a rejected call, too.
    left_out
        A sentence on each log or session that was found and isn't among them.
    problems
        Places in the logs that are not as they should be: file, line, and what.
    """

    summary: Summary
    episodes: tuple[Episode, ...]
    sessions: tuple[SessionRecord, ...]
    left_out: tuple[str, ...]
    problems: tuple[str, ...]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the episodes as dicts with the wire names, for a data frame."""
        return [msgspec.to_builtins(episode) for episode in self.episodes]

    def __repr__(self) -> str:
        rate = self.summary.reached
        reached = "no rate" if rate.at_least is None else f"{rate.at_least.episodes} reached"
        return (
            f"<MeasuredRejections of {len(self.sessions)} sessions: {rate.episodes} episodes "
            f"without effect, {reached}>"
        )

    def _repr_html_(self) -> str:
        rows = [
            {
                "kind": one.kind,
                "outcome": one.outcome,
                "extra_calls": one.extra_calls,
                "tool": one.tool,
                "target": one.target,
                "file": one.source.file,
                "line": one.source.lines.rejection,
            }
            for one in self.episodes
        ]
        return table(_SHOWN, rows, note="; ".join(self.left_out))


def measure_rejections(  # noqa: PLR0913 - the settings of the command, all optional and named
    paths: str | Path | Iterable[str | Path],
    *,
    format: str | None = None,  # noqa: A002 - the word of the command line
    window: int = DEFAULT_WINDOW_CALLS,
    maps: Mapping[str, str] | None = None,
    task_id_from: str = "session",
    with_text: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
) -> MeasuredRejections:
    """Follow each rejected call in the logs of coding agents. Nothing in a log is ever run.

    Parameters
    ----------
    paths
        Log files and folders of them, in any order.
    format
        The logs' format; None: told from their content.
    window
        An episode ends after so many calls.
    maps
        Paths below a key are taken to lie below its value; an empty value is the root.
    task_id_from
        Where a session's task id is read: ``session``, ``file``, or ``prompt:REGEX``.
    with_text
        Keep what was called and said, bounded.
    out
        Folder for a bundle; None: none is written.
    overwrite
        Replace an existing bundle.

    Returns
    -------
    MeasuredRejections
        Episodes, sessions and their summary.

    Raises
    ------
    InputError
        When a log that was named can't be read, its format isn't known, or a setting can't be.
    """
    places = [paths] if isinstance(paths, str | Path) else paths
    if isinstance(places, Mapping) or not isinstance(places, Iterable):
        raise InputError("not a list", setting="paths", expected="paths", found=quoted(paths))
    calls = plain_value(window)
    if isinstance(calls, bool) or not isinstance(calls, int):
        raise InputError("not a window", setting="window", found=quoted(window))
    if maps is not None and not isinstance(maps, Mapping):
        raise InputError("not a dict", setting="maps", expected="a dict", found=quoted(maps))
    settings = RejectionSettings(
        format=None if format is None else text_of(format, "format"),
        maps=tuple(f"{text_of(key, 'maps')}={text_of(value, 'maps')}"
                   for key, value in (maps or {}).items()),
        task_id_from=text_of(task_id_from, "task_id_from"),
        window=calls,
        with_text=with_text,
    )  # fmt: skip
    logs = watched([path_of(place, "paths") for place in places], settings)
    if out is not None:
        write_bundle(logs, settings, path_of(out, "out"), overwrite=overwrite)
    return MeasuredRejections(
        summary=summary_of(logs, settings),
        episodes=tuple(one for session in logs.sessions for one in session.episodes),
        sessions=tuple(session.record for session in logs.sessions),
        left_out=logs.left_out,
        problems=tuple(map(str, logs.problems.named)),
    )
