"""Which commands run something instead of looking: the stated table of executions.

Test runners, builds, installs and checks. What a session has made itself is told by the
session's files, not here.
"""

import re
from collections.abc import Sequence

import msgspec

from wayproof.capture.shell.commands import SHELLS, WRAPPERS, Simple, positional, unwrapped

__all__ = ["INTERPRETERS", "program_of", "programs_in", "runs"]

_ALWAYS_WORDS = """
    pytest py.test tox nox nosetests nose2 unittest trial behave doctest coverage
    jest vitest mocha ava karma cypress playwright tap jasmine phpunit rspec minitest
    ctest bats ginkgo gotestsum busted runtests runtests.py
    make gmake cmake ninja meson scons ant bazel bazelisk buck buck2 msbuild xcodebuild
    gcc g++ cc c++ clang clang++ ld javac kotlinc scalac tsc rustc ghc nvcc webpack rollup
    esbuild turbo nx lerna grunt gulp mvn mvnw gradle gradlew sbt
    flake8 pylint mypy pyright ruff pyflakes pycodestyle pydocstyle bandit vulture eslint
    tslint stylelint shellcheck golangci-lint staticcheck rubocop phpstan psalm hadolint
    markdownlint yamllint pre-commit black isort prettier gofmt clang-format autopep8 yapf
    autoflake pyupgrade rustfmt biome clang-tidy cppcheck
    virtualenv venv tar unzip gunzip
"""
_ALWAYS = frozenset(_ALWAYS_WORDS.split())
_BY_VERB: dict[str, frozenset[str]] = {
    name: frozenset(verbs.split())
    for names, verbs in {
        "go": "build test vet install run get mod generate fmt",
        "cargo": "build test check clippy run bench install nextest doc fmt fix add update",
        "npm": "install ci i test t tst run run-script build start exec add rebuild uninstall",
        "pnpm": "install i test t run build start add rebuild remove update",
        "bun": "install i test run build add remove",
        "pip pip3": "install uninstall wheel download",
        "uv": "pip sync add remove lock venv build",
        "poetry pdm pipenv hatch rye": "install add update build sync lock remove test",
        "conda mamba micromamba": "install create update remove",
        "apt apt-get yum dnf apk brew pacman zypper choco": "install update upgrade add remove",
        "gem composer": "install update require build",
        "bundle": "install update add",
        "dotnet": "build test run restore publish format add",
        "mix rake swift deno zig stack cabal lein dune": "test build compile run check deps",
        "docker podman": "build compose pull",
        "git": "clone submodule",
        "manage.py": "test migrate makemigrations collectstatic",
        "setup.py": "build build_ext install develop test sdist bdist_wheel",
    }.items()
    for name in names.split()
}  # fmt: skip
_BARE = frozenset({"yarn", "bun"})  # without a verb they install
_YARN = frozenset({"info", "list", "why", "outdated", "audit", "config", "help", "--version"})
_SEES = re.compile(r"(?:--?(?:help|version|V)|-h)$")
_TEST_FILE = re.compile(
    r"(?:run_?)?tests?(?:\.(?:py|sh|js|mjs|ts|rb|pl|php))?|(?:test_.+|.+_test|.+\.test)\.\w{1,4}",
    re.IGNORECASE,
)

INTERPRETERS = re.compile(
    r"(?:python|pypy)(?:\d(?:\.\d+)?)?w?|node|nodejs|ruby|perl|php|Rscript|deno|bun|tsx|ts-node|java"
    r"|bash|sh|zsh|dash|ksh|pwsh|powershell|lua|julia|swift"
)
"""Commands whose first operand is a program."""

_PYTHON = re.compile(r"(?:python|pypy)(?:\d(?:\.\d+)?)?w?")
_RUN_OF = {
    "uv": "run", "poetry": "run", "pipenv": "run", "pdm": "run", "hatch": "run", "rye": "run",
    "bundle": "exec", "pnpm": "exec", "conda": "run", "mamba": "run", "micromamba": "run",
    "npm": "exec", "dotnet": "exec", "coverage": "run",
}  # fmt: skip
_RUN_VALUES = frozenset({
    "--with", "--python", "-p", "--project", "--directory", "--extra", "--group", "-n", "--name",
    "--env-file", "--package", "-C", "--source", "--include",
})  # fmt: skip
_PYTHON_VALUES = frozenset({"-W", "-X"})


