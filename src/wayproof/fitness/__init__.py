"""Navigation fitness: whether the first move landed on the right rows, and in time.

An evaluator, not a route runner: it scores packets that were captured earlier.
Sufficiency (right things) and latency (in time) are two axes and never one score.
"""

from typing import TYPE_CHECKING, Any

from wayproof.fitness.benchmark import evaluate_benchmark
from wayproof.fitness.cases import builtin_case_dir, evaluate_case, evaluate_fixture_dir
from wayproof.fitness.judge import evaluate_task
from wayproof.fitness.task import NavigationFitnessTask, task_from_mapping

if TYPE_CHECKING:
    from wayproof.cli.fitness import build_parser, main

__all__ = [
    "NavigationFitnessTask",
    "build_parser",
    "builtin_case_dir",
    "evaluate_benchmark",
    "evaluate_case",
    "evaluate_fixture_dir",
    "evaluate_task",
    "main",
    "task_from_mapping",
]


def __getattr__(name: str) -> Any:
    """Fetch ``build_parser`` and ``main`` from the command line, which imports this room."""
    if name in {"build_parser", "main"}:
        from wayproof.cli import fitness

        return getattr(fitness, name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
