"""One call read by itself: what it is for, its text, and what its result is read with."""

from collections.abc import Mapping
from typing import Any

import msgspec

from wayproof.canonical import canonical_bytes
from wayproof.capture.route.records import Step, clip
from wayproof.capture.session import Call
from wayproof.capture.shell import Reading, read_command, typed_text
from wayproof.capture.tools import Tool, command_of, folder_of, tool_of
from wayproof.errors import InputError

__all__ = ["ReadCall", "answer_text", "read_call"]


class ReadCall(msgspec.Struct, gc=False):
    """A call as it was read; its result is read with it.

    Attributes
    ----------
    folders
        The working directories it ran in, from the outermost inwards.
    typed
        The shell command's text, kept where names in its output will be looked for.
    """

    step: Step
    tool: Tool
    arguments: Mapping[str, Any] | str | None
    reading: Reading | None
    folders: tuple[str | None, ...]
    typed: str | None = None


def read_call(
    event: Call,
    cwd: str | None,
    *,
    with_text: bool = True,
    keep_typed: bool = False,
    batch: int = 0,
    number: int = 0,
) -> ReadCall:
    """Read a call.

    Parameters
    ----------
    event
        The call.
    cwd
        The session's working directory.
    with_text
        Make the text of a call that is no shell command.
    keep_typed
        Keep a shell command's text.
    batch, number
        The call's batch in its thread, and its number in the session.
    """
    tool = tool_of(event.tool, event.arguments)
    folders: tuple[str | None, ...] = (cwd, event.cwd)
    if tool.purpose == "shell":
        folders = (*folders, folder_of(event.arguments))
    step = Step(
        call_id=event.call_id,
        tool=event.tool,
        line=event.line,
        thread=event.thread,
        batch=batch,
        purpose=tool.purpose,
        number=number,
        at_ms=event.at_ms,
    )
    if tool.purpose == "delegate" and isinstance(event.arguments, Mapping):
        step.asked = _asked(event.arguments)
    reading: Reading | None = None
    typed: str | None = None
    if event.opaque:
        step.reason, step.raw = "code_mode", clip(_raw_text(event.arguments))
    elif tool.purpose == "shell":
        reading = _shell(step, event, tool)
        typed = _typed(event) if keep_typed and reading is not None else None
    elif event.arguments is None and event.typed is None:
        step.reason = "arguments_not_logged"
        step.mutates = tool.purpose == "mutation"
    else:
        step.first = step.raw = clip(_tool_text(event)) if with_text else ""
        step.mutates = tool.purpose == "mutation"
    if step.mutates and (reading is None or reading.mutates_first):
        step.first = None
    return ReadCall(step, tool, event.arguments, reading, folders, typed)


def _command(event: Call) -> str | list[Any] | None:
    return event.typed if event.typed is not None else command_of(event.arguments)


def _typed(event: Call) -> str | None:
    command = _command(event)
    return None if command is None else typed_text(command)


def _shell(step: Step, event: Call, tool: Tool) -> Reading | None:
    command = _command(event)
    if command is None:
        step.reason = "arguments_not_logged"
        return None
    text = typed_text(command)
    powershell = "powershell" in tool.name or (
        isinstance(command, list) and bool(command) and "powershell" in str(command[0]).lower()
    )
    reading = read_command(text, powershell=powershell)
    step.first = clip(reading.first)
    step.raw = clip(command if isinstance(command, str) else _joined(command))
    step.mutates = reading.mutates
    step.unparsed = reading.unparsed
    return reading


def _joined(command: list[Any]) -> str:
    import shlex

    return shlex.join([word for word in command if isinstance(word, str)])


def _tool_text(event: Call) -> str:
    if event.typed is not None:
        return event.typed.strip()
    if isinstance(event.arguments, str):
        return f"{event.tool} {event.arguments}"
    return f"{event.tool} {_canonical(event.arguments)}"


def _raw_text(arguments: Mapping[str, Any] | str | None) -> str:
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else _canonical(arguments)


def _canonical(arguments: Any) -> str:
    try:
        return canonical_bytes(arguments).decode("utf-8")
    except InputError:  # an integer beyond 2^53, say: sorted keys are the next best thing
        return msgspec.json.encode(arguments, order="sorted").decode("utf-8", "replace")


def _asked(arguments: Mapping[str, Any]) -> str | None:
    for key in ("prompt", "message", "task", "instructions", "query", "objective"):
        value = arguments.get(key)
        if isinstance(value, str):
            return clip(value)
    return None


def answer_text(arguments: Mapping[str, Any] | str | None) -> str:
    """Return what a call that hands in the answer says."""
    if isinstance(arguments, str):
        return arguments
    if isinstance(arguments, Mapping):
        for key in ("message", "answer", "result", "final_thought", "summary", "text"):
            value = arguments.get(key)
            if isinstance(value, str):
                return value
    return ""
