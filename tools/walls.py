"""Find what breaks the walls between rooms: three readers, each for what the others can't see.

    python tools/walls.py           exit 1 naming each break

* import-linter reads imports, also inside functions (contracts in ``pyproject.toml``);
* ruff reads banned names, also under an alias (``banned-api`` in ``pyproject.toml``);
* this module reads the syntax tree: names behind assignments and ``getattr``, builtins such as
  ``print`` and ``SystemExit``, and which file may use which banned name.
"""

import argparse
import ast
import functools
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

__all__ = ["PERMITS", "Break", "Permit", "excepted_files", "faults", "read_tree"]

ROOT = Path(__file__).parents[1]
PACKAGE = "wayproof"

BUILTINS = {
    "print": "only wayproof.cli writes to the terminal; return records",
    "input": "only wayproof.cli talks with the terminal",
    "exit": "only wayproof.cli exits; raise a WayproofError",
    "quit": "only wayproof.cli exits; raise a WayproofError",
    "SystemExit": "only wayproof.cli exits; raise a WayproofError",
    "breakpoint": "only wayproof.cli talks with the terminal",
    "__import__": "import it by name, so that the walls see it",
    "eval": "text is data and never run",
    "exec": "text is data and never run",
    "compile": "text is data and never run",
    "__builtins__": "import it by name, so that the walls see it",
    "__loader__": "import it by name, so that the walls see it",
    "__spec__": "import it by name, so that the walls see it",
    "help": "only wayproof.cli writes to the terminal; return records",
    "KeyboardInterrupt": "only wayproof.cli exits; raise a WayproofError",
}
"""Names without an import that the walls are about, and what to do instead."""

