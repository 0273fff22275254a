"""Bundles to show, to measure and to test reports with, made by the command line itself."""

import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec

from wayproof.cli import main
from wayproof.evidence.recovery_records import FINISH, Action
from wayproof.recovery.agents.policy import Observation, client_agent
from wayproof.recovery.planner import cost_to_go, next_cell
from wayproof.recovery.run import RunRequest, run_suite
from wayproof.recovery.suite import suite_path
from wayproof.stats.seeded import SplitMix64, stream

__all__ = [
    "HOSTILE_TEXTS",
    "fitness_bundle",
    "hostile_bundle",
    "recovery_bundle",
    "task_pairs",
    "walker_bundles",
    "worse_bundle",
]

ROUTE_TYPES = ("context_pack", "keyword_search", "symbol_lookup", "graph_walk", "doc_index")
WORDS = (
    "cold", "start", "index", "repo", "path", "store", "roof", "theory", "agent", "ledger", "queue",
    "session", "route", "scent", "budget", "parser", "cache", "token", "diagnostics",
)  # fmt: skip
BUDGETS_MS = (300, 800, 1500)

HOSTILE_TEXTS = (
    "<script>document.title='pwned'</script>",
    "</script><script>document.title='pwned'</script>",
    "</style><style>*{display:none}</style>",
    "<img src=x onerror=\"document.title='pwned'\">",
    "javascript:document.title='pwned'",
    "\x1b[31mred\x1b[0m \x07bell",
    "\u202egnp.exe \u2066isolated\u2069",
    "<!-- --!> ]]> \u2028 \u2029 \ufeff",
    "{{ 7*7 }} {% raw %} ${7*7} %s %n",
    "שלום עולם مرحبا 👩\u200d🚀🏳️\u200d🌈",
    "i" * 300,
    "\"'`<&>\\",
)


def _pick(draw: SplitMix64, options: tuple[Any, ...]) -> Any:
    return options[draw.below(len(options))]


def _text(draw: SplitMix64, words: int) -> str:
    return " ".join(_pick(draw, WORDS) for _ in range(words))


def _task(draw: SplitMix64, number: int) -> dict[str, Any]:
    route = ROUTE_TYPES[min(draw.below(7), 4)]
    expected = [f"{route}:{_pick(draw, WORDS)}_{draw.below(500)}" for _ in range(1 + draw.below(4))]
    return {
        "task_id": f"{_pick(draw, WORDS)}_{_pick(draw, WORDS)}_{number:06d}",
        "family": _pick(draw, ("core", "tools", "docs")),
        "task_prompt": f"Where does the {_text(draw, 8)} live, and what must be read first?",
        "route_type": route,
        "expected_artifacts": expected,
        "forbidden_first_routes": ["--paper-module", "grep -r"],
        "latency_budget_ms": _pick(draw, BUDGETS_MS),
        "scent_terms": [_pick(draw, WORDS), _pick(draw, WORDS)],
    }


def _packet(draw: SplitMix64, task: dict[str, Any], number: int) -> dict[str, Any]:
    def rarely(percent: int) -> bool:
        return draw.below(100) < percent

    wanted = [each for each in task["expected_artifacts"] if not rarely(9)]
    extra = [f"{task['route_type']}:{_pick(draw, WORDS)}_{draw.below(500)}" for _ in range(3)]
    terms = task["scent_terms"][: 1 if rarely(6) else 2]
    command = f"navigate --query {_text(draw, 3)}"
    if rarely(7):
        command = f"grep -r {_pick(draw, WORDS)} src --paper-module"
    return {
        "task_id": task["task_id"],
        "first_contact_command": command,
        "wall_ms": None if rarely(4) else 40 + draw.below(20 * (1 + draw.below(90))),
        "timed_out": rarely(2),
        "error": "index not built" if rarely(2) else None,
        "selected_artifacts": wanted + extra[: draw.below(4)],
        "title": f"pack {number}",
        "summary": f"{' '.join(terms)} {_text(draw, 8)}",
        "source": {"file": "sessions/day.jsonl", "line": number + 1},
    }


