"""The summary of a run over logs, derived from its episodes and sessions alone."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from wayproof.evidence.rejection_names import (
    EPISODE_STRATA,
    KINDS_OF,
    LIMITS,
    MIN_EPISODES,
    MIN_SESSIONS,
    REACHED,
    EpisodeStratum,
    Kind,
    Outcome,
    rules_of,
)
from wayproof.evidence.rejection_records import (
    SUMMARY_SCHEMA_VERSION,
    Bound,
    Episode,
    FormatSummary,
    KindSummary,
    Rate,
    SessionRecord,
    StratumCounts,
    Summary,
)
from wayproof.rejections.phrases import PHRASES_VERSION
from wayproof.stats.intervals import MILLION, Interval, intervals_over_groups

__all__ = ["Brief", "brief_of", "session_of", "summarize"]

_STRATA: Final = ("cancelled", "failed", "invalid", "malformed", "refused", "verdict")


class Brief(NamedTuple):
    """What the summary needs of an episode."""

    session: int
    format_name: str
    stratum: EpisodeStratum
    kind: Kind
    outcome: Outcome
    extra_calls: int
    in_parallel: bool
    same_tool_success: bool


def session_of(episode_id: str) -> str:
    """Return the session that an episode's id names."""
    return episode_id.rpartition(":")[0]


def brief_of(episode: Episode, session: int) -> Brief:
    """Keep what the summary needs of an episode.

    Parameters
    ----------
    episode
        The episode.
    session
        The place of its session among the sessions.
    """
    return Brief(
        session,
        episode.source.format,
        episode.stratum,
        episode.kind,
        episode.outcome,
        episode.extra_calls,
        episode.in_parallel,
        episode.same_tool_success,
    )


def summarize(
    sessions: Sequence[SessionRecord],
    episodes: Iterable[Brief],
    *,
    window_calls: int,
    digests: tuple[str, str],
) -> Summary:
    """Return the summary.

    Parameters
    ----------
    sessions
        Every session, those without episodes, too.
    episodes
        Every episode.
    window_calls
        An episode ends after so many calls.
    digests
        SHA-256 of ``episodes.jsonl`` and of ``sessions.jsonl``.
    """
    found = list(episodes)
    invalid = [one for one in found if one.stratum == "invalid"]
    names = sorted({one.format for one in sessions})
    rates = _rates(found, names)
    detours = [one.extra_calls for one in invalid if one.outcome == "recovered_detour"]
    return Summary(
        at_floor=rates["floor", None, None],
        blind_repeats=sum(one.outcome == "blind_repeat" for one in invalid),
        calls=sum(one.calls for one in sessions),
        detour_calls=(min(detours), max(detours)) if detours else None,
        episodes_sha256=digests[0],
        formats=tuple(_format(name, sessions, found, rates) for name in names),
        limits=LIMITS,
        phrases=PHRASES_VERSION,
        reached=rates["reached", None, None],
        same_tool_success=sum(one.same_tool_success for one in invalid),
        schema_version=SUMMARY_SCHEMA_VERSION,
        sessions=len(sessions),
        sessions_sha256=digests[1],
        strata=_added(sessions),
        unknown=sum(one.unknown for one in sessions),
        window_calls=window_calls,
    )


def _added(sessions: Iterable[SessionRecord]) -> StratumCounts:
    counts = dict.fromkeys(_STRATA, 0)
    for one in sessions:
        for name in _STRATA:
            counts[name] += getattr(one.strata, name)
    return StratumCounts(**counts)


_RateKey = tuple[str, str | None, Kind | None]


