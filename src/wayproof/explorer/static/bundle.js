// Any bundle: which files there are, whether each is what the manifest says, and what its
// kind can check beyond that.

import { sha256Hex } from "./sha256.js";
import { BundleFault, fault } from "./records.js";
import { MANIFEST, isSignature, readManifest } from "./manifest.js";
import { checkRecovery } from "./recovery_bundle.js";
import { checkFitness } from "./fitness_bundle.js";
import { checkPrivateTrial } from "./private_trial.js";
import { readZip } from "./zip.js";

const DEEP = { recovery: checkRecovery, fitness: checkFitness, "private-trial": checkPrivateTrial };

// What macOS adds to folders and archives; no bundle holds such a name.
const SYSTEM_ENTRY = /(^|\/)(__MACOSX\/|\.DS_Store$|\._[^/]*$)/;

/** Names with forward slashes only, without what the system added. */
function ownEntries(entries) {
  return entries
    .map(({ name, bytes }) => ({ name: name.replaceAll("\\", "/"), bytes }))
    .filter(({ name }) => !SYSTEM_ENTRY.test(name));
}

/** The one folder that a manifest stands in, with its slash; "" for none. */
function folderOf(entries) {
  const folders = entries
    .map(({ name }) => name)
    .filter((name) => name === MANIFEST || name.endsWith(`/${MANIFEST}`))
    .map((name) => name.slice(0, -MANIFEST.length));
  if (folders.length === 0) {
    throw fault("no_manifest");
  }
  if (new Set(folders).size > 1) {
    throw fault("several_bundles", { found: [...new Set(folders)].sort().join(", ") });
  }
  return folders[0];
}

/** Files of a folder or a zip by their name in the bundle; what stands outside is none of it. */
export function bundleFiles(entries) {
  const own = ownEntries(entries);
  const folder = folderOf(own);
  const files = new Map();
  for (const { name, bytes } of own.filter((entry) => entry.name.startsWith(folder))) {
    const place = name.slice(folder.length);
    if (files.has(place)) {
      throw fault("repeated_file", { file: place });
    }
    files.set(place, bytes);
  }
  return files;
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
 * @param {object} pins digests of official suites, by suite id
 * @returns {Promise<object>} {kind, digests, faults, limits, resultsSha256, deep}
 */
export async function checkBundle(entries, pause, pins) {
  const files = bundleFiles(entries);
  const manifest = readManifest(files);
  const names = new Set([...Object.keys(manifest.files), ...files.keys()]);
  names.delete(MANIFEST);
  const signatures = [...files].filter(([name, bytes]) => isSignature(name, bytes)).map(([name]) => name);
  signatures.forEach((name) => names.delete(name));
  const digests = [...names]
    .sort()
    .map((name) => digestRow(name, files.get(name), Object.hasOwn(manifest.files, name) ? manifest.files[name] : undefined));
  const faults = digests.filter((row) => !row.isRight).map(digestFault);
  const check = Object.hasOwn(DEEP, manifest.kind) ? DEEP[manifest.kind] : null;
  let deep = null;
  if (check === null) {
    faults.push({ problem: "unknown_kind", file: MANIFEST, found: JSON.stringify(manifest.kind) });
  } else {
    try {
      deep = await check(files, manifest, pause, pins);
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
    limits: manifest.limits,
    signatures,
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
