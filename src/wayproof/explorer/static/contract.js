// Sentences and numbers that every bundle of a kind must hold word for word: limits that were
// taken out, or published counts that were changed, show as a difference.

export const FITNESS_LIMITS = Object.freeze([
  "An evaluator of captured packets, not a live route run: nothing was called or generated.",
  "Not an embedding benchmark: stable ids are compared, similarity is not.",
  "Not a universal navigation benchmark: it speaks of these tasks and these packets only.",
  "A pass means that these packets met these tasks' expectations; it gives no release authority.",
  "It admits no component and unblocks no owner.",
  "Unmeasured time and unknown first commands are counted, never taken for good.",
]);

export const RECOVERY_LIMITS = Object.freeze([
  "Solvable, fully visible grids; rejected actions leave the state unchanged.",
  "No hidden change of the map, no LLM, no client agent, no external service and no paid API is part of the reference experiment.",
  "Failure kinds are correlated and seeds are deterministic: neither are independent observations.",
  "The planner's perfect result validates this restricted test bench. It proves neither general recovery nor commercial performance.",
  "The generator was calibrated so that a random walk's expected counts lie in the published regime; agreement with the published counts is therefore no evidence.",
]);

export const INDEPENDENCE =
  "The grids are the independent units. A grid's scenarios and seeds are correlated, and a second invocation repeats the same cells: it is never pooled. Intervals speak of grids made by this suite's generator and of nothing else. Where only a few grids have a hit, a bootstrap interval is too narrow.";

export const INTERVALS =
  "95 % intervals over grids in parts per million: percentile bootstrap, 2000 resamples of grids, one fixed index table for all strata; where all grids agree, the exact binomial bound over grids";

/** SHA-256 of the results of the reference experiment: wfrb-v0, three controls, seeds 0 and 1. */
export const REFERENCE_RESULTS_SHA256 =
  "8520390d377dc63065e24930e370e0b0c914302e766c86edb3e3a095e3fee7b1";

/** The suite that the published counts speak of. */
export const PUBLISHED_SUITE = "wfrb-v0";

export const PUBLISHED = Object.freeze([
  { cells: 300, completed: 0, policy: "blind-repeat", verified: 0 },
  { cells: 300, completed: 300, policy: "planner", verified: 300 },
  { cells: 300, completed: 27, policy: "random-walk", verified: 4 },
]);
