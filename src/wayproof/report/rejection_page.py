"""A bundle of rejected calls as one page: what became of each, call by call.

Everything stands in the HTML: scripts only change the language and the theme.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from wayproof._version import __version__
from wayproof.bundles.reader import (
    Bundle,
    LineFile,
    decoded_line,
    decoded_lines,
    identities,
    read_record,
)
from wayproof.evidence.rejection_names import (
    CHECKS,
    CLOSINGS,
    EPISODES_NAME,
    EVIDENCE,
    INVALID_KINDS,
    MALFORMED_KINDS,
    OUTCOMES,
    REACHED,
    REFUSED_KINDS,
    STRATA,
    SUMMARY_NAME,
)
from wayproof.evidence.rejection_records import Episode, KindSummary, Rate, Summary
from wayproof.report.frame import framed_page
from wayproof.report.rejection_numbers import headline, share_of
from wayproof.report.run import ReportPlace, run_facts
from wayproof.web.page import Page
from wayproof.web.template import render

__all__ = ["MOST_EPISODES", "pages_of", "rejection_pages"]

MOST_EPISODES: Final = 500
"""Episodes that a page shows call by call; the file has all."""
_DEAREST: Final = 10

_FRENCH: Final[dict[str, str]] = {
    # strata
    "cancelled": "annulé", "refused": "refusé", "malformed": "mal formé", "invalid": "sans effet",
    "verdict": "verdict", "failed": "échoué", "accepted": "accepté", "unknown": "inconnu",
    # outcomes
    "recovered": "atteint au plus court", "recovered_detour": "atteint plus tard",
    "blind_repeat": "répété à l’aveugle", "not_reached": "pas atteint", "undecided": "indécis",
    "not_repeated": "pas répété", "asked_again": "redemandé", "accepted_later": "accepté ensuite",
    # kinds
    "unknown_tool": "outil inconnu", "bad_arguments": "mauvais arguments",
    "not_read_first": "fichier pas lu avant", "stale_read": "lecture périmée",
    "no_file_open": "aucun fichier ouvert", "edit_no_match": "texte introuvable",
    "edit_ambiguous": "texte ambigu", "edit_guarded": "édition gardée",
    "edit_noop": "édition sans effet", "no_such_file": "fichier absent",
    "is_a_directory": "c’est un dossier", "command_not_found": "commande absente",
    "by_person": "par une personne", "by_policy": "par une règle",
    "not_one_action": "pas une seule action",
    # what ends an episode
    "goal": "but atteint", "window": "fenêtre finie", "turn_end": "fin du tour",
    "prompt": "demande avant la réponse", "log_end": "fin du journal",
    # evidence
    "accepted_edit": "édition acceptée", "file_read": "fichier lu",
    "search_answered": "recherche répondue", "exit_0": "statut 0",
    "tool_accepted": "outil d’accord", "well_formed": "action bien formée",
    # checks
    "pursued": "poursuivi", "evidence": "preuve", "kept": "maintenu", "at_floor": "au coût minimal",
    # how a call fits
    "exact": "le même appel", "same": "le même but", "near": "en partie", "file": "le même fichier",
    # how far rates go
    "checked": "vérifiés", "unchecked": "non vérifiés", "no_outcomes": "aucun résultat consigné",
}  # fmt: skip
_ENGLISH: Final[dict[str, str]] = {
    "exact": "the same call",
    "same": "the same goal",
    "near": "in part",
    "file": "the same file",
    "invalid": "without effect",
    "checked": "checked",
    "unchecked": "unchecked",
    "no_outcomes": "no outcomes logged",
}


_SENSES: Final[dict[str, str]] = {
    "pursued": "un appel ultérieur a le même but",
    "accepted": "un tel appel fut accepté",
    "evidence": "le journal montre comment il finit",
    "kept": "l’appel rejeté ne fut pas renvoyé après cela",
    "at_floor": "pas plus d’appels que le nombre minimal",
}
"""What the checks mean, in French."""


class Said(NamedTuple):
    """A word in both languages, and what it means in both."""

    english: str
    french: str
    meaning: str = ""
    sense: str = ""


_MEANINGS: Final = {
    word.name: word.meaning
    for words in (STRATA, OUTCOMES, EVIDENCE, CLOSINGS, CHECKS)
    for word in words
} | {kind.name: kind.meaning for kind in (*INVALID_KINDS, *MALFORMED_KINDS, *REFUSED_KINDS)}


def _said(name: str) -> Said:
    english = _ENGLISH.get(name, name.replace("_", " "))
    meaning = _MEANINGS.get(name, "")
    return Said(english, _FRENCH.get(name, english), meaning, _SENSES.get(name, meaning))


class _Kind(NamedTuple):
    """A row of the table of kinds."""

    format_name: str
    rules: Said
    stratum: Said
    kind: Said
    episodes: int
    outcomes: list[tuple[Said, int]]
    reached: str
    same_tool_success: int


class _Lane(NamedTuple):
    """A call in an episode's lane."""

    call: int
    line: int
    tool: str
    result: Said
    match: Said | None
    is_match: bool
    is_closing: bool