ALSO_BANNED = {
    "builtins": "name the builtin itself, so that the walls see it",
    "importlib.__import__": "import it by name, so that the walls see it",
    "os.system": "programs are started from fixed argument lists",
    "os.popen": "programs are started from fixed argument lists",
    "pydoc": "import it by name, so that the walls see it",
    "unittest": "tests stand outside of the package",
    **dict.fromkeys(
        (
            *("os.execl", "os.execle", "os.execlp", "os.execlpe", "os.execv", "os.execve"),
            *("os.execvp", "os.execvpe", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawnv"),
        ),
        "programs are started from fixed argument lists",
    ),
    **dict.fromkeys(
        ("ctypes", "posix", "nt", "_thread"), "name what the standard library calls it"
    ),
    **dict.fromkeys(
        ("os.kill", "os.killpg", "signal.raise_signal", "signal.pthread_kill"),
        "only wayproof.cli exits; raise a WayproofError",
    ),
    **dict.fromkeys(
        ("argparse", "optparse", "getopt"), "only wayproof.cli reads a command line, and exits"
    ),
    **dict.fromkeys(
        (
            *("os.write", "faulthandler", "pprint.pprint", "pprint.pp", "rich", "warnings.warn"),
            *("warnings.warn_explicit", "traceback.print_exc", "traceback.print_exception"),
            *("traceback.print_last", "traceback.print_list", "traceback.print_stack"),
        ),
        "only wayproof.cli writes to the terminal; return records",
    ),
    **dict.fromkeys(
        ("email.utils.localtime", "email.utils.formatdate", "email.utils.make_msgid"),
        "the clock is read in bundles/writer.py and for agents' deadlines only",
    ),
    **dict.fromkeys(
        (
            *("os.uname", "os.getlogin", "pwd", "pathlib.Path.home", "os.path.expanduser"),
            *("os.environ", "os.environb", "os.getenv"),
        ),
        "results don't depend on who computes them, or where",
    ),
    **dict.fromkeys(("tempfile.mktemp",), "unsafe, and random"),
}

_CLOCK_METHODS = frozenset({"now", "utcnow", "today"})
"""Of ``datetime``'s classes: whatever stands before the dot may be one of them."""
_OPENERS = frozenset({"open", "io.open", "io.FileIO", "os.fdopen", "codecs.open"})

_DEVICES = re.compile(r"/dev/(stdout|stderr|tty|fd/[12]|u?random)")
_SUPPRESSED = re.compile(r"#\s*noqa\b(?!:)|#\s*noqa:[^#]*\b(TID251|T20\d?)\b|#\s*ruff:\s*noqa")
_ASSIGNING = (ast.Assign, ast.AnnAssign, ast.NamedExpr)
_MODULE = re.compile(r"wayproof(\.[a-z_]\w*)+")


class Permit(NamedTuple):
    """Who may use which of the banned names, and why.

    Attributes
    ----------
    files
        Patterns below ``src/wayproof``.
    names
        The banned names that they may use.
    why
        The reason.
    """

    files: tuple[str, ...]
    names: tuple[str, ...]
    why: str


PERMITS: tuple[Permit, ...] = (
    Permit(
        ("cli/*",),
        (
            "print",
            "sys.stdout",
            "sys.stderr",
            "SystemExit",
            "KeyboardInterrupt",
            "rich",
            "argparse",
        ),
        "the command line prints, and turns argparse's way of ending into a status",
    ),
    Permit(("cli/__init__.py",), ("importlib.import_module",), "loads the asked-for command only"),
    Permit(("cli/__init__.py",), ("getattr(sys, …)",), "mends closed streams, both by one rule"),
    Permit(("__init__.py",), ("importlib.import_module",), "fetches the asked-for public name"),
    Permit(
        ("__main__.py", "fitness/__main__.py"),
        ("sys.exit",),
        "hands the command line's status to the shell",
    ),
    Permit(
        ("recovery/trial.py", "recovery/agents/python.py"),
        ("SystemExit",),
        "catches it: somebody else's policy that exits has crashed or can't be imported",
    ),
    Permit(
        ("bundles/writer.py",),
        ("datetime.datetime.now", "time", "platform"),
        "the manifest says when, for how long and where a bundle was made",
    ),
    Permit(("bundles/kinds.py",), ("importlib.import_module",), "loads what a kind's row names"),
    Permit(("capture/registry.py",), ("importlib.import_module",), "loads a log format"),
    Permit(("schemas.py",), ("importlib.import_module",), "loads a record's type"),
    Permit(("recovery/agents/stdio.py",), ("time", "os.write"), "agents have deadlines and a pipe"),
    Permit(
        ("recovery/agents/processes.py",),
        ("os.kill", "os.killpg", "ctypes"),
        "ends an agent with every process that it started",
    ),
    Permit(
        ("recovery/agents/stdio.py", "recovery/reproduce.py"),
        ("os.environ",),
        "what is started inherits it",
    ),
    Permit(
        ("parallel/engines.py",),
        ("os.environ",),
        "asks whether a cluster is named, whose size is its own",
    ),
    Permit(("__main__.py",), ("KeyboardInterrupt",), "turns it into a status"),
    Permit(
        ("cli/__init__.py", "parallel/pool.py"),
        ("getattr(signal, …)",),
        "handles the signals that this system has",
    ),
    Permit(("cli/private.py",), ("datetime.datetime.now",), "agreements and starts have dates"),
    Permit(
        ("parallel/pool.py",), ("os._exit",), "a worker without a parent has nobody to raise to"
    ),
    Permit(("private/cgroups.py",), ("os.kill",), "ends what is left in a trial's control group"),
    Permit(
        ("private/launch.py",),
        ("os.environ", "os.execvpe", "os.write"),
        "a program of its own, which turns into an agent's sandbox",
    ),
    Permit(("private/sandbox.py",), ("os.uname",), "a filter of system calls is a processor's"),
    Permit(("private/secrets.py",), ("secrets", "os.urandom"), "a salt must not be guessable"),
)


class Break(NamedTuple):
    """One broken wall."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        """Say where, and what."""
        return f"{self.file}:{self.line}: {self.message}"


def faults(root: Path = ROOT) -> list[str]:
    """Run the three readers on the checkout at ``root``; empty when every wall stands."""
    return [*_linted(root), *_ruffed(root), *map(str, read_tree(root))]


def _linted(root: Path) -> list[str]:
    # From src: import-linter then finds this checkout's package and not an installed one.
    return _said(
        [str(_program("lint-imports")), "--no-cache", "--no-logo", str(root / "pyproject.toml")],
        root / "src",
    )


def _ruffed(root: Path) -> list[str]:
    # An exception is a line in pyproject.toml with a reason; a comment in the code is none.
    return _said(
        [
            *(str(_program("ruff")), "check", "--no-cache", "--ignore-noqa"),
            *("--select", "TID251,T20", "--output-format", "concise", "src"),
        ],
        root,
    )


def _program(name: str) -> Path:
    return Path(sys.executable).with_name(name)


def _said(command: list[str], folder: Path) -> list[str]:
    wide = {**os.environ, "COLUMNS": "300"}  # a complaint stays on one line
    done = subprocess.run(
        command, cwd=folder, env=wide, capture_output=True, text=True, check=False
    )
    return [] if done.returncode == 0 else (done.stdout + done.stderr).splitlines()


def _banned(root: Path) -> dict[str, str]:
    tables = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]["lint"]
    api = tables["flake8-tidy-imports"]["banned-api"]
    return {**{name: row["msg"] for name, row in api.items()}, **ALSO_BANNED, **BUILTINS}


def excepted_files(root: Path = ROOT) -> set[str]:
    """Return the patterns below ``src/wayproof`` that ruff's configuration excepts."""
    tables = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]["lint"]
    prefix = f"src/{PACKAGE}/"
    return {
        pattern.removeprefix(prefix).replace("**", "*")
        for pattern, rules in tables["per-file-ignores"].items()
        if pattern.startswith(prefix) and "TID251" in rules
    }


