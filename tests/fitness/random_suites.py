"""Tasks and packets drawn at random: small, odd, and such that they meet each other often."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from wayproof.errors import InputError
from wayproof.fitness.score import ScoreRequest, score

IDS = (
    *("a", "a:1", "a:2", "b:1", "ab", "src/x.py", "src/y.py", "é", "e\u0301", " ", "", "zz"),
    *("src/*", "*"),
)
WANTED = (*IDS, "a*", "b:*")
WORDS = (
    *("Index", "index", "ledger", "STRASSE", "straße", "é", "e\u0301", "İ", "a:1", " ", ""),
    *("x\ny", "ΐ", "ŉ", "ᾳ", "\u0345", "a", "ﬀ", "ǰ"),
)
COMMANDS = ("", " ", "grep -r index", "kernel --paper-module x", "é", "find / -name ledger", "ab")
ERRORS: tuple[Any, ...] = ("", "boom", {}, {"b": 1, "a": [1.5, None]}, "no packet captured")
WALLS_MS = (0, 0.0005, 1500, 1500.0004, 1500.0006, 2**53 - 1, 99.1, 730, 2999.999)
MANY_TERMS = 400


class Suite(NamedTuple):
    """A bundle and what it was scored from."""

    bundle: Path
    tasks: Path
    packets: Path


def _some(random: Random, values: tuple[Any, ...], most: int) -> list[Any]:
    return [random.choice(values) for _ in range(random.randrange(most + 1))]


def _object(random: Random, fields: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Draw each field, or null, or leave it out."""
    found: dict[str, Any] = {}
    for name, draw in fields.items():
        chance = random.random()
        if chance >= 0.3:
            found[name] = None if chance < 0.4 else draw()
    return found


def _task(random: Random, number: int) -> dict[str, Any]:
    name = random.choice(("t", "t", "a", "a#", "é", "x#"))

    def terms() -> list[str]:
        if random.random() < 0.9:
            return _some(random, WORDS, 4)
        return [f"w{term}" for term in range(random.randrange(90, MANY_TERMS))]

    return {
        "task_id": f"{name}{number}",
        **_object(
            random,
            {
                "family": lambda: random.choice(("f", "public_fixture")),
                "task_prompt": lambda: random.choice(("", "why")),
                "route_type": lambda: random.choice(("search", "map", "context_pack")),
                "expected_artifacts": lambda: _some(random, WANTED, 4),
                "forbidden_first_routes": lambda: _some(
                    random, ("grep -r", "--paper-module", " ", "", "é"), 3
                ),
                "latency_budget_ms": lambda: random.choice((1, 1500, 2000, 700)),
                "route_role": lambda: random.choice(("first_contact", "x")),
                "scent_terms": terms,
                "literal_ids": lambda: _some(random, WANTED, 2),
                "relevance": lambda: dict.fromkeys(_some(random, WANTED, 3), 1),
            },
        ),
    }


def _row(random: Random) -> dict[str, Any]:
    return _object(
        random,
        {
            "kind_id": lambda: "a",
            "row_id": lambda: random.choice("12"),
            "artifact_ids": lambda: _some(random, IDS, 2),
            "title": lambda: random.choice(WORDS),
        },
    )


def _packet(random: Random, task_id: str, attempt: int | None) -> dict[str, Any]:
    def summary() -> str:
        if random.random() < 0.8:
            return " ".join(_some(random, WORDS, 3))
        return " ".join(f"w{term}" for term in range(random.randrange(MANY_TERMS)))

    return {
        "task_id": task_id,
        **({} if attempt is None else {"attempt": attempt}),
        **_object(
            random,
            {
                "first_contact_command": lambda: random.choice(COMMANDS),
                "command_used": lambda: random.choice(COMMANDS),
                "wall_ms": lambda: random.choice((*WALLS_MS, random.random() * 3000)),
                "timed_out": lambda: random.random() < 0.4,
                "error": lambda: random.choice((*ERRORS, None, None, None, None)),
                "selected_artifacts": lambda: _some(random, IDS, 4),
                "selected_rows": lambda: [_row(random) for _ in range(random.randrange(3))],
                "summary": summary,
                "title": lambda: random.choice(WORDS),
                "route_hint": lambda: random.choice(WORDS),
            },
        ),
    }


def _write(path: Path, random: Random, rows: list[dict[str, Any]]) -> Path:
    is_ascii = random.random() < 0.5
    path.write_text("".join(json.dumps(row, ensure_ascii=is_ascii) + "\n" for row in rows))
    return path


def random_suite(folder: Path, random: Random, most_tasks: int = 4) -> Suite | None:
    """Score random tasks and packets, in either form; None where scoring refuses them."""
    tasks = [_task(random, number) for number in range(random.randrange(1, most_tasks + 1))]
    packets = []
    for task in tasks:
        count = random.choice((0, 1, 1, 1, 2, 3))
        numbers = [random.choice((None, 1, 3))] if count == 1 else [*range(1, count + 1)]
        packets += [_packet(random, task["task_id"], number) for number in numbers]
    has_stranger = random.random() < 0.1
    if has_stranger:
        packets.append(_packet(random, "stranger", None))
    random.shuffle(packets)
    request = ScoreRequest(
        tasks=_write(folder / "tasks.jsonl", random, tasks),
        packets=_write(folder / "packets.jsonl", random, packets),
        ignore_unknown=has_stranger or random.random() < 0.1,
        summary_only=random.random() < 0.1,
    )
    out = folder / "out"
    try:
        score(request, out, overwrite=True, first_form=random.random() < 0.2)
    except InputError:
        return None
    return Suite(out, request.tasks, request.packets)
