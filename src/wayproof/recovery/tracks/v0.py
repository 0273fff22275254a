"""Track ``v0``: fully visible grids, and rejections that change nothing.

Joins the world (:mod:`wayproof.recovery.world`) with the referee, who doesn't know it
(:mod:`wayproof.recovery.referee`), and derives a trial's record from the suite, the
trace and the referee's verdict.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from wayproof.canonical import canonical_bytes, decode_record_line, record_bytes, sha256_hex
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.recovery_names import FAILURE_KINDS, Kind, Phase
from wayproof.evidence.recovery_records import (
    MAX_TRIAL_STEPS,
    SUITE_SCHEMA_VERSION,
    Action,
    GridRecord,
    Result,
    ScenarioRecord,
    Step,
    SuiteHeader,
    Trace,
    trial_id,
)
from wayproof.recovery.agents.policy import Observation
from wayproof.recovery.drawing import draw_trace
from wayproof.recovery.grid import Grid, fingerprint
from wayproof.recovery.referee import Referee, Verdict
from wayproof.recovery.replay import first_difference
from wayproof.recovery.rules import broken_rule
from wayproof.recovery.summary import Tally
from wayproof.recovery.track import Agent, Finding, WrittenTrace
from wayproof.recovery.world import State, reset, step

__all__ = [
    "V0",
    "LoadedGrid",
    "V0Case",
    "V0Track",
    "decode_grid_line",
    "decode_header_line",
    "failure_state",
    "load_grid",
    "result_record",
    "verdict_on",
]

_KINDS: Final = tuple(kind.name for kind in FAILURE_KINDS)
_REMEMBERED_LINE_BYTES: Final = 1 << 13
_header_decoder: Final = msgspec.json.Decoder(SuiteHeader)
_grid_decoder: Final = msgspec.json.Decoder(GridRecord)


class LoadedGrid(NamedTuple):
    """A grid of a suite, checked: its record, the world's grid, and its referee."""

    record: GridRecord
    grid: Grid
    referee: Referee

    @property
    def grid_id(self) -> str:
        """Id of the grid."""
        return self.record.grid_id

    @property
    def fingerprint(self) -> bytes:
        """Digest of rows, start and target."""
        return fingerprint(self.grid)

    def cases(self) -> tuple["V0Case", ...]:
        """Return the scenarios, by rising id."""
        return tuple(V0Case(self, scenario) for scenario in self.record.scenarios)


class V0Case(NamedTuple):
    """One scenario on its grid."""

    loaded: LoadedGrid
    scenario: ScenarioRecord

    @property
    def scenario_id(self) -> str:
        """Id of the scenario."""
        return self.scenario.scenario_id

    @property
    def stream_id(self) -> str:
        """Every scenario has a stream of its own."""
        return self.scenario.scenario_id

    @property
    def prefix(self) -> tuple[Action, ...]:
        """The first moves of the reference path."""
        path = self.loaded.record.reference_path
        return tuple(Action(move=cell) for cell in path[1 : self.scenario.prefix_length + 1])

    @property
    def injected_action(self) -> Action:
        """The action that must be rejected after the prefix."""
        return self.scenario.injected_action

    @property
    def failure_kind(self) -> Kind:
        """Why it must be rejected."""
        return self.scenario.failure_kind

    @property
    def budget(self) -> int:
        """How many proposals the policy may make after it."""
        return self.scenario.budget

    def begin(self) -> "V0Episode":
        """Return a fresh world, at the reset."""
        return V0Episode(self)

    def find(self, suite_id: str, written: WrittenTrace, agent: Agent) -> Finding:
        """Let the referee check a trace, replay it, and derive its record.

        Raises
        ------
        IntegrityError
            When the referee finds every step lawful, but the world makes other steps.
        """
        verdict = verdict_on(self, written.trace)
        result = result_record(suite_id, self, written, verdict, agent)
        return Finding(result, record_bytes(result), verdict.failure)

    def drawing(self, steps: Sequence[Step]) -> Iterator[str]:
        """Draw a trace as blocks of plain text, the reset first."""
        return draw_trace(self.loaded.record, tuple(steps))


