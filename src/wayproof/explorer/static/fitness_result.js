// One fitness result, held against itself: whatever it says of itself is worked out again
// from the ids, times and texts that it lists.

import { fold } from "./fold.js";
import { compareText, firstDifference } from "./records.js";
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
// More distinct terms don't fit into a line of 64 MiB.
const MOST_TERMS = (64 << 20) / 4;
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

/** The first number from `low` for which `holds`; `high + 1` when none does. */
function firstThat(low, high, holds) {
  let [from, to] = [low, high + 1];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (holds(middle)) {
      to = middle;
    } else {
      from = middle + 1;
    }
  }
  return from;
}

/** Fewest and most scent terms that fit every result of a task; null where none does. */
export function termRange(attempts) {
  if (attempts[0].scent_coverage === null) {
    const isUnscored = ({ scent_coverage: coverage, missing_scent_terms: missing }) =>
      coverage === null && missing.length === 0;
    return attempts.every(isUnscored) ? [0, 0] : null;
  }
  const known = new Set(attempts.flatMap((result) => result.missing_scent_terms));
  let [low, high] = [Math.max(1, known.size), MOST_TERMS];
  for (const { scent_coverage: coverage, missing_scent_terms: missing } of attempts) {
    if (coverage === null || (missing.length === 0 && coverage !== 1)) {
      return null;
    }
    if (missing.length > 0) {
      const share = (terms) => ratio(terms - missing.length, terms);
      low = firstThat(low, high, (terms) => share(terms) >= coverage);
      const last = firstThat(low, high, (terms) => share(terms) > coverage) - 1;
      if (last < low || share(Math.min(low, high)) !== coverage) {
        return null;
      }
      high = last;
    }
  }
  return [low, high];
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

const blankAt = (texts) => texts.findIndex((each) => BLANK.test(each));

/** Where a text stands that scoring drops, folds, or would have found; null where none does. */
function textFault(result) {
  const command = result.first_contact_command ?? "";
  const { forbidden_first_route_hits: hits, missing_scent_terms: terms } = result;
  if (hits.length > 0 && !knowsCommand(result)) {
    return { field: "forbidden_first_route_hits", expected: "[]", found: hits[0] };
  }
  for (const field of ["expected_artifacts", "selected_artifacts", "forbidden_first_route_hits"]) {
    const at = blankAt(result[field]);
    if (at >= 0) {
      return { field: `${field}[${at}]`, found: JSON.stringify(result[field][at]) };
    }
  }
  const strange = hits.findIndex((each) => !command.includes(each));
  if (strange >= 0) {
    return { field: `forbidden_first_route_hits[${strange}]`, found: hits[strange] };
  }
  const known = terms.length === 0 ? [] : [command, ...result.selected_artifacts].map(fold);
  const wrong = terms.findIndex(
    (term, at) =>
      BLANK.test(term) ||
      fold(term) !== term ||
      terms.indexOf(term) !== at ||
      known.some((each) => each.includes(term)),
  );
  return wrong < 0
    ? null
    : { field: `missing_scent_terms[${wrong}]`, expected: fold(terms[wrong]), found: terms[wrong] };
}

const DEFAULT_BUDGET_MS = 1500;
/** What a result says when a field was missing: the result's field, and when that holds. */
const DEFAULTS = {
  task_id: ["task_id", () => false],
  family: ["family", (result) => result.family === "public_fixture"],
  task_prompt: ["task_prompt", (result) => result.task_prompt === ""],
  route_type: ["route_type", (result) => result.route_type === "context_pack"],
  expected_artifacts: ["expected_artifacts", (result) => result.expected_artifacts.length === 0],
  forbidden_first_routes: ["forbidden_status", (result) => result.forbidden_status === "unscored"],
  latency_budget_ms: ["latency_budget_ms", (result) => result.latency_budget_ms === DEFAULT_BUDGET_MS],
  route_role: ["route_role", (result) => result.route_role === "first_contact"],
  scent_terms: ["scent_status", (result) => result.scent_status === "unscored"],
  "packet.first_contact_command": ["first_contact_command", (result) => result.first_contact_command === null],
  "packet.command_used": ["command_used", (result) => result.command_used === result.first_contact_command],
  "packet.wall_ms": ["wall_ms", (result) => result.wall_ms === null],
  "packet.timed_out": ["timed_out", (result) => !result.timed_out],
  "packet.error": ["error", (result) => result.error === null],
};
/** Fields whose result can only say its default when the field was missing. */
const BOTH_WAYS = ["packet.first_contact_command", "packet.wall_ms"];

/** Where a result doesn't fit what it says was defaulted; null where it does. */
function defaultFault(result) {
  const { defaulted_fields: named } = result;
  const ordered = DEFAULTABLE.filter((name) => named.includes(name));
  if (ordered.join("\n") !== named.join("\n")) {
    return { field: "defaulted_fields", expected: ordered.join(", "), found: named.join(", ") };
  }
  for (const [name, [field, holds]] of Object.entries(DEFAULTS)) {
    const [isNamed, isDefault] = [named.includes(name), holds(result)];
    if ((isNamed && !isDefault) || (BOTH_WAYS.includes(name) && isDefault && !isNamed)) {
      return { field, found: JSON.stringify(result[field]) };
    }
  }
  if (result.command_used === null && !named.includes("packet.command_used")) {
    return { field: "command_used", found: "null" };
  }
  const hadNone = ["packet.selected_artifacts", "packet.selected_rows"].every((name) => named.includes(name));
  return hadNone && result.selected_artifacts.length > 0
    ? { field: "selected_artifacts", expected: "[]", found: result.selected_artifacts[0] }
    : null;
}

const OF_THE_TASK = [
  "expected_artifacts", "family", "latency_budget_ms", "literal_ids", "relevance", "route_role",
  "route_type", "task_prompt", "task_sha256",
];

/** Where a result tells of another task than the first of the same id; null where it doesn't. */
function otherTaskFault(result, first, isForbidding) {
  const taskOf = (each) => Object.fromEntries(OF_THE_TASK.map((name) => [name, each[name] ?? null]));
  const difference = firstDifference(taskOf(first), taskOf(result));
  if (difference !== null) {
    return difference;
  }
  const defaults = (each) => each.defaulted_fields.filter((name) => TASK_FIELDS.includes(name)).join();
  if (defaults(result) !== defaults(first)) {
    return { field: "defaulted_fields", expected: defaults(first), found: defaults(result) };
  }
  if ((result.scent_status === "unscored") !== (first.scent_status === "unscored")) {
    return { field: "scent_status", expected: first.scent_status, found: result.scent_status };
  }
  return isForbidding && knowsCommand(result) && result.forbidden_status === "unscored"
    ? { field: "forbidden_status", expected: "pass, fail", found: "unscored" }
    : null;
}

/**
 * Check what the results of one task say beyond what follows field from field.
 * @returns {{faults: object[], terms: number[]|null}} faults as {at, ...place}, by the
 *   result's place among the attempts; the range of the task's scent terms
 */
export function taskFaults(attempts) {
  const faults = [];
  const isForbidding = attempts.some((result) => result.forbidden_status !== "unscored");
  attempts.forEach((result, at) => {
    const found =
      textFault(result) ?? defaultFault(result) ?? otherTaskFault(result, attempts[0], isForbidding);
    if (found !== null) {
      faults.push({ at, ...found });
    }
  });
  const terms = termRange(attempts);
  if (terms === null) {
    faults.push({ at: 0, field: "scent_coverage", found: JSON.stringify(attempts[0].scent_coverage) });
  }
  return { faults, terms };
}

/**
 * What a result must say, and what the summary takes from it.
 * @returns {{says: object, counts: object}} counts: found, expected, relevant and selected ids
 */
export function derived(result, [fewestTerms, mostTerms]) {
  const { selected_artifacts: selected, expected_artifacts: expected } = result;
  const literal = result.literal_ids ?? [];
  const isMatch = (wanted, chosen) => matches(wanted, chosen, literal);
  const found = expected.filter((wanted) => selected.some((chosen) => isMatch(wanted, chosen)));
  const relevant = selected.filter((chosen) => expected.some((wanted) => isMatch(wanted, chosen)));
  const missing = expected.filter((wanted) => !found.includes(wanted));
  const failed = failedChecks(result, missing);
  const vacuous =
    failed.length === 0 &&
    expected.length === 0 &&
    fewestTerms === 0 &&
    result.forbidden_status === "unscored";
  const says = {
    expected_artifacts: sortedOnce(expected),
    failed_checks: failed,
    forbidden_status: forbiddenStatus(result),
    found_expected_artifacts: found,
    latency_status: latencyStatus(result),
    missing_expected_artifacts: missing,
    precision_at_packet: ratio(relevant.length, selected.length),
    recall_at_packet: ratio(found.length, expected.length),
    scent_status:
      fewestTerms === 0 ? "unscored" : result.missing_scent_terms.length > 0 ? "fail" : "pass",
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
  const missed = result.missing_scent_terms.length;
  const counts = {
    found: found.length,
    expected: expected.length,
    relevant: relevant.length,
    selected: selected.length,
    missingTerms: missed,
    terms: fewestTerms,
    mostTerms: fewestTerms > 0 && missed > 0 ? mostTerms : fewestTerms,
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
