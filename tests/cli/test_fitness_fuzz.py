"""Thousands of inputs that are nearly right: an exit status and one message, never a traceback."""

import io
import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wayproof.cli.fitness import main

INPUTS = 20_000
SEED = 20_260_101

TEXTS = (
    "a",
    "src/*",
    "*",
    " ",
    "",
    "é",
    "e\u0301",
    "x\x1b[31m",
    "\u202e",
    "a#2",
    "😀",
    "n\nl",
    "a" * 300,
)
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 5, 1.5, 2**53, -(2**53), 1e300, "", "5", [], {}, [None], [[]],
    {"a": 1}, ["a", 1], "\ud800", float("nan"), float("inf"), [{}], {"": {"": []}},
)  # fmt: skip
TASK_KEYS = (
    "task_id", "family", "task_prompt", "route_type", "expected_artifacts", "draft", "relevance",
    "forbidden_first_routes", "latency_budget_ms", "route_role", "scent_terms", "literal_ids",
    "expected_artefacts", "_comment", "wall_ms", "error",
)  # fmt: skip
PACKET_KEYS = (
    "task_id", "attempt", "first_contact_command", "command_used", "wall_ms", "timed_out", "error",
    "selected_artifacts", "selected_rows", "summary", "title", "route_hint", "expected_artifacts",
)  # fmt: skip


class Fuzzer:
    """Draws documents that are mostly right, and damages some."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def one(self, *options: Any) -> Any:
        return self._random.choice(options)

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def count(self, most: int) -> int:
        return self._random.randrange(most + 1)

    def texts(self, most: int = 3) -> list[str]:
        return [self.one(*TEXTS) for _ in range(self.count(most))]

    def value(self, key: str) -> Any:
        if self.chance(0.02):
            return self.one(*ODD)
        drawn: dict[str, Callable[[], Any]] = {
            "task_id": lambda: self.one("a", "b", "c", "a#2"),
            "expected_artifacts": self.texts,
            "forbidden_first_routes": self.texts,
            "scent_terms": self.texts,
            "literal_ids": self.texts,
            "selected_artifacts": self.texts,
            "latency_budget_ms": lambda: self.one(1, 100, 1500, 2**53 - 1),
            "relevance": lambda: {text: self.one(-1, 0, 1, 3) for text in self.texts()},
            "draft": lambda: self.chance(0.3),
            "attempt": lambda: self.one(1, 2, 3, 2**53 - 1),
            "wall_ms": lambda: self.one(0, 0.0005, 99.9999, 1e6, 2**53 - 1, 5e-324),
            "timed_out": lambda: self.chance(0.3),
            "error": lambda: self.one(None, "", "boom", {}, {"code": 7, "é": ["x"]}),
            "selected_rows": lambda: [self.row() for _ in range(self.count(2))],
        }
        return drawn.get(key, lambda: self.one(*TEXTS))()

    def row(self) -> Any:
        keys = ("kind_id", "row_id", "artifact_ids", "title", "summary", "reason", "rank")
        chosen = [key for key in keys if self.chance(0.5)]
        return {key: self.texts(2) if key == "artifact_ids" else self.one(*TEXTS) for key in chosen}

    def record(self, keys: tuple[str, ...], rare: int) -> Any:
        if self.chance(0.01):
            return self.one(*ODD)
        usual, odd = keys[:-rare], keys[-rare:]
        chosen = [key for key in usual if self.chance(0.5)]
        chosen += [key for key in odd if self.chance(0.01)]
        return {"task_id": self.one("a", "b", "c")} | {key: self.value(key) for key in chosen}

    def task(self) -> Any:
        return self.record(TASK_KEYS, 4)

    def packet(self) -> Any:
        return self.record(PACKET_KEYS, 1)

    def damaged(self, data: bytes) -> bytes:
        """Now and then change a byte, cut, double a part, or add what isn't text."""
        if not data or not self.chance(0.08):
            return data
        at = self._random.randrange(len(data))
        return bytes(
            self.one(
                data[:at] + bytes([self._random.randrange(256)]) + data[at + 1 :],
                data[:at],
                data[:at] + data[at // 2 :],
                b"\xef\xbb\xbf" + data,
                data[:at]
                + self.one(b"\0", b"\xff", b"\r", b"\n", b'"', b"{", b"\\ud800")
                + data[at:],
                b"[" * 5000,
                b"\x1f\x8b" + data,
            )
        )

    def lines(self, make: Callable[[], Any]) -> bytes:
        rows = [make() for _ in range(self.count(4))]
        ends = self.one("\n", "\n", "\r\n", "\n\n")
        return self.damaged("".join(_json(row) + ends for row in rows).encode("utf-8", "replace"))

    def benchmark(self) -> Any:
        cases: Any = [
            {"task": self.task(), "packet": self.one(None, self.packet())}
            for _ in range(self.count(3))
        ]
        document = {"suite": self.one("s", None, "\x07"), "cases": cases}
        if self.chance(0.03):
            document[self.one("suite", "cases")] = self.one(*ODD)
        return document

    def case(self) -> Any:
        fields = ("task_count", "vacuous_count", "sufficiency_pass_count", "no_such_field")
        document: dict[str, Any] = {"benchmark": self.benchmark()}
        if self.chance(0.7):
            document["expected_summary"] = {self.one(*fields): self.one(0, 1, 2, None, "1")}
        if self.chance(0.4):
            wanted = {self.one("sufficiency_status", "vacuous", "x"): self.one("pass", True, 1)}
            document["expected_task_statuses"] = {self.one("a", "b", "unknown_task"): wanted}
        if self.chance(0.05):
            document[self.one("case_id", "expected_status", "expectation", "benchmark")] = self.one(
                *ODD
            )
        return document


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=len(repr(value)) % 2 == 0)


