"""One call read by itself: what it is for, its text, and what its result is read with."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from wayproof.canonical import canonical_bytes
from wayproof.capture.route.records import Step, clip
from wayproof.capture.session import Call
from wayproof.capture.shell import Reading, Write, read_command, typed_text
from wayproof.capture.shell.commands import is_windows_shell
from wayproof.capture.tools import Tool, command_of, folder_of, tool_of
from wayproof.errors import InputError

__all__ = ["ReadCall", "answer_text", "read_call"]


class ReadCall(msgspec.Struct, gc=False):
    """A call as it was read; its result is read with it.

    Attributes
    ----------
    folders
        The working directories it ran in, from the outermost inwards.
    until, makes, outside, scripts
        What its verdict says, which is told later: how many segments ran before an edit
        (None: all), the files that it makes, if it succeeds, here and in other places, and
        what those of them that are scripts would write.
    """

    step: Step
    tool: Tool
    arguments: Mapping[str, Any] | str | None
    reading: Reading | None
    folders: tuple[str | None, ...]
    until: int | None = None
    makes: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    scripts: tuple[tuple[str, tuple[Write, ...]], ...] = ()


def read_call(
    event: Call,
    cwd: str | None,
    *,
    with_text: bool = True,
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
    batch, number
        The call's batch in its thread, and its number in the session.
    """
    tool = tool_of(event.tool, event.arguments)
    folders: tuple[str | None, ...] = (cwd, event.cwd)
    asked: str | None = None
    if tool.purpose == "shell":
        asked = folder_of(event.arguments)
        folders = (cwd, event.cwd, asked)
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
    if tool.purpose == "delegate" and isinstance(event.arguments, (dict, Mapping)):
        step.asked = _asked(event.arguments)
    reading: Reading | None = None
    if event.opaque:
        step.reason, step.raw = "code_mode", clip(_raw_text(event.arguments))
    elif tool.purpose == "shell":
        reading = _shell(step, event, tool, asked or event.cwd)
    elif event.arguments is None and event.typed is None:
        step.reason = "arguments_not_logged"
    else:
        step.first = step.raw = clip(_tool_text(event)) if with_text else ""
    return ReadCall(step, tool, event.arguments, reading, folders)


def _command(event: Call) -> str | list[Any] | None:
    return event.typed if event.typed is not None else command_of(event.arguments)


def _shell(step: Step, event: Call, tool: Tool, where: str | None) -> Reading | None:
    command = _command(event)
    if command is None:
        step.reason = "arguments_not_logged"
        return None
    text = typed_text(command)
    reading = read_command(text, powershell=_is_powershell(where, tool, command, text))
    step.first = clip(reading.first)
    step.raw = clip(command if isinstance(command, str) else _joined(command))
    step.unparsed = reading.unparsed
    return reading


_CMDLET = re.compile(
    r"(?:^|[|;{(]\s*)(?:Get|Set|Add|Clear|Select|Test|New|Remove|Move|Copy|Rename|Out|Push|Pop"
    r"|Resolve|Measure|ForEach|Where)-[A-Z][A-Za-z]+\b"
)
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]")


def _is_powershell(where: str | None, tool: Tool, command: str | list[Any], text: str) -> bool:
    """Whether backslashes part folders: by the shell's name, its commands, or where it runs."""
    if "powershell" in tool.name or tool.name == "pwsh":
        return True
    if isinstance(command, list) and command:
        name = str(command[0]).lower()
        return is_windows_shell(name)
    if "-" in text and _CMDLET.search(text) is not None:
        return True
    return where is not None and "bash" not in tool.name and _WINDOWS.match(where) is not None


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
    if isinstance(arguments, (dict, Mapping)):
        for key in ("message", "answer", "result", "final_thought", "summary", "text"):
            value = arguments.get(key)
            if isinstance(value, str):
                return value
    return ""
