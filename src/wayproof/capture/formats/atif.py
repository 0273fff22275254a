"""ATIF (Harbor's Agent Trajectory Interchange Format), versions 1.x.

A step of the agent holds tool calls and one observation with a result for each, paired by
``source_call_id``. Sub-agents are trajectories of their own: embedded, or in a file beside
the log that the result refers to.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from wayproof.capture.adapter import Format, Head, inner_json, text_of, used
from wayproof.capture.clock import at_ms
from wayproof.capture.injected import genuine
from wayproof.capture.lines import Source
from wayproof.capture.results import outcome_from_text
from wayproof.capture.session import MAIN_THREAD, Answer, Call, Outcome, Prompt, Result, Spawn
from wayproof.capture.sessions import Session, Sessions

__all__ = ["FORMAT", "claims", "read"]

FORMAT = Format(
    name="atif",
    title="ATIF trajectory (Harbor, Terminal-Bench)",
    files="trajectory.json",
    versions="ATIF-v1.0 to v1.7",
    sampled="none, from its specification",
    detected_by="schema_version ATIF-v1.x with steps",
    fields={
        "first_contact": "native",
        "selected": "derived",
        "cwd": "unknown",
        "wall_ms": "unknown",
        "elapsed_ms": "derived",
        "error": "derived",
        "timed_out": "derived",
        "prompt": "native",
        "subagent": "native",
        "version": "native",
    },
    limits=(
        (
            "No error flag, duration or working directory: failures are read from the tool's own "
            "phrases, and a result without one counts as neither good nor bad."
        ),
    ),
)

_any = msgspec.json.Decoder()


def claims(head: Head) -> bool:
    """Tell a document that names its schema, or one of the same shape without the name."""
    version = head.member("schema_version")
    if isinstance(version, str) and version.upper().startswith("ATIF"):
        return True
    steps = head.member("steps") if head.has("steps", "agent") else None
    if not isinstance(steps, list):
        return False
    return any(isinstance(step, dict) and "source" in step for step in steps[:5])


def read(source: Source, sessions: Sessions) -> None:
    """Hand over the one session of a trajectory."""
    log: Any = source.document(_any)
    if log is None:
        return
    if not isinstance(log, dict) or not isinstance(log.get("steps"), list):
        source.bad(1, "no list of steps")
        return
    session = sessions.of(f"{source.name}\0atif")
    _describe(log, session)
    for part, file in _parts(source, log):
        if part is not source:
            session.info.parts.append(part.name)
        _Steps(part, session, file).take(file["steps"], MAIN_THREAD, depth=0)


_MAX_PARTS = 100


def _parts(source: Source, log: dict[str, Any]) -> Iterator[tuple[Source, dict[str, Any]]]:
    """Yield a trajectory and the files beside it that go on with it."""
    done = {source.path}
    part = source
    for _ in range(_MAX_PARTS):
        yield part, log
        path = _named_beside(source, log.get("continued_trajectory_ref"))
        if path is None or path in done:
            return
        done.add(path)
        shown = str(Path(source.name).parent / path.name)
        part = Source(path, name=shown, problems=source.problems)
        following: Any = part.document(_any)
        if not isinstance(following, dict) or not isinstance(following.get("steps"), list):
            part.bad(1, "no list of steps")
            return
        log = following


def _named_beside(source: Source, name: Any) -> Path | None:
    """Return a file in the log's own folder; nothing outside it is opened."""
    if not isinstance(name, str) or not name or "\0" in name:
        return None
    path = source.path.parent / PurePosixPath(name.replace("\\", "/")).name
    return path if path.is_file() else None


def _describe(log: Mapping[str, Any], session: Session) -> None:
    names = (log.get("session_id"), log.get("trajectory_id"))
    session.info.session_id = next((one for one in names if isinstance(one, str) and one), None)
    agent = log.get("agent")
    if isinstance(agent, dict):
        named = [agent.get("name"), agent.get("version")]
        session.info.agent_version = " ".join(one for one in named if isinstance(one, str)) or None
        extra = agent.get("extra")
        cwd = extra.get("cwd") if isinstance(extra, dict) else None
        session.info.cwd = cwd if isinstance(cwd, str) and cwd else None
    steps = log.get("steps")
    prompts = isinstance(steps, list) and any(
        isinstance(step, dict) and step.get("source") == "user" for step in steps
    )
    session.info.prompts_logged = prompts