class _Streams:
    """Standard output and error in memory: a process each would take hours."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.out, self.err = (
            io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace") for _ in range(2)
        )
        monkeypatch.setattr(sys, "stdout", self.out)
        monkeypatch.setattr(sys, "stderr", self.err)

    @staticmethod
    def text(stream: io.TextIOWrapper) -> str:
        stream.flush()
        buffer = stream.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


def _run(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> int:
    with monkeypatch.context() as patch:
        streams = _Streams(patch)
        status = main(arguments)
        out, err = streams.text(streams.out), streams.text(streams.err)
    assert status in {0, 1, 2}
    assert "\x1b" not in out + err
    if status == 2:
        assert out == ""
        assert err.startswith("wayproof: ")
        assert err.count("\n") == 1
    elif "--json" in arguments:
        json.loads(out)
    return status


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_input_ends_in_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every input ends with a documented status; unusable ones with one line and no output."""
    fuzzer = Fuzzer(SEED)
    statuses: Counter[tuple[str, int]] = Counter()
    tasks, packets, one = (tmp_path / name for name in ("tasks.jsonl", "packets.jsonl", "b.json"))
    cases = tmp_path / "cases"
    cases.mkdir()
    for number in range(INPUTS):
        name = ("score", "evaluate-benchmark", "evaluate-fixtures")[number % 3]
        if name == "score":
            tasks.write_bytes(fuzzer.lines(fuzzer.task))
            packets.write_bytes(fuzzer.lines(fuzzer.packet))
            arguments = ["--tasks", str(tasks), "--packets", str(packets), "--ignore-unknown"]
            arguments += fuzzer.one(["--summary-only"], [], ["--min-sufficient", "50%"])
        else:
            document = fuzzer.benchmark() if name == "evaluate-benchmark" else fuzzer.case()
            data = fuzzer.damaged(_json(document).encode("utf-8", "replace"))
            (one if name == "evaluate-benchmark" else cases / "c.json").write_bytes(data)
            arguments = (
                ["--benchmark", str(one)]
                if name == "evaluate-benchmark"
                else ["--input", str(cases)]
            )
        if number % 5:  # tables take ten times as long as JSON
            arguments.append("--json")
        statuses[name, _run(monkeypatch, [name, *arguments])] += 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "b.json", "cases", "packets.jsonl", "tasks.jsonl",
    ]  # fmt: skip
    for name in ("score", "evaluate-benchmark", "evaluate-fixtures"):
        assert statuses[name, 2] > INPUTS // 30, statuses  # damage was done
        assert statuses[name, 0] > INPUTS // 1_000, statuses  # and not to everything
