"""Fixture cases: a benchmark together with what it is expected to give."""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from wayproof.errors import InputError
from wayproof.fitness.benchmark import evaluate_benchmark
from wayproof.fitness.near_miss import refuse_nearly_known, shown_key
from wayproof.fitness.plain import plain_object
from wayproof.strict_json import convert_typed, read_document
from wayproof.text import quoted

__all__ = ["CaseFile", "builtin_case_dir", "evaluate_case", "evaluate_fixture_dir", "export_cases"]

_FIXTURES = Path("first_wave/engine_room_navigation_fitness_benchmark/input")
_ABSENT = "(no such field)"


class CaseFile(msgspec.Struct, frozen=True):
    """A case file. A case without any expectation is unmet: it could not fail.

    Attributes
    ----------
    benchmark
        The benchmark document to score.
    case_id
        Defaults to the file's stem.
    expected_status
        The suite status that is expected; ``pass`` when not given.
    expected_summary
        ``{summary field: value}``.
    expected_task_statuses
        ``{task_id: {result field: value}}``.
    """

    benchmark: dict[str, Any]
    case_id: str | None = None
    expected_status: str | None = None
    expected_summary: dict[str, Any] | None = None
    expected_task_statuses: dict[str, dict[str, Any]] | None = None


_EXPECTATIONS = ("expected_status", "expected_summary", "expected_task_statuses")


def evaluate_case(
    case: Mapping[str, Any], *, path: str | None = None, default_case_id: str = "unnamed_case"
) -> dict[str, Any]:
    """Score a case's benchmark and compare it with the case's expectations.

    Parameters
    ----------
    case
        The case document.
    path
        Where it came from, relative to its folder; only repeated in the result.
    default_case_id
        Used when the case names none.

    Returns
    -------
    dict
        ``case_id``, ``path``, ``expected_status``, ``observed_status``,
        ``expectation_met``, ``summary_checks`` and ``task_checks`` (each with
        ``expected``, ``observed``, ``ok``), and the suite ``result``.
    """
    plain = plain_object(case, "case")
    document = convert_typed(plain, CaseFile)
    _refuse_misspelt_expectation(plain)
    try:
        result = evaluate_benchmark(document.benchmark)
    except InputError as error:
        raise InputError(
            error.problem,
            index=error.index,
            field=f"benchmark.{error.field}" if error.field else "benchmark",
            expected=error.expected,
            found=error.found,
            mend=error.mend,
        ) from None
    expected_status = "pass" if document.expected_status is None else document.expected_status
    summary_checks = {
        name: _check(expected, result["summary"].get(name, _ABSENT), name in result["summary"])
        for name, expected in sorted((document.expected_summary or {}).items())
    }
    task_checks = {
        task_id: _task_checks(task_id, fields, result["task_results"])
        for task_id, fields in sorted((document.expected_task_statuses or {}).items())
    }
    checks = [*summary_checks.values()]
    for fields in task_checks.values():
        checks += fields.values()
    # Naming a task without a field expects nothing of it, but that it is there.
    has_expectation = bool(
        summary_checks
        or any((document.expected_task_statuses or {}).values())
        or document.expected_status is not None
    )
    return {
        "case_id": document.case_id or default_case_id,
        "path": path,
        "expected_status": expected_status,
        "observed_status": result["status"],
        "expectation_met": has_expectation
        and result["status"] == expected_status
        and all(check["ok"] for check in checks),
        "summary_checks": summary_checks,
        "task_checks": task_checks,
        "result": result,
    }


def _refuse_misspelt_expectation(case: Mapping[str, Any]) -> None:
    """Unknown keys may be notes; a misspelt expectation would be dropped in silence."""
    for key in case:
        if key.casefold().startswith("expect") and key not in _EXPECTATIONS:
            raise InputError(
                "unknown expectation",
                field=shown_key(key, ""),
                expected=", ".join(_EXPECTATIONS),
                mend="a misspelt expectation would never be checked",
            )
    refuse_nearly_known(case, CaseFile.__struct_fields__)


def _check(expected: Any, observed: Any, exists: bool, why: str | None = None) -> dict[str, Any]:
    check = {
        "expected": expected,
        "observed": observed,
        "ok": exists and same_json(expected, observed),
    }
    return check if why is None else {**check, "why": why}


