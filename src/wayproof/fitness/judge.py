"""The core predicate: one task and one packet in, what was found and what failed out."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from wayproof.canonical import Record, canonical_bytes, canonical_number
from wayproof.evidence.fitness_names import LatencyStatus
from wayproof.evidence.fitness_records import TaskResult
from wayproof.fitness.ladder import failed_checks
from wayproof.fitness.latency import latency_status
from wayproof.fitness.packet import Packet, defaulted_packet_fields, packet_of
from wayproof.fitness.task import (
    DEFAULTS,
    NavigationFitnessTask,
    Need,
    TaskLine,
    defaulted_task_fields,
    fold,
    in_canonical_order,
    line_of_task,
    need_of,
    task_line,
    task_sha256,
)

__all__ = ["Judgement", "evaluate_task", "judge", "ratio", "result_of", "vacuous_metrics"]

_TIMED_OUT, _ERROR, _MISSING, _WEAK, _FORBIDDEN = 1, 2, 4, 8, 16  # bits of ladder.Facts


class Judgement(msgspec.Struct, frozen=True, gc=False):
    """What judging found, before it is written down.

    ``fact_mask`` packs :class:`~wayproof.fitness.ladder.Facts`; ``selected`` holds the
    distinct selected ids as keys, in the packet's order; ``relevant_count`` is how many
    of them some expected id matches. It is ``vacuous`` when no rung was examined.
    """

    fact_mask: int
    latency_status: LatencyStatus
    wall_ms: int | float | None
    selected: dict[str, None]
    found: Sequence[str]
    missing: Sequence[str]
    relevant_count: int
    forbidden_hits: Sequence[str]
    missing_terms: Sequence[str]
    first_contact_known: bool
    vacuous: bool


def _read_packet(packet: Packet) -> tuple[dict[str, None], list[str | None]]:
    """Return the distinct selected ids, in the packet's order, and all text with scent.

    Selected are ``selected_artifacts`` and each row's ``kind_id:row_id`` and
    ``artifact_ids``; blank ones are dropped.
    """
    selected: dict[str, None] = dict.fromkeys(packet.selected_artifacts or ())
    texts = [packet.summary, packet.title, packet.route_hint, packet.first_contact_command]
    for row in packet.selected_rows or ():
        kind_id, row_id, artifact_ids = row.kind_id, row.row_id, row.artifact_ids
        if kind_id and row_id and not kind_id.isspace() and not row_id.isspace():
            selected[f"{kind_id}:{row_id}"] = None
        if artifact_ids:
            for artifact_id in artifact_ids:
                selected[artifact_id] = None
        texts += (row.title, row.summary, row.reason)
    if not all(map(str.strip, selected)):
        selected = {text: None for text in selected if text and not text.isspace()}
    return selected, texts


def judge(need: Need, packet: Packet) -> Judgement:
    """Judge one packet against one task.

    The two axes are computed side by side and neither looks at the other: ``fact_mask``
    carries everything about sufficiency, ``latency_status`` everything about time.
    """
    error = packet.error
    selected, texts = _read_packet(packet)
    expected = need.expected
    found: Sequence[str]
    if need.prefixes:
        found = [wanted for wanted in expected if _is_found(wanted, need, selected)]
        relevant_count = _relevant_count(need, selected)
    else:
        found = [wanted for wanted in expected if wanted in selected]
        relevant_count = len(found)
    missing: Sequence[str] = ()
    if len(found) != len(expected):
        missing = [wanted for wanted in expected if wanted not in found]

    command = packet.first_contact_command
    known = command is not None and bool(command) and not command.isspace()
    hits: Sequence[str] = ()
    if command is not None and known:
        hits = [text for text in need.forbidden if text in command]

    missing_terms: Sequence[str] = ()
    if need.terms:
        text = "\n".join([*filter(None, texts), *selected])
        missing_terms = need.terms
        if text.isascii():  # folding ASCII keeps what is lower case already
            missing_terms = [term for term in missing_terms if term not in text]
        if missing_terms:
            text = fold(text)
            missing_terms = [term for term in missing_terms if term not in text]

    timed_out = packet.timed_out is True
    wall_ms = packet.wall_ms
    if wall_ms is not None:
        wall_ms = canonical_number(round(wall_ms, 3))
    mask = (
        (_TIMED_OUT if timed_out else 0)
        | (_ERROR if error else 0)
        | (_MISSING if missing else 0)
        | (_WEAK if missing_terms else 0)
        | (_FORBIDDEN if hits else 0)
    )
    return Judgement(
        mask,
        latency_status(wall_ms, timed_out, need.latency_budget_ms),
        wall_ms,
        selected,
        found,
        missing,
        relevant_count,
        hits,
        missing_terms,
        known,
        not (mask or expected or need.terms or (need.forbidden and known)),
    )


def _is_found(wanted: str, need: Need, selected: dict[str, None]) -> bool:
    if wanted[-1] == "*" and wanted not in need.literal:
        prefix = wanted[:-1]
        return any(chosen.startswith(prefix) for chosen in selected)
    return wanted in selected


def _relevant_count(need: Need, selected: dict[str, None]) -> int:
    exact = {wanted for wanted in need.expected if wanted[-1] != "*" or wanted in need.literal}
    return sum(chosen in exact or chosen.startswith(need.prefixes) for chosen in selected)


@functools.lru_cache(maxsize=1 << 14)
def ratio(part: int, whole: int) -> int | float:
    """Divide to 4 decimals; 1 when ``whole`` is 0 (the caller says that it is vacuous)."""
    return canonical_number(round(part / whole, 4)) if whole else 1


# Making a record from 30 keywords takes longer than judging a packet. This twin has the
# same fields in the same order, by position; ``_result_row`` types it as the original.
_Row = msgspec.defstruct(
    "TaskResult",
    [(field.name, field.type) for field in msgspec.structs.fields(TaskResult)],
    bases=(Record,),
    frozen=True,
    gc=False,
    kw_only=False,
)
_result_row = cast("Callable[..., TaskResult]", _Row)


def result_of(task: TaskLine, need: Need, packet: Packet, found: Judgement) -> TaskResult:
    """Write a judgement down as the task's result record."""
    expected_count, selected_count = len(need.expected), len(found.selected)
    term_count = len(need.terms)
    failed = failed_checks(found.fact_mask)
    selected = sorted(found.selected)
    command = packet.first_contact_command
    error = packet.error
    default = DEFAULTS
    forbidden_status = scent_status = "unscored"
    if need.forbidden and found.first_contact_known:
        forbidden_status = "fail" if found.forbidden_hits else "pass"
    scent_coverage = None
    if term_count:
        scent_status = "fail" if found.missing_terms else "pass"
        scent_coverage = ratio(term_count - len(found.missing_terms), term_count)
    # By position, in the order of TaskResult's fields, which is that of their names.
    return _result_row(
        msgspec.UNSET if packet.attempt is None else packet.attempt,  # attempt
        command if packet.command_used is None else packet.command_used,  # command_used
        defaulted_task_fields(task) + defaulted_packet_fields(packet),  # defaulted_fields
        _written_error(error) if error else None if error is msgspec.UNSET else error,  # error
        need.expected,  # expected_artifacts
        failed,  # failed_checks
        default.family if task.family is None else task.family,  # family
        command,  # first_contact_command
        found.forbidden_hits,  # forbidden_first_route_hits
        forbidden_status,
        found.found,  # found_expected_artifacts
        need.latency_budget_ms,
        found.latency_status,
        need.literal,  # literal_ids
        found.missing,  # missing_expected_artifacts
        found.missing_terms,  # missing_scent_terms
        ratio(found.relevant_count, selected_count),  # precision_at_packet
        ratio(len(found.found), expected_count),  # recall_at_packet
        None if task.relevance is None else in_canonical_order(task.relevance),  # relevance
        default.route_role if task.route_role is None else task.route_role,  # route_role
        need.route_type,
        scent_coverage,
        scent_status,
        selected_count,  # selected_artifact_count
        selected,  # selected_artifacts
        _places(found.selected, selected),  # selection_order
        failed[0] if failed else None,  # sufficiency_failure_kind
        "fail" if failed else "pass",  # sufficiency_status
        default.task_id if task.task_id is None else task.task_id,  # task_id
        default.task_prompt if task.task_prompt is None else task.task_prompt,  # task_prompt
        task_sha256(task, need),
        packet.timed_out is True,  # timed_out
        found.vacuous,
        vacuous_metrics(expected_count, selected_count),
        found.wall_ms,
    )


def _places(chosen: Iterable[str], in_order: Sequence[str]) -> Sequence[int]:
    """Return where each of the chosen ids stands among them in sorted order."""
    place = dict(zip(in_order, range(len(in_order)), strict=True))
    return list(map(place.__getitem__, chosen))


def vacuous_metrics(expected_count: int, selected_count: int) -> tuple[str, ...]:
    """Name the metrics whose denominator was 0."""
    if expected_count and selected_count:
        return ()
    names = (("recall_at_packet", expected_count), ("precision_at_packet", selected_count))
    return tuple([name for name, count in names if not count])


def _written_error(error: Any) -> Any:
    """Keep an error's text as it is; bring an error object into canonical form."""
    if isinstance(error, str):
        return error
    return msgspec.Raw(canonical_bytes(error))


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
    line = (
        line_of_task(task)
        if isinstance(task, NavigationFitnessTask)
        else task_line(task, prefix="task")
    )
    need, parsed = need_of(line), packet_of(packet, prefix="packet")
    return result_of(line, need, parsed, judge(need, parsed)).as_dict()
