// The reference controls once more: what a control did is known to the last step, so that a
// bundle's trace of one is held against the trace that it must have left.

import { stream } from "./seeded.js";
import { initialState, recordStep, sameCell, step } from "./world.js";

const STREAM = "wayproof.recovery.policy/1";
/** Up, left, right, down: the neighbours in the order of their [row, column]. */
const OFFSETS = [[-1, 0], [0, -1], [0, 1], [1, 0]];

const neighbour = ([row, column], [down, right]) => [row + down, column + right];

function plannerMove(grid, position) {
  const symbolCost = (cell) => Number(grid.rows[cell[0]][cell[1]]);
  const here = grid.potentials[position[0]][position[1]];
  // The certified potentials are the costs to go that the planner works out.
  return OFFSETS.map((offset) => neighbour(position, offset)).find(([row, column]) => {
    const beyond = grid.potentials[row]?.[column] ?? null;
    return beyond !== null && symbolCost([row, column]) + beyond === here;
  });
}

const CONTROLS = {
  planner: () => ({ grid, position }) => ({ move: plannerMove(grid, position) }),
  "random-walk": (draw) => ({ position }) => ({ move: neighbour(position, OFFSETS[draw().below(4)]) }),
  "blind-repeat": () => ({ injected }) => injected,
};

/** Names of the reference controls. */
export const CONTROL_NAMES = Object.freeze(Object.keys(CONTROLS).sort());

/** Whether a name is a reference control's. */
export const isControl = (name) => CONTROL_NAMES.includes(name);

/** Steps that a reference control leaves on a scenario. */
export function controlSteps(suiteId, grid, scenario, policy, seed) {
  let lazy = null;
  const draw = () => {
    lazy ??= stream(STREAM, suiteId, scenario.scenario_id, policy, seed);
    return lazy;
  };
  const propose = CONTROLS[policy](draw);
  const injected = scenario.injected_action;
  const steps = [];
  let state = initialState(grid);
  const act = (phase, action) => {
    const outcome = step(grid, state, action);
    state = outcome.state;
    steps.push(recordStep(phase, action, outcome));
  };
  grid.reference_path
    .slice(1, scenario.prefix_length + 1)
    .forEach((cell) => act("prefix", { move: cell }));
  act("injected", injected);
  for (let left = scenario.budget; left > 0 && !state.finished; left -= 1) {
    const isThere = policy !== "blind-repeat" && sameCell(state.position, grid.target);
    act("policy", isThere ? { finish: true } : propose({ grid, position: state.position, injected }));
  }
  return steps;
}
