// Canonical JSON (RFC 8785), written independently of the Python side.
//
// ECMAScript's own number and string spelling is what the RFC prescribes (sections
// 3.2.2.2 and 3.2.2.3), and its default sort compares UTF-16 code units (3.2.3); what is
// left to do is to refuse what has no canonical form.

/** What is wrong with a line of evidence. */
export class CanonicalError extends Error {}

/** Deepest nesting of lists and objects that is read: as `strict_json.py` has it. */
export const MAX_DEPTH = 500;

/** Refuse a text whose lists and objects are nested too deeply, before it is parsed. */
function requireShallow(text) {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (isInString) {
      if (unit === 0x5c) {
        at += 1; // a backslash takes the next sign with it
      } else if (unit === 0x22) {
        isInString = false;
      }
    } else if (unit === 0x22) {
      isInString = true;
    } else if (unit === 0x5b || unit === 0x7b) {
      depth += 1;
      if (depth > MAX_DEPTH) {
        throw new CanonicalError("nested too deeply");
      }
    } else if (unit === 0x5d || unit === 0x7d) {
      depth -= 1;
    }
  }
}

function textForm(text) {
  if (!text.isWellFormed()) {
    throw new CanonicalError("lone surrogate");
  }
  return JSON.stringify(text);
}

function numberForm(number) {
  if (!Number.isFinite(number)) {
    throw new CanonicalError("not a finite number");
  }
  // From 1e21 on ECMAScript spells whole numbers with an exponent: those are no integers.
  if (Number.isInteger(number) && !Number.isSafeInteger(number) && Math.abs(number) < 1e21) {
    throw new CanonicalError("integer beyond 2^53-1");
  }
  return JSON.stringify(number);
}

function write(value) {
  if (value === null || value === true || value === false) {
    return String(value);
  }
  if (typeof value === "string") {
    return textForm(value);
  }
  if (typeof value === "number") {
    return numberForm(value);
  }
  if (Array.isArray(value)) {
    return `[${value.map(write).join(",")}]`;
  }
  if (typeof value === "object") {
    const members = Object.keys(value)
      .sort()
      .map((key) => `${textForm(key)}:${write(value[key])}`);
    return `{${members.join(",")}}`;
  }
  throw new CanonicalError(`no JSON value: ${typeof value}`);
}

/**
 * The RFC 8785 text of a JSON value.
 * @throws {CanonicalError} for what has no canonical form
 */
export function canonicalText(value) {
  try {
    return write(value);
  } catch (error) {
    if (error instanceof RangeError) {
      throw new CanonicalError("nested too deeply");
    }
    throw error;
  }
}

/** The RFC 8785 bytes of a JSON value. */
export function canonicalBytes(value) {
  return new TextEncoder().encode(canonicalText(value));
}

/** Longer texts than any browser holds in one string. */
const MOST_BYTES = 0x1fffffe8;

/** Decode UTF-8 strictly: bad bytes are refused, and a byte order mark is kept as text. */
export function strictText(bytes) {
  if (bytes.length > MOST_BYTES) {
    throw new CanonicalError("too large for a browser");
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CanonicalError("not UTF-8");
  }
}

/** Refuse numbers that not every reader keeps exactly, whole or not. */
function requireSafe(value) {
  if (typeof value === "number") {
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
      throw new CanonicalError("a number beyond ±(2^53-1)");
    }
  } else if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(requireSafe);
  }
}

/**
 * Parse one line and refuse it unless it is its own canonical text.
 *
 * Duplicate keys, spaces, `-0`, `1.0` and reordered keys all come out different when
 * they are written again, so one comparison finds them all.
 */
export function parseCanonical(line) {
  requireShallow(line);
  let value;
  try {
    value = JSON.parse(line);
  } catch {
    throw new CanonicalError("not JSON");
  }
  requireSafe(value);
  if (canonicalText(value) !== line) {
    throw new CanonicalError("not in canonical form");
  }
  return value;
}

/** Split a file into its LF-ended lines; a last line without LF is refused. */
export function linesOf(bytes) {
  const text = strictText(bytes);
  if (text === "") {
    return [];
  }
  if (!text.endsWith("\n")) {
    throw new CanonicalError("last line has no line end");
  }
  return text.slice(0, -1).split("\n");
}
