"""Agents in any language: a process a trial, JSON Lines over stdin and stdout.

What the agent does wrong ends its trial with a named outcome and nothing else. Lines are
taken in the order in which they were written, one for each action that is asked for, so
that no outcome depends on when a line arrives, deadlines excepted. What comes after the
trial's end is logged and changes nothing.
"""

import contextlib
import hashlib
import itertools
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Final

import msgspec

from wayproof.errors import InputError
from wayproof.evidence.recovery_records import Action, AgentRecord, Step
from wayproof.recovery.agents import processes
from wayproof.recovery.agents.messages import (
    MAX_LINE_BYTES,
    PROTOCOL,
    AgentAction,
    AgentHello,
    AgentLimits,
    BenchEnd,
    BenchHello,
    BenchOutcome,
    BenchTrial,
    FirstRejection,
    agent_message,
    line_of,
    named_action,
)
from wayproof.recovery.agents.policy import (
    Observation,
    PolicyFailedError,
    PolicySource,
    client_source,
)
from wayproof.text import quoted

__all__ = ["Deadlines", "stdio_agent"]

_LOG_BYTES: Final = 16 << 10
_READ_BYTES: Final = 1 << 16
_GRACE_S: Final = 0.5
_LONGEST_WAIT_MS: Final = 100
_marks: Final = itertools.count()


class Deadlines(msgspec.Struct, frozen=True, kw_only=True):
    """How long an agent may take, in milliseconds.

    Attributes
    ----------
    hello_ms
        From the start of its process to its ``hello``.
    move_ms
        For each action.
    trial_ms
        For a whole trial, the start of the process included.
    """

    hello_ms: int = 10_000
    move_ms: int = 10_000
    trial_ms: int = 300_000


class _Command(msgspec.Struct, frozen=True):
    """What a trial needs to start its agent; goes to worker processes."""

    words: tuple[str, ...]
    deadlines: Deadlines
    reuse: bool


def stdio_agent(
    name: str, command: str, *, deadlines: Deadlines | None = None, reuse: bool = False
) -> PolicySource:
    """Return the source of an agent that is a program.

    Parameters
    ----------
    name
        The ``policy`` of its records.
    command
        The program and its arguments. It is split as a shell would and run by none.
    deadlines
        How long it may take; the defaults of :class:`Deadlines` when omitted.
    reuse
        Keep one process for all trials of a worker, until it fails. Then nothing keeps
        one trial from knowing another.

    Raises
    ------
    InputError
        When the command is empty or unbalanced, or its program isn't there.
    """
    deadlines = deadlines or Deadlines()
    words = _words(command)
    for field in deadlines.__struct_fields__:
        if getattr(deadlines, field) < 1:
            raise InputError("a deadline has to be positive", setting=field)
    identity = AgentRecord(
        details={
            "command": shlex.join(words),
            "deadlines": f"hello {deadlines.hello_ms} ms, action {deadlines.move_ms} ms, "
            f"trial {deadlines.trial_ms} ms",
            "isolation": "none: one process for many trials" if reuse else "one process a trial",
            "protocol": PROTOCOL,
        },
        kind="stdio",
        policy=name,
    )
    made_from = _Command(words, deadlines, reuse)
    source = client_source(name, partial(_begin, made_from), identity)
    return source._replace(session=partial(_session, made_from))


def _words(command: str) -> tuple[str, ...]:
    if sys.platform == "win32":
        raise InputError("agents over stdio need a POSIX system", setting="agent")
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise InputError("not a command", setting="agent", found=str(error)) from None
    if not words:
        raise InputError("not a command", setting="agent", found="nothing")
    if shutil.which(words[0]) is None:
        raise InputError(
            "no such program",
            setting="agent",
            found=quoted(words[0]),
            mend="the command is run as it is, by no shell",
        )
    return words


# -- a trial --------------------------------------------------------------------------


