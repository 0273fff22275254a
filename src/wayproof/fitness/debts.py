"""Which debts a result owes, and how they are called."""

import re

import msgspec

from wayproof.evidence.fitness_records import Debt, LatencyDebt, SufficiencyDebt, TaskResult

__all__ = ["debts_of", "numbered_debt"]

_ENDS_IN_ATTEMPT = re.compile(r"#[1-9][0-9]*\Z")


def debts_of(result: TaskResult, *, numbered: bool) -> list[Debt]:
    """List the debts of one result, sufficiency before latency.

    ``numbered`` appends ``#<attempt>`` to their ids: said when the task has several. An id
    that itself ends like that always gets the number, also for a single attempt: task
    ``a#2`` owes ``a#2#1``, and ``a#2`` is what attempt 2 of task ``a`` owes. So no two
    results share a debt id. (Results of ``wayproof.fitness/1`` keep the ids of then.)
    """
    attempt = 1 if result.attempt is msgspec.UNSET else result.attempt
    name = result.task_id
    if numbered or (result.vacuous is not msgspec.UNSET and _ENDS_IN_ATTEMPT.search(name)):
        name = f"{name}#{attempt}"
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


def numbered_debt(debt: Debt, attempt: int, *, first_form: bool = False) -> Debt:
    """Append the attempt to the id of a debt whose task turned out to have several."""
    if not first_form and _ENDS_IN_ATTEMPT.search(debt.debt_id):
        return debt  # it was appended already, whether the task has several or not
    return msgspec.structs.replace(debt, debt_id=f"{debt.debt_id}#{attempt}")
