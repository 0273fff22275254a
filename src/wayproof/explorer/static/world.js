// The world: one pure function decides what an action does. Nothing else changes state.

/** Kinds of rejection, in the order in which they are checked. */
export const REJECTIONS = Object.freeze(["invalid_path", "collision", "premature_end"]);

/** The four cardinal moves, as [row, column] differences. */
export const CARDINAL = Object.freeze([
  [-1, 0],
  [0, 1],
  [1, 0],
  [0, -1],
]);

/** Whether two cells are the same. */
export function sameCell(a, b) {
  return a[0] === b[0] && a[1] === b[1];
}

/** Entry cost of a cell, or null where it is blocked or off the grid. */
export function entryCost(grid, [row, column]) {
  const symbol = grid.rows[row]?.[column];
  return symbol === undefined || symbol === "#" ? null : Number(symbol);
}

/** The state before anything has happened: on the start, nothing spent. */
export function initialState(grid) {
  return Object.freeze({ position: grid.start, spent: 0, finished: false });
}

function rejected(state, rejection) {
  return Object.freeze({ state, accepted: false, rejection });
}

function accepted(state) {
  return Object.freeze({ state: Object.freeze(state), accepted: true, rejection: null });
}

/**
 * What `action` does in `state`: {state, accepted, rejection}.
 *
 * A rejected action changes neither position nor cost. The order of the rejections is
 * part of the contract: a cell that is no neighbour is `invalid_path` even when it is
 * blocked; a neighbour that is blocked or off the grid is `collision`.
 */
export function step(grid, state, action) {
  if (action.finish === true) {
    return sameCell(state.position, grid.target)
      ? accepted({ ...state, finished: true })
      : rejected(state, "premature_end");
  }
  const [row, column] = action.move;
  const distance = Math.abs(row - state.position[0]) + Math.abs(column - state.position[1]);
  if (distance !== 1) {
    return rejected(state, "invalid_path");
  }
  const cost = entryCost(grid, [row, column]);
  if (cost === null) {
    return rejected(state, "collision");
  }
  return accepted({ position: [row, column], spent: state.spent + cost, finished: false });
}

/** Record one step as the trace file does: the outcome, and the state after it. */
export function recordStep(phase, action, outcome) {
  return {
    phase,
    action,
    accepted: outcome.accepted,
    rejection: outcome.rejection,
    position: outcome.state.position,
    spent: outcome.state.spent,
  };
}

/** Play [{phase, action}] in a fresh world and return the recorded steps. */
export function replay(grid, actions) {
  let state = initialState(grid);
  return actions.map(({ phase, action }) => {
    const outcome = step(grid, state, action);
    state = outcome.state;
    return recordStep(phase, action, outcome);
  });
}
