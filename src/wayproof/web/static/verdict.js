// A trial's verdict in words: two measurements, never one.

import { el } from "./dom.js";
import { firstLoss } from "./ledger.js";
import { text } from "./locale.js";

function mark(key, isTrue) {
  return el(
    "span",
    {
      class: `status ${isTrue ? "good" : "bad"}`,
      "data-verdict": key,
      "data-value": String(isTrue),
    },
    text(`verdict.${key}.${isTrue}`),
  );
}

function verdictMarks(verdict) {
  return [mark("completed", verdict.completed), mark("verified", verdict.verifiedRecovery)];
}

function costText({ verdict, optimum, steps }, lost) {
  const { spent } = steps[steps.length - 1];
  if (!verdict.completed) {
    return text("verdict.cost.open", { spent, optimum });
  }
  const excess = spent - optimum;
  return excess > 0 && lost >= 0
    ? text("verdict.cost.lost", { spent, optimum, excess, step: lost })
    : text("verdict.cost", { spent, optimum, excess });
}

/** The whole verdict of a trial {grid, verdict, optimum, steps}. */
export function verdictParts(trial) {
  const { verdict } = trial;
  const lost = firstLoss(trial);
  const failed = verdict.firstFailedCheck;
  const cost = costText(trial, lost);
  return [
    el("div", { class: "marks" }, verdictMarks(verdict)),
    el("p", {}, cost),
    ...(failed === null
      ? []
      : [
          el(
            "p",
            { class: "soft" },
            text("verdict.failed", { check: text(`check.${failed}`) }),
          ),
        ]),
  ];
}
