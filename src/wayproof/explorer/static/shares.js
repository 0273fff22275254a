// Shares and their means: the rounding that the evaluator uses, restated.

/** Divide to 4 decimals, ties to even as the exact quotient's double has them; 1 over 0. */
export function ratio(part, whole) {
  if (whole === 0) {
    return 1;
  }
  const quotient = part / whole;
  // A double lies half way between two 4-decimal numbers only if it is odd / 32.
  const isTie = Math.abs(quotient * 32) % 2 === 1;
  if (!isTie) {
    return Number(quotient.toFixed(4));
  }
  const below = Math.floor(quotient * 10_000);
  return (below % 2 === 0 ? below : below + 1) / 10_000;
}

function greatestDivisor(a, b) {
  let [one, other] = [a, b];
  while (other > 0n) {
    [one, other] = [other, one % other];
  }
  return one;
}

/** Fractions, added up exactly. */
export class Shares {
  #parts = new Map();
  count = 0;

  /** Add part / whole; a whole of 0 is vacuous and left out. */
  add(part, whole) {
    const [numerator, denominator] = [BigInt(part), BigInt(whole)];
    if (denominator === 0n) {
      return;
    }
    this.#parts.set(denominator, (this.#parts.get(denominator) ?? 0n) + numerator);
    this.count += 1;
  }

  /** Add the mean of other shares, as one. */
  addMean(shares) {
    const mean = shares.mean();
    if (mean !== null) {
      this.add(...mean);
    }
  }

  /** The mean as a reduced [numerator, denominator]; null when there is none. */
  mean() {
    if (this.count === 0) {
      return null;
    }
    let [sum, whole] = [0n, 1n];
    for (const [each, part] of this.#parts) {
      [sum, whole] = [sum * each + part * whole, whole * each];
      const shared = greatestDivisor(sum, whole);
      [sum, whole] = [sum / shared, whole / shared];
    }
    whole *= BigInt(this.count);
    const shared = greatestDivisor(sum, whole);
    return [sum / shared, whole / shared];
  }

  /** The mean to 6 decimals, rounded down: what a gate is held against; null for none. */
  flooredMean() {
    const mean = this.mean();
    return mean === null ? null : Number((mean[0] * 1_000_000n) / mean[1]) / 1_000_000;
  }

  /** The mean to 6 decimals, rounded once and half to even; null when there is none. */
  roundedMean() {
    const mean = this.mean();
    if (mean === null) {
      return null;
    }
    const scaled = mean[0] * 1_000_000n;
    const below = scaled / mean[1];
    const twice = 2n * (scaled % mean[1]);
    const isUp = twice > mean[1] || (twice === mean[1] && below % 2n === 1n);
    return Number(isUp ? below + 1n : below) / 1_000_000;
  }
}
