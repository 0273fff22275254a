// Watch a control on the sample, or take its place. Both end before the same judge.

import { byId, el, foreign, visible } from "../../web/static/dom.js";
import { hasText, number, onLanguage, text } from "../../web/static/locale.js";
import { checkItems, cellText } from "../../web/static/ledger.js";
import { createStage } from "../../web/static/stage.js";
import { verdictParts } from "../../web/static/verdict.js";
import { cellAt } from "../../web/static/board.js";
import { phaseAt, unpackActions } from "./actions.js";
import { initialState, recordStep, replay, sameCell, step } from "./world.js";
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

function scenarioOf(grid, kind) {
  return grid.scenarios.find((scenario) => scenario.failure_kind === kind);
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

/**
 * Start the stage over the sample.
 * @param {object} sample {suite_id, grids, trials}
 * @returns {(source: object) => void} puts another source of trials on the stage
 */
export function startWatch(sample) {
  const board = byId("board");
  let source = sample;
  let current = null;
  let cursor = null;
  const stage = createStage(drawVerdict);

  function recordedTrial(grid, scenario, policy) {
    const seed = Number(byId("seed").value);
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

  function isPlaying() {
    return current !== null && current.policy === YOU && current.verdict === null;
  }

  function load() {
    const grid = source.grids[Number(byId("grid").value)];
    const scenario = scenarioOf(grid, chosen("kind")) ?? grid.scenarios[0];
    const policy = chosen("policy");
    const isOwn = policy === YOU;
    byId("own-controls").hidden = !isOwn;
    byId("seed-field").hidden = isOwn;
    board.classList.toggle("playable", isOwn);
    board.setAttribute("role", isOwn ? "application" : "img");
    board.toggleAttribute("data-keys", isOwn);
    board.setAttribute("tabindex", isOwn ? "0" : "-1");
    current = isOwn ? ownTrial(grid, scenario) : recordedTrial(grid, scenario, policy);
    cursor = null;
    stage.setView({ cursor });
    stage.show(current, isOwn ? current.steps.length : 0);
  }

  function proposalsLeft() {
    const made = current.steps.length - current.scenario.prefix_length - 1;
    return current.scenario.budget - made;
  }

  function propose(action) {
    if (!isPlaying()) {
      return;
    }
    const last = current.steps[current.steps.length - 1];
    const state = { ...initialState(current.grid), position: last.position, spent: last.spent };
    const outcome = step(current.grid, state, action);
    current.steps = [...current.steps, recordStep("policy", action, outcome)];
    if (outcome.state.finished || proposalsLeft() === 0) {
      current.verdict = judged(current.grid, current.scenario, current.steps);
    }
    stage.show(current, current.steps.length);
  }

  function proposeToward([down, right]) {
    const { position } = current.steps[current.steps.length - 1];
    propose({ move: [position[0] + down, position[1] + right] });
  }

  function moveCursor([down, right]) {
    const from = cursor ?? current.steps[current.steps.length - 1].position;
    const rows = current.grid.rows.length;
    const columns = current.grid.rows[0].length;
    cursor = [
      Math.max(0, Math.min(rows - 1, from[0] + down)),
      Math.max(0, Math.min(columns - 1, from[1] + right)),
    ];
    stage.setView({ cursor });
  }

  function onBoardKey(event) {
    if (!isPlaying() || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const toward = ARROWS[event.key];
    if (toward && event.shiftKey) {
      moveCursor(toward);
    } else if (toward) {
      proposeToward(toward);
    } else if (event.key === "Enter" && cursor !== null) {
      propose({ move: cursor });
    } else if (event.key === "f" || event.key === "F") {
      propose({ finish: true });
    } else {
      return;
    }
    event.preventDefault();
  }

  function drawVerdict(trial, shown) {
    const isOver = trial.verdict !== null && shown === trial.steps.length;
    const checks = isOver ? trial.verdict.checks : null;
    byId("checks").replaceChildren(...checkItems(CHECKS, checks));
    byId("verdict").replaceChildren(...(isOver ? verdictParts(trial) : openParts(trial)));
    for (const button of byId("own-controls").querySelectorAll("button[data-own]")) {
      button.disabled = !isPlaying();
    }
  }

  function openParts(trial) {
    if (trial.policy !== YOU) {
      return [el("p", { class: "soft" }, text("verdict.open"))];
    }
    const last = trial.steps[trial.steps.length - 1];
    const onTarget = sameCell(last.position, trial.grid.target);
    return [
      el("p", {}, text("own.left", { left: number(proposalsLeft()), budget: trial.scenario.budget })),
      el("p", { class: "soft" }, text(onTarget ? "own.arrived" : "own.where", {
        position: cellText(last.position),
        target: cellText(trial.grid.target),
      })),
    ];
  }

  function policyChoice(policy, index) {
    const key = policy === YOU ? "policy.you" : `policy.${policy}`;
    return el(
      "label",
      {},
      el("input", {
        type: "radio",
        name: "policy",
        value: policy,
        checked: index === 0,
        on: { change: load },
      }),
      el("span", {}, hasText(key) ? text(key) : foreign(policy)),
    );
  }

  function policiesOf(trials) {
    const found = new Set(trials.map((trial) => trial.policy));
    const known = CONTROLS.filter((name) => found.has(name));
    const others = [...found].filter((name) => !CONTROLS.includes(name)).sort();
    return [...others, ...known, YOU];
  }

  function drawPolicies() {
    const before = document.querySelector('input[name="policy"]:checked')?.value;
    const names = policiesOf(source.trials);
    byId("policies").replaceChildren(...names.map(policyChoice));
    if (names.includes(before)) {
      document.querySelector(`input[name="policy"][value="${CSS.escape(before)}"]`).checked = true;
    }
  }

  /** Put a source of trials on the stage: the sample, or a bundle that was given. */
  function use(next) {
    source = next;
    const isSample = next === sample;
    byId("banner").hidden = !isSample;
    byId("given").hidden = isSample;
    byId("given-suite").replaceChildren(foreign(next.suite_id));
    const seeds = [...new Set(next.trials.map((trial) => trial.policy_seed))].sort((a, b) => a - b);
    const options = (values) => values.map(([value, label]) => el("option", { value }, label));
    byId("grid").replaceChildren(
      ...options(next.grids.map((grid, index) => [index, visible(grid.grid_id)])),
    );
    byId("seed").replaceChildren(...options(seeds.map((seed) => [seed, String(seed)])));
    drawPolicies();
    load();
  }

  for (const id of ["grid", "seed"]) {
    byId(id).addEventListener("change", load);
  }
  for (const input of document.querySelectorAll('input[name="kind"]')) {
    input.addEventListener("change", load);
  }
  byId("show-costs").addEventListener("change", (event) =>
    stage.setView({ showCosts: event.target.checked }),
  );
  byId("show-optimal").addEventListener("change", (event) =>
    stage.setView({ showOptimal: event.target.checked }),
  );
  board.addEventListener("click", (event) => {
    if (isPlaying()) {
      propose({ move: cellAt(board, event) });
    }
  });
  board.addEventListener("keydown", onBoardKey);
  for (const button of byId("own-controls").querySelectorAll("button[data-toward]")) {
    button.addEventListener("click", () => proposeToward(ARROWS[button.dataset.toward]));
  }
  byId("own-finish").addEventListener("click", () => propose({ finish: true }));
  byId("own-again").addEventListener("click", load);
  byId("given-back").addEventListener("click", () => use(sample));
  use(sample);
  onLanguage(() => {
    drawPolicies();
    stage.redraw();
  });
  return use;
}
