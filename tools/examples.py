"""Run the console sessions in the documentation and hold them against what is printed there.

    python tools/examples.py           write the real output into every page
    python tools/examples.py --check   exit 1 naming each session that says something else

A session is a fenced block marked ``console``. A line that begins with ``$ `` is a command,
lines right below it that begin with ``> `` continue it, and what follows is its output,
stdout and stderr as a terminal mixes them. The sessions of one page run one after the other
in an empty folder of their own; a page that names ``disorder.py`` or ``stdio_agent.py`` finds it
there.
``{varies}`` in an output line stands for what differs between machines and runs: the only
thing that isn't compared.
"""

import argparse
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
COMMAND = "make docs"
VARIES = "{varies}"
_PROMPT, _MORE = "$ ", "> "
_JOINTS = frozenset({"|", "||", "&&", ";", "&"})
_FENCE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BORDER = "\x1e--\n"  # a record separator: no command prints it
_TIMEOUT_S = 120

PROGRAMS = frozenset({"wayproof", "python3", "cat", "cp", "echo", "head", "ls", "mkdir", "sed"})
"""What a session may start: nothing that needs a network or a machine of a certain kind."""


class Step(NamedTuple):
    """One command of a session, as it is typed, and the lines it is said to print."""

    typed: tuple[str, ...]
    output: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command without its prompts."""
        first, *more = self.typed
        lines = [first.removeprefix(_PROMPT), *(line.removeprefix(_MORE) for line in more)]
        return "\n".join(lines)


class Session(NamedTuple):
    """A fenced block: where its text lies in the page, and its steps."""

    start: int
    end: int
    line: int
    steps: tuple[Step, ...]


def sessions_in(text: str) -> list[Session]:
    """Find the sessions of a page."""
    return [
        Session(
            match.start(1),
            match.end(1),
            text.count("\n", 0, match.start(1)) + 1,
            tuple(_steps(match[1].splitlines())),
        )
        for match in _FENCE.finditer(text)
    ]


def _steps(lines: Sequence[str]) -> Iterator[Step]:
    starts = [number for number, line in enumerate(lines) if line.startswith(_PROMPT)]
    if starts[:1] != [0]:
        msg = f"a console session begins with a command after '{_PROMPT}'"
        raise ValueError(msg)
    for start, end in itertools.pairwise([*starts, len(lines)]):
        first, *rest = lines[start:end]
        more = list(itertools.takewhile(lambda line: line.startswith(_MORE), rest))
        yield Step((first, *more), tuple(rest[len(more) :]))


def programs_of(command: str) -> list[str]:
    """List the programs that a command line starts."""
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    programs, is_start = [], True
    for word in words:
        if is_start:
            programs.append(word)
        is_start = word in _JOINTS
    return programs


def run_page(text: str) -> list[tuple[Session, list[tuple[str, ...]]]]:
    """Run all sessions of a page; return each with the lines that its commands printed."""
    with tempfile.TemporaryDirectory(prefix="wayproof-docs-") as folder:
        for place in ("tools/disorder.py", "examples/stdio_agent.py"):
            if Path(place).name in text:
                shutil.copy(ROOT / place, folder)
        return [(session, _run(session, Path(folder))) for session in sessions_in(text)]


def _run(session: Session, folder: Path) -> list[tuple[str, ...]]:
    for step in session.steps:
        strange = set(programs_of(step.command)) - PROGRAMS
        if strange:
            msg = f"line {session.line}: sessions don't start {', '.join(sorted(strange))}"
            raise ValueError(msg)
    # `(exit $status)` hands a command's status on, so that `echo $?` shows it.
    border = f"status=$?; printf '%s' '{_BORDER}'; (exit $status)"
    script = "\n".join(f"{border}\n{step.command}" for step in session.steps)
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", script],
        cwd=folder,
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_TIMEOUT_S,
        check=False,
    )
    before, *outputs = done.stdout.decode("utf-8").split(_BORDER)
    if len(outputs) != len(session.steps):
        msg = f"line {session.line}: not a session that bash can run: {before}"
        raise ValueError(msg)
    return [tuple(output.splitlines()) for output in outputs]


def _environment(folder: Path) -> dict[str, str]:
    programs = os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin:/usr/bin:/bin"])
    return {
        "PATH": programs,
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
    }


def agrees(said: Sequence[str], real: Sequence[str]) -> bool:
    """Compare output lines, each as it stands; only ``{varies}`` matches anything."""
    return len(said) == len(real) and all(map(_line_agrees, said, real))


def _line_agrees(said: str, real: str) -> bool:
    pattern = ".*".join(map(re.escape, said.split(VARIES)))
    return re.fullmatch(pattern, real) is not None


def pages(root: Path) -> list[Path]:
    """List the pages that may hold sessions."""
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]


def faults_in(text: str) -> list[str]:
    """Name each command of a page that prints something else than the page says."""
    return [
        f"line {session.line}: $ {step.command}: said {list(step.output)}, printed {list(real)}"
        for session, outputs in run_page(text)
        for step, real in zip(session.steps, outputs, strict=True)
        if not agrees(step.output, real)
    ]


def renewed(text: str) -> str:
    """Return a page with the real output in it; lines that agree stay as they are."""
    for session, outputs in reversed(run_page(text)):
        lines = []
        for step, real in zip(session.steps, outputs, strict=True):
            lines += [*step.typed, *_merged(step.output, real)]
        text = text[: session.start] + "".join(f"{line}\n" for line in lines) + text[session.end :]
    return text


def _merged(said: Sequence[str], real: Sequence[str]) -> Sequence[str]:
    if len(said) != len(real):
        return real
    return [old if _line_agrees(old, new) else new for old, new in zip(said, real, strict=True)]


def main(argv: Sequence[str] | None = None) -> int:
    """Write or check the sessions; return the exit status."""
    parser = argparse.ArgumentParser(description="Run the documentation's console sessions.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if one is off")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    args = parser.parse_args(argv)
    status = 0
    for path in pages(args.root):
        text = path.read_text("utf-8")
        if args.check:
            for fault in faults_in(text):
                print(f"{path.relative_to(args.root)}: {fault}")
                status = 1
        elif (new := renewed(text)) != text:
            path.write_text(new, "utf-8")
    if status:
        print(f"mend with: {COMMAND}")
    return status


if __name__ == "__main__":
    sys.exit(main())
