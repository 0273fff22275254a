"""Run the Python examples in the documentation.

    python tools/python_examples.py    exit 1 naming each example that does something else

A fenced block marked ``pycon`` is a session: what it prints is compared. A block marked
``python`` is a program: it must run. The blocks of a page run one after the other, in one
namespace and in an empty folder of their own.
"""

import contextlib
import doctest
import importlib.util
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
_FENCE = re.compile(r"^```(pycon|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)


class Example(NamedTuple):
    """A fenced block: its kind, its text, and the line below its fence."""

    kind: str
    text: str
    line: int


def examples_in(text: str) -> list[Example]:
    """Find the examples of a page."""
    return [
        Example(match[1], match[2], text.count("\n", 0, match.start(2)) + 1)
        for match in _FENCE.finditer(text)
    ]


def faults_in(text: str, name: str) -> list[str]:
    """Say what the examples of a page do that the page doesn't say."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory(prefix="wayproof-docs-") as folder, _working_in(folder):
        return [fault for example in examples_in(text) for fault in _run(example, name, namespace)]


@contextlib.contextmanager
def _working_in(folder: str) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def missing_packages(example: Example) -> list[str]:
    """List what an example imports and nobody installed: packages of others, never ours."""
    return [
        name for name in _IMPORT.findall(example.text) if importlib.util.find_spec(name) is None
    ]


def _run(example: Example, name: str, namespace: dict[str, Any]) -> Iterator[str]:
    where = f"{name}:{example.line}"
    if example.kind == "pycon":
        parser, said = doctest.DocTestParser(), io.StringIO()
        test = parser.get_doctest(example.text, namespace, where, name, example.line - 1)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
        runner.run(test, out=said.write, clear_globs=False)
        namespace.update(test.globs)
        if runner.summarize(verbose=False).failed:
            yield said.getvalue()
        return
    program = compile(example.text, where, "exec")
    if missing_packages(example):
        return  # it was compiled, and that is all that can be said of it
    try:
        exec(program, namespace)  # noqa: S102 - our own documentation
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the page's fault
        yield f"{where}: {type(error).__name__}: {error}"


def pages(root: Path) -> list[Path]:
    """List the pages that hold examples."""
    found = [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]
    return [path for path in found if examples_in(path.read_text("utf-8"))]


def main() -> int:
    """Run them all; return the exit status."""
    status = 0
    for path in pages(ROOT):
        for fault in faults_in(path.read_text("utf-8"), path.relative_to(ROOT).as_posix()):
            print(fault)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
