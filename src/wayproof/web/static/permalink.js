// What a page shows, kept in the address's hash: by ids, never by places in a list, so that
// a link means the same in another version of the report. "+" is a plus, not a space.

const HASH_START = 1;

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return null; // a stray per cent sign: not written by this page
  }
}

/** Names and values of a hash; null when it names no state (a section's anchor, say). */
export function parseHash(hash) {
  const body = hash.startsWith("#") ? hash.slice(HASH_START) : hash;
  if (!body.includes("=")) {
    return null;
  }
  const found = new Map();
  for (const part of body.split("&")) {
    const at = part.indexOf("=");
    const name = at < 0 ? null : decoded(part.slice(0, at));
    const value = at < 0 ? null : decoded(part.slice(at + 1));
    if (name !== null && value !== null) {
      found.set(name, value);
    }
  }
  return found;
}

/** The hash of names and values, without its sign; empty values are left out. */
export function hashOf(entries) {
  return entries
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join("&");
}

/** The address of this page with another hash. */
export function linkTo(entries) {
  return `${location.href.split("#")[0]}#${hashOf(entries)}`;
}

/** Keeps the address and the page together. */
export class Permalink {
  #written = null;
  #pushed = 0;

  /** @param {(state: Map<string, string>) => void} onState called when the reader goes
   *    back, forward, or follows a link within the page */
  constructor(onState) {
    addEventListener("hashchange", () => {
      if (location.hash.slice(HASH_START) === this.#written) {
        return;
      }
      this.#written = location.hash.slice(HASH_START);
      this.#pushed = 0;
      const state = parseHash(location.hash);
      if (state !== null || location.hash === "") {
        onState(state ?? new Map());
      }
    });
  }

  /** The state that the page was opened with; null for none. */
  get opened() {
    this.#written = location.hash.slice(HASH_START);
    return parseHash(location.hash);
  }

  /** Write the state over the present entry of the history. */
  replace(entries) {
    this.#write(entries, (hash) => location.replace(`#${hash}`));
  }

  /** Write the state as a new entry, which Back takes back. */
  push(entries) {
    this.#write(entries, (hash) => {
      location.hash = hash;
      this.#pushed += 1;
    });
  }

  /** Take a pushed entry back; false when this page has pushed none. */
  back() {
    if (this.#pushed === 0) {
      return false;
    }
    history.back();
    return true;
  }

  #write(entries, how) {
    const hash = hashOf(entries);
    if (hash === location.hash.slice(HASH_START)) {
      this.#written = hash;
      return;
    }
    how(hash);
    // As the browser spells it: it may escape what encodeURIComponent leaves.
    this.#written = location.hash.slice(HASH_START);
  }
}
