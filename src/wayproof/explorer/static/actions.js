// Actions as short text, for the sample inside the page: N, E, S, W for the neighbour in
// that direction, F to finish, @row,column; for any other cell.

import { initialState, step } from "./world.js";

const DIRECTIONS = { N: [-1, 0], E: [0, 1], S: [1, 0], W: [0, -1] };
const TOKEN = /([NESWF])|@(-?\d+),(-?\d+);/g;

function decoded(token, position) {
  const [, letter, row, column] = token;
  if (letter === "F") {
    return { finish: true };
  }
  if (letter === undefined) {
    return { move: [Number(row), Number(column)] };
  }
  const [down, right] = DIRECTIONS[letter];
  return { move: [position[0] + down, position[1] + right] };
}

/** Unpack a sample trial's actions, with the phase that each belongs to. */
export function unpackActions(grid, scenario, packed) {
  let state = initialState(grid);
  return Array.from(packed.matchAll(TOKEN), (token, index) => {
    const action = decoded(token, state.position);
    state = step(grid, state, action).state;
    return { phase: phaseAt(scenario, index), action };
  });
}

/** Which phase the step at `index` belongs to. */
export function phaseAt(scenario, index) {
  if (index < scenario.prefix_length) {
    return "prefix";
  }
  return index === scenario.prefix_length ? "injected" : "policy";
}
