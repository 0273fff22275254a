// The judge. It restates the rules instead of calling the world: a mistake in one of the
// two shows as a disagreement. It searches for nothing; the suite's certificate is checked
// edge by edge.

/** The checks, in the order in which the first failure is named. */
export const CHECKS = Object.freeze([
  "prefix_valid",
  "injection_rejected",
  "state_unchanged",
  "transitions_valid",
  "within_budget",
  "finished_at_target",
  "optimum_certified",
  "cost_exact",
  "replay_identical",
]);

const COMPLETION_CHECKS = CHECKS.slice(0, CHECKS.indexOf("finished_at_target") + 1);

const equal = (a, b) => a.length === b.length && a.every((value, index) => value === b[index]);

/** Whether two actions say the same thing. */
export function sameAction(a, b) {
  return a.finish === true || b.finish === true
    ? a.finish === b.finish
    : equal(a.move, b.move);
}

/** Cost of entering a cell, Infinity for a wall and for what lies outside. */
function price(grid, row, column) {
  const line = row >= 0 && row < grid.rows.length ? grid.rows[row] : "";
  const symbol = column >= 0 && column < line.length ? line.charAt(column) : "#";
  return symbol === "#" ? Infinity : symbol.charCodeAt(0) - 48;
}

/** The rules once more: what must be recorded after `action` from `position`, `spent`. */
export function ruled(grid, position, spent, action) {
  const stay = (rejection) => ({ accepted: false, rejection, position, spent });
  if ("finish" in action) {
    return equal(position, grid.target)
      ? { accepted: true, rejection: null, position, spent }
      : stay("premature_end");
  }
  const [row, column] = action.move;
  const vertical = Math.abs(row - position[0]);
  const horizontal = Math.abs(column - position[1]);
  const isNeighbour =
    (vertical === 1 && horizontal === 0) || (vertical === 0 && horizontal === 1);
  if (!isNeighbour) {
    return stay("invalid_path");
  }
  const cost = price(grid, row, column);
  return cost === Infinity
    ? stay("collision")
    : { accepted: true, rejection: null, position: [row, column], spent: spent + cost };
}

function agrees(recorded, rule) {
  return (
    recorded.accepted === rule.accepted &&
    recorded.rejection === rule.rejection &&
    recorded.spent === rule.spent &&
    equal(recorded.position, rule.position)
  );
}

/** What the rules say after each recorded action, whatever was recorded. */
function regenerate(grid, steps) {
  let position = grid.start;
  let spent = 0;
  return steps.map((step) => {
    const rule = ruled(grid, position, spent, step.action);
    ({ position, spent } = rule);
    return rule;
  });
}

function* neighbours(grid, row, column) {
  for (const [down, right] of [[-1, 0], [0, -1], [0, 1], [1, 0]]) {
    const cost = price(grid, row + down, column + right);
    if (cost !== Infinity) {
      yield { row: row + down, column: column + right, cost };
    }
  }
}

function potentialHolds(grid, row, column) {
  const own = grid.potentials[row][column];
  const isWall = price(grid, row, column) === Infinity;
  if (isWall) {
    return own === null;
  }
  if (row === grid.target[0] && column === grid.target[1]) {
    return own === 0;
  }
  let least = Infinity;
  for (const next of neighbours(grid, row, column)) {
    const beyond = grid.potentials[next.row][next.column];
    if (beyond !== null) {
      least = Math.min(least, next.cost + beyond);
    }
  }
  return own === null ? least === Infinity : own === least;
}

/**
 * Whether the potentials are the optimal costs-to-go and the reference path is optimal.
 *
 * With entry costs of at least 1, the equations p(target) = 0 and
 * p(u) = min over free neighbours v of cost(v) + p(v) have one solution, the optimal
 * cost-to-go; no search is needed to accept it.
 * @returns {null | {row: number, column: number} | {path: number}} the first place that
 *   doesn't hold
 */
export function certificateFault(grid) {
  for (let row = 0; row < grid.rows.length; row += 1) {
    for (let column = 0; column < grid.rows[row].length; column += 1) {
      if (!potentialHolds(grid, row, column)) {
        return { row, column };
      }
    }
  }
  const path = grid.reference_path;
  let spent = 0;
  if (!path.length || !equal(path[0], grid.start)) {
    return { path: 0 };
  }
  for (let index = 1; index < path.length; index += 1) {
    const rule = ruled(grid, path[index - 1], spent, { move: path[index] });
    if (!rule.accepted) {
      return { path: index };
    }
    spent = rule.spent;
  }
  const optimum = grid.potentials[grid.start[0]][grid.start[1]];
  const arrives = equal(path[path.length - 1], grid.target);
  return arrives && optimum !== null && spent === optimum ? null : { path: path.length - 1 };
}