class _Shown(NamedTuple):
    """An episode as the page shows it."""

    anchor: str
    episode: Episode
    outcome: Said
    is_good: bool
    kind: Said
    stratum: Said
    closed_by: Said
    evidence: Said | None
    failed_check: Said | None
    lane: list[_Lane]
    left_out: int


_MOST_LANE: Final = 60
_CHECK_MEANINGS: Final = {word.name: word.meaning for word in CHECKS}


def _check(name: str | None) -> Said | None:
    return None if name is None else _said(name)._replace(meaning=_CHECK_MEANINGS[name])


def _ends(rate: Rate | None) -> str:
    ends = share_of(rate) if rate is not None else None
    return "–" if ends is None else f"{ends[0]} – {ends[1]}"


def _kinds(summary: Summary) -> Iterator[_Kind]:
    for row in summary.formats:
        for kind in row.kinds:
            yield _kind_row(row.format, row.rules, kind)


def _kind_row(format_name: str, rules: str, kind: KindSummary) -> _Kind:
    return _Kind(
        format_name=format_name,
        rules=_said(rules),
        stratum=_said(kind.stratum),
        kind=_said(kind.kind),
        episodes=kind.episodes,
        outcomes=[(_said(name), count) for name, count in kind.outcomes.items()],
        reached=_ends(kind.reached),
        same_tool_success=kind.same_tool_success,
    )


def _shown(number: int, episode: Episode) -> _Shown:
    reached = episode.closed_by == "goal"
    lane = [
        _Lane(
            call=one.call,
            line=one.line,
            tool=one.tool,
            result=_said(one.result),
            match=_said(one.match) if one.match is not None else None,
            is_match=one.match in {"exact", "same"},
            is_closing=reached and one.call == episode.extra_calls,
        )
        for one in episode.lane[:_MOST_LANE]
    ]
    return _Shown(
        anchor=f"e{number}",
        episode=episode,
        outcome=_said(episode.outcome),
        is_good=episode.outcome in REACHED,
        kind=_said(episode.kind),
        stratum=_said(episode.stratum),
        closed_by=_said(episode.closed_by),
        evidence=_said(episode.evidence) if episode.evidence is not None else None,
        failed_check=_check(episode.first_failed_check),
        lane=lane,
        left_out=max(0, len(episode.lane) - _MOST_LANE),
    )


class _Key(msgspec.Struct, frozen=True, gc=False):
    """What orders the episodes of a page."""

    extra_calls: int
    outcome: str
    stratum: str


def _dearest(keys: list[_Key]) -> list[int]:
    """Order episodes: without effect first, then by what they took; ties as in the file."""
    return sorted(
        range(len(keys)),
        key=lambda at: (keys[at].stratum != "invalid", -keys[at].extra_calls, at),
    )


def _episodes(bundle: Bundle) -> tuple[list[_Shown], int]:
    """Return the episodes that the page shows, the dearest first, and how many it leaves out."""
    decoder = msgspec.json.Decoder(Episode)
    with LineFile(bundle.folder / EPISODES_NAME) as lines:
        keys = list(decoded_lines(lines, _Key))
        order = _dearest(keys)
        shown = [
            _shown(place, decoded_line(lines, at, lines.line(at), decoder))
            for place, at in enumerate(order[:MOST_EPISODES], 1)
        ]
    return shown, max(0, len(keys) - MOST_EPISODES)


def rejection_pages(bundle: Bundle, place: ReportPlace | None = None) -> Iterator[Page]:
    """Yield the report's one page, ``STEM.html``."""
    place = place or ReportPlace("index", bundle.name)
    summary = read_record(bundle, SUMMARY_NAME, Summary)
    episodes, left_out = _episodes(bundle)
    body = render(
        "report/templates/rejections.html.j2",
        summary=summary,
        headline=list(headline(summary)),
        kinds=list(_kinds(summary)),
        formats=[
            (row, _said(row.rules), _ends(row.reached), _ends(row.at_floor))
            for row in summary.formats
        ],
        strata=[(_said(word.name), getattr(summary.strata, word.name)) for word in STRATA],
        dearest=[one for one in episodes if one.episode.stratum == "invalid"][:_DEAREST],
        episodes=episodes,
        left_out=left_out,
        identities=identities(bundle),
        run=run_facts(bundle, place.name),
        stem=place.stem,
        version=__version__,
    )
    title = f"{place.name} · rejected calls"
    yield framed_page(f"{place.stem}.html", title, "index", body, [])


def pages_of(
    bundle: Bundle, sources: Mapping[str, Path], place: ReportPlace, *, may_page: bool
) -> Iterator[Page]:
    """Yield the one page of a bundle of rejected calls."""
    del sources, may_page
    return rejection_pages(bundle, place)
