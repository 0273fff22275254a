"""What is written down: one result a task, and the debts that go to the repair queues."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

import msgspec

from wayproof.canonical import Record
from wayproof.fitness.latency import LatencyStatus

__all__ = ["LatencyDebt", "SufficiencyDebt", "TaskResult", "debts_of", "result_row"]

Metric = int | float
Texts = Sequence[str]


class TaskResult(Record, frozen=True, kw_only=True):
    """One task (and attempt) scored. Fields stand in canonical order.

    Attributes
    ----------
    attempt
        Only where the packet carried one.
    defaulted_fields
        Task fields, then ``packet.`` fields, that were missing and took a default.
    failed_checks
        Every rung that would have failed, in ladder order.
    first_contact_command
        Null when the packet doesn't know it.
    recall_at_packet, precision_at_packet
        To 4 decimals; 1 where vacuous, and then named in ``vacuous_metrics``.
    scent_coverage
        Found terms ÷ terms, to 4 decimals; null when the task has no terms.
    wall_ms
        Milliseconds to 3 decimals; null when nobody measured.
    """

    attempt: int | msgspec.UnsetType = msgspec.UNSET
    command_used: str | None
    defaulted_fields: Texts
    error: Any
    expected_artifacts: Texts
    failed_checks: Texts
    family: str
    first_contact_command: str | None
    forbidden_first_route_hits: Texts
    forbidden_status: Literal["unscored", "pass", "fail"]
    found_expected_artifacts: Texts
    latency_budget_ms: int
    latency_status: LatencyStatus
    missing_expected_artifacts: Texts
    missing_scent_terms: Texts
    precision_at_packet: Metric
    recall_at_packet: Metric
    route_role: str
    route_type: str
    scent_coverage: Metric | None
    scent_status: Literal["unscored", "pass", "fail"]
    selected_artifact_count: int
    selected_artifacts: Texts
    sufficiency_failure_kind: str | None
    sufficiency_status: Literal["pass", "fail"]
    task_id: str
    task_prompt: str
    timed_out: bool
    vacuous_metrics: Texts
    wall_ms: Metric | None


# Making a record from 30 keywords takes longer than judging a packet. This twin has the
# same fields in the same order, by position; :func:`result_row` types it as the original.
_Row = msgspec.defstruct(
    "TaskResult",
    [(field.name, field.type) for field in msgspec.structs.fields(TaskResult)],
    bases=(Record,),
    frozen=True,
    gc=False,
    kw_only=False,
)
result_row = cast("Callable[..., TaskResult]", _Row)


# The tag comes first, and `debt_class` sorts first: the encoding stays canonical.
class SufficiencyDebt(
    Record, frozen=True, kw_only=False, gc=False, tag_field="debt_class", tag="sufficiency_debt"
):
    """A route that pointed at the wrong things: repair its aim."""

    debt_id: str
    forbidden_first_route_hits: Texts
    missing_expected_artifacts: Texts
    repair_class: str
    """The failure kind: which rung of the ladder named the failure."""


class LatencyDebt(
    Record, frozen=True, kw_only=False, gc=False, tag_field="debt_class", tag="latency_debt"
):
    """A route that was too slow: repair its speed. It says nothing about its aim."""

    debt_id: str
    latency_budget_ms: int
    latency_status: LatencyStatus
    wall_ms: Metric | None


Debt = SufficiencyDebt | LatencyDebt


def debts_of(result: TaskResult, *, numbered: bool) -> list[Debt]:
    """List the debts of one result, sufficiency before latency.

    ``numbered`` appends ``#<attempt>`` to their ids: said when the task has several.
    """
    attempt = 1 if result.attempt is msgspec.UNSET else result.attempt
    name = f"{result.task_id}#{attempt}" if numbered else result.task_id
    debts: list[Debt] = []
    if result.sufficiency_failure_kind is not None:
        debts.append(
            SufficiencyDebt(
                f"sufficiency:{name}",
                result.forbidden_first_route_hits,
                result.missing_expected_artifacts,
                result.sufficiency_failure_kind,
            )
        )
    if result.latency_status in {"fail", "timeout"}:
        debts.append(
            LatencyDebt(
                f"latency:{name}",
                result.latency_budget_ms,
                result.latency_status,
                result.wall_ms,
            )
        )
    return debts
