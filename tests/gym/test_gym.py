"""The Gymnasium environment, its batch, and a trained model scored by the bench."""

import importlib.util
import json
import random
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from wayproof.cli import main
from wayproof.errors import InputError
from wayproof.evidence.recovery_records import Action
from wayproof.gym import MASKS, REWARDS, Encoder, RecoveryEnv, RecoveryVectorEnv, as_policy
from wayproof.recovery.agents.controls import CONTROL_SOURCES, Planner
from wayproof.recovery.agents.policy import Observation, client_agent
from wayproof.recovery.generate import Parameters, Recipe, suite_lines
from wayproof.recovery.run import RunRequest, run_suite
from wayproof.recovery.suite import suite_path
from wayproof.recovery.trial import run_trial
from wayproof.stats.seeded import SplitMix64

SUITE = "explorer-sample"
ROOT = Path(__file__).parents[2]


def make(**given: Any) -> RecoveryEnv:
    env = gymnasium.make("wayproof.gym:wayproof/WFRB-v0", suite=SUITE, **given).unwrapped
    assert isinstance(env, RecoveryEnv)
    return env


def lines(folder: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_bytes().splitlines()]
    for row in rows:
        for key in ("policy", "evidence_class", "trace_sha256"):
            del row[key]
    return rows


# -- the environment ------------------------------------------------------------------------


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("reward", REWARDS)
def test_the_environment_passes_gymnasiums_check(mask: str, reward: str) -> None:
    """Without a warning, for every mask and reward."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(mask=mask, reward=reward))
        check_env(make(render_mode="ansi"))


@pytest.mark.parametrize("control", ["planner", "random-walk"])
def test_an_episode_is_the_benchs_own_trial(control: str) -> None:
    """The actions of every trace, through the environment: the same states, the same ends."""
    env, encoder = make(), Encoder(12)
    for case in env.cases:
        trace = run_trial(SUITE, case, CONTROL_SOURCES[control], 0).trace
        seen, info = env.reset(options={"scenario": case.scenario_id})
        assert info["scenario"] == case.scenario_id
        opening = len(case.prefix)
        assert seen["position"] == encoder.number_of(trace.steps[opening].position)
        assert seen["spent"] == trace.steps[opening].spent
        assert seen["proposals_left"] == case.budget
        over = False
        for number, step in enumerate(trace.steps[opening + 1 :]):
            assert not over
            cell = step.action.move
            chosen = encoder.finish if cell is None else encoder.number_of(cell)
            assert encoder.action(chosen) == step.action
            seen, _, over, truncated, _ = env.step(chosen)
            assert not truncated
            assert seen["position"] == encoder.number_of(step.position)
            assert seen["spent"] == step.spent
            assert seen["proposals_left"] == case.budget - number - 1
        assert over
        with pytest.raises(InputError, match="the episode is over"):
            env.step(0)


def test_what_is_seen_is_what_a_policy_sees() -> None:
    """Costs with 0 for blocked and outside, and no array that is shared with the next step."""
    env = make()
    seen, _ = env.reset(options={"scenario": 0})
    grid = env.cases[0].loaded.grid
    for row in range(-1, 13):
        for column in range(-1, 13):
            assert seen["costs"][row + 1, column + 1] == grid.cost_at((row, column))
    after, *_ = env.step(env.encoder.finish)
    assert after["rejection"] == 2
    assert after["rejected_action"] == env.encoder.finish
    after["costs"][:] = 0
    assert env.step(env.encoder.finish)[0]["costs"].any()


def test_masks_leave_what_they_say() -> None:
    """`accepted` leaves exactly what the world accepts, `neighbours` the four and finish."""
    env, draw = make(mask="accepted"), random.Random(3)
    near = make(mask="neighbours")
    for _ in range(40):
        scenario = draw.randrange(len(env.cases))
        _, info = env.reset(options={"scenario": scenario})
        _, neighbours = near.reset(options={"scenario": scenario})
        assert neighbours["action_mask"].sum() == 5
        allowed = set(np.flatnonzero(info["action_mask"]).tolist())
        assert set(np.flatnonzero(env.action_masks()).tolist()) == allowed
        for action in np.flatnonzero(neighbours["action_mask"]).tolist():
            before, _ = env.reset(options={"scenario": scenario})
            after, _, over, _, _ = env.step(action)
            accepted = over or after["position"] != before["position"]
            assert accepted is (action in allowed)


def optimal_return(env: RecoveryEnv, scenario: int) -> float:
    """Play the planner's actions through the environment."""
    env.reset(options={"scenario": scenario})
    planner, total, over = Planner(SplitMix64(0)), 0.0, False
    while not over:
        move = planner.propose(env._seen).move
        number = env.encoder.finish if move is None else env.encoder.number_of(move)
        _, reward, over, _, _ = env.step(number)
        total += reward
    return total


