// The compare page of recovery: trials that ended otherwise, and both of one side by side.

import { byId, dataBlock, el, foreign, visible } from "../../web/static/dom.js";
import { hasText, number, onLanguage, startLocale, text } from "../../web/static/locale.js";
import { List, byNumber, byText } from "../../web/static/list.js";
import { onPrint } from "../../web/static/paper.js";
import { Permalink, linkTo } from "../../web/static/permalink.js";
import { Stage } from "../../web/static/stage.js";
import { csvText, saveText, shellCommand, takeButton, takeField } from "../../web/static/take.js";
import { verdictParts } from "../../web/static/verdict.js";
import {
  VERDICTS, Filters, lineReader, stepOf, unpackedStep, verdictCode, verdictOf,
} from "./trials.js";

const SIDES = ["base", "new"];

/** What an agent's outcome is called, where it isn't "ok". */
function outcomeText(outcome) {
  return hasText(`agent.${outcome}`) ? text(`agent.${outcome}`) : visible(outcome);
}

function verdictMark(side, index) {
  const code = verdictCode(side, index);
  const outcome = side.outcome[index];
  return el(
    "span",
    {},
    el("span", { class: `status ${code === 0 ? "good" : "bad"}` }, text(`list.verdict.${VERDICTS[code]}`)),
    outcome === "ok" ? "" : ` · ${outcomeText(outcome)}`,
  );
}

/** A policy's name on both sides. */
function pairName([base, after]) {
  return base === after ? base : `${base} → ${after}`;
}

function columnsOf(data) {
  const policy = (index) => pairName(data.policies[data.policy[index]]);
  const verdict = (key) => ({
    key: key === "base" ? "before" : "after",
    sort: (a, b) => verdictCode(data[key], a) - verdictCode(data[key], b),
    draw: (index) => verdictMark(data[key], index),
  });
  return [
    { key: "scenario", sort: byText((index) => data.scenario[index]), draw: (index) => foreign(data.scenario[index]) },
    { key: "policy", sort: byText(policy), draw: (index) => foreign(policy(index)) },
    { key: "seed", isNumber: true, sort: byNumber(data.seed), draw: (index) => String(data.seed[index]) },
    { key: "failure", sort: byNumber(data.kind), draw: (index) => text(`kind.${data.kinds[data.kind[index]]}`) },
    { key: "change", sort: byNumber(data.change), draw: (index) => text(`change.${data.changes[data.change[index]]}`) },
    verdict("base"),
    verdict("new"),
  ];
}

/** What the list can be narrowed by: the names in a hash, the codes, the words. */
function filtersOf(data) {
  return [
    {
      name: "policy",
      code: (index) => data.policy[index],
      choices: data.policies.map((names) => [names[0], visible(pairName(names))]),
    },
    {
      name: "kind",
      code: (index) => data.kind[index],
      choices: data.kinds.map((kind) => [kind, text(`kind.${kind}`)]),
    },
    {
      name: "change",
      code: (index) => data.change[index],
      choices: data.changes.map((change) => [change, text(`change.${change}`)]),
    },
  ];
}

/** One trial's name on a side, as files and `replay --trial` spell it. */
function trialName(data, index, at) {
  return `${data.policies[data.policy[index]][at]}/${data.scenario[index]}/${data.seed[index]}`;
}

/** The change that says most: both completed and most apart in cost, else the first listed. */
function mostTelling(data, order) {
  const apart = (index) =>
    data.base.excess[index] === null || data.new.excess[index] === null
      ? -1
      : Math.abs(data.base.excess[index] - data.new.excess[index]);
  return order.reduce((best, index) => (apart(index) > apart(best) ? index : best), order[0] ?? 0);
}

/** Filters, an order, and one pair of trials on the stage. */
class Changes {
  #data;
  #grids;
  #lines = SIDES.map((side) => lineReader(`steps-${side}`));
  #filters;
  #table;
  #list;
  #stage;
  #link;
  #chosen = null;
  #step = 0;
  #writing = null;

