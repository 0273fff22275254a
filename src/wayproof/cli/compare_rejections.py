"""What ``wayproof compare`` shows of two bundles of rejected calls."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wayproof.errors import InputError

if TYPE_CHECKING:
    from wayproof.evidence.comparison_records import RejectionComparison, RejectionMeasure

__all__ = ["show"]

_TITLES = {
    "invalid_per_100_calls": "without effect per 100 calls",
    "reached": "reached again",
    "at_floor": "at the least cost",
}
_VERDICTS = {
    "no_task_changed": "no task changed",
    "too_few": "no verdict",
    "unmeasured": "not measured",
}
_TOP = 5


def show(
    comparison: "RejectionComparison", formats: Sequence[Any], *, gates: bool, report: bool
) -> int:
    """Print the comparison, or write it as JSON.

    Raises
    ------
    InputError
        For gates, a page, or another format: bundles of rejected calls have none.
    """
    if gates or report:
        raise InputError(
            "bundles of rejected calls are compared without gates and without a page",
            mend="leave them out; --no-config, where a settings file asks for them",
        )
    for one in formats:
        if one.name != "json":
            raise InputError(
                "no such form of a comparison of rejected calls",
                setting="format",
                expected="json",
                found=one.name,
            )
    from wayproof.cli.output_formats import write_formats

    if not write_formats(formats, comparison):
        _print(comparison)
    return 0


def _print(comparison: "RejectionComparison") -> None:
    from rich.console import Console
    from rich.table import Table

    from wayproof.text import clip, harmless

    names = [harmless(clip(one.name, 40)) for one in (comparison.base, comparison.new)]
    print(f"{names[0]} → {names[1]}: {len(comparison.tasks)} tasks on both sides")
    table = Table(box=None, pad_edge=False)
    table.add_column("measure")
    for title in ("base", "new", "difference", "95 % interval", "tasks"):
        table.add_column(title, justify="right")
    table.add_column("verdict")
    for row in comparison.measures:
        table.add_row(
            _TITLES[row.name],
            _number(row.base),
            _number(row.new),
            _number(row.difference, signed=True),
            "–" if row.low is None else f"{_number(row.low)} … {_number(row.high)}",
            str(row.pairs),
            _verdict(row),
        )
    Console(highlight=False, soft_wrap=True).print(table)
    for row in comparison.measures:
        print(f"{_TITLES[row.name]}: {row.why}")
    _tasks(comparison)
    for side, tasks in (("base", comparison.only_base), ("new", comparison.only_new)):
        if tasks:
            shown = ", ".join(harmless(clip(one, 60)) for one in tasks[:_TOP])
            print(
                f"only in {side}: {len(tasks)} tasks ({shown}{' …' if len(tasks) > _TOP else ''})"
            )
    for text in (*comparison.left_out, *comparison.limits):
        print(text)


def _verdict(row: "RejectionMeasure") -> str:
    return _VERDICTS.get(row.verdict, row.verdict)


def _number(value: float | None, *, signed: bool = False) -> str:
    if value is None:
        return "–"
    return f"{value:+.3f}" if signed else f"{value:.3f}"


def _tasks(comparison: "RejectionComparison") -> None:
    """Name the tasks that changed most."""
    from wayproof.text import clip, harmless

    changed = [one for one in comparison.tasks if one.base_invalid != one.new_invalid]
    changed.sort(key=lambda one: (-abs(one.new_invalid - one.base_invalid), one.task_id))
    for one in changed[:_TOP]:
        name = harmless(clip(one.task_id, 60))
        print(
            f"  {name}: rejected {one.base_invalid} → {one.new_invalid}, "
            f"reached {one.base_reached} of {one.base_episodes} → "
            f"{one.new_reached} of {one.new_episodes}"
        )