def refused_return(env: RecoveryEnv, scenario: int) -> float:
    """Be rejected until the budget ends."""
    env.reset(options={"scenario": scenario})
    total, over = 0.0, False
    while not over:
        _, reward, over, _, _ = env.step(0)
        total += reward
    return total


def test_the_degenerate_reward_is_degenerate() -> None:
    """With `entry_cost` being rejected pays better than recovering; with the others never."""
    for name in REWARDS:
        env = make(reward=name)
        better = [
            refused_return(env, scenario) > optimal_return(env, scenario) for scenario in range(36)
        ]
        assert better == [name == "entry_cost"] * 36


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"side_max": 5}, "larger than what the spaces were made for"),
        ({"side_max": 1}, "side out of range"),
        ({"reward": "gold"}, "unknown reward"),
        ({"mask": "some"}, "unknown mask"),
        ({"suite": "nowhere"}, "no such suite"),
    ],
)
def test_bad_settings_are_refused(given: dict[str, Any], message: str) -> None:
    """A suite with a longer side among them."""
    with pytest.raises(InputError, match=message):
        RecoveryEnv(**({"suite": SUITE} | given))


@pytest.mark.parametrize("scenario", ["nobody", -1, 36, 1.5, True, [1]])
def test_an_unknown_scenario_is_refused(scenario: Any) -> None:
    """By id or by place, it has to be there; in the batch too."""
    with pytest.raises(InputError, match="no such scenario"):
        make().reset(options={"scenario": scenario})
    with pytest.raises(InputError, match="no such scenario"):
        RecoveryVectorEnv(2, suite=SUITE).reset(options={"scenarios": [0, scenario]})


# -- the batch ----------------------------------------------------------------------------


@pytest.mark.parametrize("reward", REWARDS)
def test_the_batch_equals_single_environments(reward: str) -> None:
    """Step by step, resets included: observations, rewards, ends."""
    lanes = 36
    batch = RecoveryVectorEnv(lanes, suite=SUITE, reward=reward)
    singles = [make(reward=reward) for _ in range(lanes)]
    seen, _ = batch.reset(seed=5, options={"scenarios": list(range(lanes))})
    alone = [env.reset(options={"scenario": at})[0] for at, env in enumerate(singles)]
    over = [False] * lanes
    draw = random.Random(reward)
    ended = 0
    for _ in range(150):
        for key, value in seen.items():
            np.testing.assert_array_equal(value, np.stack([one[key] for one in alone]))
        assert seen in batch.observation_space
        actions = np.array([chosen(draw, env) for env in singles])
        seen, rewards, terminated, truncated, _ = batch.step(actions)
        assert not truncated.any()
        for at, env in enumerate(singles):
            if over[at]:
                scenario = batch.scenarios[batch.scenario_numbers[at]]
                alone[at], expected = env.reset(options={"scenario": scenario})[0], 0.0
                over[at] = False
            else:
                alone[at], expected, over[at], _, _ = env.step(int(actions[at]))
            assert rewards[at] == expected
            assert terminated[at] == over[at]
            ended += over[at]
    assert ended > 100


def chosen(draw: random.Random, env: RecoveryEnv) -> int:
    """Mostly moves to neighbours, sometimes the planner's, sometimes anything."""
    here = env.encoder.number_of(env._seen.position)
    if draw.random() < 0.5 and not env._is_over:
        move = Planner(SplitMix64(0)).propose(env._seen).move
        return env.encoder.finish if move is None else env.encoder.number_of(move)
    if draw.random() < 0.2:
        return draw.randrange(env.encoder.finish + 1)
    stride = env.encoder.stride
    return here + draw.choice((-stride, -1, 1, stride))


def test_the_batch_is_made_by_name() -> None:
    """`make_vec` finds it, and it says how it resets."""
    batch = gymnasium.make_vec("wayproof.gym:wayproof/WFRB-v0", num_envs=3, suite=SUITE)
    assert isinstance(batch.unwrapped, RecoveryVectorEnv)
    assert batch.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP
    seen, _ = batch.reset(seed=1)
    again, _ = batch.reset(seed=[1, 2, 3])  # type: ignore[arg-type]
    for key, value in seen.items():
        np.testing.assert_array_equal(value, again[key])


