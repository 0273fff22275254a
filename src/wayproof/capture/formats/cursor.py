"""Cursor's command line: ``cursor-agent -p --output-format stream-json``.

A call is a line when it starts and a line when it is complete. Its tool is the key that
ends in ``ToolCall`` inside ``tool_call``; results say ``success``, ``failure``, ``error``
or ``rejected``. Calls of one ``model_call_id`` ran side by side.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from wayproof.capture.adapter import Format, Head, text_of, word
from wayproof.capture.clock import at_ms
from wayproof.capture.formats.loose import arguments_of, joined, mapping, mappings, number
from wayproof.capture.injected import genuine
from wayproof.capture.lines import Source
from wayproof.capture.results import first_line, outcome_from_text
from wayproof.capture.session import Answer, Call, Failure, Named, Outcome, Prompt, Result
from wayproof.capture.sessions import Session, Sessions

__all__ = ["FORMAT", "claims", "read"]

FORMAT = Format(
    name="cursor",
    title="Cursor CLI stream",
    files="the standard output of cursor-agent -p --output-format stream-json",
    versions="the shape of the vendor's page and of public captures, 2025-10 to 2026-09",
    detected_by="tool_call lines with a …ToolCall object; a system line with apiKeySource alone",
    fields={
        "first_contact": "native",
        "selected": "native",
        "cwd": "native",
        "wall_ms": "native",
        "elapsed_ms": "derived",
        "error": "native",
        "timed_out": "derived",
        "prompt": "native",
        "subagent": "unknown",
        "version": "unknown",
    },
    limits=(
        (
            "What a sub-agent does is not in the stream: a route that delegates first has no first "
            "contact."
        ),
        (
            "Durations are there where the tool logs executionTime, or start and end of the call; "
            "older versions have neither."
        ),
        (
            "No real file was at hand: fields are those of the vendor's page and of lines quoted "
            "in public repositories. Of a time-out only the name is known."
        ),
    ),
    sampled="2026-09",
    sources=(
        "cursor.com/docs/cli/reference/output-format",
        "github.com/reifying/cursor-hack, docs/stream-json-events.md",
        "lines of tool calls quoted in tests of public repositories, 2025-10 to 2026-09",
    ),
)

_line = msgspec.json.Decoder(dict[str, Any])


def claims(head: Head) -> bool:
    """Tell a call's line, or the first line of a stream without calls."""
    for record in head.records[:100]:
        kind, subtype = word(record.get("type")), word(record.get("subtype"))
        if kind == "tool_call" and subtype in {"started", "completed"}:
            return isinstance(record.get("tool_call"), Mapping)
        if kind == "system" and subtype == "init" and "apiKeySource" in record:
            return "tools" not in record and "uuid" not in record
    return False


def read(source: Source, sessions: Sessions) -> None:
    """Hand over one session for each ``session_id``."""
    reader = _Reader(source, sessions)
    for line, record in source.records(_line):
        reader.take(line, record)


