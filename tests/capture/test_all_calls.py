"""No call of a log disappears: each is of one kind, or was passed over for a reason."""

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capture.capture_logs import FIXTURES, claude_call, claude_line, claude_result
from wayproof.capture import FORMATS, Problems
from wayproof.capture.lines import Source
from wayproof.capture.registry import read_log
from wayproof.capture.route import RouteCutter, Until
from wayproof.capture.session import Call, Event, SessionInfo
from wayproof.capture.sessions import Sessions
from wayproof.errors import InputError

KINDS = {"navigation", "execution", "creation", "edit", "outside_write", "bookkeeping"}


class Both(RouteCutter):
    """A cutter that also counts what it is handed."""

    def __init__(self, info: SessionInfo) -> None:
        super().__init__(info, until=Until("answer"))
        self.calls = 0

    def take(self, event: Event) -> bool:
        if isinstance(event, Call):
            self.calls += 1
        return super().take(event)


def _cutters(path: Path, format_name: str | None = None) -> list[Both]:
    cutters: dict[str, Both] = {}

    def sinks_of(info: SessionInfo) -> list[Both]:
        cutters[info.key] = Both(info)
        return [cutters[info.key]]

    read_log(Source(path, problems=Problems()), Sessions(sinks_of), format_name=format_name)
    return list(cutters.values())


def _lines(seed: int) -> tuple[list[dict[str, Any]], int]:
    """A session of random calls, one prompt and no answer; and how many calls stand in it."""
    draw = random.Random(seed)
    commands = ["cat a.py", "pytest", "echo x > n.py", "sed -i s/a/b/ a.py", "echo x > /tmp/x",
                "git add .", "python n.py", "(broken", "rm n.py", "cd /x", "true", ""]  # fmt: skip
    tools: list[tuple[str, Callable[[], dict[str, Any]]]] = [
             ("Bash", lambda: {"command": draw.choice(commands)}),
             ("Read", lambda: {"file_path": "/repo/a.py"}), ("TodoWrite", dict),
             ("Write", lambda: {"file_path": f"/repo/{draw.choice('abc')}.py"}),
             ("mcp__hub__create_issue", dict), ("Unheard", lambda: {"x": draw.random()}),
             ("Edit", dict), ("ToolSearch", dict), ("Grep", lambda: {"pattern": "x"})]  # fmt: skip
    lines = [claude_line("user", "do it", 0)]
    count = draw.randrange(1, 25)
    for number in range(1, 2 * count, 2):
        tool, arguments = draw.choice(tools)
        # An id may be used again; a call is a copy only where name and input are the same.
        given: dict[str, Any] = {**arguments(), "n": number}
        call = claude_call(number, tool, given)
        if draw.random() < 0.3:
            call["message"]["content"][0]["id"] = "t1"
        lines.append(call)
        if draw.random() < 0.8:
            name = call["message"]["content"][0]["id"].removeprefix("t")
            failed = draw.random() < 0.2
            lines.append(claude_result(number + 1, int(name), "x", is_error=failed))
    return lines, count


@pytest.mark.parametrize("seed", range(40))
def test_every_call_is_of_one_kind(seed: int, tmp_path: Path) -> None:
    """Counted in the file by hand, and again by kind in the route that edits don't end."""
    lines, count = _lines(seed)
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (cutter,) = _cutters(log)
    route = cutter.finish()
    kinds = Counter(step.kind for step in route.steps)
    assert set(kinds) <= KINDS
    assert sum(kinds.values()) == count == cutter.calls
    assert len({step.number for step in route.steps}) == count


def _mutated(data: bytes, draw: random.Random) -> bytes:
    """Change, drop, double or cut something, as damage and foreign writers do."""
    body = bytearray(data)
    for _ in range(draw.randrange(1, 6)):
        if not body:
            return b""
        place = draw.randrange(len(body))
        what = draw.randrange(6)
        if what == 0:
            body[place] = draw.randrange(256)
        elif what == 1:
            del body[place : place + draw.randrange(1, 40)]
        elif what == 2:
            body[place:place] = body[place : place + draw.randrange(1, 80)]
        elif what == 3:
            body[place:place] = draw.choice([b"null", b'"', b"{}", b"[", b"\n", b"\\u0000", b"1e9"])
        elif what == 4:
            del body[place:]
        else:
            words = [b'"type"', b'"content"', b'"name"', b'"id"', b"true", b"0"]
            body = bytearray(bytes(body).replace(draw.choice(words), draw.choice(words), 1))
    return bytes(body)


def _samples() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(FIXTURES.rglob("*")):
        if path.is_file() and path.stat().st_size < 60_000 and path.suffix != ".md":
            found += [(name, path) for name in FORMATS if name.replace("-", "_") in str(path)]
    return found


INPUTS = int(os.environ.get("WAYPROOF_FUZZ_INPUTS", "10000"))
"""How many inputs a reader gets."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_mutated_fixtures_give_packets_or_a_message(name: str, tmp_path: Path) -> None:
    """Any damage: every session is finished, or the log is refused with a message."""
    samples = [path for known, path in _samples() if known == name]
    draw = random.Random(f"mutations of {name}")
    for number in range(INPUTS if samples else 0):
        path = tmp_path / f"{number}{samples[number % len(samples)].suffix}"
        path.write_bytes(_mutated(samples[number % len(samples)].read_bytes(), draw))
        try:
            cutters = _cutters(path, name)
        except InputError:
            continue
        for cutter in cutters:
            kinds = Counter(step.kind for step in cutter.finish().steps)
            assert set(kinds) <= KINDS
        path.unlink()
