"""Plain commands taken apart without a grammar: words, raw strings, pipes and sequences.

Most commands of an agent are no more than that, and a syntax tree costs several times as
much as all else that is done with them. What is not surely plain is left to the grammar;
what is plain gives exactly what the grammar would give.
"""

import re
from functools import lru_cache

from wayproof.capture.shell.commands import MAY_RUN_SHELLS

__all__ = ["Pipeline", "plain_pipelines"]

Pipeline = tuple[str, list[list[str]]]
"""A pipeline's text, and the words of each of its commands."""

_MAX_CHARS = 4096
_TOKEN = re.compile(
    r"[ \t]*(?:([\w./:,@%+-][\w./:=,@%+-]*)(?=[ \t|;&]|\Z)"  # a word
    r"|'([^'\n\\]*)'(?=[ \t|;&]|\Z)"  # a raw string
    r"|(&&(?!&)|;(?![;&])|\|(?![|&])))",  # an operator
    re.ASCII,
)
_NAME = re.compile(r"[A-Za-z./][\w./-]*", re.ASCII)
# Words that begin something else than a command, or commands with a syntax of their own.
_SPECIAL = frozenset({
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "select", "function", "in", "coproc", "declare", "typeset", "export", "readonly", "local",
    "unset", "unsetenv", "set", "pushd", "popd", "chdir", *MAY_RUN_SHELLS,
})  # fmt: skip


def plain_pipelines(command: str) -> list[Pipeline] | None:
    """Return the pipelines of a plain command in order; None for any other command."""
    if len(command) > _MAX_CHARS or not command.isascii():
        return None
    command = command.strip(" \t")
    found: list[Pipeline] = []
    words: list[str] = []
    commands = [words]
    start = position = 0
    following = _TOKEN.scanner(command).match  # type: ignore[attr-defined]
    while (token := following()) is not None:
        word, raw, operator = token.groups()
        position = token.end()
        if operator is None:
            if not words and (word is None or not _is_name(word)):
                return None
            words.append(raw if word is None else word)
            continue
        # The grammar takes what follows a longer pipeline and ``&&`` for a part of it.
        if not words or (len(commands) > 2 and operator == "&&"):
            return None
        words = []
        if operator == "|":
            commands.append(words)
        else:
            found.append((command[start : token.start()].strip(), commands))
            commands, start = [words], position
    if not words or position < len(command):
        return None
    found.append((command[start:].strip(), commands))
    return found


@lru_cache(1024)
def _is_name(word: str) -> bool:
    if _NAME.fullmatch(word) is None:
        return False
    return word.rsplit("/", 1)[-1].removesuffix(".exe") not in _SPECIAL
