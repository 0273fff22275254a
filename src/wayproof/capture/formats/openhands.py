"""OpenHands: version 0 trajectories (an array of events) and version 1 events.

Version 0 pairs an observation with its action by ``cause``, version 1 by ``tool_call_id``;
an observation whose action is not in the log is nobody's result. Timestamps are naive.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from wayproof.capture.adapter import Format, Head, inner_json, is_document, text_of, word
from wayproof.capture.clock import at_ms
from wayproof.capture.injected import genuine
from wayproof.capture.lines import Source
from wayproof.capture.results import first_line, outcome_from_text
from wayproof.capture.session import Answer, Call, Failure, Outcome, Prompt, Result
from wayproof.capture.sessions import Session, Sessions

__all__ = ["FORMAT", "claims", "read"]

FORMAT = Format(
    name="openhands",
    title="OpenHands events",
    files="trajectory.json; output.jsonl of its evaluations; events of the agent SDK",
    versions="V0 (action / observation) and V1 (kind: ActionEvent / ObservationEvent)",
    sampled="2026-06",
    detected_by="events with kind ActionEvent and its like, or action / observation and source",
    fields={
        "first_contact": "native",
        "selected": "derived",
        "cwd": "derived",
        "wall_ms": "unknown",
        "elapsed_ms": "derived",
        "error": "native",
        "timed_out": "native",
        "prompt": "native",
        "subagent": "unknown",
        "version": "unknown",
    },
    limits=(
        "No durations: wall_ms is absent.",
        "The working directory is known only from a command's observation on.",
        "A delegate's own steps are not in the log.",
    ),
)

_any = msgspec.json.Decoder()


def claims(head: Head) -> bool:
    """Events as lines, as an array, or inside an evaluation's output."""
    if _events_like(head.records[:50]) or _events_like((head.elements or [])[:50]):
        return True
    return any(
        isinstance(record.get("history"), list) and _events_like(_flat(record["history"])[:20])
        for record in head.records[:3]
    )


def _events_like(records: list[Any]) -> bool:
    for record in records:
        if not isinstance(record, dict):
            continue
        kind = record.get("kind")
        if isinstance(kind, str) and (kind.endswith("Event") or "Observation" in kind):
            return True
        acts = [record.get("action"), record.get("observation")]
        if "source" in record and any(isinstance(one, str) for one in acts):
            return True
    return False


def _flat(history: list[Any]) -> list[Any]:
    """Old evaluations keep (action, observation) pairs."""
    return [one for item in history for one in (item if isinstance(item, list) else [item])]


def read(source: Source, sessions: Sessions) -> None:
    """Hand over one session, or one for each instance of an evaluation's output."""
    if _is_array(source):
        events: Any = source.document(_any)
        if isinstance(events, list):
            numbered = list(enumerate(events, start=1))
            _session(source, sessions, "openhands", numbered, None)
        return
    reader: _Reader | None = None
    for number, record in source.records(_any):
        if not isinstance(record, dict):
            source.bad(number, "not an object")
        elif isinstance(record.get("history"), list):
            instance = record.get("instance_id")
            name = instance if isinstance(instance, str) else f"line {number}"
            history = [(number, one) for one in _flat(record["history"])]
            _session(source, sessions, name, history, name)
        else:
            if reader is None:
                key = f"{source.name}\0openhands"
                reader = _Reader(source, sessions.of(key, prompts_logged=False))
            reader.take(number, record)


def _is_array(source: Source) -> bool:
    with source.open() as file:
        return is_document(source) or file.read(1 << 12).lstrip()[:1] == b"["


def _session(
    source: Source,
    sessions: Sessions,
    key: str,
    events: list[tuple[int, Any]],
    session_id: str | None,
) -> None:
    session = sessions.of(f"{source.name}\0{key}", prompts_logged=False)
    session.info.session_id = session_id
    reader = _Reader(source, session)
    for number, event in events:
        reader.take(number, event)


class _Reader:
    """Events of either version to neutral ones."""

    def __init__(self, source: Source, session: Session) -> None:
        self._source = source
        self._session = session
        self._cwd: str | None = None

    def take(self, number: int, event: Any) -> None:
        """Take one event."""
        if not isinstance(event, dict):
            self._source.bad(number, "not an object")
            return
        time_ms = at_ms(event.get("timestamp"))
        if isinstance(event.get("kind"), str):
            found = _v1(number, event, time_ms, self._cwd)
        elif "action" in event or "observation" in event:
            found = _v0(number, event, time_ms, self._cwd)
        else:
            self._source.bad(number, "neither an action nor an observation")
            return
        for one in found:
            if isinstance(one, Result) and one.cwd is not None:
                self._cwd = one.cwd
                if self._session.info.cwd is None:
                    self._session.info.cwd = one.cwd
            self._session.feed(one)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


