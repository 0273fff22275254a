"""Whatever is done to a log, an adapter gives a clean packet or a clean error."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capture.capture_logs import FIXTURES
from wayproof.capture import FORMATS, Captured, Problems, capture_file
from wayproof.cli import main
from wayproof.errors import InputError

# No fixture is another's sub-agent file; those are read with their parents.
LOGS = sorted(
    path for path in FIXTURES.rglob("*") if path.is_file() and not path.name.endswith(".meta.json")
)
ODD: list[Any] = [
    None, True, 0, -1, 1.5, 10**30, "", "x", "\ud800", [], {}, [[]], [None], {"a": {}}, "\x00",
    ["x", 1], {"type": "text"}, "attachment://x", "2026-13-99", "{", float("nan"), 2**63,
]  # fmt: skip


def _clean(path: Path, format_name: str | None) -> None:
    message = ""
    found: list[Captured] = []
    try:
        found = list(capture_file(path, problems=Problems(), format_name=format_name))
    except InputError as error:
        message = str(error)
    assert message.isprintable()
    for one in found:
        packet = one.packet
        text = json.dumps(packet, allow_nan=False)
        text.encode()
        assert packet["timed_out"] in {True, False}
        assert packet["error"] is None or isinstance(packet["error"], str)
        assert all(isinstance(name, str) and name for name in packet["selected_artifacts"])
        assert packet.get("wall_ms", 0) >= 0
        first = packet["first_contact_command"]
        assert isinstance(first, str) or packet["first_contact_reason"]


def _changed(value: Any, draw: random.Random, chance: float) -> Any:
    """Replace, drop or repeat parts of a JSON value at random."""
    if draw.random() < chance:
        return draw.choice(ODD)
    if isinstance(value, dict):
        return {
            (draw.choice(list(value)) if draw.random() < chance else key): _changed(
                one, draw, chance
            )
            for key, one in value.items()
            if draw.random() > chance
        }
    if isinstance(value, list):
        found = [_changed(one, draw, chance) for one in value if draw.random() > chance]
        return found * 2 if draw.random() < chance else found
    return value


def _damaged(data: bytes, draw: random.Random) -> bytes:
    """Cut, flip, insert and repeat bytes."""
    changed = bytearray(data)
    for _ in range(draw.randrange(1, 6)):
        place = draw.randrange(len(changed) + 1)
        kind = draw.randrange(4)
        if kind == 0:
            del changed[place : place + draw.randrange(1, 40)]
        elif kind == 1 and changed:
            changed[place % len(changed)] = draw.randrange(256)
        elif kind == 2:
            changed[place:place] = draw.choice([b"\n", b"\x00", b"{", b'"', b"\xff", b"}{", b"\r"])
        else:
            changed[place:place] = changed[:200]
    return bytes(changed)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: str(log.relative_to(FIXTURES)))
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), chance=st.sampled_from([0.01, 0.05, 0.2]))
def test_changed_values(tmp_path: Path, log: Path, seed: int, chance: float) -> None:
    """Fields of any type, missing, misnamed or repeated, in a log that is still JSON."""
    draw = random.Random(seed)
    text = log.read_text(encoding="utf-8")
    path = tmp_path / log.name
    try:
        value = _changed(json.loads(text), draw, chance)
        path.write_text(json.dumps(value, indent=draw.choice([None, 1])))
    except json.JSONDecodeError:
        lines = [line for line in text.splitlines() if line.startswith("{")]
        path.write_text(
            "\n".join(json.dumps(_changed(json.loads(line), draw, chance)) for line in lines)
        )
    _clean(path, None)
    _clean(path, draw.choice(list(FORMATS)))
    assert main(["inspect", str(path)]) in {0, 2}


@pytest.mark.parametrize("log", LOGS, ids=lambda log: str(log.relative_to(FIXTURES)))
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_damaged_bytes(tmp_path: Path, log: Path, seed: int) -> None:
    """Bytes cut, flipped, inserted and repeated."""
    draw = random.Random(seed)
    path = tmp_path / log.name
    path.write_bytes(_damaged(log.read_bytes(), draw))
    _clean(path, None)
    _clean(path, draw.choice(list(FORMATS)))


@pytest.mark.parametrize("format_name", list(FORMATS))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.recursive(
            st.sampled_from(ODD[:-2]),
            lambda inner: st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "message", "content", "payload", "item", "role", "steps", "history",
                     "trajectory", "messages", "events", "samples", "kind", "action", "id",
                     "observation", "toolCalls", "resourceSpans", "name", "input", "text"]
                ), inner, max_size=5,
            ), max_leaves=15,
        ), min_size=1, max_size=4,
    )
)  # fmt: skip
def test_any_json_for_any_adapter(tmp_path: Path, format_name: str, rows: list[Any]) -> None:
    """An adapter that is told to read anything says something clean about it."""
    path = tmp_path / "any.json"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    _clean(path, format_name)
    path.write_text(json.dumps(rows, indent=1))
    _clean(path, format_name)
