// The recovery report: every trial in a list, and the chosen one on the stage, as recorded.

import { byId, dataBlock, el, foreign, visible } from "../../web/static/dom.js";
import { number, numberOrDash, onLanguage, startLocale, text } from "../../web/static/locale.js";
import { List, byNumber, byText } from "../../web/static/list.js";
import { onPrint } from "../../web/static/paper.js";
import { Permalink, linkTo } from "../../web/static/permalink.js";
import { csvText, saveText, shellCommand, takeButton, takeField } from "../../web/static/take.js";
import { checkItems } from "../../web/static/ledger.js";
import { Stage } from "../../web/static/stage.js";
import { verdictParts } from "../../web/static/verdict.js";
import {
  VERDICTS, Filters, lineReader, outcomeMark, stepOf, unpackedStep, verdictCode, verdictOf,
} from "./trials.js";

function columnsOf(data) {
  const scenario = (index) => data.scenarios[data.scenario[index]];
  const policy = (index) => data.policies[data.policy[index]];
  const excess = (index) => data.excess[index] ?? Infinity;
  return [
    { key: "scenario", sort: byText(scenario), draw: (index) => foreign(scenario(index)) },
    { key: "policy", sort: byText(policy), draw: (index) => foreign(policy(index)) },
    {
      key: "seed",
      isNumber: true,
      sort: byNumber(data.seed),
      draw: (index) => String(data.seed[index]),
    },
    {
      key: "completed",
      sort: byNumber(data.completed),
      draw: (index) => outcomeMark(data.completed[index], "list.completed"),
    },
    {
      key: "verified",
      sort: byNumber(data.verified),
      draw: (index) => outcomeMark(data.verified[index], "list.verified"),
    },
    {
      key: "excess",
      isNumber: true,
      sort: (a, b) => (excess(a) < excess(b) ? -1 : Number(excess(a) > excess(b))),
      draw: (index) => numberOrDash(data.excess[index]),
    },
    {
      key: "failed",
      sort: byNumber(data.failed),
      draw: (index) => (data.failed[index] < 0 ? "–" : text(`check.${data.checks[data.failed[index]]}`)),
    },
  ];
}

/** What the list can be narrowed by: the names in a hash, the codes, the words. */
function filtersOf(data) {
  return [
    {
      name: "policy",
      code: (index) => data.policy[index],
      choices: data.policies.map((name) => [name, visible(name)]),
    },
    {
      name: "kind",
      code: (index) => data.kind[index],
      choices: data.kinds.map((kind) => [kind, text(`kind.${kind}`)]),
    },
    {
      name: "verdict",
      code: (index) => verdictCode(data, index),
      choices: VERDICTS.map((verdict) => [verdict, text(`list.verdict.${verdict}`)]),
    },
  ];
}

/** One trial's name, as files and `replay --trial` spell it. */
function trialName(data, index) {
  const policy = data.policies[data.policy[index]];
  return `${policy}/${data.scenarios[data.scenario[index]]}/${data.seed[index]}`;
}

/** How telling a trial is: completed at too high a cost first, the dearest of all. */
function telling(data, index) {
  const isHere = data.steps[index] >= 0 ? 1 : 0;
  const isBetween = data.completed[index] === 1 && data.verified[index] === 0 ? 1 : 0;
  const excess = data.excess[index] ?? 0;
  return [isHere, isBetween, excess, data.verified[index]];
}

function mostTelling(data) {
  let best = 0;
  for (let index = 1; index < data.scenario.length; index += 1) {
    const [mine, theirs] = [telling(data, index), telling(data, best)];
    const at = mine.findIndex((value, place) => value !== theirs[place]);
    if (at >= 0 && mine[at] > theirs[at]) {
      best = index;
    }
  }
  return best;
}

/** The trials that are looked at: filters, an order, and one trial on the stage. */
class Trials {
  #data;
  #grids;
  #filters;
  #lines = lineReader("steps");
  #stage;
  #list;
  #table;
  #link;
  #chosen = null;
  #step = 0;
  #writing = null;

