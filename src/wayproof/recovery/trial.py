"""One trial: reset, prefix, injected rejection, policy; then its judgement and record."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from wayproof.canonical import MAX_SAFE_INTEGER, sha256_hex
from wayproof.errors import IntegrityError
from wayproof.evidence.recovery_names import AgentOutcome, EvidenceClass, Kind, Phase
from wayproof.evidence.recovery_records import Action, Result, ScenarioRecord, Step, Trace, trial_id
from wayproof.recovery.policies import (
    Observation,
    Policy,
    PolicyFailedError,
    PolicySource,
    policy_stream,
)
from wayproof.recovery.referee import Verdict
from wayproof.recovery.replay import first_difference
from wayproof.recovery.suite import LoadedGrid
from wayproof.recovery.world import Outcome, State, reset, step

__all__ = ["Agent", "WrittenTrace", "judge_trace", "result_record", "run_trial"]

_T = TypeVar("_T")


class Agent(NamedTuple):
    """What a result says of the agent itself, beside what its trace shows."""

    evidence_class: EvidenceClass
    outcome: AgentOutcome


class WrittenTrace(NamedTuple):
    """A trace, and its line in ``traces.jsonl`` without the line feed."""

    trace: Trace
    line: bytes


def run_trial(
    suite_id: str,
    loaded: LoadedGrid,
    scenario: ScenarioRecord,
    source: PolicySource,
    policy_seed: int,
) -> tuple[Trace, AgentOutcome]:
    """Run one trial and return its trace, and what became of the agent itself.

    Raises
    ------
    IntegrityError
        When the world rejects a reference move or accepts the injected action: the
        scenario is not what its suite says.
    """
    steps, state = _until_failure(loaded, scenario)
    stream = policy_stream(suite_id, scenario.scenario_id, source.name, policy_seed)
    agent_outcome: AgentOutcome = "ok"
    try:
        propose = _proposer(source, lambda: source.make(stream))
        _recover(loaded, scenario, state, propose, steps)
    except PolicyFailedError as failed:
        agent_outcome = failed.outcome
    trace = Trace(
        policy=source.name,
        policy_seed=policy_seed,
        scenario_id=scenario.scenario_id,
        steps=tuple(steps),
    )
    return trace, agent_outcome


def judge_trace(loaded: LoadedGrid, scenario: ScenarioRecord, trace: Trace) -> Verdict:
    """Verify a trace and replay it in a fresh world.

    Every trace is replayed, also one that fails an earlier check and so has null for
    ``replay_identical``.

    Raises
    ------
    IntegrityError
        When the verifier finds every step lawful, but the world makes other steps: then
        one of the two is wrong, whatever the trace came to.
    """
    different = first_difference(loaded.grid, trace.steps)
    verdict = loaded.referee.judge(scenario, trace, lambda: different is None)
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
    suite_id: str,
    loaded: LoadedGrid,
    scenario: ScenarioRecord,
    written: WrittenTrace,
    verdict: Verdict,
    agent: Agent,
) -> Result:
    """Derive a trial's record: from the suite, the trace and its verdict, and nothing else."""
    trace = written.trace
    record, steps = loaded.record, trace.steps
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


# -- running --------------------------------------------------------------------------


def _recorded(phase: Phase, action: Action, outcome: Outcome) -> Step:
    state = outcome.state
    return Step(
        accepted=outcome.rejection is None,
        action=action,
        phase=phase,
        position=state.position,
        rejection=outcome.rejection,
        spent=state.spent,
    )


def _until_failure(loaded: LoadedGrid, scenario: ScenarioRecord) -> tuple[list[Step], State]:
    """Reset, run the prefix, inject the rejected action."""
    record, grid = loaded.record, loaded.grid
    state, steps = reset(grid), []
    for cell in record.reference_path[1 : scenario.prefix_length + 1]:
        action = Action(move=cell)
        outcome = step(grid, state, action)
        _require(outcome.rejection, None, scenario, "prefix")
        steps.append(_recorded("prefix", action, outcome))
        state = outcome.state
    outcome = step(grid, state, scenario.injected_action)
    _require(outcome.rejection, scenario.failure_kind, scenario, "injected action")
    steps.append(_recorded("injected", scenario.injected_action, outcome))
    return steps, outcome.state


def _require(
    found: Kind | None, expected: Kind | None, scenario: ScenarioRecord, what: str
) -> None:
    if found != expected:
        raise IntegrityError(
            "the world doesn't do what the scenario says",
            index=scenario.scenario_id,
            field=what,
            expected=expected or "accepted",
            found=found or "accepted",
        )


def _recover(
    loaded: LoadedGrid,
    scenario: ScenarioRecord,
    state: State,
    propose: Callable[[Observation], Action],
    steps: list[Step],
) -> None:
    """Let the policy propose until it has finished or its budget is spent."""
    grid = loaded.grid
    rejected, rejection = scenario.injected_action, scenario.failure_kind
    for proposals_left in range(scenario.budget, 0, -1):
        action = propose(
            Observation(grid, state.position, state.spent, rejected, rejection, proposals_left)
        )
        outcome = step(grid, state, action)
        state = outcome.state
        steps.append(_recorded("policy", action, outcome))
        if outcome.rejection is not None:
            rejected, rejection = action, outcome.rejection
        elif state.finished:
            return


def _proposer(source: PolicySource, make: Callable[[], Policy]) -> Callable[[Observation], Action]:
    """Return the policy's ``propose``; an outside agent's own failures are told apart.

    A control that raises is a fault of ours and is not caught.
    """
    if source.evidence_class == "reference_control":
        return make().propose
    policy = _guarded(make)

    def propose(observation: Observation) -> Action:
        action = _guarded(lambda: policy.propose(observation))
        if not _is_sayable(action):
            raise PolicyFailedError("malformed")
        return action

    return propose


def _guarded(call: Callable[[], _T]) -> _T:
    try:
        return call()
    except PolicyFailedError:
        raise
    except Exception:  # noqa: BLE001 - whatever an outside policy raises is its crash
        raise PolicyFailedError("crashed") from None


def _is_sayable(action: object) -> bool:
    """Whether a value is an action that a trace can carry."""
    if not isinstance(action, Action):
        return False
    if action.move is None:
        return action.finish is True
    # Made in Python, its parts were checked by nobody yet.
    move: object = action.move
    return (
        type(move) is tuple
        and len(move) == 2
        and all(type(part) is int and abs(part) <= MAX_SAFE_INTEGER for part in move)
    )
