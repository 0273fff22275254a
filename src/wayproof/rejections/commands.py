"""What shells and programs say when a command did nothing: not found, or no such file."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wayproof.capture.results import command_output
from wayproof.capture.shell.commands import Simple, positional, unwrapped
from wayproof.capture.shell.programs import program_of
from wayproof.evidence.rejection_names import Kind
from wayproof.rejections.programs import (
    Step,
    base_name,
    is_read_only,
    operands_of,
    program_in,
    script_run,
)

__all__ = ["Fault", "fault_of", "said_by_command"]

_MAX_LINES = 400
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)|\r")
_STATUS = re.compile(r"\A\s*Exit code:?\s+-?\d+\s*(?:\n|\Z)")


class Fault(NamedTuple):
    """A part of a command that did nothing.

    Attributes
    ----------
    kind
        Why.
    step
        Which part.
    """

    kind: Kind
    step: int


def said_by_command(text: str) -> str:
    """Return what a command printed, without escapes and what its tool put around it."""
    return _ESCAPES.sub("", command_output(_STATUS.sub("", text[: 1 << 18])))


_SHELL = r"(?:\S*/)?(?:ba|z|da|k|a)?sh(?:\[\d+\])?: (?:line \d+: |\d+: )?"
_PROGRAM_LOST = (
    re.compile(rf"^{_SHELL}(?P<name>[^:\n]{{1,200}}): (?:command )?not found$"),
    re.compile(r"^(?:\(eval\)|zsh|\S*/zsh)(?::\d+)?: ?(?:\d+: )?command not found: (?P<name>\S+)$"),
    re.compile(r"^(?:sudo: )?(?P<name>[\w.+/-]{1,200}): command not found$"),
    re.compile(r"^(?:nohup|timeout|env|xargs|nice|time|strace): (?:failed to run command |cannot "
               r"run )?['‘\"]?(?P<name>[\w.+/-]{1,200})['’\"]?: No such file or directory$"),
    re.compile(rf"^{_SHELL}(?P<name>[^:\n]*/[^:\n]{{1,200}}): No such file or directory$"),
    re.compile(r"^zsh:(?:\d+:)? no such file or directory: (?P<name>\S*/\S+)$"),
    re.compile(r"^error: Failed to spawn: [`'](?P<name>[^`']{1,200})[`']"),
    re.compile(r"^'?(?P<name>[\w.+-]{1,200})'? (?:is not recognized as|: The term ')"),
)  # fmt: skip
_MODULE_LOST = re.compile(r"^\S*(?:python|pypy)[\d.]*(?:\.exe)?: No module named '?([\w.]{1,200})")

_MISSING = r"(?:\[Errno 2\] )?(?:No such file or directory|no such file or directory)"
_FOLDER = r"(?:\[Errno 21\] )?Is a directory"
_CD = re.compile(
    r"^(?:.{0,80}[: ])?cd(?::\d+)?: (?:can't cd to .*|.*[Nn]o such file or directory.*)$"
)


def fault_of(steps: Sequence[Step], text: str, exit_code: int | None) -> Fault | None:
    """Return the part that did nothing, where every other part only looks; else None.

    Parameters
    ----------
    steps
        The command's parts.
    text
        What the command printed, see :func:`said_by_command`.
    exit_code
        Its status, where the log has it.
    """
    lines = text.splitlines()[:_MAX_LINES]
    fault = _lost_program(steps, lines) or _lost_file(steps, lines)
    if fault is None or exit_code == 0:
        return None
    others = (step for place, step in enumerate(steps) if place != fault.step)
    return fault if all(map(is_read_only, others)) else None


def _lost_program(steps: Sequence[Step], lines: Sequence[str]) -> Fault | None:
    names = set(_lost_names(lines))
    modules = {found[1] for found in map(_MODULE_LOST.match, lines) if found is not None}
    for place, step in enumerate(steps):
        if step.simple is None:
            continue
        if names & set(_called(step.simple)):
            return Fault("command_not_found", place)
        if modules & set(_modules(step.simple)):
            return Fault("command_not_found", place)
    return None


def _lost_names(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        for pattern in _PROGRAM_LOST:
            found = pattern.match(line)
            if found is not None:
                yield found["name"].strip()
                break


def _called(simple: Simple) -> Iterator[str]:
    """Yield how a message may name a command's program: as typed, and without wrappers."""
    for one in (simple, unwrapped(simple), program_of(simple)):
        yield one.path or one.name


def _modules(simple: Simple) -> Iterator[str]:
    """Yield the module that ``python -m`` runs, and what it lies in."""
    words = list(unwrapped(simple).words)
    if "-m" in words[:-1]:
        module = words[words.index("-m") + 1]
        while module:
            yield module
            module = module.rpartition(".")[0]


def _lost_file(steps: Sequence[Step], lines: Sequence[str]) -> Fault | None:
    for place, step in enumerate(steps):
        kind = _lost_by(step, lines)
        if kind is not None:
            return Fault(kind, place)
    return None


def _lost_by(step: Step, lines: Sequence[str]) -> Kind | None:
    """Return why a part that looks, or runs a file, could do nothing at all."""
    if step.simple is None:
        changes = step.part.text.split(None, 1)[0] in {"cd", "pushd", "chdir"}
        return "no_such_file" if changes and any(map(_CD.match, lines)) else None
    program = program_of(step.simple)
    script = script_run(program)
    if script is not None and program_in(step.simple).name == program.name:
        return "no_such_file" if _names(script, _RUN_LOST, lines) else None
    if program_in(step.simple).runs_tests:
        operands = [one for one in positional(program.words, frozenset()) if one]
        return "no_such_file" if any(_names(one, _TEST_LOST, lines) for one in operands) else None
    looked_at = operands_of(step.simple)
    if not looked_at:
        return None
    for kind, why in (("no_such_file", _MISSING), ("is_a_directory", _FOLDER)):
        if all(_looked(one, why, step.simple, lines) for one in looked_at):
            return "no_such_file" if kind == "no_such_file" else "is_a_directory"
    return None


_RUN_LOST = (
    r"can't open file {name}: (?:\[Errno 2\] )?No such file or directory",
    r"Cannot find module {name}",
    r"(?:^|: ){name}: No such file or directory",
    r"[Cc]an't open perl script {name}",
)
_TEST_LOST = (r"file or directory not found: {name}$", r"^ERROR: file not found: {name}$")


def _names(path: str, patterns: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether a message names a file, by its whole path or by its base name behind one."""
    name = rf"['\"`‘]?(?:\S*/)?{re.escape(base_name(path))}(?:::\S*)?['\"`’]?"
    found = [re.compile(pattern.replace("{name}", name)) for pattern in patterns]
    return any(pattern.search(line) for line in lines for pattern in found)


def _looked(operand: str | None, why: str, simple: Simple, lines: Sequence[str]) -> bool:
    """Whether a program said that it couldn't look at one of its operands."""
    if operand is None:  # a glob or a variable: the program's own line must do
        pattern = re.compile(rf"^(?:\S*/)?{re.escape(simple.name)}: .*{why}")
    else:
        pattern = re.compile(
            rf"^(?:[\w./+-]+|.{{0,40}}[Ee]rror): .{{0,60}}?['\"`‘]?{re.escape(operand)}/?['\"`’]?"
            rf"(?: for reading)?: {why}"
        )
    return any(pattern.search(line) for line in lines)
