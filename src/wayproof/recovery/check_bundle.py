"""Check a recovery bundle without trusting who made it.

In this order, stopping at the first thing that doesn't hold: the manifest says what a
run would say; the suite is well formed, certified and, when it bears an official id,
has the pinned bytes; then trial by trial the trace is judged by the independent
verifier, replayed in a fresh world, made again when its policy is a reference control,
and its record derived from it and compared; last, the summary follows from the results.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from wayproof.bundles.kinds import CheckReport, CheckRequest
from wayproof.bundles.manifest import MANIFEST_NAME, Manifest, digest_file, read_small_file
from wayproof.canonical import decode_record_line, record_bytes
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.recovery_names import (
    LIMITS,
    RESULTS_NAME,
    SUITE_NAME,
    SUMMARY_NAME,
    TRACES_NAME,
)
from wayproof.evidence.recovery_records import Result, ScenarioRecord, Step, Trace, trial_id
from wayproof.lines import evidence_lines
from wayproof.recovery.policies import CONTROL_SOURCES
from wayproof.recovery.referee import Verdict
from wayproof.recovery.run import RunSettings
from wayproof.recovery.suite import (
    PINNED_SUITES,
    REFERENCE_RESULTS_SHA256,
    LoadedGrid,
    SuiteReader,
    suite_path,
)
from wayproof.recovery.summary import Tally
from wayproof.recovery.trial import Agent, WrittenTrace, judge_trace, result_record, run_trial
from wayproof.text import quoted

__all__ = ["NOT_DETECTABLE", "AuditReport", "Memory", "audit_bundle", "check"]

NOT_DETECTABLE: Final = (
    "Not detectable from a bundle: an invented but legal trace of a client agent; a custom "
    "suite certified anew under an id of its own, and what such a suite says of its generator; "
    "times, host and versions in the manifest."
)

_FILES: Final = frozenset({SUITE_NAME, TRACES_NAME, RESULTS_NAME, SUMMARY_NAME})
_MEASURED: Final = frozenset({"finished_at_target", "cost_exact"})
"""Checks that an honest trial may fail; any other failed check means that the trace is false."""

_trace_decoder: Final = msgspec.json.Decoder(Trace)
_result_decoder: Final = msgspec.json.Decoder(Result)


class AuditReport(NamedTuple):
    """What was checked, and found to hold."""

    suite_id: str
    suite_sha256: str
    official: bool
    grids: int
    trials: int
    controls_run_again: int
    results_sha256: str
    is_reference: bool


def check(folder: Path, manifest: Manifest, request: CheckRequest) -> CheckReport:
    """Audit the bundle and say what was checked, and what no bundle can show."""
    report = audit_bundle(folder, manifest, progress=request.progress)
    standing = (
        "official suite: its bytes are the pinned ones"
        if report.official
        else "custom suite: certified, but no pin stands behind it"
    )
    reference = " (the digest that is published with wayproof)" if report.is_reference else ""
    return CheckReport(
        findings=(
            f"suite {report.suite_id}, SHA-256 {report.suite_sha256}",
            f"{standing}; {report.grids} certificates checked",
            f"{report.trials} trials: every transition checked and replayed",
            f"{report.controls_run_again} trials of reference controls run again: the same steps",
            "records and summary follow from the traces",
            f"results.jsonl SHA-256 {report.results_sha256}{reference}",
            NOT_DETECTABLE,
        ),
        verdict="verified",
    )


Memory = dict[tuple[str, str, bytes, bytes, bytes], Result]
"""Trials found good in this process: suite, id, and the lines of grid, trace and result.

Checking a trial is a function of these bytes alone, so what was found good once is good
again. It lets many nearly equal bundles be audited in a row.
"""


class _Trial(NamedTuple):
    """One trial's place: what the suite and the settings say must stand there."""

    suite_id: str
    grid_line: bytes
    loaded: LoadedGrid
    scenario: ScenarioRecord
    policy: str
    policy_seed: int

    @property
    def id(self) -> str:
        return trial_id(self.policy, self.scenario.scenario_id, self.policy_seed)


