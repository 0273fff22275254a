"""Reading and checking bundles from Python."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

import msgspec

from wayproof.api.given import path_of
from wayproof.api.html import table
from wayproof.api.lines import Lines
from wayproof.bundles.check import check_bundle
from wayproof.bundles.kinds import CheckRequest
from wayproof.bundles.manifest import Manifest
from wayproof.bundles.reader import open_bundle, read_record
from wayproof.errors import InputError
from wayproof.evidence import fitness_names, recovery_names, rejection_names
from wayproof.evidence.fitness_records import Debt, TaskResult
from wayproof.evidence.fitness_summary import SuiteRecord
from wayproof.evidence.recovery_records import Result, Trace
from wayproof.evidence.rejection_records import Episode, SessionRecord
from wayproof.evidence.rejection_records import Summary as RejectionSummary
from wayproof.recovery.summary import Summary

__all__ = [
    "FitnessBundle",
    "RecoveryBundle",
    "RejectionBundle",
    "Verification",
    "read_bundle",
    "verify",
]


class FitnessBundle(SuiteRecord, frozen=True, kw_only=True):
    """A bundle of scored results, whose files are what its manifest says.

    Attributes
    ----------
    folder
        Where it lies.
    manifest
        Digests, settings, and everything that varies between runs.
    results
        One a task and attempt; empty in a bundle of the summary alone.
    debts
        The two repair queues.
    """

    folder: Path
    manifest: Manifest
    results: Sequence[TaskResult]
    debts: Sequence[Debt]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the results as dicts with the wire names, for a data frame."""
        return [msgspec.to_builtins(result) for result in self.results]


