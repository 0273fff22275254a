"""What a bundle of rejected calls holds, as typed records.

Fields stand in the order of their names, so that the plain encoding of a record is its
RFC 8785 form. Every number is an integer.
"""

from typing import Annotated, Final, Literal

import msgspec

from wayproof.canonical import MAX_SAFE_INTEGER, Record
from wayproof.evidence.rejection_names import (
    MAX_WINDOW_CALLS,
    Check,
    ClosedBy,
    EpisodeStratum,
    Evidence,
    Kind,
    Match,
    Outcome,
)

__all__ = [
    "SUMMARY_SCHEMA_VERSION",
    "Bound",
    "Episode",
    "EpisodeSource",
    "EpisodeText",
    "FormatSummary",
    "KindSummary",
    "LaneCall",
    "Lines",
    "Rate",
    "SessionRecord",
    "StratumCounts",
    "Summary",
]

SUMMARY_SCHEMA_VERSION: Final = "wayproof.rejections/1"

_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]
_Floor = Annotated[int, msgspec.Meta(ge=1, le=2)]
_Window = Annotated[int, msgspec.Meta(ge=1, le=MAX_WINDOW_CALLS)]
_Ppm = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
_Name = Annotated[str, msgspec.Meta(max_length=4096)]
_Text = Annotated[str, msgspec.Meta(max_length=8192)]
_Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
_ShareHow = Literal["bootstrap", "agreement"]


class Lines(Record, frozen=True):
    """Where an episode's calls stand in the log; a step's number where a log has no lines.

    Attributes
    ----------
    attempts
        Of each later rejection of the same intent.
    closing
        Of the call that reached the goal; null: none did.
    rejection
        Of the rejected call.
    result
        Of its result.
    """

    attempts: tuple[_Count, ...]
    closing: _Count | None
    rejection: _Count
    result: _Count


class EpisodeSource(Record, frozen=True):
    """Which log an episode comes from, and where it stands there.

    Attributes
    ----------
    call_id
        The log's own name of the rejected call.
    file
        The log, relative to the folder that all logs share.
    format
        Its format.
    lines
        Where the calls stand.
    session_id
        The log's own name of the session, or null.
    thread
        The sub-agent; empty for the main agent.
    """

    call_id: _Name
    file: _Name
    format: _Name
    lines: Lines
    session_id: _Name | None
    thread: _Name


class LaneCall(Record, frozen=True):
    """A call after the rejection, as the lane of an episode shows it.

    Attributes
    ----------
    call
        How many calls after the rejected result it was issued, from 1.
    line
        Where it stands.
    match
        How it fits the rejected call: ``exact``, ``same``, ``near`` (half the lines, or some
        of the operands), ``file`` (another edit of the file), or null.
    result
        ``accepted``, a stratum, or ``unknown``.
    tool
        Its tool.
    """

    call: _Count
    line: _Count
    match: Match | None
    result: Literal[
        "accepted", "cancelled", "refused", "malformed", "invalid", "verdict", "failed", "unknown"
    ]
    tool: _Name


class EpisodeText(Record, frozen=True):
    """What was called and said, bounded; only where it was asked for.

    Attributes
    ----------
    call
        The rejected call's input.
    closing
        The input of the call that reached the goal, or null.
    said
        What the tool said.
    """

    call: _Text
    closing: _Text | None
    said: _Text


