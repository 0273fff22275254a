"""The figures of a bundle of rejected calls as a page and a terminal show them."""

from collections.abc import Iterator
from typing import NamedTuple

from wayproof.evidence.rejection_names import MIN_EPISODES, MIN_SESSIONS
from wayproof.evidence.rejection_records import Rate, Summary

__all__ = ["Sentence", "headline", "percent", "share_of"]


class Sentence(NamedTuple):
    """A sentence with its figures apart, so that it can be said in two languages.

    Attributes
    ----------
    key
        Which sentence it is.
    text
        The English one, with ``{name}`` where figures go.
    figures
        The figures, as text.
    """

    key: str
    text: str
    figures: dict[str, str]

    def __str__(self) -> str:
        return self.text.format_map(self.figures)


def percent(ppm: int) -> str:
    """Word a share that must not look larger than it is: rounded down to whole per cent."""
    return f"{ppm // 10_000} %"


def share_of(rate: Rate) -> tuple[str, str] | None:
    """Return the two ends of a rate, or None where there is none."""
    if rate.at_least is None or rate.at_most is None:
        return None
    return percent(rate.at_least.share_ppm), percent(-(-rate.at_most.share_ppm // 10_000) * 10_000)


def headline(summary: Summary) -> Iterator[Sentence]:
    """Yield the sentences of the first screen."""
    strata = summary.strata
    verb = "was" if strata.invalid == 1 else "were"
    yield Sentence(
        "rejected",
        "{calls} rejected without effect in {sessions}.",
        {
            "calls": f"{_counted(strata.invalid, 'call')} {verb}",
            "sessions": _counted(summary.sessions, "session"),
        },
    )
    yield from _reached(summary)
    yield Sentence("blind", "Blind repeats: {count}.", {"count": f"{summary.blind_repeats:,}"})
    yield Sentence(
        "failed",
        "{commands}: counted, not judged.",
        {"commands": _counted(strata.failed, "failed command")},
    )
    if summary.unknown:
        yield Sentence(
            "unknown",
            "{calls}: the log doesn't say how they ended.",
            {"calls": _counted(summary.unknown, "call")},
        )


def _reached(summary: Summary) -> Iterator[Sentence]:
    reached, floor = share_of(summary.reached), share_of(summary.at_floor)
    if reached is None:
        yield Sentence(
            "no_rate",
            "Reached again: no rate below {episodes} episodes and {sessions} sessions "
            "(here {found} of {of}).",
            {
                "episodes": str(MIN_EPISODES),
                "sessions": str(MIN_SESSIONS),
                "found": _counted(summary.reached.episodes, "episode"),
                "of": _counted(summary.reached.sessions, "session"),
            },
        )
        return
    figures = {"reached": reached[0], "most": reached[1]}
    text = "Reached again: at least {reached} (at most {most})"
    if floor is not None:
        figures["floor"] = floor[0]
        text += ", at the least possible cost at least {floor}"
    if summary.detour_calls is not None:
        least, most = summary.detour_calls
        figures["detour"] = str(least) if least == most else f"{least}–{most}"
        text += ", else after {detour} calls"
    yield Sentence("reached", f"{text}.", figures)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
