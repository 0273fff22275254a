"""Which files an inline script writes: Python by its own grammar, others by their phrases.

Nothing is run. A script that can't be parsed is searched for the phrases of opening a file
to write.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence

from wayproof.capture.shell.commands import Simple
from wayproof.capture.shell.writes import How, Write

__all__ = ["inline_script", "language_of", "script_writes"]

_MAX_CHARS = 1 << 16
_MAX_VALUES = 64
_PYTHON = re.compile(r"(?:python|pypy)(?:\d(?:\.\d+)?)?w?")
_CODE_FLAGS = {"node": ("-e", "--eval", "-p"), "nodejs": ("-e",), "ruby": ("-e",), "php": ("-r",),
               "perl": ("-e", "-E", "-pe", "-ne", "-ple", "-lne"), "deno": ("eval",),
               "bun": ("-e",)}  # fmt: skip


def inline_script(command: Simple) -> str | None:
    """Return the program text that stands in a command or in its heredoc; None: there is none."""
    words = command.words
    if _PYTHON.fullmatch(command.name):
        flags: tuple[str, ...] = ("-c",)
    elif command.name in _CODE_FLAGS:
        flags = _CODE_FLAGS[command.name]
    else:
        return None
    for place, word in enumerate(words):
        if word in flags:
            return words[place + 1] if place + 1 < len(words) else None
        if word is None or not word.startswith("-"):
            break
    if command.body is not None and all(word is not None and word[:1] == "-" for word in words[:1]):
        return command.body
    return None


_LANGUAGES = {"py": "python", "js": "node", "mjs": "node", "cjs": "node", "ts": "node",
              "rb": "ruby", "pl": "perl", "php": "php"}  # fmt: skip


def language_of(path: str) -> str | None:
    """Return the interpreter that a file's name asks for, of those whose scripts are read."""
    return _LANGUAGES.get(path.rsplit(".", 1)[-1].lower())


def script_writes(name: str, script: str) -> tuple[Write, ...]:
    """Return the writes of a script in the language of the interpreter ``name``."""
    text = script[:_MAX_CHARS]
    if _PYTHON.fullmatch(name):
        tree = _parsed(text)
        if tree is not None:
            return tuple(_Python(tree).writes())
    return tuple(_by_phrases(text))


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in somebody else's script
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


# -- Python -----------------------------------------------------------------------------

_WRITING = re.compile(r"[wax+]")
_OS_EDITS = frozenset({"remove", "unlink", "rename", "replace", "rmdir", "removedirs", "truncate"})
_SHUTIL_COPIES = frozenset({"copy", "copy2", "copyfile", "copytree"})
_PATH_EDITS = frozenset({"unlink", "rmdir", "rename"})
_PATHS = frozenset({"Path", "PurePath", "PosixPath"})
_SAME = frozenset({"resolve", "absolute", "expanduser"})


