"""The cut: one route out of a session's events.

A route starts at the first genuine prompt and ends at the first mutation, else at the
final answer, else where the log ends. Between the two stand the navigation calls; the
first of them, in call order, is the first contact. Events come one at a time and only
what a packet needs is kept, so a session costs memory by its calls, not by its bytes.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from wayproof.capture import results
from wayproof.capture.commands import SEARCHERS, git_words, unwrapped
from wayproof.capture.session import (
    MAIN_THREAD,
    Answer,
    Call,
    Event,
    Failure,
    Named,
    Outcome,
    Prompt,
    Result,
    SessionInfo,
    Spawn,
)
from wayproof.capture.shell import Reading, Segment, read_command, typed_text
from wayproof.capture.tools import Tool, command_of, folder_of, named_files, tool_of

__all__ = ["Cut", "Mark", "Route", "Selection", "SessionCutter", "Step", "Tier"]

Tier = Literal["read", "matched", "listed"]
TIERS: dict[str, int] = {"read": 0, "matched": 1, "listed": 2}

MAX_TEXT_CHARS = 1 << 16
"""First contact, raw command, prompt and answer are kept to this length."""


class Selection(msgspec.Struct, frozen=True):
    """A file that a call selected: path and working directories as the log has them."""

    tier: str
    path: str
    folders: tuple[str | None, ...]
    lines: tuple[int, int] | None
    line: int


class Step(msgspec.Struct, kw_only=True):
    """One call of the route: navigation, or the mutation that ended it."""

    call_id: str
    tool: str
    line: int
    thread: str
    batch: int
    purpose: str
    asked: str | None = None
    first: str | None = None
    raw: str | None = None
    reason: str | None = None
    mutates: bool = False
    unparsed: bool = False
    outcome: Outcome | None = None
    result_line: int | None = None
    at_ms: float | None = None
    child: str | None = None
    file: str | None = None
    selections: tuple[Selection, ...] = ()

    @property
    def navigates(self) -> bool:
        """Whether it counts as navigation; a call may navigate and then mutate."""
        return not self.mutates or self.first is not None


class Cut(msgspec.Struct, frozen=True):
    """Where and why a thread's route ends."""

    reason: str
    line: int
    at_ms: float | None = None
    file: str | None = None


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the timeline that ``inspect`` shows."""

    kind: str
    line: int
    thread: str
    text: str
    step: Step | None = None


class Route(msgspec.Struct, kw_only=True):
    """What was cut out of one session; :mod:`wayproof.capture.packet` makes the packet."""

    info: SessionInfo
    prompt: str | None
    prompt_count: int
    steps: list[Step]
    cut: Cut
    first: Step | None
    first_reason: str | None
    via_subagent: bool
    wall_ms: float | None
    measured_ms: float
    unmeasured_calls: int
    elapsed_ms: float | None
    timed_out: bool
    error: str | None
    answer: str | None
    answer_line: int | None
    failed_calls: int
    started_at_prompt: bool


class _Pending(msgspec.Struct, gc=False):
    """What a call's result will be read with."""

    step: Step
    tool: Tool
    arguments: Mapping[str, Any] | str | None
    reading: Reading | None
    folders: tuple[str | None, ...]
    typed: str | None = None


