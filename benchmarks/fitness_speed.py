"""Scoring against the least work there is: decoding the same lines with msgspec.

    python benchmarks/fitness_speed.py [--cases 200000] [--rounds 5]

Makes synthetic tasks and packets (about 2.9 KB a pair), then runs every contender in a
process of its own, in turn, round by round, and prints medians and ratios of one run.
Wall time is compared; the machine's other work falls on all contenders alike.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

WORDS = [
    "route",
    "index",
    "ledger",
    "agent",
    "path",
    "store",
    "theory",
    "hologram",
    "packet",
    "scent",
    "task",
    "query",
    "module",
    "surface",
    "symbol",
    "graph",
    "parser",
    "cache",
    "token",
    "shard",
    "merge",
    "planner",
    "worker",
    "schema",
    "trace",
]


def make_cases(folder: Path, count: int, attempts: int = 1) -> None:
    """Write ``count`` tasks and ``count × attempts`` packets, about 2.9 KB a pair.

    A packet is a top-ten list, as rankers and repo maps return it: ten rows with an id, a
    title, a summary and a reason, and two ids outside any row.
    """
    random = Random(20260101)
    below = random.randrange

    def text(words: int) -> str:
        return " ".join(random.choices(WORDS, k=words))

    def ids(number: int) -> list[str]:
        return [f"module_{below(9999)}/{text(2).replace(' ', '_')}" for _ in range(number)]

    with (folder / "tasks.jsonl").open("w") as tasks, (folder / "packets.jsonl").open("w") as out:
        for number in range(count):
            row_ids = ids(10)
            expected = [f"module:{name}" for name in row_ids[: 1 + below(2)]]
            expected += ids(1) if below(4) == 0 else []
            task = {
                "task_id": f"task-{number * 7919 % count:06d}-{WORDS[number % len(WORDS)]}",
                "family": "synthetic",
                "task_prompt": text(24),
                "route_type": ("context_pack", "search", "repo_map")[number % 3],
                "expected_artifacts": expected,
                "forbidden_first_routes": ["--paper-module", "grep -r"],
                "latency_budget_ms": 500 + below(1500),
                "route_role": "first_contact",
                "scent_terms": random.sample(WORDS, k=3),
            }
            tasks.write(json.dumps(task) + "\n")
            for attempt in range(1, attempts + 1):
                packet = {
                    "task_id": task["task_id"],
                    "first_contact_command": f"context-pack --query '{text(5)}'",
                    "wall_ms": below(1_500_000) / 1000,
                    "timed_out": below(50) == 0,
                    "error": None,
                    "selected_artifacts": ids(2),
                    "selected_rows": [
                        {
                            "kind_id": "module",
                            "row_id": name,
                            "title": text(3),
                            "summary": text(8),
                            "reason": text(4),
                        }
                        for name in row_ids
                    ],
                    "summary": text(8),
                    "title": text(3),
                    "route_hint": text(4),
                }
                if attempts > 1:
                    packet["attempt"] = attempt
                out.write(json.dumps(packet) + "\n")


def decode_only(folder: Path) -> None:
    """Decode the same lines into the same typed Structs, and nothing else."""
    import msgspec

    from wayproof.fitness.packet import PacketLine
    from wayproof.fitness.task import TaskLine

    for name, kind in (("tasks", TaskLine), ("packets", PacketLine)):
        decode = msgspec.json.Decoder(kind).decode
        with (folder / f"{name}.jsonl").open("rb") as file:
            for line in file:
                decode(line)


def scoring(*, processes: int = 1, summary_only: bool = False) -> Callable[[Path], None]:
    """Score the files in ``folder`` through the public function."""

    def run(folder: Path) -> None:
        from wayproof.fitness.score import ScoreRequest, score

        request = ScoreRequest(
            tasks=folder / "tasks.jsonl",
            packets=folder / "packets.jsonl",
            processes=processes,
            summary_only=summary_only,
        )
        score(request, folder / f"out-{processes}-{summary_only}", overwrite=True)

    return run


def recall_here(folder: Path) -> None:
    """Recall and precision of every packet, through our core."""
    import msgspec

    from wayproof.fitness.judge import judge, ratio
    from wayproof.fitness.packet import PacketLine
    from wayproof.fitness.task import TaskLine, need_of

    decode_task = msgspec.json.Decoder(TaskLine).decode
    decode_packet = msgspec.json.Decoder(PacketLine).decode
    needs = {}
    for line in (folder / "qrels.jsonl").read_bytes().splitlines():
        task = decode_task(line)
        needs[task.task_id] = need_of(task)
    values = {}
    for line in (folder / "run.jsonl").read_bytes().splitlines():
        packet = decode_packet(line)
        need = needs[packet.task_id]
        found = judge(need, packet)
        values[packet.task_id] = (
            ratio(len(found.found), len(need.expected)),
            ratio(found.relevant_count, len(found.selected)),
        )
    (folder / "ours.json").write_text(json.dumps(values))


def recall_pytrec_eval(folder: Path) -> None:
    """Do the same from the same lines with pytrec_eval, which needs qrels and runs as dicts."""
    import msgspec
    import pytrec_eval

    decode = msgspec.json.decode
    qrels = {}
    for line in (folder / "qrels.jsonl").read_bytes().splitlines():
        row = decode(line)
        qrels[row["task_id"]] = dict.fromkeys(row["expected_artifacts"], 1)
    runs = {}
    for line in (folder / "run.jsonl").read_bytes().splitlines():
        row = decode(line)
        runs[row["task_id"]] = dict.fromkeys(row["selected_artifacts"], 1.0)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"set_recall", "set_P"})
    scores = evaluator.evaluate(runs)
    values = {
        name: (round(score["set_recall"], 4), round(score["set_P"], 4))
        for name, score in scores.items()
    }
    (folder / "theirs.json").write_text(json.dumps(values))


CONTENDERS: dict[str, Callable[[Path], None]] = {
    "decode only (msgspec, typed)": decode_only,
    "score, all files": scoring(),
    "score, --summary-only": scoring(summary_only=True),
    "score, all files, 2 processes": scoring(processes=2),
    "score, --summary-only, 2 processes": scoring(processes=2, summary_only=True),
    "recall and precision, ours": recall_here,
    "recall and precision, pytrec_eval": recall_pytrec_eval,
}


def _child(name: str, folder: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--child", name, "--folder", str(folder)],
        check=True,
        capture_output=True,
        text=True,
    )
    return dict(json.loads(done.stdout))


def _peak_mb() -> float:
    """Return this process's peak resident memory (ru_maxrss may remember its parent's)."""
    status = Path("/proc/self/status")
    if status.exists():
        high_water = next(line for line in status.open() if line.startswith("VmHWM"))
        return int(high_water.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _run_child(name: str, folder: Path) -> None:
    started_s, cpu_s = time.perf_counter(), time.process_time()
    CONTENDERS[name](folder)
    measured = {
        "wall_s": time.perf_counter() - started_s,
        "cpu_s": time.process_time() - cpu_s,
        "peak_mb": _peak_mb(),
    }
    print(json.dumps(measured))


def _recall_inputs(folder: Path) -> None:
    """Write the ids alone, for the comparison at equal work."""
    with (folder / "qrels.jsonl").open("w") as qrels:
        for line in (folder / "tasks.jsonl").open():
            task = json.loads(line)
            kept = {name: task[name] for name in ("task_id", "expected_artifacts")}
            qrels.write(json.dumps(kept) + "\n")
    with (folder / "run.jsonl").open("w") as run:
        for line in (folder / "packets.jsonl").open():
            packet = json.loads(line)
            rows = [f"{row['kind_id']}:{row['row_id']}" for row in packet["selected_rows"]]
            kept = {"task_id": packet["task_id"], "selected_artifacts": rows}
            run.write(json.dumps(kept) + "\n")


def _startup_ms(rounds: int) -> tuple[float, float]:
    def once(arguments: list[str]) -> float:
        started_s = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        return (time.perf_counter() - started_s) * 1000

    bare, ours = [], []
    for _ in range(4 * rounds):
        bare.append(once(["-c", "pass"]))
        ours.append(once(["-m", "wayproof", "--version"]))
    return statistics.median(bare), statistics.median(ours)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        _run_child(args.child, args.folder)
        return
    with tempfile.TemporaryDirectory(prefix="wayproof-bench-") as name:
        _compare(Path(name), args.cases, args.rounds)


def _compare(folder: Path, cases: int, rounds: int) -> None:
    make_cases(folder, cases)
    _recall_inputs(folder)
    size = sum((folder / f"{name}.jsonl").stat().st_size for name in ("tasks", "packets"))
    python = sys.version.split()[0]
    print(f"{cases} cases, {size / cases:.0f} bytes each, {rounds} rounds, python {python}\n")
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    for _ in range(rounds):
        for name in CONTENDERS:
            runs[name].append(_child(name, folder))
    _print_table(runs)
    equal = json.loads((folder / "ours.json").read_text()) == json.loads(
        (folder / "theirs.json").read_text()
    )
    print(f"\nrecall and precision equal pytrec_eval's on all {cases} cases: {equal}")
    assert equal
    bare_ms, ours_ms = _startup_ms(rounds)
    print(f"start-up: python -c pass {bare_ms:.1f} ms, wayproof --version {ours_ms:.1f} ms")
    with tempfile.TemporaryDirectory(prefix="wayproof-bench-") as name:
        many = Path(name)
        few = max(1, cases // 10)
        make_cases(many, few, attempts=10)
        peak_mb = _child("score, all files", many)["peak_mb"]
        print(f"peak memory with {few} tasks × 10 attempts: {peak_mb:.0f} MB")


def _print_table(runs: dict[str, list[dict[str, float]]]) -> None:
    base = [run["wall_s"] for run in runs["decode only (msgspec, typed)"]]
    one = [run["wall_s"] for run in runs["score, all files"]]
    print(f"{'contender':<36}{'wall s':>8}{'× decode':>10}{'peak MB':>9}")
    for name, rows in runs.items():
        walls = [row["wall_s"] for row in rows]
        ratio = statistics.median(w / b for w, b in zip(walls, base, strict=True))
        peak_mb = max(row["peak_mb"] for row in rows)
        print(f"{name:<36}{statistics.median(walls):>8.2f}{ratio:>10.2f}{peak_mb:>9.0f}")
    two = [run["wall_s"] for run in runs["score, all files, 2 processes"]]
    speedup = statistics.median(a / b for a, b in zip(one, two, strict=True))
    print(f"\n2 processes are {speedup:.2f} × as fast as one")


if __name__ == "__main__":
    main()
