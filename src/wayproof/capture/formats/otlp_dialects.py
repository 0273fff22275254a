"""How tracing libraries spell the same span: which attribute says what.

One row a dialect. Spans mix dialects (a bridge adds its own attributes to another's), so
what a span *is* is told by the first row that knows its kind, and each fact is taken from
the first row that has it, in the order of the table.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from wayproof.capture.adapter import inner_json, text_of, word

__all__ = [
    "DIALECTS",
    "UNREAD",
    "Dialect",
    "Facts",
    "Request",
    "facts_of",
    "messages_in",
    "passed_over",
]


class Dialect(NamedTuple):
    """A dialect's attributes.

    ``kind`` says what a span is and ``kinds`` what its values mean: the values in lower case,
    to operations of the semantic conventions. The other fields are attributes in order of
    preference.
    """

    title: str
    kind: str
    kinds: Mapping[str, str]
    tool: tuple[str, ...] = ()
    call_id: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    result: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    flat_asked: str = ""
    flat_said: str = ""
    """Prefixes of messages that are spread over numbered attributes."""


_TOOL, _AGENT, _CHAT = "execute_tool", "invoke_agent", "chat"
_SAME = {
    one: one for one in (_TOOL, _AGENT, _CHAT, "text_completion", "generate_content")
} | {"tool_call": _TOOL, "create_agent": ""}  # fmt: skip

DIALECTS: tuple[Dialect, ...] = (
    Dialect(
        "OpenTelemetry GenAI",
        "gen_ai.operation.name",
        _SAME,
        tool=("gen_ai.tool.name",),
        call_id=("gen_ai.tool.call.id",),
        arguments=("gen_ai.tool.call.arguments",),
        result=("gen_ai.tool.call.result",),
        asked=("gen_ai.input.messages",),
        said=("gen_ai.output.messages",),
        session=("gen_ai.conversation.id", "gen_ai.session.id"),
    ),
    Dialect(
        "Logfire (Pydantic AI)",
        "logfire.msg_template",
        {"running tool: {gen_ai.tool.name}": _TOOL, "agent run": _AGENT},
        arguments=("tool_arguments",),
        result=("tool_response",),
        asked=("pydantic_ai.all_messages", "all_messages_events"),
        said=("final_result",),
    ),
    Dialect(
        "Google ADK",
        "gcp.vertex.agent.event",
        {},
        arguments=("gcp.vertex.agent.tool_call_args",),
        result=("gcp.vertex.agent.tool_response",),
        session=("gcp.vertex.agent.session_id",),
    ),
    Dialect(
        "Vercel AI SDK",
        "ai.operationId",
        {
            "ai.toolcall": _TOOL,
            "ai.generatetext": _AGENT,
            "ai.streamtext": _AGENT,
            "ai.generateobject": _AGENT,
            "ai.streamobject": _AGENT,
            "ai.generatetext.dogenerate": _CHAT,
            "ai.streamtext.dostream": _CHAT,
        },
        tool=("ai.toolCall.name",),
        call_id=("ai.toolCall.id",),
        arguments=("ai.toolCall.args", "ai.toolCall.input"),
        result=("ai.toolCall.result", "ai.toolCall.output"),
        asked=("ai.prompt.messages", "ai.prompt"),
        said=("ai.response.text",),
        session=("ai.telemetry.metadata.sessionId", "ai.telemetry.metadata.session_id"),
    ),
    Dialect(
        "Langfuse",
        "langfuse.observation.type",
        {"tool": _TOOL, "agent": _AGENT, "generation": _CHAT},
        arguments=("langfuse.observation.input",),
        result=("langfuse.observation.output",),
        asked=("langfuse.observation.input", "langfuse.trace.input"),
        said=("langfuse.observation.output",),
        session=("langfuse.session.id",),
    ),
    Dialect(
        "OpenLLMetry (Traceloop)",
        "traceloop.span.kind",
        {"tool": _TOOL, "agent": _AGENT},
        tool=("traceloop.entity.name",),
        arguments=("traceloop.entity.input",),
        result=("traceloop.entity.output",),
        asked=("traceloop.entity.input",),
        said=("traceloop.entity.output",),
        session=(
            "traceloop.association.properties.session_id",
            "traceloop.association.properties.thread_id",
            "traceloop.association.properties.conversation_id",
        ),
        flat_asked="gen_ai.prompt.",
        flat_said="gen_ai.completion.",
    ),
    Dialect(
        "OpenInference",
        "openinference.span.kind",
        {"tool": _TOOL, "agent": _AGENT, "llm": _CHAT},
        tool=("tool.name",),
        call_id=("tool_call.id", "tool.id"),
        arguments=("input.value",),
        result=("output.value",),
        asked=("input.value",),
        said=("output.value",),
        session=("session.id",),
        flat_asked="llm.input_messages.",
        flat_said="llm.output_messages.",
    ),
    Dialect(
        "MLflow",
        "mlflow.spanType",
        {'"tool"': _TOOL, "tool": _TOOL, '"agent"': _AGENT, "agent": _AGENT,
         '"chat_model"': _CHAT, '"llm"': _CHAT, "chat_model": _CHAT, "llm": _CHAT},
        arguments=("mlflow.spanInputs",),
        result=("mlflow.spanOutputs",),
        asked=("mlflow.spanInputs",),
        said=("mlflow.spanOutputs",),
    ),
    Dialect(
        "LangSmith",
        "langsmith.span.kind",
        {"tool": _TOOL, "llm": _CHAT},
        arguments=("gen_ai.prompt",),
        result=("gen_ai.completion",),
        asked=("gen_ai.prompt",),
        said=("gen_ai.completion",),
        session=("langsmith.metadata.session_id", "langsmith.metadata.thread_id"),
    ),
)  # fmt: skip
"""In the order in which they are asked."""

UNREAD: Mapping[str, str] = {
    "braintrust.": "Braintrust",
    "lmnr.": "Laminar",
    "weave.": "Weave",
    "genkit:": "Genkit",
    "respan.": "Respan",
    "agentops.": "AgentOps",
    "openlit.": "OpenLIT",
    "semantic_kernel.": "Semantic Kernel",
    "crewai.": "CrewAI",
    "haystack.": "Haystack",
}
"""Dialects that are known and not read, by the beginning of their attributes' names."""

