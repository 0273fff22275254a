// The ledger: what was asked, what came of it, where it led, and what it had cost by then.

import { el } from "./dom.js";
import { text } from "./locale.js";

/** A cell as files and terminal spell it: [row, column], from 0. */
export function cellText([row, column]) {
  return `[${row}, ${column}]`;
}

/**
 * What each step lost: entry cost + cost to go after it - cost to go before it. A rejected
 * action loses nothing, and a step along an optimal way neither.
 */
export function lossesOf({ grid, steps }) {
  const costToGo = ([row, column]) => grid.potentials?.[row]?.[column] ?? null;
  let before = { position: grid.start, spent: 0 };
  return steps.map((step) => {
    const [was, is] = [costToGo(before.position), costToGo(step.position)];
    const loss = was === null || is === null ? null : step.spent - before.spent + is - was;
    before = step;
    return loss;
  });
}

/** The first step that lost something; -1 for none. */
export function firstLoss(trial) {
  return lossesOf(trial).findIndex((loss) => loss !== null && loss > 0);
}

/** An action in words. */
export function actionText(action) {
  return "finish" in action ? text("action.finish") : `→ ${cellText(action.move)}`;
}

function outcome(step) {
  return step.accepted
    ? el("span", { class: "status good" }, text("outcome.accepted"))
    : el("span", { class: "status bad" }, text(`rejection.${step.rejection}`));
}

function lossCell(loss) {
  const isLost = loss !== null && loss > 0;
  return el(
    "td",
    { class: "number", "data-loss": loss },
    isLost ? el("span", { class: "status bad" }, `+${loss}`) : loss === null ? "–" : String(loss),
  );
}

/** One line of the ledger. */
function row(step, index, { before, optimum, loss, isCurrent }) {
  return el(
    "tr",
    {
      class: `phase-${step.phase}`,
      "aria-current": isCurrent ? "step" : null,
    },
    el("td", { class: "number" }, String(index)),
    el("td", {}, text(`phase.${step.phase}`)),
    el("td", {}, actionText(step.action)),
    el("td", {}, outcome(step)),
    el("td", {}, `${cellText(before)} → ${cellText(step.position)}`),
    lossCell(loss),
    el("td", { class: "number" }, `${step.spent} / ${optimum}`),
  );
}

/** The table's head. */
export function ledgerHead() {
  const names = ["step", "phase", "action", "outcome", "state", "loss", "spent"];
  return el(
    "tr",
    {},
    names.map((name) =>
      el(
        "th",
        { scope: "col", class: ["step", "loss", "spent"].includes(name) ? "number" : null },
        text(`ledger.${name}`),
      ),
    ),
  );
}

/** The lines of a trial {grid, steps, optimum} up to `shown` steps; the last one is current. */
export function ledgerRows(trial, shown) {
  const { grid, steps, optimum } = trial;
  const losses = lossesOf(trial);
  return steps.slice(0, shown).map((step, index) =>
    row(step, index, {
      before: index === 0 ? grid.start : steps[index - 1].position,
      optimum,
      loss: losses[index],
      isCurrent: index === shown - 1,
    }),
  );
}

/** The list of checks with what came of each; before a verdict all are open. */
export function checkItems(names, checks) {
  return names.map((name) => {
    const value = checks === null ? null : checks[name];
    const mark = value === null ? "none" : value ? "good" : "bad";
    const said = value === null ? "check.open" : value ? "check.true" : "check.false";
    return el(
      "li",
      { "data-check": name },
      el("span", {}, text(`check.${name}`)),
      el("span", { class: `status ${mark}` }, text(said)),
    );
  });
}
