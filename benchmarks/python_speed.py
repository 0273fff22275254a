"""Scoring dicts from Python against the command on the same data as files.

    python benchmarks/python_speed.py [--cases 200000] [--rounds 3] [--processes N]

Both run in processes of their own, in turn, round by round; each writes a bundle. The time
of the command is the whole process's; of Python, the call of ``wayproof.score`` with lists
of dicts that are there already, as in a notebook. Prints medians and their ratios of one
run, of wall time and of processor time (which other work on the machine changes less), and
compares the bytes of both bundles.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

if __package__ in {None, ""}:  # run as a script: its own folder is on the path, not the project
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.fitness_speed import make_cases

_HASHED = ("results.jsonl", "debts.jsonl", "summary.json")
_FROM_PYTHON = """
import json, sys, time
import wayproof

folder, processes = sys.argv[1], sys.argv[2]
tasks = [json.loads(line) for line in open(folder + "/tasks.jsonl", "rb")]
packets = [json.loads(line) for line in open(folder + "/packets.jsonl", "rb")]
started_s, started_cpu_s = time.perf_counter(), time.process_time()
wayproof.score(
    tasks, packets, suite="speed", out=folder + "/from-python", overwrite=True,
    processes=None if processes == "auto" else int(processes),
)
print(time.perf_counter() - started_s, time.process_time() - started_cpu_s)
"""


class Time(NamedTuple):
    """How long a contender took."""

    wall_s: float
    cpu_s: float


def _command(folder: Path, processes: str) -> Time:
    command = [sys.executable, "-m", "wayproof", "fitness", "score", "--json", "--overwrite"]
    command += ["--suite", "speed"]
    command += ["--tasks", str(folder / "tasks.jsonl"), "--packets", str(folder / "packets.jsonl")]
    command += ["--out", str(folder / "from-command")]
    command += [] if processes == "auto" else ["--processes", processes]
    before, started_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Time(time.perf_counter() - started_s, cpu_s)


def _python(folder: Path, processes: str) -> Time:
    done = subprocess.run(
        [sys.executable, "-c", _FROM_PYTHON, str(folder), processes],
        check=True,
        capture_output=True,
        text=True,
    )
    return Time(*map(float, done.stdout.split()))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Dicts from Python against files.")
    parser.add_argument("--cases", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", default="1", help="a number, or auto")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wayproof-python-speed-") as name:
        folder = Path(name)
        make_cases(folder, args.cases)
        runs = [
            (_command(folder, args.processes), _python(folder, args.processes))
            for _ in range(args.rounds)
        ]
        for file in _HASHED:
            same = (folder / "from-command" / file).read_bytes() == (
                folder / "from-python" / file
            ).read_bytes()
            assert same, f"{file} differs"
    print(json.dumps({"cases": args.cases, "rounds": args.rounds, "processes": args.processes}))
    for unit in Time._fields:
        command_s, python_s = (
            statistics.median(getattr(run, unit) for run in column)
            for column in zip(*runs, strict=True)
        )
        ratio = python_s / command_s
        print(f"{unit:<7} command {command_s:6.2f}   python {python_s:6.2f}   ratio {ratio:.2f}")
    print("results, debts and summary: equal bytes")


if __name__ == "__main__":
    main()
