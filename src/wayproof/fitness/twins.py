"""Near twins: a selected id that only looks like a missing one.

Ids are compared literally, on purpose: ``./src/a.py`` and ``src/a.py`` may be two things.
But when an expected id is missing and one was selected that differs in its spelling alone,
a person should hear of it: more often than not the surface writes ids in another way.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Final, NamedTuple
from urllib.parse import unquote

__all__ = ["SPELLINGS", "Spelling", "Twin", "near_twins"]

_LINE_NUMBER = re.compile(r"(?::[0-9]+(?:[:-][0-9]+)?|#L[0-9]+(?:-L?[0-9]+)?)\Z")
_DOT_SLASH = re.compile(r"^(?:\./+)+|/\.(?=/)")


class Spelling(NamedTuple):
    """A way of writing one id in two ways, and what takes the difference out."""

    name: str
    plain: Callable[[str], str]


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


SPELLINGS: Final = (
    Spelling("white space at an end", str.strip),
    Spelling("percent-encoding", unquote),
    Spelling("Unicode composition", _composed),
    Spelling("backslashes", lambda text: text.replace("\\", "/")),
    Spelling("a leading ./", lambda text: _DOT_SLASH.sub("", text)),
    Spelling("repeated slashes", lambda text: re.sub("/{2,}", "/", text)),
    Spelling("a line number", lambda text: _LINE_NUMBER.sub("", text)),
    Spelling("upper and lower case", lambda text: _composed(text.casefold())),
)
"""In the order in which they are taken out."""


class Twin(NamedTuple):
    """A missing id, the selected one that looks like it, and in which spellings they differ."""

    missing: str
    selected: str
    differ_by: tuple[str, ...]


def near_twins(missing: Iterable[str], selected: Iterable[str]) -> Iterator[Twin]:
    """Yield for each missing id a selected one that differs in its spelling alone."""
    by_plain: dict[str, str] = {}
    for one in selected:
        by_plain.setdefault(_plain(one), one)
    for wanted in missing:
        chosen = by_plain.get(_plain(wanted))
        if chosen is not None and chosen != wanted:
            yield Twin(wanted, chosen, tuple(_differences(wanted, chosen)))


def _plain(text: str) -> str:
    return reduce(lambda sofar, spelling: spelling.plain(sofar), SPELLINGS, text)


def _differences(one: str, other: str) -> Iterator[str]:
    """Name the spellings without which the two would still differ."""
    for spelling in SPELLINGS:
        ours, theirs = spelling.plain(one), spelling.plain(other)
        if one != other and (ours == theirs or (ours != one) != (theirs != other)):
            yield spelling.name
        one, other = ours, theirs
