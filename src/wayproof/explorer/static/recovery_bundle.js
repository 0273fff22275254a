// A recovery bundle, checked from its suite and its recorded actions up: every result is
// derived again and held against the one that was recorded.

import { INDEPENDENCE, INTERVALS, PUBLISHED, PUBLISHED_SUITE, RECOVERY_LIMITS } from "./contract.js";
import { canonicalText } from "./canonical.js";
import { differenceFaults, fault, readDocument, readLines } from "./records.js";
import { fileSetFaults, manifestFaults } from "./manifest.js";
import { sha256Hex } from "./sha256.js";
import { controlSteps, isControl } from "./controls.js";
import { intervalsOverGrids } from "./intervals.js";
import { suiteFault } from "./suite_rules.js";
import { replay } from "./world.js";
import { CHECKS, certificateFault, judge, ruled, sameAction } from "./verify.js";
import {
  action,
  cell,
  count,
  flag,
  integer,
  integerWithin,
  listOf,
  mapOf,
  matching,
  object,
  oneOf,
  orNull,
  record,
  string,
  upTo,
} from "./shape.js";

const KINDS = ["collision", "invalid_path", "premature_end"];
const kind = oneOf(...KINDS);
const identifier = matching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, "an id");
const FILES = ["results.jsonl", "suite.jsonl", "summary.json", "traces.jsonl"];
/** Most steps of a trial, and most cells of a grid, that are read. */
const MAX_TRIAL_STEPS = 1 << 18;
const MAX_CELLS = 1 << 20;
const OUTCOMES = ["ok", "crashed", "timed_out", "malformed", "protocol_error", "limit_reached"];
/** Checks that an honest trial may fail; any other one that fails means a false trace. */
const MEASURED = ["finished_at_target", "cost_exact"];

/** A hidden suite's seed is too long for a number: hex digits. */
const HEX_SEED = matching(/^[0-9a-f]{32,128}$/, "an integer, or 32 to 128 hex digits");
const seed = (value, field) => (typeof value === "string" ? HEX_SEED : integer)(value, field);
const HEADER = record({
  generator: record({ name: string, parameters: mapOf(string, integer), seed }),
  schema_version: oneOf("wayproof.recovery-suite/1"),
  suite_id: identifier,
});
const GRID = record({
  grid_id: identifier,
  potentials: listOf(listOf(orNull(count))),
  reference_path: listOf(cell),
  rows: listOf(string),
  scenarios: listOf(
    record({
      budget: integerWithin(1, MAX_TRIAL_STEPS),
      failure_kind: kind,
      injected_action: action,
      prefix_length: count,
      scenario_id: identifier,
    }),
  ),
  start: cell,
  target: cell,
});
export const TRACE = record({
  policy: identifier,
  policy_seed: integer,
  scenario_id: identifier,
  steps: listOf(
    record({
      accepted: flag,
      action,
      phase: oneOf("prefix", "injected", "policy"),
      position: cell,
      rejection: orNull(kind),
      spent: count,
    }),
  ),
});

