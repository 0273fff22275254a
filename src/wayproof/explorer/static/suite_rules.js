// What every suite must hold beyond its lines: the taxonomy of the three failure kinds, grids
// that differ, and ids that are no other suite's.

const KINDS = ["collision", "invalid_path", "premature_end"];

const isOn = (grid, [row, column]) =>
  row >= 0 && row < grid.rows.length && column >= 0 && column < grid.rows[0].length;
const isFree = (grid, cell) => isOn(grid, cell) && grid.rows[cell[0]][cell[1]] !== "#";

/** Fewest moves from a cell to the target, counted in moves and not in costs. */
function fewestMoves(grid, from) {
  const { target } = grid;
  const seen = new Set([from.join()]);
  let front = [from];
  for (let moves = 0; front.length > 0; moves += 1) {
    const next = [];
    for (const [row, column] of front) {
      if (row === target[0] && column === target[1]) {
        return moves;
      }
      for (const cell of [[row - 1, column], [row, column - 1], [row, column + 1], [row + 1, column]]) {
        if (isFree(grid, cell) && !seen.has(cell.join())) {
          seen.add(cell.join());
          next.push(cell);
        }
      }
    }
    front = next;
  }
  return Infinity;
}

/** Which rule of the taxonomy a grid's scenarios break first; null for none. */
function taxonomyFault(grid) {
  const kinds = grid.scenarios.map((scenario) => scenario.failure_kind);
  if (kinds.length !== KINDS.length || [...kinds].sort().some((kind, at) => kind !== KINDS[at])) {
    return { rule: "rule_each_kind_once", found: kinds.join(", ") };
  }
  const [collision, invalid] = KINDS.map((kind) => grid.scenarios[kinds.indexOf(kind)]);
  // Each is rejected as its own kind already: a collision is a neighbour, an invalid path none.
  if (!isOn(grid, collision.injected_action.move)) {
    return { rule: "rule_collision", found: collision.injected_action.move.join(", ") };
  }
  const here = grid.reference_path[invalid.prefix_length];
  const named = invalid.injected_action.move;
  if (!isFree(grid, named) || (named[0] === here[0] && named[1] === here[1])) {
    return { rule: "rule_invalid_path", found: named.join(", ") };
  }
  if (collision.prefix_length !== invalid.prefix_length) {
    return {
      rule: "rule_shared_prefix",
      found: `${collision.prefix_length}, ${invalid.prefix_length}`,
    };
  }
  for (const scenario of grid.scenarios) {
    const least = fewestMoves(grid, grid.reference_path[scenario.prefix_length]) + 1;
    if (scenario.budget < least) {
      return { rule: "rule_budget", expected: String(least), found: String(scenario.budget) };
    }
  }
  return null;
}

/** The official suite whose id an id begins with, other than the suite's own. */
function foreignSuite(suiteId, ids, pins) {
  return Object.keys(pins)
    .filter((official) => official !== suiteId)
    .flatMap((official) => ids.filter((id) => id === official || id.startsWith(`${official}-`)))[0];
}

/**
 * The first rule that a suite breaks, with its place; null where it holds.
 * @param {object} header the suite's first line
 * @param {object[]} grids its other lines, each usable and certified
 * @param {object} pins digests of official suites, by suite id
 */
export function suiteFault(header, grids, pins) {
  const seen = new Map();
  for (const [at, grid] of grids.entries()) {
    const place = { line: at + 2, grid: grid.grid_id };
    const broken = taxonomyFault(grid);
    if (broken !== null) {
      const { rule, ...more } = broken;
      return { rule, place: { ...place, ...more } };
    }
    const ids = [grid.grid_id, ...grid.scenarios.map((scenario) => scenario.scenario_id)];
    const taken = foreignSuite(header.suite_id, ids, pins);
    if (taken !== undefined) {
      return { rule: "rule_official_id", place: { ...place, found: taken } };
    }
    const drawing = JSON.stringify([grid.rows, grid.start, grid.target]);
    if (seen.has(drawing)) {
      return { rule: "rule_grids_differ", place: { ...place, found: seen.get(drawing) } };
    }
    seen.set(drawing, grid.grid_id);
  }
  return null;
}
