"""How fast a Claude Code log is captured, against merely decoding its lines.

    .venv/bin/python benchmarks/capture_speed.py [--size-mb 1024] [--rounds 3]

Makes a log of the given size in a temporary folder and measures, each in a process of its
own: msgspec decoding every line untyped, and ``wayproof capture``, once for sessions that
edit early (the usual case: what follows the cut is skipped) and once for sessions that
never edit (every line belongs to a route). Prints medians over the rounds, the
median of each round's ratio, and the peak memory.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

LINES_PER_SESSION = 400


CALLS: list[tuple[str, dict[str, str]]] = [
    ("Read", {"file_path": "{path}"}),
    ("Bash", {"command": "cd /home/dev/app && rg -n 'value_{step}' src | head -20"}),
    ("Read", {"file_path": "{path}"}),
    ("Grep", {"pattern": "value", "path": "src"}),
    ("Bash", {"command": "sed -n '{step},+80p' {path}; git log --oneline -5 -- {path}"}),
]


def decode_all(path: str) -> None:
    import msgspec

    decode = msgspec.json.Decoder().decode
    with Path(path).open("rb") as file:
        for line in file:
            decode(line)


def capture_all(path: str) -> None:
    from wayproof.cli import main

    status = main(["capture", path, "--out", "/dev/null"])
    assert status == 0


def session_lines(number: int, text: str, *, edits: bool, draw: random.Random) -> Iterator[str]:
    common = {
        "isSidechain": False, "userType": "external", "cwd": "/home/dev/app",
        "sessionId": f"session-{number:05}", "version": "2.1.0", "gitBranch": "main",
    }  # fmt: skip
    yield json.dumps({**common, "type": "user", "uuid": f"{number}-p", "parentUuid": None,
                      "timestamp": "2026-01-01T10:00:00.000Z",
                      "message": {"role": "user", "content": "find the bug"}})  # fmt: skip
    for step in range(LINES_PER_SESSION // 2):
        name = f"toolu_{number:05}_{step:04}"
        path = f"/home/dev/app/src/module_{step % 40}.py"
        tool, given = CALLS[step % len(CALLS)]
        spelled = {
            "path": path,
            "step": f"{number}_{step}",
        }  # no command twice: no luck with caches
        arguments = {key: value.format(**spelled) for key, value in given.items()}
        call = {"type": "tool_use", "id": name, "name": tool, "input": arguments}
        if edits and step == 12:
            call |= {"name": "Edit", "input": {"file_path": path, "old_string": text[:400]}}
        yield json.dumps({**common, "type": "assistant", "uuid": f"{number}-{step}-a",
                          "timestamp": f"2026-01-01T10:{step % 60:02}:01.000Z",
                          "message": {"id": f"msg_{number}_{step}", "role": "assistant",
                                      "content": [call], "usage": {}}})  # fmt: skip
        start = draw.randrange(2000)
        output = text[start : start + draw.randrange(500, 9000)]
        yield json.dumps({**common, "type": "user", "uuid": f"{number}-{step}-r",
                          "timestamp": f"2026-01-01T10:{step % 60:02}:02.000Z",
                          "message": {"role": "user", "content": [
                              {"tool_use_id": name, "type": "tool_result", "content": output}]},
                          "toolUseResult": {"type": "text", "file": {
                              "filePath": path, "content": output, "numLines": 9,
                              "startLine": 1, "totalLines": 9}}})  # fmt: skip


def make_log(path: Path, size_mb: int, *, edits: bool) -> int:
    draw = random.Random(7)
    words = ["def", "return", "self", "value", "\n    ", '"quoted"', "naïve", "path/to/file", "→"]
    text = " ".join(draw.choice(words) for _ in range(4000))
    size = 0
    number = 0
    with path.open("w", encoding="utf-8") as file:
        while size < size_mb << 20:
            number += 1
            for line in session_lines(number, text, edits=edits, draw=draw):
                size += file.write(line + "\n")
    return number


def measured(kind: str, path: Path) -> tuple[float, float]:
    """Return (seconds, peak MB) of one run in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", kind, str(path)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    seconds, peak_mb = done.stdout.split()
    return float(seconds), float(peak_mb)


def child(kind: str, path: str) -> None:
    work = {"decode": decode_all, "capture": capture_all}[kind]
    start = time.perf_counter()
    work(path)
    seconds = time.perf_counter() - start
    # Not getrusage(): its peak is inherited from whoever started the process.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    print(seconds, int(status.split("VmHWM:")[1].split()[0]) / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size-mb", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=2, metavar=("KIND", "PATH"))
    args = parser.parse_args()
    if args.child:
        child(*args.child)
        return
    print("| log | sessions | decode untyped | capture | ratio | capture peak |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for edits in (True, False):
            path = Path(folder) / "log.jsonl"
            sessions = make_log(path, args.size_mb, edits=edits)
            # In turn, so that the machine's other work falls on both alike.
            rounds = [(measured("decode", path), measured("capture", path))
                      for _ in range(args.rounds)]  # fmt: skip
            ratio = statistics.median(run[0] / unit[0] for unit, run in rounds)
            decode = statistics.median(unit[0] for unit, _ in rounds)
            seconds = statistics.median(run[0] for _, run in rounds)
            peak_mb = max(run[1] for _, run in rounds)
            what = "edits early" if edits else "never edits"
            print(f"| {args.size_mb} MB, {what} | {sessions} | {decode:.2f} s | {seconds:.2f} s "
                  f"| {ratio:.2f} | {peak_mb:.0f} MB |")  # fmt: skip


if __name__ == "__main__":
    main()
