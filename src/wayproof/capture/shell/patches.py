"""Which files a patch writes, by its own headings: the text is never applied."""

import re
from collections.abc import Iterator

from wayproof.capture.shell.writes import Write

__all__ = ["patch_writes"]

_HEADING = re.compile(
    r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$|^\*\*\* (Move to): (.+?)\s*$", re.MULTILINE
)
_UNIFIED = re.compile(r"^--- (\S+).*\n\+\+\+ (\S+)", re.MULTILINE)
_NOTHING = "/dev/null"


def patch_writes(text: str) -> Iterator[Write]:
    """Yield the writes that a patch names; an Add makes a file, all else needs one."""
    found = False
    for heading in _HEADING.finditer(text):
        found = True
        verb, path = heading[1] or heading[3], heading[2] or heading[4]
        if verb == "Add":
            yield Write(path, "new")
        elif verb == "Move to":
            yield Write(path, "moved")
        else:
            yield Write(path, "edit")
    if found:
        return
    for before, after in _UNIFIED.findall(text):
        if before == _NOTHING:
            yield Write(_without_side(after), "new")
        else:
            yield Write(_without_side(before), "edit")


def _without_side(path: str) -> str:
    return path[2:] if path.startswith(("a/", "b/")) else path