class RecoveryBundle(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle of trials, whose files are what its manifest says.

    Attributes
    ----------
    folder
        Where it lies.
    manifest
        Digests, settings, and everything that varies between runs.
    summary
        Completed and verified, by policy and failure kind, with intervals over grids.
    results
        One a trial, by policy, scenario and seed.
    traces
        Each trial's steps, in the same order.
    """

    folder: Path
    manifest: Manifest
    summary: Summary
    results: Sequence[Result]
    traces: Sequence[Trace]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the results as dicts with the wire names, for a data frame."""
        return [msgspec.to_builtins(result) for result in self.results]

    def __repr__(self) -> str:
        rows = (
            f"{row.policy} {row.total.completed} completed and {row.total.verified} verified "
            f"of {row.total.cells}"
            for row in self.summary.policies
        )
        return f"<RecoveryBundle of {self.summary.suite_id}: {'; '.join(rows)}>"

    def _repr_html_(self) -> str:
        rows = [
            {
                "policy": row.policy,
                "failure kind": stratum.failure_kind or "all",
                "cells": stratum.cells,
                "completed": stratum.completed,
                "verified": stratum.verified,
            }
            for row in self.summary.policies
            for stratum in (row.total, *row.by_failure_kind)
        ]
        return table(["policy", "failure kind", "cells", "completed", "verified"], rows)


class RejectionBundle(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle of rejected calls, whose files are what its manifest says.

    Attributes
    ----------
    folder
        Where it lies.
    manifest
        Digests, settings, and everything that varies between runs.
    summary
        Counts by stratum, format and kind; both rates, null where there is too little.
    episodes
        One a rejected call whose goal was followed.
    sessions
        One a session; those without a rejected call, too.
    """

    folder: Path
    manifest: Manifest
    summary: RejectionSummary
    episodes: Sequence[Episode]
    sessions: Sequence[SessionRecord]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the episodes as dicts with the wire names, for a data frame."""
        return [msgspec.to_builtins(episode) for episode in self.episodes]


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle that holds, and what that rests on.

    Attributes
    ----------
    folder
        The bundle.
    kind
        Its kind.
    findings
        What was checked and what was not, a sentence each.
    verdict
        The last word: ``verified``, or what that is limited to.
    own_words
        What the bundle says of itself and nobody checked.
    unchecked_signatures
        Names of detached signatures in the folder that were not checked.
    """

    folder: Path
    kind: str
    findings: tuple[str, ...]
    verdict: str
    own_words: tuple[str, ...]
    unchecked_signatures: tuple[str, ...]


@overload
def read_bundle(folder: str | Path, *, kind: Literal["fitness"]) -> FitnessBundle: ...


@overload
def read_bundle(folder: str | Path, *, kind: Literal["recovery"]) -> RecoveryBundle: ...


@overload
def read_bundle(folder: str | Path, *, kind: Literal["rejections"]) -> RejectionBundle: ...


@overload
def read_bundle(
    folder: str | Path, *, kind: None = None
) -> FitnessBundle | RecoveryBundle | RejectionBundle: ...


def read_bundle(
    folder: str | Path, *, kind: Literal["fitness", "recovery", "rejections"] | None = None
) -> FitnessBundle | RecoveryBundle | RejectionBundle:
    """Read a bundle, after its digests were checked; :func:`verify` checks more.

    Parameters
    ----------
    folder
        The bundle.
    kind
        The kind that is expected; None: any.

    Returns
    -------
    FitnessBundle, RecoveryBundle or RejectionBundle
        Results are read when they are looked at.

    Raises
    ------
    InputError
        When the folder is no such bundle.
    IntegrityError
        When a file isn't what the manifest says.
    """
    bundle = open_bundle(path_of(folder, "folder"), kind=kind)
    where, manifest = bundle.folder, bundle.manifest

    def lines(name: str, record: Any) -> Any:
        return Lines(where / name, record) if bundle.has(name) else ()

    if manifest.kind == fitness_names.BUNDLE_KIND:
        suite = read_record(bundle, fitness_names.SUMMARY_NAME, SuiteRecord)
        return FitnessBundle(
            **{name: getattr(suite, name) for name in SuiteRecord.__struct_fields__},
            folder=where,
            manifest=manifest,
            results=lines(fitness_names.RESULTS_NAME, TaskResult),
            debts=lines(fitness_names.DEBTS_NAME, Debt),
        )
    if manifest.kind == recovery_names.BUNDLE_KIND:
        return RecoveryBundle(
            folder=where,
            manifest=manifest,
            summary=read_record(bundle, recovery_names.SUMMARY_NAME, Summary),
            results=lines(recovery_names.RESULTS_NAME, Result),
            traces=lines(recovery_names.TRACES_NAME, Trace),
        )
    if manifest.kind == rejection_names.BUNDLE_KIND:
        return RejectionBundle(
            folder=where,
            manifest=manifest,
            summary=read_record(bundle, rejection_names.SUMMARY_NAME, RejectionSummary),
            episodes=lines(rejection_names.EPISODES_NAME, Episode),
            sessions=lines(rejection_names.SESSIONS_NAME, SessionRecord),
        )
    raise InputError(
        "not a kind of bundle that is read from Python; verify checks it",
        file=str(where),
        expected="fitness, recovery or rejections",
        found=manifest.kind,
    )


def verify(
    folder: str | Path,
    *,
    tasks: str | Path | None = None,
    packets: str | Path | None = None,
    logs: str | Path | Sequence[str | Path] | None = None,
) -> Verification:
    """Check a bundle without trusting it: digests, and what must follow from what.

    Parameters
    ----------
    folder
        The bundle, of any kind.
    tasks, packets
        The files that a fitness bundle was made from: they are scored again and compared
        byte for byte. Without them, results invented as a whole would not be noticed.
    logs
        The logs that a bundle of rejected calls was made from, or a folder of them: they are
        read again and compared byte for byte.

    Returns
    -------
    Verification
        What was checked, and what was not.

    Raises
    ------
    InputError
        When the folder is no bundle, or the files don't belong to its kind.
    IntegrityError
        Naming the first file, line and field that doesn't hold.
    """
    if (tasks is None) != (packets is None):
        raise InputError("{tasks} and {packets} go together")
    sources: Mapping[str, Path] = {
        role: path_of(given, role)
        for role, given in (("tasks", tasks), ("packets", packets))
        if given is not None
    }
    where = path_of(folder, "folder")
    given = [logs] if isinstance(logs, str | Path) else logs or []
    places = tuple(path_of(one, "logs") for one in given)
    checked = check_bundle(where, CheckRequest(sources=sources, logs=places))
    return Verification(
        folder=where,
        kind=checked.manifest.kind,
        findings=checked.report.findings,
        verdict=checked.report.verdict,
        own_words=checked.report.own_words,
        unchecked_signatures=checked.unchecked_signatures,
    )