# -- version 1 ------------------------------------------------------------------------

_NOTES = {"security_risk", "summary"}  # what the harness asks the model to add to an input


def _v1(
    number: int, event: dict[str, Any], time_ms: float | None, cwd: str | None
) -> Iterator[Any]:
    kind = event["kind"]
    if kind == "MessageEvent":
        message = _mapping(event.get("llm_message"))
        text = text_of(message.get("content"))
        if event.get("source") == "user":
            said = genuine(text)
            if said:
                yield Prompt(text=said, line=number, at_ms=time_ms)
        elif event.get("source") == "agent" and text.strip():
            yield Answer(text=text, line=number, at_ms=time_ms)
    elif kind == "ActionEvent":
        yield _v1_call(number, event, time_ms, cwd)
    elif kind in {"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"}:
        yield _v1_result(number, event, time_ms)
    elif kind == "ConversationErrorEvent":
        said = _text(event.get("detail")) or _text(event.get("code")) or "conversation error"
        yield Failure(error=first_line(said), line=number)


def _v1_call(number: int, event: dict[str, Any], time_ms: float | None, cwd: str | None) -> Call:
    action = _mapping(event.get("action"))
    call = _mapping(event.get("tool_call"))
    arguments: Any = call.get("arguments")
    if isinstance(arguments, str):
        arguments = inner_json(arguments)
    if not isinstance(arguments, dict):
        arguments = {key: one for key, one in action.items() if key != "kind"} or None
    if arguments is not None:
        arguments = {key: one for key, one in arguments.items() if key not in _NOTES}
    batch = _text(event.get("llm_response_id"))
    return Call(
        call_id=_text(event.get("tool_call_id")) or _text(event.get("id")) or f"line {number}",
        tool=_text(event.get("tool_name")) or _text(action.get("kind")) or "tool",
        arguments=arguments,
        line=number,
        at_ms=time_ms,
        batch=batch,
        cwd=cwd,
    )


def _v1_result(number: int, event: dict[str, Any], time_ms: float | None) -> Result:
    observation = _mapping(event.get("observation"))
    text = text_of(observation.get("content") or observation.get("output"))
    if event["kind"] == "AgentErrorEvent":
        text = _text(event.get("error")) or text
        outcome = outcome_from_text(text, ok=False)
    elif event["kind"] == "UserRejectObservation":
        outcome = Outcome(refused=True)
    else:
        outcome = _ended(observation, text)
    metadata = _mapping(observation.get("metadata"))
    return Result(
        call_id=_text(event.get("tool_call_id")) or _text(event.get("action_id")) or "",
        line=number,
        outcome=outcome,
        at_ms=time_ms,
        body=text,
        cwd=_text(metadata.get("working_dir")),
    )


def _ended(observation: Mapping[str, Any], text: str) -> Outcome:
    metadata = _mapping(observation.get("metadata"))
    code = observation.get("exit_code")
    if not isinstance(code, int) or isinstance(code, bool):
        code = metadata.get("exit_code")
    code = code if isinstance(code, int) and not isinstance(code, bool) and code != -1 else None
    suffix = _text(metadata.get("suffix")) or ""
    timed_out = observation.get("timeout") is True or (
        code is None and ("no new output after" in suffix or "timed out after" in suffix)
    )
    failed = observation.get("is_error") is True or code not in {None, 0} or timed_out
    # Nothing ran, so there is no exit status, and the log marks no error either.
    failed = failed or (code is None and text.startswith(_NOTHING_RAN))
    if failed:
        return Outcome(ok=False, exit_code=code, timed_out=timed_out, error=first_line(text))
    known = "is_error" in observation or code is not None
    return Outcome(ok=True if known else None, exit_code=code)


_NOTHING_RAN = "ERROR: Cannot execute multiple commands at once"

# -- version 0 ------------------------------------------------------------------------

