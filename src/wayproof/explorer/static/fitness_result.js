// One fitness result, held against itself: whatever it says of itself is worked out again
// from the ids, times and texts that it lists.

import { compareText } from "./records.js";
import { ratio } from "./shares.js";
import {
  count, flag, integer, listOf, mapOf, matching, object, oneOf, orNull, record, string, within,
} from "./shape.js";

/** The ladder, in its order. */
export const KINDS = ["route_timeout", "route_error", "missing_id", "weak_scent", "forbidden_route"];
export const STATUSES = ["pass", "fail", "timeout", "unmeasured"];

const TASK_FIELDS = [
  "task_id",
  "family",
  "task_prompt",
  "route_type",
  "expected_artifacts",
  "forbidden_first_routes",
  "latency_budget_ms",
  "route_role",
  "scent_terms",
];
const PACKET_FIELDS = [
  "first_contact_command",
  "command_used",
  "wall_ms",
  "timed_out",
  "error",
  "selected_artifacts",
  "selected_rows",
  "summary",
  "title",
  "route_hint",
];
const DEFAULTABLE = [...TASK_FIELDS, ...PACKET_FIELDS.map((name) => `packet.${name}`)];
const MOST_TERM_COUNTS = 100_000;
// White space as Python's str.isspace has it; ECMAScript's \s is another set.
const BLANK = /^[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$/;

const strings = listOf(string);
const textOrNull = orNull(string);
const scored = oneOf("unscored", "pass", "fail");
const positive = (value, field) => {
  count(value, field);
  within(1, Number.MAX_SAFE_INTEGER)(value, field);
};

/** A packet's error: null, a text, or an object of any keys. */
function errorOf(value, field) {
  if (typeof value !== "string") {
    orNull(object)(value, field);
  }
}

const indexes = listOf(count);
const grades = orNull(mapOf(string, integer));
/** What `wayproof.fitness/2` added to a result, each with its shape. */
const SECOND_FORM = {
  literal_ids: strings,
  relevance: grades,
  selection_order: indexes,
  task_sha256: matching(/^[0-9a-f]{64}$/, "64 hex digits"),
  vacuous: flag,
};
export const SECOND_FORM_FIELDS = Object.freeze(Object.keys(SECOND_FORM));

/** The shape of a line of results.jsonl. */
export const RESULT = record(
  {
    command_used: textOrNull,
    defaulted_fields: strings,
    error: errorOf,
    expected_artifacts: strings,
    failed_checks: strings,
    family: string,
    first_contact_command: textOrNull,
    forbidden_first_route_hits: strings,
    forbidden_status: scored,
    found_expected_artifacts: strings,
    latency_budget_ms: positive,
    latency_status: oneOf(...STATUSES),
    missing_expected_artifacts: strings,
    missing_scent_terms: strings,
    precision_at_packet: within(0, 1),
    recall_at_packet: within(0, 1),
    route_role: string,
    route_type: string,
    scent_coverage: orNull(within(0, 1)),
    scent_status: scored,
    selected_artifact_count: count,
    selected_artifacts: strings,
    sufficiency_failure_kind: textOrNull,
    sufficiency_status: oneOf("pass", "fail"),
    task_id: string,
    task_prompt: string,
    timed_out: flag,
    vacuous_metrics: strings,
    wall_ms: orNull(within(0, Number.MAX_SAFE_INTEGER)),
  },
  { attempt: positive, ...SECOND_FORM },
);

/** Whether a result knows its first command. */
export function knowsCommand({ first_contact_command: command }) {
  return command !== null && !BLANK.test(command);
}

function latencyStatus({ timed_out: timedOut, wall_ms: wall, latency_budget_ms: budget }) {
  if (timedOut) {
    return "timeout";
  }
  if (wall === null) {
    return "unmeasured";
  }
  return wall <= budget ? "pass" : "fail";
}

function forbiddenStatus(result) {
  if (result.forbidden_first_route_hits.length > 0) {
    return "fail";
  }
  // What a task forbids is not in its result: "pass" and "unscored" can't be told apart.
  return knowsCommand(result) && result.forbidden_status !== "unscored" ? "pass" : "unscored";
}

/** Every number of terms that fits coverage and missing terms, smallest first. */
export function termCounts({ scent_coverage: coverage, missing_scent_terms: missing }) {
  const { length } = missing;
  if (coverage === null) {
    return length === 0 ? [0] : [];
  }
  if (length === 0) {
    return coverage === 1 ? [1] : [];
  }
  // coverage = 1 - missing / terms, rounded to 4 decimals
  const low = Math.floor(length / (1 - coverage + 0.00005));
  const high = Math.floor(length / Math.max(1e-5, 1 - coverage - 0.00005)) + 2;
  const counts = [];
  for (let terms = Math.max(length, low); terms < Math.min(high, low + MOST_TERM_COUNTS); terms += 1) {
    if (ratio(terms - length, terms) === coverage) {
      counts.push(terms);
    }
  }
  return counts;
}

/** Whether an expected id matches a selected one; `literal` ids are no prefixes. */
const matches = (wanted, chosen, literal) =>
  wanted.endsWith("*") && !literal.includes(wanted)
    ? chosen.startsWith(wanted.slice(0, -1))
    : chosen === wanted;
const sortedOnce = (texts) => [...new Set(texts)].sort(compareText);
const isError = (error) =>
  typeof error === "string" ? error !== "" : error !== null && Object.keys(error).length > 0;

function failedChecks(result, missing) {
  const facts = [
    result.timed_out,
    isError(result.error),
    missing.length > 0,
    result.missing_scent_terms.length > 0,
    result.forbidden_first_route_hits.length > 0,
  ];
  return KINDS.filter((_, at) => facts[at]);
}

/** What /2 added, worked out again as far as a result tells. */
function secondForm(result, vacuous) {
  const { selected_artifacts: selected, expected_artifacts: expected } = result;
  const { literal_ids: literal, relevance, selection_order: order } = result;
  const isUsed = (id) => expected.includes(id) || Object.hasOwn(relevance ?? {}, id);
  const ranks = selected.map((_, at) => at);
  const isPermutation =
    order.length === ranks.length && [...order].sort((a, b) => a - b).every((at, rank) => at === rank);
  return {
    literal_ids: sortedOnce(literal.filter((id) => id.endsWith("*") && isUsed(id))),
    selection_order: isPermutation ? order : ranks,
    vacuous,
  };
}

/** Which fields a result has that its form doesn't, or lacks that its form has. */
export function formFault(result, isFirstForm) {
  return SECOND_FORM_FIELDS.find((name) => Object.hasOwn(result, name) === isFirstForm) ?? null;
}

/**
 * What a result must say, and what the summary takes from it.
 * @returns {{says: object, counts: object}} counts: found, expected, relevant and selected ids
 */
export function derived(result) {
  const { selected_artifacts: selected, expected_artifacts: expected } = result;
  const literal = result.literal_ids ?? [];
  const isMatch = (wanted, chosen) => matches(wanted, chosen, literal);
  const found = expected.filter((wanted) => selected.some((chosen) => isMatch(wanted, chosen)));
  const relevant = selected.filter((chosen) => expected.some((wanted) => isMatch(wanted, chosen)));
  const missing = expected.filter((wanted) => !found.includes(wanted));
  const failed = failedChecks(result, missing);
  const command = result.first_contact_command ?? "";
  const terms = termCounts(result);
  const vacuous =
    failed.length === 0 &&
    expected.length === 0 &&
    terms[0] === 0 &&
    result.forbidden_status === "unscored";
  const says = {
    defaulted_fields: DEFAULTABLE.filter((name) => result.defaulted_fields.includes(name)),
    expected_artifacts: sortedOnce(expected),
    failed_checks: failed,
    // A hit needs a command, and a blank text is forbidden by nobody.
    forbidden_first_route_hits: result.forbidden_first_route_hits.filter(
      (each) => knowsCommand(result) && !BLANK.test(each) && command.includes(each),
    ),
    forbidden_status: forbiddenStatus(result),
    found_expected_artifacts: found,
    latency_status: latencyStatus(result),
    missing_expected_artifacts: missing,
    precision_at_packet: ratio(relevant.length, selected.length),
    recall_at_packet: ratio(found.length, expected.length),
    scent_coverage: terms.length === 0 ? "a share that the missing terms can leave" : result.scent_coverage,
    scent_status:
      terms[0] === 0 ? "unscored" : result.missing_scent_terms.length > 0 ? "fail" : "pass",
    selected_artifact_count: selected.length,
    selected_artifacts: sortedOnce(selected),
    sufficiency_failure_kind: failed[0] ?? null,
    sufficiency_status: failed.length > 0 ? "fail" : "pass",
    vacuous_metrics: [
      ...(expected.length === 0 ? ["recall_at_packet"] : []),
      ...(selected.length === 0 ? ["precision_at_packet"] : []),
    ],
    wall_ms: result.wall_ms === null ? null : Number(result.wall_ms.toFixed(3)),
    ...(Object.hasOwn(result, "vacuous") ? secondForm(result, vacuous) : {}),
  };
  const counts = {
    found: found.length,
    expected: expected.length,
    relevant: relevant.length,
    selected: selected.length,
    missingTerms: result.missing_scent_terms.length,
    terms: terms[0] ?? 0,
    isExact: terms.length === 1,
    mostTerms: terms[terms.length - 1] ?? 0,
    passed: Number(failed.length === 0),
    couldFail: Number(!vacuous),
  };
  return { says, counts };
}

const ENDS_IN_ATTEMPT = /#[1-9][0-9]*$/;

/** The debts of one result; `numbered` where its task has several attempts. */
export function debtsOf(result, numbered) {
  // In /2 an id that looks as if it ended in an attempt gets its number as well.
  const isLookalike = Object.hasOwn(result, "vacuous") && ENDS_IN_ATTEMPT.test(result.task_id);
  const name = numbered || isLookalike ? `${result.task_id}#${result.attempt ?? 1}` : result.task_id;
  const debts = [];
  if (result.sufficiency_failure_kind !== null) {
    debts.push({
      debt_class: "sufficiency_debt",
      debt_id: `sufficiency:${name}`,
      forbidden_first_route_hits: result.forbidden_first_route_hits,
      missing_expected_artifacts: result.missing_expected_artifacts,
      repair_class: result.sufficiency_failure_kind,
    });
  }
  if (["fail", "timeout"].includes(result.latency_status)) {
    debts.push({
      debt_class: "latency_debt",
      debt_id: `latency:${name}`,
      latency_budget_ms: result.latency_budget_ms,
      latency_status: result.latency_status,
      wall_ms: result.wall_ms,
    });
  }
  return debts;
}
