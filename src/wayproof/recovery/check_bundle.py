"""Check a recovery bundle without trusting who made it.

In this order, stopping at the first thing that doesn't hold: the manifest says what a
run would say; the suite is well formed, certified and, when it bears an official id,
has the pinned bytes; then trial by trial the referee checks the trace, a fresh world
replays it, a reference control is run again, and the record that follows from the trace
is compared; last, the summary follows from the results.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import count, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

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
    UNDETECTABLE,
    AgentOutcome,
)
from wayproof.evidence.recovery_records import AgentRecord, Step, trial_id
from wayproof.lines import evidence_lines
from wayproof.recovery.agents.controls import CONTROL_SOURCES
from wayproof.recovery.run import RunSettings
from wayproof.recovery.suite import (
    PINNED_SUITES,
    REFERENCE_RESULTS_SHA256,
    SuiteReader,
    suite_path,
)
from wayproof.recovery.track import (
    Agent,
    Case,
    Finding,
    SuiteTally,
    Track,
    TrialResult,
    WrittenTrace,
)
from wayproof.recovery.trial import run_trial, trial_has_ended
from wayproof.text import quoted

__all__ = ["RecoveryCheck", "check", "check_recovery"]


class RecoveryCheck(NamedTuple):
    """What was checked, and found to hold.

    Attributes
    ----------
    controls_run_again
        Trials of reference controls, each run again.
    client_trials
        Trials of client agents: their every step follows the rules, and nothing shows
        that the agent took them.
    agents
        What the bundle says of its client agents; nothing checks it.
    """

    suite_id: str
    suite_sha256: str
    official: bool
    grids: int
    trials: int
    controls_run_again: int
    client_trials: int
    agents: tuple[AgentRecord, ...]
    results_sha256: str
    is_reference: bool


def check(folder: Path, manifest: Manifest, request: CheckRequest) -> CheckReport:
    """Check the bundle and say what was checked, and what no bundle can show."""
    report = check_recovery(folder, manifest, progress=request.progress)
    standing = (
        "official suite: its bytes are the pinned ones"
        if report.official
        else "custom suite: certified, but no pin stands behind it"
    )
    reference = " (the digest that is published with wayproof)" if report.is_reference else ""
    undetectable = "; ".join(kind.meaning for kind in UNDETECTABLE)
    return CheckReport(
        findings=(
            f"suite {report.suite_id}, SHA-256 {report.suite_sha256}",
            f"{standing}; {report.grids} certificates checked",
            f"{report.trials} trials: every transition checked and replayed",
            *_classes(report),
            "records and summary follow from the traces",
            f"results.jsonl SHA-256 {report.results_sha256}{reference}",
            f"Not detectable from a bundle: {undetectable}.",
        ),
        verdict="verified",
        own_words=tuple(
            f"agent {agent.policy}, {agent.kind}: "
            + ", ".join(f"{key} {said}" for key, said in sorted(agent.details.items()))
            for agent in report.agents
        ),
    )


def _classes(report: "RecoveryCheck") -> Iterator[str]:
    if report.controls_run_again:
        yield f"{report.controls_run_again} trials of reference controls run again: the same steps"
    if report.client_trials:
        yield (
            f"{report.client_trials} trials of client agents: every step is lawful; nothing shows "
            "that the agent took it"
        )


class _Trial(NamedTuple):
    """One trial's place: what the suite and the settings say must stand there."""

    suite_id: str
    case: Case
    policy: str
    policy_seed: int

    @property
    def id(self) -> str:
        return trial_id(self.policy, self.case.scenario_id, self.policy_seed)

    @property
    def is_control(self) -> bool:
        return self.policy in CONTROL_SOURCES


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


