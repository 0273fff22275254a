"""The figures of a bundle of rejected calls as a page and a terminal show them."""

from collections.abc import Iterator
from typing import NamedTuple

from wayproof.evidence.rejection_names import MIN_EPISODES, MIN_SESSIONS
from wayproof.evidence.rejection_records import Rate, Summary

__all__ = ["Sentence", "headline", "percent", "share_of"]


class Sentence(NamedTuple):
    """A sentence in English and in French."""

    english: str
    french: str

    def __str__(self) -> str:
        return self.english


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
    one = strata.invalid == 1
    yield Sentence(
        f"{_counted(strata.invalid, 'call')} {'was' if one else 'were'} rejected without effect "
        f"in {_counted(summary.sessions, 'session')}.",
        f"{_compte(strata.invalid, 'appel rejeté', 'appels rejetés')} sans effet en "
        f"{_compte(summary.sessions, 'session', 'sessions')}.",
    )
    yield _reached(summary)
    blind = summary.blind_repeats
    yield Sentence(f"Blind repeats: {blind:,}.", f"Répétitions aveugles : {_milliers(blind)}.")
    yield Sentence(
        f"{_counted(strata.failed, 'failed command')}: counted, not judged.",
        f"{_compte(strata.failed, 'commande en échec', 'commandes en échec')} : comptées, pas "
        "jugées.",
    )
    if summary.unknown:
        yield Sentence(
            f"{_counted(summary.unknown, 'call')}: the log doesn't say how they ended.",
            f"{_compte(summary.unknown, 'appel', 'appels')} : le journal ne dit pas comment.",
        )


def _reached(summary: Summary) -> Sentence:
    reached, floor = share_of(summary.reached), share_of(summary.at_floor)
    rate = summary.reached
    if reached is None:
        return Sentence(
            f"Reached again: no rate below {MIN_EPISODES} episodes and {MIN_SESSIONS} sessions "
            f"(here {_counted(rate.episodes, 'episode')} of {_counted(rate.sessions, 'session')}).",
            f"Atteints ensuite : pas de taux en dessous de {MIN_EPISODES} épisodes et "
            f"{MIN_SESSIONS} sessions (ici {_compte(rate.episodes, 'épisode', 'épisodes')}, "
            f"{_compte(rate.sessions, 'session', 'sessions')}).",
        )
    english = f"Reached again: at least {reached[0]} (at most {reached[1]})"
    french = f"Atteints ensuite : au moins {reached[0]} (au plus {reached[1]})"
    if floor is not None:
        english += f", at the least possible cost at least {floor[0]}"
        french += f", au coût minimal au moins {floor[0]}"
    if summary.detour_calls is not None:
        least, most = summary.detour_calls
        calls = str(least) if least == most else f"{least}–{most}"
        english += f", else after {calls} calls"
        french += f", sinon après {calls} appels"
    return Sentence(f"{english}.", f"{french}.")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _milliers(count: int) -> str:
    return f"{count:,}".replace(",", "\u202f")


def _compte(count: int, one: str, many: str) -> str:
    return f"{_milliers(count)} {one if count < 2 else many}"
