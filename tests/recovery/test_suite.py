"""Suites: what is refused, where it says so, and the two files that ship."""

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recovery.material import shipped_grids
from wayproof.canonical import record_bytes
from wayproof.cli import main
from wayproof.errors import InputError
from wayproof.evidence.recovery_names import FAILURE_KINDS, SUITE_RULES
from wayproof.evidence.recovery_records import (
    SUITE_SCHEMA_VERSION,
    GeneratorRecord,
    GridRecord,
    SuiteHeader,
)
from wayproof.recovery.suite import PINNED_SUITES, SuiteReader, suite_path
from wayproof.recovery.tracks.v0 import LoadedGrid, failure_state
from wayproof.recovery.world import step

Document = dict[str, Any]


def header_line(**changes: Any) -> bytes:
    header = SuiteHeader(
        generator=GeneratorRecord(name="by-hand", parameters={}, seed=0),
        schema_version=SUITE_SCHEMA_VERSION,
        suite_id="worked",
    )
    return record_bytes(msgspec.structs.replace(header, **changes))


def dumps(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def grid_document(record: GridRecord) -> Document:
    document: Document = json.loads(record_bytes(record))
    return document


def scenario(at: int, **changes: Any) -> Callable[[Document], None]:
    return lambda grid: grid["scenarios"][at].update(changes)


def fields(**changes: Any) -> Callable[[Document], None]:
    return lambda grid: grid.update(changes)


def potential(row: int, column: int, value: Any) -> Callable[[Document], None]:
    def edit(grid: Document) -> None:
        grid["potentials"][row][column] = value

    return edit


BAD_GRIDS: dict[str, tuple[Callable[[Document], Any], str]] = {
    "ragged rows": (
        fields(rows=["1193", "1#91", "191", "1119"]),
        "rows[2]: ragged row; expected 4",
    ),
    "another character": (fields(rows=["1193", "1#91", "19.1", "1119"]), "rows[2][2]: not a cell"),
    "no start": (lambda grid: grid.pop("start"), "suite.jsonl:2, start: required field is missing"),
    "start is null": (fields(start=None), "suite.jsonl:2, start: not a valid record"),
    "start is blocked": (fields(start=[1, 1]), "start: not a free cell"),
    "start = target": (fields(target=[0, 0]), "target: start and target are the same cell"),
    "unreachable target": (
        fields(
            rows=["1#11"],
            start=[0, 0],
            target=[0, 3],
            potentials=[[None, None, 1, 0]],
            reference_path=[[0, 0], [0, 1], [0, 2], [0, 3]],
        ),
        "start: the target can't be reached",
    ),
    "potential too low": (
        potential(0, 0, 7),
        "potentials[0][0]: potential doesn't certify; expected 8; found 7",
    ),
    "potential of a wall": (
        potential(1, 1, 3),
        "potentials[1][1]: potential doesn't certify; expected null; found 3",
    ),
    "potential left out": (
        potential(0, 1, None),
        "potentials[0][1]: potential doesn't certify; expected 9; found null",
    ),
    "accepted injection": (
        scenario(0, injected_action={"move": [2, 0]}),
        "scenarios[0].injected_action: injected action would be accepted; expected an action",
    ),
    "another reason": (
        scenario(1, injected_action={"move": [1, 1]}),
        "expected an action rejected as invalid_path; found collision",
    ),
    "finish on the target": (
        scenario(2, prefix_length=8),
        "scenarios[2].prefix_length: prefix leads to the target or beyond it; expected at most 7",
    ),
    "unknown kind": (
        scenario(1, failure_kind="typo"),
        "failure_kind: not a valid record; expected one of the field's words",
    ),
    "budget of none": (
        scenario(1, budget=0),
        "scenarios[1].budget: not a valid record; expected `int` >= 1; found 0",
    ),
    "budget without end": (scenario(1, budget=2**18), "scenarios[1].budget: a trial would have"),
    "no scenarios": (fields(scenarios=[]), "scenarios: grid without scenarios"),
    "scenario twice": (
        scenario(1, scenario_id="worked-g000-collision"),
        "scenarios[1].scenario_id: ids don't rise",
    ),
    "two-part action": (
        scenario(0, injected_action={"finish": True, "move": [1, 1]}),
        "an action is",
    ),
    "no action": (scenario(0, injected_action={}), "an action is"),
    "unfinished finish": (scenario(0, injected_action={"finish": False}), "an action is"),
    "hostile id": (fields(grid_id="a\u001b[31m"), "matching regex"),
    "id with a line feed": (fields(grid_id="a\n"), "matching regex"),
    "unknown field": (fields(optimum=8), "suite.jsonl:2, optimum: unknown field"),
    "cost as text": (
        potential(0, 0, "8"),
        'potentials[0][0]: not a valid record; expected `int | null`; found "8"',
    ),
    "number beyond 2^53": (scenario(0, prefix_length=2**53), "`int` <= 9007199254740991"),
    "path elsewhere": (fields(reference_path=[[0, 0], [1, 3]]), "reference_path[1]: reference"),
    "padded path": (
        lambda grid: grid.update(reference_path=[[0, 0], [0, 1], *grid["reference_path"]]),
        "reference_path: reference path is not optimal; expected cost 8; found cost 10",
    ),
}


@pytest.mark.parametrize("name", BAD_GRIDS)
def test_a_bad_grid_is_refused_with_its_place(
    name: str,
    worked: LoadedGrid,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Status 2; file, line and field, expected and found; and nothing is written."""
    edit, message = BAD_GRIDS[name]
    document = grid_document(worked.record)
    edit(document)
    suite = tmp_path / "suite.jsonl"
    suite.write_bytes(header_line() + b"\n" + dumps(document) + b"\n")
    status = main(["recovery", "run", "--suite", str(suite), "--out", str(tmp_path / "out")])
    error = capsys.readouterr().err
    assert status == 2
    assert f"{suite}:2" in error
    assert message in error
    assert error.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["suite.jsonl"]


def three(*kinds: str) -> Callable[[Document], None]:
    """Give the worked grid scenarios of these kinds, with ids that rise."""

    def edit(grid: Document) -> None:
        by_kind = {one["failure_kind"]: one for one in grid["scenarios"]}
        grid["scenarios"] = [
            dict(by_kind[kind], scenario_id=f"worked-g000-{at}") for at, kind in enumerate(kinds)
        ]

    return edit


BROKEN_RULES: dict[str, tuple[Callable[[Document], Any], str]] = {
    "a kind is missing": (
        three("collision", "invalid_path"),
        "scenarios: breaks the rule kinds_complete; expected that each grid has every failure",
    ),
    "one kind alone": (three("collision"), "breaks the rule kinds_complete"),
    "a kind twice": (
        three("collision", "invalid_path", "premature_end", "collision"),
        "breaks the rule kinds_complete",
    ),
    "one for another": (
        three("collision", "collision", "premature_end"),
        "breaks the rule kinds_complete",
    ),
    "collision off the grid, west": (
        scenario(0, injected_action={"move": [1, -1]}),
        "scenarios[0].injected_action: breaks the rule collision_blocked_neighbour; expected that",
    ),
    "collision off the grid, north": (
        lambda grid: (
            scenario(0, prefix_length=0, injected_action={"move": [-1, 0]})(grid),
            scenario(1, prefix_length=0)(grid),
        ),
        "breaks the rule collision_blocked_neighbour",
    ),
    "invalid path to a blocked cell": (
        lambda grid: (
            scenario(1, prefix_length=3, injected_action={"move": [1, 1]})(grid),
            scenario(0, prefix_length=3, injected_action={"move": [4, 0]})(grid),
        ),
        "breaks the rule collision_blocked_neighbour",
    ),
    "invalid path to a wall": (
        lambda grid: (
            grid.update(
                rows=["1193", "1#91", "1911", "111#"],
                potentials=[*grid["potentials"][:3], [5, 4, 3, None]],
            ),
            scenario(1, injected_action={"move": [3, 3]})(grid),
        ),
        "scenarios[1].injected_action: breaks the rule invalid_path_free_cell; expected that an",
    ),
    "invalid path off the grid": (
        scenario(1, injected_action={"move": [9, 9]}),
        "found [9, 9], off the grid",
    ),
    "invalid path to the own cell": (
        scenario(1, injected_action={"move": [1, 0]}),
        "breaks the rule invalid_path_free_cell; expected that an injected invalid path names a",
    ),
    "prefixes apart": (
        scenario(1, prefix_length=2, injected_action={"move": [0, 3]}),
        "scenarios: breaks the rule prefix_shared; expected that collision and invalid path share",
    ),
    "a grid of the official suite": (
        fields(grid_id="wfrb-v0-g000"),
        "grid_id: breaks the rule official_ids",
    ),
    "a grid that the official suite might have": (
        fields(grid_id="wfrb-v0-g999"),
        "breaks the rule official_ids",
    ),
    "a scenario of an official suite": (
        scenario(0, scenario_id="wfrb-v0-g003-collision"),
        "scenario_id: breaks the rule official_ids",
    ),
}


@pytest.mark.parametrize("name", BROKEN_RULES)
def test_a_suite_obeys_the_taxonomy(
    name: str, worked: LoadedGrid, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever breaks a rule is refused, naming the rule, by run and by verify alike."""
    edit, message = BROKEN_RULES[name]
    document = grid_document(worked.record)
    suite = tmp_path / "suite.jsonl"
    suite.write_bytes(header_line() + b"\n" + dumps(document) + b"\n")
    assert main(["recovery", "run", "--suite", str(suite), "--out", str(tmp_path / "out")]) == 0
    edit(document)
    suite.write_bytes(header_line() + b"\n" + dumps(document) + b"\n")
    assert main(["recovery", "run", "--suite", str(suite), "--out", str(tmp_path / "no")]) == 2
    error = capsys.readouterr().err
    assert f"{suite}:2" in error
    assert message in error
    assert not (tmp_path / "no").exists()
    shutil.copyfile(suite, tmp_path / "out" / "suite.jsonl")
    assert main(["verify", str(tmp_path / "out")]) == 3
    assert message in capsys.readouterr().err


def test_grids_differ(
    worked: LoadedGrid, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same rows, start and target under other ids are the same grid."""
    again = grid_document(worked.record)
    again["grid_id"] = "worked-g001"
    for one in again["scenarios"]:
        one["scenario_id"] = one["scenario_id"].replace("g000", "g001")
        one["budget"] += 1
    suite = tmp_path / "suite.jsonl"
    lines = (header_line(), record_bytes(worked.record), dumps(again))
    suite.write_bytes(b"".join(line + b"\n" for line in lines))
    assert main(["recovery", "run", "--suite", str(suite), "--out", str(tmp_path / "out")]) == 2
    assert f"{suite}:3, rows: breaks the rule grids_differ" in capsys.readouterr().err
    turned = grid_document(worked.record) | {
        "grid_id": "worked-g001",
        "rows": [row[::-1] for row in again["rows"]],
        "potentials": [row[::-1] for row in again["potentials"]],
        "reference_path": [[row, 3 - column] for row, column in again["reference_path"]],
        "scenarios": again["scenarios"],
        "start": [0, 3],
        "target": [1, 0],
    }
    for one in turned["scenarios"]:
        if "move" in one["injected_action"]:
            row, column = one["injected_action"]["move"]
            one["injected_action"] = {"move": [row, 3 - column]}
    suite.write_bytes(b"".join(line + b"\n" for line in (*lines[:2], dumps(turned))))
    assert main(["recovery", "run", "--suite", str(suite), "--out", str(tmp_path / "out")]) == 0


def test_every_rule_has_its_case() -> None:
    """The list in evidence, which the page reads too, holds nothing that isn't tried."""
    messages = " ".join(message for _, message in BROKEN_RULES.values())
    tried = set(re.findall(r"breaks the rule (\w+)", messages))
    assert tried | {"grids_differ", "budget_suffices"} == {rule.name for rule in SUITE_RULES}


BAD_FILES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "suite.jsonl:1: not a valid record"),
    "header alone": (lambda _: header_line() + b"\n", "suite without grids"),
    "no header": (lambda grid: grid + b"\n", "suite.jsonl:1, grid_id: unknown field"),
    "cut off": (lambda grid: header_line() + b"\n" + grid, "suite.jsonl:2: last line is cut off"),
    "cut in a line": (
        lambda grid: header_line() + b"\n" + grid[:200] + b"\n",
        "suite.jsonl:2: not a valid record",
    ),
    "carriage returns": (
        lambda grid: header_line() + b"\r\n" + grid + b"\r\n",
        "suite.jsonl:1: line is not in canonical form",
    ),
    "spaces": (
        lambda grid: header_line() + b"\n" + grid.replace(b":", b": ", 1) + b"\n",
        "suite.jsonl:2: line is not in canonical form",
    ),
    "another version": (
        lambda grid: header_line(schema_version="wayproof.recovery-suite/2") + b"\n" + grid + b"\n",
        "suite.jsonl:1, schema_version: suite of another version",
    ),
    "unsorted parameters": (
        lambda grid: (
            header_line().replace(b'"parameters":{}', b'"parameters":{"b":1,"a":2}')
            + b"\n"
            + grid
            + b"\n"
        ),
        "suite.jsonl:1, generator.parameters: line is not in canonical form",
    ),
    "the same grid twice": (
        lambda grid: header_line() + b"\n" + grid + b"\n" + grid + b"\n",
        "suite.jsonl:3, grid_id: ids don't rise",
    ),
    "an official id": (
        lambda grid: header_line(suite_id="wfrb-v0") + b"\n" + grid + b"\n",
        "suite.jsonl:1, suite_id: uses the id of an official suite, with other bytes",
    ),
    "not UTF-8": (
        lambda grid: header_line() + b"\n" + grid.replace(b"worked-g000", b"w\xff") + b"\n",
        "suite.jsonl:2",
    ),
    "bottomless": (lambda _: header_line() + b"\n" + b"[" * 100_000 + b"\n", "suite.jsonl:2"),
    "zeros": (lambda _: b"\0" * 4096, "suite.jsonl:1"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused_with_its_place(
    name: str, worked: LoadedGrid, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, one line, file and line number; nothing is written."""
    make, message = BAD_FILES[name]
    suite = tmp_path / "suite.jsonl"
    suite.write_bytes(make(record_bytes(worked.record)))
    assert main(["recovery", "run", "--suite", str(suite), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["suite.jsonl"]


def test_an_unknown_suite_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says which suites there are."""
    assert main(["recovery", "run", "--suite", "wfrb", "--out", str(tmp_path / "out")]) == 2
    assert "expected explorer-sample, wfrb-v0, or a suite file" in capsys.readouterr().err


@pytest.mark.parametrize("suite", sorted(PINNED_SUITES))
def test_a_shipped_file_has_its_pinned_digest(suite: str) -> None:
    """The bytes in the package are the bytes that were published."""
    digest = hashlib.sha256(suite_path(suite).read_bytes()).hexdigest()
    assert digest == PINNED_SUITES[suite]


def test_the_pins_are_the_published_ones() -> None:
    """A change of suite can't come in unnoticed: the digests also stand here."""
    assert PINNED_SUITES == {
        "explorer-sample": "a5afe557b95e7aa4a8b7793a6e1996205e0417e7211d6b764645778aa23f110e",
        "wfrb-v0": "092ce6e8e0e470f49ea82a1f70d3e22d96537ab584374b463862aa0b9e3cdb23",
    }


@pytest.mark.parametrize(("suite", "grids"), [("wfrb-v0", 50), ("explorer-sample", 12)])
def test_a_shipped_suite_is_what_the_contract_says(suite: str, grids: int) -> None:
    """Three kinds a grid; a shared failure state; on-grid walls; free far cells; budgets."""
    found = shipped_grids(suite)
    assert len(found) == grids
    for loaded in found:
        record, grid = loaded.record, loaded.grid
        kinds = [one.failure_kind for one in record.scenarios]
        assert kinds == [kind.name for kind in FAILURE_KINDS]
        collision, invalid_path, premature_end = record.scenarios
        assert collision.prefix_length == invalid_path.prefix_length
        for one in record.scenarios:
            remaining = len(record.reference_path) - 1 - one.prefix_length
            assert one.prefix_length >= 1
            assert remaining >= 3
            assert one.budget == 4 * remaining
            outcome = step(grid, failure_state(record, one), one.injected_action)
            assert outcome.rejection == one.failure_kind
        wall, jump = collision.injected_action.move, invalid_path.injected_action.move
        assert wall is not None
        assert jump is not None
        assert 0 <= wall[0] < grid.height
        assert 0 <= wall[1] < grid.width
        assert grid.cost_at(jump) > 0
        assert premature_end.injected_action.finish
        assert 6 <= grid.height <= 12
        assert 6 <= grid.width <= 12


def test_the_two_suites_share_nothing() -> None:
    """The Explorer's sample has other grids and other ids."""
    ours, sample = shipped_grids("wfrb-v0"), shipped_grids("explorer-sample")
    assert {one.record.rows for one in ours}.isdisjoint(one.record.rows for one in sample)
    assert {one.record.grid_id for one in ours}.isdisjoint(one.record.grid_id for one in sample)


def test_a_closed_file_says_so(tmp_path: Path) -> None:
    """A suite that can't be opened is an input error with the system's reason."""
    with pytest.raises(InputError, match="can't be read"):
        SuiteReader(tmp_path)
