// A recovery bundle, checked from its suite and its recorded actions up: every result is
// derived again and held against the one that was recorded.

import { canonicalText, linesOf, parseCanonical, strictText } from "./canonical.js";
import { sha256Hex } from "./sha256.js";
import { replay } from "./world.js";
import { CHECKS, certificateFault, judge, ruled, sameAction } from "./verify.js";
import {
  action,
  cell,
  count,
  flag,
  integer,
  listOf,
  object,
  oneOf,
  orNull,
  record,
  ShapeError,
  string,
} from "./shape.js";

const KINDS = ["collision", "invalid_path", "premature_end"];
const CONTROLS = ["blind-repeat", "planner", "random-walk"];
const kind = oneOf(...KINDS);

const HEADER = record({
  generator: record({ name: string, parameters: object, seed: integer }),
  schema_version: oneOf("wayproof.recovery-suite/1"),
  suite_id: string,
});
const GRID = record({
  grid_id: string,
  potentials: listOf(listOf(orNull(count))),
  reference_path: listOf(cell),
  rows: listOf(string),
  scenarios: listOf(
    record({
      budget: count,
      failure_kind: kind,
      injected_action: action,
      prefix_length: count,
      scenario_id: string,
    }),
  ),
  start: cell,
  target: cell,
});
const TRACE = record({
  policy: string,
  policy_seed: integer,
  scenario_id: string,
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

/** Something that doesn't hold, with its place. */
export class BundleFault extends Error {
  constructor(place) {
    super(place.problem);
    this.place = place;
  }
}

function fault(problem, place = {}) {
  return new BundleFault({ problem, ...place });
}

/** Read a file of canonical lines; `check` is the shape of a line. */
export function readLines(files, name, check) {
  const bytes = files.get(name);
  if (bytes === undefined) {
    throw fault("missing_file", { file: name });
  }
  let lines;
  try {
    lines = linesOf(bytes);
  } catch (error) {
    throw fault("unreadable", { file: name, found: error.message });
  }
  return lines.map((line, index) => {
    try {
      const value = parseCanonical(line);
      check(value, "", index);
      return { line, value };
    } catch (error) {
      throw fault(error instanceof ShapeError ? "shape" : "unreadable", {
        file: name,
        line: index + 1,
        found: error.message,
      });
    }
  });
}

function isGrid(grid) {
  const width = grid.rows[0]?.length ?? 0;
  const inside = ([row, column]) =>
    row >= 0 && row < grid.rows.length && column >= 0 && column < width;
  return (
    width > 0 &&
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
  if (scenario.budget < 1 || scenario.prefix_length > path.length - 2) {
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
export function readSuite(files) {
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
    for (const scenario of grid.scenarios) {
      if (!isScenario(grid, scenario)) {
        throw fault("bad_scenario", { file: "suite.jsonl", line: index + 2, found: scenario.scenario_id });
      }
      lastScenario = risen(lastScenario, scenario.scenario_id, index + 2);
      scenarios.set(scenario.scenario_id, { grid, scenario, certified: true });
    }
    return grid;
  });
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

/** Derive a trial's whole result from suite and recorded actions. */
export function deriveResult(suite, entry, trace, traceLine, outcome) {
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
      evidence_class: CONTROLS.includes(trace.policy) ? "reference_control" : "client_agent",
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

function firstDifference(recorded, derived) {
  const names = new Set([...Object.keys(recorded), ...Object.keys(derived)]);
  return [...names].sort().find((name) => {
    const a = Object.hasOwn(recorded, name) ? canonicalText(recorded[name]) : "";
    const b = Object.hasOwn(derived, name) ? canonicalText(derived[name]) : "";
    return a !== b;
  });
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

function trialFault(recorded, line, { verdict, result }) {
  const field = firstDifference(recorded, result);
  if (field === undefined) {
    return null;
  }
  const isVerdict =
    verdict.firstFailedCheck !== recorded.first_failed_check || field.startsWith("checks");
  return {
    problem: isVerdict ? "verdict_differs" : "result_differs",
    file: "results.jsonl",
    line,
    trial: trialId(recorded),
    check: isVerdict ? disputedCheck(recorded, verdict) : null,
    step: isVerdict ? verdict.failedStep : null,
    field,
    expected: field in result ? canonicalText(result[field]) : "–",
    found: field in recorded ? canonicalText(recorded[field]) : "–",
  };
}

function compareKeys(a, b) {
  for (const name of ["policy", "scenario_id"]) {
    if (a[name] !== b[name]) {
      return a[name] < b[name] ? -1 : 1;
    }
  }
  return a.policy_seed - b.policy_seed;
}

function checkOrder(results) {
  results.forEach(({ value }, index) => {
    if (index > 0 && compareKeys(results[index - 1].value, value) >= 0) {
      throw fault("order", { file: "results.jsonl", line: index + 1, trial: trialId(value) });
    }
  });
}

const KEY = (value, field) => {
  object(value, field || "record");
  string(value.policy, "policy");
  string(value.scenario_id, "scenario_id");
  integer(value.policy_seed, "policy_seed");
  string(value.agent_outcome, "agent_outcome");
};

function tracesByTrial(files) {
  const byTrial = new Map();
  readLines(files, "traces.jsonl", TRACE).forEach((trace, index) => {
    const name = trialId(trace.value);
    if (byTrial.has(name)) {
      throw fault("repeated", { file: "traces.jsonl", line: index + 1, trial: name });
    }
    byTrial.set(name, trace);
  });
  return byTrial;
}

function checkTrial(suite, traces, { value: recorded }, index) {
  const name = trialId(recorded);
  const place = { file: "results.jsonl", line: index + 1, trial: name };
  const trace = traces.get(name);
  const entry = suite.scenarios.get(recorded.scenario_id);
  if (trace === undefined || entry === undefined) {
    return { ...place, problem: trace === undefined ? "no_trace" : "no_scenario" };
  }
  if (trace.value.steps.length === 0) {
    return { ...place, problem: "no_steps" };
  }
  const derived = deriveResult(suite, entry, trace.value, trace.line, recorded.agent_outcome);
  return trialFault(recorded, index + 1, derived);
}

function stratum(results) {
  const failed = {};
  for (const { first_failed_check: check } of results) {
    if (check !== null) {
      failed[check] = (failed[check] ?? 0) + 1;
    }
  }
  return {
    cells: results.length,
    completed: results.filter((result) => result.completed).length,
    first_failed_checks: failed,
    grids: new Set(results.map((result) => result.grid_id)).size,
    verified: results.filter((result) => result.verified_recovery).length,
  };
}

/** Count results again, as the summary does: per policy, in all and by failure kind. */
function tally(results) {
  const policies = [...new Set(results.map((result) => result.policy))].sort();
  return policies.map((policy) => {
    const own = results.filter((result) => result.policy === policy);
    const kinds = KINDS.filter((name) => own.some((result) => result.failure_kind === name));
    return {
      policy,
      ...stratum(own),
      byKind: kinds.map((name) => ({
        failure_kind: name,
        ...stratum(own.filter((result) => result.failure_kind === name)),
      })),
    };
  });
}

/** The counts of the summary, without its intervals. */
function statedTally(summary) {
  const counts = ({ cells, completed, first_failed_checks: failed, grids, verified }) => ({
    cells,
    completed,
    first_failed_checks: failed,
    grids,
    verified,
  });
  return summary.policies.map((row) => ({
    policy: row.policy,
    ...counts(row.total),
    byKind: row.by_failure_kind.map((kindRow) => ({
      failure_kind: kindRow.failure_kind,
      ...counts(kindRow),
    })),
  }));
}

function summaryFaults(files, policies, resultsSha256) {
  let stated;
  let summary;
  try {
    summary = JSON.parse(strictText(files.get("summary.json") ?? new Uint8Array()));
    stated = statedTally(summary);
  } catch {
    return [{ problem: "unreadable", file: "summary.json" }];
  }
  const pairs = [
    ["results_sha256", resultsSha256, summary.results_sha256],
    ...policies.map((own, index) => [`policies[${index}]`, own, stated[index] ?? null]),
  ];
  return pairs
    .filter(([, own, found]) => canonicalText(own) !== canonicalText(found ?? null))
    .map(([field, own, found]) => ({
      problem: "summary_differs",
      file: "summary.json",
      field,
      expected: canonicalText(own),
      found: canonicalText(found ?? null),
    }));
}

/**
 * Check a recovery bundle's evidence.
 *
 * @param {Map<string, Uint8Array>} files
 * @param {(done: number, total: number) => Promise<void>} pause called between trials
 * @returns {Promise<object>} {faults, trials, suiteId, policies, watchable}
 */
export async function checkRecovery(files, pause) {
  const suite = readSuite(files);
  const traces = tracesByTrial(files);
  const results = readLines(files, "results.jsonl", KEY);
  checkOrder(results);
  const faults = [];
  for (let index = 0; index < results.length; index += 1) {
    const found = checkTrial(suite, traces, results[index], index);
    if (found !== null) {
      faults.push(found);
    }
    await pause(index + 1, results.length);
  }
  if (traces.size !== results.length) {
    faults.push({ problem: "trial_count", file: "traces.jsonl", expected: results.length, found: traces.size });
  }
  const policies = tally(results.map(({ value }) => value));
  faults.push(...summaryFaults(files, policies, sha256Hex(files.get("results.jsonl"))));
  return {
    faults,
    trials: results.length,
    suiteId: suite.header.suite_id,
    policies,
    watchable: {
      suite_id: suite.header.suite_id,
      grids: suite.grids,
      trials: results.map(({ value }) => traces.get(trialId(value))?.value).filter(Boolean),
    },
  };
}