# These name a tool on the span of its call alone.
_TOOL_ALONE = ("gen_ai.tool.name", "ai.toolCall.name")


class Request(NamedTuple):
    """A call that the model asked for in its output."""

    call_id: str
    tool: str
    arguments: Any


class Facts(NamedTuple):
    """What a span says, whatever its dialect.

    ``requested`` and ``answered`` are the calls in a model's output, and the results, by the
    calls' ids, that its input ends with.
    """

    operation: str
    tool: str
    call_id: str | None
    arguments: Any
    result: Any
    asked: Any
    said: Any
    session: str | None
    requested: tuple[Request, ...]
    answered: Mapping[str, str]


def facts_of(attributes: Mapping[str, Any], name: str) -> Facts | None:
    """Read a span's attributes; None where no dialect knows what it is.

    Parameters
    ----------
    attributes
        The span's attributes and those of its events.
    name
        The span's name: several dialects give a tool's span the tool's own name.
    """
    operation = _operation(attributes)
    if operation is None:
        return None
    tool = word(_first(attributes, "tool")) or name.removesuffix(".tool") or operation
    session = _first(attributes, "session") or attributes.get("thread.id")
    is_call = operation == _TOOL
    asked = None if is_call else _spoken(attributes, "asked", _FLAT_ASKED)
    said = None if is_call else _spoken(attributes, "said", _FLAT_SAID)
    return Facts(
        operation=operation,
        tool=tool,
        call_id=word(_first(attributes, "call_id")) or None,
        arguments=_unwrapped(_decoded(_first(attributes, "arguments"))),
        result=_decoded(_first(attributes, "result")),
        asked=asked,
        said=said,
        session=str(session) if session else None,
        requested=() if is_call else tuple(_requested(attributes, said)),
        answered={} if is_call else dict(_answered(asked)),
    )


