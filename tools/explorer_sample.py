"""Remake the Explorer's public sample from a bundle of the suite ``explorer-sample``.

    wayproof recovery run --suite explorer-sample --out sample-bundle
    python tools/explorer_sample.py sample-bundle

Grids travel as they are; of each trace only the actions, as short text, since the page
plays and judges them itself. The digests let a reader hold the page against Python.
"""

import json
import sys
from pathlib import Path
from typing import Any

from wayproof.bundles.manifest import read_manifest, verify_digests
from wayproof.canonical import canonical_bytes, sha256_hex

SAMPLE = Path(__file__).parents[1] / "src" / "wayproof" / "explorer" / "static" / "sample.json"
LETTERS = {(-1, 0): "N", (0, 1): "E", (1, 0): "S", (0, -1): "W"}
OFFICIAL = "wfrb-v0"


def packed_action(action: dict[str, Any], position: list[int]) -> str:
    """Return one action as the page's short text; ``position`` is where the agent stands."""
    if action.get("finish"):
        return "F"
    row, column = action["move"]
    offset = (row - position[0], column - position[1])
    return LETTERS.get(offset, f"@{row},{column};")


def packed_trial(trace: dict[str, Any], start: list[int], result: dict[str, Any]) -> dict[str, Any]:
    """Return one trial: its ids, its actions, and the digest of its recorded trace."""
    position, actions = start, []
    for step in trace["steps"]:
        actions.append(packed_action(step["action"], position))
        position = step["position"]
    return {
        "actions": "".join(actions),
        "policy": trace["policy"],
        "policy_seed": trace["policy_seed"],
        "scenario_id": trace["scenario_id"],
        "trace_sha256": result["trace_sha256"],
    }


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON Lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def sample_of(bundle: Path, official_suite_sha256: str) -> dict[str, Any]:
    """Return the sample made from a bundle."""
    header, *grids = read_lines(bundle / "suite.jsonl")
    starts = {
        scenario["scenario_id"]: grid["start"] for grid in grids for scenario in grid["scenarios"]
    }
    traces = read_lines(bundle / "traces.jsonl")
    results = {
        (row["policy"], row["scenario_id"], row["policy_seed"]): row
        for row in read_lines(bundle / "results.jsonl")
    }
    suite_sha256 = sha256_hex((bundle / "suite.jsonl").read_bytes())
    return {
        "grids": grids,
        "pins": {OFFICIAL: official_suite_sha256, header["suite_id"]: suite_sha256},
        "results_sha256": sha256_hex((bundle / "results.jsonl").read_bytes()),
        "suite_id": header["suite_id"],
        "suite_sha256": suite_sha256,
        "trials": [
            packed_trial(
                trace,
                starts[trace["scenario_id"]],
                results[trace["policy"], trace["scenario_id"], trace["policy_seed"]],
            )
            for trace in traces
        ],
    }


def main() -> None:
    """Write the sample file."""
    from wayproof.recovery.suite import PINNED_SUITES

    bundle = Path(sys.argv[1])
    verify_digests(bundle, read_manifest(bundle))
    sample = sample_of(bundle, PINNED_SUITES[OFFICIAL])
    SAMPLE.write_bytes(canonical_bytes(sample) + b"\n")
    print(f"{SAMPLE}: {SAMPLE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
