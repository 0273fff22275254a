// A fitness bundle: its lines are canonical, and the counts of its summary follow from its
// results. Scoring again needs the tasks and packets, which a bundle doesn't hold.

import { canonicalText, strictText } from "./canonical.js";
import { BundleFault, readLines } from "./recovery_bundle.js";
import { listOf, object, oneOf, orNull, string } from "./shape.js";

const KINDS = ["route_timeout", "route_error", "missing_id", "weak_scent", "forbidden_route"];
const STATUSES = ["pass", "fail", "timeout", "unmeasured"];

const kindOrNull = orNull(oneOf(...KINDS));
const status = oneOf(...STATUSES);
const strings = listOf(string);

function resultShape(value, field) {
  object(value, field || "record");
  string(value.task_id, "task_id");
  string(value.route_type, "route_type");
  kindOrNull(value.sufficiency_failure_kind, "sufficiency_failure_kind");
  status(value.latency_status, "latency_status");
  strings(value.failed_checks, "failed_checks");
  orNull((wall) => {
    if (typeof wall !== "number") {
      throw new BundleFault({ problem: "shape", file: "results.jsonl", found: "wall_ms" });
    }
  })(value.wall_ms, "wall_ms");
}

function nearestRank(sorted, percentOf100) {
  return sorted.length === 0
    ? null
    : sorted[Math.max(1, Math.ceil((percentOf100 * sorted.length) / 100)) - 1];
}

/** Count again what the summary says. */
export function countFitness(results) {
  const kinds = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
  const latency = Object.fromEntries(STATUSES.map((name) => [name, 0]));
  const walls = [];
  const ids = new Set();
  let passed = 0;
  let debts = 0;
  for (const result of results) {
    ids.add(result.task_id);
    latency[result.latency_status] += 1;
    if (result.sufficiency_failure_kind === null) {
      passed += 1;
    } else {
      kinds[result.sufficiency_failure_kind] += 1;
      debts += 1;
    }
    debts += ["fail", "timeout"].includes(result.latency_status) ? 1 : 0;
    if (result.wall_ms !== null) {
      walls.push(result.wall_ms);
    }
  }
  walls.sort((a, b) => a - b);
  return {
    task_count: results.length,
    distinct_task_count: ids.size,
    sufficiency_pass_count: passed,
    sufficiency_fail_count: results.length - passed,
    failure_kind_counts: kinds,
    latency_pass_count: latency.pass,
    latency_fail_count: latency.fail + latency.timeout,
    latency_unmeasured_count: latency.unmeasured,
    p50_wall_ms: nearestRank(walls, 50),
    p95_wall_ms: nearestRank(walls, 95),
    debt_candidate_count: debts,
  };
}

function ladderFaults(results) {
  return results.flatMap(({ value }, index) =>
    (value.failed_checks[0] ?? null) === value.sufficiency_failure_kind
      ? []
      : [
          {
            problem: "result_differs",
            file: "results.jsonl",
            line: index + 1,
            trial: value.task_id,
            field: "sufficiency_failure_kind",
            expected: JSON.stringify(value.failed_checks[0] ?? null),
            found: JSON.stringify(value.sufficiency_failure_kind),
          },
        ],
  );
}

/** Check a fitness bundle's evidence. */
export async function checkFitness(files, pause) {
  if (!files.has("results.jsonl")) {
    return { faults: [], tasks: null };
  }
  const results = readLines(files, "results.jsonl", resultShape);
  await pause(results.length, results.length);
  const faults = ladderFaults(results);
  let stated;
  try {
    stated = JSON.parse(strictText(files.get("summary.json") ?? new Uint8Array())).summary;
    object(stated, "summary");
  } catch {
    throw new BundleFault({ problem: "unreadable", file: "summary.json", found: "–" });
  }
  for (const [field, own] of Object.entries(countFitness(results.map(({ value }) => value)))) {
    if (!Object.hasOwn(stated, field) || canonicalText(stated[field]) !== canonicalText(own)) {
      faults.push({
        problem: "summary_differs",
        file: "summary.json",
        field,
        expected: JSON.stringify(own),
        found: JSON.stringify(stated[field]) ?? "–",
      });
    }
  }
  return { faults, tasks: results.length };
}
