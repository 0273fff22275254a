"""Check a fitness bundle: its numbers follow from its results, these from the inputs.

What can be checked without the inputs: every result is canonical, in order, and agrees
with itself and with the others of its task (:mod:`~wayproof.fitness.check_result`); the
debts are those of the results; the summary is theirs
(:mod:`~wayproof.fitness.check_summary`); the manifest says of inputs and settings what
they can be. With tasks and packets, everything is scored again and the digests are compared.
"""

import copy
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from wayproof.bundles.kinds import CheckReport, CheckRequest
from wayproof.bundles.manifest import MANIFEST_NAME, FileDigest, Manifest, digest_file
from wayproof.canonical import canonical_bytes, decode_record_line, record_lines
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.fitness_names import DEBTS_NAME, LIMITS, RESULTS_NAME, SUMMARY_NAME
from wayproof.evidence.fitness_records import TaskResult
from wayproof.fitness.aggregate import (
    SuiteTotals,
    in_first_form,
    percentile_of,
    suite_record,
)
from wayproof.fitness.check_result import CheckedTask, Place, check_task
from wayproof.fitness.check_summary import (
    StoredSummary,
    check_against,
    check_arithmetic,
    read_summary,
)
from wayproof.fitness.debts import debts_of
from wayproof.fitness.packet import NO_PACKET
from wayproof.fitness.score import ScoreRequest, score
from wayproof.lines import evidence_lines, read_lines
from wayproof.strict_json import convert_typed, strict_value
from wayproof.text import quoted

__all__ = ["NOT_DETECTABLE", "check", "check_bundle", "check_rescored"]

NOT_DETECTABLE: Final = (
    "Not detectable without the inputs: results invented as a whole that agree with themselves; "
    "whether a first command without a hit was checked at all; what a task's digest stands for; "
    "the inputs' digests and exact sizes; how many packets and drafts were set aside; times, "
    "host and versions in the manifest."
)

_decoder = msgspec.json.Decoder(TaskResult)
_EMPTY: Final = FileDigest(bytes=0, sha256=hashlib.sha256().hexdigest())
_DEFLATE_RATIO: Final = 1032
"""No gzip file holds more than this many times its size."""
_TASK_BYTES: Final = len('{"task_id":""}')
_DRAFT_BYTES: Final = len(',"draft":true')


def check(folder: Path, manifest: Manifest, request: CheckRequest) -> CheckReport:
    """Check a fitness bundle, and score its inputs again where both are given.

    Raises
    ------
    InputError
        When only one of the two inputs is given.
    IntegrityError
        Naming file, line, task and field of the first thing that doesn't follow.
    """
    tasks, packets = request.sources.get("tasks"), request.sources.get("packets")
    if (tasks is None) != (packets is None):
        raise InputError("{tasks} and {packets} go together")
    count = check_bundle(folder, manifest)
    findings = [
        "results: not kept (summary only); its figures fit each other, and nothing shows more"
        if count is None
        else f"results: {count} agree with themselves; debts and summary follow from them"
    ]
    if tasks is None or packets is None:
        findings.append(f"inputs: not given. {NOT_DETECTABLE}")
    else:
        check_rescored(folder, manifest, tasks, packets)
        findings.append("inputs: scored again, byte for byte the same")
    is_brief = count is None and tasks is None
    return CheckReport(tuple(findings), "verified: digests only" if is_brief else "verified")


def check_bundle(folder: Path, manifest: Manifest) -> int | None:
    """Check that debts and summary follow from the results, and each result from itself.

    Returns
    -------
    int or None
        How many results were checked; None for a bundle that keeps only its summary.

    Raises
    ------
    IntegrityError
        Naming file, line and task of the first thing that doesn't follow.
    """
    place = str(folder / MANIFEST_NAME)
    settings = _settings(place, manifest)
    if tuple(manifest.limits) != LIMITS:
        raise IntegrityError("limits were changed", file=place, field="limits")
    summary = read_summary(folder / SUMMARY_NAME)
    _check_settings(settings, summary)
    count = None
    if settings.summary_only:
        _check_inputs(place, manifest, _LeastBytes.of_counts(summary))
    else:
        count = _check_results(folder, manifest, summary)
    check_arithmetic(summary)
    return count