class _Python:
    """The writes of one module, with names that are bound to literal paths."""

    def __init__(self, tree: ast.Module) -> None:
        try:
            self._nodes = list(ast.walk(tree))
        except RecursionError:
            self._nodes = []
        self._names: dict[str, list[str]] = {}
        for _ in range(2):  # a name may be bound to another one
            for node in self._nodes:
                self._bind(node)

    def _bind(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.For):
            target, value = node.target, node.iter
        else:
            return
        if isinstance(target, ast.Name):
            values = self._values(value)
            if values:
                known = self._names.setdefault(target.id, [])
                known += [one for one in values if one not in known][: _MAX_VALUES - len(known)]

    def _values(self, node: ast.expr, depth: int = 0) -> list[str]:  # noqa: PLR0911 - one a kind
        """Return the literal paths that an expression may stand for; none: not known."""
        if depth > 20:
            return []
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        if isinstance(node, ast.Name):
            return self._names.get(node.id, [])
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return [one for item in node.elts for one in self._values(item, depth + 1)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            left, right = self._values(node.left, depth + 1), self._values(node.right, depth + 1)
            return [f"{a.rstrip('/')}/{b}" for a in left[:8] for b in right[:8]]
        if isinstance(node, ast.Call):
            return self._called(node, depth)
        return []

    def _called(self, node: ast.Call, depth: int) -> list[str]:
        name = _name(node.func)
        if name in _PATHS or name in {"str", "abspath", "sorted", "list"}:
            return self._values(node.args[0], depth + 1) if len(node.args) == 1 else []
        if name == "join" and node.args:
            parts = [self._values(one, depth + 1) for one in node.args]
            return ["/".join(one[0] for one in parts)] if all(parts) else []
        if name == "cwd":
            return ["."]
        if name in _SAME and isinstance(node.func, ast.Attribute):
            return self._values(node.func.value, depth + 1)
        if name == "open" and not isinstance(node.func, ast.Attribute) and node.args:
            return self._values(node.args[0], depth + 1)
        return []

    def writes(self) -> Iterator[Write]:
        calls = [node for node in self._nodes if isinstance(node, ast.Call)]
        read = {path for node in calls for path in self._read(node)}
        for node in calls:
            for place, how in self._written(node):
                values = self._values(place) if place is not None else []
                if not values:
                    yield Write(None, how)
                for path in values:
                    yield Write(path, "edit" if path in read and how == "put" else how)

    def _read(self, node: ast.Call) -> list[str]:
        name = _name(node.func)
        if name in {"read_text", "read_bytes"} and isinstance(node.func, ast.Attribute):
            return self._values(node.func.value)
        if name == "open" and not _WRITING.search(_mode(node)):
            opened = _opened(node)
            return self._values(opened) if opened is not None else []
        return []

    def _written(self, node: ast.Call) -> Iterator[tuple[ast.expr | None, How]]:
        name, func = _name(node.func), node.func
        owner = func.value if isinstance(func, ast.Attribute) else None
        module = owner.id if isinstance(owner, ast.Name) else ""
        first = node.args[0] if node.args else None
        if name == "open":
            mode = _mode(node)
            if "x" in mode:
                yield _opened(node), "new"
            elif _WRITING.search(mode):
                yield _opened(node), "edit" if "r+" in mode else "put"
        elif name in {"write_text", "write_bytes"}:
            yield owner, "put"
        elif (module == "os" and name in _OS_EDITS) or (
            module == "shutil" and name in {"move", "rmtree"}
        ):
            yield first, "edit"
        elif module == "shutil" and name in _SHUTIL_COPIES and len(node.args) > 1:
            yield node.args[1], "put"
        elif name in {"makedirs", "mkdir", "touch"}:
            yield (first if module == "os" else owner), "make"
        elif name in _PATH_EDITS and owner is not None and self._values(owner):
            yield owner, "edit"
        elif name in {"input", "FileInput"} and module == "fileinput" and _in_place(node):
            yield first, "edit"


def _name(func: ast.expr) -> str:
    if isinstance(func, ast.Attribute):
        return func.attr
    return func.id if isinstance(func, ast.Name) else ""


def _opened(node: ast.Call) -> ast.expr | None:
    """Return what ``open`` opens: its first argument, or the path whose method it is."""
    func = node.func
    if isinstance(func, ast.Attribute) and not (
        isinstance(func.value, ast.Name) and func.value.id in {"io", "codecs", "os", "gzip"}
    ):
        return func.value
    return node.args[0] if node.args else None


def _mode(node: ast.Call) -> str:
    place = 1 if _opened(node) is (node.args[0] if node.args else None) else 0
    given = [one.value for one in node.keywords if one.arg == "mode"]
    given += node.args[place : place + 1]
    mode = given[0] if given else None
    return mode.value if isinstance(mode, ast.Constant) and isinstance(mode.value, str) else ""


def _in_place(node: ast.Call) -> bool:
    return any(
        one.arg == "inplace" and isinstance(one.value, ast.Constant) and bool(one.value.value)
        for one in node.keywords
    )


# -- other languages ----------------------------------------------------------------------

_QUOTED = r"""\s*(['"`])(?P<path>[^'"`\n]{1,300})\1"""
_PHRASES: Sequence[tuple[re.Pattern[str], How]] = (
    (re.compile(r"\b(?:writeFile|appendFile|createWriteStream)(?:Sync)?\(" + _QUOTED), "put"),
    (re.compile(r"\b(?:unlink|rm|rename|rmdir|truncate)(?:Sync)?\(" + _QUOTED), "edit"),
    (re.compile(r"\bfile_put_contents\(" + _QUOTED), "put"),
    (re.compile(r"\bFile\.(?:write|binwrite)\(?" + _QUOTED), "put"),
    (re.compile(r"\bFile\.(?:delete|unlink|rename)\(?" + _QUOTED), "edit"),
    (re.compile(r"\bopen\(" + _QUOTED + r"""\s*,\s*(?:mode\s*=\s*)?['"][^'"]*[wax+]"""), "put"),
    (re.compile(r"""\bopen\b[^;\n]{0,40}['"]\s*>>?\s*['"]\s*,""" + _QUOTED), "put"),
)  # fmt: skip
_READ = re.compile(
    r"\b(?:readFileSync|readFile|file_get_contents|File\.read|open)\(?"
    + _QUOTED
    + r"\s*(?:\)|,\s*['\"](?:r|utf))"
)
_WRITES_SOMEWHERE = re.compile(
    r"\b(?:writeFile|appendFile)(?:Sync)?\(|\bfile_put_contents\(|\bFile\.write\b|\.write_text\("
    r"|\bopen\([^)\n]{1,200},\s*['\"][wa]"
)


def _by_phrases(text: str) -> Iterator[Write]:
    read = {found["path"] for found in _READ.finditer(text)}
    named = False
    for pattern, how in _PHRASES:
        for found in pattern.finditer(text):
            named = True
            yield Write(found["path"], "edit" if found["path"] in read and how == "put" else how)
    if not named and _WRITES_SOMEWHERE.search(text):
        yield Write(None, "put")
