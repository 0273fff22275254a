"""A shell command cut into its parts, with what stands between them.

Capture says what a command's programs do; here it matters whose status the whole command's
status is, and which parts came before one that did nothing. A command with a syntax of its own
(a loop, a function, a group) isn't cut: then nothing is claimed of it.
"""

import re
from typing import NamedTuple

__all__ = ["Part", "parts_of"]

_MAX_CHARS = 1 << 16
_COMPOUND = re.compile(
    r"\s*(?:(?:if|for|while|until|case|select|function|then|do|else|elif|fi|done|esac)(?=[\s;]|$)"
    r"|[{(]|[A-Za-z_][\w-]*\s*\(\s*\))"
)
_PLAIN = re.compile(r"[^\\\\'\"`$<>#\n|;&]*")
"""What is surely no operator, quote or substitution."""
_HEREDOC = re.compile(r"<<(-?)\s*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([\w.-]+))")


_CLOSED = {
    "'": re.compile(r"[^']*'"),
    '"': re.compile(r"(?:[^\"\\]|\\.)*\"", re.DOTALL),
    "`": re.compile(r"(?:[^`\\]|\\.)*`", re.DOTALL),
}
"""A quoted text behind its first quote."""


class Part(NamedTuple):
    """A command between two operators.

    Attributes
    ----------
    text
        The command, its heredocs included.
    after
        The operator behind it: ``&&``, ``||``, ``;``, ``|``, ``&``, or nothing at the end.
    """

    text: str
    after: str


def parts_of(command: str) -> tuple[Part, ...] | None:
    """Cut a command; None for one with a syntax that isn't followed."""
    if len(command) > _MAX_CHARS:
        return None
    parts = _Cutter(command).cut()
    if parts is None or any(_COMPOUND.match(part.text) for part in parts):
        return None
    return parts


class _Cutter:
    """One pass over a command's characters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._start = 0
        self._parts: list[Part] = []
        self._heredocs: list[tuple[bool, str]] = []

    def cut(self) -> tuple[Part, ...] | None:
        """Return the parts; None where quotes or brackets don't close."""
        while self._at < len(self._text):
            if not self._step():
                return None
        self._end_part("", 0)
        return tuple(self._parts)

    def _step(self) -> bool:
        """Take what stands here; False where it doesn't close."""
        text = self._text
        at = self._at = _PLAIN.match(text, self._at).end()  # type: ignore[union-attr]
        if at == len(text):
            return True
        character = text[at]
        if character == "\\":
            self._at += 2
        elif character in "'\"`":
            return self._quoted(character)
        elif text.startswith(("$(", "<(", ">(", "${"), at):
            return self._bracketed()
        elif character == "#" and (at == 0 or text[at - 1] in " \t\n;"):
            end = text.find("\n", at)
            self._at = len(text) if end < 0 else end
        elif text.startswith("<<<", at):
            self._at += 3
        elif (found := _HEREDOC.match(text, at)) is not None:
            self._heredocs.append((bool(found[1]), found[2] or found[3] or found[4]))
            self._at = found.end()
        elif character == "\n":
            self._line_end()
        else:
            self._operator(character)
        return True

    def _operator(self, character: str) -> None:
        text, at = self._text, self._at
        before = text[at - 1] if at else ""
        if text.startswith(("&&", "||"), at):
            self._end_part(text[at : at + 2], 2)
        elif text.startswith("|&", at):
            self._end_part("|", 2)
        elif character in "|;" and before != ">":
            self._end_part(character, 1)
        elif character == "&" and before not in {">", "<"} and text[at + 1 : at + 2] != ">":
            self._end_part("&", 1)
        else:
            self._at += 1

    def _end_part(self, operator: str, width: int) -> None:
        part = self._text[self._start : self._at].strip()
        self._at += width
        self._start = self._at
        if part and not _only_comments(part):
            self._parts.append(Part(part, operator))
        elif operator == "" and self._parts and self._parts[-1].after in {";", "&"}:
            last = self._parts[-1]
            if last.after == ";":
                self._parts[-1] = Part(last.text, "")

    def _line_end(self) -> None:
        """End a command at a line feed, behind which heredocs begin."""
        if not self._heredocs:
            follows_operator = not self._text[self._start : self._at].strip()
            if follows_operator:
                self._at += 1
                self._start = self._at
            else:
                self._end_part(";", 1)
            return
        at = self._at + 1
        while self._heredocs and at < len(self._text):
            tabs, word = self._heredocs[0]
            end = self._text.find("\n", at)
            end = len(self._text) if end < 0 else end
            line = self._text[at:end]
            if (line.lstrip("\t") if tabs else line) == word:
                self._heredocs.pop(0)
            at = end + 1
        self._heredocs = []
        self._at = min(at - 1, len(self._text))
        self._end_part(";", 1)

    def _quoted(self, quote: str) -> bool:
        found = _CLOSED[quote].match(self._text, self._at + 1)
        if found is None:
            return False
        self._at = found.end()
        return True

    def _bracketed(self) -> bool:
        """Skip a substitution with everything inside it."""
        closing = {"(": ")", "{": "}"}
        waiting = [closing[self._text[self._at + 1]]]
        self._at += 2
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == "\\":
                self._at += 2
            elif character in "'\"`":
                if not self._quoted(character):
                    return False
            else:
                if character == waiting[-1]:
                    waiting.pop()
                elif character in closing:
                    waiting.append(closing[character])
                self._at += 1
                if not waiting:
                    return True
        return False


def _only_comments(part: str) -> bool:
    return all(line.lstrip().startswith("#") or not line.strip() for line in part.splitlines())
