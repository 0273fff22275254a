"""The referee: the first failing check, in order, at the right step."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayproof.errors import IntegrityError
from wayproof.evidence.recovery_names import CHECKS
from wayproof.evidence.recovery_records import FINISH, Action, Step, Trace
from wayproof.recovery.agents.controls import CONTROL_SOURCES
from wayproof.recovery.referee import Referee
from wayproof.recovery.tracks import v0 as v0_module
from wayproof.recovery.tracks.v0 import LoadedGrid, V0Case, verdict_on
from wayproof.recovery.trial import run_trial
from wayproof.recovery.world import Outcome

Edit = Callable[[list[Step]], None]
ORDER: list[str] = [check.name for check in CHECKS]


def planner_trace(case: V0Case) -> Trace:
    return run_trial("worked", case, CONTROL_SOURCES["planner"], 0).trace


def edited(trace: Trace, edit: Edit) -> Trace:
    steps = list(trace.steps)
    edit(steps)
    return msgspec.structs.replace(trace, steps=tuple(steps))


def change(at: int, **fields: Any) -> Edit:
    def edit(steps: list[Step]) -> None:
        steps[at] = msgspec.structs.replace(steps[at], **fields)

    return edit


def drop(first: int) -> Edit:
    def edit(steps: list[Step]) -> None:
        del steps[first:]

    return edit


def repeat_last(steps: list[Step]) -> None:
    steps.append(steps[-1])


def detour(steps: list[Step]) -> None:
    """Step back to the start and return: legal, and 2 dearer."""
    back = Step(
        accepted=True,
        action=Action.to(0, 0),
        phase="policy",
        position=(0, 0),
        rejection=None,
        spent=2,
    )
    again = msgspec.structs.replace(back, action=Action.to(1, 0), position=(1, 0), spent=3)
    rest = [msgspec.structs.replace(step, spent=step.spent + 2) for step in steps[2:]]
    steps[2:] = [back, again, *rest]


def test_the_verifier_loads_neither_world_nor_planner() -> None:
    """Restating the rules is its point: importing it brings in nothing that it judges."""
    program = (
        "import sys, wayproof.recovery.referee; "
        "print([name for name in sys.modules if name.endswith(('.world', '.planner', '.policies',"
        " '.replay', '.trial'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_planner_passes_every_check(worked: LoadedGrid, number: int) -> None:
    """All nine checks are true, and only then is a recovery verified."""
    case = worked.cases()[number]
    verdict = verdict_on(case, planner_trace(case))
    assert [getattr(verdict.checks, name) for name in ORDER] == [True] * 9
    assert (verdict.completed, verdict.verified, verdict.failure) == (True, True, None)


# Steps of the planner's trace on the worked grid: 0 prefix, 1 injected, 2 … 8 moves, 9 finish.
FAILURES: list[tuple[str, Edit, str, int | None]] = [
    ("no steps", drop(0), "prefix_valid", 0),
    ("prefix elsewhere", change(0, action=Action.to(0, 1)), "prefix_valid", 0),
    ("prefix dearer", change(0, spent=2), "prefix_valid", 0),
    ("prefix mislabelled", change(0, phase="policy"), "prefix_valid", 0),
    ("prefix rejected", change(0, accepted=False, rejection="collision"), "prefix_valid", 0),
    ("no injection", drop(1), "injection_rejected", 1),
    ("another injection", change(1, action=Action.to(1, -1)), "injection_rejected", 1),
    ("injection accepted", change(1, accepted=True, rejection=None), "injection_rejected", 1),
    ("another kind", change(1, rejection="invalid_path"), "injection_rejected", 1),
    ("injection mislabelled", change(1, phase="policy"), "injection_rejected", 1),
    ("injection moved", change(1, position=(1, 1)), "state_unchanged", 1),
    ("injection cost", change(1, spent=2), "state_unchanged", 1),
    ("rejection moved", change(4, accepted=False, rejection="collision"), "state_unchanged", 4),
    (
        "both",
        lambda s: (change(3, spent=0)(s), change(5, accepted=False)(s))[0],
        "state_unchanged",
        5,
    ),
    ("accepted with a reason", change(4, rejection="collision"), "transitions_valid", 4),
    ("teleport", change(4, position=(3, 3)), "transitions_valid", 4),
    ("cheaper", change(4, spent=3), "transitions_valid", 4),
    ("policy mislabelled", change(4, phase="prefix"), "transitions_valid", 4),
    ("another action", change(4, action=Action.to(3, 0)), "transitions_valid", 4),
    ("after the end", repeat_last, "transitions_valid", 10),
    ("stopped early", drop(9), "finished_at_target", 8),
    ("only the injection", drop(2), "finished_at_target", 1),
    ("a legal detour", detour, "cost_exact", 11),
]


@pytest.mark.parametrize(
    ("edit", "check", "at"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES]
)
def test_the_first_failing_check_is_named(
    worked: LoadedGrid, edit: Edit, check: str, at: int | None
) -> None:
    """Checks before it are true, it is false, those after it are null; the step is named."""
    case = worked.cases()[0]
    verdict = verdict_on(case, edited(planner_trace(case), edit))
    assert verdict.failure is not None
    assert (verdict.failure.check, verdict.failure.step) == (check, at)
    made = [getattr(verdict.checks, name) for name in ORDER]
    where = ORDER.index(check)
    assert made == [True] * where + [False] + [None] * (8 - where)
    assert verdict.completed is (check in {"optimum_certified", "cost_exact", "replay_identical"})
    assert not verdict.verified


def test_one_proposal_too_many_is_over_budget(worked: LoadedGrid) -> None:
    """The budget counts proposals, accepted or not."""
    case = worked.cases()[0]
    trace = run_trial("worked", case, CONTROL_SOURCES["blind-repeat"], 0).trace
    assert len(trace.steps) == 2 + case.budget
    verdict = verdict_on(case, edited(trace, repeat_last))
    assert verdict.failure is not None
    assert (verdict.failure.check, verdict.failure.step) == ("within_budget", 2 + case.budget)


def test_without_certificate_there_is_no_verified_recovery(worked: LoadedGrid) -> None:
    """A wrong potential fails optimum_certified, whatever the trace; completion stands."""
    case = worked.cases()[0]
    trace = planner_trace(case)
    wrong = msgspec.structs.replace(
        worked.record, potentials=((7, 9, 4, 1), *worked.record.potentials[1:])
    )
    verdict = Referee(wrong).check(case.scenario, trace, lambda: True)
    assert verdict.failure is not None
    assert verdict.failure.check == "optimum_certified"
    assert verdict.completed


def test_a_replay_that_differs_fails_last(worked: LoadedGrid) -> None:
    """The replay is asked once everything else holds."""
    case = worked.cases()[0]
    verdict = worked.referee.check(case.scenario, planner_trace(case), lambda: False)
    assert verdict.failure is not None
    assert verdict.failure.check == "replay_identical"
    assert verdict.completed
    assert not verdict.verified


def test_referee_and_world_are_held_against_each_other(
    worked: LoadedGrid, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a trace fails anyway: a world with other rules than the referee is said."""
    case = worked.cases()[0]
    trace = run_trial("worked", case, CONTROL_SOURCES["blind-repeat"], 0).trace
    assert verdict_on(case, trace).checks.replay_identical is None
    monkeypatch.setattr(v0_module, "step", lambda *given: Outcome(given[1]))
    with pytest.raises(IntegrityError, match=r"steps\[0\]: check replay_identical fails"):
        verdict_on(case, trace)


