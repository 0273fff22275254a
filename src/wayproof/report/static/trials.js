// Recorded trials as the pages hold them: packed steps, and columns with what came of each.

import { byId, el } from "../../web/static/dom.js";
import { clearFilters, fillFilter, onFilters } from "../../web/static/list.js";
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

/**
 * @typedef {object} Filter
 * @property {string} name its name in the address, and its select's id after "filter-"
 * @property {(index: number) => number} code the trial's code
 * @property {[string, string][]} choices by code: the name in the address, and the words
 */

const idOf = (name) => `filter-${name}`;

/** What a list of trials is narrowed and sorted by, as its address has it. */
export class Filters {
  #filters = [];
  #table;
  #names;

  /**
   * @param {Filter[]} filters
   * @param {object} table the list's table, whose `sort` is part of the address
   * @param {string[]} names each trial's scenario, which the text is looked for in
   * @param {() => void} onChange called when somebody narrows
   */
  constructor(filters, table, names, onChange) {
    this.#table = table;
    this.#names = names;
    this.draw(filters);
    onFilters(this.#ids(), onChange);
  }

  #ids() {
    return this.#filters.map(({ name }) => idOf(name));
  }

  /** Draw the choices, in the language of `filters`. */
  draw(filters) {
    this.#filters = filters;
    for (const { name, choices } of filters) {
      fillFilter(idOf(name), choices.map(([, label]) => label));
    }
  }

  /** The trials that are asked for, in the order of the data. */
  order() {
    const wanted = byId("filter-text").value.toLowerCase();
    const chosen = this.#filters
      .map(({ name, code }) => [Number(byId(idOf(name)).value), code])
      .filter(([value]) => value >= 0);
    const order = [];
    for (let index = 0; index < this.#names.length; index += 1) {
      const isWanted = wanted === "" || this.#names[index].toLowerCase().includes(wanted);
      if (isWanted && chosen.every(([value, code]) => code(index) === value)) {
        order.push(index);
      }
    }
    return order;
  }

  /** The entries of the address. */
  state() {
    const { sort } = this.#table;
    return [
      ...this.#filters.map(({ name, choices }) => {
        const chosen = Number(byId(idOf(name)).value);
        return [name, chosen < 0 ? null : choices[chosen][0]];
      }),
      ["text", byId("filter-text").value],
      ["sort", `${sort[1] < 0 ? "-" : ""}${sort[0]}`],
    ];
  }

  /** Take an address's entries; what it doesn't name is left open. */
  apply(state) {
    clearFilters(this.#ids());
    for (const { name, choices } of this.#filters) {
      byId(idOf(name)).value = String(choices.findIndex(([each]) => each === state.get(name)));
    }
    byId("filter-text").value = state.get("text") ?? "";
    const asked = state.get("sort") ?? "";
    const key = asked.replace(/^-/, "");
    if (this.#table.columns.some((column) => column.key === key)) {
      this.#table.sort = [key, asked.startsWith("-") ? -1 : 1];
    }
  }
}

/** The step that an address names, as a place on the stage. */
export function stepOf(state) {
  return /^\d+$/.test(state.get("step") ?? "") ? Number(state.get("step")) + 1 : 0;
}
