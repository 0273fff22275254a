"""Forgeries of an official result: every one is caught, and said to be caught by what.

4,000 random single edits. 2,000 leave the digests stale. 2,000 come with every digest
repaired as a forger would who has this very package: the manifest's digests, a trace's
SHA-256, the record that the referee and the track derive from the edited trace, and the
summary of the edited results.

Each edited bundle is written to disk whole and goes through the functions that ``wayproof
verify`` calls, digests included. Every 50th edit is also given to the command itself.
"""

import hashlib
import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from recovery.material import shipped_cases
from wayproof.bundles.check import check_bundle
from wayproof.canonical import record_bytes
from wayproof.cli import main
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.recovery_records import Action, Result, Trace
from wayproof.recovery.agents.controls import controls_named
from wayproof.recovery.run import RunRequest, run_suite
from wayproof.recovery.suite import suite_path
from wayproof.recovery.summary import summarize
from wayproof.recovery.track import Agent, WrittenTrace
from wayproof.recovery.tracks.v0 import V0Case

FILES = ("results.jsonl", "suite.jsonl", "summary.json", "traces.jsonl")
SUITE = "explorer-sample"
CHUNKS = 8
EDITS_PER_CHUNK = 250

Lines = dict[str, list[bytes]]


class Edit(NamedTuple):
    """What was edited: the file, the line from 0, and the trial when it is one's."""

    what: str
    file: str
    line: int
    trial: str | None


