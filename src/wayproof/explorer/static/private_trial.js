// One disclosed trial of a private evaluation: signatures, chain of starts, both proofs, and the
// trial itself, made again from its actions. Ed25519 is the browser's; all else is checked here.

import { canonicalText, strictText } from "./canonical.js";
import { fileSetFaults, manifestFaults } from "./manifest.js";
import { differenceFaults, fault, readDocument } from "./records.js";
import { TRACE, checkTrial, readSuite, trialId } from "./recovery_bundle.js";
import { sha256Hex } from "./sha256.js";
import { count, flag, integer, listOf, matching, object, oneOf, orNull, record, string } from "./shape.js";

const HEX = /^[0-9a-f]{64}$/;
const digest = matching(HEX, "64 hex digits");
const MOST_RUNS = 9999;
const LIMITS = [
  "The signatures show who agreed to what and who stands by which result. They don't show that the evaluator ran what it says: it runs the agent on its own machine.",
  "A run that was never published leaves no trace here. The starts limit what can be published, not how often an agent was tried.",
  "The interpreter, the libraries and the kernel under the agent are not covered by the hashes of the agent's files.",
  "The scenarios are those of one hidden suite of solvable, fully visible grids; a result says nothing about other tasks.",
];
const PAYLOAD_TYPE = "application/vnd.in-toto+json";
const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
const LIMIT_NAMES = [
  "moves", "seconds", "memory_bytes", "processes", "file_bytes", "network", "isolation",
];

const RESULT = record({
  agreement_sha256: digest,
  completed: count,
  enforced: listOf(record({
    agreed: oneOf("required", "best_effort"),
    at_most: orNull(count),
    clause: oneOf(...LIMIT_NAMES),
    enforced: flag,
    means: string,
  })),
  keep: oneOf("records", "traces"),
  leaf_count: count,
  not_hashed: listOf(string),
  passed: count,
  result_root: digest,
  results_sha256: digest,
  run: integer,
  schema_version: oneOf("wayproof.private-result/1"),
  start_sha256: digest,
  suite_root: digest,
  summary_sha256: digest,
  trials: count,
  verified: count,
  wayproof: string,
});
const START = record({
  agreement_sha256: digest,
  client_nonce: digest,
  not_after: matching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/, "a moment"),
  previous_result: orNull(matching(/^([0-9a-f]{64}|abandoned)$/, "a digest, or abandoned")),
  previous_start: orNull(digest),
  run: integer,
  schema_version: oneOf("wayproof.private-start/1"),
});
const TRIAL = record({
  leaf: record({
    index: count,
    record_sha256: digest,
    salt: digest,
    scenario_leaf: digest,
    trace_sha256: digest,
  }),
  record: object,
  result_proof: listOf(digest),
  scenario: record({ grid: object, scenario_id: string }),
  scenario_index: count,
  scenario_proof: listOf(digest),
  scenario_salt: digest,
  schema_version: oneOf("wayproof.private-trial/1"),
  trace: orNull(TRACE),
});
const ENVELOPE = record({
  payload: string,
  payloadType: oneOf(PAYLOAD_TYPE),
  signatures: listOf(record({ keyid: digest, sig: string })),
});

const utf8 = (text) => new TextEncoder().encode(text);
const fromHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function eight(number) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(number));
  return bytes;
}

/** Where rows of [field, expected, found] differ. */
const differences = (problem, file, rows) =>
  rows.flatMap(([field, expected, found]) =>
    differenceFaults(problem, file, expected, found, field),
  );

// -- the agreement: the few clauses that a check needs, from its plain lines ---------------------

const SECTION = /^\[([a-z_.]+)\]\s*(#.*)?$/;
const ENTRY = /^([a-z_]+) = (?:"([^"\\]*)"|([0-9]+))\s*(#.*)?$/;

