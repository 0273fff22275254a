"""Which debts a result owes."""

import msgspec

from wayproof.evidence.fitness_records import Debt, LatencyDebt, SufficiencyDebt, TaskResult

__all__ = ["debts_of"]


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