cells = st.tuples(st.integers(-2, 5), st.integers(-2, 5))
steps = st.builds(
    Step,
    accepted=st.booleans(),
    action=st.just(FINISH) | st.builds(lambda cell: Action(move=cell), cells),
    phase=st.sampled_from(["prefix", "injected", "policy"]),
    position=cells,
    rejection=st.sampled_from([None, "collision", "invalid_path", "premature_end"]),
    spent=st.integers(0, 40),
)


@given(st.lists(steps, max_size=12), st.integers(0, 2))
def test_no_trace_makes_the_referee_crash(
    worked: LoadedGrid, made: list[Step], number: int
) -> None:
    """Any steps at all get a verdict, and nonsense is never a recovery."""

    trace = Trace(policy="x", policy_seed=0, scenario_id="s", steps=tuple(made))
    verdict = verdict_on(worked.cases()[number], trace)
    if verdict.verified:
        assert made[-1].spent == worked.record.potentials[0][0]


@given(st.integers(0, 2), st.integers(0, 2**53 - 1))
def test_no_trial_costs_less_than_the_certified_optimum(
    worked: LoadedGrid, number: int, seed: int
) -> None:
    """A completed trial's cost is at least the optimum; at it exactly when verified."""

    case = worked.cases()[number]
    trace = run_trial("worked", case, CONTROL_SOURCES["random-walk"], seed).trace
    verdict = verdict_on(case, trace)
    if verdict.completed:
        assert trace.steps[-1].spent >= 8
        assert verdict.verified is (trace.steps[-1].spent == 8)
    else:
        assert len(trace.steps) == len(case.prefix) + 1 + case.budget