def program_of(command: Simple) -> Simple:
    """Open wrappers and runners: ``uv run pytest``, ``npx jest`` and ``python -m pytest``."""
    bare = unwrapped(command) if command.name in WRAPPERS else command
    for _ in range(4):
        inner = _inner(bare)
        if inner is None:
            return bare
        bare = inner
    return bare


def _inner(command: Simple) -> Simple | None:
    words = list(command.words)
    if command.name in {"npx", "bunx", "pipx", "uvx"}:
        return _from(command, _operands(words[1:] if words[:1] == ["run"] else words))
    if command.name in _RUN_OF and _RUN_OF[command.name] in words[:4]:
        place = words.index(_RUN_OF[command.name])
        return _from(command, _operands(words[place + 1 :]))
    if _PYTHON.fullmatch(command.name):
        rest = _python_options(words)
        if rest[:1] == ["-m"] and len(rest) > 1:
            return _from(command, rest[1:])
    return None


def _operands(words: Sequence[str | None]) -> list[str | None]:
    """Drop a runner's own options; what follows its first operand is the program's."""
    rest = list(words)
    while rest and rest[0] is not None and rest[0].startswith("-"):
        flag = rest.pop(0)
        if flag in _RUN_VALUES and rest:
            rest.pop(0)
        if flag in {"--", "-m"}:
            break
    return rest


def _python_options(words: Sequence[str | None]) -> list[str | None]:
    rest = list(words)
    while rest and rest[0] is not None and rest[0].startswith("-") and rest[0] not in {"-m", "-"}:
        if rest[0].startswith("-c"):
            return []
        flag = rest.pop(0)
        if flag in _PYTHON_VALUES and rest:
            rest.pop(0)
    return rest


def _from(command: Simple, words: Sequence[str | None]) -> Simple | None:
    if not words or words[0] is None:
        return None
    name = words[0].replace("\\", "/").rsplit("/", 1)[-1]
    path = words[0] if "/" in words[0] or "\\" in words[0] else None
    return msgspec.structs.replace(command, name=name, words=tuple(words[1:]), path=path)


def runs(command: Simple) -> bool:
    """Whether a program, wrappers opened, is one of the table."""
    name, words = command.name, command.words
    if any(word is not None and _SEES.match(word) for word in words[:1]):
        return False
    if name in _ALWAYS:
        return True
    if name in _BY_VERB:
        return _runs_by_verb(name, words)
    if name == "yarn":
        return not any(word in _YARN for word in words[:1])
    script = _script(command)
    base = "" if script is None else script.replace("\\", "/").rsplit("/", 1)[-1]
    if base in _BY_VERB:
        return any(word in _BY_VERB[base] for word in words)
    return _TEST_FILE.fullmatch(base) is not None


def _runs_by_verb(name: str, words: Sequence[str | None]) -> bool:
    rest = positional(words, frozenset({"-C", "--cwd", "--prefix", "--manifest-path"}))
    verb = next((word.lstrip("+") for word in rest if word is not None), None)
    return verb in _BY_VERB[name] or (verb is None and name in _BARE and not words)


def _script(command: Simple) -> str | None:
    if INTERPRETERS.fullmatch(command.name):
        rest = _python_options(command.words) if _PYTHON.fullmatch(command.name) else None
        rest = positional(command.words, frozenset()) if rest is None else rest
        return rest[0] if rest else None
    return command.path


def programs_in(command: Simple) -> tuple[str, ...]:
    """Return the files that a command would run."""
    found = [command.path] if command.path is not None else []
    if INTERPRETERS.fullmatch(command.name) or command.name in {"source", "."}:
        script = _script(command) if command.name not in {"source", "."} else None
        words = positional(command.words, _PYTHON_VALUES)[:1] if script is None else [script]
        found += [word for word in words if word and word != "-"]
    elif command.name == "go" and command.words[:1] == ("run",):
        found += [word for word in command.words[1:2] if word]
    return tuple(found) if command.name not in SHELLS or found else ()