class _Thread:
    """The cut of one thread; see :class:`SessionCutter`."""

    def __init__(self, name: str, tier: Tier, marks: list[Mark] | None) -> None:
        self.name = name
        self.file: str | None = None
        self._wanted = TIERS[tier]
        self._marks = marks
        self.prompt: Prompt | None = None
        self.prompt_count = 0
        self._reset()

    def _reset(self) -> None:
        self.steps: list[Step] = []
        self.pending: dict[str, _Pending] = {}
        self.answer: Answer | None = None
        self.mutation: Cut | None = None
        self.failure: Failure | None = None
        self.last_line = 0
        self.last_at_ms: float | None = None
        self.first_at_ms: float | None = None
        self._batch = 0
        self._batch_name: str | None = None
        self._in_batch = False
        self._has_first = False
        self.seen: set[str] = set()

    def mark(self, kind: str, line: int, text: str, step: Step | None = None) -> None:
        if self._marks is not None:
            clipped = text[:2000]
            self._marks.append(
                Mark(kind=kind, line=line, thread=self.name, text=clipped, step=step)
            )

    # -- events -----------------------------------------------------------------------

    def on_prompt(self, event: Prompt, *, prompts_logged: bool) -> None:
        self._in_batch = False
        if self.prompt is None and not prompts_logged and self.steps:
            return  # a later turn of a log that doesn't hold the first prompt
        self.prompt_count += 1
        self.mark("prompt", event.line, event.text)
        if self.prompt is None:
            self._reset()  # what came before belongs to no task of this log
            self.prompt = event
        self._touch(event.line, event.at_ms)

    def _touch(self, line: int, at_ms: float | None) -> None:
        if self.mutation is None:
            self.last_line = line
            if at_ms is not None:
                self.last_at_ms = at_ms
                if self.first_at_ms is None:
                    self.first_at_ms = at_ms

    def on_answer(self, event: Answer) -> None:
        self._in_batch = False
        self.mark("answer", event.line, event.text)
        if self.mutation is None:
            self.answer = event
            self.failure = None  # the agent got over it
            self._touch(event.line, event.at_ms)

    def on_failure(self, event: Failure) -> None:
        self.mark("failure", event.line, event.error or "timed out")
        if self.mutation is None:
            self.failure = event

    def on_call(self, event: Call, cwd: str | None) -> None:
        if self.mutation is not None and self._marks is None:
            return
        if event.call_id in self.seen:
            return  # a resumed log repeats its history
        self.seen.add(event.call_id)
        batch = self._batch_of(event)
        tool = tool_of(event.tool, event.arguments)
        folders: tuple[str | None, ...] = (cwd, event.cwd)
        if tool.purpose == "shell":
            folders = (*folders, folder_of(event.arguments))
        step, pending = self._step(event, tool, folders, batch)
        self.mark("call", event.line, step.raw or step.first or event.tool, step)
        if self.mutation is not None:
            return
        if tool.purpose == "plan":
            self._touch(event.line, event.at_ms)
            return
        if tool.purpose == "answer":
            self.answer = Answer(
                text=_answer_text(event.arguments), line=event.line, at_ms=event.at_ms, final=True
            )
            self._touch(event.line, event.at_ms)
            return
        self.answer = None
        self.failure = None  # the agent went on
        self._touch(event.line, event.at_ms)
        if self._has_first and self._marks is None and step.navigates:
            step.first, step.raw = "", None
        if step.navigates and tool.purpose != "delegate":
            self._has_first = True
        self.steps.append(step)
        self.pending[event.call_id] = pending
        if step.mutates:
            self.mutation = Cut("mutation", event.line, event.at_ms)

    def _batch_of(self, event: Call) -> int:
        """Return the batch's number: batches are told by name, else by what came between."""
        same = event.batch == self._batch_name if event.batch is not None else self._in_batch
        if not same:
            self._batch += 1
        self._batch_name = event.batch
        self._in_batch = True
        return self._batch

    def _step(
        self, event: Call, tool: Tool, folders: tuple[str | None, ...], batch: int
    ) -> tuple[Step, _Pending]:
        step = Step(
            call_id=event.call_id,
            tool=event.tool,
            line=event.line,
            thread=self.name,
            batch=batch,
            purpose=tool.purpose,
            at_ms=event.at_ms,
        )
        if tool.purpose == "delegate" and isinstance(event.arguments, Mapping):
            step.asked = _asked(event.arguments)
        reading: Reading | None = None
        typed: str | None = None
        if event.opaque:
            step.reason, step.raw = "code_mode", _clip(_raw_text(event.arguments))
        elif tool.purpose == "shell":
            reading = _shell(step, event, tool)
            # Needed again only to find the folder of names in the output.
            typed = _typed(event) if self._wanted and reading is not None else None
        elif event.arguments is None and event.typed is None:
            step.reason = "arguments_not_logged"
            step.mutates = tool.purpose == "mutation"
        else:
            # Of later calls nothing is shown, so their text is not worth making.
            wanted = not self._has_first or self._marks is not None
            step.first = step.raw = _clip(_tool_text(event)) if wanted else ""
            step.mutates = tool.purpose == "mutation"
        if step.mutates and (reading is None or reading.mutates_first):
            step.first = None
        return step, _Pending(step, tool, event.arguments, reading, folders, typed)

    def on_result(self, event: Result) -> None:
        self._in_batch = False
        pending = self.pending.pop(event.call_id, None)
        if pending is None:
            return
        step = pending.step
        step.outcome = _settled(event.outcome, pending.reading)
        step.result_line = event.line
        step.child = event.child if event.child is not None else step.child
        self._touch(event.line, event.at_ms)
        if step.outcome.ok is not False and not step.outcome.refused:
            step.selections = tuple(self._selected(pending, event))
        self.mark("result", event.line, "", step)

    # -- selections -------------------------------------------------------------------

    def _selected(self, pending: _Pending, event: Result) -> Iterator[Selection]:
        seen: set[tuple[str, str]] = set()
        for named, folders in self._named(pending, event):
            key = (named.tier, named.path)
            if TIERS[named.tier] <= self._wanted and key not in seen:
                seen.add(key)
                yield Selection(named.tier, named.path, folders, named.lines, pending.step.line)

    def _named(
        self, pending: _Pending, event: Result
    ) -> Iterator[tuple[Named, tuple[str | None, ...]]]:
        tool, folders = pending.tool, pending.folders
        if event.files is not None and tool.purpose != "shell":
            for named in event.files:
                yield named, folders
        elif tool.purpose == "read":
            tier = "listed" if _is_listing(event) else "read"
            for named in named_files(pending.arguments):
                yield Named(tier, named.path, named.lines), folders
        elif tool.purpose in {"matched", "listed"} and self._wanted >= TIERS[tool.purpose]:
            text = results.body_text(event.body)
            for named in (
                results.matched_paths(text, pending.arguments)
                if tool.purpose == "matched"
                else _listing(text)
            ):
                yield named, folders
        elif pending.reading is not None:
            yield from self._from_shell(pending, pending.reading, event)

    def _from_shell(
        self, pending: _Pending, reading: Reading, event: Result
    ) -> Iterator[tuple[Named, tuple[str | None, ...]]]:
        folders = pending.folders
        unread: set[str] = set()
        if reading.reads and results.body_has(event.body, results.UNREAD_WORDS):
            unread = results.unread_paths(results.body_text(event.body))
        for read in reading.reads:
            if read.path not in unread:
                yield Named("read", read.path, read.lines), (*folders, read.folder)
        if self._wanted == 0 or reading.unparsed or reading.mutates or len(reading.segments) != 1:
            return
        printed = results.search_or_list(reading.segments[0].commands)
        if printed is None or TIERS[printed[0]] > self._wanted:
            return
        known, inner = _folder_of(pending.typed, reading.segments[0])
        if known:
            text = results.body_text(event.body)
            for named in results.printed_paths(*printed, text):
                yield named, (*folders, *inner)


