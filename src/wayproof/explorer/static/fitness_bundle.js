// A fitness bundle: each result agrees with itself, debts and summary follow from the
// results. Scoring again needs the tasks and packets, which a bundle doesn't hold.

import { FITNESS_LIMITS } from "./contract.js";
import { KINDS, RESULT, STATUSES, debtsOf, derived, knowsCommand } from "./fitness_result.js";
import { fileSetFaults, manifestFaults } from "./manifest.js";
import { compareText, differenceFaults, fault, readDocument, readLines } from "./records.js";
import { count, flag, object, record, string } from "./shape.js";
import { Shares } from "./shares.js";

const RESULTS = "results.jsonl";
const DEBTS = "debts.jsonl";
const SUMMARY = "summary.json";
const SETTINGS = record({ ignore_unknown: flag, suite: string, summary_only: flag });
const PAUSE_EVERY_RESULTS = 500;

function manifestOf(manifest) {
  try {
    SETTINGS(manifest.settings, "settings");
  } catch (error) {
    throw fault("manifest_differs", {
      file: "manifest.json",
      field: error.field,
      found: error.message,
    });
  }
  const isBrief = manifest.settings.summary_only;
  const roles = Object.keys(manifest.inputs).sort();
  return {
    isBrief,
    faults: [
      ...fileSetFaults(manifest, isBrief ? [SUMMARY] : [RESULTS, DEBTS, SUMMARY]),
      ...differenceFaults("manifest_differs", "manifest.json", ["packets", "tasks"], roles, "inputs"),
      ...manifestFaults(manifest, { limits: FITNESS_LIMITS }),
    ],
  };
}

function requireOrder(results) {
  results.forEach(({ value }, index) => {
    const before = index === 0 ? null : results[index - 1].value;
    const rank =
      before === null
        ? -1
        : compareText(before.task_id, value.task_id) ||
          (before.attempt ?? 1) - (value.attempt ?? 1);
    if (rank >= 0) {
      throw fault("order", { file: RESULTS, line: index + 1, trial: value.task_id });
    }
  });
}

function nearestRank(sorted, percentOf100) {
  return sorted.length === 0
    ? null
    : sorted[Math.max(1, Math.ceil((percentOf100 * sorted.length) / 100)) - 1];
}

const MEANS = {
  mean_recall_at_packet: (counts) => [counts.found, counts.expected],
  mean_precision_at_packet: (counts) => [counts.relevant, counts.selected],
  mean_scent_coverage: (counts) => [counts.terms - counts.missingTerms, counts.terms],
};

/** Means over tasks: several attempts of one are averaged within it first. */
function meanFields(tasks) {
  const fields = {};
  for (const [name, shareOf] of Object.entries(MEANS)) {
    const over = new Shares();
    for (const attempts of tasks) {
      const within = new Shares();
      attempts.forEach((counts) => within.add(...shareOf(counts)));
      over.addMean(within);
    }
    fields[name] = over.roundedMean();
    fields[`${name}_denominator`] = over.count;
  }
  return fields;
}

const isSlow = (result) => ["fail", "timeout"].includes(result.latency_status);

function routeTypeMetrics(results) {
  const metrics = new Map();
  for (const result of results) {
    const row = metrics.get(result.route_type) ?? {
      task_count: 0,
      sufficiency_pass_count: 0,
      sufficiency_fail_count: 0,
      latency_fail_count: 0,
    };
    row.task_count += 1;
    row[`sufficiency_${result.sufficiency_status}_count`] += 1;
    row.latency_fail_count += Number(isSlow(result));
    metrics.set(result.route_type, row);
  }
  return Object.fromEntries(metrics);
}

function matrixOf(results) {
  const row = () => Object.fromEntries(STATUSES.map((status) => [status, 0]));
  const matrix = Object.fromEntries(["sufficient", ...KINDS].map((kind) => [kind, row()]));
  for (const result of results) {
    matrix[result.sufficiency_failure_kind ?? "sufficient"][result.latency_status] += 1;
  }
  return matrix;
}