class _StdioPolicy:
    """One trial's part of the conversation."""

    name: Final = "stdio"

    def __init__(self, command: _Command, seed: int) -> None:
        self._command, self._seed = command, seed
        self._ends = time.monotonic() + command.deadlines.trial_ms / 1000
        self._trial = hashlib.sha256(f"trial {seed:016x}".encode()).hexdigest()[:16]
        self._step = -1
        self._process = _kept_process(command) or _started(command, self._ends)
        self._is_good = True

    @property
    def agent_log(self) -> str:
        """What the agent wrote to stderr; nothing when all went well and it wrote nothing."""
        return self._process.log() if self._process.has_log or not self._is_good else ""

    def propose(self, observation: Observation) -> Action:
        """Send the trial if this is its beginning, and take one action."""
        deadline = min(self._ends, time.monotonic() + self._command.deadlines.move_ms / 1000)
        try:
            if self._step < 0:
                self._process.send(line_of(self._opening(observation)), deadline)
            self._step += 1
            return self._action(self._process.receive(deadline))
        except PolicyFailedError:
            self._is_good = False
            raise

    def _opening(self, observation: Observation) -> BenchTrial:
        grid = observation.grid
        return BenchTrial(
            budget=observation.proposals_left,
            position=observation.position,
            rejection=FirstRejection(
                action=observation.rejected_action, kind=observation.rejection
            ),
            rows=grid.rows,
            seed=f"{self._seed:016x}",
            spent=observation.spent,
            start=grid.start,
            target=grid.target,
            trial=self._trial,
        )

    def _action(self, line: bytes) -> Action:
        message = _read(line)
        if (
            not isinstance(message, AgentAction)
            or message.trial != self._trial
            or message.step != self._step
        ):
            raise PolicyFailedError(
                "protocol_error",
                f"expected action {self._step} of trial {self._trial}, got {quoted(_text(line))}",
            )
        action = named_action(message)
        if action is None:
            raise _malformed("an action names a move or a finish", line)
        return action

    def told(self, step: Step, proposals_left: int) -> None:
        """Send the outcome of the latest action."""
        message = BenchOutcome(
            accepted=step.accepted,
            position=step.position,
            proposals_left=proposals_left,
            rejection=step.rejection,
            spent=step.spent,
            step=self._step,
            trial=self._trial,
        )
        try:
            self._process.send(line_of(message), self._ends)
        except PolicyFailedError:
            self._is_good = False
            raise

    def close(self) -> None:
        """Say that the trial is over; end the process, or keep it for the next trial."""
        if self._is_good:
            try:
                self._process.send(line_of(BenchEnd(trial=self._trial)), self._ends)
            except PolicyFailedError:
                self._is_good = False
        if self._command.reuse and self._is_good:
            _kept[self._command] = self._process
        else:
            self._process.end()


def _begin(command: _Command, seed: int) -> _StdioPolicy:
    return _StdioPolicy(command, seed)


def _started(command: _Command, trial_ends: float) -> "_AgentProcess":
    """Start a process and greet it."""
    limits = command.deadlines
    deadline = min(trial_ends, time.monotonic() + limits.hello_ms / 1000)
    try:
        process = _AgentProcess(command.words)
    except OSError as error:
        raise PolicyFailedError("crashed", f"can't be started: {error}") from None
    try:
        hello = BenchHello(
            limits=AgentLimits(
                hello_ms=limits.hello_ms,
                line_bytes=MAX_LINE_BYTES,
                move_ms=limits.move_ms,
                trial_ms=limits.trial_ms,
            ),
            protocol=PROTOCOL,
        )
        process.send(line_of(hello), deadline)
        process.greeting = _greeting(process.receive(deadline))
    except BaseException as error:
        process.end()
        if isinstance(error, PolicyFailedError):
            raise PolicyFailedError(error.outcome, f"{error.log}\n{process.log()}") from None
        raise
    return process


def _greeting(line: bytes) -> str:
    message = _read(line)
    if not isinstance(message, AgentHello):
        raise PolicyFailedError("protocol_error", f"expected hello, got {quoted(_text(line))}")
    return f"hello from {quoted(message.name)}, version {quoted(message.version)}\n"


def _read(line: bytes) -> AgentHello | AgentAction:
    try:
        return agent_message(line)
    except ValueError as error:
        raise _malformed(str(error), line) from None


def _malformed(problem: str, line: bytes) -> PolicyFailedError:
    return PolicyFailedError("malformed", f"{problem}: {quoted(_text(line))}")


def _text(line: bytes) -> str:
    return line[:200].decode("utf-8", "replace")


# -- processes that serve many trials ---------------------------------------------------

_kept: dict[_Command, "_AgentProcess"] = {}
"""In a process that runs trials: the agent that waits for its next trial."""


def _kept_process(command: _Command) -> "_AgentProcess | None":
    return _kept.pop(command, None)


@contextlib.contextmanager
def _session(command: _Command) -> Iterator[None]:
    """Surround all trials of a run: find orphans, and end what was kept."""
    with processes.reaping():
        try:
            yield
        finally:
            kept = _kept_process(command)
            if kept is not None:
                kept.end()


# -- the process ------------------------------------------------------------------------


