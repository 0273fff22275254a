"""What single commands do with files: which read, which search, which write.

Tables first, then the few functions that read a command's words by them. A command that
no table knows is a navigation call that selects nothing.
"""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

import msgspec

__all__ = [
    "IN_PLACE",
    "LISTERS",
    "MAY_RUN_SHELLS",
    "READERS",
    "SEARCHERS",
    "SHELLS",
    "WRAPPERS",
    "Simple",
    "git_words",
    "in_place",
    "is_windows_shell",
    "positional",
    "program_files",
    "read_paths",
    "script_of",
    "shell_in",
    "unwrapped",
]


class Simple(msgspec.Struct, frozen=True):
    """A command's base name, its words (None: unknown), and where its output goes.

    Attributes
    ----------
    heredoc, body
        Whether it is given a heredoc or a herestring, and its text.
    piped
        It reads the output of another command.
    folder
        Where it stands, relative to the call's own working directory.
    lost
        Nobody knows where it stands.
    path
        The name as typed, where it is a path.
    """

    name: str
    words: tuple[str | None, ...] = ()
    targets: tuple[tuple[str, str | None], ...] = ()
    heredoc: bool = False
    body: str | None = None
    piped: bool = False
    folder: str | None = None
    lost: bool = False
    path: str | None = None


SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "pwsh", "powershell", "cmd"})

WRAPPERS = {
    "sudo": 0, "env": 0, "time": 0, "nohup": 0, "nice": 0, "command": 0, "builtin": 0,
    "exec": 0, "stdbuf": 0, "xargs": 0, "timeout": 1, "gtimeout": 1, "caffeinate": 0,
    "ionice": 0, "setsid": 0,
}  # fmt: skip
"""Commands that run another one: how many of their own operands come first."""
_RUNNERS = frozenset({
    "find", "fd", "fdfind", "parallel", "docker", "docker-compose", "podman", "kubectl", "uv",
    "poetry", "pipenv", "pdm", "hatch", "conda", "mamba", "micromamba", "npx", "flock", "strace",
    "ltrace", "watch", "script", "unbuffer", "doas", "chroot", "taskset", "chrt", "setarch",
    "direnv", "nix", "busybox", "su", "runuser",
})  # fmt: skip
"""Commands that run another one, which stands somewhere among their words."""

MAY_RUN_SHELLS = frozenset({*SHELLS, *WRAPPERS, *_RUNNERS})
"""Commands that :func:`shell_in` must look at."""

_WRAPPER_VALUES = {
    "sudo": {"-u", "-g", "-C", "-h"}, "env": {"-u", "-C", "-S"}, "nice": {"-n"},
    "stdbuf": {"-i", "-o", "-e"}, "timeout": {"-s", "-k", "--signal", "--kill-after"},
    "gtimeout": {"-s", "-k"}, "ionice": {"-c", "-n", "-p"},
    "xargs": {"-n", "-I", "-P", "-d", "-L", "-a", "-E", "-s"},
}  # fmt: skip

SEARCHERS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "git grep"})
LISTERS = frozenset({"find", "fd", "fdfind", "ls", "dir", "git ls-files", "tree", "rg --files"})

# Flags that take a value, for commands whose remaining words are files.
_READER_VALUES: dict[str, frozenset[str]] = {
    "cat": frozenset(),
    "tac": frozenset({"-s"}),
    "less": frozenset({"-p", "-P", "-x", "-y", "-z", "-j"}),
    "more": frozenset({"-n"}),
    "head": frozenset({"-n", "-c", "--lines", "--bytes"}),
    "tail": frozenset({"-n", "-c", "--lines", "--bytes", "--pid", "-s"}),
    "nl": frozenset({"-b", "-d", "-f", "-h", "-i", "-l", "-n", "-s", "-v", "-w"}),
    "bat": frozenset({"-r", "--line-range", "-l", "--language", "--style", "--theme", "-H"}),
    "batcat": frozenset({"-r", "--line-range", "-l", "--language", "--style", "--theme"}),
    "zcat": frozenset(),
    "od": frozenset({"-A", "-t", "-N", "-j", "-w"}),
    "xxd": frozenset({"-l", "-s", "-c", "-g"}),
    "Get-Content": frozenset({"-TotalCount", "-Tail", "-Head", "-Encoding", "-First", "-Last"}),
    "type": frozenset(),  # of cmd; in bash it names programs, which have no dots
    "gc": frozenset({"-TotalCount", "-Tail", "-Head", "-Encoding"}),
}
# The same, where the first word is a program and not a file.
_PROGRAM_VALUES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "sed": (frozenset({"-e", "--expression", "-f", "--file", "-l"}), frozenset({"-e", "-f"})),
    "awk": (frozenset({"-F", "-v", "-f"}), frozenset({"-f"})),
    "gawk": (frozenset({"-F", "-v", "-f"}), frozenset({"-f"})),
    "jq": (
        frozenset({"--indent", "-f", "--from-file", "-L"}),
        frozenset({"-f", "--from-file"}),
    ),
    "yq": (frozenset({"-o", "-p"}), frozenset()),
}

