"""``wayproof.toml``: defaults for options, found upward from where the command runs."""

import argparse
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from wayproof.cli import say

__all__ = ["SETTINGS_NAME", "ProgramDefault", "add_settings_options", "apply_settings"]

SETTINGS_NAME: Final = "wayproof.toml"
_MOST_BYTES: Final = 1 << 20


class ProgramDefault(str):
    """A default that a settings file may replace: the command line gives plain text."""

    __slots__ = ()


class _Key(NamedTuple):
    """A key of a table: which option it stands for, and how its value is read."""

    option: str
    read: Callable[[Any], Any]
    expected: str


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    return str(value)


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _texts(value: Any) -> list[str] | None:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return value
    return None


def _bounds(value: Any) -> list[str] | None:
    if not isinstance(value, dict) or not value:
        return None
    if any(_number(one) is None for one in value.values()):
        return None
    return [f"{name}={bound}" for name, bound in value.items()]


def _one_of(*words: str) -> Callable[[Any], str | None]:
    return lambda value: value if value in words else None


def _measures(value: Any) -> str | None:
    texts = _texts(value)
    return None if texts is None else " ".join(texts)


def _joined(value: Any) -> str | None:
    texts = _texts(value)
    return None if texts is None else ",".join(texts)


_TABLES: Final[Mapping[str, Mapping[str, _Key]]] = {
    "gates": {
        "min-sufficient": _Key("min_sufficient", _text, 'a rate such as "90%"'),
        "min-sufficient-tasks": _Key("min_sufficient_tasks", _text, 'a rate such as "90%"'),
        "max-debts": _Key("max_debts", _bounds, "a table such as {sufficiency = 3}"),
        "max-p95-ms": _Key("max_p95_ms", _number, "milliseconds"),
        "max-unmeasured": _Key("max_unmeasured", _number, "a count"),
        "must-pass": _Key("must_pass", _texts, "files or patterns"),
        "fail-on": _Key("fail_on", _joined, "names"),
        "max-drop": _Key("max_drop", _bounds, "a table such as {recall = 0.02}"),
        "undecided": _Key("undecided", _text, '"pass" or "fail"'),
    },
    "measures": {
        "names": _Key("measures", _measures, 'names such as ["R@20", "nDCG@10"]'),
        "all-topics": _Key("all_topics", _flag, "true or false"),
        "cluster": _Key("cluster", _text, "a field of a result"),
        "needed": _Key("needed", _number, "a difference"),
    },
    "capture": {
        "repo-root": _Key("repo_root", _text, "a folder, as the log spells it"),
        "map": _Key("map", _texts, 'texts such as "/app=src"'),
        "select": _Key("select", _one_of("read", "matched", "listed"), "read, matched or listed"),
        "until": _Key("until", _text, "where routes end"),
        "wall": _Key("wall", _one_of("native", "elapsed"), "native or elapsed"),
    },
}


_PATHS: Final = frozenset({"must-pass"})
"""Keys whose values may be files; other paths are those of a log."""


def add_settings_options(parser: argparse.ArgumentParser) -> None:
    """Declare where settings come from."""
    group = parser.add_argument_group(
        "settings", f"defaults from {SETTINGS_NAME}, found upward from the working directory"
    )
    which = group.add_mutually_exclusive_group()
    which.add_argument("--config", metavar="FILE", type=Path, help="take this file instead")
    which.add_argument("--no-config", action="store_true", help="take none")


def apply_settings(args: argparse.Namespace, *tables: str) -> None:
    """Fill in what the command line left open, and say on stderr what came from where.

    Raises
    ------
    InputError
        For a file that can't be read, and for a table, key or value that isn't known.
    """
    path = _found(args)
    if path is None:
        return
    document = _read(path)
    taken = []
    for table in tables:
        for name, value in document.get(table, {}).items():
            key = _TABLES[table][name]
            current = getattr(args, key.option, "not an option of this command")
            if current in (None, [], False) or isinstance(current, ProgramDefault):
                is_places = name in _PATHS
                setattr(args, key.option, _beside(path, value) if is_places else value)
                taken.append(f"{table}.{name}")
    if taken:
        from wayproof.text import harmless

        say(harmless(f"settings: {', '.join(taken)} from {path}"))


def _beside(settings: Path, texts: list[str]) -> list[str]:
    """Find files that a settings file names: beside it, wherever the command runs.

    What isn't there is a pattern, whatever lies in the working directory: who can add a file
    there must not change what the settings ask for.
    """
    import os

    from wayproof.gates.must_pass import IdPattern

    found = []
    for text in texts:
        try:
            is_file = (settings.parent / text).is_file()
        except (OSError, ValueError):
            is_file = False
        found.append(os.path.relpath(settings.parent / text) if is_file else IdPattern(text))
    return found


def _found(args: argparse.Namespace) -> Path | None:
    import os

    from wayproof.errors import InputError

    if args.no_config:
        return None
    if args.config is not None:
        return Path(args.config)
    here = Path.cwd()
    places = (folder / SETTINGS_NAME for folder in (here, *here.parents))
    found = next((place for place in places if os.path.lexists(place)), None)
    if found is not None and not found.is_file():
        # Passed over, its gates would be dropped without a word.
        raise InputError(
            "can't be read",
            file=str(found),
            expected="a regular file",
            mend="put the settings there, or run with {no_config}",
        )
    return found


def _read(path: Path) -> dict[str, dict[str, Any]]:
    from wayproof.errors import InputError
    from wayproof.text import quoted

    shown = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise InputError("settings file is too large", file=shown, expected="up to 1 MiB")
        document = tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise InputError("can't be read", file=shown, found=error.strerror) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError("not TOML", file=shown, found=str(error)) from None
    read: dict[str, dict[str, Any]] = {}
    for table, entries in document.items():
        if table not in _TABLES or not isinstance(entries, dict):
            raise InputError(
                "not a table of settings",
                file=shown,
                field=table,
                expected=", ".join(f"[{name}]" for name in _TABLES),
                found=quoted(entries),
            )
        read[table] = {}
        for given, value in entries.items():
            name = given.replace("_", "-")
            key = _TABLES[table].get(name)
            if key is None:
                raise InputError(
                    "not a setting",
                    file=shown,
                    field=f"{table}.{given}",
                    expected=", ".join(_TABLES[table]),
                    found=quoted(value),
                )
            if name in read[table]:
                raise InputError(
                    "setting is given twice",
                    file=shown,
                    field=f"{table}.{given}",
                    expected=f"{name} once, with - or with _",
                    found=quoted(value),
                )
            read[table][name] = key.read(value)
            if read[table][name] is None:
                raise InputError(
                    "not a value of this setting",
                    file=shown,
                    field=f"{table}.{given}",
                    expected=key.expected,
                    found=quoted(value),
                )
    return read