def _task_checks(
    task_id: str, fields: dict[str, Any], results: list[dict[str, Any]]
) -> dict[str, Any]:
    carriers = [result for result in results if result["task_id"] == task_id]
    if len(carriers) != 1:
        why = (
            "no result has this task_id"
            if not carriers
            else f"{len(carriers)} results have this task_id, so none is meant"
        )
        # An expectation without fields names the task all the same.
        names = fields or {"task_id": task_id}
        return {
            name: _check(expected, None, exists=False, why=why)
            for name, expected in sorted(names.items())
        }
    found = carriers[0]
    return {
        name: _check(expected, found.get(name, _ABSENT), name in found)
        for name, expected in sorted((fields or {"task_id": task_id}).items())
    }


def same_json(left: Any, right: Any) -> bool:
    """Compare JSON values: ``true`` is not 1, ``"5"`` is not 5, but 1 and 1.0 are one number."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left == right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_json(left[k], right[k]) for k in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same_json, left, right))
    return type(left) is type(right) and bool(left == right)


def evaluate_fixture_dir(folder: Path | str) -> dict[str, Any]:
    """Run every ``*.json`` case file of a folder through :func:`evaluate_case`.

    Nothing is written. Files are taken in the order of their names.

    Returns
    -------
    dict
        ``case_count``, ``passed_case_count``, ``status`` (``pass`` only when there was a
        case and all matched) and ``cases``.

    Raises
    ------
    InputError
        When the folder can't be read, holds no case file, or a case can't be used.
    """
    root = Path(folder)
    cases = [_run_case(root, path) for path in _case_paths(root)]
    passed_count = sum(case["expectation_met"] for case in cases)
    return {
        "case_count": len(cases),
        "passed_case_count": passed_count,
        "status": "pass" if cases and passed_count == len(cases) else "fail",
        "cases": cases,
    }


def export_cases(folder: Path | str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Take the tasks and packets out of a folder's cases, as rows for separate files.

    Returns
    -------
    (tasks, packets)
        In the order of cases; each packet carries its task's ``task_id``.

    Raises
    ------
    InputError
        When a case can't be used, or a task has no ``task_id`` to be joined by.
    """
    root = Path(folder)
    tasks: dict[str, dict[str, Any]] = {}
    packets: list[dict[str, Any]] = []
    for path in _case_paths(root):
        _run_case(root, path)  # refuses what can't be scored
        for index, case in enumerate(read_document(path)["benchmark"]["cases"]):
            task_id = case["task"].get("task_id")
            if task_id is None or tasks.setdefault(task_id, case["task"]) != case["task"]:
                raise InputError(
                    "a task file needs one task for each id",
                    file=str(path),
                    index=f"case {index}",
                    field="benchmark.task.task_id",
                    expected="an id that no other task of the folder has",
                    found=quoted(task_id),
                )
            if case.get("packet") is not None:
                packets.append({"task_id": task_id, **case["packet"]})
    return list(tasks.values()), packets


def _case_paths(root: Path) -> list[Path]:
    if not root.is_dir():
        raise InputError("not a folder", file=str(root), expected="a folder of case files")
    try:
        paths = [path for path in root.rglob("*.json") if not path.is_dir()]
    except OSError as error:
        raise InputError("can't be read", file=str(root), found=str(error)) from None
    if not paths:
        raise InputError(
            "folder holds no case", file=str(root), expected="at least one .json case file"
        )
    return sorted(paths, key=lambda path: path.relative_to(root).as_posix())


def _run_case(root: Path, path: Path) -> dict[str, Any]:
    if path.exists() and not path.is_file():
        raise InputError("not a regular file", file=str(path), expected="a case file")
    case = read_document(path)
    if not isinstance(case, dict):
        raise InputError(
            "not an object", file=str(path), expected="a case object", found=quoted(case)
        )
    try:
        return evaluate_case(
            case, path=path.relative_to(root).as_posix(), default_case_id=path.stem
        )
    except InputError as error:
        raise error.at(file=str(path)) from None


def builtin_case_dir() -> Path:
    """Return the folder of the four public cases: in the wheel, or in the source tree."""
    installed = Path(str(resources.files("wayproof"))) / "_fixtures" / _FIXTURES
    if installed.is_dir():
        return installed
    return Path(__file__).parents[3] / "fixtures" / _FIXTURES