READERS = frozenset({*_READER_VALUES, *_PROGRAM_VALUES, "git"})
"""Commands whose words :func:`read_paths` understands."""

_SHELL_VALUES = frozenset({"--rcfile", "--init-file"})
_GIT_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})
_HEAD_COUNT = re.compile(r"(?:-n|--lines=|-(?=\d))(.+)")
_SED_PRINT = re.compile(r"(\d{1,9})(?:,(\d{1,9}))?\s*p")


def _base(name: str) -> str:
    return name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe")


def is_windows_shell(word: str) -> bool:
    """Whether a program is a shell in which a backslash parts folders."""
    return _base(word.lower()) in {"pwsh", "powershell", "cmd"}


def script_of(words: Sequence[str | None]) -> str | None:
    """Return SCRIPT of ``bash -lc SCRIPT`` (and of PowerShell's ``-Command``), else None."""
    if len(words) < 3 or words[0] is None:
        return None
    name = _base(words[0].lower())
    if name in {"pwsh", "powershell"}:
        return _windows_script(words[1:], {"-command", "-c"})
    if name == "cmd":
        return _windows_script(words[1:], {"/c", "//c", "/k"})
    return _shell_script(words[1:]) if name in SHELLS else None


def _windows_script(words: Sequence[str | None], flags: AbstractSet[str]) -> str | None:
    for place, word in enumerate(words[:-1]):
        if word is not None and word.lower() in flags:
            rest = [one for one in words[place + 1 :] if one is not None]
            return " ".join(rest) if len(rest) == len(words) - place - 1 else None
    return None


def _shell_script(words: Sequence[str | None]) -> str | None:
    """Return the first operand, if a ``c`` is among the options before it."""
    asked = False
    rest = iter(words)
    for word in rest:
        if word is None:
            return None
        if word in {"--", "-"}:
            return next(rest, None) if asked else None
        if word in _SHELL_VALUES:
            next(rest, None)
        elif word[:1] in {"-", "+"} and word[:2] != "--":
            asked = asked or (word[0] == "-" and "c" in word)
            if "o" in word.lower():  # -o pipefail
                next(rest, None)
        elif word[:2] != "--":
            return word if asked else None
    return None


def shell_in(command: Simple) -> Simple | None:
    """Return the shell with a script that ``command`` is or runs, else None."""
    bare = unwrapped(command)
    words = (bare.name, *bare.words)
    for place, word in enumerate(words):
        if word is not None and _base(word) in SHELLS and script_of(words[place:]) is not None:
            return Simple(_base(word), words[place + 1 :])
        if bare.name in SHELLS:
            return None
    return None


def unwrapped(command: Simple) -> Simple:
    """Open ``sudo``, ``timeout 5``, ``env A=1`` and their like."""
    for _ in range(4):
        own = WRAPPERS.get(command.name)
        if own is None:
            return command
        words = list(command.words)
        values = _WRAPPER_VALUES.get(command.name, set())
        while words and words[0] is not None:
            if words[0] in values:
                del words[:2]
            elif words[0].startswith("-") or (command.name == "env" and "=" in words[0]):
                del words[0]
            else:
                break
        del words[:own]
        if not words or words[0] is None:
            return command
        name = words[0].replace("\\", "/").rsplit("/", 1)[-1]
        command = msgspec.structs.replace(
            command, name=name, words=tuple(words[1:]), path=_path(words[0])
        )
    return command


def _path(name: str) -> str | None:
    return name if "/" in name or "\\" in name else None