def passed_over(attributes: Mapping[str, Any]) -> str:
    """Say what a span is that is not read, as the end of "3 spans …"."""
    for key in attributes:
        for start, title in UNREAD.items():
            if key.startswith(start):
                return f"of {title}"
    if any(dialect.kind in attributes for dialect in DIALECTS):
        return "that are neither calls nor messages"
    return "without attributes of a known dialect"


def _operation(attributes: Mapping[str, Any]) -> str | None:
    """Return what a span is: an operation, an empty text for a known other, or None."""
    known = None
    for dialect in DIALECTS:
        kind = attributes.get(dialect.kind)
        if not isinstance(kind, str):
            continue
        operation = dialect.kinds.get(kind.lower())
        if operation:
            return operation
        known = kind if dialect is DIALECTS[0] and kind.lower() not in dialect.kinds else known
    if any(isinstance(attributes.get(key), str) for key in _TOOL_ALONE):
        return _TOOL
    if known is not None:
        return known
    if "agent_name" in attributes and any(key in attributes for key in DIALECTS[1].asked):
        return _AGENT
    return None


_FIELDS = ("tool", "call_id", "arguments", "result", "asked", "said", "session")
_KEYS: dict[str, tuple[str, ...]] = {
    field: tuple(key for dialect in DIALECTS for key in getattr(dialect, field))
    for field in _FIELDS
}
_FLAT_ASKED = tuple(dialect.flat_asked for dialect in DIALECTS if dialect.flat_asked)
_FLAT_SAID = tuple(dialect.flat_said for dialect in DIALECTS if dialect.flat_said)


def _first(attributes: Mapping[str, Any], field: str) -> Any:
    for key in _KEYS[field]:
        value = attributes.get(key)
        if value is not None and value != "":
            return value
    return None


def _spoken(attributes: Mapping[str, Any], field: str, flat: tuple[str, ...]) -> Any:
    """Return what was asked or said: an attribute, or messages in numbered attributes."""
    if any(key.startswith(flat) for key in attributes):
        for prefix in flat:
            messages = list(_numbered(attributes, prefix))
            if messages:
                return messages
    return _decoded(_first(attributes, field))


def _numbered(attributes: Mapping[str, Any], prefix: str) -> Iterator[dict[str, Any]]:
    for place in range(1000):
        start = f"{prefix}{place}."
        found = {
            key[len(start) :].removeprefix("message."): value
            for key, value in attributes.items()
            if key.startswith(start)
        }
        if not found:
            return
        yield {
            "role": found.get("role"),
            "content": found.get("content"),
            "tool_call_id": found.get("tool_call_id"),
            "tool_calls": list(_numbered_calls(found)),
        }


