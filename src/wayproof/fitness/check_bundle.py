"""Check a fitness bundle: its numbers follow from its results, these from the inputs.

What can be checked without the inputs: every result is canonical, in order, and agrees
with itself (recall with the ids it lists, the failure kind with the ladder, the latency
status with time and budget); the debts are those of the results; the summary is theirs.
With tasks and packets, everything is scored again and the digests are compared.
"""

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

import msgspec

from wayproof.bundles.kinds import CheckReport, CheckRequest
from wayproof.bundles.manifest import MANIFEST_NAME, Manifest, digest_file, read_small_file
from wayproof.canonical import (
    MAX_SAFE_INTEGER,
    canonical_bytes,
    canonical_number,
    decode_record_line,
    record_lines,
)
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.fitness_names import (
    DEBTS_NAME,
    FIRST_SUITE_SCHEMA_VERSION,
    LIMITS,
    RESULTS_NAME,
    SUMMARY_NAME,
)
from wayproof.evidence.fitness_records import SECOND_FORM_FIELDS, TaskResult
from wayproof.fitness.aggregate import (
    LATENCY_CODES,
    Shape,
    SuiteTotals,
    in_first_form,
    percentile_of,
    suite_record,
)
from wayproof.fitness.debts import debts_of
from wayproof.fitness.judge import ratio, vacuous_metrics
from wayproof.fitness.ladder import Facts, fact_mask, failed_checks
from wayproof.fitness.latency import latency_status
from wayproof.fitness.packet import PACKET_FIELDS
from wayproof.fitness.score import ScoreRequest, score
from wayproof.fitness.task import TASK_FIELDS, in_canonical_order
from wayproof.lines import evidence_lines, read_lines
from wayproof.strict_json import convert_typed, strict_value
from wayproof.text import quoted

__all__ = ["check", "check_bundle", "check_rescored"]

_decoder = msgspec.json.Decoder(TaskResult)
_DEFAULTABLE = (*TASK_FIELDS, *(f"packet.{name}" for name in PACKET_FIELDS))
"""What a result may call defaulted, in its order."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


class _Place(NamedTuple):
    file: str
    line: int
    task: str


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
        "results: not kept (summary only), so nothing follows from them"
        if count is None
        else f"results: {count} agree with themselves; debts and summary follow from them"
    ]
    if tasks is None or packets is None:
        findings.append("inputs: not given; results invented as a whole would not be noticed")
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
    settings = _settings(folder, manifest)
    if tuple(manifest.limits) != LIMITS:
        raise IntegrityError("limits were changed", file=str(folder / MANIFEST_NAME))
    if settings.summary_only:
        return None
    return _check_results(folder, settings.suite)


class _Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a fitness bundle was asked for."""

    suite: str
    ignore_unknown: bool
    summary_only: bool


def _settings(folder: Path, manifest: Manifest) -> _Settings:
    place = str(folder / MANIFEST_NAME)
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
        raise IntegrityError(
            error.problem,
            file=place,
            field=error.field,
            expected=error.expected,
            found=error.found,
        ) from None


def _check_results(folder: Path, suite: str) -> int:
    stored = _stored_summary(folder / SUMMARY_NAME)
    is_first_form = stored.get("schema_version") == FIRST_SUITE_SCHEMA_VERSION
    totals = SuiteTotals()
    walls_ms: list[float] = []
    route_codes: dict[str, int] = {}
    is_scent_exact = True
    count = 0
    with (folder / DEBTS_NAME).open("rb") as file:
        debts = _DebtLines(folder / DEBTS_NAME, file)
        for attempts in _by_task(folder / RESULTS_NAME):
            shapes = []
            for place, result in attempts:
                _check_form(place, result, is_first_form=is_first_form)
                shapes.append(_check_result(place, result, route_codes))
                is_scent_exact = is_scent_exact and len(_term_counts(result)) == 1
                if result.wall_ms is not None:
                    walls_ms.append(result.wall_ms)
                debts.expect(record_lines(debts_of(result, numbered=len(attempts) > 1)), place)
            totals.add_task(shapes)
            count += len(attempts)
        debts.expect_end()
    record = suite_record(
        totals, percentile_of(walls_ms), suite=suite, route_types=list(route_codes)
    )
    record["sufficiency_latency_matrix"] = totals.matrix()
    if is_first_form:
        record = in_first_form(record)
    else:
        for name in _DRAFT_COUNTS:
            record[name] = stored.get(name, 0)
    _check_summary(folder / SUMMARY_NAME, record, stored, is_scent_exact=is_scent_exact)
    return count


