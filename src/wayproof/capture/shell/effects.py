"""What single commands do: which write and how, which run something, which only look.

Tables first, then the few functions that read a command's words by them. A command that no
table knows looks.
"""

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from wayproof.capture.shell.commands import (
    SHELLS,
    WRAPPERS,
    Simple,
    git_words,
    in_place,
    positional,
    program_files,
    read_paths,
    shell_in,
    unwrapped,
)
from wayproof.capture.shell.patches import patch_writes
from wayproof.capture.shell.programs import program_of, programs_in, runs
from wayproof.capture.shell.scripts import inline_script, script_writes
from wayproof.capture.shell.writes import Act, How, Part, Write

__all__ = ["LOOKS", "act_of"]

_QUIET_WORDS = """
    cd pushd popd echo printf true false : exit return sleep wait kill pkill export unset set
    declare typeset local readonly source . alias unalias trap umask ulimit test [ [[ clear
    shopt eval read break continue let Set-Location Push-Location Pop-Location Write-Host
    Write-Output
"""
_QUIET = frozenset(_QUIET_WORDS.split())
_AUTHORS = frozenset({"cat", "echo", "printf", "Write-Output"})
"""What these put into a file is a text of their own, if they read no file."""

_UNKNOWN: tuple[str | None, ...] = (None,)


def act_of(command: Simple) -> Act:
    """Return what a simple command does."""
    bare = unwrapped(command) if command.name in WRAPPERS else command
    if not bare.targets and bare.path is None:
        plain = _plainly(command, bare)
        if plain is not None:
            return plain
    writes = [Write(path, "put") for path in _redirected(bare)]
    by_itself = _by_itself(command, bare)
    writes += by_itself
    return Act(_part(command, bare, by_itself), tuple(writes), programs_in(program_of(command)))


LOOKS = Act("look")
"""The act of a command that only looks: one object, which is told by identity."""

_STAYS_QUIET = Act("quiet")
_FILTERS = frozenset({"head", "tail", "wc", "sort", "uniq", "cut", "tr", "less", "more", "column"})
_LOOKERS = frozenset({
    "cat", "nl", "ls", "grep", "egrep", "fgrep", "rg", "tree", "stat", "file", "which", "pwd",
    "diff", "cmp", *_FILTERS,
})  # fmt: skip
_GIT_LOOKS = frozenset({"log", "diff", "show", "status", "blame", "grep", "ls-files", "rev-parse"})


def _plainly(command: Simple, bare: Simple) -> Act | None:
    """Return what the most frequent commands do: they neither write nor run anything."""
    name = bare.name
    if name in _LOOKERS:
        if not command.piped:
            return LOOKS
        return _STAYS_QUIET if name in _FILTERS or not _reads(bare) else LOOKS
    if name in _QUIET:
        return _STAYS_QUIET
    if name == "git" and bare.words and bare.words[0] in _GIT_LOOKS:
        return LOOKS
    if name == "sed" and not command.piped and not in_place(bare):
        return LOOKS
    return None


def _reads(command: Simple) -> bool:
    """Whether a command behind a pipe reads files of its own."""
    if command.name in {"grep", "egrep", "fgrep", "rg"}:
        return len(positional(command.words, frozenset({"-A", "-B", "-C", "-m", "-e"}))) > 1
    return next(read_paths(command), None) is not None


def _part(command: Simple, bare: Simple, writes: Sequence[Write]) -> Part:
    builtin = bare.name in _QUIET and bare.path is None
    if builtin or (bare.name in SHELLS and shell_in(command) is not None):
        return "quiet"
    if bare.name == "git":
        return _git_part(bare)
    if writes or (bare.name in _AUTHORS and bare.targets and not _reads(bare)):
        return "quiet"
    if command.piped and bare.name not in {"xargs", "parallel"} and not _reads(bare):
        return "quiet"
    if bare.name in {"chmod", "chown", "chgrp"}:
        return "keep"
    return "run" if runs(program_of(command)) else "look"


def _redirected(command: Simple) -> Iterator[str | None]:
    """Yield the files that a command's output goes into."""
    for operator, target in command.targets:
        onto_a_stream = operator.endswith("&") and (target is None or target.isdigit())
        if not onto_a_stream and (target is None or _DEVICE.match(target) is None):
            yield target


_DEVICE = re.compile(r"/dev/(?!shm/)|nul$|\$null$", re.IGNORECASE)