/** The whole summary file that follows from results that agree with themselves. */
export function fitnessSummary(results, tasks, suite, ignoredPackets) {
  const matrix = matrixOf(results);
  const kinds = Object.fromEntries(
    KINDS.map((kind) => [kind, Object.values(matrix[kind]).reduce((sum, each) => sum + each, 0)]),
  );
  const latency = (...statuses) =>
    results.filter((result) => statuses.includes(result.latency_status)).length;
  const passed = results.filter((result) => result.sufficiency_status === "pass").length;
  const walls = results.map((result) => result.wall_ms).filter((wall) => wall !== null);
  walls.sort((a, b) => a - b);
  return {
    ignored_packet_count: ignoredPackets,
    limits: FITNESS_LIMITS,
    route_type_metrics: routeTypeMetrics(results),
    schema_version: "wayproof.fitness/1",
    status: results.length > 0 ? "pass" : "fail",
    sufficiency_latency_matrix: matrix,
    suite,
    summary: {
      task_count: results.length,
      distinct_task_count: tasks.length,
      sufficiency_pass_count: passed,
      sufficiency_fail_count: results.length - passed,
      failure_kind_counts: kinds,
      latency_pass_count: latency("pass"),
      latency_fail_count: latency("fail", "timeout"),
      latency_unmeasured_count: latency("unmeasured"),
      p50_wall_ms: nearestRank(walls, 50),
      p95_wall_ms: nearestRank(walls, 95),
      first_contact_unknown_count: results.filter((result) => !knowsCommand(result)).length,
      debt_candidate_count: results.length - passed + latency("fail", "timeout"),
      ...meanFields(tasks),
    },
  };
}

function resultFaults(result, says, line) {
  const recorded = Object.fromEntries(Object.keys(says).map((name) => [name, result[name]]));
  const place = { line, trial: result.task_id };
  return differenceFaults("result_differs", RESULTS, says, recorded).map((found) => ({
    ...found,
    ...place,
  }));
}

function debtFaults(files, results, attemptsOf) {
  const lines = readLines(files, DEBTS, object);
  const owed = results.flatMap((result) => debtsOf(result, attemptsOf.get(result.task_id) > 1));
  for (let at = 0; at < Math.max(lines.length, owed.length); at += 1) {
    const [found] = differenceFaults("debt_differs", DEBTS, owed[at], lines[at]?.value);
    if (found !== undefined) {
      return [{ ...found, line: at + 1 }];
    }
  }
  return [];
}

function summaryFaults(files, results, tasks, suite) {
  const stated = readDocument(files, SUMMARY, object);
  const { ignored_packet_count: ignored } = stated;
  try {
    count(ignored, "ignored_packet_count");
    object(stated.summary, "summary");
  } catch (error) {
    throw fault("shape", { file: SUMMARY, field: error.field, found: error.message });
  }
  const own = fitnessSummary(results, tasks, suite, ignored);
  if (tasks.flat().some((counts) => !counts.isExact)) {
    // Over a hundred terms: their number can't be told from a coverage of 4 decimals.
    own.summary.mean_scent_coverage = stated.summary.mean_scent_coverage;
  }
  return differenceFaults("summary_differs", SUMMARY, own, stated);
}

/** Check a fitness bundle's evidence. */
export async function checkFitness(files, manifest, pause) {
  const { isBrief, faults } = manifestOf(manifest);
  if (isBrief) {
    readDocument(files, SUMMARY, object);
    return { faults, tasks: null };
  }
  const lines = readLines(files, RESULTS, RESULT);
  requireOrder(lines);
  const results = lines.map(({ value }) => value);
  const byTask = new Map();
  for (let at = 0; at < results.length; at += 1) {
    const { says, counts } = derived(results[at]);
    faults.push(...resultFaults(results[at], says, at + 1));
    const attempts = byTask.get(results[at].task_id) ?? [];
    byTask.set(results[at].task_id, [...attempts, counts]);
    if (at % PAUSE_EVERY_RESULTS === 0) {
      await pause(at + 1, results.length);
    }
  }
  const attemptsOf = new Map([...byTask].map(([task, attempts]) => [task, attempts.length]));
  faults.push(...debtFaults(files, results, attemptsOf));
  if (!faults.some(({ problem }) => problem === "result_differs")) {
    faults.push(
      ...summaryFaults(files, results, [...byTask.values()], manifest.settings.suite),
    );
  }
  return { faults, tasks: results.length };
}
