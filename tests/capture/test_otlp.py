"""OTLP/JSON spans of the GenAI semantic conventions."""

import json
from typing import Any

import pytest

from capture.capture_logs import WriteLog, packet_of, packets_of
from capture.test_sinks import events_of
from wayproof.capture import Problems
from wayproof.capture.formats.otlp_dialects import DIALECTS
from wayproof.capture.session import Call, Result
from wayproof.errors import InputError


def test_calls_are_ordered_by_their_start() -> None:
    """A span is written when it ends: file order is completion order."""
    packet = packet_of("otlp/completion_order.jsonl")
    assert packet["first_contact_command"] == 'search_code {"limit":5,"query":"shelf"}'
    assert packet["selected_artifacts"] == ["src/b.cs"]
    # 1000-1900 and 1100-1200 overlap: 900; then 2000-2100: 100
    assert packet["wall_ms"] == 900 + 100
    assert packet["elapsed_ms"] == 2000
    assert packet["cut_reason"] == "mutation"
    assert packet["start_reason"] == "prompt"
    assert packet["source"]["agent_version"] == "3.1"


def test_a_failed_span_selects_nothing() -> None:
    """error.type and status code 2 are typed; the agent got over it, so the route did not err."""
    packet = packet_of("otlp/completion_order.jsonl")
    assert packet["failed_calls"] == 1
    assert packet["error"] is None


def test_two_conversations_in_one_file() -> None:
    """A session for each; a span without conversation belongs to its trace's, in either case."""
    first, second = packets_of("otlp/two_conversations.jsonl")
    assert first["source"]["session_id"] == "conv-a"
    assert first["selected_artifacts"] == ["a.py", "c.py"]
    assert first["wall_ms"] == 10 + 20
    assert second["source"]["session_id"] == "conv-b"
    assert second["selected_artifacts"] == ["b.py", "d.py"]


def test_content_capture_off() -> None:
    """Arguments were not recorded: null with the reason; times are still known."""
    packet = packet_of("otlp/content_off.jsonl")
    assert packet["first_contact_command"] is None
    assert packet["first_contact_reason"] == "arguments_not_logged"
    assert packet["wall_ms"] == 10 + 10


def test_sub_agent_spans() -> None:
    """Spans below a delegating call stand for it."""
    packet = packet_of("otlp/subagent.jsonl")
    assert packet["first_contact_command"] == 'get_file {"path":"in_child.py"}'
    assert packet["via"] == "subagent"
    assert packet["selected_artifacts"] == ["in_child.py", "in_main.py"]
    assert packet["wall_ms"] == 10 + 10


def test_one_document() -> None:
    """A request may be one document over several lines."""
    assert packet_of("otlp/one_document.json")["selected_artifacts"] == ["a.py"]


def _span(name: str, **more: Any) -> dict[str, Any]:
    pairs = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.arguments": '{"path":"a.py"}',
        "gen_ai.conversation.id": "c",
    }
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in pairs.items()]
    return {"traceId": "a", "spanId": name, "attributes": attributes} | more