def _by_itself(command: Simple, bare: Simple) -> tuple[Write, ...]:
    """Return what a command writes without a redirection."""
    program = program_of(command)
    handler = _HANDLERS.get(program.name) or _HANDLERS.get(program.name.lower())
    if handler is not None:
        return () if _only_looks(program.name, program.words) else tuple(handler(program))
    script = inline_script(bare)
    if script is not None:
        return script_writes(bare.name, script)
    if command.name in {"xargs", "parallel"} and bare.name != command.name:
        # What it hands over is not here.
        return tuple(Write(None, one.how) for one in _by_itself(bare, bare))
    return ()


def _each(words: Sequence[str | None], how: How) -> Iterator[Write]:
    for word in words or _UNKNOWN:
        yield Write(word, how)


# -- plain commands -----------------------------------------------------------------------


def _removes(command: Simple) -> Iterator[Write]:
    yield from _each(positional(command.words, frozenset()), "edit")


def _makes(command: Simple) -> Iterator[Write]:
    yield from _each(
        positional(command.words, frozenset({"-m", "-t", "-d", "-r", "-ItemType", "-Value"})),
        "make",
    )


def _moves(command: Simple) -> Iterator[Write]:
    sources, target = _sources_and_target(command)
    yield from _each(sources, "edit")
    for path in _at(target, sources):
        yield Write(path, "moved")


def _copies(command: Simple) -> Iterator[Write]:
    sources, target = _sources_and_target(command)
    for path in _at(target, sources):
        yield Write(path, "put")


def _sources_and_target(command: Simple) -> tuple[list[str | None], str | None]:
    words = list(command.words)
    for flag in ("-t", "--target-directory", "-Destination"):
        if flag in words[:-1]:
            place = words.index(flag)
            target = words[place + 1]
            rest = words[:place] + words[place + 2 :]
            folder = f"{target}/" if target is not None and flag != "-Destination" else target
            return positional(rest, _COPY_VALUES), folder
    operands = positional(words, _COPY_VALUES)
    if command.name == "ln" and len(operands) == 1:
        return operands, "./"
    return operands[:-1], operands[-1] if len(operands) > 1 else None


_COPY_VALUES = frozenset(
    {"-m", "-o", "-g", "-S", "--suffix", "-e", "--rsh", "--exclude", "--include"}
)


def _at(target: str | None, sources: Sequence[str | None]) -> Iterator[str | None]:
    if target is None:
        yield None
    elif len(sources) > 1 or target.endswith("/") or target in {".", ".."}:
        for source in sources:
            base = None if source is None else source.rstrip("/").rsplit("/", 1)[-1]
            yield None if base is None else f"{target.rstrip('/')}/{base}"
    else:
        yield target


def _tees(command: Simple) -> Iterator[Write]:
    for word in positional(command.words, frozenset()):
        if word != "/dev/null":
            yield Write(word, "put")


def _dd(command: Simple) -> Iterator[Write]:
    for word in command.words:
        if word is not None and word.startswith("of="):
            yield Write(word[3:], "put")


def _truncates(command: Simple) -> Iterator[Write]:
    yield from _each(positional(command.words, frozenset({"-s", "--size", "-r"})), "put")


def _edits(command: Simple) -> Iterator[Write]:
    yield from _each(positional(command.words, frozenset({"-s", "-c"})), "edit")


def _patches(command: Simple) -> Iterator[Write]:
    words = positional(command.words, frozenset({"-p", "-d", "-i", "-o"}))
    text = command.body or (
        "\n".join(word or "" for word in words) if "patch" in command.name else ""
    )
    found = list(patch_writes(text))
    yield from found or [Write(None, "edit")]


def _downloads(command: Simple) -> Iterator[Write]:
    words = list(command.words)
    for flag in ("-o", "--output", "-O", "--output-document"):
        if flag in words[:-1] and not (command.name == "curl" and flag == "-O"):
            target = words[words.index(flag) + 1]
            if target not in {"-", "/dev/null"}:
                yield Write(target, "put")


def _rewrites_in_place(command: Simple) -> Iterator[Write]:
    if in_place(command):
        yield from _each(program_files(command), "edit")


def _awk(command: Simple) -> Iterator[Write]:
    words = command.words
    if "inplace" in words and any(word in {"-i", "--include"} for word in words):
        rest = [word for word in words if word not in {"-i", "--include", "inplace"}]
        yield from _each(program_files(msgspec.structs.replace(command, words=tuple(rest))), "edit")


