"""mini-swe-agent trajectories: version 2, version 1, and a bare list of messages.

Version 2 keeps the commands in ``extra.actions`` and each observation's return code in its
own ``extra``; before that a command is a fenced block in the assistant's text and the return
code a ``<returncode>`` tag in the next message. Every action runs in a new shell.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from wayproof.capture.adapter import Format, Head, inner_json, text_of, used, word
from wayproof.capture.clock import at_ms
from wayproof.capture.lines import Source
from wayproof.capture.results import first_line, outcome_from_text
from wayproof.capture.session import Answer, Call, Event, Failure, Outcome, Prompt, Result
from wayproof.capture.sessions import Session, Sessions

__all__ = ["FORMAT", "claims", "read"]

FORMAT = Format(
    name="mini-swe-agent",
    title="mini-swe-agent trajectory",
    files="*.traj.json",
    versions="trajectory formats 1 and 1.1 (v1, v2), and bare message lists",
    sampled="2025-11",
    detected_by="messages (or a bare list) of roles, with fenced commands, <returncode> or "
    "extra.actions",
    fields={
        "first_contact": "native",
        "selected": "derived",
        "cwd": "derived",
        "wall_ms": "unknown",
        "elapsed_ms": "derived",
        "error": "native",
        "timed_out": "derived",
        "prompt": "native",
        "subagent": "unknown",
        "version": "native",
    },
    limits=(
        "No durations: wall_ms is absent. Only version 2 has timestamps.",
        (
            "A bare list names no working directory: relative paths are taken as relative to "
            "the repository root."
        ),
    ),
)

_any = msgspec.json.Decoder()
_SUBMIT = re.compile(r"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT|MINI_SWE_AGENT_FINAL_OUTPUT")


def claims(head: Head) -> bool:
    """Messages of mini-swe-agent, by format name or by their fenced commands."""
    if head.document is not None and head.has("messages"):
        name = head.member("trajectory_format")
        if isinstance(name, str) and name.startswith("mini-swe-agent"):
            return True
        info = head.member("info")
        if isinstance(info, dict) and "mini_version" in info:
            return True
        return _looks(head.member("messages"))
    return _looks(head.elements)


def _looks(messages: Any) -> bool:
    if not isinstance(messages, list):
        return False
    for message in messages[:12]:
        if not isinstance(message, dict) or "role" not in message:
            return False
        extra = message.get("extra")
        if isinstance(extra, dict) and ("actions" in extra or "returncode" in extra):
            return True
        text = text_of(message.get("content"))
        if message["role"] == "user" and "<returncode>" in text:
            return True
        if message["role"] == "assistant" and re.search(r"```(?:bash|mswea_bash_command)\n", text):
            return True
    return False


def read(source: Source, sessions: Sessions) -> None:
    """Hand over the one session of a trajectory."""
    log: Any = source.document(_any)
    if log is None:
        return
    messages = log.get("messages") if isinstance(log, dict) else log
    if not isinstance(messages, list):
        source.bad(1, "no list of messages")
        return
    session = sessions.of(f"{source.name}\0mini")
    _describe(log, session)
    reader = _Messages(session)
    for number, message in enumerate(messages, start=1):
        if isinstance(message, dict):
            reader.take(number, message)
        else:
            source.bad(1, f"message {number} is not an object")
    info = log.get("info") if isinstance(log, dict) else None
    _ended(info, session, len(messages))


def _describe(log: Any, session: Session) -> None:
    if not isinstance(log, dict):
        return
    instance = log.get("instance_id")
    session.info.session_id = instance if isinstance(instance, str) else None
    info = log.get("info")
    if not isinstance(info, dict):
        return
    version = info.get("mini_version")
    session.info.agent_version = version if isinstance(version, str) else None
    config = info.get("config")
    environment = config.get("environment") if isinstance(config, dict) else None
    cwd = environment.get("cwd") if isinstance(environment, dict) else None
    session.info.cwd = cwd if isinstance(cwd, str) and cwd else None


def _ended(info: Any, session: Session, number: int) -> None:
    status = info.get("exit_status") if isinstance(info, dict) else None
    if isinstance(status, str) and status not in {"", "Submitted", "submitted"}:
        session.feed(Failure(error=status, line=number, timed_out="Timeout" in status))


class _Messages:
    """Messages to events; the line numbers are message numbers from 1."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: list[str] = []
        self._prompted = False

    def _feed(self, event: Event) -> None:
        self._session.feed(event)

    def take(self, number: int, message: dict[str, Any]) -> None:
        """Take one message."""
        role = word(message.get("role"))
        extra = message.get("extra")
        extra = extra if isinstance(extra, dict) else {}
        time_ms = at_ms(extra.get("timestamp") or message.get("timestamp"))
        text = text_of(message.get("content"))
        if role == "assistant":
            self._tokens(number, extra.get("response"), time_ms)
            self._assistant(number, text, extra, message.get("tool_calls"), time_ms)
        elif self._waiting and role in {"user", "tool", "exit"}:
            self._observation(number, message, text, extra, time_ms)
        elif role == "user" and not self._prompted:
            self._prompted = True
            self._feed(Prompt(text=_task(text), line=number, at_ms=time_ms))

    def _tokens(self, number: int, response: Any, time_ms: float | None) -> None:
        counts = response.get("usage") if isinstance(response, dict) else None
        if not isinstance(counts, dict):
            return
        details = counts.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        names = ("prompt_tokens", "cached", "completion_tokens")
        usage = used(number, counts | {"cached": cached}, names, at_ms=time_ms)
        if usage is not None:
            self._feed(usage)

    def _assistant(
        self,
        number: int,
        text: str,
        extra: dict[str, Any],
        tool_calls: Any,
        time_ms: float | None,
    ) -> None:
        commands = _commands(extra.get("actions")) or _called(tool_calls) or _fenced(text)
        self._waiting = []
        if not commands:
            if text.strip():
                self._feed(Answer(text=text, line=number, at_ms=time_ms))
            return
        for place, (command, call_id) in enumerate(commands):
            if _SUBMIT.search(command.split("\n", 1)[0]):
                self._feed(Answer(text=text, line=number, at_ms=time_ms, final=True))
                return
            name = call_id or f"message {number}.{place}"
            self._waiting.append(name)
            self._feed(
                Call(
                    call_id=name,
                    tool="bash",
                    arguments={"command": command},
                    line=number,
                    at_ms=time_ms,
                    batch=f"message {number}",
                )
            )

    def _observation(
        self,
        number: int,
        message: dict[str, Any],
        text: str,
        extra: dict[str, Any],
        time_ms: float | None,
    ) -> None:
        named = message.get("tool_call_id")
        name = named if isinstance(named, str) and named in self._waiting else self._waiting[0]
        self._waiting.remove(name)
        self._feed(
            Result(
                call_id=name,
                line=number,
                outcome=_outcome(text, extra),
                at_ms=time_ms,
                body=_output(text, extra),
            )
        )


