// A fitness summary on its own: its form, and what its figures must keep among themselves,
// whatever they were counted from.

import { KINDS, STATUSES } from "./fitness_result.js";
import { canonicalText } from "./canonical.js";
import { count, listOf, mapOf, oneOf, orNull, record, string, within } from "./shape.js";

const share = within(0, 1);
const wall = orNull(within(0, Number.MAX_SAFE_INTEGER));
const MEANS = ["mean_recall_at_packet", "mean_precision_at_packet", "mean_scent_coverage"];

function shapeOf(version, isSecond) {
  const added = isSecond ? { vacuous_count: count } : {};
  const means = Object.fromEntries(
    [...MEANS, ...(isSecond ? ["mean_sufficiency"] : [])].flatMap((name) => [
      [name, orNull(share)],
      [`${name}_denominator`, count],
    ]),
  );
  return record({
    schema_version: oneOf(version),
    status: oneOf("pass", "fail"),
    suite: string,
    limits: listOf(string),
    summary: record({
      task_count: count,
      distinct_task_count: count,
      sufficiency_pass_count: count,
      sufficiency_fail_count: count,
      failure_kind_counts: mapOf(string, count),
      latency_pass_count: count,
      latency_fail_count: count,
      latency_unmeasured_count: count,
      p50_wall_ms: wall,
      p95_wall_ms: wall,
      first_contact_unknown_count: count,
      debt_candidate_count: count,
      ...means,
      ...added,
    }),
    route_type_metrics: mapOf(
      string,
      record({
        task_count: count,
        sufficiency_pass_count: count,
        sufficiency_fail_count: count,
        latency_fail_count: count,
        ...added,
      }),
    ),
    sufficiency_latency_matrix: mapOf(string, mapOf(string, count)),
    ignored_packet_count: count,
    ...(isSecond ? { draft_packet_count: count, draft_task_count: count } : {}),
  });
}

/** The form of summary.json, by its schema version. */
export const SUMMARY_SHAPES = Object.freeze({
  "wayproof.fitness/1": shapeOf("wayproof.fitness/1", false),
  "wayproof.fitness/2": shapeOf("wayproof.fitness/2", true),
});

const sumOf = (values) => values.reduce((sum, each) => sum + each, 0);

/** Rules as [field, expected, found]: the two must be the same JSON. */
function* rules({ summary, ...rest }, limits) {
  const tasks = summary.task_count;
  yield ["limits", limits, rest.limits];
  yield ["status", tasks > 0 ? "pass" : "fail", rest.status];
  yield* matrixRules(rest.sufficiency_latency_matrix, summary);
  const failed = sumOf(Object.values(summary.failure_kind_counts));
  yield ["summary.sufficiency_fail_count", failed, summary.sufficiency_fail_count];
  yield ["summary.sufficiency_pass_count", tasks - failed, summary.sufficiency_pass_count];
  yield ["summary.debt_candidate_count", failed + summary.latency_fail_count, summary.debt_candidate_count];
  yield atMost("summary.distinct_task_count", summary.distinct_task_count, tasks);
  yield same("summary.distinct_task_count", summary.distinct_task_count > 0, tasks > 0);
  yield atMost("summary.first_contact_unknown_count", summary.first_contact_unknown_count, tasks);
  yield* meanRules(summary);
  yield* wallRules(rest.sufficiency_latency_matrix, summary);
  yield* routeRules(rest.route_type_metrics, summary);
  if (rest.draft_packet_count > 0) {
    yield same("draft_packet_count", rest.draft_task_count > 0, true);
  }
}

const atMost = (field, found, bound) => [field, true, found <= bound];
const same = (field, one, other) => [field, one, other];

function* matrixRules(matrix, summary) {
  const names = ["sufficient", ...KINDS];
  yield ["sufficiency_latency_matrix", [...names].sort(), Object.keys(matrix).sort()];
  yield ["summary.failure_kind_counts", [...KINDS].sort(), Object.keys(summary.failure_kind_counts).sort()];
  for (const name of names) {
    const row = matrix[name] ?? {};
    const place = `sufficiency_latency_matrix.${name}`;
    yield [place, [...STATUSES].sort(), Object.keys(row).sort()];
    // What timed out fails first as such, and nothing else does.
    const wrong = STATUSES.filter((status) => (status === "timeout") !== (name === KINDS[0]));
    yield [place, 0, sumOf(wrong.map((status) => row[status]))];
    const total = sumOf(Object.values(row));
    yield name === "sufficient"
      ? ["summary.sufficiency_pass_count", total, summary.sufficiency_pass_count]
      : [`summary.failure_kind_counts.${name}`, total, summary.failure_kind_counts[name]];
  }
  const column = (status) => sumOf(names.map((name) => matrix[name][status]));
  yield ["summary.task_count", sumOf(STATUSES.map(column)), summary.task_count];
  yield ["summary.latency_pass_count", column("pass"), summary.latency_pass_count];
  yield ["summary.latency_fail_count", column("fail") + column("timeout"), summary.latency_fail_count];
  yield ["summary.latency_unmeasured_count", column("unmeasured"), summary.latency_unmeasured_count];
}

