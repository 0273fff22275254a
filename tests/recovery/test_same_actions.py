"""The same actions give the same results lines, whichever way they came.

The way through Inspect is in ``tests/llm``, since it needs the extra.
"""

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from recovery.material import shipped_cases
from recovery.same_actions import (
    NAME,
    SUITE,
    Recorded,
    ran,
    recorded,
    result_line,
    script,
    stream_of,
)
from wayproof.cli import main
from wayproof.evidence.recovery_records import Action, Step
from wayproof.gym import Encoder, RecoveryVectorEnv, as_policy
from wayproof.gym.encoding import KINDS
from wayproof.recovery.agents.policy import Observation, client_agent
from wayproof.recovery.agents.stdio import stdio_agent
from wayproof.recovery.tracks.v0 import V0Case
from wayproof.stats.seeded import SplitMix64

AGENT = """
import json, sys
scripts = json.load(open(sys.argv[1], encoding="utf-8"))
for line in sys.stdin:
    said = json.loads(line)
    if said["type"] == "hello":
        answer = {"type": "hello", "name": "script", "version": "1"}
    elif said["type"] == "trial":
        actions = iter(scripts[said["seed"]])
        answer = {"type": "action", "trial": said["trial"], "step": 0, **next(actions)}
    elif said["type"] == "outcome":
        action = next(actions, None)
        if action is None:
            continue
        answer = {"type": "action", "trial": said["trial"], "step": said["step"] + 1, **action}
    else:
        continue
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture(scope="module")
def erratic(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A run whose trials end in every way that trials of a sound agent can."""
    found = recorded(tmp_path_factory.mktemp("erratic") / "bundle")
    for words in (
        b'"verified_recovery":true',
        b'"completed":true',
        b'"first_failed_check":"cost_exact"',
        b'"first_failed_check":"finished_at_target"',
    ):
        assert found.results.count(words) >= 2, words
    return found


# -- the ways -----------------------------------------------------------------------------


def by_python(erratic: Recorded, folder: Path) -> bytes:
    class Script:
        name = NAME

        def __init__(self, stream: SplitMix64) -> None:
            first = stream.next_u64()
            self._actions = iter(by_first_draw[first])

        def propose(self, observation: Observation) -> Action:
            del observation
            return next(self._actions)

    by_first_draw = {SplitMix64(seed).next_u64(): said for seed, said in erratic.actions.items()}
    return ran(client_agent(NAME, Script), folder / "bundle").results


def by_model(erratic: Recorded, folder: Path) -> bytes:
    """A model sees no seed: it is asked in the order of the trials."""
    encoder = Encoder(12)
    cases = sorted(shipped_cases(SUITE))
    every = shipped_cases(SUITE)
    numbers = iter(
        [number(encoder, one) for name in cases for one in erratic.actions[stream_of(every[name])]]
    )

    def model(seen: Any) -> int:
        assert seen["costs"].any()
        return next(numbers)

    return ran(as_policy(model, NAME), folder / "bundle").results


def by_stdio(erratic: Recorded, folder: Path) -> bytes:
    (folder / "agent.py").write_text(AGENT)
    (folder / "script.json").write_text(script(erratic.actions))
    words = [sys.executable, "-S", "-E", str(folder / "agent.py"), str(folder / "script.json")]
    return ran(stdio_agent(NAME, shlex.join(words)), folder / "bundle").results


def number(encoder: Encoder, action: Action) -> int:
    return encoder.finish if action.move is None else encoder.number_of(action.move)


def shown(encoder: Encoder, action: Action, before: Any, after: Any) -> Step:
    """Tell a step from what an environment shows before and after it: no word of the world."""
    moved = int(after["position"]) != int(before["position"])
    finished = action.finish and int(before["position"]) == int(before["target"])
    if not moved and not finished:
        assert int(after["rejected_action"]) == number(encoder, action)
    position = encoder.action(int(after["position"])).move
    assert position is not None
    return Step(
        accepted=bool(moved or finished),
        action=action,
        phase="policy",
        position=position,
        rejection=None if moved or finished else KINDS[int(after["rejection"])],
        spent=int(np.ravel(after["spent"])[0]),
    )


def by_gymnasium(erratic: Recorded, folder: Path) -> bytes:
    del folder
    env = gymnasium.make("wayproof.gym:wayproof/WFRB-v0", suite=SUITE)
    encoder = Encoder(12)

    def steps(case: V0Case, actions: Sequence[Action]) -> Iterator[Step]:
        seen, _ = env.reset(options={"scenario": case.scenario_id})
        over: Any = False
        for action in actions:
            assert not over
            after, _, over, _, _ = env.step(number(encoder, action))
            yield shown(encoder, action, seen, after)
            seen = after
        assert over

    return lines(erratic, lambda case, actions: list(steps(case, actions)))


def by_vector(erratic: Recorded, folder: Path) -> bytes:
    del folder
    cases = shipped_cases(SUITE)
    names = sorted(cases)
    env = RecoveryVectorEnv(len(names), suite=SUITE)
    encoder = env.encoder
    said = [erratic.actions[stream_of(cases[name])] for name in names]
    steps: dict[str, list[Step]] = {name: [] for name in names}
    seen, _ = env.reset(options={"scenarios": names})
    for at in range(max(map(len, said))):
        proposals = [one[at] if at < len(one) else one[-1] for one in said]
        after, _, over, _, _ = env.step(np.array([number(encoder, one) for one in proposals]))
        for lane, name in enumerate(names):
            if at < len(said[lane]):
                before, now = ({key: one[key][lane] for key in one} for one in (seen, after))
                steps[name].append(shown(encoder, proposals[lane], before, now))
                assert over[lane] == (at == len(said[lane]) - 1)
        seen = after
    return lines(erratic, lambda case, _: steps[case.scenario_id])


def lines(erratic: Recorded, steps: Callable[[V0Case, Sequence[Action]], list[Step]]) -> bytes:
    cases = shipped_cases(SUITE)
    return b"".join(
        result_line(case, steps(case, erratic.actions[stream_of(case)]))
        for case in (cases[name] for name in sorted(cases))
    )


WAYS = (by_python, by_model, by_stdio, by_gymnasium, by_vector)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_same_actions_give_the_same_results_lines(
    way: Callable[[Recorded, Path], bytes], erratic: Recorded, tmp_path: Path
) -> None:
    """Byte for byte: the referee judges the actions, not the way in which they came."""
    assert way(erratic, tmp_path) == erratic.results
    bundle = tmp_path / "bundle"
    if bundle.exists():
        assert main(["verify", str(bundle)]) == 0
