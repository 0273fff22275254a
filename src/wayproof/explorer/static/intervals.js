// 95 % intervals over grids in parts per million, restated: the grouped percentile bootstrap,
// and the exact binomial bound where all grids agree.

import { stream } from "./seeded.js";

const MILLION = 1_000_000;
const RESAMPLES = 2_000;
const TAIL = RESAMPLES / 40;

function agreementBound(groups) {
  let [low, high] = [0, MILLION];
  const ceiling = BigInt(MILLION) ** BigInt(groups);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (40n * BigInt(middle) ** BigInt(groups) <= ceiling) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/** The interval where all grids with cells have the same share; null where they differ. */
function agreement(hits, cells) {
  const counted = hits.map((hit, at) => [hit, cells[at]]).filter(([, cell]) => cell > 0);
  if (counted.length === 0) {
    return { high_ppm: MILLION, low_ppm: 0, method: "agreement" };
  }
  const [hit, cell] = counted[0];
  if (counted.some(([otherHit, otherCell]) => otherHit * cell !== hit * otherCell)) {
    return null;
  }
  const bound = agreementBound(counted.length);
  const high = Math.ceil((hit * bound) / cell) + MILLION - bound;
  return {
    high_ppm: Math.min(high, MILLION),
    low_ppm: Math.floor((hit * bound) / cell),
    method: "agreement",
  };
}

function percentiles(shares) {
  const lows = shares.map(([hit, cell]) => Math.floor((hit * MILLION) / cell)).sort((a, b) => a - b);
  const highs = shares.map(([hit, cell]) => Math.ceil((hit * MILLION) / cell)).sort((a, b) => a - b);
  const tail = Math.min(TAIL - 1, Math.floor((shares.length - 1) / 2));
  return {
    high_ppm: highs[highs.length - 1 - tail],
    low_ppm: lows[tail],
    method: "bootstrap",
  };
}

/**
 * Intervals for the share of hits among cells, per stratum.
 * @param {number[][]} hits per stratum, per grid: how many cells hit
 * @param {number[][]} cells likewise, how many cells there are; the same grids everywhere
 * @param {() => Promise<void>} pause called now and then
 */
export async function intervalsOverGrids(hits, cells, pause) {
  const found = hits.map((each, at) => agreement(each, cells[at]));
  const open = found.flatMap((interval, at) => (interval === null ? [at] : []));
  if (open.length === 0) {
    return found;
  }
  const grids = hits[0].length;
  const draw = stream("wayproof.statistics.index-table/1", grids);
  const shares = open.map(() => []);
  for (let resample = 0; resample < RESAMPLES; resample += 1) {
    const row = draw.manyBelow(grids, grids);
    open.forEach((stratum, at) => {
      let [hit, cell] = [0, 0];
      for (const grid of row) {
        hit += hits[stratum][grid];
        cell += cells[stratum][grid];
      }
      if (cell > 0) {
        shares[at].push([hit, cell]);
      }
    });
    if (resample % 100 === 0) {
      await pause();
    }
  }
  open.forEach((stratum, at) => {
    found[stratum] = percentiles(shares[at]);
  });
  return found;
}
