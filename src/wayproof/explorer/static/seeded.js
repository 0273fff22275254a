// The seeded generator: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), keyed by SHA-256 of
// canonical ids, restated with BigInt.

import { canonicalBytes } from "./canonical.js";
import { sha256Hex } from "./sha256.js";

const MASK = (1n << 64n) - 1n;
const RANGE = 1n << 64n;
const GAMMA = 0x9e3779b97f4a7c15n;

/** The stream named by `ids`: the first eight bytes of the digest of their canonical list. */
export function stream(...ids) {
  return new SplitMix64(BigInt(`0x${sha256Hex(canonicalBytes(ids)).slice(0, 16)}`));
}

/** A stream of 64-bit integers. */
export class SplitMix64 {
  #state;

  constructor(seed) {
    this.#state = seed & MASK;
  }

  next() {
    this.#state = (this.#state + GAMMA) & MASK;
    let mixed = this.#state;
    mixed = ((mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    mixed = ((mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return mixed ^ (mixed >> 31n);
  }

  /** An integer below `bound`, each equally likely: what would favour one is thrown away. */
  below(bound) {
    const limit = RANGE - (RANGE % BigInt(bound));
    for (;;) {
      const drawn = this.next();
      if (drawn < limit) {
        return Number(drawn % BigInt(bound));
      }
    }
  }

  /** `count` integers below `bound`, cut from words of 16 bits (32 for a larger bound). */
  manyBelow(bound, count) {
    const bits = bound <= 1 << 16 ? 16 : 32;
    const words = 64 / bits;
    const size = 2 ** bits;
    const limit = size - (size % bound);
    const kept = [];
    while (kept.length < count) {
      const missing = count - kept.length;
      const found = [];
      for (let left = Math.floor((missing * bits) / 64) + 1; left > 0; left -= 1) {
        const drawn = this.next();
        const [low, high] = [Number(drawn & 0xffffffffn), Number(drawn >> 32n)];
        const halves = words === 2 ? [low, high] : [low & 0xffff, low >>> 16, high & 0xffff, high >>> 16];
        found.push(...halves.filter((word) => word < limit));
      }
      kept.push(...found.slice(0, missing).map((word) => word % bound));
    }
    return kept;
  }
}
