"""What Python callers hand in, as plain JSON values: numbers of NumPy are numbers."""

from collections.abc import Mapping
from typing import Any

from wayproof.errors import InputError
from wayproof.strict_json import plain_mapping

__all__ = ["plain_object", "plain_value"]

_EXACT = frozenset((str, int, float, bool, type(None)))


def plain_object(value: Any, field: str) -> dict[str, Any]:
    """Take a mapping as a dict of plain JSON values.

    Raises
    ------
    InputError
        Naming ``field``, for anything but a mapping, or for bottomless nesting.
    """
    try:
        plain: dict[str, Any] = plain_value(plain_mapping(value, field))
    except RecursionError:
        raise InputError(
            "nested too deeply", field=field, expected="at most a few hundred levels"
        ) from None
    return plain


def plain_value(value: Any) -> Any:
    """Return a value as JSON has it, whatever class it comes in.

    NumPy's scalars and arrays, and subclasses of ``str``, ``int`` and ``float``, become what
    they stand for; tuples become lists, and sets sorted lists, so that no result depends on
    a set's order. What JSON doesn't know stays, for the typed reader to refuse.
    """
    kind = type(value)
    if kind in _EXACT:
        return value
    if isinstance(value, Mapping):
        return {_plain_key(key): plain_value(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        ones = [plain_value(one) for one in value]
        is_set = isinstance(value, (set, frozenset))
        return sorted(ones) if is_set and all(type(one) is str for one in ones) else ones
    if kind.__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        inner = value.tolist()
        return value if type(inner) is kind else plain_value(inner)
    return next((plain(value) for plain in (str, int, float) if isinstance(value, plain)), value)


def _plain_key(key: Any) -> Any:
    return str(key) if isinstance(key, str) else key