def check_recovery(
    folder: Path,
    manifest: Manifest,
    *,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> RecoveryCheck:
    """Check what is recovery's own.

    That the files stand there, nothing else does and their digests match is the same for every
    kind: :func:`wayproof.bundles.check.check_bundle` sees to it before.

    Raises
    ------
    IntegrityError
        Naming the first file, trial, step or field that doesn't hold, and the check or
        the pin that it fails.
    """
    try:
        settings = _check_manifest(folder, manifest)
        suite = _check_suite(folder, settings)
        per_policy = suite.scenarios * len(settings.policy_seeds)
        total = per_policy * len(settings.policies)
        tally = _check_trials(folder, settings, suite.track, total, progress)
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
    client_trials = per_policy * len(settings.agents)
    return RecoveryCheck(
        suite_id=settings.suite_id,
        suite_sha256=manifest.files[SUITE_NAME].sha256,
        official=settings.suite_id in PINNED_SUITES,
        grids=suite.grids,
        trials=tally.trials,
        controls_run_again=tally.trials - client_trials,
        client_trials=client_trials,
        agents=settings.agents,
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


def _check_manifest(folder: Path, manifest: Manifest) -> RunSettings:
    path = folder / MANIFEST_NAME
    try:
        settings = msgspec.convert(manifest.settings, RunSettings)
    except msgspec.ValidationError as error:
        raise IntegrityError(
            "settings are not those of a run", file=str(path), field="settings", found=str(error)
        ) from None
    facts: tuple[tuple[str, object, object], ...] = (
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
    _check_policies(path, settings)
    return settings


def _check_policies(path: Path, settings: RunSettings) -> None:
    """Refuse a policy that is neither a control nor a client agent that is spoken of."""
    agents = tuple(agent.policy for agent in settings.agents)
    clients = tuple(name for name in settings.policies if name not in CONTROL_SOURCES)
    if clients and len(clients) != len(settings.policies):
        raise IntegrityError(
            "client agents stand beside reference controls",
            file=str(path),
            field="settings.policies",
            expected="a bundle of their own",
            found=", ".join(settings.policies),
        )
    if agents != clients:
        raise IntegrityError(
            "the client agents are not those that the settings speak of",
            file=str(path),
            field="settings.agents",
            expected=", ".join(clients) or "none: controls need no word",
            found=", ".join(agents) or "none",
        )


def _rising(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))


class _Suite(NamedTuple):
    """A suite that holds: its track, and how many grids and scenarios it has."""

    track: Track
    grids: int
    scenarios: int


def _check_suite(folder: Path, settings: RunSettings) -> _Suite:
    """Check pin, certificates and scenarios."""
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
        for _, grid in reader.grids():
            grids += 1
            scenarios += len(grid.cases())
        return _Suite(reader.track, grids, scenarios)


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
    track: Track,
    total: int,
    progress: Callable[[int, int], None],
) -> SuiteTally:
    """Check every trial, in the order of the results; return their tally."""
    tally = track.tally()
    check = _TrialCheck(track)
    with (
        closing(_Lines(folder, TRACES_NAME)) as traces,
        closing(_Lines(folder, RESULTS_NAME)) as results,
    ):
        for trial in _trials(folder / SUITE_NAME, settings):
            trace_at, trace_line = traces.take(trial.id)
            result_at, result_line = results.take(trial.id)
            tally.add(
                check(
                    trial,
                    _Found(trace_line, traces.path, trace_at, trial.id),
                    _Found(result_line, results.path, result_at, trial.id),
                )
            )
            progress(tally.trials, total)
        traces.end()
        results.end()
    return tally


def _trials(suite: Path, settings: RunSettings) -> Iterator[_Trial]:
    """Every trial that must be there, in order: by policy, scenario, seed."""
    for policy in settings.policies:
        with SuiteReader(suite) as reader:
            for _, grid in reader.grids():
                for case in grid.cases():
                    for seed in settings.policy_seeds:
                        yield _Trial(settings.suite_id, case, policy, seed)


class _Found(NamedTuple):
    """A line of evidence, and where it stands."""

    line: bytes
    path: str
    number: int
    trial: str

    @property
    def place(self) -> dict[str, Any]:
        return {"file": self.path, "line": self.number, "index": f"trial {self.trial}"}


class _TrialCheck:
    """Checks one trial after the other, with the records of one track."""

    def __init__(self, track: Track) -> None:
        self._measured = track.measured
        self._traces = msgspec.json.Decoder(track.trace_type)
        self._results: msgspec.json.Decoder[Any] = msgspec.json.Decoder(track.result_type)

    def __call__(self, trial: _Trial, trace: _Found, result: _Found) -> TrialResult:
        written = self._written(trial, trace)
        agent = self._agent(trial, result)
        try:
            finding = trial.case.find(trial.suite_id, written, agent)
        except IntegrityError as error:
            raise error.at(file=trace.path, line=trace.number) from None
        self._check_failure(finding, trace)
        if trial.is_control:
            _check_against_control(trial, written, trace)
        self._check_line(finding, result)
        if not trial.is_control:
            _check_outcome(trial, written, agent, result)
        return finding.result

    def _written(self, trial: _Trial, found: _Found) -> WrittenTrace:
        try:
            trace = decode_record_line(found.line, self._traces)
        except InputError as error:
            raise error.at(**found.place) from None
        found_id = trial_id(trace.policy, trace.scenario_id, trace.policy_seed)
        if found_id != trial.id:
            raise IntegrityError(
                "another trial's trace", **found.place, expected=trial.id, found=found_id
            )
        return WrittenTrace(trace, found.line)

    def _agent(self, trial: _Trial, found: _Found) -> Agent:
        """Return class and outcome: a control's are known, a client's outcome is recorded."""
        if trial.is_control:
            return Agent("reference_control", "ok")
        outcome: AgentOutcome = "ok"
        # A line that can't be read is refused when it is compared.
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            outcome = self._results.decode(found.line).agent_outcome
        return Agent("client_agent", outcome)

    def _check_failure(self, finding: Finding, trace: _Found) -> None:
        failure = finding.failure
        if failure is not None and failure.check not in self._measured:
            raise IntegrityError(
                f"check {failure.check} fails",
                **trace.place,
                field=None if failure.step is None else f"steps[{failure.step}]",
                expected=failure.expected,
                found=failure.found,
            )

    def _check_line(self, finding: Finding, found: _Found) -> None:
        if found.line == finding.line:
            return
        try:
            decode_record_line(found.line, self._results)
        except InputError as error:
            raise error.at(**found.place) from None
        field, wanted, stood = _first_difference(finding.line, found.line)
        raise IntegrityError(
            "record doesn't follow from the trace",
            **found.place,
            field=field,
            expected=quoted(wanted),
            found=quoted(stood),
        )


def _check_against_control(trial: _Trial, written: WrittenTrace, found: _Found) -> None:
    """Run the reference control again: its trace is known to the last step."""
    source, trace = CONTROL_SOURCES[trial.policy], written.trace
    again = run_trial(trial.suite_id, trial.case, source, trial.policy_seed).trace
    if again == trace:
        return
    number, expected, stood = next(
        (number, expected, stood)
        for number, (expected, stood) in enumerate(zip_longest(again.steps, trace.steps))
        if expected != stood
    )
    raise IntegrityError(
        f"the control {trial.policy}, run again, does something else",
        **found.place,
        field=f"steps[{number}]",
        expected=_shown(expected),
        found=_shown(stood),
    )


def _check_outcome(trial: _Trial, written: WrittenTrace, agent: Agent, found: _Found) -> None:
    """Refuse a trial that stops early and is ``ok``, or reaches its end and isn't."""
    has_ended = trial_has_ended(trial.case, written.trace)
    if has_ended is not (agent.outcome == "ok"):
        raise IntegrityError(
            "agent_outcome doesn't follow from the trace",
            **found.place,
            field="agent_outcome",
            expected='"ok": the trial came to its end'
            if has_ended
            else "what went wrong: the trace stops before a finish or the budget's end",
            found=quoted(agent.outcome),
        )


# -- summary --------------------------------------------------------------------------


def _check_summary(folder: Path, manifest: Manifest, tally: SuiteTally) -> None:
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
