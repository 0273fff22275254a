// A grid drawn as SVG: costs, walls, the optimal path, the way walked so far, the agent,
// and the last refused action. Every meaning has a shape or a sign besides its colour.

import { svg } from "./dom.js";

const CELL = 40;
const MARGIN = 20;

const centre = ([row, column]) => [MARGIN + (column + 0.5) * CELL, MARGIN + (row + 0.5) * CELL];
const points = (cells) => cells.map((cell) => centre(cell).join(",")).join(" ");

/** A cell's cost to go, where it is known and asked for. */
function costToGo(grid, row, column, [x, y], isShown) {
  const cost = isShown ? (grid.potentials?.[row]?.[column] ?? null) : null;
  return cost === null ? [] : [svg("text", { x: x + 5, y: y + CELL - 6, class: "to-go" }, String(cost))];
}

function cellShape(grid, row, column, { showCosts, showToGo }) {
  const symbol = grid.rows[row][column];
  const [x, y] = [MARGIN + column * CELL, MARGIN + row * CELL];
  const isWall = symbol === "#";
  const rect = svg("rect", {
    x: x + 1,
    y: y + 1,
    width: CELL - 2,
    height: CELL - 2,
    rx: 4,
    class: isWall ? "cell wall" : `cell cost-${symbol}`,
    "data-row": row,
    "data-column": column,
  });
  if (isWall) {
    const hatch = `M${x + 8} ${y + 32}L${x + 32} ${y + 8}M${x + 6} ${y + 20}L${x + 20} ${y + 6}M${x + 20} ${y + 34}L${x + 34} ${y + 20}`;
    return [rect, svg("path", { d: hatch, class: "hatch" })];
  }
  const cost = showCosts ? [svg("text", { x: x + CELL - 5, y: y + 13, class: "cost" }, symbol)] : [];
  return [rect, ...cost, ...costToGo(grid, row, column, [x, y], showToGo)];
}

function endMarks(grid) {
  const [sx, sy] = centre(grid.start);
  const [tx, ty] = centre(grid.target);
  return [
    svg("circle", { cx: sx, cy: sy, r: 11, class: "start" }),
    svg("text", { x: sx, y: sy + 5, class: "mark" }, "S"),
    svg("rect", { x: tx - 11, y: ty - 10, width: 22, height: 22, rx: 2, class: "target" }),
    svg("text", { x: tx, y: ty + 5, class: "mark" }, "T"),
  ];
}

/** Where to draw a cell that a rejected action named, kept inside the drawing. */
function keptInside(grid, [row, column]) {
  const clamp = (value, length) => Math.max(-0.75, Math.min(length - 0.25, value));
  return [clamp(row, grid.rows.length), clamp(column, grid.rows[0].length)];
}

function refusedMark(grid, position, action) {
  const named = "finish" in action ? position : keptInside(grid, action.move);
  const [x, y] = centre(named);
  const [fromX, fromY] = centre(position);
  return svg(
    "g",
    { class: "refused" },
    svg("line", { x1: fromX, y1: fromY, x2: x, y2: y, class: "refused-way" }),
    svg("path", { d: `M${x - 9} ${y - 9}L${x + 9} ${y + 9}M${x + 9} ${y - 9}L${x - 9} ${y + 9}` }),
  );
}

/**
 * Draw a grid in a moment of a trial.
 *
 * @param {object} scene
 * @param {object} scene.grid
 * @param {number[][]} scene.trail cells walked so far, the start first
 * @param {number[]} scene.position
 * @param {object|null} scene.refused the action just rejected, if any
 * @param {object|null} scene.injected the injected action, once it was rejected: it stays marked
 * @param {number[]|null} scene.injectedAt where the agent stood then
 * @param {boolean} scene.showCosts
 * @param {boolean} scene.showOptimal
 * @param {boolean} scene.showToGo optimal cost from each cell to the target
 * @param {number[]|null} scene.cursor cell under the keyboard's cursor
 * @returns {SVGElement[]}
 */
export function drawBoard(scene) {
  const { grid } = scene;
  const shapes = [];
  for (let row = 0; row < grid.rows.length; row += 1) {
    for (let column = 0; column < grid.rows[row].length; column += 1) {
      shapes.push(...cellShape(grid, row, column, scene));
    }
  }
  if (scene.trail.length > 1) {
    shapes.push(svg("polyline", { points: points(scene.trail), class: "trail" }));
  }
  if (scene.showOptimal) {
    shapes.push(svg("polyline", { points: points(grid.reference_path), class: "optimal" }));
  }
  shapes.push(...endMarks(grid));
  if (scene.cursor) {
    const [x, y] = centre(scene.cursor);
    const half = CELL / 2 - 2;
    shapes.push(
      svg("rect", { x: x - half, y: y - half, width: 2 * half, height: 2 * half, class: "cursor" }),
    );
  }
  if (scene.injected && scene.injected !== scene.refused) {
    const mark = refusedMark(grid, scene.injectedAt, scene.injected);
    mark.classList.add("past");
    shapes.push(mark);
  }
  if (scene.refused) {
    shapes.push(refusedMark(grid, scene.position, scene.refused));
  }
  const [x, y] = centre(scene.position);
  shapes.push(svg("circle", { cx: x, cy: y, r: 8, class: "agent" }));
  return shapes;
}

/** The drawing's viewBox for a grid. */
export function boardBox(grid) {
  const width = grid.rows[0].length * CELL + 2 * MARGIN;
  const height = grid.rows.length * CELL + 2 * MARGIN;
  return `0 0 ${width} ${height}`;
}

/**
 * The cell under a pointer event, from the border of one cell around the grid inwards; null
 * further out: a click that names no cell proposes nothing.
 */
export function cellAt(element, event, grid) {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(
    element.getScreenCTM().inverse(),
  );
  const row = Math.floor((point.y - MARGIN) / CELL);
  const column = Math.floor((point.x - MARGIN) / CELL);
  const isNear = (place, length) => place >= -1 && place <= length;
  return isNear(row, grid.rows.length) && isNear(column, grid.rows[0].length)
    ? [row, column]
    : null;
}