_SILENT = {
    "recall", "system", "change_agent_state", "null", "condensation", "condensation_request",
    "pause", "resume", "start", "stop", "send_pr", "push", "loop_recovery",
}  # fmt: skip
_HARNESS_KEYS = {
    "thought", "hidden", "confirmation_state", "security_risk", "blocking", "keep_prompt",
    "is_static", "impl_source", "is_input", "wait_for_response", "image_urls", "file_urls",
}  # fmt: skip


def _v0(
    number: int, event: dict[str, Any], time_ms: float | None, cwd: str | None
) -> Iterator[Any]:
    args = _mapping(event.get("args"))
    action = event.get("action")
    if isinstance(action, str):
        if action == "message":
            yield from _v0_message(number, event, args, time_ms)
        elif action in {"finish", "reject"}:
            text = _text(args.get("final_thought")) or _text(event.get("message")) or ""
            yield Answer(text=text, line=number, at_ms=time_ms, final=True)
        elif action not in _SILENT and event.get("source") != "user":
            yield _v0_call(number, event, action, args, time_ms, cwd)
    elif isinstance(event.get("observation"), str) and event.get("cause") is not None:
        yield _v0_result(number, event, time_ms)
    elif event.get("observation") == "error":
        said = _text(event.get("content")) or "error"
        yield Failure(error=first_line(said), line=number)


def _v0_message(
    number: int, event: dict[str, Any], args: Mapping[str, Any], time_ms: float | None
) -> Iterator[Any]:
    text = _text(args.get("content")) or _text(event.get("message")) or ""
    if event.get("source") == "user":
        said = genuine(text)
        if said:
            yield Prompt(text=said, line=number, at_ms=time_ms)
    elif text.strip():
        yield Answer(text=text, line=number, at_ms=time_ms)


def _v0_call(
    number: int,
    event: dict[str, Any],
    action: str,
    args: Mapping[str, Any],
    time_ms: float | None,
    cwd: str | None,
) -> Call:
    metadata = _mapping(event.get("tool_call_metadata"))
    name, arguments = _asked(metadata)
    if name is None:
        name = "execute_bash" if action == "run" else action
        arguments = {
            key: one
            for key, one in args.items()
            if key not in _HARNESS_KEYS and one not in (None, "")
        }
        if action == "edit" and word(args.get("command")) in {"view", "create", "str_replace",
                                                        "insert", "undo_edit"}:  # fmt: skip
            name = "str_replace_editor"
    response = _mapping(metadata.get("model_response"))
    return Call(
        call_id=_event_id(event.get("id"), number),
        tool=name,
        arguments=arguments,
        line=number,
        at_ms=time_ms,
        batch=_text(response.get("id")),
        cwd=cwd,
    )


def _asked(metadata: Mapping[str, Any]) -> tuple[str | None, dict[str, Any] | None]:
    """Return the tool call as the model made it, where the log keeps that."""
    name, call_id = _text(metadata.get("function_name")), metadata.get("tool_call_id")
    response = _mapping(metadata.get("model_response"))
    choices = response.get("choices")
    for choice in choices if isinstance(choices, list) else []:
        calls = _mapping(_mapping(choice).get("message")).get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            function = _mapping(_mapping(call).get("function"))
            arguments = inner_json(function.get("arguments"))
            if _mapping(call).get("id") == call_id and isinstance(arguments, dict):
                clean = {key: one for key, one in arguments.items() if key not in _NOTES}
                return _text(function.get("name")) or name, clean
    return None, None


def _event_id(value: Any, number: int) -> str:
    return str(value) if isinstance(value, (int, str)) else f"line {number}"


def _v0_result(number: int, event: dict[str, Any], time_ms: float | None) -> Result:
    extras = _mapping(event.get("extras"))
    metadata = _mapping(extras.get("metadata"))
    text = _text(event.get("content")) or ""
    kind = event.get("observation")
    if kind == "user_rejected":
        outcome = Outcome(refused=True)
    elif kind == "error":
        outcome = outcome_from_text(text, ok=False)
    elif kind == "run":
        outcome = _ended({"exit_code": extras.get("exit_code"), "metadata": metadata}, text)
    else:
        failed = text.startswith(("ERROR:", "Error:")) or extras.get("error")
        outcome = outcome_from_text(text, ok=False) if failed else Outcome(ok=True)
    return Result(
        call_id=_event_id(event.get("cause"), number),
        line=number,
        outcome=outcome,
        at_ms=time_ms,
        body=text,
        cwd=_text(metadata.get("working_dir")),
    )