class V0Episode:
    """The world of one trial; what is shown is what is."""

    __slots__ = ("_case", "_grid", "_rejected", "_rejection", "_state", "_steps")

    def __init__(self, case: V0Case) -> None:
        self._case = case
        self._grid = case.loaded.grid
        self._state: State = reset(self._grid)
        self._rejected, self._rejection = case.scenario.injected_action, case.scenario.failure_kind
        self._steps: list[Step] = []

    @property
    def finished(self) -> bool:
        """Whether a finish was accepted."""
        return self._state.finished

    def act(self, phase: Phase, action: Action) -> Step:
        """Carry out or reject one action, and return the step as it is recorded."""
        outcome = step(self._grid, self._state, action)
        state, rejection = outcome.state, outcome.rejection
        self._state = state
        if rejection is not None:
            self._rejected, self._rejection = action, rejection
        made = Step(
            accepted=rejection is None,
            action=action,
            phase=phase,
            position=state.position,
            rejection=rejection,
            spent=state.spent,
        )
        self._steps.append(made)
        return made

    def observation(self, proposals_left: int) -> Observation:
        """Return all of the world, and the latest rejection."""
        state = self._state
        return Observation(
            self._grid, state.position, state.spent, self._rejected, self._rejection, proposals_left
        )

    def trace(self, policy: str, policy_seed: int) -> Trace:
        """Return the record of all steps so far."""
        return Trace(
            policy=policy,
            policy_seed=policy_seed,
            scenario_id=self._case.scenario.scenario_id,
            steps=tuple(self._steps),
        )


class V0Track:
    """The row of WFRB v0."""

    name: Final = "v0"
    suite_schema: Final = SUITE_SCHEMA_VERSION
    measured: Final = frozenset({"finished_at_target", "cost_exact"})
    trace_type: Final = Trace
    result_type: Final = Result

    def read_header(self, line: bytes) -> SuiteHeader:
        """Read the first line of a suite."""
        return decode_header_line(line)

    def read_grid(self, line: bytes) -> LoadedGrid:
        """Read and check one grid's line; the last few of ordinary size are remembered.

        A grid is a function of its line alone, and a suite is walked once per policy.
        """
        if len(line) > _REMEMBERED_LINE_BYTES:
            return load_grid(decode_grid_line(line))
        return _remembered_grid(line)

    def tally(self) -> Tally:
        """Return an empty tally."""
        return Tally()


V0: Final = V0Track()


# -- the referee's verdict, and the record that follows from it ----------------------------


def verdict_on(case: V0Case, trace: Trace) -> Verdict:
    """Return the referee's verdict on a trace, which is also replayed in a fresh world.

    Every trace is replayed, also one that fails an earlier check and so has null for
    ``replay_identical``.

    Raises
    ------
    IntegrityError
        When the referee finds every step lawful, but the world makes other steps: then
        one of the two is wrong, whatever the trace came to.
    """
    different = first_difference(case.begin(), trace.steps)
    verdict = case.loaded.referee.check(case.scenario, trace, lambda: different is None)
    if different is not None and verdict.checks.transitions_valid:
        raise IntegrityError(
            "check replay_identical fails",
            index=f"trial {trial_id(trace.policy, trace.scenario_id, trace.policy_seed)}",
            field=f"steps[{different}]",
            expected="the step that a fresh world makes",
            found="another",
        )
    return verdict


def result_record(
    suite_id: str, case: V0Case, written: WrittenTrace, verdict: Verdict, agent: Agent
) -> Result:
    """Derive a trial's record: from the suite, the trace and its verdict, and nothing else."""
    trace, scenario = written.trace, case.scenario
    record, steps = case.loaded.record, trace.steps
    proposals = steps[scenario.prefix_length + 1 :]
    accepted = [at for at, proposal in enumerate(proposals) if proposal.accepted]
    finishes = sum(proposal.accepted and proposal.action.finish for proposal in proposals)
    injected = scenario.injected_action
    last = steps[-1] if steps else None
    optimum = record.potentials[record.start[0]][record.start[1]]
    optimal_cost = 0 if optimum is None else optimum
    final_cost = 0 if last is None else last.spent
    completed = verdict.completed
    has_injected = len(steps) > scenario.prefix_length
    return Result(
        accepted_moves=len(accepted) - finishes,
        agent_outcome=agent.outcome,
        budget=scenario.budget,
        checks=verdict.checks,
        completed=completed,
        evidence_class=agent.evidence_class,
        excess_cost=final_cost - optimal_cost if completed else None,
        failure_kind=scenario.failure_kind,
        final_cost=final_cost,
        final_position=record.start if last is None else last.position,
        first_accepted_proposal=accepted[0] if accepted else None,
        first_failed_check=None if verdict.failure is None else verdict.failure.check,
        grid_id=record.grid_id,
        injected_action=injected,
        optimal_cost=optimal_cost,
        policy=trace.policy,
        policy_seed=trace.policy_seed,
        prefix_length=scenario.prefix_length,
        proposals=len(proposals),
        rejected_proposals=len(proposals) - len(accepted),
        rejection=steps[scenario.prefix_length].rejection if has_injected else None,
        repeated_rejected_action=sum(proposal.action == injected for proposal in proposals),
        scenario_id=scenario.scenario_id,
        suite_id=suite_id,
        trace_sha256=sha256_hex(written.line),
        verified_recovery=verdict.verified,
    )