_PROBE = "wayproof-probe"
_MOVES = re.compile(r"\b(?:cd|pushd|popd|chdir|sl|set-location|push-location)\b", re.IGNORECASE)


def _folder_of(typed: str | None, segment: Segment) -> tuple[bool, tuple[str | None, ...]]:
    """Return whether a segment's folder is known, and what it is relative to the call's.

    A file that was read in the segment's place would lie in the same folder, and reads
    carry theirs; so the command is read again with a read put there.
    """
    first = unwrapped(segment.commands[0])
    inner = git_words(first.words)[2] if first.name == "git" else None
    if typed is not None and _MOVES.search(typed) is None:
        return True, (inner,)
    if typed is None or typed.count(segment.text) != 1:
        return False, ()
    probed = read_command(typed.replace(segment.text, f"cat {_PROBE}"))
    found = next((read for read in probed.reads if read.path == _PROBE), None)
    if found is None:
        return False, ()
    return True, (found.folder, inner)


def _listing(text: str) -> Iterator[Named]:
    if "\n- " in f"\n{text.lstrip()}":
        yield from results.listed_paths(text)
        return
    for line in text.splitlines()[:20_000]:
        if line.strip() and " " not in line.strip():
            yield Named("listed", line.strip())


def _is_listing(event: Result) -> bool:
    words = ("files and directories up to 2 levels deep",)
    return results.body_has(event.body, words)


