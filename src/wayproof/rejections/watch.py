"""The subscriber of a session's events that finds rejected calls and follows them.

It keeps calls without a result and open episodes, and of closed ones a record: memory goes by
open episodes, not by the size of the log.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from wayproof.capture.ids import PathMap, Roots
from wayproof.capture.output import storable
from wayproof.capture.results import body_text
from wayproof.capture.session import (
    Answer,
    Call,
    Event,
    Failure,
    Prompt,
    Result,
    SessionInfo,
    Spawn,
)
from wayproof.capture.tools import tool_of
from wayproof.evidence.rejection_names import (
    DEFAULT_WINDOW_CALLS,
    EpisodeStratum,
    Stratum,
    is_resumable,
)
from wayproof.evidence.rejection_records import Episode, EpisodeText, StratumCounts
from wayproof.rejections.calls import About, Places, about, exact_key, is_plan, target_of
from wayproof.rejections.episode import OpenEpisode, Opening
from wayproof.rejections.intent import Goal, goal_of
from wayproof.rejections.strata import Judged, judged
from wayproof.text import clip

__all__ = ["RejectionWatcher", "WatchOptions"]

_SHOWS_FILE: Final = "[File: "
_MAX_TEXT_CHARS: Final = 2000


class WatchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How rejected calls are followed.

    Attributes
    ----------
    window_calls
        An episode ends after so many calls.
    maps
        Path prefixes that are mapped before paths are compared.
    with_text
        Keep what was called and said.
    each_opens
        A later rejection of the same intent opens an episode of its own, too; for comparing
        with labels that were given call by call.
    """

    window_calls: int = DEFAULT_WINDOW_CALLS
    maps: tuple[PathMap, ...] = ()
    with_text: bool = False
    each_opens: bool = False


class _Pending(msgspec.Struct):
    """A call without a result."""

    call: Call
    number: int
    read: About | None
    counts: bool
    reach: list[tuple[OpenEpisode, int]]
    batch: str | None
    open_file: str | None
    has_edits: bool = False


class _Thread:
    """What is kept of one thread."""

    def __init__(self) -> None:
        self.pending: dict[str, list[_Pending]] = {}
        self.open: list[OpenEpisode] = []
        self.wanting: dict[str, list[OpenEpisode]] = {}
        self.answered = False
        self.open_file: str | None = None
        self.batch: str | None = None
        self.rejected_in_batch: list[OpenEpisode] = []
        self.rejections_in_batch = 0
        self.unnamed = 0
        self.in_batch = False
        self.file: str | None = None


