// Watch a control on the sample, or take its place. Both end before the same judge.

import { byId, el, foreign, visible } from "../../web/static/dom.js";
import { hasText, number, onLanguage, text } from "../../web/static/locale.js";
import { checkItems, cellText } from "../../web/static/ledger.js";
import { Stage } from "../../web/static/stage.js";
import { verdictParts } from "../../web/static/verdict.js";
import { cellAt } from "../../web/static/board.js";
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
  return { grid, scenario, policy, steps, verdict, optimum: optimumOf(grid) };
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
  #stage = new Stage((trial, shown) => this.#drawVerdict(trial, shown));
  #current = null;
  #cursor = null;

  /** @param {object} sample {suite_id, grids, trials} */
  constructor(sample) {
    this.#sample = sample;
    this.#listenToChoices();
    this.#listenToBoard();
    this.use(sample);
    onLanguage(() => {
      this.#drawKinds();
      this.#drawPolicies();
      this.#stage.redraw();
    });
  }

  /** Put another source of trials on the stage. */
  use(source) {
    this.#source = source;
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
    this.#drawKinds();
    this.#drawPolicies();
    this.#load();
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

  #load() {
    const grid = this.#grid();
    const { scenario } = choicesOf(grid).find(({ value }) => value === chosen("kind"));
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
    this.#stage.show(this.#current, isOwn ? this.#current.steps.length : 0);
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
