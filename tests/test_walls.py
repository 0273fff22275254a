"""The walls between rooms, read from the imports of the source itself."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "wayproof"

# room -> rooms it never imports
FORBIDDEN = {
    "fitness": ("capture", "recovery", "report", "explorer", "agents"),
    "capture": ("fitness", "recovery", "report", "explorer", "agents"),
    "recovery": ("fitness", "capture", "report", "explorer"),
    "report": ("fitness", "capture", "recovery", "agents"),
    "explorer": ("fitness", "capture", "recovery", "report", "agents"),
    "web": ("fitness", "capture", "recovery", "report", "explorer", "agents"),
    "recovery/referee.py": ("recovery.world", "recovery.planner"),
}
CLOCK_ROOMS = ("bundles/", "agents/")
PRINTING_ROOMS = ("cli/",)


def _modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def _room(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


@pytest.mark.parametrize("room", sorted(FORBIDDEN))
def test_rooms_do_not_import_each_other(room: str) -> None:
    """Each benchmark stands alone; the verifier restates the rules instead of importing them."""
    walls = tuple(f"wayproof.{name}" for name in FORBIDDEN[room])
    paths = [path for path in _modules() if _room(path).startswith(room)]
    broken = [
        f"{_room(path)} imports {name}"
        for path in paths
        for name in _imports(path)
        if name.startswith(walls)
    ]
    assert broken == []


def test_only_cli_prints_or_exits() -> None:
    """Functions go from records to records; only the command line talks."""
    broken = [
        f"{_room(path)} calls {name}"
        for path in _modules()
        if not _room(path).startswith(PRINTING_ROOMS)
        for name in _names(path)
        if name in {"print", "exit", "quit"}
    ]
    assert broken == []


def test_the_clock_is_read_in_one_room() -> None:
    """No clock in results: times stand in the manifest, and agents have deadlines."""
    broken = [
        f"{_room(path)} imports {name}"
        for path in _modules()
        if not _room(path).startswith((*CLOCK_ROOMS, *PRINTING_ROOMS))
        for name in _imports(path)
        if name.split(".")[0] == "time"
    ]
    assert broken == []


def test_no_unseeded_randomness() -> None:
    """Randomness comes only through the one seeded generator."""
    broken = [
        f"{_room(path)} imports {name}"
        for path in _modules()
        for name in _imports(path)
        if name.split(".")[0] in {"random", "secrets", "numpy"}
    ]
    assert broken == []
