// A fitness bundle: each result agrees with itself, debts and summary follow from the
// results. Scoring again needs the tasks and packets, which a bundle doesn't hold.

import { FITNESS_LIMITS } from "./contract.js";
import {
  KINDS, RESULT, STATUSES, debtsOf, derived, formFault, knowsCommand,
} from "./fitness_result.js";
import { fileSetFaults, manifestFaults } from "./manifest.js";
import { compareText, differenceFaults, fault, readDocument, readLines } from "./records.js";
import { count, flag, object, record, string } from "./shape.js";
import { Shares } from "./shares.js";

const RESULTS = "results.jsonl";
const DEBTS = "debts.jsonl";
const SUMMARY = "summary.json";
const SETTINGS = record({ ignore_unknown: flag, suite: string, summary_only: flag });
const FIRST_FORM = "wayproof.fitness/1";
const SECOND_FORM = "wayproof.fitness/2";
const PAUSE_EVERY_RESULTS = 500;

/** Counts of the summary that no result settles. */
const unsettledCounts = (isFirstForm) =>
  isFirstForm
    ? ["ignored_packet_count"]
    : ["draft_packet_count", "draft_task_count", "ignored_packet_count"];

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

const scentShare = (counts, terms) => [terms - counts.missingTerms, terms];
const MEANS = {
  mean_recall_at_packet: (counts) => [counts.found, counts.expected],
  mean_precision_at_packet: (counts) => [counts.relevant, counts.selected],
  mean_scent_coverage: (counts) => scentShare(counts, counts.terms),
};
const sufficiencyShare = (counts) => [counts.passed, counts.couldFail];

/** A share's mean over tasks: several attempts of one are averaged within it first. */
function meanOver(tasks, shareOf) {
  const over = new Shares();
  for (const attempts of tasks) {
    const within = new Shares();
    attempts.forEach((counts) => within.add(...shareOf(counts)));
    over.addMean(within);
  }
  return over;
}

function meanFields(tasks, isFirstForm) {
  const fields = {};
  for (const [name, shareOf] of Object.entries(MEANS)) {
    const over = meanOver(tasks, shareOf);
    fields[name] = over.roundedMean();
    fields[`${name}_denominator`] = over.count;
  }
  if (!isFirstForm) {
    const over = meanOver(tasks, sufficiencyShare);
    fields.mean_sufficiency = over.flooredMean();
    fields.mean_sufficiency_denominator = over.count;
  }
  return fields;
}

/** Ends of what mean scent coverage can be where a task's number of terms isn't settled. */
function scentRange(tasks) {
  const low = meanOver(tasks, (counts) => scentShare(counts, counts.terms));
  const high = meanOver(tasks, (counts) => scentShare(counts, counts.mostTerms));
  return [low.roundedMean(), high.roundedMean()];
}

const isSlow = (result) => ["fail", "timeout"].includes(result.latency_status);

function routeTypeMetrics(results, isFirstForm) {
  const metrics = new Map();
  for (const result of results) {
    const row = metrics.get(result.route_type) ?? {
      task_count: 0,
      sufficiency_pass_count: 0,
      sufficiency_fail_count: 0,
      latency_fail_count: 0,
      ...(isFirstForm ? {} : { vacuous_count: 0 }),
    };
    row.task_count += 1;
    row[`sufficiency_${result.sufficiency_status}_count`] += 1;
    row.latency_fail_count += Number(isSlow(result));
    if (!isFirstForm) {
      row.vacuous_count += Number(result.vacuous);
    }
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
export function fitnessSummary(results, tasks, { suite, stated, isFirstForm }) {
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
    ...Object.fromEntries(unsettledCounts(isFirstForm).map((name) => [name, stated[name]])),
    limits: FITNESS_LIMITS,
    route_type_metrics: routeTypeMetrics(results, isFirstForm),
    schema_version: isFirstForm ? FIRST_FORM : SECOND_FORM,
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
      ...meanFields(tasks, isFirstForm),
      ...(isFirstForm ? {} : { vacuous_count: results.filter((result) => result.vacuous).length }),
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

function summaryFaults(stated, results, tasks, settings, isFirstForm) {
  try {
    for (const name of unsettledCounts(isFirstForm)) {
      count(stated[name], name);
    }
    object(stated.summary, "summary");
  } catch (error) {
    throw fault("shape", { file: SUMMARY, field: error.field, found: error.message });
  }
  const { suite } = settings;
  const own = fitnessSummary(results, tasks, { suite, stated, isFirstForm });
  const faults = [];
  if (tasks.flat().some((counts) => !counts.isExact)) {
    // Over a hundred terms: their number can't be told from a coverage of 4 decimals.
    const [low, high] = scentRange(tasks);
    const { mean_scent_coverage: mean } = stated.summary;
    const isPossible =
      typeof mean === "number" && mean >= low && mean <= high && Number(mean.toFixed(6)) === mean;
    if (isPossible) {
      own.summary.mean_scent_coverage = mean;
    }
  }
  if (!settings.ignore_unknown && stated.ignored_packet_count !== 0) {
    own.ignored_packet_count = 0;
  }
  faults.push(...differenceFaults("summary_differs", SUMMARY, own, stated));
  return faults;
}

/** Check a fitness bundle's evidence. */
export async function checkFitness(files, manifest, pause) {
  const { isBrief, faults } = manifestOf(manifest);
  const stated = readDocument(files, SUMMARY, object);
  const isFirstForm = stated.schema_version === FIRST_FORM;
  if (isBrief) {
    return { faults, tasks: null };
  }
  const lines = readLines(files, RESULTS, RESULT);
  requireOrder(lines);
  const results = lines.map(({ value }) => value);
  const byTask = new Map();
  for (let at = 0; at < results.length; at += 1) {
    const strange = formFault(results[at], isFirstForm);
    if (strange !== null) {
      throw fault("other_form", { file: RESULTS, line: at + 1, field: strange });
    }
    const { says, counts } = derived(results[at]);
    faults.push(...resultFaults(results[at], says, at + 1));
    const attempts = byTask.get(results[at].task_id) ?? [];
    attempts.push(counts);
    byTask.set(results[at].task_id, attempts);
    if (at % PAUSE_EVERY_RESULTS === 0) {
      await pause(at + 1, results.length);
    }
  }
  const attemptsOf = new Map([...byTask].map(([task, attempts]) => [task, attempts.length]));
  faults.push(...debtFaults(files, results, attemptsOf));
  if (!faults.some(({ problem }) => problem === "result_differs")) {
    const tasks = [...byTask.values()];
    faults.push(...summaryFaults(stated, results, tasks, manifest.settings, isFirstForm));
  }
  return { faults, tasks: results.length };
}
