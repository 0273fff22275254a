// Recorded trials as the pages hold them: packed steps, and columns with what came of each.

import { byId, el } from "../../web/static/dom.js";
import { text } from "../../web/static/locale.js";

const PHASES = ["prefix", "injected", "policy"];

/** Reads lines of a block of JSON lines; where they end is found once. */
export function lineReader(id) {
  const whole = byId(id).textContent;
  const ends = [];
  for (let at = whole.indexOf("\n"); at >= 0; at = whole.indexOf("\n", at + 1)) {
    ends.push(at);
  }
  return (line) => JSON.parse(whole.slice(line === 0 ? 0 : ends[line - 1] + 1, ends[line]));
}

/** One packed step as the trace file has it. */
export function unpackedStep(packed, kinds) {
  const isFinish = packed.length === 5;
  const rest = packed.slice(isFinish ? 1 : 3);
  const [rejection, row, column, spent] = rest;
  return {
    phase: PHASES[packed[0]],
    action: isFinish ? { finish: true } : { move: [packed[1], packed[2]] },
    accepted: rejection === 0,
    rejection: rejection === 0 ? null : kinds[rejection - 1],
    position: [row, column],
    spent,
  };
}

/** The verdict of one trial of some columns: checks are true before the first failure. */
export function verdictOf(columns, index, checks) {
  const failed = columns.failed[index];
  const values = checks.map((name, place) => [
    name,
    failed < 0 || place < failed ? true : place === failed ? false : null,
  ]);
  return {
    checks: Object.fromEntries(values),
    firstFailedCheck: failed < 0 ? null : checks[failed],
    completed: columns.completed[index] === 1,
    verifiedRecovery: columns.verified[index] === 1,
  };
}

export const VERDICTS = ["verified", "completed", "open"];

/** A trial's verdict as a place in VERDICTS. */
export function verdictCode(columns, index) {
  return columns.verified[index] ? 0 : columns.completed[index] ? 1 : 2;
}

/** A yes or no of the list, with its sign. */
export function outcomeMark(value, key) {
  return el("span", { class: `status ${value ? "good" : "bad"}` }, text(`${key}.${value === 1}`));
}
