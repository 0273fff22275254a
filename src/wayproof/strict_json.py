"""JSON from outside: files, lines and documents, read strictly and within bounds.

The fast path is msgspec's typed decoder. When it refuses something, :func:`explain_line`
reads the same bytes again, slowly, to say exactly what is wrong. Documents (cases,
benchmarks) are small, so they take the strict path at once.
"""

import contextlib
import functools
import gzip
import json
import math
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

import msgspec

from wayproof.canonical import MAX_SAFE_INTEGER
from wayproof.errors import InputError
from wayproof.text import quoted

__all__ = [
    "MAX_DOCUMENT_BYTES",
    "MAX_LINE_BYTES",
    "STDIN_NAME",
    "blocks",
    "convert_typed",
    "explain_line",
    "has_duplicate_key",
    "is_compressed",
    "line_too_long",
    "open_input",
    "plain_mapping",
    "read_document",
    "read_lines",
    "refuse_unsafe_numbers",
    "shown_name",
    "strict_value",
]

MAX_LINE_BYTES = 64 << 20
"""A longer line, after decompression, is refused."""

MAX_DOCUMENT_BYTES = 1 << 30
"""A larger document, after decompression, is refused."""

STDIN_NAME = "-"
_BLOCK_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_TYPE_ERROR = re.compile(r"^(?P<problem>.*?)(?: - at `(?P<path>[^`]*)`)?$", re.DOTALL)
_T = TypeVar("_T")


def shown_name(path: Path) -> str:
    """Return the name that messages use for an input: ``<stdin>`` for ``-``."""
    return "<stdin>" if str(path) == STDIN_NAME else str(path)


@contextlib.contextmanager
def open_input(path: Path) -> Iterator[BinaryIO]:
    """Open a plain or gzip-compressed file, or standard input for ``-``.

    Compression is told from the first two bytes, not from the name.

    Raises
    ------
    InputError
        When the file can't be read, or its gzip stream is damaged or cut short.
    """
    name = shown_name(path)
    try:
        with contextlib.ExitStack() as stack:
            raw: Any
            if str(path) != STDIN_NAME:
                raw = stack.enter_context(path.open("rb"))
            elif sys.stdin is None:
                raise InputError("standard input is closed", file=name)
            else:
                raw = sys.stdin.buffer
            if raw.peek(2)[:2] == _GZIP_MAGIC:
                yield stack.enter_context(gzip.GzipFile(fileobj=raw))  # type: ignore[misc]
            else:
                yield raw
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError("damaged gzip data", file=name, found=str(error)) from None
    except OSError as error:
        raise InputError("can't be read", file=name, found=error.strerror or str(error)) from None


def is_compressed(stream: BinaryIO) -> bool:
    """Tell whether :func:`open_input` found a gzip file and decompresses it."""
    return isinstance(stream, gzip.GzipFile)


def refuse_unsafe_numbers(value: Any, field: str) -> None:
    """Refuse numbers that not every JSON reader keeps exactly, at any depth of ``value``."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, (int, float)) and not abs(one) <= MAX_SAFE_INTEGER:
            raise _beyond(str(one), field)


def blocks(stream: BinaryIO, limit_bytes: int | None = None) -> Iterator[bytes]:
    """Read ``stream`` in blocks of 1 MiB, at most ``limit_bytes`` in all."""
    left = math.inf if limit_bytes is None else limit_bytes
    while left > 0 and (block := stream.read(int(min(_BLOCK_BYTES, left)))):
        left -= len(block)
        yield block


def read_lines(
    stream: BinaryIO, start: int = 0, end: int | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield (offset in bytes, line without its LF or CR LF) up to the offset ``end``.

    ``stream`` stands at the offset ``start``, which is the beginning of a line. Blank
    lines are passed over, and so is a byte-order mark at the start of the file.

    Raises
    ------
    InputError
        For a line over :data:`MAX_LINE_BYTES`; its ``index`` names the byte offset.
    """
    offset = start
    readline = functools.partial(stream.readline, MAX_LINE_BYTES + 2)
    for line in iter(readline, b""):
        at = offset
        offset += len(line)
        if at == 0 and line.startswith(_BOM):
            line = line[len(_BOM) :]  # noqa: PLW2901 - the line without its mark
            at = len(_BOM)
        content = line.rstrip(b"\r\n")
        if len(content) > MAX_LINE_BYTES:
            raise line_too_long(at)
        if content and not content.isspace():
            yield at, content
        if end is not None and offset >= end:
            return


