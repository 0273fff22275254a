"""A session as a timeline that a person can read: why its packet says what it says.

:class:`Timeline` is a sink beside the cutter. It takes every event, to the end of the log,
and afterwards says what each one means for the route that the cutter cut.
"""

from collections.abc import Iterator

import msgspec

from wayproof.capture.ids import Roots, stable_id
from wayproof.capture.route import Route, Step
from wayproof.capture.route.call import read_call
from wayproof.capture.route.files import Files
from wayproof.capture.route.kinds import judged
from wayproof.capture.session import (
    Answer,
    Call,
    Event,
    Failure,
    Outcome,
    Prompt,
    Result,
    SessionInfo,
    Spawn,
)

__all__ = ["Entry", "Reasons", "Timeline", "why"]

_SHOWN_CHARS = 2000


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a timeline.

    Attributes
    ----------
    line
        Line in the log (0: the log has no lines).
    kind
        ``prompt``, ``look`` (navigation), ``run`` (an execution), ``create``, ``edit``,
        ``outside`` (a write outside the repository), ``keep`` (bookkeeping), ``write`` (what
        it writes isn't known), ``delegate``, ``answer``, ``failure`` or ``end``.
    thread
        The sub-agent it belongs to; empty for the main agent.
    text
        What was said or called.
    notes
        What it means for the packet: ``FIRST CONTACT``, ``CUT: …``, an outcome.
    selects
        (tier, id) of each file that the call selected.
    """

    line: int
    kind: str
    thread: str
    text: str
    notes: tuple[str, ...] = ()
    selects: tuple[tuple[str, str], ...] = ()


class Reasons(msgspec.Struct, frozen=True, kw_only=True):
    """Why a route begins and ends where it does, in sentences, and its calls by kind."""

    first_contact: str
    end: str
    calls: dict[str, int]


def why(route: Route) -> Reasons:
    """Return what a person asks first when a packet looks wrong."""
    calls: dict[str, int] = {}
    for step in route.steps:
        kind = step.kind or "undecided"
        calls[kind] = calls.get(kind, 0) + 1
    return Reasons(first_contact=_why_first(route), end=_why_end(route), calls=calls)


_NO_FIRST = {
    "mutated_first": "an edit came before anything was looked at",
    "created_only": "before the end files were made, and nothing was looked at",
    "no_navigation": "no call looked at anything",
    "arguments_not_logged": "the log has the call and not its input: content capture was off",
    "code_mode": "the commands stand inside a program text, and no event beside it names them",
    "subagent_not_logged": "another agent did it, and its log is not there",
}


def _why_first(route: Route) -> str:
    first = route.first
    if first is None or first.first is None:
        return _NO_FIRST.get(route.first_reason or "", "a ranked list has no command")
    if first.kind == "execution":
        return f"line {first.line}: it runs something, and nothing was looked at or made before"
    where = ", by another agent" if route.via_subagent else ""
    later = "" if first.kind == "navigation" else "; the same call edits afterwards"
    start = "after the first prompt" if route.started_at_prompt else "of the log"
    return f"line {first.line}: the first navigation call {start}{where}{later}"


def _why_end(route: Route) -> str:
    last = route.steps[-1] if route.steps else None
    if route.cut.reason == "mutation" and last is not None:
        if last.kind == "creation":
            return f"{last.tool} makes a file"
        if last.assumed:
            return f"{last.tool} is assumed to edit: nothing tells whether the file was there"
        return f"{last.tool} changes what existed before the session"
    return {
        "answer": "the prompt's own answer, which no call and only another prompt may follow",
        "end_of_log": "the log ends without an edit and without an answer",
        "first_contact": "asked for: the end is the first contact's result",
        "calls": f"asked for: {route.until}",
    }.get(route.cut.reason, route.cut.reason)


class _Shown(msgspec.Struct, kw_only=True):
    """An event as it will be shown; ``number`` counts a session's calls, 0 is no call."""

    kind: str
    line: int
    thread: str
    text: str
    number: int = 0
    said: bool = False
    child: str | None = None


class Timeline:
    """Keep what a person wants to see of each event.

    Parameters
    ----------
    info
        Filled in by the adapter as the log names things.
    """

    def __init__(self, info: SessionInfo) -> None:
        self._info = info
        self._shown: list[_Shown] = []
        self._calls: dict[tuple[str, str], _Shown] = {}
        self._count = 0
        self._files = Files(info)

    def take(self, event: Event) -> bool:
        """Take the next event; every one is wanted."""
        if isinstance(event, Call):
            self._call(event)
        elif isinstance(event, Result):
            call = self._calls.get((event.thread, event.call_id))
            if call is not None and event.child is not None:
                call.child = event.child
        elif isinstance(event, Spawn):
            for (_, call_id), call in self._calls.items():
                if call_id == event.parent_call and call.child is None:
                    call.child = event.child
        elif isinstance(event, Prompt):
            self._say("prompt", event.line, event.thread, event.text)
        elif isinstance(event, Answer):
            self._say("answer", event.line, event.thread, event.text)
        elif isinstance(event, Failure):
            self._say("failure", event.line, "", event.error or "timed out")
        return True

    def _say(self, kind: str, line: int, thread: str, text: str) -> None:
        shown = _Shown(kind=kind, line=line, thread=thread, text=text[:_SHOWN_CHARS], said=True)
        self._shown.append(shown)

    def _call(self, event: Call) -> None:
        self._count += 1
        call = read_call(event, self._info.cwd)
        step = call.step
        step.kind = judged(call, self._files).kind
        text = step.raw or step.first or event.tool
        shown = _Shown(
            kind=_kind(step),
            line=event.line,
            thread=event.thread,
            text=text[:_SHOWN_CHARS],
            number=self._count,
        )
        self._shown.append(shown)
        self._calls[event.thread, event.call_id] = shown

    def entries(self, route: Route, roots: Roots) -> Iterator[Entry]:
        """Yield the entries in the order of the log, an agent's below what called it."""
        steps = {step.number: step for step in route.steps}
        threads = {shown.thread for shown in self._shown if shown.thread}
        for shown in self._shown:
            shown.child = route.children.get(shown.number, shown.child)
        cut_seen = False
        for shown in _ordered(self._shown):
            step = steps.get(shown.number)
            notes = list(_notes(step)) if step is not None else []
            if step is not None and step is route.first:
                notes.insert(0, "FIRST CONTACT")
            if not cut_seen and _is_cut(shown, step, route):
                cut_seen = True
                notes.append(f"CUT: {route.cut.reason}")
            elif shown.number and step is None and shown.kind != "keep":
                stands = shown.kind == "delegate" and shown.child in threads
                notes.append(f"done by {shown.child}" if stands else "outside the route")
            yield Entry(
                line=shown.line,
                kind=_kind(step) if step is not None else shown.kind,
                thread=shown.thread,
                text=shown.text,
                notes=tuple(notes),
                selects=tuple(_selects(step, roots)) if step is not None else (),
            )
        if not cut_seen:
            yield Entry(line=route.cut.line, kind="end", thread="", text="",
                        notes=(f"CUT: {route.cut.reason}",))  # fmt: skip


def _ordered(shown: list[_Shown]) -> Iterator[_Shown]:
    by_thread: dict[str, list[_Shown]] = {}
    for one in shown:
        by_thread.setdefault(one.thread, []).append(one)
    while by_thread:
        yield from _thread(next(iter(by_thread)), by_thread)


def _thread(name: str, by_thread: dict[str, list[_Shown]]) -> Iterator[_Shown]:
    for one in by_thread.pop(name):
        yield one
        if one.kind == "delegate" and one.child in by_thread:
            yield from _thread(one.child, by_thread)


_SHOWN_KINDS = {
    "navigation": "look", "execution": "run", "creation": "create", "edit": "edit",
    "outside_write": "outside", "bookkeeping": "keep", None: "write",
}  # fmt: skip


def _kind(step: Step) -> str:
    return "delegate" if step.purpose == "delegate" else _SHOWN_KINDS[step.kind]


def _is_cut(shown: _Shown, step: Step | None, route: Route) -> bool:
    if shown.line != route.cut.line:
        return False
    if route.cut.reason == "mutation":
        return step is not None and step is route.steps[-1]
    return route.cut.reason == "answer" and shown.said and shown.kind == "answer"


def _notes(step: Step) -> Iterator[str]:
    if step.reason is not None:
        yield step.reason
    if step.unparsed:
        yield "not parsed"
    if step.assumed:
        yield "assumed to edit: nothing tells whether the file was there"
    if step.outcome is not None:
        yield from _ended(step.outcome)
    elif step.kind != "bookkeeping":
        yield "no result"


def _ended(outcome: Outcome) -> Iterator[str]:
    if outcome.refused:
        yield "refused"
    if outcome.timed_out:
        yield "timed out"
    elif outcome.ok is False:
        yield f"failed: {outcome.error or 'no message'}"
    elif outcome.exit_code == 1:
        yield "no match"
    if outcome.duration_ms is not None:
        yield f"{outcome.duration_ms:g} ms"


def _selects(step: Step, roots: Roots) -> Iterator[tuple[str, str]]:
    for one in step.selections:
        artifact = stable_id(one.path, folders=one.folders, roots=roots)
        if artifact is not None:
            yield one.tier, artifact
