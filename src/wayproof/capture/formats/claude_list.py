"""Claude Code's stream as one list: ``claude -p --output-format json --verbose``.

claude-code-action keeps the same list in its execution file. An element is what a line of
``stream-json`` is, so the list is read as those lines; line numbers are element numbers.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from wayproof.capture.adapter import Head, first_byte, word
from wayproof.capture.lines import Source

__all__ = ["as_lines", "is_list"]

_elements = msgspec.json.Decoder(list[msgspec.Raw])


def is_list(head: Head) -> bool:
    """Whether a log is a list of the stream's messages."""
    return any(
        isinstance(one, dict)
        and word(one.get("type")) in {"system", "assistant", "user", "result"}
        and "session_id" in one
        and (isinstance(one.get("message"), dict) or "subtype" in one)
        for one in head.elements or []
    )


def as_lines(source: Source) -> Source:
    """Return a log whose lines are the elements of its list; another log as it is."""
    with source.open() as file:
        is_json_list = _OBJECTS.match(file.read(1 << 12)) is not None
    return (
        _Listed(source.path, name=source.name, problems=source.problems) if is_json_list else source
    )


_OBJECTS = re.compile(rb"\s*\[\s*(?:\{|\Z)")
"""A list of objects begins so; a line that is a list of something else may stand in any log."""


class _Listed(Source):
    """A JSON list, element by element."""

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield (element number, its bytes)."""
        elements: Any = self.document(_elements)
        for number, element in enumerate(elements or [], start=1):
            if first_byte(element):
                yield number, bytes(element)
