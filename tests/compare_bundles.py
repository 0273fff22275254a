"""Bundles to compare, made by scoring."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from conftest import write_lines
from wayproof.fitness.score import ScoreRequest, score

Rows = Sequence[dict[str, Any]]
MakeBundle = Callable[..., Path]


def tasks_of(count: int, families: int = 8) -> list[dict[str, Any]]:
    """Tasks that expect two ids each, in families."""
    return [
        {
            "task_id": f"t{number:03}",
            "family": f"f{number % families}",
            "expected_artifacts": [f"a{number}", f"b{number}"],
            "latency_budget_ms": 100,
        }
        for number in range(count)
    ]


def packets_of(tasks: Rows, *, wall_ms: float | None = 50) -> list[dict[str, Any]]:
    """Packets that find everything, in time."""
    return [
        {
            "task_id": task["task_id"],
            "first_contact_command": "look",
            "selected_artifacts": ["x", *task["expected_artifacts"]],
            **({} if wall_ms is None else {"wall_ms": wall_ms}),
        }
        for task in tasks
    ]


@pytest.fixture
def make_bundle(tmp_path: Path) -> MakeBundle:
    """Score tasks and packets into a folder of this name."""

    def make(name: str, tasks: Rows, packets: Rows, **options: Any) -> Path:
        inputs = tmp_path / f"{name}-inputs"
        inputs.mkdir()
        request = ScoreRequest(
            tasks=write_lines(inputs / "tasks.jsonl", tasks),
            packets=write_lines(inputs / "packets.jsonl", packets),
            **options,
        )
        score(request, tmp_path / name)
        return tmp_path / name

    return make
