"""OTLP/JSON spans of the GenAI semantic conventions."""

from typing import Any

from capture.capture_logs import WriteLog, packet_of, packets_of


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


def test_spans_of_other_instruments_are_no_sessions(write_log: WriteLog) -> None:
    """A file without GenAI spans gives nothing, and that is no error."""
    path = write_log(_request({"traceId": "a", "spanId": "b", "name": "GET /"}))
    assert packets_of(path) == []


def test_a_list_of_requests(write_log: WriteLog) -> None:
    """Some writers put requests into one JSON list."""
    import json

    first = _span("read_a", startTimeUnixNano="1000", endTimeUnixNano="2000")
    path = write_log(json.dumps([_request(first)], indent=1))
    assert packet_of(path)["first_contact_command"] == 'read_a {"path":"a.py"}'


def _spoken(operation: str, start: int, end: int, *parts: dict[str, Any]) -> dict[str, Any]:
    import json

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