def read_tree(root: Path = ROOT, *, permits: Sequence[Permit] = PERMITS) -> list[Break]:
    """Read every module of the checkout at ``root`` and list the broken walls."""
    source = root / "src" / PACKAGE
    banned = tuple(_banned(root).items())
    found = []
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source).as_posix()
        text = path.read_text("utf-8")
        found += [
            Break(f"src/{PACKAGE}/{name}", line, f"{used}: {why}")
            for line, used, why in (*_uses(text, banned), *_suppressions(text))
            if not _permitted(name, used, permits)
        ]
        found += [
            Break(f"src/{PACKAGE}/{name}", line, message)
            for line, message in _strange_tables(text, source)
        ]
    return found


@functools.cache  # the tests read the tree once for each wall that they break
def _uses(text: str, banned: tuple[tuple[str, str], ...]) -> list[tuple[int, str, str]]:
    return sorted(set(_Reader(dict(banned), ast.parse(text)).breaks()))


def _permitted(file: str, used: str, permits: Sequence[Permit]) -> bool:
    return any(
        any(fnmatch(file, pattern) for pattern in permit.files)
        and any(_covers(name, used) for name in permit.names)
        for permit in permits
    )


def _covers(name: str, used: str) -> bool:
    return used == name or used.startswith(f"{name}.")


def _suppressions(text: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if _SUPPRESSED.search(line):
            yield number, "noqa", "a wall's exception stands in pyproject.toml, with its reason"


def _strange_tables(text: str, source: Path) -> Iterator[tuple[int, str]]:
    """Name modules in a table of a file that loads by name, where there is no such module."""
    if "import_module(" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and _is_loader(node) and not _is_from_table(node.args[0]):
            yield node.lineno, "import_module: takes a name from a literal table, not a made one"
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0]
            if _MODULE.fullmatch(name) and not _exists(source, name):
                yield node.lineno, f"{name}: a table names a module that does not exist"