function isGrid(grid) {
  const width = grid.rows[0]?.length ?? 0;
  const inside = ([row, column]) =>
    row >= 0 && row < grid.rows.length && column >= 0 && column < width;
  return (
    width > 0 &&
    width * grid.rows.length <= MAX_CELLS &&
    grid.rows.every((row) => row.length === width && /^[#1-9]+$/.test(row)) &&
    grid.potentials.length === grid.rows.length &&
    grid.potentials.every((row) => row.length === width) &&
    [grid.start, grid.target].every((end) => inside(end) && grid.rows[end[0]][end[1]] !== "#") &&
    !(grid.start[0] === grid.target[0] && grid.start[1] === grid.target[1])
  );
}

/** Whether the prefix ends before the target, and the action after it is rejected as it says. */
function isScenario(grid, scenario) {
  const path = grid.reference_path;
  const { budget, prefix_length: prefix } = scenario;
  if (prefix > path.length - 2 || prefix + 1 + budget > MAX_TRIAL_STEPS) {
    return false;
  }
  const { rejection } = ruled(grid, path[scenario.prefix_length], 0, scenario.injected_action);
  return rejection === scenario.failure_kind;
}

/** Ids rise through a suite, which makes them distinct. */
function risen(last, id, line) {
  if (last !== null && id <= last) {
    throw fault("order", { file: "suite.jsonl", line, found: id });
  }
  return id;
}

/** Read suite.jsonl: its header and, by scenario id, {grid, scenario, certified}. */
export function readSuite(files, pins = {}) {
  const lines = readLines(files, "suite.jsonl", (value, field, index) =>
    (index === 0 ? HEADER : GRID)(value, field),
  );
  if (lines.length < 2) {
    throw fault("empty_suite", { file: "suite.jsonl" });
  }
  const scenarios = new Map();
  let lastGrid = null;
  let lastScenario = null;
  const grids = lines.slice(1).map(({ value: grid }, index) => {
    if (!isGrid(grid)) {
      throw fault("bad_grid", { file: "suite.jsonl", line: index + 2, grid: grid.grid_id });
    }
    const wrong = certificateFault(grid);
    if (wrong !== null) {
      throw fault("optimum_certified", {
        file: "suite.jsonl",
        line: index + 2,
        grid: grid.grid_id,
        found: JSON.stringify(wrong),
      });
    }
    lastGrid = risen(lastGrid, grid.grid_id, index + 2);
    if (grid.scenarios.length === 0) {
      throw fault("no_scenarios", { file: "suite.jsonl", line: index + 2, grid: grid.grid_id });
    }
    for (const scenario of grid.scenarios) {
      if (!isScenario(grid, scenario)) {
        throw fault("bad_scenario", { file: "suite.jsonl", line: index + 2, found: scenario.scenario_id });
      }
      lastScenario = risen(lastScenario, scenario.scenario_id, index + 2);
      scenarios.set(scenario.scenario_id, { grid, scenario, certified: true });
    }
    return grid;
  });
  const broken = suiteFault(lines[0].value, grids, pins);
  if (broken !== null) {
    throw fault(`rule_${broken.rule}`, { check: broken.rule, file: "suite.jsonl", ...broken.place });
  }
  return { header: lines[0].value, grids, scenarios };
}

/** One trial's name, as errors spell it. */
export function trialId({ policy, scenario_id: scenario, policy_seed: seed }) {
  return `${policy}/${scenario}/${seed}`;
}

function proposalCounts(scenario, steps) {
  const proposed = steps.slice(scenario.prefix_length + 1);
  const first = proposed.findIndex((step) => step.accepted);
  return {
    accepted_moves: proposed.filter((step) => step.accepted && "move" in step.action).length,
    first_accepted_proposal: first === -1 ? null : first,
    proposals: proposed.length,
    rejected_proposals: proposed.filter((step) => !step.accepted).length,
    repeated_rejected_action: proposed.filter((step) =>
      sameAction(step.action, scenario.injected_action),
    ).length,
  };
}

/**
 * Derive a trial's whole result from suite and recorded actions.
 * @param {string} [outcome] what became of the agent itself: a control's is always ok
 */
export function deriveResult(suite, entry, trace, traceLine, outcome = "ok") {
  const { grid, scenario } = entry;
  const verdict = judge(grid, scenario, trace.steps, replay(grid, trace.steps), entry.certified);
  const last = trace.steps[trace.steps.length - 1];
  const optimum = grid.potentials[grid.start[0]][grid.start[1]];
  return {
    verdict,
    result: {
      agent_outcome: outcome,
      budget: scenario.budget,
      checks: verdict.checks,
      completed: verdict.completed,
      evidence_class: isControl(trace.policy) ? "reference_control" : "client_agent",
      excess_cost: verdict.completed ? last.spent - optimum : null,
      failure_kind: scenario.failure_kind,
      final_cost: last.spent,
      final_position: last.position,
      first_failed_check: verdict.firstFailedCheck,
      grid_id: grid.grid_id,
      injected_action: scenario.injected_action,
      optimal_cost: optimum,
      policy: trace.policy,
      policy_seed: trace.policy_seed,
      prefix_length: scenario.prefix_length,
      rejection: trace.steps[scenario.prefix_length]?.rejection ?? null,
      scenario_id: scenario.scenario_id,
      suite_id: suite.header.suite_id,
      trace_sha256: sha256Hex(new TextEncoder().encode(traceLine)),
      verified_recovery: verdict.verifiedRecovery,
      ...proposalCounts(scenario, trace.steps),
    },
  };
}

/** Which check a disagreement is about: the earlier of the two first failures. */
function disputedCheck(recorded, verdict) {
  const rank = (name) => {
    const index = CHECKS.indexOf(name);
    return index === -1 ? CHECKS.length : index;
  };
  const ours = rank(verdict.firstFailedCheck);
  const theirs = rank(recorded.first_failed_check);
  return CHECKS[Math.min(ours, theirs)] ?? null;
}

function trialFault(recorded, place, { verdict, result }) {
  const [difference] = differenceFaults("result_differs", place.file, result, recorded);
  const failed = verdict.firstFailedCheck;
  const isVerdict =
    difference !== undefined &&
    (failed !== recorded.first_failed_check || difference.field.startsWith("checks"));
  if (isVerdict) {
    const check = disputedCheck(recorded, verdict);
    return { ...difference, ...place, problem: "verdict_differs", check, step: verdict.failedStep };
  }
  if (difference !== undefined) {
    return { ...difference, ...place };
  }
  if (failed !== null && !MEASURED.includes(failed)) {
    return { ...place, problem: "trace_false", check: failed, step: verdict.failedStep };
  }
  return null;
}

const outcomeOf = oneOf(...OUTCOMES);
const RESULT = (value, field) => {
  object(value, field || "record");
  identifier(value.policy, "policy");
  identifier(value.scenario_id, "scenario_id");
  count(value.policy_seed, "policy_seed");
  outcomeOf(value.agent_outcome, "agent_outcome");
};

/** Every trial that must be there, in order: by policy, scenario and seed. */
function expectedTrials(suite, { policies, policy_seeds: seeds }) {
  return policies.flatMap((policy) =>
    [...suite.scenarios.keys()].flatMap((scenario) =>
      seeds.map((seed) => trialId({ policy, scenario_id: scenario, policy_seed: seed })),
    ),
  );
}

/** The first line of a file that isn't the trial that belongs there. */
function orderFaults(file, lines, expected) {
  for (let at = 0; at < Math.max(lines.length, expected.length); at += 1) {
    const found = at < lines.length ? trialId(lines[at].value) : "–";
    const wanted = expected[at] ?? "–";
    if (found !== wanted) {
      return [{ problem: "order", file, line: at + 1, expected: wanted, found }];
    }
  }
  return [];
}

/** Whether a trace comes to the trial's own end: an accepted finish, or a spent budget. */
function hasEnded(scenario, steps) {
  const proposals = steps.slice(scenario.prefix_length + 1);
  const last = proposals[proposals.length - 1];
  return (
    last !== undefined &&
    (proposals.length === scenario.budget || (last.accepted && "finish" in last.action))
  );
}

/** Where a control's trace is not the one that the control leaves; null where it is. */
function controlFault(suite, { grid, scenario }, { policy, policy_seed: seed, steps }) {
  const again = controlSteps(suite.header.suite_id, grid, scenario, policy, seed);
  for (let at = 0; at < Math.max(again.length, steps.length); at += 1) {
    const [difference] = differenceFaults("control_differs", "traces.jsonl", again[at], steps[at]);
    if (difference !== undefined) {
      return { ...difference, step: at };
    }
  }
  return null;
}

/** A client agent is ok exactly when its trial came to the trial's own end. */
function outcomeFault({ scenario }, { steps }, recorded) {
  const isOver = hasEnded(scenario, steps);
  return isOver === (recorded.agent_outcome === "ok")
    ? null
    : {
        problem: "outcome_differs",
        field: "agent_outcome",
        expected: isOver ? "ok" : OUTCOMES.slice(1).join(", "),
        found: recorded.agent_outcome,
      };
}

/** Check one trial against its suite: derive its record again; null where all holds. */
export function checkTrial(suite, trace, { value: recorded }, line) {
  const place = { file: "results.jsonl", line, trial: trialId(recorded) };
  const entry = suite.scenarios.get(recorded.scenario_id);
  if (trace.value.steps.length === 0) {
    return { ...place, problem: "no_steps" };
  }
  const ofControl = isControl(recorded.policy);
  const outcome = ofControl ? "ok" : recorded.agent_outcome;
  const derived = deriveResult(suite, entry, trace.value, trace.line, outcome);
  const found = trialFault(recorded, place, derived);
  if (found !== null) {
    return found;
  }
  const own = ofControl
    ? controlFault(suite, entry, trace.value)
    : outcomeFault(entry, trace.value, recorded);
  return own === null ? null : { ...place, ...own };
}

function countBy(values) {
  const counts = {};
  for (const value of values) {
    counts[value] = (counts[value] ?? 0) + 1;
  }
  return counts;
}

const MEASURES = ["completed", "verified"];
const HIT = { completed: "completed", verified: "verified_recovery" };

/** A stratum's counts, and per grid of the suite its cells and hits. */
function stratum(results, failureKind, gridIds) {
  const perGrid = (passes) => {
    const counts = new Map(gridIds.map((id) => [id, 0]));
    results.filter(passes).forEach(({ grid_id: id }) => counts.set(id, counts.get(id) + 1));
    return [...counts.values()];
  };
  const failed = results.map((result) => result.first_failed_check);
  return {
    record: {
      cells: results.length,
      completed: results.filter((result) => result.completed).length,
      failure_kind: failureKind,
      first_failed_checks: countBy(failed.filter((check) => check !== null)),
      grids: new Set(results.map((result) => result.grid_id)).size,
      verified: results.filter((result) => result.verified_recovery).length,
    },
    cells: perGrid(() => true),
    hits: Object.fromEntries(MEASURES.map((name) => [name, perGrid((each) => each[HIT[name]])])),
  };
}

/** The whole summary that follows from the results. */
async function summaryOf(suiteId, results, resultsSha256, pause) {
  const distinct = (name) => [...new Set(results.map((result) => result[name]))];
  const gridIds = distinct("grid_id").sort();
  const policies = distinct("policy").sort().map((policy) => {
    const own = results.filter((result) => result.policy === policy);
    const kinds = KINDS.filter((name) => own.some((result) => result.failure_kind === name));
    return {
      policy,
      own,
      total: stratum(own, null, gridIds),
      byKind: kinds.map((name) =>
        stratum(own.filter((result) => result.failure_kind === name), name, gridIds),
      ),
    };
  });
  const strata = policies.flatMap(({ total, byKind }) => [total, ...byKind]);
  const intervals = await intervalsOverGrids(
    MEASURES.flatMap((name) => strata.map(({ hits }) => hits[name])),
    MEASURES.flatMap(() => strata.map(({ cells }) => cells)),
    pause,
  );
  strata.forEach(({ record: counts }, at) => {
    MEASURES.forEach((name, measure) => {
      counts[`${name}_interval`] = intervals[measure * strata.length + at];
    });
  });
  return {
    grids: gridIds.length,
    independence: INDEPENDENCE,
    intervals: INTERVALS,
    limits: RECOVERY_LIMITS,
    policies: policies.map(({ policy, own, total, byKind }) => ({
      agent_outcomes: countBy(own.map((result) => result.agent_outcome)),
      by_failure_kind: byKind.map((each) => each.record),
      evidence_class: own[0].evidence_class,
      policy,
      total: total.record,
    })),
    policy_seeds: distinct("policy_seed").sort((a, b) => a - b),
    published: suiteId === PUBLISHED_SUITE ? PUBLISHED : [],
    results_sha256: resultsSha256,
    scenarios: distinct("scenario_id").length,
    schema_version: "wayproof.recovery-summary/1",
    suite_id: suiteId,
    trials: results.length,
  };
}

const AGENT = record({
  details: mapOf(string, upTo(4096)),
  kind: oneOf("python", "stdio", "gymnasium", "inspect"),
  policy: identifier,
});
const SETTINGS = record(
  {
    policies: listOf(identifier),
    policy_seeds: listOf(count),
    suite_id: identifier,
  },
  { agents: listOf(AGENT) },
);

function isRising(values) {
  return values.length > 0 && values.every((value, at) => at === 0 || values[at - 1] < value);
}

/** Faults of the manifest, and of a suite that bears an official name without being it. */
function settingsFaults(files, manifest, suite, pins) {
  const { settings } = manifest;
  const place = { problem: "manifest_differs", file: "manifest.json" };
  try {
    SETTINGS(settings, "settings");
  } catch (error) {
    throw fault(place.problem, { ...place, field: "settings", found: error.message });
  }
  const suiteId = suite.header.suite_id;
  const faults = [
    ...fileSetFaults(manifest, FILES),
    ...manifestFaults(manifest, {
      inputs: { suite: manifest.files["suite.jsonl"] ?? null },
      limits: RECOVERY_LIMITS,
      settings: { ...settings, suite_id: suiteId },
    }),
  ];
  for (const field of ["policies", "policy_seeds"]) {
    if (!isRising(settings[field])) {
      faults.push({ ...place, field: `settings.${field}`, found: canonicalText(settings[field]) });
    }
  }
  const clients = settings.policies.filter((name) => !isControl(name));
  if (clients.length > 0 && clients.length < settings.policies.length) {
    faults.push({ ...place, field: "settings.policies", found: settings.policies.join(", ") });
  }
  const agents = (settings.agents ?? []).map(({ policy }) => policy);
  faults.push(
    ...differenceFaults("manifest_differs", "manifest.json", clients, agents, "settings.agents"),
  );
  const found = sha256Hex(files.get("suite.jsonl"));
  if (Object.hasOwn(pins, suiteId) && pins[suiteId] !== found) {
    faults.push({ problem: "impostor", file: "suite.jsonl", expected: pins[suiteId], found });
  }
  return faults;
}

/**
 * Check a recovery bundle's evidence.
 *
 * @param {Map<string, Uint8Array>} files
 * @param {object} manifest
 * @param {(done: number, total: number) => Promise<void>} pause called between trials
 * @param {object} pins digests of official suites, by suite id
 * @returns {Promise<object>} {faults, trials, suiteId, policies, watchable}
 */
export async function checkRecovery(files, manifest, pause, pins) {
  const suite = readSuite(files, pins);
  const faults = settingsFaults(files, manifest, suite, pins);
  const traces = readLines(files, "traces.jsonl", TRACE);
  const results = readLines(files, "results.jsonl", RESULT);
  const expected = expectedTrials(suite, manifest.settings);
  const disorder = [
    ...orderFaults("results.jsonl", results, expected),
    ...orderFaults("traces.jsonl", traces, expected),
  ];
  faults.push(...disorder);
  for (let index = 0; disorder.length === 0 && index < results.length; index += 1) {
    const found = checkTrial(suite, traces[index], results[index], index + 1);
    if (found !== null) {
      faults.push(found);
    }
    await pause(index + 1, results.length);
  }
  let policies = [];
  if (disorder.length === 0) {
    const stated = readDocument(files, "summary.json", object);
    const values = results.map(({ value }) => value);
    const digest = sha256Hex(files.get("results.jsonl"));
    const own = await summaryOf(suite.header.suite_id, values, digest, () =>
      pause(results.length, results.length),
    );
    faults.push(...differenceFaults("summary_differs", "summary.json", own, stated));
    policies = own.policies.map(({ policy, total }) => ({ policy, ...total }));
  }
  return {
    faults,
    trials: results.length,
    suiteId: suite.header.suite_id,
    policies,
    watchable: {
      suite_id: suite.header.suite_id,
      grids: suite.grids,
      trials: traces.map(({ value }) => value),
    },
  };
}
