"""A session as a timeline that a person can read: why its packet says what it says."""

from collections.abc import Iterator

import msgspec

from wayproof.capture.ids import Roots, stable_id
from wayproof.capture.route import Mark, Route, Step

__all__ = ["Entry", "timeline"]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a timeline.

    Attributes
    ----------
    line
        Line in the log (0: the log has no lines).
    kind
        ``prompt``, ``look`` (a navigation call), ``change`` (a mutation), ``plan``,
        ``answer`` or ``failure``.
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


def timeline(route: Route, marks: list[Mark], roots: Roots) -> Iterator[Entry]:
    """Yield a session's entries in the order of the log, an agent's below what called it."""
    in_route = {id(step) for step in route.steps}
    threads = {mark.thread for mark in marks if mark.thread}
    cut_seen = False
    for mark in _ordered([mark for mark in marks if mark.kind != "result"]):
        step = mark.step
        inside = step is not None and id(step) in in_route
        notes = list(_notes(step)) if step is not None and inside else []
        if step is not None and step is route.first:
            notes.insert(0, "FIRST CONTACT")
        if not cut_seen and _is_cut(mark, route):
            cut_seen = True
            notes.append(f"CUT: {route.cut.reason}")
        elif step is not None and not inside and step.purpose not in {"plan", "answer"}:
            stands = step.purpose == "delegate" and step.child in threads
            notes.append(f"done by {step.child}" if stands else "outside the route")
        yield Entry(
            line=mark.line,
            kind=_kind(mark),
            thread=mark.thread,
            text=mark.text,
            notes=tuple(notes),
            selects=tuple(_selects(step, roots)) if step is not None and inside else (),
        )
    if not cut_seen:
        yield Entry(line=route.cut.line, kind="end", thread="", text="",
                    notes=(f"CUT: {route.cut.reason}",))  # fmt: skip


def _ordered(marks: list[Mark]) -> Iterator[Mark]:
    by_thread: dict[str, list[Mark]] = {}
    for mark in marks:
        by_thread.setdefault(mark.thread, []).append(mark)
    while by_thread:
        yield from _thread(next(iter(by_thread)), by_thread)


def _thread(name: str, by_thread: dict[str, list[Mark]]) -> Iterator[Mark]:
    for mark in by_thread.pop(name):
        yield mark
        step = mark.step
        if step is not None and step.purpose == "delegate" and step.child in by_thread:
            yield from _thread(step.child, by_thread)


def _kind(mark: Mark) -> str:
    step = mark.step
    if step is None:
        return mark.kind
    if step.purpose in {"plan", "answer"}:
        return step.purpose
    if step.mutates:
        return "change"
    return "delegate" if step.purpose == "delegate" else "look"


def _is_cut(mark: Mark, route: Route) -> bool:
    if mark.line != route.cut.line:
        return False
    if route.cut.reason == "mutation":
        return mark.step is not None and mark.step.mutates and mark.step in route.steps
    return route.cut.reason == "answer" and mark.kind == "answer"


def _notes(step: Step) -> Iterator[str]:
    outcome = step.outcome
    if step.reason is not None:
        yield step.reason
    if step.unparsed:
        yield "not parsed"
    if outcome is None:
        if step.purpose not in {"plan", "answer"}:
            yield "no result"
        return
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
