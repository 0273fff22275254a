// The two axes' words and signs: a sign and a word, so that colour is never alone.

import { el } from "../../web/static/dom.js";
import { percent, text } from "../../web/static/locale.js";

/** Rows of the matrix, by code: sufficient, then the ladder. */
export const KINDS = Object.freeze([
  "sufficient",
  "route_timeout",
  "route_error",
  "missing_id",
  "weak_scent",
  "forbidden_route",
]);

/** Latency statuses, by code. */
export const STATUSES = Object.freeze(["pass", "fail", "timeout", "unmeasured"]);

const STATUS_CLASS = { pass: "good", fail: "bad", timeout: "warn", unmeasured: "none" };

/** Sufficiency as a sign and a word. */
export function kindMark(code) {
  const kind = KINDS[code];
  return el("span", { class: `status ${code === 0 ? "good" : "bad"}` }, text(`sufficiency.${kind}`));
}

/** Latency as a sign and a word. */
export function statusMark(code) {
  const status = STATUSES[code];
  return el("span", { class: `status ${STATUS_CLASS[status]}` }, text(`latency.${status}`));
}

/** A recall of 4 decimals: rounded to 1, it is still not whole while an id is missing. */
export function recallText(recall, missingCount) {
  return recall === 1 && missingCount > 0 ? `> ${percent(0.9999, 2)}` : percent(recall);
}