class _AgentProcess:
    """A process that is written to and read from under deadlines, never waited for blindly."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._mark = f"{os.getpid()}-{next(_marks)}"
        self._reaping: AbstractContextManager[None] = processes.reaping()
        self._reaping.__enter__()
        try:
            self._children_before = processes.children()
            with processes.starting:
                self._popen = subprocess.Popen(
                    words,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    start_new_session=True,
                    env=os.environ | {processes.MARK: self._mark},
                )
        except BaseException:
            self._reaping.__exit__(None, None, None)
            raise
        pipes = (self._popen.stdin, self._popen.stdout, self._popen.stderr)
        self._stdin, self._stdout, self._stderr = (
            -1 if pipe is None else pipe.fileno() for pipe in pipes
        )
        for number in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(number, False)
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        self._pidfd = _pidfd(self._popen.pid)
        if self._pidfd >= 0:
            self._poll.register(self._pidfd, select.POLLIN)
        self._open = {self._stdout, self._stderr}
        self._lines = bytearray()
        self._log = bytearray()
        self.greeting = ""
        self._log_lost = 0
        self._has_ended = False

    # -- the log ----------------------------------------------------------------------

    @property
    def has_log(self) -> bool:
        """Whether the agent wrote anything to stderr."""
        return bool(self._log)

    def log(self) -> str:
        """Return what the agent wrote to stderr, as far as it was kept."""
        text = self.greeting + self._log.decode("utf-8", "replace")
        return f"{text}… (+{self._log_lost} bytes)\n" if self._log_lost else text

    def _keep(self, data: bytes) -> None:
        kept = data[: max(0, _LOG_BYTES - len(self._log))]
        self._log += kept
        self._log_lost += len(data) - len(kept)

    # -- lines ------------------------------------------------------------------------

    def send(self, line: bytes, deadline: float) -> None:
        """Write a line. An agent that doesn't read any more may still have answered."""
        rest = memoryview(line)
        while rest:
            try:
                rest = rest[os.write(self._stdin, rest) :]
            except BlockingIOError:
                self._poll.register(self._stdin, select.POLLOUT)
                try:
                    self._wait(deadline)
                finally:
                    self._poll.unregister(self._stdin)
                if self._has_exited():
                    return
            except BrokenPipeError:
                return

    def receive(self, deadline: float) -> bytes:
        """Return the agent's next line.

        Raises
        ------
        PolicyFailedError
            ``timed_out``, ``crashed`` (it ended, or closed its stdout) or ``malformed``
            (a line that is too long).
        """
        searched = 0
        while True:
            end = self._lines.find(b"\n", searched)
            if end >= MAX_LINE_BYTES or (end < 0 and len(self._lines) >= MAX_LINE_BYTES):
                raise PolicyFailedError("malformed", f"a line of more than {MAX_LINE_BYTES} bytes")
            if end >= 0:
                line = bytes(self._lines[:end])
                del self._lines[: end + 1]
                return line
            searched = len(self._lines)
            if self._stdout not in self._open:
                raise PolicyFailedError("crashed", f"its output ended; {self._ending()}")
            self._wait(deadline)
            if len(self._lines) == searched and self._has_exited():
                self._read(self._stdout)  # what it wrote before it ended
                if len(self._lines) == searched:
                    raise PolicyFailedError("crashed", self._ending())

    def _ending(self) -> str:
        status = self._popen.poll()
        return "it still runs" if status is None else f"it left with status {status}"

    def _has_exited(self) -> bool:
        return self._popen.poll() is not None

    def _wait(self, deadline: float) -> None:
        """Wait until something happens, and take in what was written."""
        left_ms = (deadline - time.monotonic()) * 1000
        if left_ms <= 0:
            raise PolicyFailedError("timed_out", "a deadline passed")
        for number, _ in self._poll.poll(min(left_ms, _LONGEST_WAIT_MS)):
            if number == self._pidfd:
                self._poll.unregister(number)
            elif number != self._stdin:
                self._read(number)

    def _read(self, number: int) -> None:
        """Take in what a pipe holds, once."""
        if number not in self._open:
            return
        try:
            data = os.read(number, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._open.discard(number)
            self._poll.unregister(number)
        elif number == self._stderr:
            self._keep(data)
        else:
            self._lines += data

    # -- the end ----------------------------------------------------------------------

    def end(self) -> None:
        """Close stdin, wait a little, ask to end, end; then whatever it left behind."""
        if self._has_ended:
            return
        self._has_ended = True
        popen = self._popen
        try:
            if popen.stdin is not None:
                popen.stdin.close()
            self._drain(_GRACE_S)
            if popen.poll() is None:
                processes.end_group(popen.pid, signal.SIGTERM)
                self._drain(_GRACE_S)
        finally:
            below = processes.descendants(popen.pid)
            processes.end_group(popen.pid, signal.SIGKILL)
            processes.end(below)
            popen.kill()
            popen.wait()
            processes.end_orphans(self._mark, self._children_before)
            self._reaping.__exit__(None, None, None)
            self._read(self._stderr)
            for pipe in (popen.stdout, popen.stderr):
                if pipe is not None:
                    pipe.close()
            if self._pidfd >= 0:
                os.close(self._pidfd)

    def _drain(self, seconds: float) -> None:
        """Read and drop what still comes, until the process ends or the time is over."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(PolicyFailedError):
            while self._popen.poll() is None:
                self._wait(deadline)
                self._lines.clear()


def _pidfd(pid: int) -> int:
    """Return a descriptor that becomes readable when the process ends; -1 without such."""
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            return os.pidfd_open(pid)
    return -1
