"""JSON from outside: values, lines and documents, read strictly and within bounds.

The fast path is msgspec's typed decoder. When it refuses something, :func:`explain_line`
reads the same bytes again, slowly, to say exactly what is wrong. Documents (cases,
benchmarks) are small, so they take the strict path at once.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from wayproof.canonical import MAX_SAFE_INTEGER
from wayproof.decoder_errors import NOWHERE, UNNAMED, fault_in, json_words, value_at
from wayproof.errors import InputError
from wayproof.lines import BOM, open_input, shown_name
from wayproof.text import quoted

__all__ = [
    "MAX_DOCUMENT_BYTES",
    "convert_typed",
    "explain_line",
    "has_duplicate_key",
    "plain_mapping",
    "plain_value",
    "read_document",
    "refuse_unsafe_numbers",
    "strict_value",
]

MAX_DEPTH = 500
"""Deepest nesting of lists and objects in a text that is read; the Explorer has the same."""
_MAX_FOREIGN_DEPTH = MAX_DEPTH // 2
"""Deepest nesting of a value that a record carries as it stands, with room around it."""

MAX_DOCUMENT_BYTES = 1 << 30
"""A larger document, after decompression, is refused."""

_T = TypeVar("_T")


def refuse_unsafe_numbers(value: Any, field: str) -> None:
    """Refuse numbers that not every JSON reader keeps exactly, and nesting without end."""
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > _MAX_FOREIGN_DEPTH:
            raise _too_deep(_MAX_FOREIGN_DEPTH, field)
        if isinstance(one, dict):
            waiting += ((child, depth + 1) for child in one.values())
        elif isinstance(one, list):
            waiting += ((child, depth + 1) for child in one)
        elif isinstance(one, (int, float)) and not abs(one) <= MAX_SAFE_INTEGER:
            raise _beyond(str(one), field)


# -- strict reading -------------------------------------------------------------------


def _too_deep(most: int, field: str | None = None) -> InputError:
    return InputError("nested too deeply", field=field, expected=f"at most {most} levels")


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)


def _refuse_deep(text: str) -> None:
    """Refuse a text whose lists and objects are nested deeper than :data:`MAX_DEPTH`.

    Parsers give up at depths of their own, which depend on what called them: with a limit
    of ours every reader refuses the same texts.
    """
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", _STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            raise _too_deep(MAX_DEPTH)


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
    _refuse_deep(text)
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
        raise _too_deep(MAX_DEPTH) from None
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


_ATOMS = frozenset({str, int, float, bool, type(None)})


def plain_value(value: Any) -> Any:
    """Take strings, numbers and arrays of other libraries for what they are.

    NumPy's scalars and arrays, and subclasses of Python's own types, become plain values;
    what has no plain value stays as it is, for the typed reading to refuse.
    """
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is list or kind is tuple:
        return value if _ATOMS.issuperset(map(type, value)) else [*map(plain_value, value)]
    if isinstance(value, Mapping):
        return {plain_value(key): plain_value(one) for key, one in value.items()}
    if hasattr(value, "dtype") and hasattr(value, "tolist"):  # a scalar is an array of dimension 0
        value = value.tolist()
        return plain_value(value) if type(value) in {list, *_ATOMS} else value
    own = next((own for own in (str, int, float, list, tuple) if isinstance(value, own)), None)
    return value if own is None else plain_value(own(value))


def plain_mapping(value: Any, field: str) -> dict[str, Any]:
    """Take any mapping as a dict of plain values; refuse what is none, naming ``field``."""
    if isinstance(value, Mapping):
        try:
            plain: dict[str, Any] = plain_value(value)
        except RecursionError:
            raise InputError("nested too deeply", field=field) from None
        return plain
    raise InputError("not an object", field=field, expected="object", found=quoted(value))


def convert_typed(value: Any, record_type: type[_T], *, prefix: str = "") -> _T:
    """Turn a parsed value into a typed record, naming the field that doesn't fit.

    ``prefix`` is put before the field's path (``cases[3].task``).
    """
    try:
        return msgspec.convert(value, record_type, strict=True)
    except msgspec.ValidationError as error:
        raise _type_error(error, value, record_type, prefix) from None


def _type_error(
    error: msgspec.ValidationError, value: Any, record_type: type[Any], prefix: str
) -> InputError:
    fault = fault_in(str(error))
    path, found_at = _named_place(value, record_type, fault.path)
    field = fault._replace(path=path).field
    if prefix:
        dot = "" if field is None or field.startswith("[") else "."
        field = f"{prefix}{dot}{field or ''}"
    if fault.missing is not None:
        return InputError("required field is missing", field=field)
    if fault.unknown is not None:
        return InputError("unknown field", field=field)
    shown = None if found_at is NOWHERE else quoted(found_at)
    got = fault.got
    if got is not None and not (shown or "").startswith((got, "a list", "an object")):
        shown = json_words(got) if shown is None else f"{json_words(got)} {shown}"
    return InputError(
        "wrong type" if got is not None else "value out of range",
        field=field,
        expected=json_words(fault.problem if fault.expected is None else fault.expected),
        found=shown,
    )


def _named_place(value: Any, record_type: type[Any], path: str) -> tuple[str, Any]:
    """Return a fault's path with the keys that the decoder leaves out, and what stands there."""
    shown, owner = "", value
    for number, part in enumerate(path.split(UNNAMED)):
        if number:
            key = _wrong_key(value, record_type, path, owner)
            if key is None:
                return path, NOWHERE
            owner = owner[key]
            shown += "." + quoted(key, 200).strip('"')
        owner = value_at(owner, part)
        shown += part
    return shown, owner


def _wrong_key(value: Any, record_type: type[Any], path: str, owner: Any) -> Any:
    """Find the key of ``owner``, an object within ``value``, that a fault is about, by halving."""
    if not isinstance(owner, dict):
        return None
    whole = dict(owner)
    suspects = list(whole)
    try:
        while len(suspects) > 1:
            half = suspects[: len(suspects) // 2]
            owner.clear()
            owner.update({key: whole[key] for key in half})
            is_here = _fault_path(value, record_type) == path
            suspects = half if is_here else suspects[len(half) :]
    finally:
        owner.clear()
        owner.update(whole)
    return suspects[0] if suspects else None


def _fault_path(value: Any, record_type: type[Any]) -> str | None:
    try:
        msgspec.convert(value, record_type, strict=True)
    except msgspec.ValidationError as error:
        return fault_in(str(error)).path
    return None


def explain_line(line: bytes, record_type: type[Any]) -> InputError:
    """Say why ``line`` is no such record: the slow second look at a refused line."""
    try:
        value = strict_value(line)
        if not isinstance(value, dict):
            return InputError(
                "not an object", expected="one JSON object a line", found=quoted(value)
            )
        convert_typed(value, record_type)
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
        return strict_value(data.removeprefix(BOM))
    except InputError as error:
        raise error.at(file=shown_name(path)) from None