def _numbered_calls(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for place in range(1000):
        start = f"tool_calls.{place}."
        found = {
            key[len(start) :].removeprefix("tool_call.").removeprefix("function."): value
            for key, value in message.items()
            if key.startswith(start)
        }
        if not found:
            return
        yield found


# -- calls in messages ----------------------------------------------------------------


def _requested(attributes: Mapping[str, Any], said: Any) -> Iterator[Request]:
    """Yield the calls in a model's output, in its order."""
    beside = _decoded(attributes.get("ai.response.toolCalls"))
    for call in _mappings(beside):
        given = call.get("input", call.get("args"))
        yield _request(call.get("toolCallId"), call.get("toolName"), given)
    for message in _mappings(said):
        for part in _mappings(message.get("parts", message.get("content"))):
            if part.get("type") in _CALLING:
                given = part.get("arguments", part.get("input"))
                yield _request(part.get("id"), part.get("name"), given)
        for call in _mappings(_decoded(message.get("tool_calls"))):
            function = call.get("function")
            told = function if isinstance(function, Mapping) else call
            yield _request(call.get("id"), told.get("name"), told.get("arguments"))


_CALLING = ("tool_call", "tool_use")
_ANSWERING = ("tool_call_response", "tool_result")


def _request(call_id: Any, tool: Any, arguments: Any) -> Request:
    return Request(word(call_id), word(tool) or "tool", _decoded(arguments))


def _answered(asked: Any) -> Iterator[tuple[str, str]]:
    """Yield the results behind the last words of the model: what came before was told before."""
    messages = list(_mappings(asked))
    for message in reversed(messages):
        if message.get("role") in ("assistant", "ai"):
            return
        call_id = word(message.get("tool_call_id"))
        if call_id:
            yield call_id, text_of(_decoded(message.get("content"))) or word(message.get("content"))
        for part in _mappings(message.get("parts", message.get("content"))):
            if part.get("type") in _ANSWERING:
                told = part.get("response", part.get("result", part.get("content")))
                yield word(part.get("id")) or word(part.get("tool_use_id")), _flat(told)


def _flat(value: Any) -> str:
    value = _decoded(value)
    if isinstance(value, str):
        return value
    return text_of(value) or json.dumps(value, ensure_ascii=False, default=str)


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, Mapping))


# -- values ---------------------------------------------------------------------------


def _decoded(value: Any) -> Any:
    """Attributes may be JSON texts."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "[", '"'}:
        inner = inner_json(value)
        return value if inner is None else inner
    return value


_WRAPPED_IN = ("kwargs", "inputs", "arguments", "parameters", "input")
_WRAPPING = frozenset({
    "args", "kwargs", "input_str", "inputs", "tags", "metadata", "sanitize_inputs_outputs",
    "tool_name", "name", "arguments", "parameters", "input", "run_id", "tool_call_id", "id",
    "type", "self",
})  # fmt: skip


def _unwrapped(value: Any) -> Any:
    """Return a call's own input, where a library logs how it called the tool's function."""
    if not isinstance(value, Mapping) or not _WRAPPING.issuperset(value):
        return value
    if not {"args", "input_str", "sanitize_inputs_outputs", "tool_name"} & value.keys():
        return value
    for key in _WRAPPED_IN:
        inner = _decoded(value.get(key))
        if isinstance(inner, dict) and inner:
            return inner
    text = value.get("input_str")
    if isinstance(text, str) and text:
        return _decoded(text)
    args = value.get("args")
    return args[0] if isinstance(args, list) and len(args) == 1 else value


_HOLDS = ("messages", "prompt", "task", "input", "query", "question", "content", "text")


def messages_in(value: Any, role: str, depth: int = 0) -> list[str]:
    """Return the texts of one role in what was asked or said.

    A list of messages, an object that holds one or a text under a usual name, or a text,
    which counts for whatever role is asked for.
    """
    value = _decoded(value)
    if depth > 3:
        return []
    if isinstance(value, str):
        return [value] if value.strip() else []
    if isinstance(value, Mapping):
        if isinstance(value.get("role"), str):
            value = [value]
        else:
            held = [value[key] for key in ("kwargs", *_HOLDS) if value.get(key)]
            return messages_in(held[0], role, depth + 1) if held else []
    texts = (_text_of_message(one, role) for one in value) if isinstance(value, list) else ()
    return [text for text in texts if text.strip()]


def _text_of_message(message: Any, role: str) -> str:
    if not isinstance(message, Mapping):
        return ""
    if word(message.get("role", message.get("type"))) not in {role, _OTHER_NAMES[role]}:
        return ""
    parts = message.get("parts", message.get("content"))
    if not isinstance(parts, list):
        return text_of(_decoded(parts)) or word(parts)
    said = [
        str(part.get("content") or part.get("text") or "")
        for part in parts
        if isinstance(part, Mapping) and word(part.get("type")) in {"text", ""}
    ]
    return "\n".join(one for one in said if one)


_OTHER_NAMES = {"user": "human", "assistant": "ai"}
