"""Make the documentation pages that are projections of the code, or check that they are fresh.

    python tools/docs.py           write every generated page
    python tools/docs.py --check   exit 1 naming each page that is stale, missing or surplus

Commands come from ``wayproof.cli.COMMANDS``, records from ``wayproof.schemas.SCHEMAS``,
failure kinds from ``wayproof.evidence.explanations``: whoever adds one there gets its page.
The list of decisions comes from the notes' headings, the overview from the table in
``tools/pages/site.py``, the rooms and their drawing from the imports.
"""

import argparse
import functools
import sys
from collections.abc import Sequence
from pathlib import Path

if __package__ in {None, ""}:  # run as a script: its own folder is on the path, not the project
    sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.pages import (
    capture_formats,
    commands,
    decisions,
    failure_kinds,
    index,
    measures,
    python_names,
    rooms,
    schemas,
    site,
    wheel,
)

ROOT = Path(__file__).parents[1]
FOLDER = "docs"
COMMAND = "make docs"
MARK = "<!-- generated -->"


def pages(root: Path) -> dict[str, str]:
    """Return every generated page of the project at ``root``: its text by its path."""
    reference = {
        **{f"commands/{name}.md": body for name, body in commands.bodies().items()},
        "measures.md": measures.body(),
        "schemas.md": schemas.body(),
        "failure-kinds.md": failure_kinds.body(),
        "python.md": python_names.body(),
        "rooms.md": rooms.body(_rooms()),
    }
    bodies = {f"{FOLDER}/reference/{name}": body for name, body in reference.items()}
    bodies[f"{FOLDER}/reference/index.md"] = index.body(reference)
    bodies[f"{FOLDER}/capture/formats.md"] = capture_formats.body()
    bodies[f"{FOLDER}/decisions/README.md"] = decisions.body(root / FOLDER / "decisions")
    made = {name.removeprefix(f"{FOLDER}/"): body for name, body in bodies.items()}
    bodies[f"{FOLDER}/index.md"] = site.body(root / FOLDER, made)
    return {name: _page(body) for name, body in bodies.items()}


def files(root: Path) -> dict[str, str]:
    """Return every generated file: the pages, the rooms' drawing, the wheel's description."""
    return {
        **pages(root),
        f"{FOLDER}/images/rooms.svg": rooms.drawing(_rooms()),
        "packaging/description.md": wheel.description(ROOT / "README.md"),
    }


@functools.cache
def _rooms() -> rooms.Rooms:
    return rooms.read_rooms(ROOT)


def _page(body: str) -> str:
    notice = f"{MARK}\n*Generated from the code by `{COMMAND}`. Changes made here are overwritten.*"
    return f"{notice}\n\n{body.rstrip()}\n"


def surplus(root: Path, wanted: dict[str, str]) -> list[str]:
    """List generated pages on disk that nothing generates any more."""
    found = (path for path in (root / FOLDER).rglob("*.md") if _is_generated(path))
    names = sorted(path.relative_to(root).as_posix() for path in found)
    return [name for name in names if name not in wanted]


def _is_generated(path: Path) -> bool:
    return path.read_bytes().startswith(MARK.encode())


def faults(root: Path) -> list[str]:
    """Say what is wrong with the generated pages below ``root``; empty when all is well."""
    wanted = files(root)
    lines = []
    for name, text in sorted(wanted.items()):
        path = root / name
        if not path.is_file():
            lines.append(f"missing: {name}")
        elif path.read_bytes() != text.encode():
            lines.append(f"stale: {name}")
    return lines + [f"surplus: {name}" for name in surplus(root, wanted)]


def write(root: Path) -> None:
    """Write every page and remove the surplus ones."""
    wanted = files(root)
    for name in surplus(root, wanted):
        (root / name).unlink()
    for name, text in wanted.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def main(argv: Sequence[str] | None = None) -> int:
    """Write or check the pages; return the exit status."""
    parser = argparse.ArgumentParser(description="Make the documentation's generated pages.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if one is off")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    args = parser.parse_args(argv)
    if not args.check:
        write(args.root)
        return 0
    found = faults(args.root)
    for line in found:
        print(line)
    if found:
        print(f"mend with: {COMMAND}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
