"""Verification of a fitness bundle: whatever doesn't follow is named."""

import copy
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from conftest import RunWayproof, write_lines
from wayproof.bundles.manifest import read_manifest, verify_digests
from wayproof.errors import InputError, IntegrityError
from wayproof.fitness.check_bundle import check_bundle, check_rescored
from wayproof.fitness.score import ScoreRequest, score

TASKS = [
    {
        "task_id": f"t{number}",
        "expected_artifacts": ["a*", f"x{number}"],
        "forbidden_first_routes": ["grep"] if number % 2 else [],
        "scent_terms": ["alpha", "beta", "gamma"][: number % 4],
        "route_type": f"type-{number % 2}",
    }
    for number in range(12)
]
PACKETS = [
    {
        "task_id": f"t{number}",
        "attempt": attempt,
        "first_contact_command": "grep alpha" if number % 3 else None,
        "wall_ms": None if number % 4 == 1 else number * 400 + 0.125,
        "timed_out": number == 7,
        "error": {"b": 1, "a": [1.5]} if number == 5 else None,
        "selected_artifacts": ["a1", "b", f"x{number * (attempt % 2)}"][: 1 + number % 3],
        "title": "Beta" if number % 2 else "",
    }
    for number in range(1, 12)
    for attempt in ((1, 2, 3) if number == 4 else (1,))
]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle that has a bit of everything."""
    request = ScoreRequest(
        tasks=write_lines(tmp_path / "tasks.jsonl", TASKS),
        packets=write_lines(tmp_path / "packets.jsonl", PACKETS),
    )
    score(request, tmp_path / "out")
    return tmp_path / "out"


def _repair(folder: Path) -> None:
    """Repair every digest, as a forger would."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_bytes())
    for name in manifest["files"]:
        data = (folder / name).read_bytes()
        manifest["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    path.write_bytes(rfc8785.dumps(manifest) + b"\n")


def _verify(folder: Path) -> None:
    manifest = read_manifest(folder)
    verify_digests(folder, manifest)
    check_bundle(folder, manifest)


def _edit_line(path: Path, number: int, change: Callable[[dict[str, Any]], None]) -> None:
    lines = path.read_bytes().split(b"\n")[:-1]
    row = json.loads(lines[number])
    change(row)
    lines[number] = json.dumps(row, sort_keys=True, separators=(",", ":")).encode()
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def test_an_untouched_bundle_verifies(bundle: Path, tmp_path: Path) -> None:
    """Digests, results, debts, summary, and the inputs scored again."""
    _verify(bundle)
    manifest = read_manifest(bundle)
    assert check_bundle(bundle, manifest) == 14
    check_rescored(bundle, manifest, tmp_path / "tasks.jsonl", tmp_path / "packets.jsonl")


def _changed(value: Any, random_: random.Random) -> Any:
    """Change a value into another of a plausible kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + random_.choice((1, -1, 0.25))
    if isinstance(value, str):
        return random_.choice((value + "x", "pass", "fail"))
    if isinstance(value, list):
        return random_.choice(([*value, "zz"], value[1:] if value else ["a1"]))
    return random_.choice((0, "x", True))


# What a result says that nothing else in the bundle settles: only the inputs can.
FREE_FIELDS = {
    "attempt", "command_used", "defaulted_fields", "error", "expected_artifacts", "family",
    "first_contact_command", "forbidden_status", "latency_budget_ms", "route_role",
    "route_type", "scent_coverage", "selected_artifacts", "task_id", "task_prompt", "timed_out",
    "wall_ms", "missing_scent_terms", "forbidden_first_route_hits", "scent_status",
    "literal_ids", "relevance", "selection_order", "task_sha256",
}  # fmt: skip


def test_single_forged_fields_are_caught(bundle: Path, tmp_path: Path) -> None:
    """Every derived field of a result, repaired digests or not; with the inputs, every field."""
    random_ = random.Random(1)
    results = bundle / "results.jsonl"
    pristine = results.read_bytes()
    manifest_bytes = (bundle / "manifest.json").read_bytes()
    rows = [json.loads(line) for line in pristine.split(b"\n")[:-1]]
    caught: Counter[str] = Counter()
    for _ in range(400):
        number = random_.randrange(len(rows))
        field = random_.choice(sorted(rows[number]))
        old = rows[number][field]
        new = _changed(old, random_)
        if new == old and type(new) is type(old):
            continue
        _edit_line(results, number, lambda row, f=field, v=new: row.update({f: v}))  # type: ignore[misc]
        with pytest.raises(IntegrityError, match="digest"):
            _verify(bundle)
        _repair(bundle)
        manifest = read_manifest(bundle)
        try:
            check_bundle(bundle, manifest)
        except IntegrityError:
            caught["by the bundle itself"] += 1
        else:
            assert field in FREE_FIELDS, (field, old, new)
            with pytest.raises(IntegrityError, match="other bytes"):
                check_rescored(
                    bundle, manifest, tmp_path / "tasks.jsonl", tmp_path / "packets.jsonl"
                )
            caught["by scoring again"] += 1
        results.write_bytes(pristine)
        (bundle / "manifest.json").write_bytes(manifest_bytes)
    assert caught["by the bundle itself"] > 150
    assert caught["by scoring again"] > 10


def _walk(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [step for key, child in value.items() for step in _walk(child, (*path, key))]
    if isinstance(value, list):
        return [step for key, child in enumerate(value) for step in _walk(child, (*path, key))]
    return [path]


def test_every_number_of_the_summary_follows(bundle: Path) -> None:
    """A summary can't say anything that its results don't."""
    path = bundle / "summary.json"
    summary = json.loads(path.read_bytes())
    free = {("suite",), ("ignored_packet_count",), ("draft_packet_count",), ("draft_task_count",)}
    places = [place for place in _walk(summary) if place not in free]
    assert len(places) > 50
    for place in places:
        forged = copy.deepcopy(summary)
        *way, last = place
        target = forged
        for key in way:
            target = target[key]
        target[last] = _changed(target[last], random.Random(str(place)))
        path.write_bytes(rfc8785.dumps(forged) + b"\n")
        _repair(bundle)
        with pytest.raises(IntegrityError):
            _verify(bundle)


@pytest.mark.parametrize(
    "forge",
    [
        lambda lines: lines[1:],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [lines[0], *lines],
        lambda lines: [*lines[:-1], lines[-1][:-5]],
        lambda lines: [lines[0].replace(b":", b": ", 1), *lines[1:]],
        lambda lines: [b"{}", *lines[1:]],
        lambda lines: [b"\xff", *lines[1:]],
        lambda lines: [b"[" * 100_000, *lines[1:]],
    ],
)
@pytest.mark.parametrize("name", ["results.jsonl", "debts.jsonl"])
def test_lines_taken_out_added_or_moved_are_caught(
    bundle: Path, name: str, forge: Callable[[list[bytes]], list[bytes]]
) -> None:
    """Whole lines follow from each other too."""
    lines = (bundle / name).read_bytes().split(b"\n")[:-1]
    (bundle / name).write_bytes(b"".join(line + b"\n" for line in forge(lines)))
    _repair(bundle)
    with pytest.raises(IntegrityError):
        _verify(bundle)


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b"\xff", b'{"summary": {}}', b"[" * 100_000])
def test_a_summary_that_is_none_is_caught(bundle: Path, text: bytes) -> None:
    """No traceback, whatever stands in the file."""
    (bundle / "summary.json").write_bytes(text)
    _repair(bundle)
    with pytest.raises(IntegrityError):
        _verify(bundle)


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (0, {"scent_status": "unscored", "scent_coverage": 0.25}),
        (1, {"scent_coverage": 1.5}),
        (1, {"scent_coverage": -1}),
        (1, {"scent_coverage": 0.123}),
        (1, {"error": []}),
        (1, {"error": 0}),
        (2, {"wall_ms": 5.12345}),
        (2, {"wall_ms": 2**53}),
        (2, {"latency_budget_ms": 0}),
        (2, {"latency_budget_ms": 2**63}),
        (2, {"recall_at_packet": 2}),
        (2, {"defaulted_fields": ["invented"]}),
        (2, {"defaulted_fields": ["packet.error", "task_id"]}),
        (2, {"attempt": 0}),
        (2, {"vacuous_metrics": ["recall_at_packet"]}),
    ],
)
def test_a_result_that_no_packet_could_give_is_caught(
    bundle: Path, number: int, change: dict[str, Any]
) -> None:
    """Even with every digest repaired and without the inputs."""
    _edit_line(bundle / "results.jsonl", number, lambda row: row.update(change))
    _repair(bundle)
    with pytest.raises(IntegrityError, match=r"results\.jsonl:"):
        _verify(bundle)


@pytest.mark.parametrize(
    "change",
    [
        {"settings": {}},
        {"settings": {"suite": "s", "ignore_unknown": 1.5, "summary_only": False}},
        {"settings": {"suite": "s", "ignore_unknown": False, "summary_only": False, "x": 1}},
        {"inputs": {}},
    ],
)
def test_settings_and_inputs_are_part_of_the_evidence(bundle: Path, change: dict[str, Any]) -> None:
    """A bundle says what it was asked for and what it was made from."""
    path = bundle / "manifest.json"
    path.write_bytes(rfc8785.dumps({**json.loads(path.read_bytes()), **change}) + b"\n")
    with pytest.raises(IntegrityError, match=r"manifest\.json"):
        _verify(bundle)


def test_limits_cannot_be_taken_out(bundle: Path) -> None:
    """The limits travel with the numbers."""
    path = bundle / "manifest.json"
    manifest = json.loads(path.read_bytes())
    manifest["limits"] = manifest["limits"][1:]
    path.write_bytes(rfc8785.dumps(manifest) + b"\n")
    with pytest.raises(IntegrityError, match="limits"):
        _verify(bundle)


def test_other_inputs_are_noticed(bundle: Path, tmp_path: Path) -> None:
    """The bundle names what it was made from."""
    manifest = read_manifest(bundle)
    other = write_lines(tmp_path / "other.jsonl", PACKETS[1:])
    with pytest.raises(IntegrityError, match="not the packets"):
        check_rescored(bundle, manifest, tmp_path / "tasks.jsonl", other)


def test_the_command_says_what_was_and_was_not_checked(
    bundle: Path, tmp_path: Path, wayproof: RunWayproof
) -> None:
    """Exit 0 and what it rests on; exit 3 and where it broke; exit 2 for what is no bundle."""
    ran = wayproof("verify", bundle)
    assert (ran.status, ran.err) == (0, "")
    assert "inputs: not given. Not detectable without the inputs: results invented" in ran.out
    inputs = ("--tasks", tmp_path / "tasks.jsonl", "--packets", tmp_path / "packets.jsonl")
    ran = wayproof("verify", bundle, *inputs)
    assert (ran.status, ran.err) == (0, "")
    assert "byte for byte" in ran.out
    assert wayproof("verify", bundle, "--tasks", tmp_path / "tasks.jsonl").status == 2
    with (bundle / "debts.jsonl").open("ab") as file:
        file.write(b"\n")
    ran = wayproof("verify", bundle)
    assert (ran.status, ran.out) == (3, "")
    assert "debts.jsonl" in ran.err
    assert wayproof("verify", tmp_path).status == 2
    with pytest.raises(InputError):
        read_manifest(tmp_path)