class Episode(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A rejected call, and what became of its goal.

    Attributes
    ----------
    attempts
        Later rejections of the same intent.
    blind_repeats
        How many of them were the same call again with nothing changed in between.
    closed_by
        What ended the episode: the goal, a person's refusal of an attempt, the window, the end
        of the turn, a prompt before the agent had answered, or the log's end.
    episode_id
        ``SESSION:N``: the session, and the rejected call's number among its calls.
    evidence
        What the claim that the goal was reached rests on; null: it wasn't reached.
    extra_calls
        Calls issued after the rejected result: up to and including the one that reached the
        goal, or until the episode ended.
    first_failed_check
        The first of the checks of a recovery at the least cost that doesn't hold; null: all
        hold. Null for ``refused``.
    floor_calls
        The least number of calls that reaching the goal can take.
    in_parallel
        Another call of the same batch was rejected, too.
    kind
        Why the call was rejected.
    lane
        The calls after the rejection, in order.
    outcome
        What became of the goal.
    same_tool_success
        The rule that others use: a later call of the same tool succeeded.
    source
        Where it stands.
    stratum
        ``invalid``, ``malformed`` or ``refused``.
    target
        What the call was about: a file's id, or a program and its subcommand; null: neither.
    tool
        The rejected call's tool.
    text
        What was called and said, where that was asked for.
    """

    attempts: _Count
    blind_repeats: _Count
    closed_by: ClosedBy
    episode_id: _Name
    evidence: Evidence | None
    extra_calls: _Count
    first_failed_check: Check | None
    floor_calls: _Floor
    in_parallel: bool
    kind: Kind
    lane: tuple[LaneCall, ...]
    outcome: Outcome
    same_tool_success: bool
    source: EpisodeSource
    stratum: EpisodeStratum
    target: _Name | None
    text: EpisodeText | None = None
    tool: _Name


class StratumCounts(Record, frozen=True):
    """How many results that were no success fell into each stratum.

    Attributes
    ----------
    cancelled, failed, invalid, malformed, refused, verdict
        Each stratum's count.
    """

    cancelled: _Count
    failed: _Count
    invalid: _Count
    malformed: _Count
    refused: _Count
    verdict: _Count


class SessionRecord(Record, frozen=True):
    """A session and its counts; sessions without a rejection are there, too.

    Attributes
    ----------
    calls
        Its calls, of all threads; plan tools and what hands in an answer don't count.
    episodes
        Its episodes.
    file
        The log, relative to the folder that all logs share.
    format
        The log's format.
    session
        ``FILE#N``: the log, and the session's place in it.
    session_id
        The log's own name of the session, or null.
    strata
        Its results that were no success.
    task_id
        The task it belongs to, or null.
    unknown
        Calls of which the log doesn't say how they ended.
    """

    calls: _Count
    episodes: _Count
    file: _Name
    format: _Name
    session: _Name
    session_id: _Name | None
    strata: StratumCounts
    task_id: _Name | None
    unknown: _Count


class Bound(Record, frozen=True):
    """One end of a rate: a share of episodes, with a 95 % interval over sessions.

    Attributes
    ----------
    episodes
        How many episodes it counts.
    high_ppm, low_ppm
        The interval's ends, in parts per million.
    method
        ``bootstrap`` over sessions, or ``agreement`` where all sessions agree.
    share_ppm
        The share, in parts per million, rounded down.
    """

    episodes: _Count
    high_ppm: _Ppm
    low_ppm: _Ppm
    method: _ShareHow
    share_ppm: _Ppm


class Rate(Record, frozen=True):
    """A share of episodes between what was decided and what the log can't tell.

    Attributes
    ----------
    at_least
        Decided for it, of all episodes; null below 10 episodes or 5 sessions.
    at_most
        The same, and the undecided; null where ``at_least`` is.
    episodes
        Episodes that it is over.
    sessions
        Sessions that they come from: the units of the intervals.
    """

    at_least: Bound | None
    at_most: Bound | None
    episodes: _Count
    sessions: _Count


class KindSummary(Record, frozen=True):
    """The episodes of one stratum and kind.

    Attributes
    ----------
    at_floor, reached
        Both rates; null but for ``invalid``.
    episodes
        How many there are.
    kind, stratum
        Which they are.
    outcomes
        How many came to which outcome; outcomes that none came to are left out.
    same_tool_success
        How many would count as recovered by the rule that others use.
    """

    at_floor: Rate | None
    episodes: _Count
    kind: Kind
    outcomes: dict[Outcome, _Count]
    reached: Rate | None
    same_tool_success: _Count
    stratum: EpisodeStratum


class FormatSummary(Record, frozen=True):
    """The sessions of one format.

    Attributes
    ----------
    at_floor, reached
        Rates over the format's ``invalid`` episodes.
    calls, sessions
        How many there are.
    format
        The format.
    kinds
        Its episodes by stratum and kind.
    rules
        ``checked``, ``unchecked`` (never compared with labels), or ``no_outcomes``.
    strata
        Its results that were no success.
    unknown
        Calls of which the log doesn't say how they ended.
    """

    at_floor: Rate
    calls: _Count
    format: _Name
    kinds: tuple[KindSummary, ...]
    reached: Rate
    rules: Literal["checked", "unchecked", "no_outcomes"]
    sessions: _Count
    strata: StratumCounts
    unknown: _Count


class Summary(Record, frozen=True):
    """``summary.json`` of a bundle of rejected calls: it follows from the other files alone.

    Attributes
    ----------
    at_floor
        Rate of ``invalid`` episodes whose goal was reached at the least cost; episodes of which
        a parallel call was rejected, too, are left out.
    blind_repeats
        ``invalid`` episodes with this outcome.
    calls, sessions
        How many there are.
    detour_calls
        The least and the most ``extra_calls`` of goals reached later; null: there are none.
    episodes_sha256
        SHA-256 of ``episodes.jsonl``.
    formats
        Each format's numbers, by name.
    limits
        What the numbers don't show.
    phrases
        Version of the tables of phrases and checkers.
    reached
        Rate of ``invalid`` episodes whose goal was seen reached.
    same_tool_success
        ``invalid`` episodes that would count as recovered by the rule that others use.
    schema_version
        Form of the bundle's records.
    sessions_sha256
        SHA-256 of ``sessions.jsonl``.
    strata
        Results that were no success.
    unknown
        Calls of which the logs don't say how they ended.
    window_calls
        An episode ends after so many calls.
    """

    at_floor: Rate
    blind_repeats: _Count
    calls: _Count
    detour_calls: tuple[_Count, _Count] | None
    episodes_sha256: _Digest
    formats: tuple[FormatSummary, ...]
    limits: tuple[str, ...]
    phrases: _Name
    reached: Rate
    same_tool_success: _Count
    schema_version: str
    sessions: _Count
    sessions_sha256: _Digest
    strata: StratumCounts
    unknown: _Count
    window_calls: _Window