def dumps(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def read_all(folder: Path) -> Lines:
    return {name: (folder / name).read_bytes().splitlines() for name in FILES}


def trial_of(lines: Lines, number: int) -> str:
    trace = json.loads(lines["traces.jsonl"][number])
    return f"{trace['policy']}/{trace['scenario_id']}/{trace['policy_seed']}"


# -- the edits ------------------------------------------------------------------------


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all values that hold no others."""
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else None
    )
    if not children:
        yield path
        return
    for key, child in children:
        yield from leaves(child, (*path, key))


def other_value(draw: random.Random, value: Any) -> Any:
    """A different value, mostly of the same type."""
    if draw.random() < 0.1:
        others: tuple[Any, ...] = (None, True, 0, "x", [], {})
        return draw.choice([other for other in others if other != value])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + draw.choice((-3, -1, 1, 2, 10))
    if isinstance(value, str):
        known = [
            "collision",
            "invalid_path",
            "premature_end",
            "policy",
            "prefix",
            "injected",
            "planner",
            "random-walk",
            "cost_exact",
            "within_budget",
            "ok",
            "crashed",
        ]
        return draw.choice([word for word in known if word != value])
    if value is None:
        return draw.choice(("collision", 0, True))
    return 0


def edit_leaf(draw: random.Random, document: Any) -> Any:
    path = draw.choice(list(leaves(document)))
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = other_value(draw, inner[path[-1]])
    return document


def edit_step(draw: random.Random, trace: Any) -> Any:
    steps = trace["steps"]
    at = draw.randrange(len(steps))
    how = draw.randrange(10)
    if how == 0:
        del steps[at]
    elif how == 1:
        steps.insert(at, json.loads(json.dumps(steps[at])))
    else:
        edit_leaf(draw, steps[at])
    return trace


def edit_grid(draw: random.Random, grid: Any, what: str) -> Any:
    if what == "potential":
        row = draw.choice(grid["potentials"])
        at = draw.randrange(len(row))
        row[at] = other_value(draw, row[at])
    elif what == "cell":
        at = draw.randrange(len(grid["rows"]))
        row = grid["rows"][at]
        column = draw.randrange(len(row))
        cell = draw.choice([cell for cell in "#123456789" if cell != row[column]])
        grid["rows"][at] = row[:column] + cell + row[column + 1 :]
    else:
        path = grid["reference_path"]
        at = draw.randrange(len(path))
        if draw.random() < 0.3:
            path.insert(at, path[max(0, at - 1)])
        elif draw.random() < 0.3:
            del path[at]
        else:
            path[at][draw.randrange(2)] += draw.choice((-1, 1))
    return grid


def make_edit(draw: random.Random, lines: Lines) -> Edit:
    """Edit one thing in ``lines``; what was edited never reads as before."""
    what = draw.choice(("result", "step", "potential", "cell", "path", "summary"))
    file = {"result": "results.jsonl", "step": "traces.jsonl", "summary": "summary.json"}.get(
        what, "suite.jsonl"
    )
    first = 1 if file == "suite.jsonl" else 0  # the header has no grid to edit
    number = draw.randrange(first, len(lines[file]))
    before = lines[file][number]
    while lines[file][number] == before:
        document = json.loads(before)
        if what == "step":
            document = edit_step(draw, document)
        elif what in {"result", "summary"}:
            document = edit_leaf(draw, document)
        else:
            document = edit_grid(draw, document, what)
        lines[file][number] = dumps(document)
    trial = trial_of(lines, number) if what in {"result", "step"} else None
    return Edit(what, file, number, trial)


# -- the forger's repairs -------------------------------------------------------------


def repair(draw: random.Random, lines: Lines, edit: Edit, cases: dict[str, V0Case]) -> None:
    """Make everything derived agree with the edit again, as far as it can be derived."""
    if edit.file == "traces.jsonl":
        repair_record(draw, lines, edit.line, cases)
    if edit.file in {"traces.jsonl", "results.jsonl"}:
        try:
            results = [msgspec.json.decode(line, type=Result) for line in lines["results.jsonl"]]
        except msgspec.ValidationError:
            return
        digest = hashlib.sha256(b"\n".join([*lines["results.jsonl"], b""])).hexdigest()
        lines["summary.json"] = [record_bytes(summarize(results, digest))]


def repair_record(draw: random.Random, lines: Lines, number: int, cases: dict[str, V0Case]) -> None:
    line = lines["traces.jsonl"][number]
    record = json.loads(lines["results.jsonl"][number])
    record["trace_sha256"] = hashlib.sha256(line).hexdigest()
    lines["results.jsonl"][number] = dumps(record)
    if draw.random() < 0.5:
        return  # a lazy forger stops here
    try:
        trace = msgspec.json.decode(line, type=Trace)
    except msgspec.ValidationError:
        return
    finding = cases[record["scenario_id"]].find(
        SUITE, WrittenTrace(trace, line), Agent("reference_control", "ok")
    )
    lines["results.jsonl"][number] = finding.line


def seal(folder: Path) -> None:
    """Write a manifest whose digests are those of the files."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for name in FILES:
        data = (folder / name).read_bytes()
        manifest["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    manifest["inputs"]["suite"] = manifest["files"]["suite.jsonl"]
    (folder / "manifest.json").write_bytes(dumps(manifest) + b"\n")


def write_changed(folder: Path, lines: Lines, before: Lines) -> None:
    for name in FILES:
        if lines[name] != before[name]:
            (folder / name).write_bytes(b"\n".join([*lines[name], b""]))


# -- catching them --------------------------------------------------------------------


def caught(folder: Path) -> IntegrityError | InputError | None:
    """What ``wayproof verify`` does."""
    try:
        check_bundle(folder)
    except (IntegrityError, InputError) as error:
        return error
    return None


@pytest.fixture(scope="module")
def cases() -> dict[str, V0Case]:
    return shipped_cases(SUITE)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An official suite, planner and random walk, one seed: 72 trials."""
    out = tmp_path_factory.mktemp("honest") / "bundle"
    policies = controls_named(("planner", "random-walk"))
    run_suite(RunRequest(suite_path(SUITE), policies=policies, policy_seeds=(0,)), out)
    return out


@pytest.fixture
def forge(honest: Path, tmp_path: Path) -> Callable[[], Path]:
    """A fresh copy of the honest bundle."""

    def copy() -> Path:
        folder = tmp_path / "bundle"
        shutil.rmtree(folder, ignore_errors=True)
        return Path(shutil.copytree(honest, folder))

    return copy


WHAT_CATCHES = {
    "digest": "digest doesn't match the manifest",
    "pin": "its digest is not the pinned one",
    "check": "check ",
    "control": "the control ",
    "record": "record doesn't follow from the trace",
    "form": "not a valid record",
    "canonical": "line is not in canonical form",
    "summary": "summary doesn't follow from the results",
    "identity": "another trial's trace",
}


def catcher(error: IntegrityError | InputError) -> str:
    return next(name for name, start in WHAT_CATCHES.items() if start in error.problem)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("repaired", [False, True], ids=["stale", "repaired"])
def test_every_single_edit_is_caught(
    repaired: bool,
    chunk: int,
    forge: Callable[[], Path],
    cases: dict[str, V0Case],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """None slips through; the message names file, trial and the check or pin."""
    draw = random.Random(f"forgery {repaired} {chunk}")
    folder = forge()
    before, manifest = read_all(folder), (folder / "manifest.json").read_bytes()
    assert caught(folder) is None
    by: Counter[str] = Counter()
    for number in range(EDITS_PER_CHUNK):
        lines = {name: list(content) for name, content in before.items()}
        edit = make_edit(draw, lines)
        if repaired:
            repair(draw, lines, edit, cases)
        write_changed(folder, lines, before)
        if repaired:
            seal(folder)
        error = caught(folder)
        assert error is not None, f"slipped through: {edit}"
        by[f"{edit.what}: {catcher(error)}"] += 1
        message = str(error)
        assert f"{folder}/{edit.file}" in message, (edit, message)
        if edit.trial is not None:
            assert edit.trial in message, (edit, message)
        if edit.file == "suite.jsonl":
            assert f"suite.jsonl:{edit.line + 1}" in message, (edit, message)
            assert "pinned" in message, (edit, message)
        if number % 50 == 0:
            assert main(["verify", str(folder)]) == 3
            assert capsys.readouterr().err == f"wayproof: {message}\n"
        write_changed(folder, before, lines)
        (folder / "manifest.json").write_bytes(manifest)
    assert sum(by.values()) == EDITS_PER_CHUNK
    expected = {"digest"} if not repaired else set(WHAT_CATCHES) - {"digest"}
    assert {key.split(": ")[1] for key in by} <= expected
    assert caught(folder) is None


@pytest.mark.slow
def test_legal_rewrites_of_a_control_are_caught(
    forge: Callable[[], Path], cases: dict[str, V0Case]
) -> None:
    """A control's trace rewritten by all the rules, with its record, is not what it does."""
    draw = random.Random("rewrites")
    folder = forge()
    before, manifest = read_all(folder), (folder / "manifest.json").read_bytes()
    rewritten = 0
    for number in [draw.randrange(len(before["traces.jsonl"])) for _ in range(200)]:
        lines = {name: list(content) for name, content in before.items()}
        trace = msgspec.json.decode(lines["traces.jsonl"][number], type=Trace)
        another = rewrite(draw, cases[trace.scenario_id], trace)
        if another == trace:
            continue
        rewritten += 1
        lines["traces.jsonl"][number] = record_bytes(another)
        trial = trial_of(before, number)
        edit = Edit("step", "traces.jsonl", number, trial)
        repair(random.Random(2), lines, edit, cases)
        write_changed(folder, lines, before)
        seal(folder)
        error = caught(folder)
        assert error is not None
        assert error.problem.startswith(("the control ", "record doesn't follow"))
        assert trial in str(error)
        write_changed(folder, before, lines)
        (folder / "manifest.json").write_bytes(manifest)
    assert rewritten > 150


def rewrite(draw: random.Random, case: V0Case, trace: Trace) -> Trace:
    """Change one proposal and let the world make the rest of the trace from it."""
    at = draw.randrange(len(case.prefix) + 1, len(trace.steps))
    episode = case.begin()
    for number, old in enumerate(trace.steps):
        action = old.action
        if number == at:
            row, column = trace.steps[number - 1].position
            action = Action(
                move=draw.choice([(row - 1, column), (row, column + 1), (row + 1, column)])
            )
        if episode.finished:
            break
        episode.act(old.phase, action)
    return episode.trace(trace.policy, trace.policy_seed)
