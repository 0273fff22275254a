"""The rooms of the package: what each is for, what it imports, and a drawing of both.

Rooms and their layers come from the walls' contract in ``pyproject.toml``, imports from
the source (through grimp, which import-linter checks the contract with), words from the
rooms' own docstrings.
"""

import ast
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import grimp
from tools.pages.markdown import table

__all__ = ["Rooms", "body", "drawing", "read_rooms"]

_PACKAGE = "wayproof"
_GROUND = ("strict_json", "canonical", "lines", "decoder_errors", "errors", "text", "_version")
_BOX_W, _BOX_H, _GAP_X, _GAP_Y, _MARGIN = 104, 30, 26, 58, 14

_INTRO = """\
# Rooms

Data flows one way: a room imports only from the layers below its own, and rooms that stand
side by side don't import each other. `make lint` holds this
([architecture](../architecture.md)).

![The rooms in their layers; a line leads from a room to what it imports](../images/rooms.svg)

The drawing leaves out what follows from other lines, and who uses the ground: anybody may.
Dashed: `build_parser` and `main`, which the contract names under `wayproof.fitness` and which
live in `wayproof.cli`."""

_STYLE = """\
<style>
  rect { fill: #eef3f8; stroke: #4a6785; }
  text { fill: #16202a; font: 13px sans-serif; text-anchor: middle; dominant-baseline: central; }
  path { fill: none; stroke: #4a6785; }
  .exception { stroke-dasharray: 4 3; }
  @media (prefers-color-scheme: dark) {
    rect { fill: #1d2a36; stroke: #8fb0cf; }
    text { fill: #e6edf3; }
    path { stroke: #8fb0cf; }
  }
</style>"""


class Rooms(NamedTuple):
    """What there is to draw.

    Attributes
    ----------
    layers
        The rooms that exist, from the top layer down.
    imports
        For each room the rooms that it imports.
    exceptions
        Pairs of rooms that the contract excepts.
    meanings
        The first sentence of each room's docstring.
    """

    layers: tuple[tuple[str, ...], ...]
    imports: Mapping[str, frozenset[str]]
    exceptions: frozenset[tuple[str, str]]
    meanings: Mapping[str, str]


def read_rooms(root: Path) -> Rooms:
    """Read the contract, the imports and the docstrings of the project at ``root``."""
    linter = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    contract = next(row for row in linter["contracts"] if row["id"] == "layers")
    graph = grimp.build_graph(_PACKAGE, cache_dir=None)
    exceptions = set()
    for line in contract["ignore_imports"]:
        importer, imported = line.split(" -> ")
        graph.remove_import(importer=importer, imported=imported)
        exceptions.add((_room(importer), _room(imported)))
    rooms = {_room(name) for name in graph.modules if name != _PACKAGE}
    layers = [tuple(name for name in _names(line) if name in rooms) for line in contract["layers"]]
    imports = {
        room: frozenset(
            _room(imported)
            for module in graph.modules
            if _room(module) == room
            for imported in graph.find_modules_directly_imported_by(module)
        )
        - {room}
        for room in rooms
    }
    source = root / "src" / _PACKAGE
    return Rooms(
        tuple(layer for layer in layers if layer),
        imports,
        frozenset(exceptions),
        {room: _meaning(source, room) for room in rooms},
    )


def _room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _names(line: str) -> list[str]:
    return re.findall(r"\w+", line)


def _meaning(source: Path, room: str) -> str:
    folder = source / room
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    words = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    first = " ".join(words.partition("\n\n")[0].split())
    return re.sub(r":\w+:(?=`)", "", first.replace("``", "`"))


def body(rooms: Rooms) -> str:
    """Return the page: the drawing, and a table of all imports behind it."""
    rows = [
        [f"`{room}`", rooms.meanings[room], ", ".join(sorted(rooms.imports[room])) or "nothing"]
        for layer in rooms.layers
        for room in layer
    ]
    return "\n\n".join([_INTRO, table(["room", "what it is", "imports"], rows)])


def drawing(rooms: Rooms) -> str:
    """Return the drawing as SVG: a row a layer, a line for each import not implied by others."""
    layers = [layer for layer in rooms.layers if not set(layer) & set(_GROUND)]
    imports = {room: used - set(_GROUND) for room, used in rooms.imports.items()}
    widest = max(map(len, layers))
    width = 2 * _MARGIN + widest * _BOX_W + (widest - 1) * _GAP_X
    floor = _MARGIN + len(layers) * (_BOX_H + _GAP_Y)
    height = floor + _BOX_H + _MARGIN
    places = {
        room: (
            (width - len(layer) * _BOX_W - (len(layer) - 1) * _GAP_X) // 2
            + column * (_BOX_W + _GAP_X),
            _MARGIN + row * (_BOX_H + _GAP_Y),
        )
        for row, layer in enumerate(layers)
        for column, room in enumerate(layer)
    }
    lines = [
        _line(places, pair, "import") for pair in sorted(_reduced(imports)) if pair[0] in places
    ]
    dashed = [_line(places, (low, high), "exception") for high, low in sorted(rooms.exceptions)]
    boxes = [_box(room, *places[room], _BOX_W) for layer in layers for room in layer]
    ground = _box(" · ".join(_GROUND), _MARGIN, floor, width - 2 * _MARGIN)
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            "<title>The rooms of wayproof and what they import</title>",
            _STYLE,
            *lines,
            *dashed,
            *boxes,
            ground,
            "</svg>\n",
        ]
    )


def _box(words: str, left: int, top: int, width: int) -> str:
    return (
        f'<rect x="{left}" y="{top}" width="{width}" height="{_BOX_H}" rx="5"/>'
        f'<text x="{left + width // 2}" y="{top + _BOX_H // 2}">{words}</text>'
    )


def _line(places: Mapping[str, tuple[int, int]], pair: tuple[str, str], kind: str) -> str:
    (left, top), (end, bottom) = places[pair[0]], places[pair[1]]
    start_x, start_y, end_x = left + _BOX_W // 2, top + _BOX_H, end + _BOX_W // 2
    bend = (bottom - start_y) // 2
    return (
        f'<path class="{kind}" d="M{start_x} {start_y}C{start_x} {start_y + bend} '
        f'{end_x} {bottom - bend} {end_x} {bottom}"/>'
    )


def _reduced(imports: Mapping[str, frozenset[str]]) -> set[tuple[str, str]]:
    """Leave out each import that follows from two others."""
    return {
        (room, used)
        for room, all_used in imports.items()
        for used in all_used
        if not any(used in _reached(imports, other) for other in all_used - {used})
    }


def _reached(imports: Mapping[str, frozenset[str]], room: str) -> set[str]:
    found: set[str] = set()
    left = [room]
    while left:
        for used in imports[left.pop()] - found:
            found.add(used)
            left.append(used)
    return found