class RejectionWatcher:
    """Find the rejected calls of one session, and follow each.

    Parameters
    ----------
    info
        Filled in by the adapter as the log names things.
    format_name
        The log's format.
    options
        How they are followed.
    """

    def __init__(
        self, info: SessionInfo, format_name: str, options: WatchOptions | None = None
    ) -> None:
        self._info = info
        self._format = format_name
        self._options = options or WatchOptions()
        self._threads: dict[str, _Thread] = {}
        self._closed: list[tuple[OpenEpisode, str | None]] = []
        self._counts: dict[Stratum, int] = {}
        self._says_exit_codes = False
        self._unclear = 0
        self._numbers = 0
        self.calls = 0
        self.unknown = 0

    # -- events -----------------------------------------------------------------------

    def take(self, event: Event) -> bool:
        """Take the next event; every one is wanted."""
        thread = self._threads.get(event.thread)
        if thread is None:
            thread = self._threads[event.thread] = _Thread()
        if isinstance(event, Call):
            self._call(thread, event)
        elif isinstance(event, Result):
            self._result(thread, event)
        elif isinstance(event, Answer):
            thread.answered = True
            thread.in_batch = False
        elif isinstance(event, Prompt):
            self._prompt(thread)
        elif isinstance(event, Spawn):
            thread.file = event.file
        elif isinstance(event, Failure):
            thread.answered = False
        return True

    def _call(self, thread: _Thread, event: Call) -> None:
        self._numbers += 1
        tool = tool_of(event.tool, event.arguments)
        counts = tool.purpose != "answer" and not is_plan(tool)
        batch = self._batch_of(thread, event)
        pending = _Pending(event, self._numbers, None, counts, [], batch, thread.open_file)
        thread.pending.setdefault(event.call_id, []).append(pending)
        if tool.purpose == "answer":
            thread.answered = True
        elif counts:
            self.calls += 1
            thread.answered = False
            if thread.open:
                self._issue(thread, pending)

    def _issue(self, thread: _Thread, pending: _Pending) -> None:
        """Count a call for the open episodes whose batch it isn't of."""
        for episode in thread.open:
            if pending.batch is not None and pending.batch == episode.batch:
                continue
            position = episode.issued(lambda: _key(pending))
            if position is not None:
                pending.reach.append((episode, position))
        self._sweep(thread)

    def _batch_of(self, thread: _Thread, event: Call) -> str | None:
        """Return the batch's name; without one, calls before any of their results are one."""
        if event.batch is not None:
            batch: str | None = event.batch
        else:
            if not thread.in_batch:
                thread.unnamed += 1
            batch = f"\0{thread.unnamed}"
        if batch != thread.batch:
            thread.batch = batch
            thread.rejected_in_batch = []
            thread.rejections_in_batch = 0
        thread.in_batch = True
        return batch

    def _read(self, pending: _Pending, *, with_edits: bool = False) -> About:
        """Read a call, once: its edits only where somebody may ask for them."""
        wants = with_edits or any(
            one.is_looking and one.opening.goal.what == "edit" for one, _ in pending.reach
        )
        if pending.read is None or (wants and not pending.has_edits):
            places = Places(self._info.cwd, self._options.maps)
            pending.read = about(
                pending.call, places, open_file=pending.open_file, with_edits=wants
            )
            pending.has_edits = wants
        return pending.read

    def _result(self, thread: _Thread, event: Result) -> None:
        thread.in_batch = False
        waiting = thread.pending.get(event.call_id)
        if not waiting:
            return
        pending = waiting.pop(0)
        if not waiting:
            del thread.pending[event.call_id]
        self._watch_file(thread, event)
        if not pending.counts:
            return
        looked_at = any(episode.is_looking for episode, _ in pending.reach)
        if event.outcome.ok is True and not looked_at and not self._needs_words(pending):
            for episode, position in pending.reach:
                episode.passed(pending.call, position, _ACCEPTED)
            self._succeeded(thread, pending.call.tool)
            self._sweep(thread)
            return
        read = self._read(pending)
        found = judged(event, read, self._format)
        self._count(pending.call, found)
        attempt = False
        text = _shown(pending.call) if self._options.with_text else ""
        for episode, position in pending.reach:
            attempt = episode.ended(pending.call, read, position, found, text) or attempt
        if found.verdict == "accepted":
            self._succeeded(thread, pending.call.tool)
        if found.verdict in {"refused", "malformed", "invalid"}:
            read = self._read(pending, with_edits=True)
            self._rejected(thread, pending, event, read, found, attempt=attempt)
        self._sweep(thread)

    def _needs_words(self, pending: _Pending) -> bool:
        """Whether a success is only told by what the tool said."""
        if self._format != "swe-agent":
            return False
        return tool_of(pending.call.tool, pending.call.arguments).purpose == "mutation"

    def _count(self, call: Call, found: Judged) -> None:
        if found.verdict == "unknown":
            self.unknown += 1
        elif found.verdict != "accepted":
            self._counts[found.verdict] = self._counts.get(found.verdict, 0) + 1
            if self._format == "claude-code" and call.tool == "Bash":
                self._says_exit_codes = self._says_exit_codes or found.exit_code is not None
                self._unclear += found.unclear_shell

    def _watch_file(self, thread: _Thread, event: Result) -> None:
        """Note which file a line editor shows."""
        if self._format != "swe-agent":
            return
        text = body_text(event.body)
        if event.outcome.ok is not False and (place := text.rfind(_SHOWS_FILE)) >= 0:
            name = text[place + len(_SHOWS_FILE) :].split("\n", 1)[0]
            thread.open_file = name.rpartition(" (")[0] or None

    def _succeeded(self, thread: _Thread, tool: str) -> None:
        if thread.wanting:
            for episode in thread.wanting.pop(tool, ()):
                episode.same_tool_success = True

    def _rejected(
        self,
        thread: _Thread,
        pending: _Pending,
        event: Result,
        read: About,
        found: Judged,
        *,
        attempt: bool,
    ) -> None:
        if pending.batch == thread.batch:
            thread.rejections_in_batch += 1
        if attempt and not self._options.each_opens:
            self._mark_parallel(thread)
            return
        stratum: EpisodeStratum = "invalid"
        if found.verdict == "refused" or found.verdict == "malformed":  # noqa: PLR1714 - for types
            stratum = found.verdict
        kind = found.kind or "bad_arguments"
        goal = (
            goal_of(read, kind, step=found.step, meant=found.meant)
            if stratum != "malformed"
            else Goal("other", None, kind)
        )
        places = Places(self._info.cwd, self._options.maps)
        roots = Roots(root=self._info.root or self._info.cwd, maps=self._options.maps)
        opening = Opening(
            call=pending.call,
            number=pending.number,
            stratum=stratum,
            kind=kind,
            goal=goal,
            result_line=event.line,
            target=target_of(pending.call, read, places, roots),
            text=_text(pending.call, event) if self._options.with_text else None,
        )
        episode = OpenEpisode(
            opening,
            window_calls=self._options.window_calls,
            format_name=self._format,
            batch=pending.batch,
        )
        thread.open.append(episode)
        thread.wanting.setdefault(pending.call.tool, []).append(episode)
        self._closed.append((episode, thread.file))
        if pending.batch == thread.batch:
            thread.rejected_in_batch.append(episode)
        self._mark_parallel(thread)

    def _mark_parallel(self, thread: _Thread) -> None:
        if thread.rejections_in_batch > 1:
            for one in thread.rejected_in_batch:
                one.in_parallel = True

    def _sweep(self, thread: _Thread) -> None:
        for episode in thread.open:
            if episode.closed_by is not None:
                episode.release()
        thread.open = [one for one in thread.open if one.closed_by is None]

    def _prompt(self, thread: _Thread) -> None:
        for episode in thread.open:
            episode.prompted(answered=thread.answered)
        self._sweep(thread)
        thread.answered = False
        thread.in_batch = False

    # -- the end ----------------------------------------------------------------------

    def finish(self, session: str, named: Callable[[str | None], str]) -> list[Episode]:
        """Return the session's episodes; its log has ended.

        Parameters
        ----------
        session
            What the session is called in the records.
        named
            Says what a log is called in the records; None: the session's own.
        """
        session_id = self._info.session_id
        for name, thread in self._threads.items():
            resumable = is_resumable(self._format, session_id, name)
            for episode in thread.open:
                episode.log_ended(answered=thread.answered, resumable=resumable)
            for waiting in thread.pending.values():
                self.unknown += sum(one.counts for one in waiting)
            thread.open, thread.pending, thread.wanting = [], {}, {}
        if self._says_exit_codes and self._unclear:
            # Where other errors have a status, one without may be a person's words.
            self._counts["failed"] -= self._unclear
            self.unknown += self._unclear
            self._unclear = 0
        episodes = sorted(self._closed, key=lambda one: one[0].opening.number)
        return [
            episode.record(session, file=named(own), session_id=session_id)
            for episode, own in episodes
        ]

    @property
    def strata(self) -> StratumCounts:
        """How many results that were no success fell into each stratum."""
        return StratumCounts(
            cancelled=self._counts.get("cancelled", 0),
            failed=self._counts.get("failed", 0),
            invalid=self._counts.get("invalid", 0),
            malformed=self._counts.get("malformed", 0),
            refused=self._counts.get("refused", 0),
            verdict=self._counts.get("verdict", 0),
        )


_ACCEPTED: Final = Judged("accepted")


def _key(pending: _Pending) -> bytes | None:
    if pending.read is not None:
        return pending.read.key
    return exact_key(pending.call, tool_of(pending.call.tool, pending.call.arguments))


def _clipped(text: str) -> str:
    shown: str = storable(clip(text, _MAX_TEXT_CHARS))
    return shown


def _shown(call: Call) -> str:
    if call.typed is not None:
        return _clipped(call.typed)
    if isinstance(call.arguments, str):
        return _clipped(call.arguments)
    data = msgspec.json.encode(call.arguments, order="sorted")
    return _clipped(data.decode("utf-8", "replace"))


def _text(call: Call, result: Result) -> EpisodeText:
    said = body_text(result.body) or result.outcome.error or ""
    return EpisodeText(call=_shown(call), closing=None, said=_clipped(said))
