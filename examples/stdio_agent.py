"""A complete agent for `wayproof recovery run --agent`, in one file, standard library only.

    wayproof recovery run --agent "python examples/stdio_agent.py plan" --name mine --out DIR

It reads JSON Lines from stdin and writes JSON Lines to stdout; whatever it says to stderr
is its log. `plan` follows a shortest path from where it stands; `walk` moves at random,
by SplitMix64 from the seed that it is sent, as the control `random-walk` does. The same
few lines are an agent in any language.
"""

import heapq
import json
import sys
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]
Cell = tuple[int, int]
STEPS = ((-1, 0), (0, -1), (0, 1), (1, 0))
MASK = (1 << 64) - 1


def say(message: Message) -> None:
    """Write one message as one line, at once."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def costs_to_go(trial: Message) -> dict[Cell, int]:
    """Return the cost of the cheapest way to the target from every cell that has one."""
    rows = trial["rows"]
    free = {
        (row, column): int(cell)
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
        if cell != "#"
    }
    target = tuple(trial["target"])
    costs = {target: 0}
    queue = [(0, target)]
    while queue:
        cost, cell = heapq.heappop(queue)
        if cost > costs[cell]:
            continue
        for row_step, column_step in STEPS:
            near = (cell[0] + row_step, cell[1] + column_step)
            there = cost + free[cell]
            if near in free and there < costs.get(near, there + 1):
                costs[near] = there
                heapq.heappush(queue, (there, near))
    return costs


def planner(trial: Message) -> Callable[[Cell], Cell]:
    """Return a policy that follows a shortest path."""
    costs, rows = costs_to_go(trial), trial["rows"]

    def move(here: Cell) -> Cell:
        near = [(here[0] + row, here[1] + column) for row, column in STEPS]
        return min(
            (cell for cell in near if cell in costs),
            key=lambda cell: costs[cell] + int(rows[cell[0]][cell[1]]),
        )

    return move


def walker(trial: Message) -> Callable[[Cell], Cell]:
    """Return a policy that moves at random, by SplitMix64."""
    state = int(trial["seed"], 16)

    def move(here: Cell) -> Cell:
        nonlocal state
        state = z = (state + 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        row_step, column_step = STEPS[(z ^ (z >> 31)) % 4]
        return here[0] + row_step, here[1] + column_step

    return move


POLICIES = {"plan": planner, "walk": walker}


def main() -> None:
    """Answer messages until stdin closes."""
    choose = POLICIES[sys.argv[1] if len(sys.argv) > 1 else "plan"]
    trial: Message = {}
    move = walker({"seed": "0"})
    finishes = False
    for line in sys.stdin:
        message: Message = json.loads(line)
        if message["type"] == "hello":
            say({"type": "hello", "name": "stdio-agent", "version": "1"})
        elif message["type"] == "trial":
            trial, move = message, choose(message)
        if message["type"] not in {"trial", "outcome"}:
            continue
        is_over = (finishes and message.get("accepted")) or message.get("proposals_left") == 0
        finishes = message["position"] == trial["target"] and not is_over
        if is_over:
            continue  # the bench says "end" next
        action = {"type": "action", "trial": trial["trial"], "step": message.get("step", -1) + 1}
        row, column = message["position"]
        say(action | ({"finish": True} if finishes else {"move": move((row, column))}))


if __name__ == "__main__":
    main()
