"""Comparing against scoring, and measures against scoring without them and ir_measures.

    python benchmarks/compare_speed.py [--tasks 100000] [--rounds 3]

Makes synthetic tasks and two sets of packets (ranked lists of ten ids), scores both, and runs
every contender in a process of its own, in turn, round by round. Prints medians, ratios of one
run, and the most memory each held.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

MEASURES = "recall precision R@5 nDCG@10 RR"
RANKED = "R@5 P@5 nDCG@10 RR AP"
IR_MEASURES = """
import json, sys, ir_measures
tasks, packets, names = sys.argv[1:]
qrels = {}
for line in open(tasks):
    task = json.loads(line)
    qrels[task["task_id"]] = dict.fromkeys(task["expected_artifacts"], 1)
run = {}
for line in open(packets):
    packet = json.loads(line)
    selected = packet["selected_artifacts"]
    run[packet["task_id"]] = {one: float(-rank) for rank, one in enumerate(selected)}
measures = [ir_measures.parse_measure(name) for name in names.split()]
print({str(name): mean for name, mean in ir_measures.calc_aggregate(measures, qrels, run).items()})
"""


def make_inputs(folder: Path, count: int) -> None:
    """Write tasks in 2,000 families, and packets of which a third differ."""
    random = Random(7)
    ids = [f"src/module_{number}/file_{number * 7 % 97}.py" for number in range(5000)]
    with (folder / "tasks.jsonl").open("w") as tasks:
        for number in range(count):
            task = {
                "task_id": f"task-{number:07}",
                "family": f"family-{number % 2000}",
                "task_prompt": "find where the ledger is written and why it is late",
                "expected_artifacts": random.sample(ids, 2),
                "scent_terms": ["ledger"],
            }
            tasks.write(json.dumps(task) + "\n")
    for name, seed in (("base", 1), ("new", 2)):
        draw, same = Random(seed), Random(3)
        lines = (folder / "tasks.jsonl").read_text().splitlines()
        with (folder / f"{name}.jsonl").open("w") as packets:
            for line in lines:
                task = json.loads(line)
                random = draw if same.random() < 0.33 else Random(task["task_id"])
                listed = random.sample(ids, 8)
                for one in task["expected_artifacts"]:
                    if random.random() < 0.8:
                        listed.insert(random.randrange(len(listed)), one)
                rows = [
                    {"kind_id": "file", "row_id": one, "title": one, "summary": "ledger " * 12}
                    for one in listed[:4]
                ]
                packet = {
                    "task_id": task["task_id"],
                    "first_contact_command": f"map --query {task['task_id']}",
                    "wall_ms": round(random.uniform(5, 900), 3),
                    "selected_artifacts": listed,
                    "selected_rows": rows,
                }
                packets.write(json.dumps(packet) + "\n")


def timed(command: list[str | Path]) -> tuple[float, float]:
    """Run a command; return its seconds and the most memory it held, in MB."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    assert process.returncode == 0, said.decode()
    return time.perf_counter() - started, usage.ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make_inputs(folder, args.tasks)
        wayproof: list[str | Path] = [sys.executable, "-m", "wayproof"]
        one = ("--processes", "1", "--overwrite", "--json")

        def score(side: str, *more: str) -> list[str | Path]:
            inputs = ("--tasks", folder / "tasks.jsonl", "--packets", folder / f"{side}.jsonl")
            return [*wayproof, "fitness", "score", *inputs, "--out", folder / side, *one, *more]

        timed(score("base"))
        compare: list[str | Path] = [*wayproof, "compare", folder / "base", folder / "new"]
        contenders: dict[str, list[str | Path]] = {
            "score": score("new"),
            "score, five measures": score("new", "--measures", RANKED),
            "ir_measures, the same run": [
                *(sys.executable, "-c", IR_MEASURES, folder / "tasks.jsonl"),
                *(folder / "new.jsonl", RANKED),
            ],
            "compare, tasks": [*compare, "--cluster", "task", "--measures", MEASURES],
            "compare, families": [*compare, "--measures", MEASURES],
            "import of SciPy": [sys.executable, "-c", "import numpy, scipy.special"],
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
        for _ in range(args.rounds):
            for name, command in contenders.items():
                found[name].append(timed(command))
        base = statistics.median(seconds for seconds, _ in found["score"])
        print(f"{args.tasks} tasks, medians of {args.rounds} rounds")
        for name, runs in found.items():
            seconds = statistics.median(second for second, _ in runs)
            most = max(memory for _, memory in runs)
            print(f"{name:<28}{seconds:8.2f} s {seconds / base:6.2f} × score {most:7.0f} MB")


if __name__ == "__main__":
    main()
