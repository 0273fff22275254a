"""The command line: the only room that prints, and the only one that exits.

Each command group is a module with ``configure(parser)``, which declares arguments, and
``run(args) -> int``, which returns an exit status. Only the module of the command that
was asked for is imported, so ``wayproof --help`` costs little more than Python itself.
"""

import argparse
import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from wayproof._version import __version__
from wayproof.bundles.written import written_places

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "COMMANDS",
    "Command",
    "CommandParser",
    "build_parser",
    "flag_of",
    "main",
    "message_of",
    "parse",
    "run_safely",
    "say",
    "whole_number",
    "write_json",
]


class Command(NamedTuple):
    """One top-level command: the module that defines it and its line in ``--help``."""

    module: str
    summary: str


COMMANDS: dict[str, Command] = {
    "fitness": Command("wayproof.cli.fitness", "score captured route packets against typed tasks"),
    "capture": Command("wayproof.cli.capture", "make packets from coding agents' logs"),
    "inspect": Command(
        "wayproof.cli.inspect", "show a log's sessions, and why packets say what they say"
    ),
    "formats": Command("wayproof.cli.formats", "list the log formats, and what each can't know"),
    "tasks": Command("wayproof.cli.tasks", "draft tasks from a repository's history"),
    "trec": Command("wayproof.cli.trec", "read and write TREC's judgments and runs"),
    "merge": Command("wayproof.cli.merge", "merge the parts that shards wrote into one result"),
    "export": Command("wayproof.cli.export", "write a bundle's records as Parquet or CSV"),
    "compare": Command(
        "wayproof.cli.compare", "compare two bundles: what changed, what is new, may it land"
    ),
    "recovery": Command(
        "wayproof.cli.recovery", "measure verified recovery after a rejected action"
    ),
    "rejections": Command(
        "wayproof.cli.rejections", "measure what agents did after rejected calls, from their logs"
    ),
    "private": Command(
        "wayproof.cli.private", "evaluate a client's agent on hidden scenarios, signed by both"
    ),
    "init": Command("wayproof.cli.init", "write a small task file and packet file to start from"),
    "schema": Command("wayproof.cli.schema", "print the JSON Schema of a record"),
    "explain": Command("wayproof.cli.explain", "say what a failure kind means and how to mend it"),
    "report": Command("wayproof.cli.report", "write bundles as pages that open from disk"),
    "explore": Command("wayproof.cli.explore", "write the Explorer: watch, play, re-verify"),
    "verify": Command(
        "wayproof.cli.verify", "check a result folder: digests, and what must follow from what"
    ),
}

OLD_SPELLINGS: dict[tuple[str, str], tuple[str, ...]] = {
    ("capture", "formats"): ("formats",),
    ("capture", "inspect"): ("inspect",),
    ("capture", "trec-import"): ("trec", "import"),
    ("capture", "trec-export"): ("trec", "export"),
}
"""Commands of release 0.1 that stand elsewhere now; they go with release 0.3."""

EXIT_STATUS_HELP = (
    "exit status: 0 pass; 1 measured and failed, or a gate failed; "
    "2 unusable input or arguments, nothing written; 3 integrity failure; "
    "130 interrupted; 143 ended; 141 the reader of the output went away"
)


_FLAGS = {
    "maps": "--map",
    "policies": "--policy",
    "policy_seeds": "--seeds",
}
"""Settings whose flag isn't their own name."""


class _Help(argparse.HelpFormatter):
    """Help that fits 80 columns, however wide the terminal is."""

    def __init__(self, prog: str, **kwargs: Any) -> None:
        import shutil

        kwargs.setdefault("width", min(80, shutil.get_terminal_size().columns) - 2)
        super().__init__(prog, **kwargs)

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Break lines at blanks alone: names with hyphens stay whole."""
        import textwrap

        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


class CommandParser(argparse.ArgumentParser):
    """argparse with one message per error, no usage dump, and no abbreviations.

    Attributes
    ----------
    intermixed
        Whether options may stand between positional arguments: ``a.jsonl --strict b.jsonl``.
    """

    intermixed = False

    def __init__(self, *args: object, **kwargs: object) -> None:
        kwargs.setdefault("allow_abbrev", False)
        kwargs.setdefault("formatter_class", _Help)
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._is_mixing = False
        self._words: Sequence[str] = ()

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse drops what it can't write, and then says that all went well
        if message:
            (sys.stderr if file is None else file).write(message)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; what nobody knows is an error here, where the options are known."""
        if self._is_mixing:  # a step of parse_known_intermixed_args
            return super().parse_known_args(args, namespace)
        self._words = args or ()
        if self.intermixed:
            self._is_mixing = True
            try:
                parsed, unknown = self.parse_known_intermixed_args(args, namespace)
            finally:
                self._is_mixing = False
        else:
            parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """Say one line on stderr and leave with status 2."""
        from wayproof.text import harmless

        text = harmless(f"{message}{self._hint(message)}")
        self.exit(2, f"{self.prog}: {text} (see '{self.prog} --help')\n")

    def _hint(self, message: str) -> str:
        """Name the words of this parser that are nearest to one that it doesn't know."""
        from difflib import get_close_matches

        choices = [str(word) for action in self._actions for word in action.choices or ()]
        options = [word for action in self._actions for word in action.option_strings]
        choice = re.search(r"invalid choice: '([^']*)'", message)
        if choice is not None:
            return _did_you_mean(get_close_matches(choice[1], choices, n=2))
        given = [word.partition("=")[0] for word in self._words if word.startswith("--")]
        for word in given:
            if word not in options and (near := get_close_matches(word, options, n=2)):
                # A misspelt option that is required is reported as missing.
                known = message.startswith("unrecognized")
                seen = "" if known else f"; {word} is unknown"
                return seen + _did_you_mean(near)
        return ""


