"""The referee: checks a trace by the grid and the recorded actions alone.

It restates the rules instead of importing them: neither the world nor the planner is
loaded, so a fault in either can't hide itself here. Every step is made again from the
recorded *action* and compared with what was recorded.
"""

from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

from wayproof.evidence.recovery_names import CHECKS, CheckName, Kind
from wayproof.evidence.recovery_records import (
    Action,
    Cell,
    Checks,
    GridRecord,
    ScenarioRecord,
    Step,
    Trace,
)
from wayproof.recovery.certificate import Fault, certificate_fault

__all__ = ["Failure", "Referee", "Verdict"]

_FREE: Final = "123456789"
_ORDER: Final[tuple[CheckName, ...]] = tuple(check.name for check in CHECKS)


class Failure(NamedTuple):
    """Why a check failed: at which step (None: no single one), and what it should have been."""

    check: CheckName
    step: int | None
    expected: str
    found: str


class Verdict(NamedTuple):
    """What the referee makes of one trace."""

    checks: Checks
    failure: Failure | None

    @property
    def completed(self) -> bool:
        """Finished on the target, every earlier check true."""
        return self.checks.finished_at_target is True

    @property
    def verified(self) -> bool:
        """Every check true."""
        return self.failure is None


class _Ruling(NamedTuple):
    """What the rules make of one action: the reason, and the state after it."""

    rejection: Kind | None
    position: Cell
    spent: int


class Referee:
    """Checks the traces of one grid's scenarios.

    Parameters
    ----------
    grid
        The grid with its certificate; the certificate is checked once, here.
    """

    def __init__(self, grid: GridRecord) -> None:
        self._grid = grid
        self._rows = grid.rows
        self.certificate_fault: Fault | None = certificate_fault(grid)

    def check(
        self, scenario: ScenarioRecord, trace: Trace, replayed: Callable[[], bool]
    ) -> Verdict:
        """Make the checks in their order and stop at the first that fails.

        Parameters
        ----------
        scenario
            One of the grid's scenarios.
        trace
            The recorded steps.
        replayed
            Says whether a fresh world gives the recorded steps again; asked last.
        """
        failure = self._failure(scenario, trace.steps, replayed)
        return Verdict(_checks(None if failure is None else failure.check), failure)

    def _failure(
        self, scenario: ScenarioRecord, steps: tuple[Step, ...], replayed: Callable[[], bool]
    ) -> Failure | None:
        return (
            self._prefix_failure(scenario, steps)
            or self._injection_failure(scenario, steps)
            or self._policy_failure(scenario.prefix_length, steps)
            or _budget_failure(scenario, steps)
            or self._finish_failure(steps)
            or self._certificate_failure()
            or self._cost_failure(steps)
            or _replay_failure(replayed)
        )

    # -- the checks, in their order ---------------------------------------------------

    def _prefix_failure(self, scenario: ScenarioRecord, steps: tuple[Step, ...]) -> Failure | None:
        path, spent = self._grid.reference_path, 0
        if scenario.prefix_length >= len(path):
            return Failure("prefix_valid", None, f"below {len(path)}", str(scenario.prefix_length))
        position = self._grid.start
        for number in range(scenario.prefix_length):
            action = Action(move=path[number + 1])
            ruling = self._rule(position, spent, action)
            expected = Step(
                accepted=True,
                action=action,
                phase="prefix",
                position=ruling.position,
                rejection=None,
                spent=ruling.spent,
            )
            if ruling.rejection is not None or number >= len(steps) or steps[number] != expected:
                return Failure("prefix_valid", number, _shown(expected), _shown_at(steps, number))
            position, spent = ruling.position, ruling.spent
        return None

    def _injection_failure(
        self, scenario: ScenarioRecord, steps: tuple[Step, ...]
    ) -> Failure | None:
        number, kind = scenario.prefix_length, scenario.failure_kind
        position, spent = self._state_before(number, steps)
        injected = steps[number] if number < len(steps) else None
        ruling = self._rule(position, spent, scenario.injected_action)
        if (
            injected is None
            or injected.phase != "injected"
            or injected.action != scenario.injected_action
            or injected.accepted
            or injected.rejection != kind
            or ruling.rejection != kind
        ):
            expected = Step(
                accepted=False,
                action=scenario.injected_action,
                phase="injected",
                position=position,
                rejection=kind,
                spent=spent,
            )
            return Failure("injection_rejected", number, _shown(expected), _shown_at(steps, number))
        return None

    def _policy_failure(self, injected: int, steps: tuple[Step, ...]) -> Failure | None:
        """Check ``state_unchanged`` around every rejection, then ``transitions_valid``."""
        position, spent = before = self._state_before(injected, steps)
        finished, first_invalid = False, None
        rule, previous = self._rule, before
        for number in range(injected, len(steps)):
            step = steps[number]
            after = (step.position, step.spent)
            if not step.accepted and after != previous:
                return Failure(
                    "state_unchanged", number, _shown_state(previous), _shown_state(after)
                )
            previous = after
            if first_invalid is not None:
                continue  # one more state may yet have changed around a rejection
            ruling = rule(position, spent, step.action)
            position, spent = ruling.position, ruling.spent
            if (
                finished
                or step.rejection != ruling.rejection
                or step.accepted is not (ruling.rejection is None)
                or step.position != position
                or step.spent != spent
                or step.phase != ("injected" if number == injected else "policy")
            ):
                first_invalid = self._transition_failure(number, step, ruling, finished=finished)
            finished = finished or (step.action.finish and ruling.rejection is None)
        return first_invalid

    def _transition_failure(
        self, number: int, step: Step, ruling: _Ruling, *, finished: bool
    ) -> Failure:
        expected = Step(
            accepted=ruling.rejection is None,
            action=step.action,
            phase="policy",
            position=ruling.position,
            rejection=ruling.rejection,
            spent=ruling.spent,
        )
        wanted = "no step after the accepted finish" if finished else _shown(expected)
        return Failure("transitions_valid", number, wanted, _shown(step))

    def _finish_failure(self, steps: tuple[Step, ...]) -> Failure | None:
        last = steps[-1]
        if last.action.finish and last.accepted and last.position == self._grid.target:
            return None
        return Failure(
            "finished_at_target",
            len(steps) - 1,
            f"an accepted finish on {_shown_cell(self._grid.target)}",
            _shown(last),
        )

    def _certificate_failure(self) -> Failure | None:
        fault = self.certificate_fault
        if fault is None:
            return None
        return Failure("optimum_certified", None, fault.expected, f"{fault.field}: {fault.problem}")

    def _cost_failure(self, steps: tuple[Step, ...]) -> Failure | None:
        start = self._grid.start
        optimum, spent = self._grid.potentials[start[0]][start[1]], steps[-1].spent
        if spent == optimum:
            return None
        return Failure("cost_exact", len(steps) - 1, f"cost {optimum}", f"cost {spent}")

    # -- the rules, restated ----------------------------------------------------------

    def _rule(self, position: Cell, spent: int, action: Action) -> _Ruling:
        cell = action.move
        if cell is None:
            at_target = position == self._grid.target
            return _Ruling(None if at_target else "premature_end", position, spent)
        row, column = cell
        distance = abs(row - position[0]) + abs(column - position[1])
        if distance != 1:
            return _Ruling("invalid_path", position, spent)
        rows = self._rows
        if row < 0 or column < 0 or row >= len(rows) or column >= len(rows[row]):
            return _Ruling("collision", position, spent)
        character = rows[row][column]
        if character not in _FREE:
            return _Ruling("collision", position, spent)
        return _Ruling(None, cell, spent + int(character))

    def _state_before(self, number: int, steps: tuple[Step, ...]) -> tuple[Cell, int]:
        if number == 0 or not steps:
            return self._grid.start, 0
        return steps[number - 1].position, steps[number - 1].spent