def _request(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def test_without_start_times_the_files_order_stands(write_log: WriteLog) -> None:
    """One span without a start: nothing is sorted, nothing measured."""
    late = _span("read_b", startTimeUnixNano="2000000000", endTimeUnixNano="3000000000")
    path = write_log(_request(late), _request(_span("read_a", endTimeUnixNano=1)))
    packet = packet_of(path)
    assert packet["first_contact_command"] == 'read_b {"path":"a.py"}'
    assert "wall_ms" not in packet


def test_numbers_are_decimal_strings_or_numbers(write_log: WriteLog) -> None:
    """int64 comes as text; other writers give numbers; nonsense is no time."""
    path = write_log(
        _request(_span("view", startTimeUnixNano=1000000000, endTimeUnixNano="1500000000")),
        _request(_span("grep", startTimeUnixNano="x", endTimeUnixNano="")),
    )
    packet = packet_of(path)
    assert packet["navigation_calls"] == 2
    assert packet["wall_unmeasured_calls"] == 1
    assert packet["wall_measured_ms"] == 500


def test_a_file_of_other_spans_is_refused(write_log: WriteLog) -> None:
    """Nothing understood is an error that says how many spans of what were passed over."""
    web = {"traceId": "a", "spanId": "b", "name": "GET /"}
    unread = _with({"braintrust.span_attributes": "{}"})
    chain = _with({"openinference.span.kind": "CHAIN"})
    path = write_log(_request(web), _request(web), _request(unread), _request(chain))
    with pytest.raises(InputError) as refused:
        packets_of(path)
    assert (
        "4 spans passed over: 1 of Braintrust, 1 that are neither calls nor messages, "
        "2 without attributes of a known dialect"
    ) in str(refused.value)


def test_an_unread_dialect_beside_read_ones_is_named(write_log: WriteLog) -> None:
    """What isn't read is counted beside the sessions; another instrument's spans are normal."""
    problems = Problems()
    web = {"traceId": "a", "spanId": "b", "name": "GET /"}
    unread = _with({"weave.kind": "tool"})
    path = write_log(_request(_span("read_a")), _request(unread), _request(web))
    assert len(packets_of(path, problems=problems)) == 1
    assert [one.text for one in problems.named] == ["1 spans of Weave passed over: not read yet"]


def _with(attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    pairs = [{"key": key, "value": {"stringValue": one}} for key, one in attributes.items()]
    return {"traceId": "a", "spanId": "x", "name": "n", "attributes": pairs, **more}


LABEL = '{"path":"src/label.py"}'
DIALECT_SPANS: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    "Logfire (Pydantic AI)": (
        {"agent_name": "a", "pydantic_ai.all_messages":
            '[{"role":"user","parts":[{"type":"text","content":"Where?"}]}]'},
        {"gen_ai.tool.name": "read_file", "tool_arguments": LABEL, "tool_response": "x"},
        "running tool",
    ),
    "Google ADK": (
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages":
            '[{"role":"user","parts":[{"type":"text","content":"Where?"}]}]'},
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read_file",
         "gcp.vertex.agent.tool_call_args": LABEL, "gcp.vertex.agent.tool_response": "{}"},
        "execute_tool read_file",
    ),
    "Vercel AI SDK": (
        {"ai.operationId": "ai.generateText", "ai.prompt": '{"system":"s","prompt":"Where?"}'},
        {"ai.toolCall.name": "read_file", "ai.toolCall.args": LABEL,
         "ai.toolCall.result": '"x"'},
        "ai.toolCall",
    ),
    "Langfuse": (
        {"langfuse.observation.type": "agent", "langfuse.observation.input":
            '[{"role":"user","content":"Where?"}]', "langfuse.session.id": "s"},
        {"langfuse.observation.type": "tool", "langfuse.observation.input": LABEL,
         "langfuse.observation.output": "x"},
        "read_file",
    ),
    "OpenLLMetry (Traceloop)": (
        {"gen_ai.operation.name": "chat", "gen_ai.prompt.0.role": "system",
         "gen_ai.prompt.0.content": "s", "gen_ai.prompt.1.role": "user",
         "gen_ai.prompt.1.content": "Where?"},
        {"traceloop.span.kind": "tool", "traceloop.entity.name": "read_file",
         "traceloop.entity.input": '{"args": [], "kwargs": {"path": "src/label.py"}}',
         "traceloop.entity.output": '"x"'},
        "read_file.tool",
    ),
    "OpenInference": (
        {"openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user",
         "llm.input_messages.0.message.content": "Where?"},
        {"openinference.span.kind": "TOOL", "tool.name": "read_file", "input.value":
            '{"args": [], "sanitize_inputs_outputs": true, "kwargs": {"path": "src/label.py"}}',
         "output.value": "x"},
        "ReadFileTool",
    ),
    "MLflow": (
        {"mlflow.spanType": '"AGENT"', "mlflow.spanInputs": '{"question": "Where?"}'},
        {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": LABEL, "mlflow.spanOutputs": '"x"'},
        "read_file",
    ),
    "LangSmith": (
        {"langsmith.span.kind": "llm", "gen_ai.prompt":
            '{"messages":[{"type":"human","content":"Where?"}]}'},
        {"langsmith.span.kind": "tool", "gen_ai.prompt": LABEL, "gen_ai.completion": "x"},
        "read_file",
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", DIALECT_SPANS)
def test_dialects_say_the_same(title: str, write_log: WriteLog) -> None:
    """Whoever wrote the spans: prompt, tool, input and time are where its row says."""
    asked, called, name = DIALECT_SPANS[title]
    agent = _with(asked, startTimeUnixNano="1000000000", endTimeUnixNano="9000000000")
    tool = _with(
        called, spanId="y", name=name, parentSpanId="x",
        startTimeUnixNano="2000000000", endTimeUnixNano="2250000000",
    )  # fmt: skip
    packet = packet_of(write_log(_request(agent, tool)))
    assert packet["first_contact_command"] == f"read_file {LABEL}"
    assert packet["selected_artifacts"] == ["src/label.py"]
    assert packet["wall_ms"] == 250
    assert packet["start_reason"] == "prompt"


def test_every_dialect_is_tried() -> None:
    """A row that no test reaches could be dead."""
    assert [one.title for one in DIALECTS[1:]] == list(DIALECT_SPANS)


def test_dialects_mix_on_one_span(write_log: WriteLog) -> None:
    """A bridge adds its attributes: each fact is taken from the first row that has it."""
    mixed = _with({
        "openinference.span.kind": "tool", "gen_ai.operation.name": "tool_call",
        "ai.toolCall.name": "read_file", "ai.toolCall.args": LABEL,
    })  # fmt: skip
    assert packet_of(write_log(_request(mixed)))["first_contact_command"] == f"read_file {LABEL}"


def test_a_delegate_without_a_child_is_unknown(write_log: WriteLog) -> None:
    """No span lies under the delegating call: what it did first is not in the log."""
    first = _span("task", spanId="d", startTimeUnixNano="1000", endTimeUnixNano="2000")
    then = _span("read_a", spanId="e", startTimeUnixNano="3000", endTimeUnixNano="4000")
    packet = packet_of(write_log(_request(first, then)))
    assert packet["first_contact_command"] is None
    assert packet["first_contact_reason"] == "subagent_not_logged"


def test_a_child_below_a_span_of_another_kind(write_log: WriteLog) -> None:
    """Between the delegating call and its child's may lie spans that say nothing."""
    task = _span("task", spanId="d", startTimeUnixNano="1000", endTimeUnixNano="9000")
    between = {"traceId": "a", "spanId": "m", "parentSpanId": "d", "name": "chain"}
    child = _span("read_a", spanId="e", parentSpanId="m", startTimeUnixNano="3000",
                  endTimeUnixNano="4000")  # fmt: skip
    packet = packet_of(write_log(_request(task, between, child)))
    assert packet["first_contact_command"] == 'read_a {"path":"a.py"}'
    assert packet["via"] == "subagent"


def test_a_terminal_by_its_visual_studio_name(write_log: WriteLog) -> None:
    """``run_command_in_terminal`` is a shell: its command is the first contact."""
    call = _with({"gen_ai.operation.name": "execute_tool",
                  "gen_ai.tool.name": "run_command_in_terminal",
                  "gen_ai.tool.call.arguments": '{"command": "cat src/label.py"}'})  # fmt: skip
    packet = packet_of(write_log(_request(call)))
    assert packet["first_contact_command"] == "cat src/label.py"


def test_a_list_of_requests(write_log: WriteLog) -> None:
    """Some writers put requests into one JSON list."""
    first = _span("read_a", startTimeUnixNano="1000", endTimeUnixNano="2000")
    path = write_log(json.dumps([_request(first)], indent=1))
    assert packet_of(path)["first_contact_command"] == 'read_a {"path":"a.py"}'


def _spoken(operation: str, start: int, end: int, *parts: dict[str, Any]) -> dict[str, Any]:
    messages = json.dumps([{"role": "assistant", "parts": list(parts)}])
    pairs = {
        "gen_ai.operation.name": operation,
        "gen_ai.conversation.id": "c",
        "gen_ai.output.messages": messages,
    }
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in pairs.items()]
    times = {"startTimeUnixNano": start, "endTimeUnixNano": end}
    return {"traceId": "a", "spanId": f"{operation}{start}", "attributes": attributes} | times


def test_an_agents_output_is_the_answer(write_log: WriteLog) -> None:
    """An agent's span begins before its calls; its output comes after them."""
    agent = _spoken("invoke_agent", 1000, 9000, {"type": "text", "content": "It is in src/b.py."})
    tool = _span("read_file", startTimeUnixNano=2000, endTimeUnixNano=3000)
    packet = packet_of(write_log(_request(agent, tool)))
    assert packet["cut_reason"] == "answer"
    assert packet["answer_artifacts"] == ["src/b.py"]
    late = _span("read_file", startTimeUnixNano=9500, endTimeUnixNano=9600)
    assert packet_of(write_log(_request(agent, late)))["cut_reason"] == "end_of_log"


def test_arguments_from_the_models_output(write_log: WriteLog) -> None:
    """A tool span without arguments takes those of the tool call of the same id."""
    part = {"type": "tool_call", "id": "k", "name": "read_file", "arguments": {"path": "b.py"}}
    tool = _span("read_file", startTimeUnixNano=2000, endTimeUnixNano=3000)
    tool["attributes"] = [
        one for one in tool["attributes"] if one["key"] != "gen_ai.tool.call.arguments"
    ] + [{"key": "gen_ai.tool.call.id", "value": {"stringValue": "k"}}]
    packet = packet_of(write_log(_request(_spoken("chat", 1000, 1500, part), tool)))
    assert packet["first_contact_command"] == 'read_file {"path":"b.py"}'
    assert packet["selected_artifacts"] == ["b.py"]


CHAT_ONLY: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "OpenTelemetry GenAI": (
        {"gen_ai.operation.name": "chat", "gen_ai.input.messages":
            '[{"role":"user","parts":[{"type":"text","content":"Where?"}]}]',
         "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"tool_call","id":"1",'
            '"name":"read_file","arguments":{"path":"src/label.py"}}]}]'},
        {"gen_ai.operation.name": "chat", "gen_ai.input.messages":
            '[{"role":"user","parts":[{"type":"text","content":"Where?"}]},'
            '{"role":"assistant","parts":[{"type":"tool_call","id":"1","name":"read_file"}]},'
            '{"role":"tool","parts":[{"type":"tool_call_response","id":"1","response":"x"}]}]',
         "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"tool_call","id":"1",'
            '"name":"bash","arguments":{"command":"cat b.py"}}]}]'},
    ),
    "Vercel AI SDK": (
        {"ai.operationId": "ai.generateText.doGenerate", "ai.prompt.messages":
            '[{"role":"user","content":[{"type":"text","text":"Where?"}]}]',
         "ai.response.toolCalls":
            '[{"toolCallId":"1","toolName":"read_file","args":"{\\"path\\":\\"src/label.py\\"}"}]'},
        {"ai.operationId": "ai.generateText.doGenerate", "ai.response.toolCalls":
            '[{"toolCallId":"1","toolName":"bash","input":{"command":"cat b.py"}}]'},
    ),
    "OpenInference": (
        {"openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user",
         "llm.input_messages.0.message.content": "Where?",
         "llm.output_messages.0.message.role": "assistant",
         "llm.output_messages.0.message.tool_calls.0.tool_call.id": "1",
         "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "read_file",
         "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments":
            '{"path":"src/label.py"}'},
        {"openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "tool",
         "llm.input_messages.0.message.tool_call_id": "1",
         "llm.input_messages.0.message.content": "x",
         "llm.output_messages.0.message.role": "assistant",
         "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "bash",
         "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments":
            '{"command":"cat b.py"}'},
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", CHAT_ONLY)
def test_calls_without_spans_of_their_own(title: str, write_log: WriteLog) -> None:
    """Where only the model is traced, its requests are the calls: none disappears."""
    first, second = CHAT_ONLY[title]
    path = write_log(_request(
        _with(first, startTimeUnixNano="1000000000", endTimeUnixNano="2000000000"),
        _with(second, spanId="y", startTimeUnixNano="3000000000", endTimeUnixNano="4000000000"),
    ))  # fmt: skip
    calls = [one for one in events_of(path) if isinstance(one, Call)]
    assert [(one.tool, one.arguments) for one in calls] == [
        ("read_file", {"path": "src/label.py"}), ("bash", {"command": "cat b.py"}),
    ]  # fmt: skip
    packet = packet_of(path)
    assert packet["first_contact_command"] == f"read_file {LABEL}"
    assert "wall_ms" not in packet
    ended = [one.call_id for one in events_of(path) if isinstance(one, Result)]
    assert ended == ([] if title == "Vercel AI SDK" else [calls[0].call_id])


def test_a_call_with_a_span_is_not_counted_twice(write_log: WriteLog) -> None:
    """The model's request and the tool's own span are one call."""
    first, _ = CHAT_ONLY["OpenTelemetry GenAI"]
    tool = _span("read_file", spanId="t", startTimeUnixNano="2500000000",
                 endTimeUnixNano="2600000000")  # fmt: skip
    path = write_log(_request(
        _with(first, startTimeUnixNano="1000000000", endTimeUnixNano="2000000000"), tool
    ))  # fmt: skip
    assert len([one for one in events_of(path) if isinstance(one, Call)]) == 1


def test_results_told_before_are_not_told_again(write_log: WriteLog) -> None:
    """Every request repeats the history: only what stands behind the last answer is new."""

    def chat(number: int, *said: str) -> dict[str, Any]:
        messages: list[dict[str, Any]] = []
        for text in said:
            part = {"type": "tool_call_response", "id": "1", "response": text}
            messages += [{"role": "assistant", "parts": []}, {"role": "tool", "parts": [part]}]
        call = {"type": "tool_call", "id": "1", "name": "read_file", "arguments": {"n": number}}
        return _with(
            {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages),
             "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [call]}])},
            spanId=f"s{number}", startTimeUnixNano=f"{number}000", endTimeUnixNano=f"{number}500",
        )  # fmt: skip

    events = events_of(write_log(_request(chat(1), chat(2, "one"), chat(3, "one", "two"))))
    numbers = {one.call_id: one.arguments for one in events if isinstance(one, Call)}
    ended = [(numbers[one.call_id], one.body) for one in events if isinstance(one, Result)]
    assert ended == [({"n": 1}, "one"), ({"n": 2}, "two")]