class _Reader:
    def __init__(self, source: Source, sessions: Sessions) -> None:
        self._source = source
        self._sessions = sessions
        self._session_id = ""
        self._open: dict[str, str] = {}
        self._calls = 0

    def take(self, line: int, record: dict[str, Any]) -> None:
        """Take one line."""
        kind = record.get("type")
        if not isinstance(kind, str):
            self._source.bad(line, "an object without a type")
            return
        self._session_id = word(record.get("session_id")) or self._session_id
        if kind == "system":
            self._describe(record)
        elif kind in {"user", "assistant"}:
            self._said(line, kind, record)
        elif kind == "tool_call":
            self._tool(line, record)
        elif kind == "error" or (kind == "result" and record.get("is_error")):
            said = word(record.get("result")) or word(record.get("message")) or kind
            self._session().feed(Failure(error=first_line(said), line=line))

    def _session(self, *, prompted: bool = False) -> Session:
        key = f"{self._source.name}\0{self._session_id}"
        if key in self._sessions:
            return self._sessions.of(key)
        session = self._sessions.of(key, prompts_logged=prompted)
        session.info.session_id = self._session_id or None
        return session

    def _describe(self, record: Mapping[str, Any]) -> None:
        if record.get("subtype") == "init":
            session = self._session(prompted=True)
            session.info.cwd = word(record.get("cwd")) or session.info.cwd

    def _said(self, line: int, kind: str, record: Mapping[str, Any]) -> None:
        text = text_of(mapping(record.get("message")).get("content"))
        time_ms = at_ms(record.get("timestamp_ms"))
        if kind == "user":
            said = genuine(text)
            if said:
                self._session(prompted=True).feed(Prompt(text=said, line=line, at_ms=time_ms))
        elif text.strip():
            self._session().feed(Answer(text=text, line=line, at_ms=time_ms))

    def _tool(self, line: int, record: Mapping[str, Any]) -> None:
        session = self._session()
        if not session.listens():
            return
        call = mapping(record.get("tool_call"))
        tool, body = _named_tool(call)
        if not tool:
            self._source.bad(line, "a tool call without a tool")
            return
        name = word(record.get("call_id")) or word(call.get("toolCallId")) or tool
        time_ms = at_ms(record.get("timestamp_ms"))
        if record.get("subtype") == "started" or name not in self._open:
            self._calls += 1
            self._open[name] = f"{self._calls}:{name}"  # ids may begin anew
            batch = word(record.get("model_call_id"))
            session.feed(_call(self._open[name], tool, body, line, time_ms, batch))
        if record.get("subtype") == "completed":
            call_id = self._open.pop(name)
            session.feed(
                Result(
                    call_id=call_id,
                    line=line,
                    outcome=_outcome(call, body),
                    at_ms=time_ms,
                    files=_files(tool, body),
                    body=_text(mapping(body.get("result"))),
                )
            )


_KIND_END = "ToolCall"
_OWN_NAMES = {
    "mcp": "mcp", "delete": "delete_file", "semSearch": "semantic_search", "listDir": "list_dir",
    "updateTodos": "update_todos", "readTodos": "todo_read", "createPlan": "update_plan",
    "askQuestion": "ask_questions", "switchMode": "switch_mode", "multiEdit": "multi_edit",
}  # fmt: skip


