"""The neutral model: what every log format is read into, and nothing of any one format.

A log holds *sessions*; a session is an ordered stream of events in one or more *threads*
(the main agent, and each agent it delegated to). Adapters yield events; every session has
one or more *sinks* that take them: :mod:`wayproof.capture.route` cuts a route,
:mod:`wayproof.capture.timeline` shows everything. Events are handed over one at a time and
not kept, so a log of any size is read in constant memory.
"""

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import msgspec

__all__ = [
    "MAIN_THREAD",
    "Answer",
    "Call",
    "Event",
    "Failure",
    "Named",
    "Outcome",
    "Prompt",
    "Result",
    "SessionInfo",
    "Sink",
    "Spawn",
    "Usage",
]

MAIN_THREAD = ""
"""The thread of the agent that the user talks to."""


class SessionInfo(msgspec.Struct, kw_only=True):
    """What the log says about a session as a whole.

    Attributes
    ----------
    key
        Names the session inside one file; adapters choose it.
    session_id
        The log's own identifier, or None.
    agent_version
        Version of the tool that wrote the log, or None.
    cwd
        The first working directory that the log names.
    root
        The repository root, where the log names one apart from ``cwd``.
    prompts_logged
        Whether the format records the user's prompts. Where it does, a route starts at
        the first genuine one; where it doesn't, at the start of the log.
    part
        Which run of it, where one log holds several (``epoch 2``).
    ranked, ranked_line
        The ids of a ranked list, which has no events, and its first line.
    started_ms
        When the session began, where the log says so apart from its events.
    parent_session
        The session whose sub-agent this is, where the log is a sub-agent's own file.
    origin
        Identifies the first prompt across files, where the format gives it an id that
        survives a resume; two sessions of one origin and one route are one session.
    forked_from
        The session whose history this one's log begins with, where the log names it.
    replays
        The log itself says that it begins with another session's history.
    parts
        Names of further files that go on with the session.
    agents
        Log files of its sub-agents that were read with it.
    """

    key: str
    session_id: str | None = None
    agent_version: str | None = None
    cwd: str | None = None
    root: str | None = None
    prompts_logged: bool = True
    part: str | None = None
    ranked: tuple[str, ...] | None = None
    ranked_line: int = 0
    started_ms: float | None = None
    parent_session: str | None = None
    origin: str | None = None
    forked_from: str | None = None
    replays: bool = False
    parts: list[str] = []
    agents: list[str] = []


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended, as far as the log says.

    Attributes
    ----------
    ok
        True, False, or None where the log has no word about it.
    exit_code
        A process's exit status.
    timed_out, refused
        Typed by the log, or recognised by the tool's own phrases.
    duration_ms
        The log's own measurement of the call, never a gap between timestamps.
    error
        What the tool said, when ``ok`` is False.
    """

    ok: bool | None = None
    exit_code: int | None = None
    timed_out: bool = False
    refused: bool = False
    duration_ms: float | None = None
    error: str | None = None


class Named(msgspec.Struct, frozen=True):
    """A file that a structured result names, in the tier that the result belongs to.

    ``tier`` is ``read``, ``matched`` or ``listed``.
    """

    tier: str
    path: str
    lines: tuple[int, int] | None = None


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A genuine prompt; injected text has been taken out by the adapter."""

    text: str
    line: int
    at_ms: float | None = None
    thread: str = MAIN_THREAD


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call.

    Attributes
    ----------
    call_id
        Pairs the call with its result.
    tool
        The tool's name as the log has it.
    arguments
        The decoded input: usually a mapping, a string for free-form tools, None where
        the log doesn't record it (content capture off).
    typed
        The text that the agent typed, where the log has the call as a line of text.
    batch
        Calls of one batch ran side by side. None: the cutter groups calls that were
        issued before any of their results.
    cwd
        The call's own working directory.
    opaque
        The call wraps other calls that the log doesn't name.
    """

    call_id: str
    tool: str
    arguments: Mapping[str, Any] | str | None
    line: int
    at_ms: float | None = None
    thread: str = MAIN_THREAD
    typed: str | None = None
    batch: str | None = None
    cwd: str | None = None
    opaque: bool = False


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's result.

    Attributes
    ----------
    files
        Files that the result names in structured fields; None where it has no such
        fields, and then text may be parsed.
    body
        The text of the result, not decoded yet: JSON (a string, or a list of blocks
        with a ``text``), or text.
    child
        Thread of the agent that did the work, where the result names it.
    made
        What a writing tool says of its file: True: there was none, False: there was one.
    """

    call_id: str
    line: int
    outcome: Outcome
    at_ms: float | None = None
    thread: str = MAIN_THREAD
    files: tuple[Named, ...] | None = None
    body: msgspec.Raw | str | None = None
    child: str | None = None
    cwd: str | None = None
    made: bool | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Text from the agent; the last one with no call after it is the final answer."""

    text: str
    line: int
    at_ms: float | None = None
    thread: str = MAIN_THREAD
    final: bool = False


class Spawn(msgspec.Struct, frozen=True, kw_only=True):
    """A thread begins: ``parent_call`` delegated to it (None where the log doesn't say).

    ``prompt`` is what the parent asked of it, by which a parent call can be found.
    """

    child: str
    line: int
    parent_call: str | None = None
    prompt: str | None = None
    file: str | None = None

    @property
    def thread(self) -> str:
        """The thread that begins."""
        return self.child


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The session as a whole failed or ran out of time, by the log's own typed word."""

    error: str | None
    line: int
    timed_out: bool = False
    thread: str = MAIN_THREAD


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What one message of the model took in tokens: once a message, however it is logged.

    Attributes
    ----------
    input_tokens
        Everything that was read, from a cache or not; None where it isn't logged.
    cached_tokens
        How many of the input tokens came from a cache.
    output_tokens
        Everything that was written, reasoning included.
    line
        Where the message ends in the log.
    """

    input_tokens: int | None
    output_tokens: int | None
    line: int
    cached_tokens: int | None = None
    at_ms: float | None = None
    thread: str = MAIN_THREAD


Event: TypeAlias = Prompt | Call | Result | Answer | Spawn | Failure | Usage


class Sink(Protocol):
    """Takes the events of one session, in the order of the log, to its end."""

    def take(self, event: Event) -> bool:
        """Take the next event; False when no later one of its thread is needed."""
