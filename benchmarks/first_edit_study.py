"""Which of the files that a run's own patch changes it had read before its first edit.

    .venv/bin/python benchmarks/first_edit_study.py RUNS [--work DIR]

RUNS is a folder of mini-swe-agent runs on SWE-bench: ``trajs/preds.json`` (each run's
patch), ``trajs/INSTANCE/INSTANCE.traj.json`` and, for the outcome, ``results_summary.json``.
It writes one task a run (expected: the files that the patch changes and that existed
before it), captures the trajectories, scores them, and prints what docs/capture/study.md
shows. The same is done for routes that end at the first write of any kind.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

_CHANGED = re.compile(r"^--- a/(?P<path>[^\t\n]+)", re.MULTILINE)


class Figures(NamedTuple):
    """What one way of ending a route gives."""

    until: str
    packets: int
    empty: int
    mean_recall: float
    sufficient: int
    tasks: int
    by_outcome: Counter[tuple[bool, bool]]


def task_lines(runs: Path) -> list[dict[str, Any]]:
    """One task a run whose patch changes a file that existed, by instance."""
    predictions = json.loads((runs / "trajs" / "preds.json").read_text("utf-8"))
    tasks = []
    for instance in sorted(predictions):
        patch = predictions[instance]["model_patch"] or ""
        changed = sorted(set(_CHANGED.findall(patch)))
        if changed:
            tasks.append(
                {
                    "task_id": instance,
                    "family": instance.partition("__")[0],
                    "expected_artifacts": changed,
                }
            )
    return tasks


def outcomes(runs: Path) -> dict[str, bool]:
    """Whether each instance was resolved, as the published results say."""
    summary = json.loads((runs / "results_summary.json").read_text("utf-8"))
    return {each["instance_id"]: each["resolved"] for each in summary["instances"]}


def _wayproof(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wayproof", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode not in {0, 1}:
        sys.exit(done.stderr)


def measure(runs: Path, work: Path, until: str, resolved: dict[str, bool]) -> Figures:
    """Capture, score, and count."""
    tasks, packets, scored = work / "tasks.jsonl", work / f"{until}.jsonl", work / until
    _wayproof(
        "capture", str(runs / "trajs"), "--format", "mini-swe-agent", "--until", until,
        "--map", "/testbed=", "--task-id-from", "file", "--out", str(packets),
    )  # fmt: skip
    _wayproof(
        "fitness", "score", "--tasks", str(tasks), "--packets", str(packets),
        "--ignore-unknown", "--overwrite", "--suite", f"first-edit-{until}", "--out", str(scored),
    )  # fmt: skip
    lines = [json.loads(line) for line in packets.read_text("utf-8").splitlines()]
    results = [
        json.loads(line) for line in (scored / "results.jsonl").read_text("utf-8").splitlines()
    ]
    summary = json.loads((scored / "summary.json").read_text("utf-8"))["summary"]
    passed = {each["task_id"]: each["sufficiency_status"] == "pass" for each in results}
    return Figures(
        until=until,
        packets=len(lines),
        empty=sum(not each["selected_artifacts"] for each in lines),
        mean_recall=summary["mean_recall_at_packet"],
        sufficient=sum(passed.values()),
        tasks=len(passed),
        by_outcome=Counter((resolved[task], passed[task]) for task in passed),
    )


def show(figures: Sequence[Figures]) -> None:
    """Print the tables of the study."""
    print("route ends at  packets  empty  mean recall  sufficient")
    for each in figures:
        print(
            f"{each.until:<14} {each.packets:>7}  {each.empty:>5}  {each.mean_recall:>11.4f}"
            f"  {each.sufficient} of {each.tasks}"
        )
    counts = figures[0].by_outcome
    print(f"\nuntil {figures[0].until}:     sufficient  not sufficient")
    for resolved, word in ((True, "resolved"), (False, "not resolved")):
        print(f"{word:<16} {counts[resolved, True]:>11}  {counts[resolved, False]:>14}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Files read before the first edit.")
    parser.add_argument("runs", type=Path)
    parser.add_argument("--work", type=Path, help="keep tasks, packets and bundles here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = arguments.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(task) + "\n" for task in task_lines(arguments.runs)]
        (work / "tasks.jsonl").write_text("".join(lines), "utf-8")
        resolved = outcomes(arguments.runs)
        show([measure(arguments.runs, work, until, resolved) for until in ("edit", "write")])


if __name__ == "__main__":
    main()
