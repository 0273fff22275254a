"""The walls stand: import-linter, ruff and the syntax tree see nothing broken."""

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import grimp
import pytest
from tools.walls import PERMITS, Permit, excepted_files, faults, read_tree

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "wayproof"
SEEDS_CIRCLE = {
    ("wayproof.fitness", "wayproof.cli.fitness"),
    ("wayproof.fitness.__main__", "wayproof.cli.fitness"),
}
"""The contract names ``build_parser`` and ``main`` under ``wayproof.fitness``."""


def _patterns() -> set[str]:
    return {pattern for permit in PERMITS for pattern in permit.files}


def _files_of(pattern: str) -> list[str]:
    names = (path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
    return [name for name in names if fnmatch(name, pattern)]


def test_every_wall_stands() -> None:
    """No room reaches past its walls, and no name is used where it may not be."""
    assert faults() == []


def test_every_file_that_ruff_excepts_is_held_to_a_reason() -> None:
    """ruff excepts whole files; each of them is named again, with what for."""
    stray = [
        pattern
        for pattern in excepted_files()
        if not any(fnmatch(own, pattern) or fnmatch(pattern, own) for own in _patterns())
    ]
    assert stray == []


@pytest.mark.parametrize("permit", PERMITS, ids=lambda permit: permit.why)
def test_no_exception_outlives_its_use(permit: Permit) -> None:
    """An exception goes when nothing needs it any more (rooms still to come excepted)."""
    if not any(_files_of(pattern) for pattern in permit.files):
        pytest.skip("no such room yet")
    without = [row for row in PERMITS if row is not permit]
    assert read_tree(permits=without) != []


def test_a_room_to_come_has_its_place() -> None:
    """Rooms that are planned stand in a layer already, so that they are born behind walls."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layers = next(row for row in contracts["contracts"] if row["id"] == "layers")
    rooms = set(re.findall(r"\w+", " ".join(layers["layers"])))
    assert layers["exhaustive"]
    assert {"compare", "rejections", "private", "api"} <= rooms


def test_no_circle_but_the_seeds_own() -> None:
    """Without the two imports that the contract asks for, imports form no circle at all."""
    graph = grimp.build_graph("wayproof", cache_dir=None)
    for importer, imported in SEEDS_CIRCLE:
        graph.remove_import(importer=importer, imported=imported)
    assert list(_circles(graph)) == []


def _circles(graph: grimp.ImportGraph) -> Iterator[str]:
    for module in sorted(graph.modules):
        for imported in graph.find_modules_directly_imported_by(module):
            if graph.chain_exists(importer=imported, imported=module):
                yield f"{module} -> {imported} -> … -> {module}"
