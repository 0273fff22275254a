"""OTLP/JSON spans with OpenTelemetry's GenAI attributes, or another dialect's.

One request (``resourceSpans``) a line, or one document. A span is written when it *ends*,
so the order of a file is the order of completion: calls are put in order by the start time
that every span must carry, unless a span of the conversation has none; then the file's
order stands. Content capture may be off: then a call has no arguments and the first contact
is null, with the reason.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from wayproof.capture.adapter import Format, Head, inner_json, is_document, used
from wayproof.capture.formats.otlp_dialects import (
    DIALECTS,
    Request,
    facts_of,
    messages_in,
    passed_over,
)
from wayproof.capture.injected import genuine
from wayproof.capture.lines import Source
from wayproof.capture.results import body_text, first_line, outcome_from_text
from wayproof.capture.session import (
    MAIN_THREAD,
    Answer,
    Call,
    Failure,
    Outcome,
    Prompt,
    Result,
    Spawn,
)
from wayproof.capture.sessions import Sessions
from wayproof.capture.tools import tool_of
from wayproof.errors import InputError

__all__ = ["FORMAT", "claims", "read"]

FORMAT = Format(
    name="otlp",
    title="OpenTelemetry GenAI spans (OTLP/JSON)",
    files="the Collector's file exporter, one request a line; one JSON request",
    versions="semantic conventions with gen_ai.operation.name (1.28 and later); the dialects of "
    + ", ".join(dialect.title for dialect in DIALECTS[1:]),
    detected_by="resourceSpans (resource_spans)",
    fields={
        "first_contact": "native",
        "selected": "derived",
        "cwd": "unknown",
        "wall_ms": "native",
        "elapsed_ms": "native",
        "error": "native",
        "timed_out": "derived",
        "prompt": "native",
        "subagent": "native",
        "version": "native",
    },
    limits=(
        (
            "Arguments, results and prompts are there only with content capture on; without it "
            "the first contact is null (arguments_not_logged)."
        ),
        "No working directory: ids need the repository root where paths are absolute.",
        (
            "Of the dialects no whole real file was at hand: their attributes are those of the "
            "libraries' pages, sources and tests. A dialect that isn't read is named, with the "
            "number of its spans."
        ),
    ),
    sampled="2026-08",
    sources=(
        "github.com/open-telemetry/semantic-conventions, docs/gen-ai",
        "github.com/Arize-ai/openinference, spec; langfuse.com/integrations/native/opentelemetry",
        "ai-sdk.dev/docs/ai-sdk-core/telemetry; github.com/traceloop/openllmetry",
        "github.com/pydantic/pydantic-ai (instrumented runs); mlflow.org/docs (tracing)",
    ),
)


class _Value(msgspec.Struct):
    stringValue: str | None = None
    boolValue: bool | None = None
    intValue: int | str | None = None
    doubleValue: float | str | None = None
    arrayValue: "_Array | None" = None
    kvlistValue: "_List | None" = None
    string_value: str | None = None


class _Pair(msgspec.Struct):
    key: str = ""
    value: _Value | None = None


class _Array(msgspec.Struct):
    values: list[_Value] = []


class _List(msgspec.Struct):
    values: list[_Pair] = []


class _Status(msgspec.Struct):
    code: int | str | None = None
    message: str | None = None


class _SpanEvent(msgspec.Struct):
    name: str | None = None
    attributes: list[_Pair] = []


class _Span(msgspec.Struct):
    traceId: str | None = None
    spanId: str | None = None
    parentSpanId: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    parent_span_id: str | None = None
    name: str | None = None
    startTimeUnixNano: int | str | None = None
    endTimeUnixNano: int | str | None = None
    start_time_unix_nano: int | str | None = None
    end_time_unix_nano: int | str | None = None
    attributes: list[_Pair] = []
    events: list[_SpanEvent] = []
    status: _Status | None = None


class _Scope(msgspec.Struct):
    spans: list[_Span] = []


class _Resource(msgspec.Struct):
    attributes: list[_Pair] = []


class _ResourceSpans(msgspec.Struct):
    resource: _Resource | None = None
    scopeSpans: list[_Scope] = []
    scope_spans: list[_Scope] = []
    instrumentationLibrarySpans: list[_Scope] = []


class _Request(msgspec.Struct):
    resourceSpans: list[_ResourceSpans] | None = None
    resource_spans: list[_ResourceSpans] | None = None


_KEPT_CHARS = 1 << 14
_request = msgspec.json.Decoder(_Request)
_requests_in_list = msgspec.json.Decoder(list[_Request])


class _Seen(msgspec.Struct, kw_only=True):
    """A GenAI span, reduced to what a route needs."""

    order: int
    line: int
    span_id: str
    parent: str
    trace: str
    conversation: str | None
    operation: str
    tool: str
    arguments: Any
    result: Any
    prompt: str | None
    answer: str | None
    error_type: str
    start_ns: int | None
    end_ns: int | None
    error: str | None
    version: str | None
    call_id: str | None = None
    requested: tuple[Request, ...] = ()
    answered: dict[str, str] = {}
    tokens: dict[str, Any] = {}


def claims(head: Head) -> bool:
    """Tell requests in lines, or one request as a document."""
    if any(head.has(key) for key in ("resourceSpans", "resource_spans")):
        return True
    listed = [one for one in head.elements or [] if isinstance(one, dict)]
    requests = (*head.records[:20], *listed[:20])
    return any("resourceSpans" in one or "resource_spans" in one for one in requests)


def read(source: Source, sessions: Sessions) -> None:
    """Hand over one session for each conversation.

    Raises
    ------
    InputError
        When no span is of a dialect that is read.
    """
    found = _Spans()
    for number, request in _requests(source):
        resources = request.resourceSpans or request.resource_spans
        if resources is None:
            source.bad(number, "an object without resourceSpans")
            continue
        for resource in resources:
            found.add(resource, number)
    if not found.seen and found.passed:
        raise InputError(
            "no span was understood",
            file=source.name,
            expected=f"spans of {', '.join(dialect.title for dialect in DIALECTS)}",
            found=f"{sum(found.passed.values())} spans passed over: {_listed(found.passed)}",
        )
    for what, count in sorted(found.passed.items()):
        if what.startswith("of "):
            source.bad(0, f"{count} spans {what} passed over: not read yet", mended=True)
    for key, group in _conversations(found.seen).items():
        session = sessions.of(f"{source.name}\0{key}", prompts_logged=False)
        session.info.session_id = key
        session.info.started_ms = min(
            (one.start_ns / 1e6 for one in group if one.start_ns), default=None
        )
        session.info.agent_version = next((one.version for one in group if one.version), None)
        for event in _Conversation(group, found.parents).events():
            session.feed(event)


def _listed(passed: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(passed.items()))


def _requests(source: Source) -> Iterator[tuple[int, _Request]]:
    with source.open() as file:
        is_list = file.read(1 << 12).lstrip()[:1] == b"["
    if is_list:
        listed: list[_Request] | None = source.document(_requests_in_list)
        yield from enumerate(listed or [], start=1)
        return
    if is_document(source):
        request = source.document(_request)
        if request is not None:
            yield 1, request
        return
    yield from source.records(_request)


# -- spans ----------------------------------------------------------------------------


def _plain(value: _Value | None, depth: int = 0) -> Any:
    if value is None or depth > 40:
        return None
    for plain in (value.stringValue, value.string_value, value.boolValue):
        if plain is not None:
            return plain
    if value.intValue is not None or value.doubleValue is not None:
        return value.doubleValue if value.intValue is None else _integer(value.intValue)
    if value.arrayValue is not None:
        return [_plain(one, depth + 1) for one in value.arrayValue.values]
    if value.kvlistValue is not None:
        return {one.key: _plain(one.value, depth + 1) for one in value.kvlistValue.values}
    return None


def _integer(value: int | str | None) -> int | None:
    if isinstance(value, str):
        return int(value) if value.strip().lstrip("-").isdecimal() and len(value) < 25 else None
    return value


def _named(pairs: list[_Pair]) -> dict[str, Any]:
    return {pair.key: _plain(pair.value) for pair in pairs}


class _Spans:
    """The spans of a log: what they say, or that they were passed over; who lies under whom."""

    def __init__(self) -> None:
        self.seen: list[_Seen] = []
        self.passed: Counter[str] = Counter()
        self.parents: dict[str, str] = {}

    def add(self, resource: _ResourceSpans, number: int) -> None:
        """Take the spans of one resource."""
        about = _named(resource.resource.attributes) if resource.resource is not None else {}
        version = about.get("service.version")
        known_version = version if isinstance(version, str) else None
        for scope in (
            *resource.scopeSpans,
            *resource.scope_spans,
            *resource.instrumentationLibrarySpans,
        ):
            for span in scope.spans:
                self._add(span, number, known_version)

    def _add(self, span: _Span, number: int, version: str | None) -> None:
        attributes = _named(span.attributes) | _from_events(span)
        seen = _seen(span, attributes, number, len(self.seen), version)
        if seen is not None:
            self.seen.append(seen)
            self.parents[seen.span_id] = seen.parent
            return
        self.passed[passed_over(attributes)] += 1
        name, parent = span.spanId or span.span_id, span.parentSpanId or span.parent_span_id
        if name and parent:
            self.parents[name.lower()] = parent.lower()


def _seen(
    span: _Span, attributes: Mapping[str, Any], number: int, order: int, version: str | None
) -> _Seen | None:
    facts = facts_of(attributes, span.name or "")
    if facts is None:
        return None
    return _Seen(
        order=order,
        line=number,
        span_id=(span.spanId or span.span_id or f"span {order}").lower(),
        parent=(span.parentSpanId or span.parent_span_id or "").lower(),
        trace=(span.traceId or span.trace_id or "").lower(),
        conversation=facts.session,
        operation=facts.operation,
        tool=facts.tool,
        arguments=facts.arguments,
        result=_kept(facts.result),
        prompt=_bounded(next(iter(messages_in(facts.asked, "user")), None)),
        answer=_bounded(next(reversed(messages_in(facts.said, "assistant")), None)),
        error_type=str(attributes.get("error.type") or "").lower(),
        start_ns=_integer(span.startTimeUnixNano or span.start_time_unix_nano),
        end_ns=_integer(span.endTimeUnixNano or span.end_time_unix_nano),
        error=_error(span, attributes),
        version=version,
        call_id=facts.call_id,
        requested=facts.requested,
        answered={key: text[:_KEPT_CHARS] for key, text in facts.answered.items()},
        tokens=_tokens(attributes),
    )


def _bounded(text: str | None) -> str | None:
    return None if text is None else text[:_KEPT_CHARS]


_TOKENS = {
    "input": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    "cached": ("gen_ai.usage.cache_read.input_tokens",),
    "output": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
}


def _tokens(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: attributes[key] for name, keys in _TOKENS.items() for key in keys if key in attributes
    }


def _from_events(span: _Span) -> dict[str, Any]:
    """Messages may stand in an event's attributes instead of the span's."""
    wanted = {"gen_ai.input.messages", "gen_ai.output.messages"}
    return {
        key: value
        for event in span.events
        for key, value in _named(event.attributes).items()
        if key in wanted
    }


def _error(span: _Span, attributes: Mapping[str, Any]) -> str | None:
    kind = attributes.get("error.type")
    status = span.status
    failed = status is not None and status.code in {2, "2", "STATUS_CODE_ERROR", "ERROR"}
    if not failed and not kind:
        return None
    message = status.message if status is not None else None
    return message or (str(kind) if kind else "status code 2")


def _conversations(spans: list[_Seen]) -> dict[str, list[_Seen]]:
    """Group by conversation; a span without one belongs to its trace's, if that has one."""
    by_trace: dict[str, str] = {}
    for span in spans:
        if span.conversation is not None and span.trace:
            by_trace.setdefault(span.trace, span.conversation)
    groups: dict[str, list[_Seen]] = {}
    for span in spans:
        key = span.conversation or by_trace.get(span.trace) or span.trace or "unnamed"
        groups.setdefault(key, []).append(span)
    return groups