class _Lines:
    """The lines of one evidence file, and where they stand."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = str(folder / name)
        self._file: BinaryIO = (folder / name).open("rb")
        self._lines = evidence_lines(self._file, self.path)

    def take(self, trial: str) -> tuple[int, bytes]:
        found = next(self._lines, None)
        if found is None:
            raise IntegrityError(
                "trial is missing", file=self.path, index=f"trial {trial}", found="end of the file"
            )
        return found

    def end(self) -> None:
        surplus = next(self._lines, None)
        if surplus is not None:
            raise IntegrityError(
                "more lines than trials", file=self.path, line=surplus[0], expected="the end"
            )

    def close(self) -> None:
        self._file.close()


def audit_bundle(
    folder: Path,
    manifest: Manifest,
    *,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    memory: Memory | None = None,
) -> AuditReport:
    """Check everything but the manifest's digests, which ``verify_digests`` compares.

    Raises
    ------
    IntegrityError
        Naming the first file, trial, step or field that doesn't hold, and the check or
        the pin that it fails.
    """
    try:
        _check_regular_files(folder)
        settings = _check_manifest(folder, manifest)
        scenarios = _check_suite(folder, settings)
        total = scenarios[1] * len(settings.policies) * len(settings.policy_seeds)
        tally = _check_trials(folder, settings, total, progress, memory)
        _check_summary(folder, manifest, tally)
    except InputError as error:
        # Unreadable input is a matter of status 2; in a sealed bundle it is evidence
        # that doesn't hold.
        raise _as_integrity(error) from None
    except OSError as error:
        raise IntegrityError(
            "can't be read", file=str(error.filename or folder), found=str(error.strerror)
        ) from None
    results = manifest.files[RESULTS_NAME].sha256
    return AuditReport(
        suite_id=settings.suite_id,
        suite_sha256=manifest.files[SUITE_NAME].sha256,
        official=settings.suite_id in PINNED_SUITES,
        grids=scenarios[0],
        trials=tally.trials,
        controls_run_again=tally.trials,
        results_sha256=results,
        is_reference=results == REFERENCE_RESULTS_SHA256,
    )


def _as_integrity(error: InputError) -> IntegrityError:
    parts: dict[str, Any] = {
        name: getattr(error, name)
        for name in ("file", "line", "index", "field", "expected", "found", "mend")
    }
    return IntegrityError(error.problem, **parts)


# -- manifest and suite ---------------------------------------------------------------


def _check_regular_files(folder: Path) -> None:
    """Refuse links, pipes and what is missing before anything is opened."""
    for name in (MANIFEST_NAME, *sorted(_FILES)):
        path = folder / name
        if path.is_symlink() or not path.is_file():
            raise IntegrityError("file is missing", file=str(path), expected="a regular file")


def _check_manifest(folder: Path, manifest: Manifest) -> RunSettings:
    path = folder / MANIFEST_NAME
    try:
        settings = msgspec.convert(manifest.settings, RunSettings)
    except msgspec.ValidationError as error:
        raise IntegrityError(
            "settings are not those of a run", file=str(path), field="settings", found=str(error)
        ) from None
    facts: tuple[tuple[str, object, object], ...] = (
        ("files", sorted(_FILES), sorted(manifest.files)),
        ("inputs", {"suite": manifest.files.get(SUITE_NAME)}, manifest.inputs),
        ("limits", list(LIMITS), manifest.limits),
        ("settings.policies", _rising(settings.policies), settings.policies),
        ("settings.policy_seeds", _rising(settings.policy_seeds), settings.policy_seeds),
    )
    for field, expected, found in facts:
        if expected != found or not found:
            raise IntegrityError(
                "manifest doesn't say what a run would",
                file=str(path),
                field=field,
                expected=str(expected),
                found=str(found),
            )
    for policy in settings.policies:
        if policy not in CONTROL_SOURCES:
            raise IntegrityError(
                "unknown policy",
                file=str(path),
                field="settings.policies",
                expected=", ".join(CONTROL_SOURCES),
                found=policy,
            )
    return settings


def _rising(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))


def _check_suite(folder: Path, settings: RunSettings) -> tuple[int, int]:
    """Check pin, certificates and scenarios; return the numbers of grids and scenarios."""
    path = folder / SUITE_NAME
    # Of the file itself: where the manifest's digest is stale, the pin still speaks.
    found = digest_file(path).sha256
    _check_pin(path, settings.suite_id, found)
    with SuiteReader(path) as reader:
        suite_id = reader.header.suite_id
        _check_pin(path, suite_id, found)
        if suite_id != settings.suite_id:
            raise IntegrityError(
                "suite is not the one that the manifest names",
                file=str(path),
                line=1,
                field="suite_id",
                expected=settings.suite_id,
                found=suite_id,
            )
        grids = scenarios = 0
        for _, loaded in reader.grids():
            grids += 1
            scenarios += len(loaded.record.scenarios)
    return grids, scenarios


def _check_pin(path: Path, suite_id: str, found: str) -> None:
    """Refuse other bytes under an official id, naming the first line that differs."""
    pin = PINNED_SUITES.get(suite_id)
    if pin is None or pin == found:
        return
    raise IntegrityError(
        f"suite is not the official {suite_id}: its digest is not the pinned one",
        file=str(path),
        line=_first_unofficial_line(path, suite_path(suite_id)),
        expected=f"SHA-256 {pin}",
        found=f"SHA-256 {found}",
        mend="this is the first line that differs from the official suite",
    )


def _first_unofficial_line(path: Path, official_path: Path) -> int | None:
    with path.open("rb") as file, official_path.open("rb") as official:
        for number in count(1):
            theirs = official.readline()
            # One byte more than theirs is enough to tell, however long the line is.
            mine = file.readline(len(theirs) + 1)
            if mine != theirs:
                return number
            if not theirs:
                break
    return None


# -- trials ---------------------------------------------------------------------------


def _check_trials(
    folder: Path,
    settings: RunSettings,
    total: int,
    progress: Callable[[int, int], None],
    memory: Memory | None,
) -> Tally:
    """Check every trial, in the order of the results; return their count."""
    tally = Tally()
    with (
        closing(_Lines(folder, TRACES_NAME)) as traces,
        closing(_Lines(folder, RESULTS_NAME)) as results,
    ):
        for trial in _trials(folder / SUITE_NAME, settings):
            trace_at, trace_line = traces.take(trial.id)
            result_at, result_line = results.take(trial.id)
            key = (trial.suite_id, trial.id, trial.grid_line, trace_line, result_line)
            if memory is not None and key in memory:
                tally.add(memory[key])
                continue
            trace, verdict = _checked_trace(trial, traces.path, trace_at, trace_line)
            written = WrittenTrace(trace, trace_line)
            result = _checked_result(trial, written, verdict, results.path, result_at, result_line)
            tally.add(result)
            if memory is not None:
                memory[key] = result
            progress(tally.trials, total)
        traces.end()
        results.end()
    return tally


def _trials(suite: Path, settings: RunSettings) -> Iterator[_Trial]:
    """Every trial that must be there, in order: by policy, scenario, seed."""
    for policy in settings.policies:
        with SuiteReader(suite) as reader:
            for line, loaded in reader.grids():
                for scenario in loaded.record.scenarios:
                    for seed in settings.policy_seeds:
                        yield _Trial(settings.suite_id, line, loaded, scenario, policy, seed)


def _checked_trace(trial: _Trial, path: str, line: int, data: bytes) -> tuple[Trace, Verdict]:
    place: dict[str, Any] = {"file": path, "line": line, "index": f"trial {trial.id}"}
    try:
        trace = decode_record_line(data, _trace_decoder)
    except InputError as error:
        raise error.at(**place) from None
    found_id = trial_id(trace.policy, trace.scenario_id, trace.policy_seed)
    if found_id != trial.id:
        raise IntegrityError("another trial's trace", **place, expected=trial.id, found=found_id)
    try:
        verdict = judge_trace(trial.loaded, trial.scenario, trace)
    except IntegrityError as error:
        raise error.at(file=path, line=line) from None
    failure = verdict.failure
    if failure is not None and failure.check not in _MEASURED:
        raise IntegrityError(
            f"check {failure.check} fails",
            **place,
            field=None if failure.step is None else f"steps[{failure.step}]",
            expected=failure.expected,
            found=failure.found,
        )
    _check_against_control(trial, trace, place)
    return trace, verdict


def _check_against_control(trial: _Trial, trace: Trace, place: dict[str, Any]) -> None:
    """Run the reference control again: its trace is known to the last step."""
    source = CONTROL_SOURCES[trial.policy]
    again, _ = run_trial(trial.suite_id, trial.loaded, trial.scenario, source, trial.policy_seed)
    if again == trace:
        return
    number, expected, found = next(
        (number, expected, found)
        for number, (expected, found) in enumerate(zip_longest(again.steps, trace.steps))
        if expected != found
    )
    raise IntegrityError(
        f"the control {trial.policy}, run again, does something else",
        **place,
        field=f"steps[{number}]",
        expected=_shown(expected),
        found=_shown(found),
    )


def _checked_result(
    trial: _Trial, written: WrittenTrace, verdict: Verdict, path: str, line: int, data: bytes
) -> Result:
    place: dict[str, Any] = {"file": path, "line": line, "index": f"trial {trial.id}"}
    agent = Agent(CONTROL_SOURCES[trial.policy].evidence_class, "ok")
    result = result_record(trial.suite_id, trial.loaded, trial.scenario, written, verdict, agent)
    expected = record_bytes(result)
    if data == expected:
        return result
    try:
        decode_record_line(data, _result_decoder)
    except InputError as error:
        raise error.at(**place) from None
    field, wanted, found = _first_difference(expected, data)
    raise IntegrityError(
        "record doesn't follow from the trace",
        **place,
        field=field,
        expected=quoted(wanted),
        found=quoted(found),
    )


# -- summary --------------------------------------------------------------------------


def _check_summary(folder: Path, manifest: Manifest, tally: Tally) -> None:
    path = folder / SUMMARY_NAME
    expected = record_bytes(tally.summary(manifest.files[RESULTS_NAME].sha256)) + b"\n"
    data = _summary_bytes(path)
    if data == expected:
        return
    field, wanted, found = _first_difference(expected, data)
    raise IntegrityError(
        "summary doesn't follow from the results",
        file=str(path),
        field=field,
        expected=quoted(wanted),
        found=quoted(found),
    )


def _summary_bytes(path: Path) -> bytes:
    try:
        return read_small_file(path, "not a summary")
    except InputError as error:
        raise IntegrityError(error.problem, file=error.file, found=error.found) from None


# -- for messages ---------------------------------------------------------------------


def _first_difference(expected: bytes, found: bytes) -> tuple[str, object, object]:
    """Path, expected and found value of the first difference between two JSON texts."""
    try:
        return _difference("", msgspec.json.decode(expected), msgspec.json.decode(found))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return "", "canonical JSON", str(error)


def _difference(path: str, expected: object, found: object) -> tuple[str, object, object]:
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted({*expected, *found}):
            if key not in expected or key not in found:
                return f"{path}.{key}".lstrip("."), expected.get(key), found.get(key)
            if expected[key] != found[key] or type(expected[key]) is not type(found[key]):
                return _difference(f"{path}.{key}".lstrip("."), expected[key], found[key])
    if isinstance(expected, list) and isinstance(found, list):
        for at, (mine, theirs) in enumerate(zip_longest(expected, found)):
            if mine != theirs or type(mine) is not type(theirs):
                return _difference(f"{path}[{at}]", mine, theirs)
    if expected == found:
        return path, "canonical bytes", "the same value in other bytes"
    return path, expected, found


def _shown(step: Step | None) -> str:
    return "no such step" if step is None else record_bytes(step).decode()