class _Steps:
    """Steps of a trajectory, and of those it refers to; line numbers are step numbers."""

    def __init__(self, source: Source, session: Session, log: Mapping[str, Any]) -> None:
        self._source = source
        self._session = session
        self._embedded = {
            key: child
            for child in _mappings(log.get("subagent_trajectories"))
            for key in (child.get("trajectory_id"), child.get("session_id"))
            if isinstance(key, str)
        }

    def take(self, steps: Any, thread: str, *, depth: int) -> None:
        """Hand over the events of some steps."""
        for number, step in enumerate(steps if isinstance(steps, list) else [], start=1):
            if not isinstance(step, dict):
                self._source.bad(1, f"step {number} is not an object")
                continue
            if step.get("is_copied_context") is True:
                continue  # it belongs to where it first happened
            self._step(number, step, thread, depth)

    def _step(self, number: int, step: dict[str, Any], thread: str, depth: int) -> None:
        time_ms = at_ms(step.get("timestamp"))
        text = text_of(step.get("message"))
        origin = step.get("source")
        feed = self._session.feed
        if origin == "user":
            said = genuine(text) if thread == MAIN_THREAD else text
            if said:
                feed(Prompt(text=said, line=number, at_ms=time_ms, thread=thread))
        elif origin == "agent":
            if text.strip() and not _spoken(text).get("commands"):
                feed(Answer(text=text, line=number, at_ms=time_ms, thread=thread))
            calls = list(_calls(step, number, time_ms, thread)) or list(
                _spoken_calls(text, number, time_ms, thread)
            )
            for call in calls:
                feed(call)
            self._results(number, step, calls, thread, depth)
            counts = step.get("metrics")
            names = ("prompt_tokens", "cached_tokens", "completion_tokens")
            if isinstance(counts, dict):
                usage = used(number, counts, names, at_ms=time_ms, thread=thread)
                if usage is not None:
                    feed(usage)

    def _results(
        self, number: int, step: dict[str, Any], calls: list[Call], thread: str, depth: int
    ) -> None:
        observation = step.get("observation")
        results = observation.get("results") if isinstance(observation, dict) else None
        names = [call.call_id for call in calls]
        found = list(_mappings(results))
        for result in found:
            named = result.get("source_call_id")
            if not isinstance(named, str):
                if len(names) != 1 or len(found) != 1:
                    continue  # whose result it is, nobody knows
                named = names[0]
            child = self._child(result, named, depth)
            body = text_of(result.get("content"))
            outcome = outcome_from_text(body)
            self._session.feed(
                Result(
                    call_id=named,
                    line=number,
                    outcome=outcome,
                    thread=thread,
                    body=body,
                    child=child,
                )
            )
            names = [name for name in names if name != named]
        if found and not any("source_call_id" in one for one in found):
            for name in names:
                self._session.feed(
                    Result(call_id=name, line=number, outcome=Outcome(), thread=thread)
                )

    def _child(self, result: Mapping[str, Any], call_id: str, depth: int) -> str | None:
        """Hand over the trajectories that a result refers to; return the first one's thread."""
        first: str | None = None
        for ref in _mappings(result.get("subagent_trajectory_ref")):
            keys = [ref.get("trajectory_id"), ref.get("session_id"), ref.get("trajectory_path")]
            name = next((key for key in keys if isinstance(key, str) and key), None)
            if name is None or depth >= 8:
                continue
            child, file = self._embedded.get(name), None
            if child is None:
                child, file = self._beside(ref.get("trajectory_path"))
            if child is not None:
                self._session.feed(Spawn(child=name, line=0, parent_call=call_id, file=file))
                self.take(child.get("steps"), name, depth=depth + 1)
                first = first or name
        return first

    def _beside(self, path: Any) -> tuple[Mapping[str, Any] | None, str | None]:
        """Read a trajectory file in the log's own folder; nothing outside it is opened."""
        if not isinstance(path, str) or not path:
            return None, None
        file = self._source.path.parent / PurePosixPath(path.replace("\\", "/")).name
        if "\0" in path or not file.is_file() or file == self._source.path:
            return None, None
        shown = str(Path(self._source.name).parent / file.name)
        child: Any = Source(file, name=shown, problems=self._source.problems).document(_any)
        return (child, shown) if isinstance(child, dict) else (None, None)


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
    elif isinstance(value, list):
        yield from (one for one in value if isinstance(one, Mapping))


def _spoken(text: str) -> Mapping[str, Any]:
    """Return a message that is the model's raw response: an analysis, a plan, commands."""
    if text.lstrip()[:1] != "{":
        return {}
    said = inner_json(text)
    return said if isinstance(said, Mapping) and isinstance(said.get("commands"), list) else {}


def _spoken_calls(text: str, number: int, time_ms: float | None, thread: str) -> Iterator[Call]:
    for place, command in enumerate(_mappings(_spoken(text).get("commands"))):
        if isinstance(command.get("keystrokes"), str):
            yield Call(
                call_id=f"step {number}.{place}",
                tool="bash_command",
                arguments={"keystrokes": command["keystrokes"]},
                line=number,
                at_ms=time_ms,
                thread=thread,
                batch=f"step {number}.{place}",
            )


def _calls(step: dict[str, Any], number: int, time_ms: float | None, thread: str) -> Iterator[Call]:
    for place, call in enumerate(_mappings(step.get("tool_calls"))):
        name, call_id = call.get("function_name"), call.get("tool_call_id")
        arguments = call.get("arguments")
        if isinstance(arguments, str):
            inner = inner_json(arguments)
            arguments = inner if isinstance(inner, dict) else arguments
        yield Call(
            call_id=call_id if isinstance(call_id, str) and call_id else f"step {number}.{place}",
            tool=name if isinstance(name, str) and name else "tool",
            arguments=arguments if isinstance(arguments, (dict, str)) else None,
            line=number,
            at_ms=time_ms,
            thread=thread,
            batch=f"step {number}",
        )
