"""A private evaluation as one page: what was agreed and enforced, who signed, what came of it.

The page reads what the bundle says. Whether its signatures hold is for ``verify`` to tell, which
knows whose keys are trusted; the page says so.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from wayproof._version import __version__
from wayproof.bundles.manifest import read_small_file, signature_names
from wayproof.bundles.reader import Bundle, identities, read_record
from wayproof.errors import InputError
from wayproof.evidence.private_names import (
    ABANDONED,
    AGREEMENT_NAME,
    CLAUSES,
    RESULT_NAME,
    TRIAL_KIND,
    TRIAL_NAME,
    start_name,
)
from wayproof.evidence.private_records import Agreement, PrivateResult, PrivateTrial, Start
from wayproof.evidence.recovery_records import trial_id
from wayproof.report.frame import framed_page
from wayproof.report.run import ReportPlace, run_facts
from wayproof.web.page import Page
from wayproof.web.template import render

__all__ = ["pages_of"]

_FRENCH: Final = {
    "moves": "propositions de l’agent dans un essai",
    "seconds": "secondes que dure un essai, démarrage de l’agent compris",
    "memory_bytes": "octets de mémoire de tous les processus d’un essai",
    "processes": "processus et fils d’exécution à la fois dans un essai",
    "file_bytes": "octets du plus grand fichier, et de tout le dossier temporaire",
    "network": "aucune connexion hors du bac à sable",
    "isolation": "ni fichier, ni processus, ni variable de la machine hors de l’accord",
}


class _Limit(NamedTuple):
    """A limit: what it means in both languages, and what became of it."""

    name: str
    english: str
    french: str
    at_most: int | None
    is_required: bool
    is_enforced: bool
    means: str


class _Start(NamedTuple):
    """A start: its run, until when, and what it says of the run before."""

    run: int
    not_after: str
    gave_up: bool


def _agreement(bundle: Bundle) -> Agreement:
    path = bundle.folder / AGREEMENT_NAME
    data = read_small_file(path, "can't be read")
    try:
        return msgspec.convert(tomllib.loads(data.decode("utf-8")), Agreement)
    except (ValueError, RecursionError) as error:
        raise InputError("not an agreement", file=str(path), found=str(error)[:200]) from None


def _limits(result: PrivateResult) -> list[_Limit]:
    meanings = {clause.name: clause.meaning for clause in CLAUSES}
    return [
        _Limit(
            each.clause,
            meanings[each.clause],
            _FRENCH[each.clause],
            each.at_most,
            each.agreed == "required",
            each.enforced,
            each.means,
        )
        for each in result.enforced
    ]


def _starts(bundle: Bundle, last: int) -> list[_Start]:
    starts = [read_record(bundle, start_name(run), Start) for run in range(1, last + 1)]
    after = [*starts[1:], None]
    return [
        _Start(
            start.run,
            start.not_after,
            following is not None and following.previous_result == ABANDONED,
        )
        for start, following in zip(starts, after, strict=True)
    ]


def pages_of(
    bundle: Bundle, sources: Mapping[str, Path], place: ReportPlace, *, may_page: bool
) -> Iterator[Page]:
    """Yield the one page of a private run, or of one disclosed trial."""
    del sources, may_page
    agreement, result = _agreement(bundle), read_record(bundle, RESULT_NAME, PrivateResult)
    trial = None
    if bundle.kind.name == TRIAL_KIND:
        trial = read_record(bundle, TRIAL_NAME, PrivateTrial)
    body = render(
        "report/templates/private.html.j2",
        agreement=agreement,
        result=result,
        limits=_limits(result),
        starts=_starts(bundle, result.run),
        signatures=signature_names(bundle.folder),
        trial=trial,
        trial_name=None
        if trial is None
        else trial_id(trial.record.policy, trial.record.scenario_id, trial.record.policy_seed),
        said_limits=bundle.manifest.limits,
        identities=identities(bundle),
        run=run_facts(bundle, place.name),
        stem=place.stem,
        version=__version__,
    )
    title = f"{place.name} · private evaluation"
    yield framed_page(f"{place.stem}.html", title, "index", body, [])
