"""What readers of loosely typed JSON share: objects and texts that may be something else."""

from collections.abc import Iterator, Mapping
from typing import Any

from wayproof.capture.adapter import inner_json

__all__ = ["arguments_of", "joined", "mapping", "mappings", "number"]


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object as it is, and anything else as an empty one."""
    return value if isinstance(value, dict) else _EMPTY  # a dict: Mapping is slow to ask for


_EMPTY: Mapping[str, Any] = {}


def mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list."""
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))


def number(value: Any) -> float | None:
    """Return a number, also one that stands in a text; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) < 1e17 else None


def arguments_of(value: Any) -> Mapping[str, Any] | str | None:
    """Return a call's input: an object, the object that a text holds, or the text."""
    if isinstance(value, str):
        inner = inner_json(value)
        return inner if isinstance(inner, dict) else value
    return value if isinstance(value, dict) else None


def joined(folder: Any, name: str) -> str:
    """Return a name that is relative to ``folder`` below it."""
    if not isinstance(folder, str) or not folder or name.startswith(("/", "\\", "~")):
        return name
    if name[1:2] == ":":
        return name
    return f"{folder.rstrip('/')}/{name.removeprefix('./')}"
