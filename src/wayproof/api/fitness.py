"""Scoring from Python: one packet, or as many as there are."""

import gc
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypedDict

import msgspec

from wayproof.api.given import path_of, processes_of, text_of
from wayproof.api.html import table
from wayproof.api.lines import Lines
from wayproof.api.scratch import Scratch
from wayproof.errors import InputError
from wayproof.evidence.fitness_names import DEBTS_NAME, RESULTS_NAME
from wayproof.evidence.fitness_records import Debt, TaskResult
from wayproof.evidence.fitness_summary import SuiteRecord
from wayproof.fitness.benchmark import DEFAULT_SUITE
from wayproof.fitness.gates import Gate, GateVerdict, check_gates
from wayproof.fitness.inputs import default_processes
from wayproof.fitness.judge import judge, result_of
from wayproof.fitness.packet import NO_PACKET, Packet, PacketLine, packet_of
from wayproof.fitness.score import ScoreRequest
from wayproof.fitness.score import score as score_files
from wayproof.fitness.task import (
    NavigationFitnessTask,
    TaskLine,
    line_of_task,
    need_of,
    task_line,
)
from wayproof.strict_json import plain_value
from wayproof.text import quoted

__all__ = ["PacketDict", "RowDict", "Score", "TaskDict", "evaluate", "score"]

_WRITE_BYTES = 1 << 20
_encode = msgspec.json.encode
_decode_result = msgspec.json.Decoder(TaskResult).decode


class TaskDict(TypedDict, total=False):
    """A task as a dict, for annotations: a type checker then finds a misspelt key.

    The keys are those of a line of a tasks file (``wayproof schema task``).
    """

    task_id: str
    family: str
    task_prompt: str
    route_type: str
    expected_artifacts: Sequence[str]
    forbidden_first_routes: Sequence[str]
    latency_budget_ms: int
    route_role: str
    scent_terms: Sequence[str]
    literal_ids: Sequence[str]
    relevance: Mapping[str, int]
    draft: bool


class RowDict(TypedDict, total=False):
    """One selected row of a packet as a dict."""

    kind_id: str
    row_id: str
    artifact_ids: Sequence[str]
    title: str
    summary: str
    reason: str


class PacketDict(TypedDict, total=False):
    """A packet as a dict, for annotations: a type checker then finds a misspelt key.

    The keys are those of a line of a packets file (``wayproof schema packet``).
    """

    task_id: str
    attempt: int
    first_contact_command: str | None
    command_used: str | None
    wall_ms: float | None
    timed_out: bool
    error: str | Mapping[str, Any] | None
    selected_artifacts: Sequence[str]
    selected_rows: Sequence[RowDict]
    summary: str | None
    title: str | None
    route_hint: str | None


Task = TaskDict | NavigationFitnessTask | TaskLine | Mapping[str, Any]
"""What is taken for a task."""
AnyPacket = PacketDict | Packet | Mapping[str, Any]
"""What is taken for a packet."""


def evaluate(task: Task, packet: AnyPacket | None) -> TaskResult:
    """Judge one packet against one task, on two axes that never become one number.

    Parameters
    ----------
    task
        A dict with the keys of a task file, or a
        :class:`~wayproof.fitness.NavigationFitnessTask`.
    packet
        A dict with the keys of a packets file; None: nothing was captured, which is a
        ``route_error``.

    Returns
    -------
    TaskResult
        Sufficiency (the first failing rung of the ladder, and all that failed), latency in
        milliseconds against the budget, and what was found and missed.

    Raises
    ------
    InputError
        Naming the field that has the wrong type or is out of range.
    """
    line = _task_line(task)
    need = need_of(line)
    read = NO_PACKET if packet is None else _packet(packet)
    # As it would be read from a bundle: lists are lists, whoever made the record.
    return _decode_result(_encode(result_of(line, need, read, judge(need, read))))


def _task_line(task: Any) -> TaskLine:
    if isinstance(task, NavigationFitnessTask):
        return line_of_task(task)
    if isinstance(task, msgspec.Struct):
        task = msgspec.to_builtins(task)
    return task_line(task)


def _packet(packet: Any) -> Packet:
    if isinstance(packet, msgspec.Struct):
        packet = msgspec.to_builtins(packet)
    return packet_of(packet)


# -- many -----------------------------------------------------------------------------


