"""Worker processes killed at random moments: the run ends, says so and leaves nothing."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from conftest import write_lines

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="children are found in /proc"
)

RUNS_OF_EACH = 17
_WAIT_S = 60.0


def _commands(folder: Path) -> dict[str, list[str]]:
    tasks = [
        {"task_id": f"t{n:05d}", "expected_artifacts": [f"a{n}"], "task_prompt": "p" * 400}
        for n in range(6000)
    ]
    packets = [
        {"task_id": f"t{n:05d}", "wall_ms": n % 900, "selected_artifacts": [f"a{n}", "b"] * 9}
        for n in range(6000)
    ]
    suite = folder / "suite"
    subprocess.run(
        [sys.executable, "-m", "wayproof", "recovery", "generate", "--grids", "300", "--seed", "7",
         "--out", suite],
        check=True, capture_output=True,
    )  # fmt: skip
    return {
        "score": [
            "fitness", "score", "--tasks", str(write_lines(folder / "tasks.jsonl", tasks)),
            "--packets", str(write_lines(folder / "packets.jsonl", packets)),
        ],
        "generate": ["recovery", "generate", "--grids", "1500", "--seed", "5"],
        "run": ["recovery", "run", "--suite", str(suite)],
    }  # fmt: skip


def _children(pid: int) -> list[int]:
    try:
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _run_and_kill(
    command: list[str], out: Path, after_s: float, random_: random.Random
) -> int | None:
    """Start a run, kill one of its workers once it has any, and return its status.

    None when it ended before anything was killed.
    """
    run = subprocess.Popen(
        [sys.executable, "-m", "wayproof", *command, "--processes", "3", "--out", out],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    killed = False
    deadline = time.monotonic() + _WAIT_S
    try:
        while run.poll() is None and len(_children(run.pid)) < 3 and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(after_s)
        workers = _children(run.pid)
        if workers:
            try:
                os.kill(random_.choice(workers), signal.SIGKILL)
                killed = True
            except ProcessLookupError:
                pass
        _, err = run.communicate(timeout=_WAIT_S)
    finally:
        run.kill()
        run.wait()
    if not killed or run.returncode == 0:
        return None  # it was done before the worker was missed
    assert b"a worker process was killed" in err
    return run.returncode


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["score", "generate", "run"])
def test_a_killed_worker_ends_every_run(tmp_path: Path, name: str) -> None:
    """No hang, exit status 2, and nothing left of what was being written."""
    random_ = random.Random(name)
    folder = tmp_path / "inputs"
    folder.mkdir()
    command = _commands(folder)[name]
    place = tmp_path / "place"
    place.mkdir()
    statuses: Counter[int | None] = Counter()
    longest_s = 1.0
    for number in range(10 * RUNS_OF_EACH):
        started = time.monotonic()
        status = _run_and_kill(command, place / "out", random_.uniform(0, longest_s), random_)
        statuses[status] += 1
        if status is None:  # the whole run's length bounds the moments worth trying
            longest_s = min(longest_s, time.monotonic() - started) * 0.9
            subprocess.run(["rm", "-rf", place / "out"], check=True)
        assert list(place.iterdir()) == [], number
        if statuses[2] == RUNS_OF_EACH:
            break
    assert statuses[2] == RUNS_OF_EACH
    assert set(statuses) <= {2, None}
