// Watch a control on the sample, or take its place. Both end before the same judge.

import { byId, el, foreign, visible } from "../../web/static/dom.js";
import { hasText, number, onLanguage, text } from "../../web/static/locale.js";
import { checkItems, cellText } from "../../web/static/ledger.js";
import { Stage } from "../../web/static/stage.js";
import { verdictParts } from "../../web/static/verdict.js";
import { cellAt } from "../../web/static/board.js";
import { Permalink } from "../../web/static/permalink.js";
import { phaseAt, unpackActions } from "./actions.js";
import { recordStep, replay, sameCell, step } from "./world.js";
import { CHECKS, judge } from "./verify.js";

const YOU = "~you"; // no policy can have this name
const CONTROLS = ["planner", "random-walk", "blind-repeat"];
const ARROWS = {
  ArrowUp: [-1, 0],
  ArrowRight: [0, 1],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
};

function chosen(name) {
  return document.querySelector(`input[name="${name}"]:checked`).value;
}

/** What can be chosen on a grid: each of its scenarios; its id tells two of a kind apart. */
function choicesOf(grid) {
  const seen = {};
  return grid.scenarios.map((scenario) => {
    const { failure_kind: kind } = scenario;
    seen[kind] = (seen[kind] ?? 0) + 1;
    const isOnly = grid.scenarios.filter((each) => each.failure_kind === kind).length === 1;
    return {
      scenario,
      value: seen[kind] === 1 ? kind : `${kind}/${seen[kind]}`,
      label: isOnly
        ? [text(`kind.${kind}`)]
        : [`${text(`kind.${kind}`)} · `, foreign(scenario.scenario_id)],
    };
  });
}

/** The choices of a group of radio buttons, one of them checked. */
function radios(name, choices, checked, onChange) {
  return choices.map(({ value, label }) =>
    el(
      "label",
      {},
      el("input", { type: "radio", name, value, checked: value === checked, on: { change: onChange } }),
      el("span", {}, label),
    ),
  );
}

/** The value chosen before where it can still be chosen, otherwise the first one. */
function keptChoice(name, values) {
  const before = document.querySelector(`input[name="${name}"]:checked`)?.value;
  return values.includes(before) ? before : values[0];
}

/** The steps that stand before the policy's turn: the prefix and the refused action. */
function opening(grid, scenario) {
  const prefix = grid.reference_path.slice(1, scenario.prefix_length + 1);
  const actions = [...prefix.map((cell) => ({ move: cell })), scenario.injected_action];
  return replay(
    grid,
    actions.map((action, index) => ({ phase: phaseAt(scenario, index), action })),
  );
}

function optimumOf(grid) {
  return grid.potentials[grid.start[0]][grid.start[1]];
}

function judged(grid, scenario, steps) {
  const again = replay(grid, steps);
  return judge(grid, scenario, steps, again);
}

function recordedTrial(source, grid, scenario, policy, seed) {
  const found = source.trials.find(
    (trial) =>
      trial.scenario_id === scenario.scenario_id &&
      trial.policy === policy &&
      trial.policy_seed === seed,
  );
  if (found === undefined) {
    return ownTrial(grid, scenario);
  }
  // The sample holds actions only: the page's own world plays them.
  const steps = found.steps ?? replay(grid, unpackActions(grid, scenario, found.actions));
  const verdict = judged(grid, scenario, steps);
  const name = `${policy}/${scenario.scenario_id}/${seed}`;
  return { name, grid, scenario, policy, steps, verdict, optimum: optimumOf(grid) };
}

const MOST_JUDGED = 1_000;

/** The trial that says most: completed at too high a cost, the dearest; else any not verified. */
function mostTelling(source) {
  let best = null;
  for (const { policy, scenario_id: id, policy_seed: seed } of source.trials.slice(0, MOST_JUDGED)) {
    const grid = source.grids.find((each) => each.scenarios.some((one) => one.scenario_id === id));
    const scenario = grid.scenarios.find((one) => one.scenario_id === id);
    const trial = recordedTrial(source, grid, scenario, policy, seed);
    const { completed, verifiedRecovery: verified } = trial.verdict;
    const excess = trial.steps[trial.steps.length - 1].spent - trial.optimum;
    const rank = completed && !verified ? 2 + excess : Number(verified);
    if (best === null || rank > best.rank) {
      best = { rank, policy, scenario: id, seed };
    }
  }
  return best;
}

