// Files of a bundle as records: canonical lines, canonical documents, and where two of them
// differ first. Everything that isn't its own canonical text is refused.

import { canonicalText, linesOf, parseCanonical, strictText } from "./canonical.js";
import { ShapeError } from "./shape.js";

/** Something that doesn't hold, with its place. */
export class BundleFault extends Error {
  constructor(place) {
    super(place.problem);
    this.place = place;
  }
}

/** A fault to throw. */
export function fault(problem, place = {}) {
  return new BundleFault({ problem, ...place });
}

function bytesOf(files, name) {
  const bytes = files.get(name);
  if (bytes === undefined) {
    throw fault("missing_file", { file: name });
  }
  return bytes;
}

function refusal(error, place) {
  return fault(error instanceof ShapeError ? "shape" : "unreadable", {
    ...place,
    found: error.message,
  });
}

/** Read a file of canonical lines; `check` is the shape of a line. */
export function readLines(files, name, check) {
  const bytes = bytesOf(files, name);
  let lines;
  try {
    lines = linesOf(bytes);
  } catch (error) {
    throw refusal(error, { file: name });
  }
  return lines.map((line, index) => {
    try {
      const value = parseCanonical(line);
      check(value, "", index);
      return { line, value };
    } catch (error) {
      throw refusal(error, { file: name, line: index + 1 });
    }
  });
}

/** Read a file that holds one canonical value and one line feed. */
export function readDocument(files, name, check) {
  const bytes = bytesOf(files, name);
  try {
    const whole = strictText(bytes);
    const value = parseCanonical(whole.endsWith("\n") ? whole.slice(0, -1) : "");
    check(value, "");
    return value;
  } catch (error) {
    throw refusal(error, { file: name });
  }
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const shown = (value) => (value === undefined ? "–" : canonicalText(value));

/** Path and both values of the first difference between two JSON values; null for none. */
export function firstDifference(expected, found, path = "") {
  if (isObject(expected) && isObject(found)) {
    for (const key of [...new Set([...Object.keys(expected), ...Object.keys(found)])].sort()) {
      const own = Object.hasOwn(expected, key) ? expected[key] : undefined;
      const theirs = Object.hasOwn(found, key) ? found[key] : undefined;
      const inside = firstDifference(own, theirs, path === "" ? key : `${path}.${key}`);
      if (inside !== null) {
        return inside;
      }
    }
    return null;
  }
  if (Array.isArray(expected) && Array.isArray(found)) {
    for (let at = 0; at < Math.max(expected.length, found.length); at += 1) {
      const inside = firstDifference(expected[at], found[at], `${path}[${at}]`);
      if (inside !== null) {
        return inside;
      }
    }
    return null;
  }
  return shown(expected) === shown(found)
    ? null
    : { field: path, expected: shown(expected), found: shown(found) };
}

/** The difference as a list of no fault or one. */
export function differenceFaults(problem, file, expected, found, prefix = "") {
  const difference = firstDifference(expected, found, prefix);
  return difference === null ? [] : [{ problem, file, ...difference }];
}

// UTF-16 puts surrogates below U+E000 … U+FFFF; code points don't.
const rankOf = (unit) => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);

/** Compare two texts by code points, which is the order of their UTF-8 bytes. */
export function compareText(a, b) {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const difference = rankOf(a.charCodeAt(at)) - rankOf(b.charCodeAt(at));
    if (difference !== 0) {
      return difference;
    }
  }
  return a.length - b.length;
}