def _is_loader(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return "import_module" in {name, node.func.id if isinstance(node.func, ast.Name) else ""}


def _is_from_table(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript)


def _exists(source: Path, module: str) -> bool:
    path = source.joinpath(*module.split(".")[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


class _Reader:
    """What one module uses of the banned names, under whichever name it knows them."""

    def __init__(self, banned: dict[str, str], tree: ast.Module) -> None:
        self._banned = banned
        self._tree = tree
        self._known: dict[str, str] = {}
        self._reasons: dict[str, str | None] = {"": None}
        self._sensitive = {
            ".".join(parts[:end])
            for parts in (name.split(".") for name in banned if name not in BUILTINS)
            for end in range(1, len(parts) + 1)
        }

    def breaks(self) -> Iterator[tuple[int, str, str]]:
        """Yield the line, the banned name and what to do instead."""
        nodes = list(ast.walk(self._tree))
        for node in nodes:
            self._learn_import(node)
        named = [node for node in nodes if isinstance(node, _ASSIGNING) and node.value is not None]
        for _ in range(3):  # a = os; b = a; c = b
            for node in named:
                self._learn_assignment(node)
        for node in nodes:
            for used in self._used(node):
                if (why := self._why(used)) is not None:
                    yield node.lineno, used, why  # type: ignore[attr-defined]

    def _learn_import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                self._known[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                self._known[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def _learn_assignment(self, node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> None:
        name = self._named(node.value) if node.value is not None else ""
        if name not in self._sensitive:
            return
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name):
                self._known.setdefault(target.id, name)

    def _named(self, node: ast.AST) -> str:
        """Return the dotted name that an expression stands for, or the empty text."""
        if isinstance(node, ast.Name):
            return self._known.get(node.id, node.id if node.id in BUILTINS else "")
        if isinstance(node, ast.Attribute):
            base = self._named(node.value)
            return f"{base}.{node.attr}" if base else ""
        if isinstance(node, ast.Call) and _is_getattr(node):
            base = self._named(node.args[0])
            key = node.args[1]
            if base and isinstance(key, ast.Constant) and isinstance(key.value, str):
                return f"{base}.{key.value}"
        return ""

    def _used(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Name | ast.Attribute):
            if isinstance(node.ctx, ast.Load):
                yield self._named(node)
                if isinstance(node, ast.Attribute) and node.attr in _CLOCK_METHODS:
                    yield f"datetime.datetime.{node.attr}"
        elif isinstance(node, ast.Call):
            yield self._named(node)
            yield from self._called(node)
            if self._hides(node):
                yield f"{ast.unparse(node.func)}({self._named(node.args[0])}, …)"
        elif isinstance(node, ast.Constant) and _is_device(node.value):
            yield str(node.value)
        elif isinstance(node, ast.Constant) and node.value == "__builtins__":
            yield "__builtins__"

    def _called(self, node: ast.Call) -> Iterator[str]:
        """Yield a clock that is asked for by its method's name, and a stream by its number."""
        words = [one.value for one in node.args if isinstance(one, ast.Constant)]
        name = self._named(node.func)
        if name in {"operator.methodcaller", "operator.attrgetter"}:
            for word in words:
                if isinstance(word, str):
                    asked = _CLOCK_METHODS.intersection(word.split("."))
                    yield from (f"datetime.datetime.{one}" for one in sorted(asked))
        words += [one.value.value for one in node.keywords if isinstance(one.value, ast.Constant)]
        called = name or (node.func.id if isinstance(node.func, ast.Name) else "")
        if called in _OPENERS and any(type(word) is int and word < 3 for word in words[:1]):
            yield "/dev/stdout"

    def _hides(self, node: ast.Call) -> bool:
        """Tell whether a call reaches into a watched module by a name that is computed."""
        if not node.args or self._named(node.args[0]) not in self._sensitive:
            return False
        if _is_getattr(node):
            return not isinstance(node.args[1], ast.Constant)
        return isinstance(node.func, ast.Name) and node.func.id == "vars"

    def _why(self, used: str) -> str | None:
        if used not in self._reasons:
            self._reasons[used] = self._reason(used)
        return self._reasons[used]

    def _reason(self, used: str) -> str | None:
        hidden = used.removesuffix(".__dict__").removesuffix(".*")
        if used.endswith(", …)") or (hidden != used and hidden in self._sensitive):
            return "name it, so that the walls see it"
        if _is_device(used):
            return "only wayproof.cli writes to the terminal; only wayproof.stats.seeded draws"
        return next((why for name, why in self._banned.items() if _covers(name, used)), None)


def _is_device(value: object) -> bool:
    return isinstance(value, str) and _DEVICES.fullmatch(value) is not None


def _is_getattr(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) > 1


def main(argv: Sequence[str] | None = None) -> int:
    """Print each broken wall; return the exit status."""
    parser = argparse.ArgumentParser(description="Find what breaks the walls between rooms.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    found = faults(parser.parse_args(argv).root)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
