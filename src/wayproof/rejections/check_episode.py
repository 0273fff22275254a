"""Check an episode against itself: what its lane and its counts say must be one story.

The rules stand here once more, in terms of the record alone: an episode that was edited by
hand contradicts itself in most cases, and then it is named.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from wayproof.evidence.rejection_names import (
    CHECKED_FORMATS,
    FLOOR_CALLS,
    GOAL_MAY_NOT_EXIST,
    KINDS_OF,
    Outcome,
    is_resumable,
)
from wayproof.evidence.rejection_records import Episode, LaneCall

__all__ = ["Fault", "fault_in"]

_REJECTED: Final = frozenset({"refused", "malformed", "invalid", "failed"})
_OPEN_ENDED: Final = frozenset({"accepted", "verdict", "unknown"})
_SAME: Final = frozenset({"exact", "same"})
_EVIDENCE_RESULTS: Final = {
    "accepted_edit": {"accepted"},
    "file_read": {"accepted"},
    "search_answered": {"accepted", "verdict"},
    "exit_0": {"accepted"},
    "tool_accepted": {"accepted"},
    "verdict": {"verdict", "failed"},
    "well_formed": {"accepted", "refused", "invalid", "verdict", "failed", "unknown"},
}


class Fault(NamedTuple):
    """A field that doesn't follow from the others."""

    field: str
    expected: str
    found: str


def fault_in(episode: Episode, *, window_calls: int, with_text: bool) -> Fault | None:
    """Return the first field that doesn't fit the rest of its episode; None: all do.

    Parameters
    ----------
    episode
        The episode.
    window_calls
        The bundle's window.
    with_text
        Whether the bundle keeps texts.
    """
    return next(_faults(episode, window_calls, with_text=with_text), None)


def _faults(episode: Episode, window_calls: int, *, with_text: bool) -> Iterator[Fault]:
    if episode.kind not in KINDS_OF[episode.stratum]:
        kinds = ", ".join(KINDS_OF[episode.stratum])
        yield Fault("kind", kinds, episode.kind)
    floor = FLOOR_CALLS.get(episode.kind, 1) if episode.stratum == "invalid" else 1
    yield from _unequal("floor_calls", floor, episode.floor_calls)
    if episode.extra_calls > window_calls:
        yield Fault("extra_calls", f"at most {window_calls}, the window", str(episode.extra_calls))
    yield from _lane_faults(episode)
    yield from _attempt_faults(episode)
    yield from _closing_faults(episode, window_calls)
    expected = _outcome(episode)
    yield from _unequal("outcome", expected, episode.outcome)
    yield from _check_faults(episode)
    if (episode.text is not None) is not with_text:
        yield Fault("text", "as with_text says", "kept" if episode.text is not None else "left out")
    if episode.text is not None and (episode.text.closing is None) is _reached(episode):
        yield Fault("text.closing", "the call that reached the goal, and none without", "")
    same_tool = any(one.tool == episode.tool and one.result == "accepted" for one in episode.lane)
    if same_tool and not episode.same_tool_success:
        yield Fault("same_tool_success", "true: the lane shows one", "false")


def _unequal(field: str, expected: object, found: object) -> Iterator[Fault]:
    if expected != found:
        yield Fault(field, str(expected), str(found))


def _reached(episode: Episode) -> bool:
    return episode.closed_by == "goal"


def _lane_faults(episode: Episode) -> Iterator[Fault]:
    calls = [one.call for one in episode.lane]
    if calls != sorted(set(calls)) or (calls and calls[0] < 1):
        yield Fault("lane", "calls in order, each once, from 1", ", ".join(map(str, calls)))
    if calls and calls[-1] > episode.extra_calls:
        yield Fault("extra_calls", f"at least {calls[-1]}: the lane has so many", "fewer")
    lines = episode.source.lines
    if episode.source.format in CHECKED_FORMATS:
        places = [lines.rejection, *(one.line for one in episode.lane)]
        if places != sorted(places) or lines.result < lines.rejection:
            yield Fault("source.lines", "lines in the order of the log", "another order")


def _is_attempt(one: LaneCall) -> bool:
    return one.match in _SAME and one.result in _REJECTED