/** Read an agreement as `plan` spells it: sections, texts and whole numbers, a line each. */
export function readClauses(text) {
  const clauses = new Map();
  let section = "";
  if (/"""|'''/.test(text)) {
    throw fault("private_agreement", { file: "agreement.toml", found: '"""' });
  }
  for (const line of text.split("\n")) {
    const head = SECTION.exec(line);
    const entry = ENTRY.exec(line);
    if (head !== null) {
      section = `${head[1]}.`;
    } else if (entry !== null) {
      const name = `${section}${entry[1]}`;
      if (clauses.has(name)) {
        throw fault("private_agreement", { file: "agreement.toml", field: name });
      }
      clauses.set(name, entry[2] ?? Number(entry[3]));
    }
  }
  return clauses;
}

function readAgreement(files) {
  const bytes = files.get("agreement.toml");
  if (bytes === undefined) {
    throw fault("missing_file", { file: "agreement.toml" });
  }
  let text;
  try {
    text = strictText(bytes);
  } catch (error) {
    throw fault("unreadable", { file: "agreement.toml", found: error.message });
  }
  const clauses = readClauses(text);
  const wanted = (name, check) => {
    const value = clauses.get(name);
    if (!check(value)) {
      throw fault("private_agreement", { file: "agreement.toml", field: name });
    }
    return value;
  };
  const isKey = (value) => typeof value === "string" && HEX.test(value);
  const isCount = (value) => Number.isSafeInteger(value) && value > 0;
  const agreement = {
    sha256: sha256Hex(bytes),
    client: wanted("keys.client", isKey),
    evaluator: wanted("keys.evaluator", isKey),
    agent: wanted("agent.name", (value) => typeof value === "string"),
    root: wanted("suite.root", isKey),
    scenarios: wanted("suite.scenarios", isCount),
    seeds: wanted("suite.seeds", (value) => isCount(value) && value <= 1000),
    runs: wanted("runs", (value) => isCount(value) && value <= MOST_RUNS),
    keep: wanted("keep", (value) => value === "records" || value === "traces"),
  };
  if (agreement.client === agreement.evaluator) {
    throw fault("private_agreement", { file: "agreement.toml", field: "keys" });
  }
  return agreement;
}

// -- signatures -----------------------------------------------------------------------------------

/** A key's id, as envelopes name a signer. */
export function keyId(hex) {
  return sha256Hex(
    utf8(canonicalText({ keytype: "ed25519", keyval: { public: hex }, scheme: "ed25519" })),
  );
}

function fromBase64(text, place) {
  try {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    if (btoa(String.fromCharCode(...bytes)) === text && bytes.length > 0) {
      return bytes;
    }
  } catch {
    // said below
  }
  throw fault("private_signature", place);
}

async function hasSigned(keyHex, signature, message) {
  let key;
  try {
    key = await crypto.subtle.importKey("raw", fromHex(keyHex), "Ed25519", false, ["verify"]);
  } catch (error) {
    throw fault("private_unsupported", { found: error.message });
  }
  return crypto.subtle.verify("Ed25519", key, signature, message);
}

/** Check that a role's key signed one file, in that role, and nothing else. */
async function requireSigned(files, name, role, keyHex, kind) {
  const place = { file: name.replace(/\.[a-z]+$/, `.${role}.sig.json`) };
  const envelope = readDocument(files, place.file, ENVELOPE);
  const [signature] = envelope.signatures;
  if (envelope.signatures.length !== 1 || signature.keyid !== keyId(keyHex)) {
    throw fault("private_signature", { ...place, expected: keyId(keyHex), found: signature?.keyid });
  }
  const payload = fromBase64(envelope.payload, place);
  const head = `DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `;
  const raw = fromBase64(signature.sig, place);
  if (!(await hasSigned(keyHex, raw, joined(utf8(head), payload)))) {
    throw fault("private_signature", place);
  }
  const statement = JSON.parse(new TextDecoder().decode(payload));
  const expected = {
    _type: STATEMENT_TYPE,
    predicateType: `urn:wayproof:private-${kind}:1`,
    role,
    subject: [{ digest: { sha256: sha256Hex(files.get(name)) }, name }],
  };
  const { _type, predicateType, predicate, subject } = statement;
  const found = { _type, predicateType, role: predicate?.role, subject };
  const [difference] = differenceFaults("private_signature", place.file, expected, found);
  if (difference !== undefined) {
    throw fault("private_signature", difference);
  }
}

// -- starts and result --------------------------------------------------------------------------