def _named_tool(call: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return a call's tool and the object that says more; an empty name where there is none."""
    for key, body in call.items():
        if key.endswith(_KIND_END) and isinstance(body, dict):
            kind = key.removesuffix(_KIND_END)
            if kind == "mcp":
                return _mcp_name(mapping(body.get("args"))), body
            return _OWN_NAMES.get(kind, kind), body
    function = call.get("function")
    if isinstance(function, Mapping):
        return word(function.get("name")) or "function", function
    return "", {}


def _mcp_name(args: Mapping[str, Any]) -> str:
    server = word(args.get("serverIdentifier")) or word(args.get("providerIdentifier"))
    tool = word(args.get("toolName")) or word(args.get("name")) or "tool"
    return f"mcp__{server or 'unknown'}__{tool}"


def _call(
    call_id: str,
    tool: str,
    body: Mapping[str, Any],
    line: int,
    time_ms: float | None,
    batch: str,
) -> Call:
    given = body.get("args") if "args" in body else body.get("arguments")
    arguments = arguments_of(given)
    if isinstance(arguments, Mapping):
        inner = arguments.get("args")
        if tool.startswith("mcp__"):
            arguments = inner if isinstance(inner, dict) else None
        else:
            arguments = {key: one for key, one in arguments.items() if key not in _PRIVATE}
    folder = mapping(given).get("workingDirectory")
    return Call(
        call_id=call_id,
        tool=tool,
        arguments=arguments,
        line=line,
        at_ms=time_ms,
        batch=batch or None,
        cwd=folder if isinstance(folder, str) and folder else None,
    )


# Said by the program about the call, not by the model.
_PRIVATE = frozenset({
    "toolCallId", "simpleCommands", "parsingResult", "hasInputRedirect", "hasOutputRedirect",
    "isBackground", "timeoutBehavior", "fileOutputThresholdBytes", "requestedSandboxPolicy",
    "smartModeApproval", "conversationId", "hardTimeout",
})  # fmt: skip


# -- results --------------------------------------------------------------------------


def _outcome(call: Mapping[str, Any], body: Mapping[str, Any]) -> Outcome:
    result = mapping(body.get("result"))
    duration_ms = _duration_ms(call, result)
    if "rejected" in result or "permissionDenied" in result:
        return Outcome(refused=True, duration_ms=duration_ms)
    code = _exit_code(result)
    if "timeout" in result:
        return Outcome(ok=False, timed_out=True, duration_ms=duration_ms, error="timed out")
    if "error" in result or "failure" in result or code not in {None, 0}:
        read = outcome_from_text(_text(result) or "failed without a message", ok=False)
        return msgspec.structs.replace(read, exit_code=code, duration_ms=duration_ms)
    if "success" not in result:
        return Outcome(ok=None, duration_ms=duration_ms)
    if mapping(result["success"]).get("isError") is True:
        return Outcome(ok=False, duration_ms=duration_ms, error=first_line(_text(result)))
    return Outcome(ok=True, exit_code=code, duration_ms=duration_ms)


def _exit_code(result: Mapping[str, Any]) -> int | None:
    for key in ("success", "failure"):
        code = mapping(result.get(key)).get("exitCode")
        if isinstance(code, int) and not isinstance(code, bool):
            return code
    return None


def _duration_ms(call: Mapping[str, Any], result: Mapping[str, Any]) -> float | None:
    for key in ("success", "failure"):
        ran_ms = number(mapping(result.get(key)).get("executionTime"))
        if ran_ms is not None and ran_ms >= 0:
            return ran_ms
    start_ms, end_ms = number(call.get("startedAtMs")), number(call.get("completedAtMs"))
    if start_ms is None or end_ms is None or end_ms < start_ms:
        return None
    return end_ms - start_ms


def _text(result: Mapping[str, Any]) -> str:
    for key in ("success", "failure", "error"):
        said = result.get(key)
        if isinstance(said, str):
            return said
        if not isinstance(said, dict):
            continue
        found = [said[name] for name in _TEXTS if isinstance(said.get(name), str) and said[name]]
        text = "\n".join(found) if found else _content(said.get("content"))
        if text:
            return text
    return ""


_TEXTS = ("stdout", "stderr", "output", "content", "message", "errorMessage", "error")


def _content(content: Any) -> str:
    """Return the text of an MCP result: blocks whose text may stand one level deeper."""
    return text_of([one.get("text", one) for one in mappings(content)])


def _files(tool: str, body: Mapping[str, Any]) -> tuple[Named, ...] | None:
    """Return the files that a search or a listing names in fields; None where it has none."""
    found = mapping(mapping(body.get("result")).get("success"))
    args = mapping(body.get("args"))
    if tool == "glob" and isinstance(found.get("files"), list):
        folder = found.get("path") or args.get("targetDirectory") or args.get("path")
        names = (joined(folder, one) for one in found["files"] if isinstance(one, str))
        return tuple(Named("listed", name) for name in names)
    if tool == "grep" and isinstance(found.get("workspaceResults"), Mapping):
        return tuple(Named("matched", name) for name in _matched(found["workspaceResults"]))
    if tool in {"ls", "list_dir"} and isinstance(found.get("directoryTreeRoot"), Mapping):
        return tuple(Named("listed", name) for name in _tree(found["directoryTreeRoot"]))
    return None


def _matched(results: Mapping[str, Any]) -> Iterator[str]:
    for folder, found in results.items():
        for mode in ("content", "files", "count"):
            inner = mapping(mapping(found).get(mode))
            for key in ("matches", "files", "counts"):
                listed = inner.get(key)
                for one in listed if isinstance(listed, list) else []:
                    name = one if isinstance(one, str) else mapping(one).get("file")
                    if isinstance(name, str) and name:
                        yield joined(folder, name)


def _tree(root: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files of a tree of folders, each folder with its own path."""
    waiting = [root]
    for _ in range(100_000):
        if not waiting:
            return
        folder = waiting.pop(0)
        for one in mappings(folder.get("childrenFiles")):
            if isinstance(one.get("name"), str):
                yield joined(folder.get("absPath"), one["name"])
        waiting.extend(mappings(folder.get("childrenDirs")))
