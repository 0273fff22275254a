// Any bundle: which files there are, whether each is what the manifest says, and what its
// kind can check beyond that.

import { sha256Hex } from "./sha256.js";
import { strictText } from "./canonical.js";
import { BundleFault, checkRecovery } from "./recovery_bundle.js";
import { checkFitness } from "./fitness_bundle.js";
import { readZip } from "./zip.js";

const MANIFEST = "manifest.json";
const SCHEMA = "wayproof.bundle/1";
const DEEP = { recovery: checkRecovery, fitness: checkFitness };

function fault(problem, place = {}) {
  return new BundleFault({ problem, ...place });
}

/** Files of a folder or a zip by their name in the bundle, the one folder around them off. */
export function bundleFiles(entries) {
  const manifest = entries
    .map(({ name }) => name.split("/"))
    .filter((parts) => parts[parts.length - 1] === MANIFEST)
    .sort((a, b) => a.length - b.length)[0];
  if (manifest === undefined) {
    throw fault("no_manifest");
  }
  const folder = manifest.slice(0, -1).join("/");
  const prefix = folder === "" ? "" : `${folder}/`;
  const files = new Map();
  for (const { name, bytes } of entries) {
    const own = name.startsWith(prefix) ? name.slice(prefix.length) : name;
    if (files.has(own)) {
      throw fault("repeated_file", { file: own });
    }
    files.set(own, bytes);
  }
  return files;
}

function readManifest(files) {
  let manifest;
  try {
    manifest = JSON.parse(strictText(files.get(MANIFEST)));
  } catch {
    throw fault("bad_manifest", { file: MANIFEST });
  }
  if (manifest?.schema_version !== SCHEMA || typeof manifest.files !== "object" || !manifest.files) {
    throw fault("bad_manifest", { file: MANIFEST });
  }
  return manifest;
}

function digestRow(name, bytes, stated) {
  const sha256 = bytes === undefined ? null : sha256Hex(bytes);
  const isRight = bytes !== undefined && stated?.sha256 === sha256 && stated?.bytes === bytes.length;
  return { name, bytes: bytes?.length ?? null, sha256, stated: stated?.sha256 ?? null, isRight };
}

function digestFault(row) {
  const problem =
    row.sha256 === null ? "missing_file" : row.stated === null ? "surplus_file" : "digest_differs";
  return { problem, file: row.name, expected: row.stated ?? "–", found: row.sha256 ?? "–" };
}

/**
 * Check a bundle.
 *
 * Everything is checked even after a digest that differs, so that an edit is named by trial
 * and check and not only by file.
 *
 * @param {{name: string, bytes: Uint8Array}[]} entries
 * @param {(done: number, total: number) => Promise<void>} pause
 * @returns {Promise<object>} {kind, digests, faults, limits, resultsSha256, deep}
 */
export async function checkBundle(entries, pause) {
  const files = bundleFiles(entries);
  const manifest = readManifest(files);
  const names = new Set([...Object.keys(manifest.files), ...files.keys()]);
  names.delete(MANIFEST);
  const digests = [...names]
    .sort()
    .map((name) => digestRow(name, files.get(name), manifest.files[name]));
  const faults = digests.filter((row) => !row.isRight).map(digestFault);
  const check = Object.hasOwn(DEEP, manifest.kind) ? DEEP[manifest.kind] : null;
  let deep = null;
  if (check === null) {
    faults.push({ problem: "unknown_kind", file: MANIFEST, found: JSON.stringify(manifest.kind) });
  } else {
    try {
      deep = await check(files, pause);
      faults.push(...deep.faults);
    } catch (error) {
      if (!(error instanceof BundleFault)) {
        throw error;
      }
      faults.push(error.place);
    }
  }
  return {
    kind: manifest.kind,
    digests,
    faults,
    deep,
    limits: Array.isArray(manifest.limits) ? manifest.limits.filter((x) => typeof x === "string") : [],
    resultsSha256: digests.find((row) => row.name === "results.jsonl")?.sha256 ?? null,
  };
}

/** Read what a person picked: one .zip, or files (a folder's have their path). */
export async function readPicked(picked) {
  const only = picked.length === 1 ? picked[0] : null;
  if (only !== null && only.name.toLowerCase().endsWith(".zip")) {
    return readZip(new Uint8Array(await only.arrayBuffer()));
  }
  const entries = [];
  for (const file of picked) {
    entries.push({
      name: file.webkitRelativePath || file.name,
      bytes: new Uint8Array(await file.arrayBuffer()),
    });
  }
  return entries;
}
