"""Which programs look, check and run tests; what a command line asks of one."""

import re
from typing import Final, NamedTuple

from wayproof.capture.shell.commands import (
    SEARCHERS,
    SHELLS,
    Simple,
    git_words,
    in_place,
    positional,
    read_paths,
    script_of,
    unwrapped,
)
from wayproof.capture.shell.effects import act_of
from wayproof.capture.shell.programs import INTERPRETERS, program_of, programs_in
from wayproof.capture.shell.reading import read_command
from wayproof.rejections.parts import Part, parts_of

__all__ = [
    "Program",
    "Step",
    "base_name",
    "is_checker_verdict",
    "is_read_only",
    "operands_of",
    "program_in",
    "read_by",
    "script_run",
    "searched_by",
    "steps_of",
]

_LOOKERS_WORDS = """
    cat tac nl less more head tail bat batcat zcat od xxd file stat wc ls dir tree du df pwd which
    type whereis realpath readlink basename dirname date whoami id uname hostname env printenv
    echo printf true : sort uniq cut tr column diff cmp comm jq yq strings md5sum sha256sum
    sha1sum cksum pdftotext pdfinfo exiftool test [ [[ cd pushd popd export set unset shopt
    locale sed awk gawk find fd fdfind grep egrep fgrep zgrep rg ag ack
    Get-Content Get-ChildItem Select-String Test-Path Set-Location gc type
"""
_LOOKERS: Final = frozenset(_LOOKERS_WORDS.split())
"""Programs that look and change nothing, where no flag or redirection of theirs writes."""
_GIT_LOOKS: Final = frozenset({
    "log", "diff", "show", "status", "blame", "grep", "ls-files", "rev-parse", "cat-file",
    "describe", "shortlog",
})  # fmt: skip
_ACTING_FLAGS = re.compile(r"-(?:exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls|x|X)|--exec.*")

_CHECKERS_WORDS = """
    grep egrep fgrep zgrep rg ag ack diff cmp test [ [[ which
    pytest py.test nosetests nose2 unittest tox jest vitest mocha ava phpunit rspec bats
    flake8 pyflakes pycodestyle pydocstyle mypy pyright ruff black isort eslint tslint stylelint
    prettier shellcheck golangci-lint staticcheck rubocop markdownlint yamllint bandit vulture
    tsc hadolint phpstan psalm pylint gofmt clang-format
"""
_CHECKERS: Final = frozenset(_CHECKERS_WORDS.split())
_PYLINT_FAULTS: Final = 0b100001
"""Bits of pylint's status: 1 is a crash of its own, 32 a wrong usage; the others are verdicts."""

_RUNNERS_WORDS = """
    pytest py.test nosetests nose2 unittest tox jest vitest mocha ava phpunit rspec bats
    runtests.py runtests run_tests.py runtests.sh run_tests.sh
"""
_RUNNERS: Final = frozenset(_RUNNERS_WORDS.split())
_RUNNER_PATHS = re.compile(r"(?:.*/)?bin/(?:test|doctest)|(?:.*/)?(?:run_?)?tests?\.(?:py|sh)")
_SUBCOMMANDS_WORDS = """
    git npm pnpm yarn bun cargo go docker podman kubectl pip pip3 uv poetry pdm conda mamba apt
    apt-get brew dnf yum apk gh make mise just systemctl service bundle gem composer dotnet mvn
    gradle rustup terraform helm aws gcloud az manage.py
"""
_SUBCOMMANDS: Final = frozenset(_SUBCOMMANDS_WORDS.split())
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*")
_VALUE_FLAGS: Final = frozenset({
    "-m", "-k", "-n", "-p", "-W", "-C", "-c", "-e", "-A", "-B", "-g", "-t", "-u", "--maxfail",
    "--tb", "--timeout", "--message", "--rootdir",
})  # fmt: skip
_WITH_COUNT: Final = frozenset({"head", "tail", "git", "grep", "rg"})


def base_name(path: str) -> str:
    """Return the last part of a path, whichever slash it has."""
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


class Step(NamedTuple):
    """One part of a command, read.

    Attributes
    ----------
    part
        Its text, and the operator behind it.
    simple
        Its program; None: it only changes the folder or a variable.
    """

    part: Part
    simple: Simple | None


def steps_of(command: str, *, depth: int = 0) -> tuple[Step, ...] | None:
    """Cut and read a command; None where its syntax isn't followed."""
    parts = parts_of(command)
    if parts is None:
        return None
    found: list[Step] = []
    for part in parts:
        inner = _inner_script(part) if depth < 2 else None
        if inner is not None:
            steps = steps_of(inner, depth=depth + 1)
            if not steps:
                return None
            *before, last = steps
            found += [*before, Step(Part(last.part.text, part.after), last.simple)]
            continue
        reading = read_command(part.text)
        commands = [one for segment in reading.segments for one in segment.commands]
        if reading.unparsed:
            return None
        found.append(Step(part, commands[0] if commands else None))
    return tuple(found)


def _inner_script(part: Part) -> str | None:
    """Return SCRIPT of ``bash -c SCRIPT``, where the part is nothing else."""
    found = re.match(r"\s*(?:\S*/)?([a-z]+)\s+-[a-z]*c\s+", part.text)
    if found is None or found[1] not in SHELLS:
        return None
    text = part.text[found.end() :].strip()
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "'\"" or text[0] in text[1:-1]:
        return None
    return script_of((found[1], "-c", text[1:-1]))