# -- reading a suite -----------------------------------------------------------------------


def decode_header_line(line: bytes) -> SuiteHeader:
    """Read the first line of a suite."""
    header = decode_record_line(line, _header_decoder)
    if canonical_bytes(msgspec.to_builtins(header)) != line:
        raise InputError(
            "line is not in canonical form", field="generator.parameters", expected="sorted keys"
        )
    return header


def decode_grid_line(line: bytes) -> GridRecord:
    """Read one grid's line; its meaning is checked by :func:`load_grid`."""
    return decode_record_line(line, _grid_decoder)


@lru_cache(maxsize=128)
def _remembered_grid(line: bytes) -> LoadedGrid:
    return load_grid(decode_grid_line(line))


def load_grid(record: GridRecord) -> LoadedGrid:
    """Check what a grid's line says: text form, certificate, scenarios.

    Raises
    ------
    InputError
        Naming the field, what was expected and what was found.
    """
    grid = Grid.parse(record.rows, record.start, record.target)
    referee = Referee(record)
    fault = referee.certificate_fault
    if fault is not None:
        raise InputError(
            fault.problem, field=fault.field, expected=fault.expected, found=fault.found
        )
    if not record.scenarios:
        raise InputError("grid without scenarios", field="scenarios", expected="at least one")
    for at, scenario in enumerate(record.scenarios):
        _check_scenario(grid, record, scenario, f"scenarios[{at}]")
    _check_taxonomy(grid, record)
    return LoadedGrid(record, grid, referee)


def failure_state(record: GridRecord, scenario: ScenarioRecord) -> State:
    """State after the scenario's prefix, by adding up the reference path's costs."""
    path = record.reference_path[1 : scenario.prefix_length + 1]
    spent = sum(int(record.rows[row][column]) for row, column in path)
    return State(record.reference_path[scenario.prefix_length], spent, finished=False)


def _check_scenario(grid: Grid, record: GridRecord, scenario: ScenarioRecord, field: str) -> None:
    last = len(record.reference_path) - 2
    if scenario.prefix_length > last:
        raise InputError(
            "prefix leads to the target or beyond it",
            field=f"{field}.prefix_length",
            expected=f"at most {last}, one move before the target",
            found=str(scenario.prefix_length),
        )
    if scenario.prefix_length + 1 + scenario.budget > MAX_TRIAL_STEPS:
        raise InputError(
            "a trial would have too many steps",
            field=f"{field}.budget",
            expected=f"at most {MAX_TRIAL_STEPS} with prefix and injection",
            found=str(scenario.budget),
        )
    outcome = step(grid, failure_state(record, scenario), scenario.injected_action)
    if outcome.rejection != scenario.failure_kind:
        raise InputError(
            "injected action would be accepted"
            if outcome.accepted
            else "injected action is rejected for another reason",
            field=f"{field}.injected_action",
            expected=f"an action rejected as {scenario.failure_kind}",
            found="accepted" if outcome.accepted else str(outcome.rejection),
        )


def _check_taxonomy(grid: Grid, record: GridRecord) -> None:
    """Check the rules that the scenarios of one grid obey together."""
    kinds = tuple(scenario.failure_kind for scenario in record.scenarios)
    if sorted(kinds) != sorted(_KINDS):
        raise broken_rule("kinds_complete", field="scenarios", found=", ".join(kinds))
    for at, scenario in enumerate(record.scenarios):
        cell, kind = scenario.injected_action.move, scenario.failure_kind
        field = f"scenarios[{at}].injected_action"
        if cell is None:
            continue
        is_inside = 0 <= cell[0] < grid.height and 0 <= cell[1] < grid.width
        if kind == "collision" and not is_inside:
            raise broken_rule(
                "collision_blocked_neighbour",
                field=field,
                found=f"{list(cell)}, off the grid",
            )
        if kind == "invalid_path" and not grid.cost_at(cell):
            raise broken_rule(
                "invalid_path_free_cell",
                field=field,
                found=f"{list(cell)}, {'blocked' if is_inside else 'off the grid'}",
            )
        if kind == "invalid_path" and cell == record.reference_path[scenario.prefix_length]:
            raise broken_rule(
                "invalid_path_free_cell", field=field, found=f"{list(cell)}, the failure state"
            )
    prefixes = {scenario.failure_kind: scenario.prefix_length for scenario in record.scenarios}
    if prefixes["collision"] != prefixes["invalid_path"]:
        raise broken_rule(
            "prefix_shared",
            field="scenarios",
            found=f"{prefixes['collision']} and {prefixes['invalid_path']} moves",
        )