def line_too_long(offset: int) -> InputError:
    """Say that the line that starts at ``offset`` is over the limit."""
    return InputError(
        "line is too long",
        index=f"byte {offset}",
        expected=f"at most {MAX_LINE_BYTES} bytes",
        mend="is this a JSON Lines file, with one record a line?",
    )


# -- strict reading -------------------------------------------------------------------


class _Duplicate(Exception):  # noqa: N818 - a signal between two functions of this module
    def __init__(self, key: str) -> None:
        self.key = key


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Duplicate(key)
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise InputError("not JSON", expected="a finite number", found=name)


def _integer(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > MAX_SAFE_INTEGER:
        raise _beyond(digits)
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not abs(value) <= MAX_SAFE_INTEGER:
        raise _beyond(digits)
    return value


def _beyond(digits: str, field: str | None = None) -> InputError:
    return InputError(
        "number is too large to be kept exactly by every JSON reader",
        field=field,
        expected="a number within ±(2^53-1)",
        found=quoted(digits, 40).strip('"'),
    )


_strict = json.JSONDecoder(
    object_pairs_hook=_unique_pairs,
    parse_constant=_no_constant,
    parse_int=_integer,
    parse_float=_float,
)


def strict_value(data: bytes) -> Any:
    """Parse JSON bytes, refusing whatever two readers could read differently.

    Raises
    ------
    InputError
        Invalid UTF-8, not JSON, a duplicate key, a lone surrogate, NaN or infinity, a
        number beyond ±(2^53-1), nesting without end.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            "not valid UTF-8",
            found=f"byte 0x{data[error.start]:02x} at offset {error.start}",
            mend="save the file as UTF-8",
        ) from None
    try:
        value = _strict.decode(text)
    except _Duplicate as duplicate:
        raise InputError(
            "duplicate key", field=quoted(duplicate.key).strip('"'), expected="each key once"
        ) from None
    except json.JSONDecodeError as error:
        raise InputError(
            "not JSON",
            expected="one JSON value",
            found=f"{error.msg.removesuffix(' at')} at character {error.pos}",
        ) from None
    except RecursionError:
        raise InputError("nested too deeply", expected="at most a few hundred levels") from None
    surrogate = _surrogate_path(value, "")
    if surrogate is not None:
        raise InputError(
            "lone surrogate",
            field=surrogate or None,
            expected="valid Unicode text",
            mend="half of a UTF-16 pair was cut off where the text was made",
        )
    return value


def _surrogate_path(value: Any, path: str) -> str | None:
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return path
        return None
    children: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        for key, child in value.items():
            if _surrogate_path(key, path) is not None:
                return path
            children.append((f"{path}.{key}" if path else key, child))
    elif isinstance(value, list):
        children = [(f"{path}[{index}]", child) for index, child in enumerate(value)]
    for child_path, child in children:
        found = _surrogate_path(child, child_path)
        if found is not None:
            return found
    return None


def has_duplicate_key(line: bytes, known_keys: int, texts: Callable[[], str]) -> bool:
    """Tell whether a flat object's line repeats a key.

    Parameters
    ----------
    line
        The object's text.
    known_keys
        How many distinct keys its record shows.
    texts
        Gives all string values of the record, joined.

    Counting colons settles nearly every line without parsing it twice. Each key has one;
    without escapes, all others stand in strings. When keys and strings account for every
    colon of the line, no key stands twice.
    """
    colons = line.count(b":")
    if colons == known_keys:
        return False
    if b"\\" not in line and colons == known_keys + texts().count(":"):
        return False
    try:
        _strict.decode(line.decode("utf-8"))
    except _Duplicate:
        return True
    except (InputError, ValueError, RecursionError):
        return False  # some other defect, which the typed decoder judges
    return False


def plain_mapping(value: Any, field: str) -> dict[str, Any]:
    """Take any mapping as a dict; refuse what is none, naming ``field``."""
    if isinstance(value, Mapping):
        return dict(value)
    raise InputError("not an object", field=field, expected="object", found=quoted(value))


def convert_typed(value: Any, kind: type[_T], *, prefix: str = "") -> _T:
    """Turn a parsed value into a typed record, naming the field that doesn't fit.

    ``prefix`` is put before the field's path (``cases[3].task``).
    """
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        raise _type_error(error, value, prefix) from None


def _type_error(error: msgspec.ValidationError, value: Any, prefix: str) -> InputError:
    match = _TYPE_ERROR.match(str(error))
    problem = match["problem"] if match else str(error)
    path = (match["path"] or "$") if match else "$"
    found_at = _walk(value, path)
    field = prefix + (path[1:] if prefix else path[1:].lstrip("."))
    missing = re.search(r"missing required field `([^`]+)`", problem)
    if missing:
        field = f"{field}.{missing[1]}" if field else missing[1]
        return InputError("required field is missing", field=field)
    kinds = re.match(r"Expected (?P<expected>.+), got `(?P<got>[^`]+)`$", problem)
    bounds = re.match(r"Expected (?P<expected>.+)$", problem)
    expected = kinds["expected"] if kinds else (bounds["expected"] if bounds else problem)
    got = kinds["got"] if kinds else None
    shown = quoted(found_at) if found_at is not _NOWHERE else None
    if got is not None and not (shown or "").startswith((got, "a list", "an object")):
        shown = _json_words(got) if shown is None else f"{_json_words(got)} {shown}"
    return InputError(
        "wrong type" if kinds else "value out of range",
        field=field or None,
        expected=_json_words(expected),
        found=shown,
    )


# msgspec speaks of Python's types; the files hold JSON's.
_WORDS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


def _json_words(text: str) -> str:
    words = re.sub(r"[a-z]+", lambda word: _WORDS.get(word[0], word[0]), text.replace("`", ""))
    return words.replace(" | ", " or ")


_NOWHERE = object()


def _walk(value: Any, path: str) -> Any:
    """Follow msgspec's error path (``$.rows[1].title``, ``$[...]`` for a key) to its value."""
    for name, index in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path):
        try:
            value = value[name] if name else value[int(index)]
        except (KeyError, IndexError, TypeError):
            return _NOWHERE
    return _NOWHERE if "[...]" in path else value


def explain_line(line: bytes, kind: type[Any]) -> InputError:
    """Say why ``line`` is not a ``kind``: the slow second look at a refused line."""
    try:
        value = strict_value(line)
        if not isinstance(value, dict):
            return InputError(
                "not an object", expected="one JSON object a line", found=quoted(value)
            )
        convert_typed(value, kind)
    except InputError as error:
        return error
    return InputError("not a valid record")


def read_document(path: Path) -> Any:
    """Read a whole JSON document (plain, gzip, or ``-``) strictly.

    Raises
    ------
    InputError
        With the file's name, for whatever :func:`strict_value` refuses.
    """
    with open_input(path) as stream:
        data = stream.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise InputError(
            "document is too large",
            file=shown_name(path),
            expected=f"at most {MAX_DOCUMENT_BYTES} bytes",
            mend="tasks and packets as separate files may have any size",
        )
    try:
        return strict_value(data.removeprefix(_BOM))
    except InputError as error:
        raise error.at(file=shown_name(path)) from None