def _budget_failure(scenario: ScenarioRecord, steps: tuple[Step, ...]) -> Failure | None:
    proposals = len(steps) - scenario.prefix_length - 1
    if proposals <= scenario.budget:
        return None
    return Failure(
        "within_budget",
        scenario.prefix_length + 1 + scenario.budget,
        f"at most {scenario.budget} proposals",
        str(proposals),
    )


def _replay_failure(replayed: Callable[[], bool]) -> Failure | None:
    if replayed():
        return None
    return Failure("replay_identical", None, "the recorded steps", "other steps")


@cache
def _checks(first_failed: CheckName | None) -> Checks:
    """Return true before the first failed check, false there, null after it."""
    if first_failed is None:
        return Checks(**dict.fromkeys(_ORDER, True))
    at = _ORDER.index(first_failed)
    made: dict[str, bool | None] = dict.fromkeys(_ORDER)
    made |= dict.fromkeys(_ORDER[:at], True)
    made[first_failed] = False
    return Checks(**made)


# -- for messages ---------------------------------------------------------------------


def _shown_cell(cell: Cell) -> str:
    return f"[{cell[0]}, {cell[1]}]"


def _shown_state(state: tuple[Cell, int]) -> str:
    return f"position {_shown_cell(state[0])}, spent {state[1]}"


def _shown(step: Step) -> str:
    action = "finish" if step.action.move is None else f"move {_shown_cell(step.action.move)}"
    ruling = "accepted" if step.accepted else "rejected"
    reason = "" if step.rejection is None else f" ({step.rejection})"
    state = _shown_state((step.position, step.spent))
    return f"{step.phase} {action} {ruling}{reason}, {state}"


def _shown_at(steps: tuple[Step, ...], number: int) -> str:
    return _shown(steps[number]) if number < len(steps) else f"only {len(steps)} steps"