def _attempt_faults(episode: Episode) -> Iterator[Fault]:
    lines = list(episode.source.lines.attempts)
    yield from _unequal("source.lines.attempts", episode.attempts, len(lines))
    closing = episode.source.lines.closing
    before = [one for one in episode.lane if not (_reached(episode) and _closes(episode, one))]
    tried = [one for one in before if _is_attempt(one)]
    # Between what seemed to reach the goal and the same call once more, none is an attempt.
    seemed = any(one.match in _SAME and one.result in _OPEN_ENDED for one in before)
    if [one.line for one in tried] != lines and not (seemed and set(lines) <= _lines(tried)):
        yield Fault("attempts", "the rejected calls of the lane", f"lines {lines}")
    exact = sum(one.match == "exact" for one in tried)
    if episode.blind_repeats > min(exact, episode.attempts):
        yield Fault(
            "blind_repeats", f"at most {min(exact, episode.attempts)}", str(episode.blind_repeats)
        )
    if closing is None and _reached(episode):
        yield Fault("source.lines.closing", "the line of the call that reached the goal", "null")


def _lines(calls: list[LaneCall]) -> set[int]:
    return {one.line for one in calls}


def _closes(episode: Episode, one: LaneCall) -> bool:
    return one.call == episode.extra_calls and one.line == episode.source.lines.closing


def _closing_faults(episode: Episode, window_calls: int) -> Iterator[Fault]:
    reached = _reached(episode)
    yield from _unequal("evidence", reached, episode.evidence is not None)
    yield from _unequal("source.lines.closing", reached, episode.source.lines.closing is not None)
    malformed = episode.stratum == "malformed"
    if episode.evidence is not None:
        yield from _unequal("evidence", malformed, episode.evidence == "well_formed")
        last = next((one for one in episode.lane if _closes(episode, one)), None)
        if last is None or last.match not in _SAME:
            yield Fault("lane", "the call that reached the goal", "none there")
        elif last.result not in _EVIDENCE_RESULTS[episode.evidence]:
            yield Fault("evidence", "what the closing call's result can show", episode.evidence)
    if episode.closed_by == "window":
        yield from _unequal("extra_calls", window_calls, episode.extra_calls)
    if episode.closed_by == "refused":
        refused = any(_is_attempt(one) and one.result == "refused" for one in episode.lane)
        if episode.stratum != "invalid" or not refused:
            yield Fault("closed_by", "refused only after an attempt that was", "refused")
    if episode.closed_by == "prompt" and episode.stratum == "refused":
        yield Fault("closed_by", "no prompt ends a refused call's episode", "prompt")


def _outcome(episode: Episode) -> Outcome:
    near = [one for one in episode.lane if one.match is not None and one.result in _OPEN_ENDED]
    if episode.stratum == "refused":
        return _refused_outcome(episode, shown=all(one.match not in _SAME for one in near))
    if _reached(episode):
        at_floor = episode.extra_calls <= episode.floor_calls
        return "recovered" if at_floor else "recovered_detour"
    source = episode.source
    may_go_on = is_resumable(source.format, source.session_id, source.thread)
    if near or episode.closed_by in {"refused", "prompt"}:
        return "undecided"
    if episode.closed_by == "log_end" and may_go_on:
        return "undecided"
    return _unreached_outcome(episode)


def _unreached_outcome(episode: Episode) -> Outcome:
    if episode.stratum == "malformed":
        return "not_reached"
    if episode.attempts and episode.blind_repeats == episode.attempts:
        return "blind_repeat"
    return "undecided" if episode.kind in GOAL_MAY_NOT_EXIST else "not_reached"


def _refused_outcome(episode: Episode, *, shown: bool) -> Outcome:
    if _reached(episode):
        return "accepted_later"
    if episode.attempts:
        return "asked_again"
    return "undecided" if episode.closed_by == "log_end" or not shown else "not_repeated"


def _check_faults(episode: Episode) -> Iterator[Fault]:
    seemed = any(one.match in _SAME and one.result in _OPEN_ENDED for one in episode.lane)
    if episode.stratum == "refused" or episode.outcome == "recovered":
        expected: set[str | None] = {None}
    elif episode.outcome == "recovered_detour":
        expected = {"at_floor"}
    elif seemed:
        expected = {"kept", "evidence"}
    else:
        expected = {"accepted" if episode.attempts else "pursued"}
    if episode.first_failed_check not in expected:
        yield Fault(
            "first_failed_check",
            " or ".join(sorted(str(one) for one in expected)),
            str(episode.first_failed_check),
        )