def is_read_only(step: Step) -> bool:
    """Whether a part of a command surely changes nothing."""
    if step.simple is None:
        return True
    bare = unwrapped(step.simple)
    if act_of(step.simple).writes or in_place(bare):
        return False
    if bare.name == "git":
        verb, _, _ = git_words(bare.words)
        return verb in _GIT_LOOKS
    if bare.name not in _LOOKERS or bare.path is not None:
        return False
    if bare.name in {"awk", "gawk"} and any(">" in (word or "") for word in bare.words):
        return False
    return not any(_ACTING_FLAGS.fullmatch(word or "") for word in bare.words)


class Program(NamedTuple):
    """What a command line asks of a program; flags are left out.

    Attributes
    ----------
    name, sub
        Its base name and its subcommand, wrappers and runners opened.
    operands
        Base names of what it is to work on, in order of name; None: only a shell knows them.
    runs_tests
        It is a known test runner.
    """

    name: str
    sub: str | None
    operands: frozenset[str] | None
    runs_tests: bool


def program_in(simple: Simple) -> Program:
    """Return what a command line asks of its program."""
    program = program_of(simple)
    name, words = program.name, list(program.words)
    script = script_run(program)
    place = program.path
    if script is not None and program.path is None:
        rest = words[words.index(script) + 1 :] if script in words else []
        if base_name(script) in _RUNNERS or _RUNNER_PATHS.fullmatch(script):
            name, words, place = base_name(script), rest, script
    runs_tests = name in _RUNNERS or (place is not None and _RUNNER_PATHS.fullmatch(place))
    values = frozenset(_VALUE_FLAGS) if name not in _WITH_COUNT else _VALUE_FLAGS - {"-p"}
    operands = positional(words, frozenset(values))
    sub = None
    if operands and name in _SUBCOMMANDS and _SUBCOMMAND.fullmatch(operands[0] or ""):
        sub, *operands = operands
    if name in {"go", "cargo", "manage.py", "npm", "pnpm", "yarn"} and sub in {"test", "t"}:
        runs_tests = True
    known = [base_name(word) for word in operands if word is not None]
    return Program(
        name,
        sub,
        frozenset(known) if len(known) == len(operands) else None,
        bool(runs_tests),
    )


def script_run(simple: Simple) -> str | None:
    """Return the program's own file that an interpreter is to run; None: it is none."""
    if INTERPRETERS.fullmatch(simple.name) is None:
        return None
    found = programs_in(simple)
    return found[-1] if found else None


def is_checker_verdict(simple: Simple, exit_code: int | None) -> bool:
    """Whether an exit status is a known checker's "no"."""
    if exit_code is None:
        return False
    program = program_of(simple)
    if program.name == "pylint":
        return exit_code > 0 and not exit_code & _PYLINT_FAULTS
    if exit_code != 1:
        return False
    if program.name == "git":
        verb, rest, _ = git_words(program.words)
        asked = {"--exit-code", "--quiet", "--check"} & set(rest)
        return verb == "grep" or (verb == "diff" and bool(asked))
    return program.name in _CHECKERS or program_in(simple).runs_tests


# -- what looking programs look at ------------------------------------------------------------

_LISTING = frozenset({"ls", "dir", "tree", "stat", "file", "wc", "du", "diff", "cmp"})
_SEARCH_VALUES = frozenset({
    "-A", "-B", "-C", "-f", "-m", "-g", "-t", "-T", "--glob", "--type", "--include", "--exclude",
    "--exclude-dir", "--max-count", "--context", "-M", "-j", "--iglob",
})  # fmt: skip


def read_by(simple: Simple) -> tuple[str, ...]:
    """Return the files that a reading program reads; nothing for any other one."""
    bare = unwrapped(simple)
    if bare.name in SEARCHERS or in_place(bare):
        return ()
    if bare.name in {"pdftotext", "pdfinfo"}:
        return tuple(word for word in positional(bare.words, frozenset())[:1] if word)
    return tuple(path for path, _ in read_paths(bare))


def searched_by(simple: Simple) -> str | None:
    """Return the pattern that a searching program looks for; None: it isn't one."""
    bare = unwrapped(simple)
    name, words = bare.name, list(bare.words)
    if name == "git":
        verb, words, _ = git_words(bare.words)
        name = f"git {verb}"
    if name not in SEARCHERS:
        return None
    for place, word in enumerate(words[:-1]):
        if word in {"-e", "--regexp"}:
            return words[place + 1]
    found = positional(words, _SEARCH_VALUES)
    return found[0] if found else None


def operands_of(simple: Simple) -> tuple[str | None, ...] | None:
    """Return the files and folders that a looking program was given; None: it isn't one."""
    bare = unwrapped(simple)
    name = bare.name
    if name in SEARCHERS:
        found = positional(bare.words, _SEARCH_VALUES)
        explicit = any(word in {"-e", "--regexp", "-f"} for word in bare.words)
        return tuple(found if explicit else found[1:])
    if name in {"find", "fd", "fdfind"}:
        found = []
        for word in bare.words:
            if word is not None and word.startswith(("-", "(", "!")):
                break
            found.append(word)
        return tuple(found if name == "find" else found[1:])
    if name in _LISTING:
        return tuple(positional(bare.words, frozenset({"-c", "-I", "-L"})))
    files = read_by(simple)
    return files or None
