"""A whole benchmark document: every case judged, counted, and its debts listed."""

from collections.abc import Mapping
from typing import Any

import msgspec

from wayproof.errors import InputError
from wayproof.evidence.fitness_records import TaskResult
from wayproof.fitness.aggregate import Shape, SuiteTotals, percentile_of, shape_of, suite_record
from wayproof.fitness.debts import debts_of
from wayproof.fitness.judge import judge, result_of
from wayproof.fitness.near_miss import refuse_nearly_known
from wayproof.fitness.packet import NO_PACKET, packet_of
from wayproof.fitness.plain import plain_object
from wayproof.fitness.task import need_of, task_line
from wayproof.strict_json import convert_typed

__all__ = ["DEFAULT_SUITE", "Benchmark", "evaluate_benchmark"]

DEFAULT_SUITE = "public_fixture"


class BenchmarkCase(msgspec.Struct, frozen=True):
    """One pair of a benchmark document.

    Attributes
    ----------
    task
        The task, as ``wayproof schema task`` describes it.
    packet
        The packet captured for it; null: none was captured, which is a ``route_error``.
    """

    task: dict[str, Any]
    packet: dict[str, Any] | None = None


class Benchmark(msgspec.Struct, frozen=True):
    """A benchmark document.

    Attributes
    ----------
    cases
        Pairs of task and packet, in the order of the results.
    suite
        Name that the result carries; ``public_fixture`` when not given.
    """

    cases: list[BenchmarkCase]
    suite: str | None = None


def evaluate_benchmark(benchmark: Mapping[str, Any]) -> dict[str, Any]:
    """Score every case of a benchmark document.

    Parameters
    ----------
    benchmark
        ``{"suite": name, "cases": [{"task": {…}, "packet": {…}}]}``.

    Returns
    -------
    dict
        The suite result: ``schema_version``, ``status``, ``suite``, ``limits``,
        ``summary``, ``route_type_metrics``, ``task_results`` (input order) and
        ``debt_candidates`` (task order, sufficiency before latency).

    Raises
    ------
    InputError
        Naming the case and field that can't be used, or both cases that share a
        ``task_id`` without different ``attempt`` values.
    """
    plain = plain_object(benchmark, "benchmark")
    document = convert_typed(plain, Benchmark)
    refuse_nearly_known(plain, Benchmark.__struct_fields__)
    for index, row in enumerate(plain["cases"]):
        refuse_nearly_known(row, BenchmarkCase.__struct_fields__, prefix=f"cases[{index}]")
    results: list[TaskResult] = []
    shapes: dict[object, list[Shape]] = {}
    route_codes: dict[str, int] = {}
    seen: dict[tuple[str, int], int] = {}
    for index, case in enumerate(document.cases):
        try:
            result, shape = _score(case, route_codes)
        except InputError as error:
            raise error.at(index=f"case {index}") from None
        key: object = index
        if "task_id" not in result.defaulted_fields:
            key = result.task_id
            _refuse_repeat(seen, result, index)
        results.append(result)
        shapes.setdefault(key, []).append(shape)
    totals = SuiteTotals()
    for attempts in shapes.values():
        totals.add_task(attempts)
    walls_ms = [result.wall_ms for result in results if result.wall_ms is not None]
    suite = DEFAULT_SUITE if document.suite is None else document.suite
    return {
        **suite_record(totals, percentile_of(walls_ms), suite=suite, route_types=list(route_codes)),
        "task_results": [result.as_dict() for result in results],
        "debt_candidates": [
            debt.as_dict()
            for result in results
            for debt in debts_of(result, numbered=_has_attempts(shapes, result))
        ],
    }


def _has_attempts(shapes: dict[object, list[Shape]], result: TaskResult) -> bool:
    """Tell whether a task that was given a name has several results."""
    is_named = "task_id" not in result.defaulted_fields
    return is_named and len(shapes.get(result.task_id, ())) > 1


def _score(case: BenchmarkCase, route_codes: dict[str, int]) -> tuple[TaskResult, Shape]:
    task = task_line(case.task, prefix="task")
    need = need_of(task)
    packet = NO_PACKET if case.packet is None else packet_of(case.packet, prefix="packet")
    found = judge(need, packet)
    route_code = route_codes.setdefault(need.route_type, len(route_codes))
    return result_of(task, need, packet, found), shape_of(need, found, route_code)


def _refuse_repeat(seen: dict[tuple[str, int], int], result: TaskResult, index: int) -> None:
    attempt = 1 if result.attempt is msgspec.UNSET else result.attempt
    first = seen.setdefault((result.task_id, attempt), index)
    if first != index:
        raise InputError(
            "two cases have one task_id",
            index=f"cases {first} and {index}",
            field="task.task_id",
            expected="distinct ids, or packets with different attempt values",
            found=f"{result.task_id}, attempt {attempt}, twice",
        )
