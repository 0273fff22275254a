"""The core predicate: one task and one packet in, what was found and what failed out."""

from collections.abc import Mapping
from typing import Any

import msgspec

from wayproof.canonical import canonical_bytes, canonical_number
from wayproof.errors import InputError
from wayproof.fitness.ladder import failed_checks
from wayproof.fitness.latency import LatencyStatus, latency_status
from wayproof.fitness.packet import Packet, defaulted_packet_fields, packet_of
from wayproof.fitness.result import TaskResult
from wayproof.fitness.task import NavigationFitnessTask, Need, fold, need_of_task

__all__ = ["Judgement", "evaluate_task", "judge", "ratio", "result_of"]

_TIMED_OUT, _ERROR, _MISSING, _WEAK, _FORBIDDEN = 1, 2, 4, 8, 16  # bits of ladder.Facts


class Judgement(msgspec.Struct, frozen=True, gc=False):
    """What judging found, before it is written down.

    ``fact_mask`` packs :class:`~wayproof.fitness.ladder.Facts`; ``relevant_count`` is how
    many selected ids some expected id matches.
    """

    fact_mask: int
    latency_status: LatencyStatus
    wall_ms: int | float | None
    selected: list[str]
    found: list[str]
    missing: list[str]
    relevant_count: int
    forbidden_hits: list[str]
    missing_terms: list[str]
    first_contact_known: bool


def _selected_ids(packet: Packet) -> set[str]:
    """Unite ``selected_artifacts`` with each row's ``kind_id:row_id`` and ``artifact_ids``."""
    ids = set(packet.selected_artifacts or ())
    for row in packet.selected_rows or ():
        kind_id, row_id = row.kind_id, row.row_id
        if kind_id and row_id and not kind_id.isspace() and not row_id.isspace():
            ids.add(f"{kind_id}:{row_id}")
        if row.artifact_ids:
            ids.update(row.artifact_ids)
    return ids


def _scent_text(packet: Packet, selected: list[str]) -> str:
    parts = [packet.summary, packet.title, packet.route_hint, packet.first_contact_command]
    parts += selected
    for row in packet.selected_rows or ():
        parts += (row.title, row.summary, row.reason)
    return fold("\n".join([part for part in parts if part]))


def judge(need: Need, packet: Packet) -> Judgement:
    """Judge one packet against one task.

    The two axes are computed side by side and neither looks at the other: ``fact_mask``
    carries everything about sufficiency, ``latency_status`` everything about time.
    """
    selected = sorted([text for text in _selected_ids(packet) if text and not text.isspace()])
    exact = need.exact
    matched = exact.intersection(selected)
    relevant_count = len(matched)
    if need.prefixes:
        found = [wanted for wanted in need.expected if _is_found(wanted, selected, matched)]
        relevant_count = sum(
            chosen in exact or chosen.startswith(need.prefixes) for chosen in selected
        )
    else:
        found = sorted(matched)
    missing: list[str] = []
    if len(found) != len(need.expected):
        found_ids = frozenset(found)
        missing = [wanted for wanted in need.expected if wanted not in found_ids]

    command = packet.first_contact_command
    known = bool(command) and not command.isspace()  # type: ignore[union-attr]
    hits = [text for text in need.forbidden if text in command] if known else []  # type: ignore[operator]

    missing_terms: list[str] = []
    if need.terms:
        text = _scent_text(packet, selected)
        missing_terms = [term for term in need.terms if term not in text]

    timed_out = packet.timed_out is True
    wall_ms = packet.wall_ms
    if wall_ms is not None:
        wall_ms = canonical_number(round(wall_ms, 3))
    mask = (
        (_TIMED_OUT if timed_out else 0)
        | (_ERROR if packet.error else 0)
        | (_MISSING if missing else 0)
        | (_WEAK if missing_terms else 0)
        | (_FORBIDDEN if hits else 0)
    )
    return Judgement(
        mask,
        latency_status(wall_ms, timed_out=timed_out, latency_budget_ms=need.latency_budget_ms),
        wall_ms,
        selected,
        found,
        missing,
        relevant_count,
        hits,
        missing_terms,
        known,
    )


