"""The world's one function: what is accepted, what is rejected, and for which reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayproof.errors import InputError
from wayproof.evidence.recovery_names import FAILURE_KINDS
from wayproof.evidence.recovery_records import FINISH, Action, Cell
from wayproof.recovery.grid import MAX_CELLS, Grid
from wayproof.recovery.tracks.v0 import LoadedGrid
from wayproof.recovery.world import State, reset, step

FAR = 2**53 - 1


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    height, width = draw(st.integers(1, 6)), draw(st.integers(2, 6))
    row = st.text("#123456789", min_size=width, max_size=width)
    rows = draw(st.lists(row, min_size=height, max_size=height))
    rows[0] = "1" + rows[0][1:-1] + "1"
    return Grid.parse(rows, (0, 0), (0, width - 1))


actions = st.just(FINISH) | st.builds(
    lambda row, column: Action(move=(row, column)), st.integers(-2, 7), st.integers(-2, 7)
)


def test_reset_stands_on_the_start_with_nothing_spent(worked: LoadedGrid) -> None:
    """The start's own cost is not paid."""
    assert reset(worked.grid) == State((0, 0), 0, finished=False)


@pytest.mark.parametrize(
    ("position", "action", "rejection"),
    [
        ((1, 0), Action.to(1, 0), "invalid_path"),  # the same cell
        ((1, 0), Action.to(2, 1), "invalid_path"),  # a diagonal
        ((1, 0), Action.to(1, 2), "invalid_path"),  # across the wall
        ((1, 0), Action.to(1, -1), "collision"),  # off the grid
        ((1, 0), Action.to(1, 1), "collision"),  # a blocked cell
        ((0, 0), Action.to(-1, 0), "collision"),
        ((0, 0), Action.to(-1, -1), "invalid_path"),  # off the grid, but no neighbour
        ((3, 3), Action.to(4, 3), "collision"),
        ((3, 3), Action.to(FAR, FAR), "invalid_path"),
        ((1, 0), FINISH, "premature_end"),
        ((0, 0), FINISH, "premature_end"),
    ],
)
def test_rejections_name_their_reason_and_change_nothing(
    worked: LoadedGrid, position: Cell, action: Action, rejection: str
) -> None:
    """In the order invalid_path, collision, premature_end; state and cost stay."""
    before = State(position, 5, finished=False)
    outcome = step(worked.grid, before, action)
    assert (outcome.accepted, outcome.rejection, outcome.state) == (False, rejection, before)


def test_entering_a_cell_adds_its_cost(worked: LoadedGrid) -> None:
    """A move to a free neighbour costs what the neighbour costs."""
    outcome = step(worked.grid, State((0, 1), 1, finished=False), Action.to(0, 2))
    assert outcome.accepted
    assert outcome.state == State((0, 2), 10, finished=False)


def test_finish_on_the_target_ends_the_episode(worked: LoadedGrid) -> None:
    """It costs nothing, and the episode then takes no further action."""
    outcome = step(worked.grid, State((1, 3), 8, finished=False), FINISH)
    assert outcome.state == State((1, 3), 8, finished=True)
    with pytest.raises(InputError, match="the episode is over"):
        step(worked.grid, outcome.state, FINISH)


@given(grids(), st.lists(actions, max_size=40))
def test_step_is_pure_and_rejections_are_inert(grid: Grid, proposals: list[Action]) -> None:
    """The same arguments give the same outcome; cost rises only with an accepted move."""
    state = reset(grid)
    for action in proposals:
        outcome = step(grid, state, action)
        assert step(grid, state, action) == outcome
        if outcome.rejection is not None:
            assert outcome.state == state
            assert outcome.rejection in {kind.name for kind in FAILURE_KINDS}
        elif action.move is not None:
            assert outcome.state.spent - state.spent == grid.cost_at(action.move) > 0
        state = outcome.state
        if state.finished:
            assert state.position == grid.target
            return


@pytest.mark.parametrize(
    ("rows", "start", "target", "field"),
    [
        ([], (0, 0), (0, 1), "rows: grid without cells"),
        (["", ""], (0, 0), (0, 1), "rows: grid without cells"),
        (["11", "1"], (0, 0), (0, 1), "rows[1]: ragged row; expected 2 cells"),
        (["11", "1x"], (0, 0), (0, 1), "rows[1][1]: not a cell; expected # (blocked) or an"),
        (["10", "11"], (0, 0), (1, 1), "rows[0][1]: not a cell"),
        (["1\u0661", "11"], (0, 0), (1, 1), "rows[0][1]: not a cell"),
        (["11", "1#"], (0, 0), (1, 1), "target: not a free cell of the grid"),
        (["#1", "11"], (0, 0), (1, 1), "start: not a free cell of the grid"),
        (["11", "11"], (-1, 0), (1, 1), "start: not a free cell of the grid"),
        (["11", "11"], (0, 0), (0, FAR), "target: not a free cell of the grid"),
        (["11", "11"], (1, 1), (1, 1), "target: start and target are the same cell"),
        (["1" * (MAX_CELLS + 1)], (0, 0), (0, 1), "rows: grid is too large"),
    ],
)
def test_a_bad_grid_is_refused_by_field(
    rows: list[str], start: Cell, target: Cell, field: str
) -> None:
    """Each says field, what was expected, and what was found."""
    with pytest.raises(InputError) as caught:
        Grid.parse(rows, start, target)
    assert str(caught.value).startswith(field)
    assert "; expected " in str(caught.value)
    assert "; found " in str(caught.value)


@pytest.mark.parametrize("made", [{}, {"finish": True, "move": (0, 0)}])
def test_an_action_is_one_thing(made: dict[str, object]) -> None:
    """Neither nothing nor both a move and a finish."""
    with pytest.raises(ValueError, match="an action is"):
        Action(**made)  # type: ignore[arg-type]
