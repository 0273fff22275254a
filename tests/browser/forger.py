"""Forges bundles as a careful forger would: one edit, and every digest mended after it.

Independent of the checkers: it edits JSON values, lines and bytes, and knows of a bundle
only which digest stands where.
"""

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["Files", "forge", "mended", "read_files"]

Files = dict[str, bytes]
MANIFEST = "manifest.json"


def read_files(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def dumps(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


# -- values ---------------------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of every value inside, containers too."""
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, child in children:
        yield (*path, key)
        yield from places(child, (*path, key))


def parent_of(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        value = value[key]
    return value


ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    0.5,
    1e22,
    2**53,
    "",
    "x",
    "(absent)",
    [],
    {},
)


def other_value(draw: random.Random, value: Any) -> Any:  # noqa: PLR0911 - a case a type
    """Return another value, mostly of the same type and near."""
    if draw.random() < 0.25:
        return draw.choice([odd for odd in ODD if odd != value or type(odd) is not type(value)])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + draw.choice((-1, 1, 1, 2, 10, -10, 1000))
    if isinstance(value, float):
        return draw.choice((value + 0.0001, value - 0.0001, value * 2, 0, 1, round(value, 1)))
    if isinstance(value, str):
        return other_text(draw, value)
    if isinstance(value, list):
        return other_list(draw, value)
    if isinstance(value, dict):
        return {**value, draw.choice(("more", "a, b", "", "\u00e9")): draw.choice(ODD)}
    return draw.choice(("pass", 0, 1, [], "x"))


WORDS = (
    *("pass", "fail", "timeout", "unmeasured", "unscored", "missing_id", "weak_scent"),
    *("route_error", "route_timeout", "forbidden_route", "collision", "invalid_path"),
    *("premature_end", "policy", "prefix", "injected", "planner", "random-walk", "ok", "crashed"),
    *("reference_control", "client_agent", "cost_exact", "agreement", "bootstrap"),
    *("wayproof.fitness/1", "wayproof.fitness/2", "recovery", "fitness", "a*", " ", "\u00df"),
)


def other_text(draw: random.Random, text: str) -> str:
    changed = draw.choice(
        (
            draw.choice(WORDS),
            text + draw.choice("x*1\n "),
            text[:-1],
            text.upper(),
            text.replace("0", "1", 1),
            "\U0001f600" + text,
        )
    )
    return changed if changed != text else text + "y"


def other_list(draw: random.Random, values: list[Any]) -> list[Any]:
    changed = list(values)
    how = draw.randrange(4)
    if how == 0 or not changed:
        return [*changed, draw.choice((*changed, *ODD))]
    if how == 1:
        del changed[draw.randrange(len(changed))]
    elif how == 2:
        changed.insert(0, changed[-1])
    else:
        changed.reverse()
    return changed if changed != values else [*changed, changed[0]]


def edit_value(draw: random.Random, record: Any) -> Any:
    """Change, remove, add or move one value of a record."""
    found = list(places(record))
    if not found:
        return {"more": 1}
    path = draw.choice(found)
    parent, key = parent_of(record, path), path[-1]
    how = draw.random()
    if how < 0.12:
        del parent[key]
    elif how < 0.2 and isinstance(parent, dict):
        parent[draw.choice((f"{key}x", "more", f"{key}, more"))] = parent.pop(key)
    else:
        parent[key] = other_value(draw, parent[key])
    return record


# -- lines and bytes ------------------------------------------------------------------


def deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def edit_bytes(draw: random.Random, data: bytes) -> bytes:
    """Spell the same, or nearly the same, in other bytes."""
    at = draw.randrange(len(data) + 1)
    edits: tuple[Callable[[], bytes], ...] = (
        lambda: data.replace(b":", b": ", 1),
        lambda: data.replace(b":1,", b":1.0,", 1),
        lambda: data.replace(b":0,", b":-0,", 1),
        lambda: data.replace(b"\n", b"\r\n", 1),
        lambda: data.removesuffix(b"\n"),
        lambda: data + b"\n",
        lambda: b"\xef\xbb\xbf" + data,
        lambda: data[:at] + b"\xff" + data[at:],
        lambda: data[:at],
        lambda: data.replace(b"{", b'{"a":1,"a":1,', 1),
        lambda: data.replace(b'":"', b'":"\\u0041', 1),
        lambda: data.replace(b'":"', b'":"\\ud800', 1),
        lambda: data.replace(b":null", b":" + deep(draw.choice((400, 499, 600, 1500))), 1),
        lambda: data.replace(
            b'"error":null', b'"error":{"x":' + deep(draw.choice((3, 900))) + b"}", 1
        ),
        lambda: b"",
    )
    return draw.choice(edits)()


def edit_lines(draw: random.Random, lines: list[bytes]) -> list[bytes]:
    at = draw.randrange(len(lines))
    changed = list(lines)
    how = draw.randrange(4)
    if how == 0:
        del changed[at]
    elif how == 1:
        changed.insert(at, changed[at])
    elif how == 2:
        changed.insert(draw.randrange(len(changed)), changed.pop(at))
    else:
        changed.append(b"{}")
    return changed


def edit_file(draw: random.Random, data: bytes) -> bytes:
    how = draw.random()
    if how < 0.12:
        return edit_bytes(draw, data)
    lines = data.splitlines()
    if not lines:
        return b"{}\n"
    if how < 0.2:
        return b"".join(line + b"\n" for line in edit_lines(draw, lines))
    at = draw.randrange(len(lines))
    lines[at] = dumps(edit_value(draw, json.loads(lines[at])))
    return b"".join(line + b"\n" for line in lines)


# -- mending --------------------------------------------------------------------------


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _with(data: bytes, change: Callable[[Any], None]) -> bytes:
    try:
        value = json.loads(data)
        change(value)
        return dumps(value) + b"\n"
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return data  # what can't be read can't be mended


def _setter(name: str, value: str) -> Callable[[Any], None]:
    def change(record: Any) -> None:
        record[name] = value

    return change


def mended(files: Files) -> Files:
    """Make every digest agree with the bytes that it stands for."""
    files = dict(files)
    if {"traces.jsonl", "results.jsonl", "summary.json"} <= files.keys():
        lines = files["results.jsonl"].splitlines()
        for at, trace in enumerate(files["traces.jsonl"].splitlines()[: len(lines)]):
            digest = sha256(trace)
            if digest.encode() not in lines[at]:
                lines[at] = _with(lines[at], _setter("trace_sha256", digest)).removesuffix(b"\n")
                files["results.jsonl"] = b"".join(line + b"\n" for line in lines)
        digest = sha256(files["results.jsonl"])
        if digest.encode() not in files["summary.json"]:
            files["summary.json"] = _with(files["summary.json"], _setter("results_sha256", digest))

    def mend(manifest: Any) -> None:
        for name in manifest["files"]:
            if name in files:
                data = files[name]
                manifest["files"][name] = {"bytes": len(data), "sha256": sha256(data)}
        if manifest["kind"] == "recovery":
            manifest["inputs"]["suite"] = manifest["files"]["suite.jsonl"]

    files[MANIFEST] = _with(files[MANIFEST], mend)
    return files


def forge(draw: random.Random, honest: Files) -> Files:
    """Return a bundle with one edit (now and then two) and all digests mended."""
    files = dict(honest)
    for _ in range(1 + (draw.random() < 0.15)):
        name = draw.choice(sorted(files))
        if name == MANIFEST and draw.random() < 0.5:
            name = draw.choice(sorted(files))
        files[name] = edit_file(draw, files[name])
    if draw.random() < 0.03:
        files[draw.choice(("more.txt", "notes"))] = b"hello"
    if draw.random() < 0.03:
        del files[draw.choice([name for name in sorted(files) if name != MANIFEST])]
    return mended(files)
