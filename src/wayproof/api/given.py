"""What callers give, taken for what it is or refused by the name of its setting."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from wayproof.errors import InputError
from wayproof.parallel.backend import MAX_PROCESSES
from wayproof.text import quoted

__all__ = ["path_of", "processes_of", "text_of", "texts_of", "word_of"]


def path_of(value: Any, setting: str) -> Path:
    """Take a path or its text."""
    if isinstance(value, str | Path):
        return Path(value)
    raise InputError(
        "not a path", setting=setting, expected="a path or its text", found=quoted(value)
    )


def text_of(value: Any, setting: str) -> str:
    """Take text."""
    if isinstance(value, str):
        return str(value)
    raise InputError("not text", setting=setting, expected="text", found=quoted(value))


def texts_of(value: Any, setting: str) -> list[str]:
    """Take a list of texts; a single text is none."""
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        return [text_of(one, setting) for one in value]
    raise InputError("not a list", setting=setting, expected="a list of texts", found=quoted(value))


def word_of(value: Any, words: tuple[str, ...], setting: str) -> None:
    """Refuse what is none of some words."""
    if value not in words:
        raise InputError(
            "unknown word", setting=setting, expected=" or ".join(words), found=quoted(value)
        )


def processes_of(value: Any) -> int:
    """Take a number of processes."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_PROCESSES:
        return value
    raise InputError(
        "not a number of processes",
        setting="processes",
        expected=f"a whole number from 1 to {MAX_PROCESSES}",
        found=quoted(value),
    )