def _format(
    name: str,
    sessions: Sequence[SessionRecord],
    episodes: Sequence[Brief],
    rates: dict[_RateKey, Rate],
) -> FormatSummary:
    own = [one for one in sessions if one.format == name]
    mine = [one for one in episodes if one.format_name == name]
    kinds = [
        _kind(stratum, kind, name, mine, rates)
        for stratum in EPISODE_STRATA
        for kind in KINDS_OF[stratum]
    ]
    return FormatSummary(
        at_floor=rates["floor", name, None],
        calls=sum(one.calls for one in own),
        format=name,
        kinds=tuple(one for one in kinds if one.episodes),
        reached=rates["reached", name, None],
        rules=rules_of(name).name,
        sessions=len(own),
        strata=_added(own),
        unknown=sum(one.unknown for one in own),
    )


def _kind(
    stratum: EpisodeStratum,
    kind: Kind,
    format_name: str,
    episodes: Sequence[Brief],
    rates: dict[_RateKey, Rate],
) -> KindSummary:
    own = [one for one in episodes if one.stratum == stratum and one.kind == kind]
    outcomes: dict[Outcome, int] = {}
    for one in own:
        outcomes[one.outcome] = outcomes.get(one.outcome, 0) + 1
    return KindSummary(
        at_floor=rates.get(("floor", format_name, kind)),
        episodes=len(own),
        kind=kind,
        outcomes=dict(sorted(outcomes.items())),
        reached=rates.get(("reached", format_name, kind)),
        same_tool_success=sum(one.same_tool_success for one in own),
        stratum=stratum,
    )


# -- rates ----------------------------------------------------------------------------------


class _Column(NamedTuple):
    """Episodes that a rate is over, and how many of each session count for it."""

    key: _RateKey
    episodes: list[Brief]
    sure: frozenset[str]

    def hits(self, *, with_undecided: bool) -> dict[int, int]:
        wanted = self.sure | {"undecided"} if with_undecided else self.sure
        counts: dict[int, int] = {}
        for one in self.episodes:
            counts[one.session] = counts.get(one.session, 0) + (one.outcome in wanted)
        return counts


def _rates(episodes: Sequence[Brief], formats: Sequence[str]) -> dict[_RateKey, Rate]:
    """Return both rates over everything, over each format and over each of its kinds."""
    invalid = [one for one in episodes if one.stratum == "invalid"]
    columns: list[_Column] = []
    groups: list[tuple[str | None, Kind | None]] = [(None, None)]
    for format_name in formats:
        kinds = sorted({one.kind for one in invalid if one.format_name == format_name})
        groups += [(format_name, None), *((format_name, kind) for kind in kinds)]
    for name, kind in groups:
        own = [
            one
            for one in invalid
            if (name is None or one.format_name == name) and (kind is None or one.kind == kind)
        ]
        alone = [one for one in own if not one.in_parallel]
        columns.append(_Column(("reached", name, kind), own, REACHED))
        columns.append(_Column(("floor", name, kind), alone, frozenset({"recovered"})))
    return {column.key: _rate(column) for column in columns}


def _rate(column: _Column) -> Rate:
    low = column.hits(with_undecided=False)
    high = column.hits(with_undecided=True)
    count, sessions = len(column.episodes), sorted(low)
    enough = count >= MIN_EPISODES and len(sessions) >= MIN_SESSIONS
    if not enough:
        return Rate(at_least=None, at_most=None, episodes=count, sessions=len(sessions))
    cells = dict.fromkeys(sessions, 0)
    for one in column.episodes:
        cells[one.session] += 1
    of_sessions = [cells[one] for one in sessions]
    hits = [[low[one] for one in sessions], [high[one] for one in sessions]]
    intervals = intervals_over_groups(hits, [of_sessions, of_sessions])
    bounds = [
        _bound(sum(hit), count, interval) for hit, interval in zip(hits, intervals, strict=True)
    ]
    return Rate(at_least=bounds[0], at_most=bounds[1], episodes=count, sessions=len(sessions))


def _bound(hits: int, count: int, interval: Interval) -> Bound:
    return Bound(
        episodes=hits,
        high_ppm=interval.high_ppm,
        low_ppm=interval.low_ppm,
        method="agreement" if interval.method == "agreement" else "bootstrap",
        share_ppm=hits * MILLION // count,
    )
