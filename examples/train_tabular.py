"""Train a small Q table on a generated suite, and have the bench score it on `wfrb-v0`.

    wayproof recovery generate --seed 7 --grids 40 --out train.jsonl
    python examples/train_tabular.py train.jsonl tabular-result

Needs the extra `[gym]`. The table knows where the target lies, which neighbours are free
and what it last tried in vain: enough to complete now and then, and no more.
"""

import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from wayproof.gym import Encoder, as_policy
from wayproof.recovery.run import RunReport, RunRequest, run_suite
from wayproof.recovery.suite import suite_path
from wayproof.stats.seeded import SplitMix64

SIDE_MAX = 12
ENCODER = Encoder(SIDE_MAX)
STEPS = (-ENCODER.stride, -1, 1, ENCODER.stride)
FINISH = 4


def situation(seen: dict[str, Any]) -> tuple[Any, ...]:
    """Return what the table knows of an observation."""
    here, target = int(seen["position"]), int(seen["target"])
    (row, column), (to_row, to_column) = (divmod(at, ENCODER.stride) for at in (here, target))
    costs = np.asarray(seen["costs"]).reshape(-1)
    free = tuple(bool(costs[here + step]) for step in STEPS)
    tried = int(seen["rejected_action"]) - here
    return (
        (to_row > row) - (to_row < row),
        (to_column > column) - (to_column < column),
        free,
        STEPS.index(tried) if tried in STEPS else None,
    )


class Table:
    """Values of five actions, the four steps and finish, by situation."""

    def __init__(self) -> None:
        self.values: dict[tuple[Any, ...], list[float]] = {}

    def of(self, seen: dict[str, Any]) -> list[float]:
        """Return the values of a situation, zeros at first."""
        return self.values.setdefault(situation(seen), [0.0] * 5)

    def __call__(self, seen: dict[str, Any]) -> int:
        """Return the number of the best action."""
        return numbered(seen, int(np.argmax(self.of(seen))))


def numbered(seen: dict[str, Any], choice: int) -> int:
    """Return the environment's number of one of the five actions."""
    return ENCODER.finish if choice == FINISH else int(seen["position"]) + STEPS[choice]


def train(suite: str, episodes: int) -> Table:
    """Q-learning with a falling share of random choices, from a stream of its own."""
    env = gymnasium.make("wayproof.gym:wayproof/WFRB-v0", suite=suite, side_max=SIDE_MAX)
    table, draw = Table(), SplitMix64(1)
    for episode in range(episodes):
        seen, _ = env.reset(seed=episode)
        is_over = False
        while not is_over:
            values = table.of(seen)
            explores = draw.below(episodes) > episode
            choice = draw.below(5) if explores else int(np.argmax(values))
            after, reward, is_over, _, _ = env.step(numbered(seen, choice))
            future = 0.0 if is_over else 0.95 * max(table.of(after))
            values[choice] += 0.1 * (float(reward) + future - values[choice])
            seen = after
    return table


def main(suite: str, out: str, episodes: int = 4000) -> RunReport:
    """Train, and let the bench score the table."""
    table = train(suite, episodes)
    agent = as_policy(table, "tabular", side_max=SIDE_MAX)
    return run_suite(RunRequest(suite_path("wfrb-v0"), policies=(agent,)), Path(out))


if __name__ == "__main__":
    total = main(sys.argv[1], sys.argv[2]).summary.policies[0].total
    print(f"completed {total.completed}, verified {total.verified} of {total.cells}")
