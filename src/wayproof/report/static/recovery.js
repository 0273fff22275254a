// The recovery report: every trial in a list, and the chosen one on the stage, as recorded.

import { byId, dataBlock, el, foreign, visible } from "../../web/static/dom.js";
import { number, numberOrDash, onLanguage, startLocale, text } from "../../web/static/locale.js";
import { List, byNumber, byText, fillFilter, onFilters } from "../../web/static/list.js";
import { checkItems } from "../../web/static/ledger.js";
import { Stage } from "../../web/static/stage.js";
import { verdictParts } from "../../web/static/verdict.js";

const FILTERS = ["filter-policy", "filter-kind", "filter-verdict"];
const PHASES = ["prefix", "injected", "policy"];
const VERDICTS = ["verified", "completed", "open"];

/** Lines of the steps block, found once. */
function stepLines() {
  const whole = byId("steps").textContent;
  const ends = [];
  for (let at = whole.indexOf("\n"); at >= 0; at = whole.indexOf("\n", at + 1)) {
    ends.push(at);
  }
  return (line) => JSON.parse(whole.slice(line === 0 ? 0 : ends[line - 1] + 1, ends[line]));
}

/** One packed step as the trace file has it. */
function unpackedStep(packed, kinds) {
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

/** The recorded checks: true before the first failure, null after it. */
function checksOf(data, index) {
  const failed = data.failed[index];
  return Object.fromEntries(
    data.checks.map((name, place) => [
      name,
      failed < 0 || place < failed ? true : place === failed ? false : null,
    ]),
  );
}

function verdictOf(data, index) {
  const failed = data.failed[index];
  return {
    checks: checksOf(data, index),
    firstFailedCheck: failed < 0 ? null : data.checks[failed],
    completed: data.completed[index] === 1,
    verifiedRecovery: data.verified[index] === 1,
  };
}

function verdictCode(data, index) {
  return data.verified[index] ? 0 : data.completed[index] ? 1 : 2;
}

function outcomeMark(value, key) {
  return el("span", { class: `status ${value ? "good" : "bad"}` }, text(`${key}.${value === 1}`));
}

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

function filterOf(data) {
  const wanted = byId("filter-text").value.toLowerCase();
  const [policy, kind, verdict] = FILTERS.map((id) => Number(byId(id).value));
  return (index) =>
    (policy < 0 || data.policy[index] === policy) &&
    (kind < 0 || data.kind[index] === kind) &&
    (verdict < 0 || verdictCode(data, index) === verdict) &&
    (wanted === "" || data.scenarios[data.scenario[index]].toLowerCase().includes(wanted));
}

function startTrials(data, grids) {
  const lines = stepLines();
  let chosen = null;
  const stage = new Stage((trial) => {
    byId("verdict").replaceChildren(...verdictParts(trial));
    byId("checks").replaceChildren(...checkItems(data.checks, trial.verdict.checks));
  });
  const list = new List((index) => {
    chosen = index;
    showTrial(index);
  });
  const table = {
    columns: columnsOf(data),
    sort: ["scenario", 1],
    emptyKey: "trials.empty",
    isChosen: (index) => index === chosen,
  };

  function name(index) {
    const policy = data.policies[data.policy[index]];
    return `${policy} / ${data.scenarios[data.scenario[index]]} / ${data.seed[index]}`;
  }

  function showTrial(index) {
    byId("trial-name").replaceChildren(foreign(name(index)));
    const place = data.steps[index];
    byId("stage").hidden = place < 0;
    byId("no-steps").hidden = place >= 0;
    byId("no-steps").textContent = text("trials.leftOut");
    if (place >= 0) {
      const steps = lines(place).map((packed) => unpackedStep(packed, data.kinds));
      stage.show({
        grid: grids[data.grids[data.grid[index]]],
        optimum: data.optimal_cost[index],
        steps,
        verdict: verdictOf(data, index),
      });
    }
  }

  function drawCount() {
    byId("queue-count").textContent = text("queue.count", { count: number(list.order.length) });
  }

  function choose() {
    const passes = filterOf(data);
    const order = [];
    for (let index = 0; index < data.scenario.length; index += 1) {
      if (passes(index)) {
        order.push(index);
      }
    }
    list.show(table, order);
    drawCount();
  }

  function drawFilters() {
    fillFilter("filter-policy", data.policies.map(visible));
    fillFilter("filter-kind", data.kinds.map((kind) => text(`kind.${kind}`)));
    fillFilter("filter-verdict", VERDICTS.map((verdict) => text(`list.verdict.${verdict}`)));
  }

  drawFilters();
  onFilters(FILTERS, choose);
  choose();
  list.openAt(0);
  onLanguage(() => {
    drawFilters();
    list.redraw();
    drawCount();
    byId("no-steps").textContent = text("trials.leftOut");
  });
}

startLocale();
startTrials(dataBlock("trials"), dataBlock("grids"));
document.documentElement.dataset.ready = "true";
