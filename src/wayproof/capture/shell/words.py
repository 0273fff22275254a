"""The literal values that a script's words stand for, variables set to literals included."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["UnknownWord", "Words"]

_MAX_EXPANSION = 256
_SPECIAL = re.compile(r"[\\*?\[]")
_GLOB = re.compile(r"(?<!\\)[*?\[]")
_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_BRACES = re.compile(r"([^{}'\"$`]*)\{([^{}'\"$`]*,[^{}'\"$`]*)\}([^{}'\"$`]*)")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"', "r": "\r"}


class UnknownWord(Exception):  # noqa: N818 - a signal between these modules
    """A word whose value only a running shell would know."""


class Words:
    """The text of a script, node by node, and the variables set so far.

    Parameters
    ----------
    data
        The script as it was parsed.
    powershell
        Backslashes are path separators, not escapes.
    """

    def __init__(self, data: bytes, *, powershell: bool) -> None:
        self._data = data
        self._powershell = powershell
        self._values: dict[str, list[str]] = {}
        # In ASCII, bytes and characters have the same offsets.
        self.ascii_text = data.decode("ascii") if data.isascii() else None

    def text(self, node: "Node") -> str:
        """Return a node as it is written."""
        return self.slice(node.start_byte, node.end_byte)

    def slice(self, start: int, end: int) -> str:
        """Return the text between two byte offsets."""
        if self.ascii_text is not None:
            return self.ascii_text[start:end]
        return self._data[start:end].decode("utf-8", "replace")

    def spelled(self, node: "Node") -> str:
        """Return a quoted text with its variables and substitutions as they are written."""
        return _unescaped(self.text(node)[1:-1], quoted=True)

    # -- variables --------------------------------------------------------------------

    def assign(self, node: "Node") -> None:
        """Remember a variable set to a literal; forget one set to anything else."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None:
            return
        try:
            self._values[self.text(name)] = self.values(value) if value is not None else [""]
        except UnknownWord:
            self._values.pop(self.text(name), None)

    def loop(self, node: "Node") -> None:
        """Let a ``for`` loop's variable stand for all its literal words."""
        variable = node.child_by_field_name("variable")
        if variable is None:
            return
        values: list[str] = []
        try:
            for word in node.children_by_field_name("value"):
                values += self.values(word)
        except UnknownWord:
            self._values.pop(self.text(variable), None)
        else:
            self._values[self.text(variable)] = values[:_MAX_EXPANSION]

    # -- values -----------------------------------------------------------------------

    def values(self, node: "Node") -> list[str]:
        """Return the literal values a word stands for.

        Raises
        ------
        UnknownWord
            When only a running shell would know.
        """
        kind = node.type
        if kind == "word" or kind == "number":  # noqa: PLR1714 - the hottest line of all
            return [self._plain(node)]
        if kind == "raw_string":
            return [self.text(node)[1:-1]]
        if kind == "ansi_c_string":
            return [_unescaped(self.text(node)[2:-1])]
        if kind == "string":
            return self._quoted(node)
        if kind in {"simple_expansion", "expansion"}:
            return self._variable(node)
        if kind == "concatenation":
            return self._concatenated(node)
        raise UnknownWord

    def _plain(self, node: "Node") -> str:
        text = self.text(node)
        if _SPECIAL.search(text) is None or self._powershell or _DRIVE.match(text):
            return text
        if _GLOB.search(text):
            raise UnknownWord
        return _ESCAPED.sub(lambda found: found[1].strip("\n"), text)

    def _variable(self, node: "Node") -> list[str]:
        name = self.text(node).lstrip("$").removeprefix("{").removesuffix("}")
        values = self._values.get(name)
        if values is None:
            raise UnknownWord
        return values

    def _quoted(self, node: "Node") -> list[str]:
        values = [""]
        position = node.start_byte + 1
        for child in node.named_children:
            if child.type == "string_content":
                continue
            between = _unescaped(self.slice(position, child.start_byte), quoted=True)
            values = _product(values, _product([between], self.values(child)))
            position = child.end_byte
        rest = _unescaped(self.slice(position, node.end_byte - 1), quoted=True)
        return _product(values, [rest])

    def _concatenated(self, node: "Node") -> list[str]:
        text = self.text(node)
        braces = _BRACES.fullmatch(text)
        if braces:
            if _GLOB.search(text):
                raise UnknownWord
            return [f"{braces[1]}{one}{braces[3]}" for one in braces[2].split(",")]
        values = [""]
        for child in node.children:
            values = _product(values, self.values(child))
        return values


def _product(left: list[str], right: list[str]) -> list[str]:
    if len(left) * len(right) > _MAX_EXPANSION:
        raise UnknownWord
    return [a + b for a in left for b in right]


def _unescaped(text: str, *, quoted: bool = False) -> str:
    if quoted:  # inside double quotes a backslash keeps its meaning before these only
        return re.sub(r'\\([$`"\\])', r"\1", text.replace("\\\n", ""))
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), text)