  constructor(data, grids) {
    this.#data = data;
    this.#grids = grids;
    this.#table = {
      columns: columnsOf(data),
      sort: ["change", 1],
      emptyKey: "trials.empty",
      isChosen: (index) => index === this.#chosen,
    };
    this.#stage = new Stage((trial, shown, isPlaying) => this.#onMoment(trial, shown, isPlaying), true);
    this.#list = new List((index) => this.#open(index), () => this.#write());
    this.#filters = new Filters(filtersOf(data), this.#table, data.scenario, () => {
      this.#choose();
      this.#write();
    });
    byId("take-csv").addEventListener("click", () => this.#save());
    onPrint(() => ({ table: this.#table, order: this.#list.order }));
    this.#link = new Permalink((state) => this.#apply(state));
    this.#apply(this.#link.opened ?? new Map());
    onLanguage(() => {
      this.#filters.draw(filtersOf(data));
      this.#list.redraw();
      this.#drawCount();
      this.#drawTakes();
    });
  }

  #onMoment(trial, shown, isPlaying) {
    byId("verdict").replaceChildren(...verdictParts(trial));
    this.#step = shown;
    if (!isPlaying && this.#link !== undefined) {
      // The scrubber can move many times a second; the address needn't.
      clearTimeout(this.#writing);
      this.#writing = setTimeout(() => this.#write(), 150);
    }
  }

  #drawCount() {
    byId("queue-count").textContent = text("queue.count", { count: number(this.#list.order.length) });
  }

  #drawTakes() {
    if (this.#chosen === null) {
      return;
    }
    const commands = SIDES.map((side, at) => [
      `command.${side}`,
      shellCommand([
        "wayproof", "recovery", "replay", this.#data.bundles[at],
        "--trial", trialName(this.#data, this.#chosen, at),
      ]),
    ]);
    byId("trial-takes").replaceChildren(
      takeButton("link", "trial-take", () => linkTo(this.#trialState())),
      ...commands
        .filter(([, command]) => command !== null)
        .map(([key, command]) => takeButton(key, "trial-take", () => command)),
      takeField("trial-take"),
    );
  }

  #choose() {
    this.#list.show(this.#table, this.#filters.order());
    this.#drawCount();
  }

  #trialState() {
    return this.#chosen === null
      ? []
      : [
          ["trial", trialName(this.#data, this.#chosen, 0)],
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
    const found = this.#data.scenario.findIndex((_, index) => trialName(this.#data, index, 0) === wanted);
    const step = stepOf(state);
    // What was filtered for is what is looked at, unless the address names a trial.
    this.#show(found < 0 ? mostTelling(this.#data, this.#list.order) : found, step);
    if (found >= 0) {
      byId("trial").scrollIntoView();
    } else if (state.size > 0) {
      byId("discordant").scrollIntoView();
    }
  }

  #open(index) {
    this.#show(index, 0);
    clearTimeout(this.#writing);
    this.#link.push(this.#state());
  }

  #show(index, step) {
    const data = this.#data;
    const isThere = index < data.scenario.length;
    byId("trial").hidden = !isThere;
    if (!isThere) {
      return;
    }
    this.#chosen = index;
    this.#step = step;
    byId("trial-name").replaceChildren(foreign(data.scenario[index]));
    byId("base-name").replaceChildren(foreign(trialName(data, index, 0)));
    this.#drawTakes();
    const isEmbedded = SIDES.every((side) => data[side].steps[index] >= 0);
    byId("stage").hidden = !isEmbedded;
    byId("no-steps").hidden = isEmbedded;
    if (isEmbedded) {
      const [base, after] = SIDES.map((_, at) => this.#trial(index, at));
      this.#stage.beside(after);
      this.#stage.show(base, step);
    }
    this.#list.redraw();
  }

  #trial(index, at) {
    const data = this.#data;
    const side = data[SIDES[at]];
    const steps = this.#lines[at](side.steps[index]);
    return {
      name: trialName(data, index, at),
      grid: this.#grids[at][data.grid[index]],
      optimum: side.optimal_cost[index],
      steps: steps.map((packed) => unpackedStep(packed, data.kinds)),
      verdict: verdictOf(side, index, data.checks),
    };
  }

  #save() {
    const data = this.#data;
    const each = [
      ["completed", (side, index) => String(side.completed[index] === 1)],
      ["verified_recovery", (side, index) => String(side.verified[index] === 1)],
      ["excess_cost", (side, index) => side.excess[index]],
      ["final_cost", (side, index) => side.final_cost[index]],
      ["first_failed_check", (side, index) => (side.failed[index] < 0 ? null : data.checks[side.failed[index]])],
      ["agent_outcome", (side, index) => side.outcome[index]],
    ];
    const head = [
      "base_policy", "new_policy", "scenario_id", "policy_seed", "grid_id", "failure_kind", "change",
      ...SIDES.flatMap((side) => each.map(([name]) => `${side}_${name}`)),
    ];
    const rows = this.#list.order.map((index) => [
      ...data.policies[data.policy[index]],
      data.scenario[index],
      data.seed[index],
      data.grid[index],
      data.kinds[data.kind[index]],
      data.changes[data.change[index]],
      ...SIDES.flatMap((side) => each.map(([, read]) => read(data[side], index))),
    ]);
    saveText("discordant.csv", csvText(head, rows));
  }
}

startLocale();
const grids = dataBlock("grids-base");
new Changes(dataBlock("trials"), [
  grids,
  document.getElementById("grids-new") === null ? grids : dataBlock("grids-new"),
]);
document.documentElement.dataset.ready = "true";
