"""One trial: reset, prefix, injected rejection, policy. The same for every track."""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, TypeVar

from wayproof.canonical import MAX_SAFE_INTEGER
from wayproof.errors import IntegrityError
from wayproof.evidence.recovery_names import AgentOutcome, Kind
from wayproof.evidence.recovery_records import Action, Step, Trace
from wayproof.recovery.agents.policy import (
    Observation,
    Policy,
    PolicyFailedError,
    PolicySource,
    policy_stream_seed,
)
from wayproof.recovery.track import Case, Episode
from wayproof.text import clip

__all__ = ["RanTrial", "run_trial", "trial_has_ended", "until_failure"]

_T = TypeVar("_T")
_LOG_CHARS: Final = 16_384
_POLICYS_OWN: Final = (Exception, SystemExit, GeneratorExit)
"""What an outside policy may raise: its own failure. Anything else ends the run, since it is
how an interrupt, a signal or a test's time limit gets through."""


class RanTrial(NamedTuple):
    """A trial's trace, what became of the agent itself, and what its failure left to read."""

    trace: Trace
    agent_outcome: AgentOutcome
    log: str = ""


def run_trial(suite_id: str, case: Case, source: PolicySource, policy_seed: int) -> RanTrial:
    """Run one trial.

    Raises
    ------
    IntegrityError
        When the world rejects a reference move or accepts the injected action: the
        scenario is not what its suite says.
    """
    episode = until_failure(case)
    seed = policy_stream_seed(suite_id, case.stream_id, source.stream_name, policy_seed)
    if source.evidence_class == "reference_control":
        # A control that raises is a fault of ours and is not caught.
        _recover(case, episode, source.make(seed))
        return RanTrial(episode.trace(source.name, policy_seed), "ok")
    outcome, log = _recover_guarded(case, episode, source, seed)
    trace = episode.trace(source.name, policy_seed)
    # What an agent does after the trial's end changes nothing.
    return RanTrial(trace, "ok" if trial_has_ended(case, trace) else outcome, log)


def trial_has_ended(case: Case, trace: Trace) -> bool:
    """Whether a trace comes to the trial's own end: an accepted finish, or a spent budget.

    Exactly then nothing went wrong with the agent before the end, so that
    ``agent_outcome`` is ``ok``.
    """
    proposals = trace.steps[len(case.prefix) + 1 :]
    if not proposals:
        return False
    last = proposals[-1]
    return len(proposals) == case.budget or (last.accepted and last.action.finish)


# -- running --------------------------------------------------------------------------


def until_failure(case: Case) -> Episode:
    """Reset, run the prefix, inject the rejected action."""
    episode = case.begin()
    for action in case.prefix:
        _require(episode.act("prefix", action).rejection, None, case, "prefix")
    injected = episode.act("injected", case.injected_action)
    _require(injected.rejection, case.failure_kind, case, "injected action")
    return episode


def _require(found: Kind | None, expected: Kind | None, case: Case, what: str) -> None:
    if found != expected:
        raise IntegrityError(
            "the world doesn't do what the scenario says",
            index=case.scenario_id,
            field=what,
            expected=expected or "accepted",
            found=found or "accepted",
        )


class _Proposes(Protocol):
    def propose(self, observation: Observation) -> Action: ...


def _recover(
    case: Case,
    episode: Episode,
    policy: _Proposes,
    told: Callable[[Step, int], object] | None = None,
) -> None:
    """Let the policy propose until it has finished or its budget is spent."""
    propose, act, observation = policy.propose, episode.act, episode.observation
    for proposals_left in range(case.budget, 0, -1):
        step = act("policy", propose(observation(proposals_left)))
        if told is not None:
            told(step, proposals_left - 1)
        if step.accepted and episode.finished:
            return


# -- outside agents -------------------------------------------------------------------


class _Guarded:
    """An outside policy: whatever it raises is its own failure, whatever it says is checked."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def propose(self, observation: Observation) -> Action:
        action = _guarded(lambda: self._policy.propose(observation))
        if not _is_sayable(action):
            raise PolicyFailedError("malformed", f"not an action: {_described(action)}")
        return action

    def told(self, step: Step, proposals_left: int) -> None:
        _guarded(lambda: self._tell(step, proposals_left))

    def _tell(self, step: Step, proposals_left: int) -> None:
        told = getattr(self._policy, "told", None)
        if told is not None:
            told(step, proposals_left)

    def close(self) -> str:
        """End the policy's part, and return what it leaves to read."""
        return _guarded(self._close)

    def _close(self) -> str:
        close = getattr(self._policy, "close", None)
        if close is not None:
            close()
        log = getattr(self._policy, "agent_log", "")
        return clip(log, _LOG_CHARS) if isinstance(log, str) else ""


def _recover_guarded(
    case: Case, episode: Episode, source: PolicySource, seed: int
) -> tuple[AgentOutcome, str]:
    """Play an outside agent's part; return what became of it, and its log."""
    outcome: AgentOutcome = "ok"
    logs = []
    policy: _Guarded | None = None
    try:
        policy = _Guarded(_guarded(lambda: source.make(seed)))
        _recover(case, episode, policy, policy.told)
    except PolicyFailedError as failed:
        outcome = failed.outcome
        logs.append(failed.log)
    finally:  # also when the run is interrupted: an agent may be a process
        if policy is not None:
            logs.append(_closed(policy))
    return outcome, "\n".join(log for log in logs if log)


def _closed(policy: _Guarded) -> str:
    try:
        return policy.close()
    except PolicyFailedError as failed:
        return failed.log


def _guarded(call: Callable[[], _T]) -> _T:
    try:
        return call()
    except PolicyFailedError:
        raise
    except _POLICYS_OWN:
        import traceback

        log = clip(traceback.format_exc(), _LOG_CHARS)
        raise PolicyFailedError("crashed", log) from None


def _described(value: object) -> str:
    try:
        return clip(repr(value), 200)
    except _POLICYS_OWN:
        return f"a {type(value).__name__}"


def _is_sayable(action: object) -> bool:
    """Whether a value is an action that a trace can carry."""
    # Not of a subclass: records compare actions, and those of two types are never equal.
    if type(action) is not Action:
        return False
    if action.move is None or action.finish is not False:
        return action.move is None and action.finish is True
    # Made in Python, its parts were checked by nobody yet.
    move: object = action.move
    return (
        type(move) is tuple
        and len(move) == 2
        and all(type(part) is int and abs(part) <= MAX_SAFE_INTEGER for part in move)
    )