_PAIRED = frozenset({"--arg", "--argjson", "--slurpfile", "--rawfile"})
"""Flags of jq that take two values."""


def positional(words: Sequence[str | None], values: frozenset[str]) -> list[str | None]:
    """Return the words that are neither flags nor values of flags."""
    found: list[str | None] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            found.extend(rest)
        elif word is not None and word.startswith("-") and word != "-":
            if word in values or word in _PAIRED:
                next(rest, None)
            if word in _PAIRED:
                next(rest, None)
        else:
            found.append(word)
    return found


IN_PLACE: dict[str, re.Pattern[str]] = {
    "sed": re.compile(r"-[nErsuzabl]*i.*|--in-place.*"),
    "gsed": re.compile(r"-[nErsuzabl]*i.*|--in-place.*"),
    "yq": re.compile(r"-i|--inplace"),
}
"""Readers that rewrite their files with a certain word among theirs."""


def in_place(command: Simple) -> bool:
    """Whether a reader is told to rewrite its files."""
    pattern = IN_PLACE.get(command.name)
    return pattern is not None and any(pattern.fullmatch(word or "") for word in command.words)


# -- reading --------------------------------------------------------------------------


def read_paths(command: Simple) -> Iterator[tuple[str, tuple[int, int] | None]]:
    """Yield (path, line range) of each file that a reading command names."""
    name, words = command.name, command.words
    if name in _READER_VALUES:
        files = positional(words, _READER_VALUES[name])
        if name == "type":
            files = [one for one in files if one is not None and "." in one]
        if command.heredoc or name == "tail":
            lines = None
        else:
            lines = _head_lines(words) if name == "head" else None
    elif name in _PROGRAM_VALUES and not in_place(command):
        files = program_files(command)
        lines = _sed_lines(words) if name == "sed" else None
    elif name == "git":
        yield from _git_show(words)
        return
    else:
        return
    for file in files:
        if file and file != "-" and not file.startswith("+"):
            yield file, lines


def program_files(command: Simple) -> list[str | None]:
    """Return the files behind the program of ``sed``, ``awk`` and their like."""
    values, gives_program = _PROGRAM_VALUES["sed" if command.name == "gsed" else command.name]
    files = positional(command.words, values)
    explicit = any(word in gives_program or word == "--expression" for word in command.words)
    return files if explicit else files[1:]


def _head_lines(words: Sequence[str | None]) -> tuple[int, int] | None:
    """Return head's lines; a count from the end or of bytes has no known range."""
    count: str | None = "10"
    rest = iter(words)
    for word in rest:
        if word is None or not word.startswith("-"):
            continue
        if word == "--":
            break
        if word in {"-n", "--lines"}:
            count = next(rest, None)
        elif word.startswith(("-c", "--bytes")):
            return None
        else:
            found = _HEAD_COUNT.fullmatch(word)
            count = found[1] if found else count
    digits = (count or "").removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10) or int(digits) == 0:
        return None
    return (1, int(digits))


def _sed_lines(words: Sequence[str | None]) -> tuple[int, int] | None:
    for word in words:
        found = _SED_PRINT.fullmatch(word or "")
        if found:
            return (int(found[1]), int(found[2] or found[1]))
    return None


def git_words(words: Sequence[str | None]) -> tuple[str | None, list[str | None], str | None]:
    """Return a git command's verb, the words behind it, and the folder of ``-C``."""
    folder: str | None = None
    rest = list(words)
    while rest and rest[0] is not None and rest[0].startswith("-"):
        flag = rest.pop(0)
        if flag in _GIT_VALUES and rest:
            value = rest.pop(0)
            folder = value if flag == "-C" else folder
    return (rest[0] if rest else None), rest[1:], folder


def _git_show(words: Sequence[str | None]) -> Iterator[tuple[str, None]]:
    verb, rest, folder = git_words(words)
    if verb in {"show", "cat-file"}:
        for word in positional(rest, frozenset()):
            revision, colon, path = (word or "").partition(":")
            if colon and path and revision:
                yield _under(folder, path), None
    elif verb == "blame":
        files = positional(rest, frozenset({"-L", "--since"}))
        for word in files[-1:]:
            if word:
                yield _under(folder, word), None


def _under(folder: str | None, path: str) -> str:
    return path if folder is None or path.startswith("/") else f"{folder.rstrip('/')}/{path}"