const startName = (run) => `start-${String(run).padStart(4, "0")}.json`;

async function readChain(files, agreement, run) {
  if (run < 1 || run > agreement.runs) {
    throw fault("private_start", { file: "result.json", field: "run", found: String(run) });
  }
  const nonces = new Set();
  let before = null;
  let start = null;
  for (let number = 1; number <= run; number += 1) {
    const file = startName(number);
    start = readDocument(files, file, START);
    await requireSigned(files, file, "client", agreement.client, "start");
    const [differs] = differences("private_start", file, [
      ["agreement_sha256", agreement.sha256, start.agreement_sha256],
      ["previous_start", before, start.previous_start],
      ["run", number, start.run],
      ["previous_result", number === 1, start.previous_result === null],
      ["client_nonce", false, nonces.has(start.client_nonce)],
    ]);
    if (differs !== undefined) {
      throw fault("private_start", differs);
    }
    nonces.add(start.client_nonce);
    before = sha256Hex(files.get(file));
  }
  return { start, sha256: before };
}

function resultFaults(result, agreement, chain) {
  const leaves = agreement.scenarios * agreement.seeds;
  const isShort = result.enforced.some((each) => each.agreed === "required" && !each.enforced);
  return differences("private_result", "result.json", [
    ["agreement_sha256", agreement.sha256, result.agreement_sha256],
    ["keep", agreement.keep, result.keep],
    ["leaf_count", leaves, result.leaf_count],
    ["enforced", LIMIT_NAMES, result.enforced.map((each) => each.clause)],
    ["enforced", false, isShort],
    ["start_sha256", chain.sha256, result.start_sha256],
    ["suite_root", agreement.root, result.suite_root],
    ["trials", leaves, result.trials],
  ]);
}

/** Seeds of a run, rising: from the agreement's digest and the client's nonce. */
function policySeeds(agreement, start) {
  const key = joined(
    utf8("wayproof.private.policy-seed/1"),
    fromHex(agreement.sha256),
    eight(start.run),
    fromHex(start.client_nonce),
  );
  const seeds = new Set();
  for (let number = 0; seeds.size < agreement.seeds; number += 1) {
    seeds.add(Number(BigInt(`0x${sha256Hex(joined(key, eight(number))).slice(0, 16)}`) >> 11n));
  }
  return [...seeds].sort((a, b) => a - b);
}

// -- trees ----------------------------------------------------------------------------------------

const leafHash = (data) => sha256Hex(joined(Uint8Array.of(0), data));
const nodeHash = (left, right) =>
  sha256Hex(joined(Uint8Array.of(1), fromHex(left), fromHex(right)));

