"""SWE-agent ``.traj`` files: ``trajectory`` steps, or only ``history`` messages.

An action is a line of text for SWE-agent's own shell: either one of its commands
(``open``, ``find_file``, ``edit`` …) or bash. The state says the working directory: in old
files (a JSON string) as it was before the action, in newer ones (an object) after it.
Demonstrations in the history are somebody else's run and are left out.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from wayproof.capture.adapter import ABSENT, Format, Head, decoded, inner_json, text_of
from wayproof.capture.lines import Source
from wayproof.capture.results import first_line, outcome_from_text
from wayproof.capture.session import Answer, Call, Failure, Outcome, Prompt, Result
from wayproof.capture.sessions import Session, Sessions

__all__ = ["FORMAT", "claims", "read"]

FORMAT = Format(
    name="swe-agent",
    title="SWE-agent trajectory",
    files="trajectories/**/*.traj",
    versions="0.x (state as a string) and 1.x (state as an object, execution_time)",
    sampled="undated",
    detected_by="trajectory with action and observation, or history with agent and role",
    fields={
        "first_contact": "native",
        "selected": "derived",
        "cwd": "native",
        "wall_ms": "native",
        "elapsed_ms": "unknown",
        "error": "derived",
        "timed_out": "derived",
        "prompt": "native",
        "subagent": "unknown",
        "version": "unknown",
    },
    limits=(
        "No timestamps: elapsed_ms is absent. Old files have no execution_time either.",
        "Whether an action failed is read from its observation.",
    ),
)


class _Step(msgspec.Struct):
    action: str | None = None
    observation: Raw = ABSENT
    state: Raw = ABSENT
    execution_time: float | None = None
    thought: str | None = None
    response: Raw = ABSENT


class _Message(msgspec.Struct):
    role: str | None = None
    content: Raw = ABSENT
    action: Raw = ABSENT
    thought: Raw = ABSENT
    message_type: str | None = None
    is_demo: bool | None = None
    tool_calls: Raw = ABSENT


class _Log(msgspec.Struct):
    trajectory: list[_Step] | None = None
    history: list[_Message] | None = None
    info: Raw = ABSENT
    environment: Raw = ABSENT
    replay_config: Raw = ABSENT


_log = msgspec.json.Decoder(_Log)

_FAILURES = re.compile(
    r"^(?:File \S+ not found|Error: |No matches found|Your proposed edit has introduced"
    r"|bash: .*: command not found|.*: No such file or directory|Usage: |Invalid `path`"
    r"|The path .* does not exist|Your command ran .*timed? ?out|EXECUTION TIMED OUT"
    r"|The command .* was cancelled because it took more than|No file open(?:ed)?\b"
    r"|Your edit was not applied|Your search and replace strings are the same"
    r"|No replacement was performed|Parameter `\w+` is required for command)",
    re.IGNORECASE,
)
_NO_MATCH = re.compile(r"^No matches found", re.IGNORECASE)
_TIMED_OUT = re.compile(
    r"^(?:EXECUTION TIMED OUT|.*cancelled because it took more than)", re.IGNORECASE
)


def claims(head: Head) -> bool:
    """Tell a document with a trajectory of actions, or SWE-agent's history alone."""
    if head.has("trajectory"):
        steps = head.member("trajectory")
        if isinstance(steps, list):
            return not steps or (isinstance(steps[0], dict) and "action" in steps[0])
    if head.has("history") and not head.has("messages"):
        messages = head.member("history")
        return isinstance(messages, list) and any(
            isinstance(one, dict) and "role" in one for one in messages[:5]
        )
    return False


def read(source: Source, sessions: Sessions) -> None:
    """Hand over the one session of a trajectory."""
    log = source.document(_log)
    if log is None:
        return
    session = sessions.of(f"{source.name}\0swe-agent", prompts_logged=False)
    _describe(log, session)
    for text in _prompt(log.history or []):
        session.feed(Prompt(text=text, line=1))
    if log.trajectory:
        _Steps(session).take(log.trajectory)
    else:
        _from_history(log.history or [], session)
    _ended(decoded(log.info), session)


def _describe(log: _Log, session: Session) -> None:
    info = decoded(log.info)
    config = decoded(log.replay_config)
    for value in (config, info):
        if isinstance(value, Mapping):
            statement = value.get("problem_statement")
            if isinstance(statement, Mapping) and isinstance(statement.get("id"), str):
                session.info.session_id = statement["id"]
            version = value.get("swe_agent_version")
            if isinstance(version, str):
                session.info.agent_version = version


def _prompt(history: list[_Message]) -> Iterator[str]:
    """Yield the first user message that is no demonstration."""
    for message in history:
        if message.role == "user" and not message.is_demo:
            text = text_of(decoded(message.content))
            if text.strip():
                yield text
                return


def _folder(state: Any) -> tuple[str | None, bool]:
    """Return the working directory of a state and whether the state is of the old kind."""
    old = isinstance(state, str)
    if old:
        state = inner_json(state)
    folder = state.get("working_dir") if isinstance(state, Mapping) else None
    return (folder if isinstance(folder, str) and folder != "n/a" else None), old