function ownTrial(grid, scenario) {
  const steps = opening(grid, scenario);
  return { grid, scenario, policy: YOU, steps, verdict: null, optimum: optimumOf(grid) };
}

function policiesOf(trials) {
  const found = new Set(trials.map((trial) => trial.policy));
  const known = CONTROLS.filter((name) => found.has(name));
  const others = [...found].filter((name) => !CONTROLS.includes(name)).sort();
  return [...others, ...known, YOU];
}

function policyLabel(policy) {
  const key = policy === YOU ? "policy.you" : `policy.${policy}`;
  return hasText(key) ? text(key) : foreign(policy);
}

function options(values) {
  return values.map(([value, label]) => el("option", { value }, label));
}

/** What stands in the verdict's place while the trial is open. */
function openParts(trial, left) {
  if (trial.policy !== YOU) {
    return [el("p", { class: "soft" }, text("verdict.open"))];
  }
  const { position } = trial.steps[trial.steps.length - 1];
  const { target } = trial.grid;
  const where = { position: cellText(position), target: cellText(target) };
  return [
    el("p", {}, text("own.left", { left: number(left), budget: trial.scenario.budget })),
    el(
      "p",
      { class: "soft" },
      sameCell(position, target) ? text("own.arrived") : text("own.where", where),
    ),
  ];
}

/** The stage over a source of trials: the sample, or a bundle that was given. */
export class Watch {
  #sample;
  #source;
  #board = byId("board");
  #stage = new Stage((trial, shown, isPlaying) => this.#onMoment(trial, shown, isPlaying));
  #link = null;
  #writing = null;
  #current = null;
  #cursor = null;
  #isFaulty = false;

  /** @param {object} sample {suite_id, grids, trials} */
  constructor(sample) {
    this.#sample = sample;
    this.#listenToChoices();
    this.#listenToBoard();
    this.use(sample);
    this.#link = new Permalink((state) => this.#apply(state));
    this.#apply(this.#link.opened ?? new Map());
    onLanguage(() => {
      this.#drawKinds();
      this.#drawPolicies();
      this.#stage.redraw();
    });
  }

  /**
   * Put another source of trials on the stage.
   * @param {object} source
   * @param {object|null} fault where its first faulty trial stops holding; then that trial is
   *   shown as recorded, at the fault, beside what the recorded actions lead to
   */
  use(source, fault = null) {
    this.#source = source;
    this.#isFaulty = fault !== null;
    byId("given-faulty").hidden = !this.#isFaulty;
    const isSample = source === this.#sample;
    byId("banner").hidden = !isSample;
    byId("given").hidden = isSample;
    byId("given-suite").replaceChildren(foreign(source.suite_id));
    const seeds = [...new Set(source.trials.map((trial) => trial.policy_seed))];
    seeds.sort((a, b) => a - b);
    const grids = source.grids
      .map((grid, index) => [index, visible(grid.grid_id), grid.scenarios.length])
      .filter(([, , scenarios]) => scenarios > 0);
    byId("grid").replaceChildren(...options(grids));
    byId("seed").replaceChildren(...options(seeds.map((seed) => [seed, String(seed)])));
    if (fault !== null && this.#showFault(fault)) {
      return;
    }
    const best = source.trials.length > 0 ? mostTelling(source) : null;
    if (best === null) {
      this.#drawKinds();
      this.#drawPolicies();
      this.#load();
    } else {
      this.#select(best, 0);
    }
  }

