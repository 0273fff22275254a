// What every suite must hold beyond its lines: the taxonomy of the three failure kinds, grids
// that differ, and ids that are no other suite's.

const KINDS = ["collision", "invalid_path", "premature_end"];

const isOn = (grid, [row, column]) =>
  row >= 0 && row < grid.rows.length && column >= 0 && column < grid.rows[0].length;
const isFree = (grid, cell) => isOn(grid, cell) && grid.rows[cell[0]][cell[1]] !== "#";

/** Which rule of the taxonomy a grid's scenarios break first; null for none. */
function taxonomyFault(grid) {
  const kinds = grid.scenarios.map((scenario) => scenario.failure_kind);
  if (kinds.length !== KINDS.length || [...kinds].sort().some((kind, at) => kind !== KINDS[at])) {
    return { rule: "kinds_complete", found: kinds.join(", ") };
  }
  const [collision, invalid] = KINDS.map((kind) => grid.scenarios[kinds.indexOf(kind)]);
  // Each is rejected as its own kind already: a collision is a neighbour, an invalid path none.
  if (!isOn(grid, collision.injected_action.move)) {
    return { rule: "collision_blocked_neighbour", found: collision.injected_action.move.join(", ") };
  }
  const here = grid.reference_path[invalid.prefix_length];
  const named = invalid.injected_action.move;
  if (!isFree(grid, named) || (named[0] === here[0] && named[1] === here[1])) {
    return { rule: "invalid_path_free_cell", found: named.join(", ") };
  }
  if (collision.prefix_length !== invalid.prefix_length) {
    return {
      rule: "prefix_shared",
      found: `${collision.prefix_length}, ${invalid.prefix_length}`,
    };
  }
  return null;
}

/** The first of some ids that belongs to an official suite: its id, "-g" and a digit. */
function officialId(ids, pins) {
  const begins = (id, official) => id.startsWith(`${official}-g`) && /^[0-9]/.test(id.slice(official.length + 2));
  return ids.find((id) => Object.keys(pins).some((official) => begins(id, official)));
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
    const taken = Object.hasOwn(pins, header.suite_id) ? undefined : officialId(ids, pins);
    if (taken !== undefined) {
      return { rule: "official_ids", place: { ...place, found: taken } };
    }
    const drawing = JSON.stringify([grid.rows, grid.start, grid.target]);
    if (seen.has(drawing)) {
      return { rule: "grids_differ", place: { ...place, found: seen.get(drawing) } };
    }
    seen.set(drawing, grid.grid_id);
  }
  return null;
}