# -- one conversation -----------------------------------------------------------------


class _Conversation:
    """The spans of one conversation to events in call order."""

    def __init__(self, spans: list[_Seen], parents: Mapping[str, str]) -> None:
        if all(span.start_ns for span in spans):
            spans = sorted(spans, key=lambda span: (span.start_ns or 0, span.order))
        self._spans = spans
        self._by_id = {span.span_id: span for span in spans}
        self._parents = parents
        self._waiting: dict[str, str] = {}
        asked = {one.call_id: one.arguments for span in spans for one in span.requested}
        for span in spans:
            if span.arguments is None and span.operation == "execute_tool" and span.call_id:
                span.arguments = asked.get(span.call_id)

    def events(self) -> Iterator[Any]:
        """Yield events, each tool call with its result."""
        batch, ends_ns = 0, -1
        children = {self._thread(span) for span in self._spans}
        calls_have_spans = any(span.operation == "execute_tool" for span in self._spans)
        for span in self._spans:
            thread = self._thread(span)
            if span.operation == "execute_tool":
                if span.start_ns is None or span.start_ns >= ends_ns:
                    batch += 1
                    ends_ns = -1
                ends_ns = max(ends_ns, span.end_ns or -1)
                name = f"{batch}" if span.start_ns else None
                yield from _tool(span, thread, name, has_child=span.span_id in children)
            elif span.operation in {"chat", "invoke_agent", "text_completion", "generate_content"}:
                yield from self._spoken(span, thread)
                if not calls_have_spans and span.operation != "invoke_agent":
                    yield from self._requests(span, thread)
        yield from self._concluded()
        yield from self._failed()

    def _thread(self, span: _Seen) -> str:
        """Return the delegating tool span that a span lies under, if any."""
        name = span.parent
        for _ in range(100):
            parent = self._by_id.get(name)
            if parent is not None and parent.operation == "execute_tool" and _delegates(parent):
                return parent.span_id
            if name not in self._parents:
                break
            name = self._parents[name]
        return MAIN_THREAD

    def _spoken(self, span: _Seen, thread: str) -> Iterator[Any]:
        said = genuine(span.prompt or "")
        if said and thread == MAIN_THREAD and self._first_prompt:
            self._first_prompt = False
            yield Prompt(text=said, line=span.line, at_ms=_ms(span.start_ns), thread=thread)
        if span.answer and span.operation != "invoke_agent":
            yield Answer(text=span.answer, line=span.line, at_ms=_ms(span.end_ns), thread=thread)
        if span.operation != "invoke_agent":  # which repeats the sum of its requests
            names = ("input", "cached", "output")
            usage = used(span.line, span.tokens, names, at_ms=_ms(span.end_ns), thread=thread)
            if usage is not None:
                yield usage

    _first_prompt = True

    def _requests(self, span: _Seen, thread: str) -> Iterator[Any]:
        """Yield calls that have no spans of their own: the model's requests, and their results.

        A result stands in the input of the next request, so it is read before that
        request's own calls. Nothing is measured.
        """
        for call_id, text in span.answered.items():
            waiting = self._waiting.pop(call_id, None)
            if waiting is not None:
                outcome = outcome_from_text(text)
                yield Result(
                    call_id=waiting, line=span.line, outcome=outcome, thread=thread, body=text
                )
        for place, asked in enumerate(span.requested):
            call_id = f"{span.span_id}.{place}:{asked.call_id}"  # ids may begin anew
            self._waiting[asked.call_id] = call_id
            given = asked.arguments
            yield Call(
                call_id=call_id,
                tool=asked.tool,
                arguments=given if isinstance(given, (dict, str)) else None,
                line=span.line,
                at_ms=_ms(span.end_ns),
                thread=thread,
                batch=span.span_id,
            )

    def _concluded(self) -> Iterator[Answer]:
        """Yield what the last agent span gave back, unless a tool ran after it.

        An agent's span begins before the calls inside it and its words come after them.
        """
        main = [span for span in self._spans if self._thread(span) == MAIN_THREAD]
        agents = [one for one in main if one.operation == "invoke_agent" and one.answer]
        if not agents:
            return
        last = max(agents, key=lambda span: (span.end_ns or 0, -span.order))
        ran_ns = [one.start_ns or 0 for one in main if one.operation == "execute_tool"]
        if last.answer and (not last.end_ns or max(ran_ns, default=0) <= last.end_ns):
            yield Answer(text=last.answer, line=last.line, at_ms=_ms(last.end_ns))

    def _failed(self) -> Iterator[Failure]:
        """Yield the outermost agent's own error, which is the session's."""
        for span in self._spans:
            outermost = span.parent not in self._by_id
            if span.operation == "invoke_agent" and outermost and span.error is not None:
                timed_out = "timeout" in span.error.lower()
                yield Failure(error=span.error, line=span.line, timed_out=timed_out)