function prefixFault(grid, scenario, steps, rules) {
  const length = scenario.prefix_length;
  for (let index = 0; index < length; index += 1) {
    const step = steps[index];
    const right =
      step?.phase === "prefix" &&
      rules[index].accepted &&
      agrees(step, rules[index]) &&
      sameAction(step.action, { move: grid.reference_path[index + 1] ?? [] });
    if (!right) {
      return index;
    }
  }
  return null;
}

function injectionFault(scenario, steps, rules) {
  const index = scenario.prefix_length;
  const step = steps[index];
  const right =
    step?.phase === "injected" &&
    sameAction(step.action, scenario.injected_action) &&
    rules[index].rejection === scenario.failure_kind &&
    step.accepted === false &&
    step.rejection === scenario.failure_kind;
  return right ? null : index;
}

/** Around each rejection the *recorded* state stays; whether it is right comes after. */
function unchangedFault(grid, steps) {
  let before = { position: grid.start, spent: 0 };
  for (let index = 0; index < steps.length; index += 1) {
    const step = steps[index];
    const moved = step.spent !== before.spent || !equal(step.position, before.position);
    if (!step.accepted && moved) {
      return index;
    }
    before = step;
  }
  return null;
}

function transitionFault(scenario, steps, rules) {
  let isOver = false;
  for (let index = scenario.prefix_length + 1; index < steps.length; index += 1) {
    const step = steps[index];
    if (isOver || step.phase !== "policy" || !agrees(step, rules[index])) {
      return index;
    }
    isOver = step.accepted && "finish" in step.action;
  }
  return null;
}

function finishFault(grid, steps) {
  const last = steps[steps.length - 1];
  const right =
    last?.phase === "policy" &&
    last.accepted &&
    "finish" in last.action &&
    equal(last.position, grid.target);
  return right ? null : steps.length - 1;
}

function replayFault(steps, replayed) {
  const length = Math.max(steps.length, replayed.length);
  for (let index = 0; index < length; index += 1) {
    const a = steps[index];
    const b = replayed[index];
    if (!a || !b || a.phase !== b.phase || !sameAction(a.action, b.action) || !agrees(a, b)) {
      return index;
    }
  }
  return null;
}

/**
 * Judge one recorded trial.
 *
 * @param {object} grid a grid line of the suite
 * @param {object} scenario one of its scenarios
 * @param {object[]} steps the recorded steps
 * @param {object[]} replayed the same actions played in a fresh world, by the caller
 * @param {boolean} [certified] the grid's certificate, when it was checked already
 * @returns {{checks: Object<string, boolean|null>, firstFailedCheck: string|null,
 *   failedStep: number|null, completed: boolean, verifiedRecovery: boolean}}
 *   checks after the first failure are null
 */
export function judge(grid, scenario, steps, replayed, certified = certificateFault(grid) === null) {
  const rules = regenerate(grid, steps);
  const optimum = grid.potentials[grid.start[0]][grid.start[1]];
  const proposals = steps.length - scenario.prefix_length - 1;
  const faults = {
    prefix_valid: () => prefixFault(grid, scenario, steps, rules),
    injection_rejected: () => injectionFault(scenario, steps, rules),
    state_unchanged: () => unchangedFault(grid, steps),
    transitions_valid: () => transitionFault(scenario, steps, rules),
    within_budget: () => (proposals <= scenario.budget ? null : steps.length - 1),
    finished_at_target: () => finishFault(grid, steps),
    optimum_certified: () => (certified ? null : 0),
    cost_exact: () => (steps[steps.length - 1].spent === optimum ? null : steps.length - 1),
    replay_identical: () => replayFault(steps, replayed),
  };
  const checks = Object.fromEntries(CHECKS.map((name) => [name, null]));
  let firstFailedCheck = null;
  let failedStep = null;
  for (const name of CHECKS) {
    const fault = faults[name]();
    checks[name] = fault === null;
    if (fault !== null) {
      firstFailedCheck = name;
      failedStep = fault;
      break;
    }
  }
  return {
    checks,
    firstFailedCheck,
    failedStep,
    completed: COMPLETION_CHECKS.every((name) => checks[name] === true),
    verifiedRecovery: firstFailedCheck === null,
  };
}
