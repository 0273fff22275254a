// The manifest: what every bundle says of itself, in a form that hides nothing.

import { differenceFaults, fault, readDocument } from "./records.js";
import {
  count,
  having,
  integerWithin,
  listOf,
  mapOf,
  matching,
  object,
  oneOf,
  record,
  string,
} from "./shape.js";

export const MANIFEST = "manifest.json";

/** Names that are kept for detached signatures, which are made after the bundle. */
const SIGNATURE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,117}\.sig\.json$/;
const SIGNATURE_BYTES = 1 << 20;

/** Whether a file is a detached signature: nothing here checks those. */
export function isSignature(name, bytes) {
  return SIGNATURE.test(name) && bytes.length <= SIGNATURE_BYTES;
}

const FILE_NAME = matching(/^(?!manifest\.json$)(?!.*\.sig\.json$)[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, "a file name");
const DIGEST = record({ bytes: count, sha256: matching(/^[0-9a-f]{64}$/, "64 hex digits") });
const INSTANT = matching(
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}\+00:00$/,
  "a time in UTC",
);
/** What is true of the run alone: nobody can check more than the types. */
const VARIES = having({
  argv: listOf(string),
  duration_ms: count,
  finished_at: INSTANT,
  host: string,
  platform: string,
  processes: integerWithin(1, Number.MAX_SAFE_INTEGER),
  python: string,
  started_at: INSTANT,
  wayproof: string,
});
const SHAPE = record({
  files: mapOf(FILE_NAME, DIGEST),
  inputs: mapOf(string, DIGEST),
  kind: string,
  limits: listOf(string),
  schema_version: oneOf("wayproof.bundle/1"),
  settings: object,
  varies: VARIES,
});

/** Read a bundle's manifest, or say what is wrong with it. */
export function readManifest(files) {
  try {
    return readDocument(files, MANIFEST, SHAPE);
  } catch (error) {
    throw fault("bad_manifest", error.place);
  }
}

/** Faults of a manifest that doesn't say what a run of its kind would: {field: value}. */
export function manifestFaults(manifest, expected) {
  return Object.entries(expected).flatMap(([field, value]) =>
    differenceFaults("manifest_differs", MANIFEST, value, manifest[field], field),
  );
}

/** Faults of a manifest that names other files than its kind has. */
export function fileSetFaults(manifest, names) {
  return differenceFaults(
    "manifest_differs",
    MANIFEST,
    [...names].sort(),
    Object.keys(manifest.files).sort(),
    "files",
  );
}