class _Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a fitness bundle was asked for."""

    suite: str
    ignore_unknown: bool
    summary_only: bool


def _settings(place: str, manifest: Manifest) -> _Settings:
    if set(manifest.inputs) != {"tasks", "packets"}:
        raise IntegrityError(
            "not the inputs of a fitness bundle",
            file=place,
            field="inputs",
            expected="packets, tasks",
            found=", ".join(sorted(manifest.inputs)) or "none",
        )
    try:
        return convert_typed(manifest.settings, _Settings, prefix="settings")
    except InputError as error:
        raise IntegrityError.of(error, file=place) from None


def _check_settings(settings: _Settings, summary: StoredSummary) -> None:
    if summary.typed.suite != settings.suite:
        raise IntegrityError(
            "summary doesn't fit the settings",
            file=summary.path,
            field="suite",
            expected=quoted(settings.suite),
            found=quoted(summary.typed.suite),
        )
    if summary.typed.ignored_packet_count and not settings.ignore_unknown:
        raise IntegrityError(
            "summary doesn't fit the settings",
            file=summary.path,
            field="ignored_packet_count",
            expected="0: packets without a task were refused (ignore_unknown is false)",
            found=str(summary.typed.ignored_packet_count),
        )


# -- what the inputs must hold at least -----------------------------------------------


class _LeastBytes:
    """How many bytes the inputs must have held, uncompressed, for the results to come of them."""

    def __init__(self) -> None:
        self.tasks = self.packets = 0

    @classmethod
    def of_counts(cls, summary: StoredSummary) -> "_LeastBytes":
        """Count what figures alone tell: one id of a letter for each task that was counted."""
        least = cls()
        least.tasks = summary.typed.summary.distinct_task_count * (_TASK_BYTES + 1)
        least.add_set_aside(summary)
        return least

    def add_set_aside(self, summary: StoredSummary) -> None:
        """Count an id of a letter for each task and packet that was set aside."""
        record = summary.typed
        self.packets += record.ignored_packet_count * (_TASK_BYTES + 1)
        if record.draft_task_count is not msgspec.UNSET:
            self.tasks += record.draft_task_count * (_TASK_BYTES + 1 + _DRAFT_BYTES)
        if record.draft_packet_count is not msgspec.UNSET:
            self.packets += record.draft_packet_count * (_TASK_BYTES + 1)

    def add(self, results: list[TaskResult]) -> None:
        """Count the ids and texts that a task's lines must hold as they stand."""
        first = results[0]
        task_id = len(first.task_id.encode())
        self.tasks += _TASK_BYTES + task_id + _size(first.expected_artifacts)
        for result in results:
            if result.error != NO_PACKET.error:
                command = result.first_contact_command or ""
                self.packets += _TASK_BYTES + task_id + len(command.encode())


def _size(texts: Any) -> int:
    return sum(len(text.encode()) + 2 for text in texts)