def _is_found(wanted: str, selected: list[str], matched: frozenset[str]) -> bool:
    if wanted[-1] == "*":
        prefix = wanted[:-1]
        return any(chosen.startswith(prefix) for chosen in selected)
    return wanted in matched


def ratio(part: int, whole: int) -> int | float:
    """Divide to 4 decimals; 1 when ``whole`` is 0 (the caller says that it is vacuous)."""
    return canonical_number(round(part / whole, 4)) if whole else 1


def result_of(need: Need, packet: Packet, found: Judgement) -> TaskResult:
    """Write a judgement down as the task's result record."""
    expected_count, selected_count = len(need.expected), len(found.selected)
    term_count = len(need.terms)
    failed = failed_checks(found.fact_mask)
    command = packet.first_contact_command
    error = packet.error
    vacuous = []
    if not expected_count:
        vacuous.append("recall_at_packet")
    if not selected_count:
        vacuous.append("precision_at_packet")
    return TaskResult(
        attempt=msgspec.UNSET if packet.attempt is None else packet.attempt,
        command_used=command if packet.command_used is None else packet.command_used,
        defaulted_fields=need.defaulted + defaulted_packet_fields(packet),
        error=_written_error(error) if error else None if error is msgspec.UNSET else error,
        expected_artifacts=need.expected,
        failed_checks=failed,
        family=need.family,
        first_contact_command=command,
        forbidden_first_route_hits=found.forbidden_hits,
        forbidden_status=(
            "unscored"
            if not need.forbidden or not found.first_contact_known
            else "fail"
            if found.forbidden_hits
            else "pass"
        ),
        found_expected_artifacts=found.found,
        latency_budget_ms=need.latency_budget_ms,
        latency_status=found.latency_status,
        missing_expected_artifacts=found.missing,
        missing_scent_terms=found.missing_terms,
        precision_at_packet=ratio(found.relevant_count, selected_count),
        recall_at_packet=ratio(len(found.found), expected_count),
        route_role=need.route_role,
        route_type=need.route_type,
        scent_coverage=(
            ratio(term_count - len(found.missing_terms), term_count) if term_count else None
        ),
        scent_status="unscored" if not term_count else "fail" if found.missing_terms else "pass",
        selected_artifact_count=selected_count,
        selected_artifacts=found.selected,
        sufficiency_failure_kind=failed[0] if failed else None,
        sufficiency_status="fail" if failed else "pass",
        task_id=need.task_id,
        task_prompt=need.task_prompt,
        timed_out=packet.timed_out is True,
        vacuous_metrics=vacuous,
        wall_ms=found.wall_ms,
    )


def _written_error(error: Any) -> Any:
    """Keep an error's text as it is; bring an error object into canonical form."""
    if isinstance(error, str):
        return error
    try:
        return msgspec.Raw(canonical_bytes(error))
    except InputError as fault:
        raise InputError(
            fault.problem, field="packet.error", expected=fault.expected, found=fault.found
        ) from None


def evaluate_task(
    task: NavigationFitnessTask | Mapping[str, Any], packet: Mapping[str, Any]
) -> dict[str, Any]:
    """Score one captured packet against one task.

    Parameters
    ----------
    task
        The task, or a raw row that :func:`~wayproof.fitness.task_from_mapping` would take.
    packet
        The packet as captured. Nothing of it is run.

    Returns
    -------
    dict
        The task result under its wire names (``wayproof schema result``).

    Raises
    ------
    InputError
        When a field has the wrong type or is out of range.
    """
    from wayproof.fitness.task import need_of, task_line

    need = (
        need_of_task(task)
        if isinstance(task, NavigationFitnessTask)
        else need_of(task_line(task, prefix="task"))
    )
    parsed = packet_of(packet, prefix="packet")
    return result_of(need, parsed, judge(need, parsed)).as_dict()