def test_a_batch_begins_where_it_is_told() -> None:
    """By id or by place, one for each lane."""
    batch = RecoveryVectorEnv(3, suite=SUITE)
    batch.reset(options={"scenarios": [batch.scenarios[35], np.int64(7), 0]})
    assert batch.scenario_numbers.tolist() == [35, 7, 0]
    with pytest.raises(InputError, match="not one scenario for each lane; expected 3; found 2"):
        batch.reset(options={"scenarios": [1, 2]})
    with pytest.raises(InputError, match="no lanes"):
        RecoveryVectorEnv(0, suite=SUITE)


# -- evaluation ---------------------------------------------------------------------------


class Chooser:
    """The same decisions as a model and as a policy: down the costs to go, by the planner."""

    name = "chooser"

    def __init__(self, stream: SplitMix64) -> None:
        self._planner = Planner(stream)

    def propose(self, seen: Observation) -> Action:
        if seen.proposals_left % 3 == 0:
            return seen.rejected_action
        return self._planner.propose(seen)


class Model:
    """Decides by what is encoded alone."""

    def predict(self, seen: dict[str, Any], deterministic: bool) -> tuple[Any, None]:
        assert deterministic
        if int(seen["proposals_left"][0]) % 3 == 0:
            return np.int64(seen["rejected_action"]), None
        encoder = Encoder(12)
        rows = [
            "".join("#" if cost == 0 else str(cost) for cost in row[1:-1])
            for row in seen["costs"][1:-1]
        ]
        from wayproof.recovery.grid import Grid

        position, target = (encoder.action(int(seen[key])).move for key in ("position", "target"))
        assert position is not None
        assert target is not None
        if position == target:
            return encoder.finish, None
        grid = Grid.parse(rows, position, target)
        move = (
            Planner(SplitMix64(0))
            .propose(Observation(grid, position, 0, Action(finish=True), "collision", 1))
            .move
        )
        assert move is not None
        return encoder.number_of(move), None


def test_a_model_gives_the_records_of_its_decisions(tmp_path: Path) -> None:
    """The same actions through the encoder and in Python: the same results lines."""
    sources = {"model": as_policy(Model(), "model"), "policy": client_agent("policy", Chooser)}
    for name, source in sources.items():
        run_suite(RunRequest(suite_path(SUITE), policies=(source,)), tmp_path / name)
        assert main(["verify", str(tmp_path / name)]) == 0
    assert lines(tmp_path / "model") == lines(tmp_path / "policy")
    said = json.loads((tmp_path / "model" / "manifest.json").read_bytes())["settings"]["agents"]
    assert said[0]["kind"] == "gymnasium"
    assert said[0]["details"]["mask"] == "none"


def test_a_masked_model_is_given_its_mask(tmp_path: Path) -> None:
    """As `sb3-contrib` does, and the settings say which."""

    def model(seen: dict[str, Any], action_masks: Any) -> int:
        assert action_masks[seen["position"]] == 0
        return int(np.flatnonzero(action_masks)[-1])

    source = as_policy(model, "masked", mask="accepted")
    report = run_suite(RunRequest(suite_path(SUITE), policies=(source,)), tmp_path / "out")
    assert report.summary.policies[0].agent_outcomes == {"ok": 72}
    assert b'"mask":"accepted"' in (tmp_path / "out" / "manifest.json").read_bytes()


def test_a_learner_is_trained_elsewhere_and_scored_on_the_official_suite(tmp_path: Path) -> None:
    """The documentation's example: untrained it completes nothing, trained it does."""
    spec = importlib.util.spec_from_file_location(
        "train_tabular", ROOT / "examples" / "train_tabular.py"
    )
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    suite = tmp_path / "train.jsonl"
    suite.write_bytes(b"".join(suite_lines(Recipe("train", 7, Parameters(grids=40)))))
    untrained = example.main(str(suite), str(tmp_path / "untrained"), episodes=1)
    trained = example.main(str(suite), str(tmp_path / "trained"), episodes=2000)
    before, after = (one.summary.policies[0].total for one in (untrained, trained))
    assert (before.cells, before.completed) == (300, 0)
    assert after.completed > 50
    assert after.verified < after.completed
    assert main(["verify", str(tmp_path / "trained")]) == 0