def _commands(actions: Any) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = []
    for action in actions if isinstance(actions, list) else []:
        command = action.get("command") if isinstance(action, Mapping) else action
        if isinstance(command, str) and command.strip():
            call_id = action.get("tool_call_id") if isinstance(action, Mapping) else None
            found.append((command.strip(), call_id if isinstance(call_id, str) else None))
    return found


def _called(tool_calls: Any) -> list[tuple[str, str | None]]:
    """Commands of tool calls, in logs that keep the calls and not the actions."""
    found: list[tuple[str, str | None]] = []
    for call in tool_calls if isinstance(tool_calls, list) else []:
        function = call.get("function") if isinstance(call, Mapping) else None
        arguments = function.get("arguments") if isinstance(function, Mapping) else None
        inner = inner_json(arguments) if isinstance(arguments, str) else arguments
        command = inner.get("command") if isinstance(inner, Mapping) else None
        if isinstance(command, str) and command.strip():
            call_id = call.get("id")
            found.append((command.strip(), call_id if isinstance(call_id, str) else None))
    return found


def _fenced(text: str) -> list[tuple[str, str | None]]:
    blocks = re.findall(r"```(?:bash|sh|mswea_bash_command)\s*\n(.*?)\n?```", text, re.DOTALL)
    return [(block.strip(), None) for block in blocks[:1] if block.strip()]


def _outcome(text: str, extra: dict[str, Any]) -> Outcome:
    code = extra.get("returncode")
    if isinstance(code, int) and not isinstance(code, bool):
        raw = extra.get("raw_output")
        said = raw if isinstance(raw, str) else text
        exception = str(extra.get("exception_info") or "")
        timed_out = code != 0 and ("timed out" in exception or "TimeoutExpired" in exception)
        error = first_line(exception or said) if code else None
        return Outcome(ok=code == 0, exit_code=code, timed_out=timed_out, error=error)
    read = outcome_from_text(text)
    if "timed out and has been killed" in text[:400]:
        return Outcome(ok=False, timed_out=True, error=first_line(text))
    if read.ok is False:
        output = re.sub(r"^\s*<returncode>-?\d+</returncode>\s*", "", text)
        return msgspec.structs.replace(read, error=first_line(output))
    return read


def _output(text: str, extra: dict[str, Any]) -> str:
    """Return what the command printed, without the tags around it."""
    raw = extra.get("raw_output")
    if isinstance(raw, str):
        return raw
    found = re.search(r"<output>\n?(.*?)\n?(?:</output>|\Z)", text, re.DOTALL)
    return found[1] if found else text


def _task(text: str) -> str:
    """Strip the instructions that the default template puts around the task."""
    found = re.match(
        r"\s*(?:Please solve this issue:\s*|<pr_description>\s*(?:Consider the following PR "
        r"description:\s*)?)(.*?)(?:\n\nYou can execute bash commands|</pr_description>)",
        text,
        re.DOTALL,
    )
    return found[1].strip() if found else text.strip()
