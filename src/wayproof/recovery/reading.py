"""Reading a recovery bundle back, trial by trial."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from wayproof.canonical import decode_record_line
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.recovery_names import RESULTS_NAME, SUITE_NAME, TRACES_NAME
from wayproof.evidence.recovery_records import Result, ScenarioRecord, Trace, trial_id
from wayproof.lines import evidence_lines
from wayproof.recovery.suite import LoadedGrid, SuiteReader

__all__ = ["RecordedTrial", "read_trials"]

_trace_decoder: Final = msgspec.json.Decoder(Trace)
_result_decoder: Final = msgspec.json.Decoder(Result)


class RecordedTrial(NamedTuple):
    """One trial of a bundle, with the grid and scenario it was run on."""

    id: str
    line: int
    loaded: LoadedGrid
    scenario: ScenarioRecord
    trace: Trace
    result: Result


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
        grids = _Grids(folder / SUITE_NAME)
        pairs = zip(
            evidence_lines(traces, str(paths[0])),
            evidence_lines(results, str(paths[1])),
            strict=False,
        )
        for (number, trace_line), (_, result_line) in pairs:
            try:
                trace = decode_record_line(trace_line, _trace_decoder)
            except InputError as error:
                raise error.at(file=str(paths[0]), line=number) from None
            try:
                result = decode_record_line(result_line, _result_decoder)
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
            loaded, scenario = grids.find(trace.policy, trace.scenario_id)
            yield RecordedTrial(name, number, loaded, scenario, trace, result)


class _Grids:
    """Walks the suite once per policy, in step with the trials."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._policy: str | None = None
        self._walk: Iterator[tuple[LoadedGrid, ScenarioRecord]] = iter(())
        self._here: tuple[LoadedGrid, ScenarioRecord] | None = None

    def find(self, policy: str, scenario_id: str) -> tuple[LoadedGrid, ScenarioRecord]:
        if policy != self._policy:
            self._policy, self._here = policy, None
            self._walk = self._scenarios()
        while self._here is None or self._here[1].scenario_id != scenario_id:
            self._here = next(self._walk, None)
            if self._here is None:
                raise IntegrityError(
                    "trial of a scenario that the suite doesn't have, or out of order",
                    file=str(self._path),
                    index=scenario_id,
                )
        return self._here

    def _scenarios(self) -> Iterator[tuple[LoadedGrid, ScenarioRecord]]:
        with SuiteReader(self._path) as reader:
            for _, loaded in reader.grids():
                for scenario in loaded.record.scenarios:
                    yield loaded, scenario