def _stored(path: Path) -> Iterator[tuple[_Place, TaskResult]]:
    with path.open("rb") as file:
        for number, line in evidence_lines(file, str(path)):
            place = _Place(str(path), number, "")
            try:
                result = decode_record_line(line, _decoder)
            except InputError as error:
                raise IntegrityError(
                    error.problem, file=str(path), line=number, found=error.found
                ) from None
            if isinstance(result.error, dict):
                _check_error_object(place, line)
            yield place._replace(task=f"task {quoted(result.task_id)}"), result


def _check_error_object(place: _Place, line: bytes) -> None:
    """Check an error object: its keys are its own, and the typed decoder can't judge them."""
    try:
        canonical = canonical_bytes(strict_value(line))
    except InputError as error:
        raise IntegrityError(
            error.problem, file=place.file, line=place.line, field="error", found=error.found
        ) from None
    if canonical != line:
        raise IntegrityError("line is not in canonical form", file=place.file, line=place.line)


def _attempt(result: TaskResult) -> int:
    return 1 if result.attempt is msgspec.UNSET else result.attempt


def _by_task(path: Path) -> Iterator[list[tuple[_Place, TaskResult]]]:
    held: list[tuple[_Place, TaskResult]] = []
    last_key: tuple[bytes, int] | None = None
    for place, result in _stored(path):
        key = (result.task_id.encode(), _attempt(result))
        if last_key is not None and key <= last_key:
            _fail(place, "results are not ordered by task_id, then attempt")
        last_key = key
        if held and held[0][1].task_id != result.task_id:
            yield held
            held = []
        held.append((place, result))
    if held:
        yield held


def _fail(place: _Place, problem: str, **parts: Any) -> None:
    raise IntegrityError(problem, file=place.file, line=place.line, index=place.task, **parts)