def _typed(event: Call) -> str | None:
    command = event.typed if event.typed is not None else command_of(event.arguments)
    return None if command is None else typed_text(command)


def _shell(step: Step, event: Call, tool: Tool) -> Reading | None:
    command = event.typed if event.typed is not None else command_of(event.arguments)
    if command is None:
        step.reason = "arguments_not_logged"
        return None
    text = typed_text(command)
    powershell = "powershell" in tool.name or (
        isinstance(command, list) and bool(command) and "powershell" in str(command[0]).lower()
    )
    reading = read_command(text, powershell=powershell)
    step.first = _clip(reading.first)
    step.raw = _clip(command if isinstance(command, str) else _joined(command))
    step.mutates = reading.mutates
    step.unparsed = reading.unparsed
    return reading


def _joined(command: list[Any]) -> str:
    import shlex

    return shlex.join([word for word in command if isinstance(word, str)])


_NEVER_FAIL = frozenset({"echo", "printf", "true", ":"})
"""Behind ``grep … &&`` these can't be what failed."""


def _settled(outcome: Outcome, reading: Reading | None) -> Outcome:
    """Exit status 1 of a search says "no match", which is an answer and no failure."""
    if outcome.ok is not False or outcome.exit_code != 1 or outcome.timed_out or reading is None:
        return outcome
    for segment in reversed(reading.segments):
        if not segment.commands:
            continue
        last = unwrapped(segment.commands[-1])
        name = f"git {git_words(last.words)[0]}" if last.name == "git" else last.name
        if name in SEARCHERS:
            break
        if name not in _NEVER_FAIL:
            return outcome
    else:
        return outcome
    return Outcome(ok=True, exit_code=1, duration_ms=outcome.duration_ms)


def _tool_text(event: Call) -> str:
    if event.typed is not None:
        return event.typed.strip()
    if isinstance(event.arguments, str):
        return f"{event.tool} {event.arguments}"
    return f"{event.tool} {_canonical(event.arguments)}"


def _raw_text(arguments: Mapping[str, Any] | str | None) -> str:
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else _canonical(arguments)


def _canonical(arguments: Any) -> str:
    from wayproof.canonical import canonical_bytes
    from wayproof.errors import InputError

    try:
        return canonical_bytes(arguments).decode("utf-8")
    except InputError:  # an integer beyond 2^53, say: sorted keys are the next best thing
        return msgspec.json.encode(arguments, order="sorted").decode("utf-8", "replace")


