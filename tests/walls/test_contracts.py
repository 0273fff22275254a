"""The walls stand: import-linter, ruff and the syntax tree see nothing broken."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp
from tools.walls import faults

ROOT = Path(__file__).parents[2]
SEEDS_CIRCLE = {
    ("wayproof.fitness", "wayproof.cli.fitness"),
    ("wayproof.fitness.__main__", "wayproof.cli.fitness"),
}
"""The contract names ``build_parser`` and ``main`` under ``wayproof.fitness``."""


def test_every_wall_stands() -> None:
    """No room reaches past its walls, and no name is used where it may not be."""
    assert faults() == []


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
