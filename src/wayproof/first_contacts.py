"""First contacts: which program or tool comes first, how often, and what came of it.

Whether a navigation surface is used first at all is the first question of its maintainer.
Commands are told apart by program, and by subcommand where the program has some. This is a
reading of text for a table: it decides no verdict.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from wayproof.stats.intervals import nearest_rank
from wayproof.text import clip

__all__ = ["UNKNOWN", "ContactRow", "ContactTally", "first_contact"]

UNKNOWN: Final = ""
"""The packet doesn't know its first command."""

_WITH_SUBCOMMANDS: Final = frozenset(
    (
        "apt", "brew", "bun", "cargo", "conda", "docker", "dotnet", "gh", "git", "go", "helm",
        "hg", "jj", "just", "kubectl", "make", "mvn", "npm", "npx", "nx", "pdm", "pip", "pnpm",
        "poetry", "rustup", "svn", "systemctl", "terraform", "uv", "wayproof", "yarn",
    )
)  # fmt: skip
_BEFORE_OTHERS: Final = frozenset(
    ("builtin", "command", "env", "exec", "nice", "nohup", "stdbuf", "sudo", "time")
)
_SHELLS: Final = frozenset(["bash", "dash", "ksh", "sh", "zsh"])
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=\S*\Z")
_SUBCOMMAND: Final = re.compile(r"[a-z][a-z0-9_:-]*\Z")
_SCRIPT: Final = re.compile(r"-[a-z]*c\s+(?P<quote>[\"'])(?P<script>.*?)(?P=quote)", re.DOTALL)
_LEADING_CD: Final = re.compile(r"\s*cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;|\n)\s*")
_LOOKED_AT_CHARS: Final = 2_000
_NAME_CHARS: Final = 60
_MOST_WORDS: Final = 12


def first_contact(command: str | None) -> str:
    """Name the program or tool of a first command, with its subcommand.

    ``cd src && FOO=1 git grep -n x`` is ``git grep``; ``bash -lc 'rg x'`` is ``rg``;
    ``Read(src/a.py)`` is ``Read``. Empty where the command is unknown or blank.
    """
    if command is None or not command.strip():
        return UNKNOWN
    return _named(command[:_LOOKED_AT_CHARS])


@lru_cache(maxsize=4096)
def _named(command: str) -> str:
    text = command
    while (guard := _LEADING_CD.match(text)) is not None and guard.end() < len(text):
        text = text[guard.end() :]
    words = text.split(maxsplit=_MOST_WORDS)
    while len(words) > 1 and (_ASSIGNMENT.match(words[0]) or words[0] in _BEFORE_OTHERS):
        words = words[1:]
    program = _base(words[0])
    if program == "timeout" and len(words) > 2:
        return _named(" ".join(words[2:]))
    if program in _SHELLS:
        script = _SCRIPT.search(text)
        if script is not None and script["script"].strip():
            return _named(script["script"])
    if program in _WITH_SUBCOMMANDS and len(words) > 1 and _SUBCOMMAND.match(words[1]):
        program = f"{program} {words[1]}"
    return clip(program, _NAME_CHARS)


def _base(word: str) -> str:
    """Return a program's own name: no folder, no quotes, nothing after a bracket."""
    bare = word.strip("\"'`").lstrip("({[") or word
    name = re.split(r"[({\[;|&<>]", bare, maxsplit=1)[0] or bare
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2] or name


class ContactRow(NamedTuple):
    """How often a program or tool came first, and what came of it.

    Attributes
    ----------
    program
        Empty where the first command is unknown.
    could_fail
        Results that could fail: the share of sufficient is over these.
    p50_wall_ms
        Nearest-rank median of the measured times.
    hit_count
        Results whose first command held a forbidden text.
    """

    program: str
    task_count: int
    could_fail: int
    sufficient_share: float | None
    p50_wall_ms: float | None
    hit_count: int


class _Counts:
    __slots__ = ("could_fail", "hits", "passes", "results", "walls_ms")

    def __init__(self) -> None:
        self.results = self.could_fail = self.passes = self.hits = 0
        self.walls_ms: list[float] = []


class ContactTally:
    """Counts results by the program or tool that came first."""

    def __init__(self) -> None:
        self._counts: dict[str, _Counts] = {}

    def add(
        self,
        program: str,
        *,
        could_fail: bool,
        is_sufficient: bool,
        has_hit: bool,
        wall_ms: float | None,
    ) -> None:
        """Take in one result; ``program`` is what :func:`first_contact` calls its command."""
        counts = self._counts.get(program)
        if counts is None:
            counts = self._counts[program] = _Counts()
        counts.results += 1
        if could_fail:
            counts.could_fail += 1
            counts.passes += is_sufficient
        counts.hits += has_hit
        if wall_ms is not None:
            counts.walls_ms.append(wall_ms)

    def rows(self) -> list[ContactRow]:
        """Return the programs, the most frequent first."""
        rows = [
            ContactRow(
                program=program,
                task_count=each.results,
                could_fail=each.could_fail,
                sufficient_share=each.passes / each.could_fail if each.could_fail else None,
                p50_wall_ms=_median(each.walls_ms),
                hit_count=each.hits,
            )
            for program, each in self._counts.items()
        ]
        return sorted(rows, key=lambda row: (-row.task_count, row.program))


def _median(values: list[float]) -> float | None:
    return sorted(values)[nearest_rank(len(values), 50) - 1] if values else None