def _check_inputs(place: str, manifest: Manifest, least: _LeastBytes) -> None:
    """Hold the sizes of the inputs to what they must have held; they may be compressed."""
    for role, held in (("tasks", least.tasks), ("packets", least.packets)):
        digest = manifest.inputs[role]
        fewest = min(held, 18 + held // _DEFLATE_RATIO)
        is_empty = (digest.bytes == 0, digest.sha256 == _EMPTY.sha256)
        if digest.bytes < fewest or is_empty[0] != is_empty[1]:
            raise IntegrityError(
                "input can't have this size",
                file=place,
                field=f"inputs.{role}.bytes",
                expected=f"at least {fewest} bytes, and 0 only with the digest of nothing",
                found=str(digest.bytes),
            )
    tasks, packets = manifest.inputs["tasks"], manifest.inputs["packets"]
    if (tasks.sha256 == packets.sha256) and tasks != packets:
        raise IntegrityError(
            "one digest and two sizes",
            file=place,
            field="inputs.packets.bytes",
            expected=str(tasks.bytes),
            found=str(packets.bytes),
        )


# -- results --------------------------------------------------------------------------


class _Totals:
    """The summary's counts, for the smallest and the largest possible numbers of scent terms."""

    def __init__(self) -> None:
        self.low = SuiteTotals()
        self.high: SuiteTotals | None = None
        """The same as ``low`` until a task comes whose terms can't be told."""

    def add(self, task: CheckedTask) -> None:
        if self.high is None and task.high != task.low:
            self.high = copy.deepcopy(self.low)
        self.low.add_task(task.low)
        if self.high is not None:
            self.high.add_task(task.high)


def _check_results(folder: Path, manifest: Manifest, summary: StoredSummary) -> int:
    totals, least = _Totals(), _LeastBytes()
    walls_ms: list[float] = []
    route_codes: dict[str, int] = {}
    states_something = False
    count = 0
    with (folder / DEBTS_NAME).open("rb") as file:
        debts = _DebtLines(folder / DEBTS_NAME, file)
        for attempts in _by_task(folder / RESULTS_NAME):
            totals.add(check_task(attempts, route_codes, first_form=summary.is_first_form))
            results = [result for _, result in attempts]
            least.add(results)
            states_something = states_something or _may_state_something(results)
            for place, result in attempts:
                if result.wall_ms is not None:
                    walls_ms.append(result.wall_ms)
                debts.expect(record_lines(debts_of(result, numbered=len(attempts) > 1)), place)
            count += len(attempts)
        debts.expect_end()
    if count and not states_something and not summary.is_first_form:
        raise IntegrityError(
            "no task states anything that a packet could fail: scoring refuses such tasks",
            file=str(folder / RESULTS_NAME),
        )
    least.add_set_aside(summary)
    _check_inputs(str(folder / MANIFEST_NAME), manifest, least)

    def record_of(totals: SuiteTotals) -> dict[str, Any]:
        return _record_of(totals, walls_ms, list(route_codes), summary)

    high = None if totals.high is None else record_of(totals.high)
    check_against(summary, record_of(totals.low), high)
    return count


def _may_state_something(results: list[TaskResult]) -> bool:
    """Tell whether a task may have stated something; its forbidden routes aren't in a result."""
    first = results[0]
    return bool(
        first.expected_artifacts
        or first.scent_status != "unscored"
        or "forbidden_first_routes" not in first.defaulted_fields
    )


def _record_of(
    totals: SuiteTotals, walls_ms: list[float], route_types: list[str], summary: StoredSummary
) -> dict[str, Any]:
    """Make the summary that follows from the results; what they don't settle is as stored."""
    stored = summary.typed
    record = suite_record(
        totals, percentile_of(walls_ms), suite=stored.suite, route_types=route_types
    )
    record["sufficiency_latency_matrix"] = totals.matrix()
    record["ignored_packet_count"] = stored.ignored_packet_count
    if summary.is_first_form:
        return in_first_form(record)
    record["draft_packet_count"] = stored.draft_packet_count
    record["draft_task_count"] = stored.draft_task_count
    return record


def _stored(path: Path) -> Iterator[tuple[Place, TaskResult]]:
    with path.open("rb") as file:
        try:
            for number, line in evidence_lines(file, str(path)):
                yield _decoded(line, Place(str(path), number, ""))
        except InputError as error:  # a line that is cut off or too long
            raise _as_integrity(error) from None


def _decoded(line: bytes, place: Place) -> tuple[Place, TaskResult]:
    try:
        result = decode_record_line(line, _decoder)
        # An error object's keys are its own, and the typed decoder can't judge them.
        is_exact = not isinstance(result.error, dict) or canonical_bytes(strict_value(line)) == line
    except InputError as error:
        raise _as_integrity(error.at(file=place.file, line=place.line)) from None
    if not is_exact:
        place.fail("line is not in canonical form", field="error")
    return place._replace(task=f"task {quoted(result.task_id)}"), result


def _as_integrity(error: InputError) -> IntegrityError:
    parts: dict[str, Any] = {
        name: getattr(error, name)
        for name in ("file", "line", "index", "field", "expected", "found", "mend")
    }
    return IntegrityError(error.problem, **parts)


def _by_task(path: Path) -> Iterator[list[tuple[Place, TaskResult]]]:
    held: list[tuple[Place, TaskResult]] = []
    last_key: tuple[bytes, int] | None = None
    for place, result in _stored(path):
        attempt = 1 if result.attempt is msgspec.UNSET else result.attempt
        key = (result.task_id.encode(), attempt)
        if last_key is not None and key <= last_key:
            place.fail("results are not ordered by task_id, then attempt")
        last_key = key
        if held and held[0][1].task_id != result.task_id:
            yield held
            held = []
        held.append((place, result))
    if held:
        yield held


class _DebtLines:
    """Compares the debts file with what the results owe, line by line."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._line = 0

    def expect(self, lines: bytes, place: Place) -> None:
        """Refuse a debts file whose next lines differ from ``lines``."""
        for line in lines.splitlines(keepends=True):
            self._line += 1
            found = self._file.readline(len(line) + 1)
            if found != line:
                raise IntegrityError(
                    "debt doesn't follow from the results",
                    file=str(self._path),
                    line=self._line,
                    index=place.task,
                    expected=quoted(line.decode()),
                    found=quoted(found.decode(errors="replace")),
                )

    def expect_end(self) -> None:
        """Refuse further lines."""
        if self._file.read(1):
            raise IntegrityError(
                "debts that no result owes", file=str(self._path), line=self._line + 1
            )


def check_rescored(folder: Path, manifest: Manifest, tasks: Path, packets: Path) -> None:
    """Score the inputs again and compare every file's digest.

    Raises
    ------
    InputError
        When an input is missing, a device or a pipe.
    IntegrityError
        When the inputs are not those of the bundle, or give other bytes.
    """
    for role, path in (("tasks", tasks), ("packets", packets)):
        if not path.is_file():
            raise InputError(
                "can't be read", file=str(path), setting=role, expected="a regular file"
            )
        given = digest_file(path)
        stored = manifest.inputs.get(role)
        if stored is None or given != stored:
            raise IntegrityError(
                f"not the {role} that the bundle was made from",
                file=str(path),
                expected="no digest" if stored is None else _shown(stored),
                found=_shown(given),
            )
    settings = _settings(str(folder / MANIFEST_NAME), manifest)
    request = ScoreRequest(
        tasks=tasks,
        packets=packets,
        suite=settings.suite,
        ignore_unknown=settings.ignore_unknown,
        summary_only=settings.summary_only,
    )
    is_first_form = read_summary(folder / SUMMARY_NAME).is_first_form
    with tempfile.TemporaryDirectory(prefix="wayproof-") as scratch:
        again = Path(scratch) / "again"
        score(request, again, first_form=is_first_form)
        for name, digest in sorted(manifest.files.items()):
            if digest_file(again / name) != digest:
                raise IntegrityError(
                    "scoring the inputs again gives other bytes",
                    file=str(folder / name),
                    line=_first_different_line(folder / name, again / name),
                )


def _shown(digest: FileDigest) -> str:
    return f"{digest.bytes} bytes, SHA-256 {digest.sha256}"


def _first_different_line(one: Path, two: Path) -> int:
    with one.open("rb") as left, two.open("rb") as right:
        lines = zip(read_lines(left), read_lines(right), strict=False)
        return next((n for n, ((_, a), (_, b)) in enumerate(lines, 1) if a != b), 0) or 1