def _check_result(place: _Place, result: TaskResult, route_codes: dict[str, int]) -> Shape:
    """Work out again whatever a result says of itself."""
    selected, expected = list(result.selected_artifacts), list(result.expected_artifacts)
    literal = _literal(result)
    found = [
        wanted for wanted in expected if any(_matches(wanted, one, literal) for one in selected)
    ]
    relevant_count = sum(
        any(_matches(wanted, one, literal) for wanted in expected) for one in selected
    )
    missing = [wanted for wanted in expected if wanted not in found]
    mask = fact_mask(
        Facts(
            timed_out=result.timed_out,
            error=bool(result.error),
            missing=bool(missing),
            weak=bool(result.missing_scent_terms),
            forbidden=bool(result.forbidden_first_route_hits),
        )
    )
    failed = list(failed_checks(mask))
    command = result.first_contact_command
    term_counts = _term_counts(result)
    if not term_counts:
        _fail(
            place,
            "scent_coverage doesn't fit the missing terms",
            field="scent_coverage",
            expected=f"a share that {len(result.missing_scent_terms)} missing terms can leave",
            found=quoted(result.scent_coverage),
        )
    term_count = term_counts[0]
    vacuous = not (mask or expected or term_count or result.forbidden_status != "unscored")
    derived: dict[str, Any] = {
        "selected_artifacts": sorted(set(selected)),
        "expected_artifacts": sorted(set(expected)),
        "selected_artifact_count": len(selected),
        "found_expected_artifacts": found,
        "missing_expected_artifacts": missing,
        "recall_at_packet": ratio(len(found), len(expected)),
        "precision_at_packet": ratio(relevant_count, len(selected)),
        "vacuous_metrics": list(vacuous_metrics(len(expected), len(selected))),
        "failed_checks": failed,
        "sufficiency_failure_kind": failed[0] if failed else None,
        "sufficiency_status": "fail" if failed else "pass",
        "latency_status": latency_status(
            result.wall_ms, result.timed_out, result.latency_budget_ms
        ),
        "forbidden_first_route_hits": [
            text for text in result.forbidden_first_route_hits if text in (command or "")
        ],
        "forbidden_status": _forbidden_status(result),
        "wall_ms": None if result.wall_ms is None else canonical_number(round(result.wall_ms, 3)),
        "defaulted_fields": [name for name in _DEFAULTABLE if name in result.defaulted_fields],
        "scent_status": (
            "unscored" if not term_count else "fail" if result.missing_scent_terms else "pass"
        ),
        **_second_form(result, selected, expected, vacuous=vacuous),
    }
    for name, value in derived.items():
        stored = getattr(result, name)
        if isinstance(stored, (list, tuple)):
            stored = list(stored)
        is_reordered = isinstance(value, dict) and list(stored) != list(value)
        if stored != value or type(stored) is not type(value) or is_reordered:
            _fail(
                place,
                "result doesn't agree with itself",
                field=name,
                expected=quoted(value),
                found=quoted(stored),
            )
    return Shape(
        mask,
        LATENCY_CODES[result.latency_status],
        bool(command) and not (command or "").isspace(),
        route_codes.setdefault(result.route_type, len(route_codes)),
        len(found),
        len(expected),
        relevant_count,
        len(selected),
        term_count - len(result.missing_scent_terms),
        term_count,
        vacuous,
    )


def _check_form(place: _Place, result: TaskResult, *, is_first_form: bool) -> None:
    """Refuse a result with fields of the other form than its bundle's summary names."""
    for name in SECOND_FORM_FIELDS:
        if (getattr(result, name) is msgspec.UNSET) != is_first_form:
            _fail(
                place,
                "field that this form doesn't have" if is_first_form else "field is missing",
                field=name,
            )


def _second_form(
    result: TaskResult, selected: list[str], expected: list[str], *, vacuous: bool
) -> dict[str, Any]:
    """Work out again what ``wayproof.fitness/2`` added, as far as a result tells."""
    order, grades, digest = result.selection_order, result.relevance, result.task_sha256
    if order is msgspec.UNSET or grades is msgspec.UNSET or digest is msgspec.UNSET:
        return {}
    places, ranks = list(order), list(range(len(selected)))
    return {
        "literal_ids": sorted(
            {
                one
                for one in _literal(result)
                if one.endswith("*") and (one in expected or one in (grades or ()))
            }
        ),
        "relevance": None if grades is None else in_canonical_order(grades),
        "selection_order": places if sorted(places) == ranks else ranks,
        "task_sha256": digest if _SHA256.fullmatch(digest) else "64 hexadecimal digits",
        "vacuous": vacuous,
    }


def _literal(result: TaskResult) -> Sequence[str]:
    return () if result.literal_ids is msgspec.UNSET else result.literal_ids


def _matches(wanted: str, chosen: str, literal: Sequence[str]) -> bool:
    if wanted.endswith("*") and wanted not in literal:
        return chosen.startswith(wanted[:-1])
    return chosen == wanted


def _forbidden_status(result: TaskResult) -> str:
    """``pass`` and ``unscored`` differ by what the task forbids, which a result doesn't list."""
    if result.forbidden_first_route_hits:
        return "fail"
    command = result.first_contact_command
    if not command or command.isspace() or result.forbidden_status == "unscored":
        return "unscored"
    return "pass"


# -- scent: a result keeps coverage and missing terms, not how many terms there were -----


