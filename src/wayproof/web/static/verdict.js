// A trial's verdict in words: two measurements, never one.

import { el } from "./dom.js";
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

/** The whole verdict of a trial {verdict, optimum, steps}. */
export function verdictParts({ verdict, optimum, steps }) {
  const { spent } = steps[steps.length - 1];
  const failed = verdict.firstFailedCheck;
  const cost = verdict.completed
    ? text("verdict.cost", { spent, optimum, excess: spent - optimum })
    : text("verdict.cost.open", { spent, optimum });
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
