"""Many trials side by side in NumPy: the same dynamics, for training only."""

from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from wayproof.errors import InputError
from wayproof.gym.encoding import KINDS, Encoded, Encoder
from wayproof.gym.environment import cases_of_suite
from wayproof.gym.rewards import reward_named
from wayproof.recovery.tracks.v0 import failure_state

__all__ = ["RecoveryVectorEnv"]

_DRAWS: Final = 4096


class RecoveryVectorEnv(gymnasium.vector.VectorEnv[Encoded, Any, Any]):
    """A batch of :class:`~wayproof.gym.environment.RecoveryEnv`, equal to it step by step.

    A lane whose episode has ended is reset by its next step, whose action is ignored and
    pays nothing (``AutoresetMode.NEXT_STEP``).

    Parameters
    ----------
    num_envs
        How many lanes.
    suite, side_max, reward
        As for one environment.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - theirs

    def __init__(
        self,
        num_envs: int,
        suite: str = "wfrb-v0",
        side_max: int = 12,
        reward: str = "finish_bonus",
    ) -> None:
        if num_envs < 1:
            raise InputError("no lanes", setting="num_envs", expected="at least 1")
        self.num_envs = num_envs
        self.encoder = encoder = Encoder(side_max)
        cases = cases_of_suite(suite, encoder)
        self.scenarios = [case.scenario_id for case in cases]
        self.single_action_space = encoder.action_space()
        self.single_observation_space = encoder.observation_space()
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._pays = reward_named(reward).pays
        # A column more than there are cells: entering "finish" costs nothing.
        self._table = np.zeros((len(cases), encoder.finish + 1), np.uint8)
        for number, case in enumerate(cases):
            self._table[number, :-1] = encoder.costs(case.loaded.grid).reshape(-1)
        # One row a scenario: position, spent, proposals left, rejected action, its kind,
        # target, optimum.
        self._starts = np.array(
            [
                (
                    encoder.number_of(state.position),
                    state.spent,
                    case.budget,
                    encoder.finish
                    if case.injected_action.move is None
                    else encoder.number_of(case.injected_action.move),
                    KINDS.index(case.failure_kind),
                    encoder.number_of(case.loaded.grid.target),
                    case.loaded.record.potentials[case.loaded.record.start[0]][
                        case.loaded.record.start[1]
                    ],
                )
                for case in cases
                for state in [failure_state(case.loaded.record, case.scenario)]
            ],
            np.int64,
        ).T.copy()
        self._case = np.zeros(num_envs, np.int64)
        self._budget = self._starts[2, self._case]
        self._state = self._starts[:, self._case]
        self._costs = self._table[self._case]
        self._flat = np.arange(num_envs) * (encoder.finish + 1)
        self._over = np.zeros(num_envs, np.bool_)
        self._draws = np.zeros(0, np.int64)

    def _begin(self, lanes: Any, numbers: Any) -> None:
        self._case[lanes] = numbers
        self._state[:, lanes] = self._starts[:, numbers]
        self._costs[lanes] = self._table[numbers]
        self._budget[lanes] = self._starts[2, numbers]

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Encoded, dict[str, Any]]:
        """Begin an episode in every lane.

        ``options["scenarios"]`` names each lane's scenario by its place in ``scenarios``;
        else they are drawn.
        """
        super().reset(seed=seed[0] if isinstance(seed, list) else seed)
        wanted = (options or {}).get("scenarios")
        self._draws = np.zeros(0, np.int64)
        numbers = self._drawn(self.num_envs) if wanted is None else np.asarray(wanted)
        self._begin(np.arange(self.num_envs), numbers)
        self._over[:] = False
        return self._encoded(), {}

    def _drawn(self, count: int) -> Any:
        """Draw scenarios, many at a time: a call of the generator costs more than its numbers."""
        if count > len(self._draws):
            fresh = self.np_random.integers(len(self.scenarios), size=max(_DRAWS, count))
            self._draws = np.concatenate((self._draws, fresh))
        drawn, self._draws = self._draws[:count], self._draws[count:]
        return drawn

    def step(self, actions: Any) -> tuple[Encoded, Any, Any, Any, dict[str, Any]]:
        """Propose an action in every lane."""
        here, spent, left, rejected, kind, target, optimum = self._state
        asks = actions == self.encoder.finish
        # Finish is further from any cell of a grid than a neighbour is, so it is never near.
        distance = np.abs(actions - here)
        near = distance == 1
        near |= distance == self.encoder.stride
        cost = self._costs.reshape(-1)[self._flat + actions] * near
        moves = cost > 0
        ends = here == target
        ends &= asks
        refused = moves | ends
        np.logical_not(refused, out=refused)
        waiting = self._over.nonzero()[0]
        if waiting.size:  # what a lane ignores costs nothing
            moves[waiting] = ends[waiting] = refused[waiting] = False
            cost[waiting] = 0
            left[waiting] += 1
        np.copyto(here, actions, where=moves)
        spent += cost
        left -= 1
        np.copyto(rejected, actions, where=refused)
        # 0 for a neighbour, 1 for another cell, 2 for finish: the places in KINDS.
        np.copyto(kind, (asks + np.int64(1)) - near, where=refused)
        rewards = self._pays(cost, refused, ends, ends & (spent == optimum), self._budget)
        terminated = left == 0
        terminated |= ends
        if waiting.size:
            self._begin(waiting, self._drawn(waiting.size))
            terminated[waiting] = False
        self._over = terminated
        return (
            self._encoded(),
            rewards,
            terminated.copy(),
            np.zeros(self.num_envs, np.bool_),
            {},
        )

    def _encoded(self) -> Encoded:
        here, spent, left, rejected, kind, target, _ = self._state
        stride = self.encoder.stride
        return {
            "costs": self._costs[:, :-1].reshape(-1, stride, stride),  # a copy: cut out
            "position": here.copy(),
            "proposals_left": left.reshape(-1, 1).copy(),
            "rejected_action": rejected.copy(),
            "rejection": kind.copy(),
            "spent": spent.reshape(-1, 1).copy(),
            "target": target.copy(),
        }