def whole_number(text: str) -> int:
    """Read an option's whole number: ASCII digits after a sign at most, nothing else."""
    if re.fullmatch(r"[+-]?[0-9]{1,20}", text) is None:
        msg = f"expected a whole number, found {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def _did_you_mean(words: Sequence[str]) -> str:
    return f"; did you mean {' or '.join(map(repr, words))}?" if words else ""


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Build the parser; with ``only``, the arguments of that one command are filled in.

    Without ``only`` every command is listed and none is imported, which is all that
    ``wayproof --help`` needs.
    """
    parser = CommandParser(
        prog="wayproof",
        description="Evidence about an agent's first move, and its recovery after a refusal.",
        epilog=EXIT_STATUS_HELP,
    )
    parser.add_argument("--version", action="version", version=f"wayproof {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", required=True
    )
    for name, command in COMMANDS.items():
        sub = commands.add_parser(name, help=command.summary, description=command.summary)
        if name == only:
            import_module(command.module).configure(sub)
    return parser


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace | int:
    """Parse arguments; an int is the status of a ``--help``, ``--version`` or usage error."""
    try:
        return parser.parse_args(list(arguments))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: the sole place where errors become text."""
    arguments = _respelled(list(sys.argv[1:] if argv is None else argv))
    only = arguments[0] if arguments and arguments[0] in COMMANDS else None

    def command() -> int:
        args = parse(build_parser(only), arguments)
        if isinstance(args, int):
            return args
        return int(import_module(COMMANDS[args.command].module).run(args))

    return run_safely(command)


def _respelled(arguments: list[str]) -> list[str]:
    """Take an old spelling for the new one, and say so."""
    new = OLD_SPELLINGS.get((arguments[0], arguments[1])) if len(arguments) > 1 else None
    if new is None:
        return arguments
    old, now = " ".join(arguments[:2]), " ".join(new)
    say(f"wayproof: '{old}' is now '{now}'; the old spelling goes with release 0.3")
    return [*new, *arguments[2:]]


def write_json(value: object) -> None:
    """Write a JSON document to stdout, in UTF-8 whatever the locale, readable and stable."""
    import json

    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8") + b"\n")


def say(message: str) -> None:
    """Write a line to stderr; whether anybody can read it never changes an exit status."""
    with contextlib.suppress(OSError, ValueError):
        print(message, file=sys.stderr, flush=True)


def run_safely(command: Callable[[], int]) -> int:
    """Call ``command`` and turn what it raises into one line on stderr and a status."""
    _mend_streams()
    with written_places() as written:
        return _status_of(command, written)


def _status_of(command: Callable[[], int], written: "Sequence[Path]") -> int:
    try:
        with _ended_by_signals():
            status = command()
            sys.stdout.flush()
            return status
    except (BrokenPipeError, SystemExit) as gone:
        # rich turns a broken pipe into an exit of its own, which would read as a failed gate
        if isinstance(gone, SystemExit) and not isinstance(gone.__context__, BrokenPipeError):
            raise
        _let_go_of_stdout()
        return 128 + signal.SIGPIPE if hasattr(signal, "SIGPIPE") else 1
    except KeyboardInterrupt:
        say(f"wayproof: interrupted; {_what_stands(written)}")
        return 128 + signal.SIGINT
    except _Ended as ended:
        say(f"wayproof: ended by {ended.name}; {_what_stands(written)}")
        return 128 + ended.number
    except OSError as error:
        _let_go_of_stdout()
        after = f"; {_what_stands(written)}" if written else ""
        say(f"wayproof: {_shown(error.filename)}: {error.strerror}{after}")
        return 2
    except Exception as error:
        from wayproof.errors import WayproofError
        from wayproof.text import harmless

        if not isinstance(error, WayproofError):
            raise
        say(f"wayproof: {harmless(message_of(error))}")
        return error.exit_status


def _what_stands(written: "Sequence[Path]") -> str:
    """Say what was written whole before the end came."""
    if not written:
        return "nothing was written"
    verb = "was" if len(written) == 1 else "were"
    return f"{', '.join(_shown(path) for path in written)} {verb} written"


def message_of(error: Exception) -> str:
    """Return an error's message, with settings spelled as flags."""
    from wayproof.errors import LocatedError

    return error.message(flag_of) if isinstance(error, LocatedError) else str(error)


def flag_of(setting: str) -> str:
    """Return how the command line spells a setting that an error names."""
    return _FLAGS.get(setting, f"--{setting.replace('_', '-')}")


def _shown(filename: object) -> str:
    from wayproof.text import harmless

    return "standard output" if filename is None else harmless(os.fsdecode(str(filename)))


def _mend_streams() -> None:
    """Give every closed stream a place, and let no character be a reason to fail."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        # A terminal that can't show a character gets its escape, never a traceback.
        reconfigure = getattr(getattr(sys, name), "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _let_go_of_stdout() -> None:
    """Point stdout elsewhere: Python would try once more to flush it at exit, and complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Ended(BaseException):
    """A signal asked us to end: unwinding removes what is half-written."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = signal.Signals(number).name
        super().__init__(self.name)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Unwind on SIGTERM and SIGHUP as on an interrupt, where nobody else handles them."""
    wanted = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        wanted = []
    ours = [number for number in wanted if signal.getsignal(number) == signal.SIG_DFL]

    def end(number: int, _frame: object) -> NoReturn:
        raise _Ended(number)

    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