def _find(command: Simple) -> Iterator[Write]:
    words = list(command.words)
    if "-delete" in words:
        yield Write(None, "edit")
    for flag in ("-exec", "-execdir", "-ok", "-x", "-X", "--exec"):
        if flag in words:
            inner = words[words.index(flag) + 1 :]
            if inner and inner[0]:
                told = Simple(inner[0].rsplit("/", 1)[-1], tuple(inner[1:]))
                if told.name not in SHELLS:
                    yield from (Write(None, one.how) for one in _by_itself(told, told))


# Letters that may stand before the "i" of -i: any other takes the rest of its word for itself.
_SCRIPTED_IN_PLACE = {
    "perl": re.compile(r"-[0-9acflnpsStTuUwWX]*i.*"),
    "ruby": re.compile(r"-[0-9acdlnpsSvwy]*i.*"),
}
_SCRIPTED_VALUE = re.compile(r"-[0-9a-zA-Z]*[eE]|-I|-r|-C")


def _scripted(command: Simple) -> Iterator[Write]:
    """``-i`` among the own options of perl or ruby; else what the inline script writes."""
    pattern = _SCRIPTED_IN_PLACE[command.name]
    words = list(command.words)
    written, coded = False, False
    while (
        words and words[0] is not None and words[0].startswith("-") and words[0] not in {"-", "--"}
    ):
        flag = words.pop(0)
        written = written or pattern.fullmatch(flag or "") is not None
        if _SCRIPTED_VALUE.fullmatch(flag or ""):
            coded = True
            del words[:1]
    if not written:
        script = inline_script(command)
        yield from script_writes(command.name, script) if script is not None else ()
        return
    operands = words if coded else words[1:]
    # Options may stand behind the script.
    yield from _each(
        [word for word in operands if word is None or not word.startswith("-")], "edit"
    )


# -- formatters ---------------------------------------------------------------------------

_WRITE_FLAGS = {
    "gofmt": re.compile(r"-[ls]*w[ls]*"), "goimports": re.compile(r"-w"),
    "prettier": re.compile(r"-w|--write"), "eslint": re.compile(r"--fix"),
    "clang-format": re.compile(r"-i"), "autopep8": re.compile(r"-i|--in-place|-[a-z]*i[a-z]*"),
    "yapf": re.compile(r"-i|--in-place"), "autoflake": re.compile(r"-i|--in-place"),
    "stylelint": re.compile(r"--fix"), "rubocop": re.compile(r"-[aA]|--auto-?correct.*"),
    "biome": re.compile(r"--write|--apply.*"), "ruff": re.compile(r"--fix|--fix-only"),
    "standard": re.compile(r"--fix"), "markdownlint": re.compile(r"--fix"),
    "terraform": re.compile(r"fmt"), "dotnet": re.compile(r"format"), "deno": re.compile(r"fmt"),
    "golangci-lint": re.compile(r"--fix"), "pre-commit": re.compile(r"run"),
    "nbqa": re.compile(r"black|isort"), "go": re.compile(r"fmt"),
}  # fmt: skip
_VERBS = frozenset({"format", "check", "fmt", "fix", "clippy", "run", "lint"})
_FORMAT_VALUES = frozenset({
    "--config", "-l", "--line-length", "-t", "--target-version", "--select", "--ignore",
    "--extend-select", "--profile", "--sp", "--settings-path", "--style", "-c", "--config-path",
})  # fmt: skip


def _formats(command: Simple) -> Iterator[Write]:
    """Yield what a formatter rewrites that isn't told not to."""
    yield from _each(positional(command.words, _FORMAT_VALUES), "assumed")


def _formats_if_told(command: Simple) -> Iterator[Write]:
    """Yield what a checker rewrites that is told to, by a certain word among its own."""
    words = command.words
    told = any(_WRITE_FLAGS[command.name].fullmatch(word or "") for word in words)
    formats = command.name == "ruff" and words[:1] == ("format",)
    if (told or formats) and not _only_looks(command.name, words):
        operands = positional(words, _FORMAT_VALUES)
        yield from _each([word for word in operands if word not in _VERBS], "assumed")


def _cargo(command: Simple) -> Iterator[Write]:
    words = [word for word in command.words if word is None or not word.startswith("+")]
    verb = next(iter(positional(words, frozenset({"--config", "-Z", "--color", "-C"}))), None)
    looks = _only_looks("cargo fmt", [word for word in words if word != "--"])
    if (verb == "fmt" and not looks) or verb == "fix" or (verb == "clippy" and "--fix" in words):
        yield Write(None, "assumed")


