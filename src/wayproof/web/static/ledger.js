// The ledger: what was asked, what came of it, where it led, and what it had cost by then.

import { el } from "./dom.js";
import { text } from "./locale.js";

/** A cell as people read it in the files: (row, column), from 0. */
export function cellText([row, column]) {
  return `(${row}, ${column})`;
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

/** One line of the ledger. */
function row(step, index, before, optimum, isCurrent) {
  return el(
    "tr",
    {
      class: `phase-${step.phase}`,
      "aria-current": isCurrent ? "step" : null,
    },
    el("td", { class: "number" }, String(index + 1)),
    el("td", {}, text(`phase.${step.phase}`)),
    el("td", {}, actionText(step.action)),
    el("td", {}, outcome(step)),
    el("td", {}, `${cellText(before)} → ${cellText(step.position)}`),
    el("td", { class: "number" }, `${step.spent} / ${optimum}`),
  );
}

/** The table's head. */
export function ledgerHead() {
  const names = ["step", "phase", "action", "outcome", "state", "spent"];
  return el(
    "tr",
    {},
    names.map((name) =>
      el(
        "th",
        { scope: "col", class: name === "step" || name === "spent" ? "number" : null },
        text(`ledger.${name}`),
      ),
    ),
  );
}

/** The lines up to `shown` steps; the last one is current. */
export function ledgerRows(steps, shown, start, optimum) {
  return steps.slice(0, shown).map((step, index) => {
    const before = index === 0 ? start : steps[index - 1].position;
    return row(step, index, before, optimum, index === shown - 1);
  });
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
