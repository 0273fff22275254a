"""What is written down: one result a task, and the debts that go to the repair queues."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from wayproof.canonical import MAX_SAFE_INTEGER, Record
from wayproof.evidence.fitness_names import LatencyStatus

__all__ = [
    "SECOND_FORM_FIELDS",
    "Debt",
    "Grade",
    "LatencyDebt",
    "PositiveInt",
    "SufficiencyDebt",
    "TaskResult",
]

PositiveInt = Annotated[int, msgspec.Meta(ge=1, le=MAX_SAFE_INTEGER)]
Grade = Annotated[int, msgspec.Meta(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)] | Annotated[int, msgspec.Meta(ge=0, le=1)]
Wall = (
    Annotated[float, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]
    | Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]
)
Texts = Sequence[str]


class TaskResult(Record, frozen=True, kw_only=True):
    """One task (and attempt) scored. Fields stand in canonical order.

    The fields of :data:`SECOND_FORM_FIELDS` came with ``wayproof.fitness/2``; in a result
    of ``/1`` they are ``msgspec.UNSET``.

    Attributes
    ----------
    attempt
        Only where the packet carried one.
    command_used
        The command that made the packet; the first command where the packet names none.
    defaulted_fields
        Task fields, then ``packet.`` fields, that were missing and took a default.
    error
        The packet's error as it stood, an object in canonical form; null when there was none.
    expected_artifacts
        The task's expected ids, each once, sorted.
    failed_checks
        Every rung that would have failed, in ladder order.
    family
        The task's grouping label.
    first_contact_command
        Null when the packet doesn't know it.
    forbidden_first_route_hits
        The forbidden texts that the first command contains, in task order.
    forbidden_status
        ``unscored`` when nothing is forbidden or the first command is unknown.
    found_expected_artifacts, missing_expected_artifacts
        Expected ids that were, or were not, selected; sorted.
    latency_budget_ms
        The task's budget in milliseconds.
    latency_status
        The second axis; it never touches sufficiency.
    literal_ids
        Expected or graded ids that end in ``*`` and are no prefixes, sorted.
    missing_scent_terms
        Terms that the packet's text lacks, folded (lower case), in task order.
    precision_at_packet
        Selected ids that some expected id matches ÷ selected ids, to 4 decimals; 1 where
        vacuous, and then named in ``vacuous_metrics``.
    recall_at_packet
        Found ÷ expected ids, to 4 decimals; 1 where vacuous, and then named in
        ``vacuous_metrics``.
    relevance
        The task's grades, ``{id: grade}`` in canonical order; null where it has none.
    route_role
        What the route was for.
    route_type
        Kind of navigation surface.
    scent_coverage
        Found terms ÷ terms, to 4 decimals; null when the task has no terms.
    scent_status
        ``unscored`` when the task has no terms.
    selected_artifact_count
        How many distinct ids the packet selected.
    selected_artifacts
        Distinct ids of ``selected_artifacts`` and of the rows, sorted.
    selection_order
        The packet's order: indexes into ``selected_artifacts``, each once, an id where it
        first stood.
    sufficiency_failure_kind
        The first rung that failed; null when none did.
    sufficiency_status
        The first axis.
    task_id
        The task's id, or ``unknown_task``.
    task_prompt
        What the cold agent was asked.
    task_sha256
        SHA-256 of the task in canonical form: the fields that it gives, without blank ids
        and terms, and without keys that scoring doesn't know.
    timed_out
        Whether the route was cut off.
    vacuous
        True when no rung was examined: nothing expected, scent and forbidden routes
        unscored, and no failure. It could not fail, so it is in no share.
    vacuous_metrics
        Metrics whose denominator was 0: 1 by convention, and left out of means.
    wall_ms
        Milliseconds to 3 decimals; null when nobody measured.
    """

    attempt: PositiveInt | msgspec.UnsetType = msgspec.UNSET
    command_used: str | None
    defaulted_fields: Texts
    error: str | dict[str, Any] | None
    expected_artifacts: Texts
    failed_checks: Texts
    family: str
    first_contact_command: str | None
    forbidden_first_route_hits: Texts
    forbidden_status: Literal["unscored", "pass", "fail"]
    found_expected_artifacts: Texts
    latency_budget_ms: PositiveInt
    latency_status: LatencyStatus
    literal_ids: Texts | msgspec.UnsetType = msgspec.UNSET
    missing_expected_artifacts: Texts
    missing_scent_terms: Texts
    precision_at_packet: Share
    recall_at_packet: Share
    relevance: dict[str, Grade] | msgspec.UnsetType | None = msgspec.UNSET
    route_role: str
    route_type: str
    scent_coverage: Share | None
    scent_status: Literal["unscored", "pass", "fail"]
    selected_artifact_count: Annotated[int, msgspec.Meta(ge=0)]
    selected_artifacts: Texts
    selection_order: Sequence[Annotated[int, msgspec.Meta(ge=0)]] | msgspec.UnsetType = (
        msgspec.UNSET
    )
    sufficiency_failure_kind: str | None
    sufficiency_status: Literal["pass", "fail"]
    task_id: str
    task_prompt: str
    task_sha256: str | msgspec.UnsetType = msgspec.UNSET
    timed_out: bool
    vacuous: bool | msgspec.UnsetType = msgspec.UNSET
    vacuous_metrics: Texts
    wall_ms: Wall | None


SECOND_FORM_FIELDS = ("literal_ids", "relevance", "selection_order", "task_sha256", "vacuous")
"""What ``wayproof.fitness/2`` added to a result."""


# The tag comes first, and `debt_class` sorts first: the encoding stays canonical.
class SufficiencyDebt(
    Record, frozen=True, kw_only=False, gc=False, tag_field="debt_class", tag="sufficiency_debt"
):
    """A route that pointed at the wrong things: repair its aim.

    Attributes
    ----------
    debt_id
        ``sufficiency:<task_id>``, with ``#<attempt>`` where the task has several, or where
        its id looks as if it ended in one.
    forbidden_first_route_hits
        Forbidden texts that the first command contains.
    missing_expected_artifacts
        Expected ids that were not selected.
    repair_class
        The failure kind: which rung of the ladder named the failure.
    """

    debt_id: str
    forbidden_first_route_hits: Texts
    missing_expected_artifacts: Texts
    repair_class: str


class LatencyDebt(
    Record, frozen=True, kw_only=False, gc=False, tag_field="debt_class", tag="latency_debt"
):
    """A route that was too slow: repair its speed. It says nothing about its aim.

    Attributes
    ----------
    debt_id
        ``latency:<task_id>``, with ``#<attempt>`` as for a sufficiency debt.
    latency_budget_ms
        The budget it broke, in milliseconds.
    latency_status
        ``fail`` or ``timeout``.
    wall_ms
        Milliseconds it took; null when it was cut off and nobody measured.
    """

    debt_id: str
    latency_budget_ms: PositiveInt
    latency_status: LatencyStatus
    wall_ms: Wall | None


Debt = SufficiencyDebt | LatencyDebt