def _scripts(command: Simple) -> Iterator[Write]:
    """``npm run format`` and ``make fmt``: named like a formatter, and nothing more is known."""
    for word in command.words:
        if word is not None and re.fullmatch(r"(?:format|fmt|prettify|lint[:-]fix|fix)", word):
            yield Write(None, "assumed")


# -- git ------------------------------------------------------------------------------------

_GIT_EDITS = frozenset({
    "am", "apply", "cherry-pick", "clean", "merge", "mv", "pull", "rebase", "restore", "revert",
    "rm",
})  # fmt: skip
_GIT_KEEPS = frozenset({
    "add", "commit", "fetch", "stash", "switch", "push", "init", "worktree", "gc", "prune", "notes",
    "stage", "checkout", "reset", "update-index",
})  # fmt: skip
_GIT_MAY_LIST = frozenset({"branch", "tag", "remote", "config"})
_LISTING = re.compile(
    r"-[avrlh]+|--(?:list|all|get|show|contains|merged|format|sort|points-at|verbose).*"
)


def _git(command: Simple) -> Iterator[Write]:
    verb, rest, folder = git_words(command.words)
    name = f"git {verb}"
    if verb is None or _only_looks(name, rest):
        return
    paths = _git_paths(verb, rest)
    if paths is None:
        return
    for path in paths or _UNKNOWN:
        inside = path is None or folder is None or path.startswith("/")
        yield Write(path if inside else f"{(folder or '').rstrip('/')}/{path}", "edit")


def _git_paths(verb: str, rest: list[str | None]) -> list[str | None] | None:
    """Return what a git command changes in the working tree; None: nothing."""
    if verb == "checkout":
        return _checked_out(rest)
    if verb == "restore":
        only_staged = "--staged" in rest and "--worktree" not in rest
        return None if only_staged else positional(rest, frozenset({"-s", "--source"}))
    if verb in {"rm", "mv"}:
        return positional(rest, frozenset())
    hard = verb == "reset" and any(word in {"--hard", "--merge", "--keep"} for word in rest)
    popped = verb == "stash" and rest[:1] in (["pop"], ["apply"])
    return [] if verb in _GIT_EDITS or hard or popped else None


_FILE = re.compile(r"^\./?$|\.\w{1,8}$")


def _checked_out(rest: list[str | None]) -> list[str | None] | None:
    """Return the paths of ``git checkout``; None where it only changes the branch."""
    if any(word in {"-b", "-B", "--orphan", "--detach"} for word in rest):
        return None
    if "--" in rest:
        return rest[rest.index("--") + 1 :]
    words = positional(rest, frozenset())
    if len(words) > 1:
        return words[1:]
    named = [word for word in words if word is not None and _FILE.search(word)]
    return list(named) or None


def _git_part(command: Simple) -> Part:
    verb, rest, _ = git_words(command.words)
    if verb in {"clone", "submodule"}:
        return "run"
    if verb is None or _only_looks(f"git {verb}", rest):
        return "look"
    if verb == "stash" and rest[:1] in (["list"], ["show"]):
        return "look"
    if verb == "worktree" and rest[:1] == ["list"]:
        return "look"
    if verb in _GIT_MAY_LIST:
        words = [word for word in rest if word is not None]
        listed = not words or all(_LISTING.fullmatch(word) for word in words)
        asked = bool(words) and (
            _LISTING.fullmatch(words[0]) is not None or words[0] in {"show", "get-url"}
        )
        single = verb == "config" and len(positional(rest, frozenset())) == 1
        return "look" if listed or asked or single else "keep"
    return "keep" if verb in _GIT_KEEPS or verb in _GIT_EDITS else "look"


# -- options that say that nothing is to be written ----------------------------------------