  #showFault({ trial, step }) {
    const [policy, scenario, seed] = trial.split("/");
    if (!this.#select({ policy, scenario, seed }, (step ?? 0) + 1)) {
      return false;
    }
    const { grid, steps, optimum } = this.#current;
    const again = replay(grid, steps);
    const name = text("given.derived");
    this.#stage.beside({ name, grid, steps: again, optimum, verdict: judged(grid, this.#scenario(), again) });
    return true;
  }

  /** Put one trial on the stage, by its ids, after `shown` steps; false where there is none. */
  #select({ policy, scenario: id, seed }, shown) {
    const { grids } = this.#source;
    const at = grids.findIndex((grid) => grid.scenarios.some((each) => each.scenario_id === id));
    if (at < 0 || !policiesOf(this.#source.trials).includes(policy)) {
      return false;
    }
    byId("grid").value = String(at);
    byId("seed").value = String(seed);
    this.#drawKinds();
    this.#drawPolicies();
    const { value } = choicesOf(grids[at]).find((each) => each.scenario.scenario_id === id);
    byId("kinds").querySelector(`input[value="${value}"]`).checked = true;
    const named = byId("policies").querySelectorAll("input");
    [...named].find((input) => input.value === policy).checked = true;
    this.#load(shown);
    return true;
  }

  #apply(state) {
    const [, policy, id, seed] = /^([^/]+)\/([^/]+)\/(\d+)$/.exec(state.get("trial") ?? "") ?? [];
    const step = state.get("step") ?? "";
    if (policy && this.#select({ policy, scenario: id, seed }, /^\d+$/.test(step) ? Number(step) + 1 : 0)) {
      byId("watch").scrollIntoView();
    }
  }

  #onMoment(trial, shown, isPlaying) {
    this.#drawVerdict(trial, shown);
    if (this.#link === null || isPlaying || trial.policy === YOU) {
      return;
    }
    clearTimeout(this.#writing);
    this.#writing = setTimeout(
      () => this.#link.replace([["trial", trial.name], ["step", shown === 0 ? null : shown - 1]]),
      150,
    );
  }

  #listenToChoices() {
    const load = () => this.#load();
    byId("grid").addEventListener("change", () => {
      this.#drawKinds();
      load();
    });
    byId("seed").addEventListener("change", load);
    byId("show-costs").addEventListener("change", (event) =>
      this.#stage.setOptions({ showCosts: event.target.checked }),
    );
    byId("show-optimal").addEventListener("change", (event) =>
      this.#stage.setOptions({ showOptimal: event.target.checked }),
    );
    byId("other-policy").addEventListener("change", () => this.#besides());
    byId("own-again").addEventListener("click", load);
    byId("given-back").addEventListener("click", () => this.use(this.#sample));
  }

  #listenToBoard() {
    this.#board.addEventListener("click", (event) => {
      const cell = cellAt(this.#board, event, this.#current.grid);
      if (this.#isPlaying() && cell !== null) {
        this.#propose({ move: cell });
      }
    });
    this.#board.addEventListener("keydown", (event) => this.#onBoardKey(event));
    for (const button of byId("own-controls").querySelectorAll("button[data-toward]")) {
      button.addEventListener("click", () => this.#proposeToward(ARROWS[button.dataset.toward]));
    }
    byId("own-finish").addEventListener("click", () => this.#propose({ finish: true }));
  }

  #grid() {
    return this.#source.grids[Number(byId("grid").value)];
  }

  /** Offer exactly the scenarios that the grid has. */
  #drawKinds() {
    const choices = choicesOf(this.#grid());
    const chosenValue = keptChoice("kind", choices.map(({ value }) => value));
    byId("kinds").replaceChildren(...radios("kind", choices, chosenValue, () => this.#load()));
  }

  #drawPolicies() {
    const names = policiesOf(this.#source.trials);
    const choices = names.map((policy) => ({ value: policy, label: policyLabel(policy) }));
    const chosenName = keptChoice("policy", names);
    byId("policies").replaceChildren(...radios("policy", choices, chosenName, () => this.#load()));
  }

  #scenario() {
    return choicesOf(this.#grid()).find(({ value }) => value === chosen("kind")).scenario;
  }

  /** Offer the policies that were recorded, to stand beside the chosen one. */
  #drawBesides() {
    const select = byId("other-policy");
    const before = select.value;
    const names = policiesOf(this.#source.trials).filter(
      (name) => name !== YOU && name !== chosen("policy"),
    );
    select.replaceChildren(
      el("option", { value: "" }, text("beside.none")),
      ...names.map((name) => el("option", { value: name }, policyLabel(name))),
    );
    select.value = names.includes(before) ? before : "";
  }

  #besides() {
    const { value: policy } = byId("other-policy");
    const seed = Number(byId("seed").value);
    const trial =
      policy === "" ? null : recordedTrial(this.#source, this.#grid(), this.#scenario(), policy, seed);
    this.#stage.beside(trial === null || trial.policy === YOU ? null : trial);
  }

  #load(at = null) {
    const grid = this.#grid();
    const scenario = this.#scenario();
    const policy = chosen("policy");
    const isOwn = policy === YOU;
    byId("own-controls").hidden = !isOwn;
    byId("seed-field").hidden = isOwn;
    this.#board.classList.toggle("playable", isOwn);
    this.#board.setAttribute("role", isOwn ? "application" : "img");
    this.#board.toggleAttribute("data-keys", isOwn);
    this.#board.setAttribute("tabindex", isOwn ? "0" : "-1");
    this.#current = isOwn
      ? ownTrial(grid, scenario)
      : recordedTrial(this.#source, grid, scenario, policy, Number(byId("seed").value));
    this.#cursor = null;
    this.#stage.setOptions({ cursor: null });
    this.#drawBesides();
    this.#besides();
    this.#stage.show(this.#current, at ?? (isOwn ? this.#current.steps.length : 0));
  }

  #isPlaying() {
    return this.#current.policy === YOU && this.#current.verdict === null;
  }

  #proposalsLeft() {
    const { steps, scenario } = this.#current;
    return scenario.budget - (steps.length - scenario.prefix_length - 1);
  }

  #lastStep() {
    return this.#current.steps[this.#current.steps.length - 1];
  }

  #propose(action) {
    if (!this.#isPlaying()) {
      return;
    }
    const { grid, scenario } = this.#current;
    const { position, spent } = this.#lastStep();
    const outcome = step(grid, { position, spent, finished: false }, action);
    const steps = [...this.#current.steps, recordStep("policy", action, outcome)];
    this.#current = { ...this.#current, steps };
    if (outcome.state.finished || this.#proposalsLeft() === 0) {
      this.#current.verdict = judged(grid, scenario, steps);
    }
    this.#stage.show(this.#current, steps.length);
  }

  #proposeToward([down, right]) {
    const [row, column] = this.#lastStep().position;
    this.#propose({ move: [row + down, column + right] });
  }

  #moveCursor([down, right]) {
    const [row, column] = this.#cursor ?? this.#lastStep().position;
    const { rows } = this.#current.grid;
    const within = (value, length) => Math.max(0, Math.min(length - 1, value));
    this.#cursor = [within(row + down, rows.length), within(column + right, rows[0].length)];
    this.#stage.setOptions({ cursor: this.#cursor });
  }

  #onBoardKey(event) {
    if (!this.#isPlaying() || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const toward = ARROWS[event.key];
    if (toward && event.shiftKey) {
      this.#moveCursor(toward);
    } else if (toward) {
      this.#proposeToward(toward);
    } else if (event.key === "Enter" && this.#cursor !== null) {
      this.#propose({ move: this.#cursor });
    } else if (event.key === "f" || event.key === "F") {
      this.#propose({ finish: true });
    } else {
      return;
    }
    event.preventDefault();
  }

  #drawVerdict(trial, shown) {
    const isOver = trial.verdict !== null && shown === trial.steps.length;
    byId("checks").replaceChildren(...checkItems(CHECKS, isOver ? trial.verdict.checks : null));
    byId("verdict").replaceChildren(
      ...(isOver ? verdictParts(trial) : openParts(trial, this.#proposalsLeft())),
    );
    for (const button of byId("own-controls").querySelectorAll("button[data-own]")) {
      button.disabled = !this.#isPlaying();
    }
  }
}