def task_pairs(count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Yield tasks with their packets (one in a hundred has none), the same ones each time."""
    draw = stream("wayproof.tools.samples", count)
    for number in range(count):
        task = _task(draw, number)
        yield task, None if draw.below(100) == 0 else _packet(draw, task, number)


def _write_lines(path: Path, records: "Iterator[Any] | list[Any]") -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def _score(folder: Path, pairs: "list[tuple[dict[str, Any], dict[str, Any] | None]]") -> Path:
    _write_lines(folder / "tasks.jsonl", [task for task, _ in pairs])
    _write_lines(folder / "packets.jsonl", [packet for _, packet in pairs if packet])
    return scored(folder)


def scored(folder: Path, *more: str) -> Path:
    """Score ``tasks.jsonl`` and ``packets.jsonl`` of a folder into its ``fitness`` bundle."""
    out = folder / "fitness"
    _quietly(
        "fitness",
        "score",
        "--tasks",
        str(folder / "tasks.jsonl"),
        "--packets",
        str(folder / "packets.jsonl"),
        "--out",
        str(out),
        *more,
    )
    return out


def _quietly(*arguments: str) -> None:
    with redirect_stdout(StringIO()):
        status = main(arguments)
    if status not in {0, 1}:
        raise RuntimeError(f"wayproof {' '.join(arguments)}: status {status}")


def fitness_bundle(folder: Path, count: int) -> Path:
    """Score ``count`` made-up tasks; tasks and packets lie beside the bundle."""
    return _score(folder, list(task_pairs(count)))


def worse_bundle(bundle: Path) -> Path:
    """Score the tasks of a :func:`fitness_bundle` again, with packets that got worse."""
    folder = bundle.parent / "worse"
    folder.mkdir()
    lines = (bundle.parent / "packets.jsonl").read_text("utf-8").splitlines()
    packets = [json.loads(line) for line in lines]
    for at, packet in enumerate(packets):
        if at % 29 == 0:
            packet["selected_artifacts"] = []
        if at % 17 == 0 and packet["wall_ms"]:
            packet["wall_ms"] *= 3
    _write_lines(folder / "packets.jsonl", packets)
    (folder / "tasks.jsonl").write_bytes((bundle.parent / "tasks.jsonl").read_bytes())
    return scored(folder)


def hostile_bundle(folder: Path) -> Path:
    """Score tasks and packets whose every text is hostile."""
    pairs: list[tuple[dict[str, Any], dict[str, Any] | None]] = []
    for number, text in enumerate(HOSTILE_TEXTS):
        task = {
            "task_id": f"{number:02d} {text}",
            "family": text,
            "task_prompt": f"{text}\n{text}",
            "route_type": text,
            "route_role": text,
            "expected_artifacts": [text, f"missing {text}"],
            "forbidden_first_routes": [text],
            "scent_terms": [text, f"scent {text}"],
            "latency_budget_ms": 10,
        }
        packet = {
            "task_id": task["task_id"],
            "first_contact_command": f"run {text} then {text}",
            "command_used": f"used {text}",
            "wall_ms": 20,
            "error": {"message": text, text: [text]},
            "selected_artifacts": [text, f"extra {text}"],
            "selected_rows": [{"kind_id": text, "row_id": text, "title": text}],
            "title": text,
            "summary": text,
            "source": {"file": text, text: text},
        }
        pairs.append((task, packet))
    _write_lines(folder / "tasks.jsonl", [task for task, _ in pairs])
    _write_lines(folder / "packets.jsonl", [packet for _, packet in pairs])
    return scored(folder, "--suite", HOSTILE_TEXTS[1])


def recovery_bundle(folder: Path, suite: str = "wfrb-v0") -> Path:
    """Run the three controls on a shipped suite."""
    out = folder / suite
    _quietly("recovery", "run", "--suite", suite, "--out", str(out))
    return out


class StraightWalker:
    """An agent that takes the fewest steps, whatever they cost; a version may break at times.

    It stands for somebody's agent in two versions: the first one loses its way now and then.
    """

    name = "walker"

    def __init__(self, draw: SplitMix64, *, breaks: int = 0) -> None:
        self._breaks = draw.below(breaks) == 0 if breaks else False
        self._weighs = draw.below(2) == 0

    def propose(self, observation: Observation) -> Action:
        """Return a step that is nearest to the target."""
        if observation.position == observation.grid.target:
            return FINISH
        if self._breaks:
            raise RuntimeError("lost the way")
        grid = observation.grid
        if not self._weighs:
            flat = bytes(1 if cost else 0 for cost in grid.costs)
            grid = msgspec.structs.replace(grid, costs=flat)
        return Action(move=next_cell(grid, cost_to_go(grid), observation.position))


class UnsureWalker(StraightWalker):
    """The version that breaks once in a while."""

    def __init__(self, draw: SplitMix64) -> None:
        draw.below(3)
        super().__init__(draw, breaks=12)


def walker_bundles(folder: Path, suite: "str | Path" = "wfrb-v0") -> tuple[Path, Path]:
    """Run the two versions of somebody's agent on a shipped suite, or on a file."""
    outs = []
    for name, factory in (("walker-1", UnsureWalker), ("walker-2", StraightWalker)):
        request = RunRequest(
            suite=suite_path(str(suite)), policies=(client_agent("walker", factory),)
        )
        run_suite(request, folder / name)
        outs.append(folder / name)
    return outs[0], outs[1]