  constructor(data, grids) {
    this.#data = data;
    this.#grids = grids;
    this.#table = {
      columns: columnsOf(data),
      sort: ["scenario", 1],
      emptyKey: "trials.empty",
      isChosen: (index) => index === this.#chosen,
    };
    this.#stage = new Stage((trial, shown, isPlaying) => this.#onMoment(trial, shown, isPlaying));
    this.#list = new List((index) => this.#open(index), () => this.#write());
    const names = data.scenario.map((code) => data.scenarios[code]);
    this.#filters = new Filters(filtersOf(data), this.#table, names, () => {
      this.#choose();
      this.#write();
    });
    byId("other-policy").addEventListener("change", () => this.#besides());
    byId("take-csv").addEventListener("click", () => this.#save());
    onPrint(() => ({ table: this.#table, order: this.#list.order }));
    this.#link = new Permalink((state) => this.#apply(state));
    this.#apply(this.#link.opened ?? new Map());
    onLanguage(() => {
      this.#filters.draw(filtersOf(data));
      this.#list.redraw();
      this.#drawCount();
      this.#drawTakes();
      this.#drawBesides();
      byId("no-steps").textContent = text("trials.leftOut");
    });
  }

  #onMoment(trial, shown, isPlaying) {
    byId("verdict").replaceChildren(...verdictParts(trial));
    byId("checks").replaceChildren(...checkItems(this.#data.checks, trial.verdict.checks));
    this.#step = shown;
    if (!isPlaying && this.#link !== undefined) {
      // The scrubber can move many times a second; the address needn't.
      clearTimeout(this.#writing);
      this.#writing = setTimeout(() => this.#write(), 150);
    }
  }

  #drawCount() {
    const count = number(this.#list.order.length);
    byId("queue-count").textContent = text("queue.count", { count });
  }

  #drawTakes() {
    const name = trialName(this.#data, this.#chosen);
    const command = shellCommand([
      "wayproof", "recovery", "replay", this.#data.bundle, "--trial", name,
    ]);
    byId("trial-takes").replaceChildren(
      takeButton("link", "trial-take", () => linkTo(this.#trialState())),
      ...(command === null ? [] : [takeButton("command", "trial-take", () => command)]),
      takeField("trial-take"),
    );
  }

  #choose() {
    this.#list.show(this.#table, this.#filters.order());
    this.#drawCount();
  }

  #trialState() {
    return [
      ["trial", trialName(this.#data, this.#chosen)],
      ["step", this.#step === 0 ? null : this.#step - 1],
    ];
  }

  #state() {
    return [...this.#filters.state(), ...this.#trialState()];
  }

  #write() {
    clearTimeout(this.#writing);
    this.#link.replace(this.#state());
  }

  #apply(state) {
    this.#filters.apply(state);
    this.#choose();
    const wanted = state.get("trial");
    const found = this.#data.scenario.findIndex(
      (_, index) => trialName(this.#data, index) === wanted,
    );
    const step = stepOf(state);
    this.#show(found < 0 ? mostTelling(this.#data) : found, step);
    if (found >= 0) {
      byId("trial").scrollIntoView();
    }
  }

  #open(index) {
    this.#show(index, 0);
    clearTimeout(this.#writing);
    this.#link.push(this.#state());
  }

  #show(index, step) {
    const data = this.#data;
    this.#chosen = index;
    this.#step = step;
    byId("trial-name").replaceChildren(foreign(trialName(data, index)));
    this.#drawTakes();
    const place = data.steps[index];
    byId("stage").hidden = place < 0;
    byId("no-steps").hidden = place >= 0;
    byId("no-steps").textContent = text("trials.leftOut");
    if (place >= 0) {
      this.#drawBesides();
      this.#besides();
      this.#stage.show(this.#trial(index), step);
    }
    this.#list.redraw();
  }

  #trial(index) {
    const data = this.#data;
    return {
      name: trialName(data, index),
      grid: this.#grids[data.grids[data.grid[index]]],
      optimum: data.optimal_cost[index],
      steps: this.#lines(data.steps[index]).map((packed) => unpackedStep(packed, data.kinds)),
      verdict: verdictOf(data, index, data.checks),
    };
  }

  /** Trials of other policies on the chosen one's scenario and seed, by the policy's code. */
  #others() {
    const data = this.#data;
    const same = (column, index) => column[index] === column[this.#chosen];
    const found = data.scenario.flatMap((_, index) =>
      same(data.scenario, index) && same(data.seed, index) && data.steps[index] >= 0 ? [index] : [],
    );
    return new Map(
      found.filter((index) => index !== this.#chosen).map((index) => [data.policy[index], index]),
    );
  }

  #drawBesides() {
    const select = byId("other-policy");
    const before = select.value;
    const codes = [...this.#others().keys()];
    select.replaceChildren(
      el("option", { value: "" }, text("beside.none")),
      ...codes.map((code) => el("option", { value: code }, visible(this.#data.policies[code]))),
    );
    select.value = codes.some((code) => String(code) === before) ? before : "";
  }

  #besides() {
    const { value } = byId("other-policy");
    const index = value === "" ? undefined : this.#others().get(Number(value));
    this.#stage.beside(index === undefined ? null : this.#trial(index));
  }

  #save() {
    const data = this.#data;
    const head = [
      "policy", "scenario_id", "policy_seed", "grid_id", "failure_kind", "completed",
      "verified_recovery", "excess_cost", "first_failed_check", "final_cost", "optimal_cost",
      "proposals", "budget",
    ];
    const rows = this.#list.order.map((index) => [
      data.policies[data.policy[index]],
      data.scenarios[data.scenario[index]],
      data.seed[index],
      data.grids[data.grid[index]],
      data.kinds[data.kind[index]],
      String(data.completed[index] === 1),
      String(data.verified[index] === 1),
      data.excess[index],
      data.failed[index] < 0 ? null : data.checks[data.failed[index]],
      data.final_cost[index],
      data.optimal_cost[index],
      data.proposals[index],
      data.budget[index],
    ]);
    saveText("trials.csv", csvText(head, rows));
  }
}

startLocale();
new Trials(dataBlock("trials"), dataBlock("grids"));
document.documentElement.dataset.ready = "true";