_LOOKING = re.compile(r"--help|--version|--dry-run|-WhatIf", re.IGNORECASE)
_LOOKING_TOO: dict[str, re.Pattern[str]] = {
    "black": re.compile(r"--check|--diff|-c|--code(=.*)?|-"),
    "isort": re.compile(r"--check-only|--check|-c|--diff|-d|--stdout|-"),
    "rsync": re.compile(r"-[a-zA-Z]*n[a-zA-Z]*|--list-only"),
    "patch": re.compile(r"-C|--check"),
    "clang-format": re.compile(r"-n"),
    "ruff": re.compile(r"--check|--diff"),
    "rustfmt": re.compile(r"--check"),
    "cargo fmt": re.compile(r"--check"),
    "terraform": re.compile(r"-check|-diff"),
    "yapf": re.compile(r"-d|--diff"),
    "autopep8": re.compile(r"-d|--diff"),
    "dotnet": re.compile(r"--verify-no-changes"),
    "deno": re.compile(r"--check"),
    "git add": re.compile(r"-[a-zA-Z]*n[a-zA-Z]*"),
    "git am": re.compile(r"--show-current-patch(=.*)?"),
    "git apply": re.compile(r"--check|--stat|--numstat|--summary"),
    "git clean": re.compile(r"-[a-zA-Z]*n[a-zA-Z]*"),
    "git mv": re.compile(r"-[a-zA-Z]*n[a-zA-Z]*"),
    "git push": re.compile(r"-n"),
    "git rebase": re.compile(r"--show-current-patch"),
    "git rm": re.compile(r"-[a-zA-Z]*n[a-zA-Z]*"),
}
_TEXT_FLAGS = frozenset({"-m", "--message", "-F", "--file", "-e", "--exclude", "--rsh"})


def _only_looks(name: str, words: Sequence[str | None]) -> bool:
    pattern = _LOOKING_TOO.get(name)
    rest = iter(words)
    for word in rest:
        if word == "--":
            return False
        if word in _TEXT_FLAGS:
            next(rest, None)
        elif word and (_LOOKING.fullmatch(word) or (pattern and pattern.fullmatch(word))):
            return True
    return False


# -- PowerShell -----------------------------------------------------------------------------

_PS_PATHS = frozenset({"-path", "-literalpath", "-filepath"})
_PS_SWITCHES = frozenset({"-force", "-recurse", "-append", "-nonewline", "-noclobber", "-passthru"})


def _ps_operands(command: Simple) -> list[str | None]:
    """Return the paths of a cmdlet: those behind ``-Path``, else the first operand."""
    found: list[str | None] = []
    plain: list[str | None] = []
    rest = iter(command.words)
    for word in rest:
        flag = word.lower() if word is not None else ""
        if flag in _PS_PATHS:
            found.append(next(rest, None))
        elif flag.startswith("-"):
            if flag not in _PS_SWITCHES:
                next(rest, None)
        else:
            plain.append(word)
    return found or plain[:1]


def _ps_puts(command: Simple) -> Iterator[Write]:
    yield from _each(_ps_operands(command), "put")


def _ps_edits(command: Simple) -> Iterator[Write]:
    yield from _each(_ps_operands(command), "edit")


def _ps_makes(command: Simple) -> Iterator[Write]:
    yield from _each(_ps_operands(command), "make")


_HANDLERS: dict[str, Callable[[Simple], Iterator[Write]]] = {
    **dict.fromkeys(("rm", "rmdir", "unlink", "shred", "del", "erase"), _removes),
    **dict.fromkeys(("mkdir", "touch"), _makes),
    **dict.fromkeys(("mv", "move", "ren", "rename"), _moves),
    **dict.fromkeys(("cp", "install", "rsync", "ln", "scp", "copy"), _copies),
    **dict.fromkeys(("tee", "sponge"), _tees),
    "dd": _dd,
    "truncate": _truncates,
    **dict.fromkeys(("ed", "ex"), _edits),
    **dict.fromkeys(("patch", "apply_patch", "applypatch"), _patches),
    **dict.fromkeys(("curl", "wget"), _downloads),
    **dict.fromkeys(("sed", "gsed", "yq"), _rewrites_in_place),
    **dict.fromkeys(("awk", "gawk"), _awk),
    **dict.fromkeys(("find", "fd", "fdfind"), _find),
    **dict.fromkeys(("perl", "ruby"), _scripted),
    **dict.fromkeys(("black", "isort", "rustfmt", "pyupgrade"), _formats),
    **dict.fromkeys(_WRITE_FLAGS, _formats_if_told),
    "cargo": _cargo,
    **dict.fromkeys(("npm", "yarn", "pnpm", "make", "just"), _scripts),
    "git": _git,
    **dict.fromkeys(("set-content", "add-content", "out-file", "tee-object"), _ps_puts),
    "copy-item": _copies,
    **dict.fromkeys(("remove-item", "move-item", "rename-item", "clear-content"), _ps_edits),
    "new-item": _ps_makes,
}  # fmt: skip
