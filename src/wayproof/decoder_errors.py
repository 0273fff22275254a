"""msgspec's messages, read in one place.

The decoder says what is wrong in a sentence: ``Expected `int`, got `str` - at `$.a[3].b```.
:func:`fault_in` takes the sentence apart; tests hold it against messages of the decoder
itself, so that another version of it can't change what users read without being noticed.
"""

import re
from typing import Any, Final, NamedTuple

__all__ = ["NOWHERE", "UNNAMED", "Fault", "fault_in", "json_words", "value_at"]

UNNAMED: Final = "[...]"
"""How the decoder writes a key in a path."""


class Fault(NamedTuple):
    """A decoder's message, taken apart.

    Attributes
    ----------
    problem
        The message without its place.
    path
        Where: ``steps[3].spent``; empty for the whole value. A step ``[...]`` stands for
        the value of some key.
    expected
        What the type asks for, as msgspec names it; None when the message doesn't say.
    got
        What type stood there instead.
    missing, unknown
        Name of a field that is missing, or that the record doesn't have.
    """

    problem: str
    path: str
    expected: str | None = None
    got: str | None = None
    missing: str | None = None
    unknown: str | None = None

    @property
    def field(self) -> str | None:
        """Path of the field that is wrong, the missing or unknown one included."""
        name = self.missing or self.unknown
        if name is None:
            return self.path or None
        return f"{self.path}.{name}" if self.path else name


_MESSAGE: Final = re.compile(
    r"(?P<problem>.*?)(?: - at (?:`key` in )?`\$(?P<path>[^`]*)`)?", re.DOTALL
)
_EXPECTED: Final = re.compile(r"Expected (?P<expected>.+?)(?:, got `(?P<got>[^`]+)`)?", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>[^`]+)`")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<name>.+)`", re.DOTALL)


def fault_in(message: str) -> Fault:
    """Take a message of msgspec's decoder apart."""
    parts = _MESSAGE.fullmatch(message)
    problem = parts["problem"] if parts else message
    path = ((parts["path"] if parts else None) or "").lstrip(".")
    expected = _EXPECTED.fullmatch(problem)
    missing, unknown = _MISSING.fullmatch(problem), _UNKNOWN.fullmatch(problem)
    return Fault(
        problem,
        path,
        expected=expected["expected"] if expected else None,
        got=expected["got"] if expected else None,
        missing=missing["name"] if missing else None,
        unknown=unknown["name"] if unknown else None,
    )


NOWHERE: Final = object()
"""What :func:`value_at` returns for a path that leads to no one value."""


def value_at(value: Any, path: str) -> Any:
    """Follow a fault's path into the decoded value; :data:`NOWHERE` where it can't."""
    if UNNAMED in path:
        return NOWHERE
    for index, name in re.findall(r"\[(\d+)\]|([^.\[\]]+)", path):
        try:
            value = value[name] if name else value[int(index)]
        except (KeyError, IndexError, TypeError):
            return NOWHERE
    return value


# msgspec speaks of Python's types; the files hold JSON's.
_WORDS: Final = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


def json_words(text: str) -> str:
    """Say a type of msgspec's in JSON's words: ``string or null`` for ``str | null``."""
    words = re.sub(r"[a-z]+", lambda word: _WORDS.get(word[0], word[0]), text.replace("`", ""))
    return words.replace(" | ", " or ")
