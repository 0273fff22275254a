"""ES modules joined into one classic script.

A joiner for our own modules, not a bundler for anybody's: named imports from relative
files and exported declarations are all it knows, and anything else is an error. Each
module becomes a function that returns its exports, so that private names stay private.
"""

import posixpath
import re
from collections.abc import Callable

__all__ = ["join_modules"]

_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.\.?/[\w./-]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*? |class |const )(\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*\*.*?\*/)\n", re.MULTILINE | re.DOTALL)
"""A comment on lines of its own: for whoever reads the sources, not for the page."""
_LEFTOVER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def _names(imported: str) -> list[str]:
    return [name.strip() for name in imported.split(",") if name.strip()]


def _variable(module: str) -> str:
    return "$" + re.sub(r"\W", "_", module.removesuffix(".js"))


def _resolved(module: str, wanted: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(module), wanted))


def join_modules(entry: str, load: Callable[[str], str]) -> str:
    """Join ``entry`` and all it imports into one script, dependencies first.

    Parameters
    ----------
    entry
        Path of the module that starts the page, ``explorer/static/app.js``; imports are
        relative to the module that names them, as browsers have it.
    load
        Returns the source of a module by its path.

    Raises
    ------
    ValueError
        On an import cycle, an import of something not exported, or a form of import or
        export that this joiner doesn't know. These are faults in our own sources.
    """
    exports: dict[str, list[str]] = {}
    parts: list[str] = []
    pending: list[str] = []

    def visit(module: str) -> None:
        if module in exports:
            return
        if module in pending:
            raise ValueError(f"import cycle: {' -> '.join([*pending, module])}")
        pending.append(module)
        source = load(module)
        for imported, path in _IMPORT.findall(source):
            wanted = _resolved(module, path)
            visit(wanted)
            missing = set(_names(imported)) - set(exports[wanted])
            if missing:
                raise ValueError(f"{module}: {wanted} doesn't export {sorted(missing)}")
        exports[module] = _EXPORT.findall(source)
        parts.append(_wrapped(module, source, exports[module]))
        pending.pop()

    visit(entry)
    return '"use strict";\n' + "".join(parts)


def _wrapped(module: str, source: str, exported: list[str]) -> str:
    body = _IMPORT.sub(
        lambda found: f"const {{{found[1]}}} = {_variable(_resolved(module, found[2]))};\n", source
    )
    body = _COMMENT.sub("", _EXPORT.sub("", body))
    leftover = _LEFTOVER.search(body)
    if leftover:
        raise ValueError(f"{module}: unknown form: {leftover[0]}")
    return (
        f"const {_variable(module)} = (() => {{\n{body}return {{{', '.join(exported)}}};\n}})();\n"
    )
