// A fitness bundle: each result agrees with itself, debts and summary follow from the
// results. Scoring again needs the tasks and packets, which a bundle doesn't hold.

import { FITNESS_LIMITS } from "./contract.js";
import {
  KINDS, RESULT, STATUSES, debtsOf, derived, formFault, knowsCommand, taskFaults,
} from "./fitness_result.js";
import { fileSetFaults, manifestFaults } from "./manifest.js";
import { compareText, differenceFaults, fault, readDocument, readLines } from "./records.js";
import { flag, object, oneOf, record, string } from "./shape.js";
import { Shares } from "./shares.js";
import { SUMMARY_SHAPES, arithmeticFault } from "./fitness_summary.js";

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

function summaryFaults(stated, results, tasks, suite, isFirstForm) {
  const own = fitnessSummary(results, tasks, { suite, stated, isFirstForm });
  if (tasks.flat().some((counts) => counts.mostTerms !== counts.terms)) {
    // Over a hundred terms: their number can't be told from a coverage of 4 decimals.
    const [low, high] = scentRange(tasks);
    const { mean_scent_coverage: mean } = stated.summary;
    if (mean !== null && mean >= low && mean <= high && Number(mean.toFixed(6)) === mean) {
      own.summary.mean_scent_coverage = mean;
    }
  }
  return differenceFaults("summary_differs", SUMMARY, own, stated);
}

const TASK_BYTES = '{"task_id":""}'.length;
const DRAFT_BYTES = ',"draft":true'.length;
const NO_PACKET = "no packet captured";
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const DEFLATE_RATIO = 1032;
const bytesOf = (text) => new TextEncoder().encode(text).length;

/** How many bytes tasks and packets that were set aside held at least: an id of a letter each. */
function setAsideBytes(stated) {
  const { draft_task_count: drafts = 0, draft_packet_count: draftPackets = 0 } = stated;
  return {
    tasks: drafts * (TASK_BYTES + 1 + DRAFT_BYTES),
    packets: (stated.ignored_packet_count + draftPackets) * (TASK_BYTES + 1),
  };
}

/** How many bytes tasks and packets held at least, by the ids and texts that stand in results. */
function leastBytes(byTask, stated) {
  let { tasks, packets } = setAsideBytes(stated);
  for (const [id, attempts] of byTask) {
    const idBytes = bytesOf(id);
    tasks += TASK_BYTES + idBytes;
    attempts[0].expected_artifacts.forEach((each) => {
      tasks += bytesOf(each) + 2;
    });
    for (const result of attempts.filter(({ error }) => error !== NO_PACKET)) {
      packets += TASK_BYTES + idBytes + bytesOf(result.first_contact_command ?? "");
    }
  }
  return { tasks, packets };
}

/** Faults of inputs whose stated sizes can't be: too small to have held the results. */
function inputFaults({ inputs }, least) {
  const place = { problem: "manifest_differs", file: "manifest.json" };
  for (const role of ["tasks", "packets"]) {
    const { bytes, sha256 } = inputs[role] ?? {};
    const fewest = Math.min(least[role], 18 + Math.floor(least[role] / DEFLATE_RATIO));
    if (bytes < fewest || (bytes === 0) !== (sha256 === EMPTY_SHA256)) {
      return [{ ...place, field: `inputs.${role}.bytes`, expected: `≥ ${fewest}`, found: String(bytes) }];
    }
  }
  const { tasks, packets } = inputs;
  return tasks?.sha256 === packets?.sha256 && tasks?.bytes !== packets?.bytes
    ? [{ ...place, field: "inputs.packets.bytes", expected: String(tasks?.bytes), found: String(packets?.bytes) }]
    : [];
}

/** Whether some task may have stated something that a packet could fail. */
function mayState([first]) {
  return (
    first.expected_artifacts.length > 0 ||
    first.scent_status !== "unscored" ||
    !first.defaulted_fields.includes("forbidden_first_routes")
  );
}

function readSummary(files, settings) {
  const stated = readDocument(files, SUMMARY, (value) => {
    const shape = SUMMARY_SHAPES[value?.schema_version];
    oneOf(...Object.keys(SUMMARY_SHAPES))(value?.schema_version, "schema_version");
    shape(value, "");
  });
  const faults = [
    ...differenceFaults("summary_differs", SUMMARY, settings.suite, stated.suite, "suite"),
    ...(settings.ignore_unknown
      ? []
      : differenceFaults("summary_differs", SUMMARY, 0, stated.ignored_packet_count, "ignored_packet_count")),
  ];
  const broken = arithmeticFault(stated, FITNESS_LIMITS);
  return {
    stated,
    faults: broken === null ? faults : [...faults, { problem: "summary_contradicts", file: SUMMARY, ...broken }],
  };
}

/** Check a fitness bundle's evidence. */
export async function checkFitness(files, manifest, pause) {
  const { isBrief, faults } = manifestOf(manifest);
  const { stated, faults: ofSummary } = readSummary(files, manifest.settings);
  faults.push(...ofSummary);
  const isFirstForm = stated.schema_version === FIRST_FORM;
  if (isBrief) {
    const aside = setAsideBytes(stated);
    const least = {
      tasks: stated.summary.distinct_task_count * (TASK_BYTES + 1) + aside.tasks,
      packets: aside.packets,
    };
    return { faults: [...faults, ...inputFaults(manifest, least)], tasks: null };
  }
  const lines = readLines(files, RESULTS, RESULT);
  requireOrder(lines);
  const results = lines.map(({ value }) => value);
  const byTask = new Map();
  results.forEach((result, at) => {
    const strange = formFault(result, isFirstForm);
    if (strange !== null) {
      throw fault("other_form", { file: RESULTS, line: at + 1, field: strange });
    }
    byTask.set(result.task_id, [...(byTask.get(result.task_id) ?? []), result]);
  });
  const tasks = [];
  let line = 0;
  for (const [id, attempts] of byTask) {
    const { faults: found, terms } = taskFaults(attempts);
    faults.push(...found.map(({ at, ...place }) => ({ problem: "result_differs", file: RESULTS, line: line + at + 1, trial: id, ...place })));
    const counted = [];
    for (const [at, result] of attempts.entries()) {
      const { says, counts } = derived(result, terms ?? [0, 0]);
      faults.push(...resultFaults(result, says, line + at + 1));
      counted.push(counts);
    }
    tasks.push(counted);
    line += attempts.length;
    if (tasks.length % PAUSE_EVERY_RESULTS === 0) {
      await pause(line, results.length);
    }
  }
  if (results.length > 0 && !isFirstForm && ![...byTask.values()].some(mayState)) {
    faults.push({ problem: "nothing_stated", file: RESULTS });
  }
  const attemptsOf = new Map([...byTask].map(([task, attempts]) => [task, attempts.length]));
  faults.push(...debtFaults(files, results, attemptsOf), ...inputFaults(manifest, leastBytes(byTask, stated)));
  if (!faults.some(({ problem }) => problem === "result_differs")) {
    faults.push(...summaryFaults(stated, results, tasks, manifest.settings.suite, isFirstForm));
  }
  return { faults, tasks: results.length };
}