function* meanRule(summary, name) {
  const [mean, denominator] = [summary[name], summary[`${name}_denominator`]];
  yield atMost(`summary.${name}_denominator`, denominator, summary.distinct_task_count);
  yield same(`summary.${name}`, mean === null, denominator === 0);
  yield same(`summary.${name}`, mean === null || Number(mean.toFixed(6)) === mean, true);
}

/** A result that passes has all that was expected: only failures can lower the mean. */
function* successRules(summary, name, kind) {
  const [mean, denominator] = [summary[name], summary[`${name}_denominator`]];
  const checked = denominator > 0 || summary.failure_kind_counts[kind] === 0;
  yield same(`summary.${name}_denominator`, checked, true);
  if (mean !== null && denominator > 0) {
    const whole = BigInt(Math.max(0, denominator - summary.sufficiency_fail_count));
    const least = Number((whole * 1_000_000n) / BigInt(denominator));
    yield same(`summary.${name}`, Math.round(mean * 1_000_000) >= least, true);
  }
}

function* meanRules(summary) {
  for (const name of MEANS) {
    yield* meanRule(summary, name);
  }
  yield* successRules(summary, "mean_recall_at_packet", "missing_id");
  yield* successRules(summary, "mean_scent_coverage", "weak_scent");
  const { vacuous_count: vacuous } = summary;
  if (vacuous === undefined) {
    return;
  }
  yield atMost("summary.vacuous_count", vacuous, summary.sufficiency_pass_count);
  yield* meanRule(summary, "mean_sufficiency");
  if (summary.distinct_task_count === summary.task_count) {
    const scored = summary.task_count - vacuous;
    const passed = summary.sufficiency_pass_count - vacuous;
    const mean =
      scored === 0 ? null : Number((BigInt(passed) * 1_000_000n) / BigInt(scored)) / 1_000_000;
    yield ["summary.mean_sufficiency_denominator", scored, summary.mean_sufficiency_denominator];
    yield ["summary.mean_sufficiency", mean, summary.mean_sufficiency];
  }
}

function* wallRules(matrix, summary) {
  const timedOut = sumOf(Object.values(matrix).map((row) => row.timeout));
  const measured = summary.latency_pass_count + summary.latency_fail_count - timedOut;
  for (const name of ["p50_wall_ms", "p95_wall_ms"]) {
    const wallMs = summary[name];
    const fits = measured !== 0 ? wallMs !== null : wallMs === null || timedOut > 0;
    yield same(`summary.${name}`, fits, true);
    yield same(`summary.${name}`, wallMs === null || Number(wallMs.toFixed(3)) === wallMs, true);
  }
  const { p50_wall_ms: low, p95_wall_ms: high } = summary;
  yield same("summary.p95_wall_ms", low !== null && high !== null ? low <= high : low === high, true);
}

function* routeRules(rows, summary) {
  for (const [name, row] of Object.entries(rows)) {
    const place = `route_type_metrics.${name}`;
    yield [`${place}.task_count`, row.sufficiency_pass_count + row.sufficiency_fail_count, row.task_count];
    yield same(`${place}.task_count`, row.task_count > 0, true);
    yield atMost(`${place}.latency_fail_count`, row.latency_fail_count, row.task_count);
    yield atMost(`${place}.vacuous_count`, row.vacuous_count ?? 0, row.sufficiency_pass_count);
  }
  const names = ["task_count", "sufficiency_pass_count", "latency_fail_count"];
  for (const name of summary.vacuous_count === undefined ? names : [...names, "vacuous_count"]) {
    yield [`summary.${name}`, sumOf(Object.values(rows).map((row) => row[name])), summary[name]];
  }
}

/** The first figure that contradicts the others, as {field, expected, found}; null for none. */
export function arithmeticFault(stated, limits) {
  for (const [field, expected, found] of rules(stated, limits)) {
    const [wanted, is] = [canonicalText(expected), canonicalText(found)];
    if (wanted !== is) {
      return { field, expected: wanted, found: is };
    }
  }
  return null;
}