/** Whether a proof leads from a leaf to the root (RFC 9162, section 2.1.3.2). */
export function holdsInclusion(leaf, index, size, proof, root) {
  if (index >= size) {
    return false;
  }
  let at = index;
  let last = size - 1;
  let found = leaf;
  for (const beside of proof) {
    if (last === 0) {
      return false;
    }
    if (at % 2 === 1 || at === last) {
      found = nodeHash(beside, found);
      while (at % 2 === 0 && at !== 0) {
        at = Math.floor(at / 2);
        last = Math.floor(last / 2);
      }
    } else {
      found = nodeHash(found, beside);
    }
    at = Math.floor(at / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && found === root;
}

function leafFaults(trial, agreement, result, start) {
  const file = "trial.json";
  const { leaf, record: recorded, scenario } = trial;
  const seeds = policySeeds(agreement, start);
  const ofScenario = leafHash(
    joined(fromHex(trial.scenario_salt), utf8(canonicalText(scenario))),
  );
  const parts = [leaf.salt, leaf.record_sha256, leaf.trace_sha256, leaf.scenario_leaf];
  const ofTrial = leafHash(joined(eight(leaf.index), ...parts.map(fromHex)));
  const faults = differences("private_leaf", file, [
    ["leaf.record_sha256", sha256Hex(utf8(canonicalText(recorded))), leaf.record_sha256],
    ["leaf.scenario_leaf", ofScenario, leaf.scenario_leaf],
    ["leaf.trace_sha256", recorded.trace_sha256, leaf.trace_sha256],
    ["record.evidence_class", "client_agent", recorded.evidence_class],
    ["record.grid_id", scenario.grid.grid_id, recorded.grid_id],
    ["record.policy", agreement.agent, recorded.policy],
    ["record.policy_seed", seeds[leaf.index % seeds.length], recorded.policy_seed],
    ["record.scenario_id", scenario.scenario_id, recorded.scenario_id],
    ["scenario_index", Math.floor(leaf.index / seeds.length), trial.scenario_index],
    ["trace", agreement.keep === "traces", trial.trace !== null],
  ]);
  const { result_proof: up, scenario_proof: aside, scenario_index: place } = trial;
  if (!holdsInclusion(ofTrial, leaf.index, result.leaf_count, up, result.result_root)) {
    faults.push({ problem: "private_proof", file, field: "result_proof", expected: result.result_root });
  }
  if (!holdsInclusion(ofScenario, place, agreement.scenarios, aside, agreement.root)) {
    faults.push({ problem: "private_proof", file, field: "scenario_proof", expected: agreement.root });
  }
  return faults;
}

// -- the trial -------------------------------------------------------------------------------------

/** The disclosed grid as a suite of its own, so that it is held to every rule of suites. */
function suiteOf(trial, pins) {
  const header = {
    generator: { name: "", parameters: {}, seed: 0 },
    schema_version: "wayproof.recovery-suite/1",
    suite_id: trial.record.suite_id,
  };
  const text = [header, trial.scenario.grid].map((each) => `${canonicalText(each)}\n`).join("");
  return readSuite(new Map([["suite.jsonl", utf8(text)]]), pins);
}

/** Check a disclosed trial; the arguments are those of every kind's check. */
export async function checkPrivateTrial(files, manifest, pause, pins) {
  const agreement = readAgreement(files);
  for (const role of ["client", "evaluator"]) {
    await requireSigned(files, "agreement.toml", role, agreement[role], "agreement");
  }
  const result = readDocument(files, "result.json", RESULT);
  await requireSigned(files, "result.json", "evaluator", agreement.evaluator, "result");
  const chain = await readChain(files, agreement, result.run);
  const trial = readDocument(files, "trial.json", TRIAL);
  const starts = Array.from({ length: result.run }, (_, at) => startName(at + 1));
  const faults = [
    ...fileSetFaults(manifest, ["agreement.toml", "result.json", "trial.json", ...starts]),
    ...manifestFaults(manifest, { inputs: {}, limits: LIMITS, settings: {} }),
    ...resultFaults(result, agreement, chain),
    ...leafFaults(trial, agreement, result, chain.start),
  ];
  const papers = ["agreement.client", "agreement.evaluator", "result.evaluator"];
  const known = [...papers, ...starts.map((name) => name.replace(".json", ".client"))];
  for (const name of files.keys()) {
    if (name.endsWith(".sig.json") && !known.includes(name.replace(/\.sig\.json$/, ""))) {
      faults.push({ problem: "private_signature", file: name });
    }
  }
  const suite = suiteOf(trial, pins);
  const name = trialId(trial.record);
  if (faults.length === 0 && !suite.scenarios.has(trial.record.scenario_id)) {
    faults.push({ problem: "private_leaf", file: "trial.json", field: "scenario.scenario_id" });
  }
  if (faults.length === 0 && trial.trace !== null) {
    const trace = { value: trial.trace, line: canonicalText(trial.trace) };
    const found =
      trialId(trial.trace) === name
        ? checkTrial(suite, trace, { value: trial.record }, 1)
        : { problem: "order", expected: name, found: trialId(trial.trace) };
    faults.push(...(found === null ? [] : [{ ...found, file: "trial.json" }]));
  }
  await pause(1, 1);
  return {
    faults,
    trials: 1,
    suiteId: suite.header.suite_id,
    signers: { client: keyId(agreement.client), evaluator: keyId(agreement.evaluator) },
    trial: name,
    isAttestedOnly: trial.trace === null,
    watchable:
      trial.trace === null
        ? null
        : { suite_id: suite.header.suite_id, grids: suite.grids, trials: [trial.trace] },
  };
}