class Score(SuiteRecord, frozen=True, kw_only=True):
    """A suite, scored: its record, its results and debts, and the gates.

    Attributes
    ----------
    results
        One a task and attempt, by task id (its UTF-8 bytes), then attempt; empty when only
        the summary was asked for.
    debts
        The two repair queues, in the order of the results.
    gates
        The verdict on each gate that was asked for.
    folder
        The bundle; None when none was written.
    """

    results: Sequence[TaskResult]
    debts: Sequence[Debt]
    gates: tuple[GateVerdict, ...] = ()
    folder: Path | None = None

    @property
    def passed(self) -> bool:
        """Whether something was scored and every gate that was asked for holds."""
        return self.status == "pass" and all(gate.ok for gate in self.gates)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the results as dicts with the wire names, for a data frame."""
        return [msgspec.to_builtins(result) for result in self.results]

    def __repr__(self) -> str:
        counts = self.summary
        return (
            f"<Score of {self.suite}: {counts.sufficiency_pass_count} of {counts.task_count} "
            f"sufficient, {counts.latency_fail_count} over budget>"
        )

    def _repr_html_(self) -> str:
        matrix = self.sufficiency_latency_matrix
        rows = [{"": name, **columns} for name, columns in matrix.items()]
        columns = list(dict.fromkeys(name for row in rows for name in row))
        lines = "; ".join(gate.line() for gate in self.gates)
        return table(columns, rows, note=f"{self!r} {lines}".strip())


def score(  # noqa: PLR0913 - the settings of the command, all optional and named
    tasks: str | Path | Iterable[Task],
    packets: str | Path | Iterable[AnyPacket],
    *,
    suite: str | None = None,
    gates: Iterable[Gate] = (),
    out: str | Path | None = None,
    overwrite: bool = False,
    ignore_unknown: bool = False,
    summary_only: bool = False,
    require_filled: bool = False,
    processes: int | None = None,
) -> Score:
    """Score packets against tasks: the same results as ``wayproof fitness score``.

    Parameters
    ----------
    tasks, packets
        JSON Lines files, or iterables of dicts or records; packets and tasks are joined by
        ``task_id``. Iterables are gone through once and may be longer than memory.
    suite
        Name that the record carries; None: that of the tasks file.
    gates
        Bounds to hold the summary against, such as ``Gate.min_sufficient("60%")``.
    out
        Folder for the bundle; None writes none.
    overwrite
        Replace an existing bundle.
    ignore_unknown
        Set packets without a task aside and count them, instead of refusing them.
    summary_only
        Keep the counts alone: ``results`` and ``debts`` are empty.
    require_filled
        Refuse unfilled drafts among the tasks, instead of setting them aside.
    processes
        How many processes share the work; None: as many as the size asks for. Results
        don't depend on it.

    Returns
    -------
    Score
        A task without packet is scored as ``route_error``.

    Raises
    ------
    InputError
        Naming file and line, or the index in the iterable, and the field. Nothing is
        written then.
    """
    bounds = _gates(gates)
    scratch = Scratch()
    files = {
        "tasks": _file_of(tasks, "tasks", scratch, _task_json),
        "packets": _file_of(packets, "packets", scratch, _packet_json),
    }
    folder = scratch.path / "bundle" if out is None else path_of(out, "out")
    request = ScoreRequest(
        tasks=files["tasks"],
        packets=files["packets"],
        suite=_suite(suite, files["tasks"], scratch),
        processes=_processes(processes, files["packets"]),
        ignore_unknown=ignore_unknown,
        summary_only=summary_only,
        require_filled=require_filled,
    )
    try:
        record = score_files(request, folder, overwrite=overwrite)
    except InputError as error:
        raise _by_index(error, files, scratch) from None
    verdicts = tuple(check_gates(record["summary"], bounds))
    keeper = scratch if out is None else None
    results: Sequence[TaskResult] = ()
    debts: Sequence[Debt] = ()
    if not summary_only:
        results = Lines(folder / RESULTS_NAME, TaskResult, keeper)
        debts = Lines(folder / DEBTS_NAME, Debt, keeper)
    return Score(
        **_fields(msgspec.convert(record, SuiteRecord)),
        results=results,
        debts=debts,
        gates=verdicts,
        folder=None if out is None else folder,
    )


def _fields(record: SuiteRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in SuiteRecord.__struct_fields__}


def _gates(gates: Any) -> list[Gate]:
    bounds = list(gates) if isinstance(gates, Iterable) else [gates]
    for gate in bounds:
        if not isinstance(gate, Gate) or isinstance(gates, Gate):
            raise InputError(
                "not a gate",
                setting="gates",
                expected='a list of gates such as Gate.min_sufficient("60%")',
                found=quoted(gate),
            )
    return bounds


def _suite(name: str | None, tasks: Path, scratch: Scratch) -> str | None:
    if name is not None:
        return text_of(name, "suite")
    return DEFAULT_SUITE if tasks.parent == scratch.path else None


def _processes(count: int | None, packets: Path) -> int:
    if count is not None:
        return processes_of(count)
    # Where processes can't be forked, a script without a main guard would run itself again.
    return default_processes(packets) if hasattr(os, "fork") else 1


def _file_of(given: Any, setting: str, scratch: Scratch, encoded: Callable[[Any], bytes]) -> Path:
    """Return the file that was named, or one with the records of an iterable."""
    if isinstance(given, str | Path):
        return Path(given)
    if isinstance(given, Mapping | msgspec.Struct) or not isinstance(given, Iterable):
        raise InputError(
            "not a file or a list of records",
            setting=setting,
            expected="a path, or an iterable of dicts or records",
            found=quoted(given),
        )
    path = scratch.path / f"{setting}.jsonl"
    was_enabled = gc.isenabled()
    gc.disable()  # the records hold no cycles, and a caller's lists are long to look through
    try:
        with path.open("xb", buffering=_WRITE_BYTES) as file:
            _write_records(given, setting, file, encoded)
    finally:
        if was_enabled:
            gc.enable()
    return path


def _write_records(
    records: Iterable[Any], setting: str, file: IO[bytes], encoded: Callable[[Any], bytes]
) -> None:
    done = 0
    try:
        for record in records:
            file.write(_line_of(record, encoded))
            file.write(b"\n")
            done += 1
    except InputError as error:
        raise error.at(index=f"{setting}[{done}]") from None


def _line_of(record: Any, encoded: Callable[[Any], bytes]) -> bytes:
    """Encode a record; what a file of JSON could not hold is refused as bad input."""
    try:
        return encoded(record)
    except RecursionError:
        raise InputError("nested too deeply") from None
    except (TypeError, UnicodeEncodeError) as error:
        raise InputError(
            "not a value of JSON",
            expected="text, numbers, true, false, null, lists and dicts of them",
            found=str(error),
        ) from error


def _packet_json(packet: Any) -> bytes:
    """Encode a packet's own fields; unknown keys are no part of scoring."""
    if type(packet) is dict:
        try:
            line = msgspec.convert(packet, PacketLine)
            # An error object is looked through for numbers that JSON can't hold.
            if not isinstance(line.error, dict):
                return _encode(line)
        except (msgspec.ValidationError, TypeError, UnicodeEncodeError):
            pass  # what it is, and where, is said below
    if isinstance(packet, msgspec.Struct):
        packet = msgspec.to_builtins(packet)
    plain = plain_value(packet)
    checked = packet_of(plain)
    task_id = plain.get("task_id")
    if task_id is not None and not isinstance(task_id, str):
        raise InputError(
            "wrong type", field="task_id", expected="string or null", found=quoted(task_id)
        )
    return _encode({**msgspec.to_builtins(checked), "task_id": task_id})


def _task_json(task: Any) -> bytes:
    """Encode a whole task: unknown keys are looked at by scoring."""
    if type(task) is dict:
        try:
            msgspec.convert(task, TaskLine)
            return _encode(task)
        except (msgspec.ValidationError, TypeError, UnicodeEncodeError):
            pass  # what it is, and where, is said below
    if isinstance(task, NavigationFitnessTask):
        return _encode(line_of_task(task))
    if isinstance(task, msgspec.Struct):
        task = msgspec.to_builtins(task)
    plain = plain_value(task)
    if not (isinstance(plain, dict) and plain.get("draft")):  # scoring says what it does with one
        task_line(plain)
    return _encode(plain)


def _by_index(error: InputError, files: Mapping[str, Path], scratch: Scratch) -> InputError:
    """Name the record of an iterable instead of the line of the file that it was put into."""
    for setting, path in files.items():
        if path.parent == scratch.path and error.file == str(path):
            index = setting if error.line is None else f"{setting}[{error.line - 1}]"
            parts = {**vars(error), "file": None, "line": None, "index": error.index or index}
            return type(error)(**parts)
    return error