def _clip(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARS else text[:MAX_TEXT_CHARS]


def _answer_text(arguments: Mapping[str, Any] | str | None) -> str:
    if isinstance(arguments, str):
        return arguments
    if isinstance(arguments, Mapping):
        for key in ("message", "answer", "result", "final_thought", "summary", "text"):
            value = arguments.get(key)
            if isinstance(value, str):
                return value
    return ""


# -- sessions -------------------------------------------------------------------------


class SessionCutter:
    """Cut the route out of one session's events.

    Parameters
    ----------
    info
        Filled in by the adapter as the log names things.
    tier
        Selections beyond this tier are not looked for.
    timeline
        Keep a mark for every event, for ``inspect``.
    """

    def __init__(self, info: SessionInfo, *, tier: Tier = "read", timeline: bool = False) -> None:
        self.info = info
        self._tier: Tier = tier
        self.marks: list[Mark] | None = [] if timeline else None
        self._threads: dict[str, _Thread] = {}
        self._spawns: list[Spawn] = []
        self._main = self._thread(MAIN_THREAD)

    def _thread(self, name: str) -> _Thread:
        thread = self._threads.get(name)
        if thread is None:
            thread = self._threads[name] = _Thread(name, self._tier, self.marks)
        return thread

    @property
    def closed(self) -> bool:
        """Whether no later event can change the route."""
        main = self._main
        if self.marks is not None or main.mutation is None or main.pending:
            return False
        return main.prompt is not None or not self.info.prompts_logged

    def feed(self, event: Event) -> None:
        """Take the next event, in the order of the log."""
        if isinstance(event, Spawn):
            self._spawns.append(event)
            self._thread(event.child).file = event.file
            return
        if isinstance(event, Failure):
            self._main.on_failure(event)
            return
        thread = self._thread(event.thread)
        if isinstance(event, Call):
            thread.on_call(event, self.info.cwd)
        elif isinstance(event, Result):
            thread.on_result(event)
        elif isinstance(event, Prompt):
            thread.on_prompt(event, prompts_logged=self.info.prompts_logged)
        else:
            thread.on_answer(event)

    def delegates(self, call_id: str, thread: str) -> bool:
        """Whether a call that waits for its result handed work to another agent."""
        pending = self._thread(thread).pending.get(call_id)
        return pending is not None and pending.tool.purpose == "delegate"

    def knows_call(self, call_id: str) -> bool:
        """Whether the main thread has made this call: a sub-agent's log may repeat it."""
        return call_id in self._main.seen

    def undelegated(self) -> Iterator[Step]:
        """Yield the delegating calls whose agents are no thread of this session yet."""
        known = {spawn.parent_call for spawn in self._spawns}
        for thread in list(self._threads.values()):
            for step in thread.steps:
                known_child = step.child is not None and step.child in self._threads
                if step.purpose == "delegate" and step.call_id not in known and not known_child:
                    yield step

    def finish(self) -> Route:
        """Return the route; the log has ended."""
        return _Finish(self.info, self._threads, self._spawns).route()


class _Finish:
    """Put the threads of a session together: a delegated call stands for its child's calls."""

    def __init__(self, info: SessionInfo, threads: dict[str, _Thread], spawns: list[Spawn]) -> None:
        self._info = info
        self._threads = threads
        self._spawns = spawns
        self._taken: set[str] = set()
        self.steps: list[tuple[Step, bool]] = []
        self.cut: Cut | None = None
        self.unmeasured_calls = 0

    def route(self) -> Route:
        main = self._threads[MAIN_THREAD]
        wall_ms = self._walk(main, depth=0)
        cut = self.cut or _quiet_end(main)
        navigation = [(step, below) for step, below in self.steps if step.navigates]
        first, below = navigation[0] if navigation else (None, False)
        timed_out, error = _verdict([step for step, _ in navigation], cut)
        if main.failure is not None and cut.reason != "mutation":
            timed_out = timed_out or main.failure.timed_out
            error = main.failure.error or error
        answer = main.answer if cut.reason == "answer" else None
        start = self._info.started_ms if self._info.started_ms is not None else main.first_at_ms
        if main.prompt is not None and main.prompt.at_ms is not None:
            start = main.prompt.at_ms
        return Route(
            info=self._info,
            prompt=_clip(main.prompt.text) if main.prompt is not None else None,
            prompt_count=main.prompt_count,
            steps=[step for step, _ in self.steps],
            cut=cut,
            first=first,
            first_reason=_first_reason(first, self.steps),
            via_subagent=below,
            wall_ms=None if self.unmeasured_calls or not self._any_measured() else wall_ms,
            measured_ms=wall_ms,
            unmeasured_calls=self.unmeasured_calls,
            elapsed_ms=_elapsed(start, cut.at_ms),
            timed_out=timed_out,
            error=error,
            answer=_clip(answer.text) if answer is not None else None,
            answer_line=answer.line if answer is not None else None,
            failed_calls=sum(_failed(step) for step, _ in navigation),
            started_at_prompt=main.prompt is not None,
        )

    def _any_measured(self) -> bool:
        return any(
            step.outcome is not None and step.outcome.duration_ms is not None
            for step, _ in self.steps
            if step.navigates
        )

    def _walk(self, thread: _Thread, depth: int) -> float:
        """Append the thread's steps; return its measured wall time in ms."""
        batches: dict[int, float] = {}
        for step in thread.steps:
            step.file = thread.file
            child = self._child_of(thread, step) if step.purpose == "delegate" else None
            if child is not None and depth < 8:
                taken_ms = self._walk(child, depth + 1)
            else:
                if step.purpose == "delegate":
                    step.first, step.reason = None, "subagent_not_logged"
                self.steps.append((step, depth > 0))
                taken_ms = self._taken_ms(step)
            batches[step.batch] = max(batches.get(step.batch, 0.0), taken_ms)
            if self.cut is not None:
                break
        if self.cut is None and thread.mutation is not None:
            self.cut = msgspec.structs.replace(thread.mutation, file=thread.file)
        return sum(batches.values())

    def _taken_ms(self, step: Step) -> float:
        if not step.navigates or (step.outcome is not None and step.outcome.refused):
            return 0.0
        taken_ms = step.outcome.duration_ms if step.outcome is not None else None
        if taken_ms is None or step.purpose == "delegate":
            self.unmeasured_calls += 1
            return 0.0
        return taken_ms

    def _child_of(self, parent: _Thread, step: Step) -> _Thread | None:
        """Find the thread a call delegated to: by name, by call, else by its prompt."""
        free = [one for one in self._spawns if one.child not in self._taken]
        candidates: list[str | None] = [
            step.child,
            next((one.child for one in free if one.parent_call == step.call_id), None),
            next((one.child for one in free if _prompted(one, step)), None),
        ]
        candidates += self._lone_chain(step)
        known = [
            self._threads[name]
            for name in candidates
            if name in self._threads and name not in self._taken and name != parent.name
        ]
        # A fragment without calls is taken only where nothing says more.
        thread = next((one for one in known if one.steps), known[0] if known else None)
        if thread is not None:
            self._taken.add(thread.name)
            step.child = thread.name
        return thread

    def _lone_chain(self, step: Step) -> list[str]:
        """Side chains whose own prompt is not logged, where there is only one to choose."""
        owned = {one.child for one in self._spawns if one.parent_call is not None}
        asked = {one.asked for one in self._main_steps() if one is not step}
        free = [
            one.child
            for one in self._spawns
            if one.file is None
            and one.child not in owned | self._taken
            and one.prompt not in asked
            and self._threads[one.child].steps
        ]
        return free if len(free) == 1 else []

    def _main_steps(self) -> list[Step]:
        return [one for one in self._threads[MAIN_THREAD].steps if one.asked is not None]


def _prompted(spawn: Spawn, step: Step) -> bool:
    return spawn.parent_call is None and spawn.prompt is not None and spawn.prompt == step.asked


def _asked(arguments: Mapping[str, Any]) -> str | None:
    for key in ("prompt", "message", "task", "instructions", "query", "objective"):
        value = arguments.get(key)
        if isinstance(value, str):
            return _clip(value)
    return None


def _first_reason(first: Step | None, steps: list[tuple[Step, bool]]) -> str | None:
    if first is not None:
        return first.reason
    return "mutated_first" if any(step.mutates for step, _ in steps) else "no_navigation"


def _quiet_end(main: _Thread) -> Cut:
    if main.answer is not None:
        return Cut("answer", main.answer.line, main.answer.at_ms)
    return Cut("end_of_log", main.last_line, main.last_at_ms)


def _failed(step: Step) -> bool:
    return step.outcome is not None and (step.outcome.ok is False or step.outcome.timed_out)


def _verdict(navigation: list[Step], cut: Cut) -> tuple[bool, str | None]:
    """Whether the route timed out or erred.

    It did when nothing it tried succeeded, or when the log ends on a batch in which
    nothing did. An error that the agent got over, on its way to an edit or an answer, is
    none of the route's.
    """
    known = [step for step in navigation if step.outcome is not None and _known(step.outcome)]
    if not known:
        return False, None
    ended = known[-1].thread, known[-1].batch
    last = [step for step in known if (step.thread, step.batch) == ended]
    if not all(map(_failed, last if cut.reason == "end_of_log" else known)):
        return False, None
    outcomes = [step.outcome for step in last if step.outcome is not None]
    timed_out = any(outcome.timed_out for outcome in outcomes)
    errors = [one.error or "failed" for one in outcomes if not one.timed_out]
    return timed_out, errors[-1] if errors and not timed_out else None


def _known(outcome: Outcome) -> bool:
    return outcome.timed_out or (outcome.ok is not None and not outcome.refused)


def _elapsed(start_ms: float | None, end_ms: float | None) -> float | None:
    if start_ms is None or end_ms is None or end_ms < start_ms:
        return None
    return round(end_ms - start_ms, 3)