class _Steps:
    """Trajectory steps to events."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def take(self, steps: list[_Step]) -> None:
        """Hand over every step; the line numbers are step numbers from 1."""
        before: str | None = None
        for number, step in enumerate(steps, start=1):
            folder, old = _folder(decoded(step.state))
            start = folder if old or before is None else before
            if self._session.info.cwd is None:
                self._session.info.cwd = start
            before = folder or before
            action = (step.action or "").strip()
            observation = text_of(decoded(step.observation))
            if action:
                _act(self._session, number, action, observation, start, _ms(step.execution_time))
            elif step.thought or observation:
                text = step.thought or observation
                self._session.feed(Answer(text=text, line=number))


def _ms(seconds: float | None) -> float | None:
    return round(seconds * 1000, 3) if seconds is not None and 0 <= seconds < 1e9 else None


def _act(
    session: Session,
    number: int,
    action: str,
    observation: str,
    folder: str | None,
    duration_ms: float | None,
) -> None:
    tool, arguments = called(action)
    call_id = f"step {number}"
    session.feed(
        Call(call_id=call_id, tool=tool, arguments=arguments, line=number, typed=action, cwd=folder)
    )
    outcome = _outcome(observation, duration_ms)
    session.feed(Result(call_id=call_id, line=number, outcome=outcome, body=observation))


def _outcome(observation: str, duration_ms: float | None) -> Outcome:
    start = observation.lstrip()[:500]
    if _NO_MATCH.match(start) or not _FAILURES.match(start):
        read = outcome_from_text(observation)
        ok = read.ok if read.ok is not None else True
        return msgspec.structs.replace(read, ok=ok, duration_ms=duration_ms)
    return Outcome(
        ok=False,
        timed_out=_TIMED_OUT.match(start) is not None,
        duration_ms=duration_ms,
        error=first_line(observation),
    )


_READERS = {"open", "goto", "scroll_up", "scroll_down"}
_SEARCHERS = {"search_file", "search_dir", "find_file"}
_WRITERS = {"create", "edit", "insert", "append", "undo_edit"}
_ENDERS = {"submit", "exit", "exit_cost", "exit_context", "exit_format", "exit_error", "skip",
           "exit_forfeit", "review_on_submit"}  # fmt: skip


def called(action: str) -> tuple[str, Any]:
    """Return (tool, arguments) of an action line; anything but SWE-agent's own is bash."""
    name = action.split(None, 1)[0] if action.split() else ""
    if name in _ENDERS:
        return "submit", {}
    if name in _WRITERS:
        return "edit", {"text": action}
    if name == "open" or name in _SEARCHERS:
        return name, _operands(name, action)
    if name in _READERS:
        return name, _goto(action) if name == "goto" else {}
    if name == "str_replace_editor":
        return name, _editor(action)
    return "bash", {"command": action}


def _words(action: str) -> list[str]:
    try:
        return shlex.split(action.split("\n", 1)[0])
    except ValueError:
        return action.split("\n", 1)[0].split()


def _operands(name: str, action: str) -> dict[str, Any]:
    words = _words(action)[1:]
    if name == "open" and words:
        found: dict[str, Any] = {"path": words[0]}
        if len(words) > 1 and words[1].isdigit():
            found["line_number"] = int(words[1])
        return found
    return {"query": " ".join(words)}


def _goto(action: str) -> dict[str, Any]:
    words = _words(action)[1:]
    return {"line_number": int(words[0])} if words and _NUMBER.fullmatch(words[0]) else {}


_NUMBER = re.compile(r"[0-9]{1,9}")


def _editor(action: str) -> dict[str, Any]:
    words = _words(action)[1:]
    found: dict[str, Any] = {"command": words[0] if words else ""}
    if len(words) > 1:
        found["path"] = words[1]
    view = re.search(r"--view_range\s+\[?(\d+)[,\s]+(-?\d+)", action)
    if view:
        found["view_range"] = [int(view[1]), int(view[2])]
    return found


def _from_history(history: list[_Message], session: Session) -> None:
    """Actions stand in the assistant's messages, observations in the messages behind them."""
    number = 0
    waiting: tuple[int, str] | None = None
    folder: str | None = None
    for message in history:
        if message.is_demo:
            continue
        text = text_of(decoded(message.content))
        if message.role == "assistant":
            number += 1
            action = decoded(message.action)
            action = action if isinstance(action, str) else _fenced(text)
            if action and action.strip():
                waiting = (number, action.strip())
            elif text.strip():
                session.feed(Answer(text=text, line=number))
        elif waiting is not None and message.role in {"user", "tool"}:
            found = re.search(r"\(Current directory: ([^)\n]+)\)", text)
            _act(session, waiting[0], waiting[1], text, folder, None)
            folder = found[1] if found else folder
            waiting = None
        else:
            found = re.search(r"\(Current directory: ([^)\n]+)\)", text)
            folder = found[1] if found else folder
            if session.info.cwd is None:
                session.info.cwd = folder
    if waiting is not None:
        tool, arguments = called(waiting[1])
        session.feed(Call(call_id=f"step {waiting[0]}", tool=tool, arguments=arguments,
                         line=waiting[0], typed=waiting[1], cwd=folder))  # fmt: skip


def _fenced(text: str) -> str | None:
    blocks = re.findall(r"```[a-z]*\n(.*?)\n?```", text, re.DOTALL)
    return blocks[-1] if blocks else None


def _ended(info: Any, session: Session) -> None:
    status = info.get("exit_status") if isinstance(info, Mapping) else None
    if isinstance(status, str) and status and not status.startswith("submitted"):
        session.feed(Failure(error=status, line=0, timed_out="time" in status))