def _term_counts(result: TaskResult) -> list[int]:
    """Return every number of terms that fits coverage and missing terms, smallest first."""
    coverage, missing_count = result.scent_coverage, len(result.missing_scent_terms)
    if coverage is None:
        return [] if missing_count else [0]
    if not missing_count:
        return [1] if coverage == 1 else []
    # coverage = 1 - missing/terms, rounded to 4 decimals
    low = int(missing_count / (1 - coverage + 0.00005))
    high = int(missing_count / max(1e-5, 1 - coverage - 0.00005)) + 2
    near = range(max(missing_count, low), min(high, low + 100_000))
    return [count for count in near if ratio(count - missing_count, count) == coverage]


class _DebtLines:
    """Compares the debts file with what the results owe, line by line."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._line = 0

    def expect(self, lines: bytes, place: _Place) -> None:
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


def _check_summary(
    path: Path, expected: dict[str, Any], stored: dict[str, Any], *, is_scent_exact: bool
) -> None:
    expected["ignored_packet_count"] = stored["ignored_packet_count"]
    if not is_scent_exact:
        # Over a hundred terms: their number can't be told from a coverage of 4 decimals.
        expected["summary"]["mean_scent_coverage"] = stored["summary"]["mean_scent_coverage"]
    difference = _first_difference(expected, stored, "")
    if difference is not None:
        field, wanted, found = difference
        raise IntegrityError(
            "summary doesn't follow from the results",
            file=str(path),
            field=field,
            expected=quoted(wanted),
            found=quoted(found),
        )


_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]
_DRAFT_COUNTS = ("draft_packet_count", "draft_task_count")


class _SummaryFile(msgspec.Struct):
    """The fields that the results don't settle; the rest is compared as it stands."""

    ignored_packet_count: _Count
    summary: dict[str, Any]
    draft_packet_count: _Count = 0
    draft_task_count: _Count = 0


def _stored_summary(path: Path) -> dict[str, Any]:
    try:
        data = read_small_file(path, "not a summary")
        msgspec.json.decode(data, type=_SummaryFile)
        stored = strict_value(data)
        canonical = canonical_bytes(stored) + b"\n"
    except (msgspec.MsgspecError, RecursionError, InputError) as error:
        raise IntegrityError("not a summary", file=str(path), found=str(error)) from None
    if canonical != data:
        raise IntegrityError("not in canonical form", file=str(path))
    stored["summary"].setdefault("mean_scent_coverage", None)
    return dict(stored)


def _first_difference(left: Any, right: Any, path: str) -> tuple[str, Any, Any] | None:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            found = _first_difference(
                left.get(key, "(absent)"), right.get(key, "(absent)"), f"{path}.{key}".lstrip(".")
            )
            if found is not None:
                return found
        return None
    if canonical_bytes(left) != canonical_bytes(right):
        return path, left, right
    return None


def check_rescored(folder: Path, manifest: Manifest, tasks: Path, packets: Path) -> None:
    """Score the inputs again and compare every file's digest.

    Raises
    ------
    IntegrityError
        When the inputs are not those of the bundle, or give other bytes.
    """
    for role, path in (("tasks", tasks), ("packets", packets)):
        given = digest_file(path)
        stored = manifest.inputs.get(role)
        if stored is None or given.sha256 != stored.sha256:
            raise IntegrityError(
                f"not the {role} that the bundle was made from",
                file=str(path),
                expected="no digest" if stored is None else f"SHA-256 {stored.sha256}",
                found=f"SHA-256 {given.sha256}",
            )
    settings = _settings(folder, manifest)
    request = ScoreRequest(
        tasks=tasks,
        packets=packets,
        suite=settings.suite,
        ignore_unknown=settings.ignore_unknown,
        summary_only=settings.summary_only,
    )
    summary = _stored_summary(folder / SUMMARY_NAME)
    is_first_form = summary.get("schema_version") == FIRST_SUITE_SCHEMA_VERSION
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


def _first_different_line(one: Path, two: Path) -> int:
    with one.open("rb") as left, two.open("rb") as right:
        lines = zip(read_lines(left), read_lines(right), strict=False)
        return next((n for n, ((_, a), (_, b)) in enumerate(lines, 1) if a != b), 0) or 1
