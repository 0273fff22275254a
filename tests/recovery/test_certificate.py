"""The certificate accepts the optimum and nothing else."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recovery.material import shipped_grids
from wayproof.evidence.recovery_records import GridRecord
from wayproof.recovery.certificate import certificate_fault
from wayproof.recovery.tracks.v0 import LoadedGrid


def changed(record: GridRecord, **fields: Any) -> GridRecord:
    return msgspec.structs.replace(record, **fields)


def with_potential(record: GridRecord, row: int, column: int, value: int | None) -> GridRecord:
    rows = [list(potentials) for potentials in record.potentials]
    rows[row][column] = value
    return changed(record, potentials=tuple(tuple(potentials) for potentials in rows))


def test_both_shipped_suites_certify() -> None:
    """Every grid of wfrb-v0 and explorer-sample proves its optimum."""
    for name, grids in (("wfrb-v0", 50), ("explorer-sample", 12)):
        faults = [grid.referee.certificate_fault for grid in shipped_grids(name)]
        assert faults == [None] * grids


@given(st.integers(0, 3), st.integers(0, 3), st.none() | st.integers(0, 30))
def test_any_single_wrong_potential_is_refused(
    worked: LoadedGrid, row: int, column: int, value: int | None
) -> None:
    """The system has one solution: no potential can be off, up or down, or be left out."""

    if worked.record.potentials[row][column] == value:
        return
    fault = certificate_fault(with_potential(worked.record, row, column, value))
    assert fault is not None
    assert fault.field.startswith(("potentials[", "start"))


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ((), "doesn't lead from start to target"),
        (((1, 0), (2, 0)), "doesn't lead from start to target"),
        (((0, 0), (1, 0)), "doesn't lead from start to target"),
        (((0, 0), (1, 0), (1, 1), (1, 2), (1, 3)), "makes a move that is rejected"),
        (((0, 0), (1, 3)), "makes a move that is rejected"),
        (((0, 0), (0, 1), (0, 2), (0, 3), (1, 3)), "is not optimal"),
    ],
)
def test_a_wrong_reference_path_is_refused(
    worked: LoadedGrid, path: tuple[tuple[int, int], ...], problem: str
) -> None:
    """It must lead from start to target, over free neighbours, at the optimum."""
    fault = certificate_fault(changed(worked.record, reference_path=path))
    assert fault is not None
    assert problem in fault.problem


def test_a_padded_path_is_refused(worked: LoadedGrid) -> None:
    """A step there and back costs more than the optimum."""
    path = worked.record.reference_path
    fault = certificate_fault(changed(worked.record, reference_path=(*path[:2], *path)))
    assert fault is not None
    assert fault.expected == "cost 8"
    assert fault.found == "cost 10"


def test_an_unreachable_target_is_refused(worked: LoadedGrid) -> None:
    """Honest potentials of an unsolvable grid leave the start without one."""
    fault = certificate_fault(
        changed(
            worked.record,
            rows=("1#1",),
            start=(0, 0),
            target=(0, 2),
            potentials=((None, None, 0),),
            reference_path=((0, 0), (0, 1), (0, 2)),
        )
    )
    assert fault is not None
    assert (fault.field, fault.problem) == ("start", "the target can't be reached")


@pytest.mark.parametrize(
    "fields",
    [
        {"rows": ()},
        {"rows": ("1193", "1#91", "1911", "111")},
        {"rows": ("1193", "1#91", "1911", "111x")},
        {"potentials": ()},
        {"potentials": ((8, 9, 4), (7, None, 1, 0), (6, 3, 2, 1), (5, 4, 3, 2))},
        {"target": (1, 1)},
        {"start": (4, 0)},
        {"target": (-1, 0)},
    ],
)
def test_a_misshapen_grid_is_a_fault_and_no_crash(
    worked: LoadedGrid, fields: dict[str, Any]
) -> None:
    """The certificate trusts no earlier check."""
    assert certificate_fault(changed(worked.record, **fields)) is not None


@given(st.data())
def test_a_changed_cell_is_refused_or_changes_no_optimum(
    worked: LoadedGrid, data: st.DataObject
) -> None:
    """When an edited grid still certifies, its potentials are optimal for it all the same."""

    from wayproof.recovery.grid import Grid
    from wayproof.recovery.planner import cost_to_go, potential_rows

    row, column = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    cell = data.draw(st.sampled_from("#123456789"))
    rows = list(worked.record.rows)
    rows[row] = rows[row][:column] + cell + rows[row][column + 1 :]
    edited = changed(worked.record, rows=tuple(rows))
    if certificate_fault(edited) is None:
        grid = Grid.parse(edited.rows, edited.start, edited.target)
        assert potential_rows(grid, cost_to_go(grid)) == edited.potentials