def _delegates(span: _Seen) -> bool:
    return tool_of(span.tool).purpose == "delegate"


def _ms(nanoseconds: int | None) -> float | None:
    return nanoseconds / 1e6 if nanoseconds else None


def _tool(span: _Seen, thread: str, batch: str | None, *, has_child: bool) -> Iterator[Any]:
    if has_child:
        yield Spawn(child=span.span_id, line=span.line, parent_call=span.span_id)
    yield Call(
        call_id=span.span_id,
        tool=span.tool,
        arguments=span.arguments if isinstance(span.arguments, (dict, str)) else None,
        line=span.line,
        at_ms=_ms(span.start_ns),
        thread=thread,
        batch=batch,
    )
    if not span.end_ns:
        return  # never ended: unknown
    yield Result(
        call_id=span.span_id,
        line=span.line,
        outcome=_outcome(span),
        at_ms=_ms(span.end_ns),
        thread=thread,
        body=span.result,
    )


def _kept(result: Any) -> str:
    """Bound a result's text: spans wait in memory until their order is known."""
    text = (
        result if isinstance(result, str) else body_text(msgspec.Raw(msgspec.json.encode(result)))
    )
    return text[:_KEPT_CHARS]


def _outcome(span: _Seen) -> Outcome:
    duration_ms = None
    if span.start_ns and span.end_ns and span.end_ns >= span.start_ns:
        duration_ms = round((span.end_ns - span.start_ns) / 1e6, 3)
    if span.error is None:
        return Outcome(ok=True, duration_ms=duration_ms)
    read = outcome_from_text(span.result or span.error, ok=False)
    kind = span.error_type
    if read.refused or "reject" in kind or "denied" in kind:
        return Outcome(refused=True, duration_ms=duration_ms)
    timed_out = read.timed_out or "timeout" in kind or "deadline" in kind
    return Outcome(
        ok=False,
        exit_code=read.exit_code,
        timed_out=timed_out,
        duration_ms=duration_ms,
        error=first_line(span.error),
    )


def _decoded(value: Any) -> Any:
    """Attributes may be JSON texts."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        inner = inner_json(value)
        return value if inner is None else inner
    return value
