"""Many trials side by side in NumPy: the same dynamics, for training only."""

from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from wayproof.errors import InputError
from wayproof.gym.encoding import KINDS, Encoded, Encoder
from wayproof.gym.environment import cases_of_suite, scenario_place
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
        self._table = np.zeros((len(cases), encoder.finish + 1), np.int64)
        for number, case in enumerate(cases):
            self._table[number, :-1] = encoder.costs(case.loaded.grid).reshape(-1)
        square = (len(cases), encoder.stride, encoder.stride)
        self._shown = self._table[:, :-1].astype(np.uint8).reshape(square)
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
                    case.budget,
                    number * (encoder.finish + 1),
                )
                for number, case in enumerate(cases)
                for state in [failure_state(case.loaded.record, case.scenario)]
            ],
            np.int64,
        ).T.copy()
        # By the distance between two numbers: a neighbour or not. Finish is further from any
        # cell of a grid than a neighbour is, so it is never near.
        self._near = np.zeros(encoder.finish + 1, np.int64)
        self._near[[1, encoder.stride]] = 1
        # One row for each of: position, spent, proposals left, rejected action, its kind,
        # target, optimum, budget, and where the scenario's costs begin in the flat table.
        self._state = self._starts[:, np.zeros(num_envs, np.int64)]
        self._costs = self._shown[np.zeros(num_envs, np.int64)]
        self._waiting = np.zeros(0, np.int64)
        self._draws = np.zeros(0, np.int64)

    def _begin(self, lanes: Any, numbers: Any) -> None:
        self._state[:, lanes] = self._starts[:, numbers]
        self._costs[lanes] = self._shown[numbers]

    @property
    def scenario_numbers(self) -> Any:
        """Each lane's scenario, as its place in ``scenarios``."""
        return self._state[8] // (self.encoder.finish + 1)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Encoded, dict[str, Any]]:
        """Begin an episode in every lane.

        ``options["scenarios"]`` names each lane's scenario, by its id or its place in
        ``scenarios``; else they are drawn. All lanes draw from one stream: of a list of seeds
        the first is taken.

        Raises
        ------
        InputError
            For a scenario that the suite doesn't have, or not one for each lane.
        """
        super().reset(seed=seed[0] if isinstance(seed, list) else seed)
        wanted = (options or {}).get("scenarios")
        self._draws = np.zeros(0, np.int64)
        numbers = self._drawn(self.num_envs) if wanted is None else self._named(wanted)
        self._begin(np.arange(self.num_envs), numbers)
        self._waiting = np.zeros(0, np.int64)
        return self._encoded(), {}

    def _named(self, wanted: Any) -> Any:
        """Return the places of named scenarios, one for each lane."""
        places = {name: place for place, name in enumerate(self.scenarios)}
        numbers = [scenario_place(one, places) for one in wanted]
        if len(numbers) != self.num_envs:
            raise InputError(
                "not one scenario for each lane",
                setting="scenarios",
                expected=str(self.num_envs),
                found=str(len(numbers)),
            )
        return np.array(numbers, np.int64)

    def _drawn(self, count: int) -> Any:
        """Draw scenarios, many at a time: a call of the generator costs more than its numbers."""
        if count > len(self._draws):
            fresh = self.np_random.integers(len(self.scenarios), size=max(_DRAWS, count))
            self._draws = np.concatenate((self._draws, fresh))
        drawn, self._draws = self._draws[:count], self._draws[count:]
        return drawn

    def step(self, actions: Any) -> tuple[Encoded, Any, Any, Any, dict[str, Any]]:
        """Propose an action in every lane."""
        # Few calls on whole arrays, in place: at 256 lanes a call costs more than its numbers.
        actions = np.asarray(actions)
        here, spent, left, rejected, kind, target, optimum, budget, first = self._state
        near = self._near.take(np.abs(actions - here), mode="clip")
        cost = self._table.take(first + actions, mode="clip")
        cost *= near
        asks = actions == self.encoder.finish
        ends = here == target
        ends &= asks
        moves = cost > 0
        refused = ~(moves | ends)
        np.copyto(here, actions, where=moves)
        spent += cost
        left -= 1
        np.copyto(rejected, actions, where=refused)
        # 0 for a neighbour, 1 for another cell, 2 for finish: the places in KINDS.
        np.subtract(1, near, out=near)
        near += asks
        np.copyto(kind, near, where=refused)
        paid = self._pays(cost, refused, ends, ends & (spent == optimum), budget)
        rewards = paid.astype(np.float64)
        terminated = left == 0
        terminated |= ends
        waiting = self._waiting
        if waiting.size:  # whatever was done in these lanes is replaced
            self._begin(waiting, self._drawn(waiting.size))
            rewards[waiting] = 0.0
            terminated[waiting] = False
        self._waiting = terminated.nonzero()[0]
        return self._encoded(), rewards, terminated, np.zeros(self.num_envs, np.bool_), {}

    def _encoded(self) -> Encoded:
        seen = self._state.copy()
        return {
            "costs": self._costs.copy(),
            "position": seen[0],
            "proposals_left": seen[2].reshape(-1, 1),
            "rejected_action": seen[3],
            "rejection": seen[4],
            "spent": seen[1].reshape(-1, 1),
            "target": seen[5],
        }
