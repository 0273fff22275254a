"""Shards, engines and exports as ratios within one run; every compared result has the same bytes.

    python benchmarks/scale_speed.py [--grids 2000] [--shards 8] [--packets 100000] [PART …]

Parts: recovery, fitness, engines, parquet (all by default). Engines and Parquet need the extras
``dask``, ``parquet`` and ``ray``; what is missing is said.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

RECOVERY = ("results.jsonl", "suite.jsonl", "summary.json", "traces.jsonl")
FITNESS = ("debts.jsonl", "results.jsonl", "summary.json")
PARTS = ("recovery", "fitness", "engines", "parquet")


def ran(*words: object) -> tuple[float, float]:
    """Run the command line in a process of its own; return its processor and wall seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    command = [sys.executable, "-m", "wayproof", *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall_s = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu_s, wall_s


def same(one: Path, other: Path, names: Sequence[str]) -> None:
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def sharded(folder: Path, work: list[object], shards: int, merge: list[object]) -> float:
    """Do all shards one after another and merge them; return processor seconds."""
    parts = [folder / f"part-{number}" for number in range(1, shards + 1)]
    total = 0.0
    for number, part in enumerate(parts, 1):
        total += ran(*work, "--shard", f"{number}/{shards}", "--out", part)[0]
    return total + ran("merge", *reversed(parts), *merge)[0]


def say_shards(what: str, single: float, parts: float, shards: int) -> None:
    print(
        f"| {what} | one process {single:.1f} s | {shards} shards and merge {parts:.1f} s "
        f"| {parts / single:.2f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", metavar="PART", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--grids", type=int, default=2000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--packets", type=int, default=100_000)
    options = parser.parse_args()
    wanted = options.parts or PARTS
    print("| what | | | ratio |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        suite = folder / "suite.jsonl"
        if {"recovery", "engines", "parquet"} & {*wanted}:
            ran("recovery", "generate", "--seed", 3, "--grids", options.grids, "--out", suite)
        run: list[object] = ["recovery", "run", "--suite", suite, "--seeds", 0]
        whole = folder / "whole"
        if "recovery" in wanted or "parquet" in wanted:
            single, _ = ran(*run, "--out", whole)
        if "recovery" in wanted:
            merged = folder / "merged"
            parts = sharded(folder, run, options.shards, ["--out", merged])
            same(whole, merged, RECOVERY)
            say_shards(
                f"recovery, {options.grids} grids, processor time", single, parts, options.shards
            )
        if "fitness" in wanted:
            fitness(folder / "fitness", options.packets, options.shards)
        if "engines" in wanted:
            engines(folder, suite)
        if "parquet" in wanted:
            parquet(whole, folder / "columns")


def fitness(folder: Path, count: int, shards: int) -> None:
    folder.mkdir()
    tasks, packets = folder / "tasks.jsonl", folder / "packets.jsonl"
    with tasks.open("w") as task_file, packets.open("w") as packet_file:
        for number in range(count):
            task_file.write(
                f'{{"task_id":"t{number:07}","expected_artifacts":["src/{number}.py"],'
                '"scent_terms":["index","ranking"]}\n'
            )
            rows = ",".join(f'"src/{number + 7 * row}.py"' for row in range(10))
            packet_file.write(
                f'{{"task_id":"t{number:07}","selected_artifacts":[{rows}],'
                f'"summary":"how the index is built, part {number}","wall_ms":{number % 900}}}\n'
            )
    work: list[object] = ["fitness", "score", "--tasks", tasks, "--packets", packets]
    single, _ = ran(*work, "--processes", 1, "--out", folder / "whole")
    merge: list[object] = ["--tasks", tasks, "--packets", packets, "--out", folder / "merged"]
    parts = sharded(folder, work, shards, merge)
    same(folder / "whole", folder / "merged", FITNESS)
    say_shards(f"fitness, {count} packets, processor time", single, parts, shards)


def engines(folder: Path, suite: Path) -> None:
    """Time runs on an engine that has started already, beside the local pool."""
    import warnings

    from wayproof.errors import InputError
    from wayproof.parallel.engines import engine
    from wayproof.recovery.run import RunRequest, run_suite

    warnings.simplefilter("ignore")
    request = RunRequest(suite, policy_seeds=(0,), processes=2)
    warm = RunRequest(suite, policy_seeds=(7,), processes=2)
    run_suite(warm, folder / "pool-warm")  # what is made once a process is made for all alike
    started = time.perf_counter()
    run_suite(request, folder / "pool")
    local_s = time.perf_counter() - started
    for name in ("ray", "dask"):
        try:
            with engine(name, 2) as place, redirect_stdout(StringIO()):
                small = warm._replace(executor=place.executor)
                run_suite(small, folder / f"{name}-warm")
                started = time.perf_counter()
                run_suite(request._replace(executor=place.executor), folder / name)
                engine_s = time.perf_counter() - started
        except InputError as error:
            print(f"| {name} | {error} | | |")
            continue
        same(folder / "pool", folder / name, RECOVERY)
        print(
            f"| {name} without its start, wall time | local pool of 2 {local_s:.1f} s "
            f"| {name} {engine_s:.1f} s | {engine_s / local_s:.2f} |",
            flush=True,
        )


def parquet(bundle: Path, out: Path) -> None:
    """Time the results alone: a typed decode of the lines, and the export."""
    import msgspec

    from wayproof.bundles.reader import open_bundle
    from wayproof.errors import InputError
    from wayproof.evidence.recovery_records import Result
    from wayproof.outputs.columns import tables_of
    from wayproof.outputs.export import export_bundle, parquet_writer

    try:
        write = parquet_writer()
    except InputError as error:
        print(f"| Parquet | {error} | | |")
        return
    lines = (bundle / "results.jsonl").read_bytes().splitlines()
    decode = msgspec.json.Decoder(Result).decode
    (table,) = [one for one in tables_of(open_bundle(bundle)) if one.name == "results"]
    out.mkdir()
    decode_s, write_s = [], []
    for number in range(3):
        started = time.perf_counter()
        for line in lines:
            decode(line)
        decode_s.append(time.perf_counter() - started)
        started = time.perf_counter()
        write(table, out / f"{number}.parquet")
        write_s.append(time.perf_counter() - started)
    size = (bundle / "results.jsonl").stat().st_size
    small = (out / "0.parquet").stat().st_size
    print(
        f"| Parquet results, time | typed decode {min(decode_s):.2f} s "
        f"| written {min(write_s):.2f} s | {min(write_s) / min(decode_s):.2f} |"
    )
    print(
        f"| Parquet results, size | JSON Lines {size / 1e6:.1f} MB | {small / 1e6:.2f} MB "
        f"| {size / small:.1f} smaller |"
    )
    export_bundle(bundle, "parquet", out.with_name("exported"))


if __name__ == "__main__":
    main()
