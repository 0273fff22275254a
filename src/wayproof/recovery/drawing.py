"""A grid, and a trace on it, as plain text."""

from collections.abc import Iterator

from wayproof.evidence.recovery_records import Action, Cell, GridRecord, Step

__all__ = ["draw_grid", "draw_trace", "spell_action", "spell_step"]


def draw_grid(grid: GridRecord, position: Cell, refused: Cell | None = None) -> str:
    """Draw the grid: ``@`` stands where the agent is, ``S`` and ``T`` on start and target.

    A refused cell that lies on the grid is marked ``!``.
    """
    marks = {grid.start: "S", grid.target: "T"}
    if refused is not None:
        marks[refused] = "!"
    marks[position] = "@"
    return "\n".join(
        " ".join(marks.get((row, column), cell) for column, cell in enumerate(cells))
        for row, cells in enumerate(grid.rows)
    )


def spell_action(action: Action) -> str:
    """Spell an action in words."""
    if action.move is None:
        return "finish"
    return f"move to [{action.move[0]}, {action.move[1]}]"


def spell_step(number: int, step: Step) -> str:
    """Spell a step on one line: phase, action, ruling, state after it."""
    ruling = "accepted" if step.accepted else f"rejected: {step.rejection}"
    return (
        f"{number:>4}  {step.phase:<8}  {spell_action(step.action):<18}  {ruling:<23}  "
        f"at [{step.position[0]}, {step.position[1]}], spent {step.spent}"
    )


def draw_trace(grid: GridRecord, steps: tuple[Step, ...]) -> Iterator[str]:
    """Yield blocks of text: the reset, then each step with the grid after it."""
    yield f"      reset     at [{grid.start[0]}, {grid.start[1]}], spent 0\n" + _indented(
        draw_grid(grid, grid.start)
    )
    for number, step in enumerate(steps):
        refused = None if step.accepted else step.action.move
        yield spell_step(number, step) + "\n" + _indented(draw_grid(grid, step.position, refused))


def _indented(text: str) -> str:
    return "\n".join(f"      {line}" for line in text.split("\n"))
