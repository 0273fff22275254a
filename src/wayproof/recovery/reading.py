"""Reading a recovery bundle back, trial by trial."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from wayproof.canonical import decode_record_line
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.recovery_names import RESULTS_NAME, SUITE_NAME, TRACES_NAME
from wayproof.evidence.recovery_records import Trace, trial_id
from wayproof.lines import evidence_lines
from wayproof.recovery.suite import SuiteReader
from wayproof.recovery.track import Case, Track, TrialResult

__all__ = ["RecordedTrial", "read_trials"]


class RecordedTrial(NamedTuple):
    """One trial of a bundle, with the scenario it was run on."""

    id: str
    line: int
    case: Case
    trace: Trace
    result: TrialResult


def read_trials(folder: Path) -> Iterator[RecordedTrial]:
    """Yield a bundle's trials in order; traces, results and suite are read side by side.

    Raises
    ------
    InputError
        For a line that isn't a record.
    IntegrityError
        When the three files don't speak of the same trials.
    """
    paths = [folder / name for name in (TRACES_NAME, RESULTS_NAME)]
    for path in (*paths, folder / SUITE_NAME):
        if not path.is_file():
            raise IntegrityError("file is missing", file=str(path))
    with paths[0].open("rb") as traces, paths[1].open("rb") as results:
        cases = _Cases(folder / SUITE_NAME)
        trace_decoder = msgspec.json.Decoder(cases.track.trace_type)
        result_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(cases.track.result_type)
        pairs = zip(
            evidence_lines(traces, str(paths[0])),
            evidence_lines(results, str(paths[1])),
            strict=False,
        )
        for (number, trace_line), (_, result_line) in pairs:
            try:
                trace = decode_record_line(trace_line, trace_decoder)
            except InputError as error:
                raise error.at(file=str(paths[0]), line=number) from None
            try:
                result = decode_record_line(result_line, result_decoder)
            except InputError as error:
                raise error.at(file=str(paths[1]), line=number) from None
            name = trial_id(trace.policy, trace.scenario_id, trace.policy_seed)
            if name != trial_id(result.policy, result.scenario_id, result.policy_seed):
                raise IntegrityError(
                    "traces and results differ in their order",
                    file=str(paths[1]),
                    line=number,
                    expected=name,
                )
            case = cases.find(trace.policy, trace.scenario_id)
            yield RecordedTrial(name, number, case, trace, result)


class _Cases:
    """Walks the suite once per policy, in step with the trials."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with SuiteReader(path) as reader:
            self.track: Track = reader.track
        self._policy: str | None = None
        self._walk: Iterator[Case] = iter(())
        self._here: Case | None = None

    def find(self, policy: str, scenario_id: str) -> Case:
        if policy != self._policy:
            self._policy, self._here = policy, None
            self._walk = self._cases()
        while self._here is None or self._here.scenario_id != scenario_id:
            self._here = next(self._walk, None)
            if self._here is None:
                raise IntegrityError(
                    "trial of a scenario that the suite doesn't have, or out of order",
                    file=str(self._path),
                    index=scenario_id,
                )
        return self._here

    def _cases(self) -> Iterator[Case]:
        with SuiteReader(self._path) as reader:
            for _, grid in reader.grids():
                yield from grid.cases()
