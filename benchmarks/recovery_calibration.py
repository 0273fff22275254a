"""Expected counts of a random walk over many generator seeds, exactly.

    python benchmarks/recovery_calibration.py [--seeds 200] [--processes 2] [--set NAME=VALUE …]

Prints the mean and standard deviation over seeds, and the first seeds in the accepted ranges.
"""

import argparse
import statistics
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import msgspec

from wayproof.recovery.calibrate import expected_counts, in_published_regime
from wayproof.recovery.generate import Parameters, Recipe, generate_grid


def expectation(seed: int, parameters: Parameters) -> tuple[float, float, bool]:
    recipe = Recipe("calibration", seed, parameters)
    expected = expected_counts(generate_grid(recipe, number) for number in range(parameters.grids))
    return float(expected.completed), float(expected.verified), in_published_regime(expected)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    args = parser.parse_args()
    changed = {name: int(value) for name, value in (item.split("=") for item in args.set)}
    parameters = msgspec.structs.replace(Parameters(), **changed)
    with ProcessPoolExecutor(args.processes) as pool:
        found = list(
            pool.map(partial(expectation, parameters=parameters), range(args.seeds), chunksize=5)
        )
    cells = parameters.grids * 3 * 2
    for name, values in (
        ("completed", [row[0] for row in found]),
        ("verified", [row[1] for row in found]),
    ):
        print(
            f"{name}: {statistics.mean(values):.2f} ± {statistics.stdev(values):.2f} of {cells}"
            f" expected, over {args.seeds} generator seeds"
            f" (lowest {min(values):.2f}, highest {max(values):.2f})"
        )
    accepted = [seed for seed, row in enumerate(found) if row[2]]
    print(f"in the accepted ranges: {len(accepted)} of {args.seeds} seeds; first {accepted[:5]}")
    for seed in accepted[:2]:
        print(
            f"seed {seed}: {found[seed][0]:.4f} completed, {found[seed][1]:.4f} verified expected"
        )


if __name__ == "__main__":
    main()
