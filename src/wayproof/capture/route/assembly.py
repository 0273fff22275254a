"""The threads of a session put together: a delegated call stands for its child's calls."""

import msgspec

from wayproof.capture.route.records import Cut, Route, Step, Until, clip
from wayproof.capture.route.thread import ThreadCut
from wayproof.capture.session import MAIN_THREAD, Outcome, SessionInfo, Spawn

__all__ = ["assembled"]

_MAX_DEPTH = 8


def assembled(
    info: SessionInfo,
    threads: dict[str, ThreadCut],
    spawns: list[Spawn],
    *,
    until: Until,
) -> Route:
    """Return the route of a session whose log has ended."""
    return _Assembly(info, threads, spawns, until).route()


class _Assembly:
    def __init__(
        self,
        info: SessionInfo,
        threads: dict[str, ThreadCut],
        spawns: list[Spawn],
        until: Until,
    ) -> None:
        self._info = info
        self._until = until
        self._threads = threads
        self._spawns = spawns
        self._taken: set[str] = set()
        self._steps: list[tuple[Step, bool]] = []
        self._cut: Cut | None = None
        self._unmeasured_calls = 0
        self._children: dict[int, str] = {}
        self._first: tuple[Step, bool] | None = None
        self._first_reason = "no_navigation"
        self._first_known = False
        self._looks = 0

    def route(self) -> Route:
        main = self._threads[MAIN_THREAD]
        wall_ms = self._walk(main, depth=0)
        cut = self._cut or _quiet_end(main)
        navigation = [step for step, _ in self._steps if step.looks]
        first, below = self._first or (None, False)
        timed_out, error = _verdict(navigation, cut)
        if main.failure is not None and cut.reason != "mutation":
            timed_out = timed_out or main.failure.timed_out
            error = main.failure.error or error
        answer = main.answer if cut.reason == "answer" else None
        start = self._info.started_ms if self._info.started_ms is not None else main.first_at_ms
        if main.prompt is not None and main.prompt.at_ms is not None:
            start = main.prompt.at_ms
        return Route(
            info=self._info,
            prompt=clip(main.prompt.text) if main.prompt is not None else None,
            prompt_count=main.prompt_count,
            steps=[step for step, _ in self._steps],
            cut=cut,
            first=first,
            first_reason=self._first_reason if first is None else first.reason,
            via_subagent=below,
            wall_ms=None if self._unmeasured_calls or not self._any_measured() else wall_ms,
            measured_ms=wall_ms,
            unmeasured_calls=self._unmeasured_calls,
            elapsed_ms=_elapsed(start, cut.at_ms),
            timed_out=timed_out,
            error=error,
            answer=clip(answer.text) if answer is not None else None,
            answer_line=answer.line if answer is not None else None,
            failed_calls=sum(map(_failed, navigation)),
            started_at_prompt=main.prompt is not None,
            created=list(dict.fromkeys(path for step, _ in self._steps for path in step.made)),
            children=self._children,
            until=self._until,
        )

    def _any_measured(self) -> bool:
        return any(
            step.outcome is not None and step.outcome.duration_ms is not None
            for step, _ in self._steps
            if step.looks
        )

    def _walk(self, thread: ThreadCut, depth: int) -> float:
        """Append the thread's steps; return its measured wall time in ms."""
        batches: dict[int, float] = {}
        for step in thread.steps:
            step.file = thread.file
            child = self._child_of(thread, step) if step.purpose == "delegate" else None
            if child is not None and child.last_line and depth < _MAX_DEPTH:
                self._children[step.number] = child.name
                taken_ms = self._walk(child, depth + 1)
            else:
                if step.purpose == "delegate":
                    step.first, step.reason = None, "subagent_not_logged"
                self._steps.append((step, depth > 0))
                taken_ms = self._taken_ms(step)
                self._count(step, below=depth > 0)
            batches[step.batch] = max(batches.get(step.batch, 0.0), taken_ms)
            if self._cut is not None:
                break
        if self._cut is None and thread.mutation is not None:
            self._cut = msgspec.structs.replace(thread.mutation, file=thread.file)
        return sum(batches.values())

    def _count(self, step: Step, *, below: bool) -> None:
        """Tell the first contact, and end the route where a number of calls ends it."""
        if not self._first_known:
            self._tell_first(step, below=below)
        self._looks += step.looks
        place = self._until.place
        if place == "first-contact" and self._first is not None and self._first[0] is step:
            self._cut_behind(step, "first_contact")
        elif place == "calls" and step.looks and self._looks == self._until.calls:
            self._cut_behind(step, "calls")

    def _tell_first(self, step: Step, *, below: bool) -> None:
        """Take the first navigation call; an execution only where nothing was made before it."""
        runs_first = step.kind == "execution" and self._first_reason != "created_only"
        ran_and_edited = step.kind == "edit" and step.first is not None
        if step.looks or runs_first or ran_and_edited:
            self._first, self._first_known = (step, below), True
        elif step.kind == "edit":
            self._first_reason, self._first_known = "mutated_first", True
        elif step.kind == "creation":
            self._first_reason = "created_only"

    def _cut_behind(self, step: Step, reason: str) -> None:
        line = step.line if step.result_line is None else step.result_line
        at_ms = step.at_ms if step.result_at_ms is None else step.result_at_ms
        self._cut = Cut(reason, line, at_ms, step.file)

    def _taken_ms(self, step: Step) -> float:
        if not step.looks or (step.outcome is not None and step.outcome.refused):
            return 0.0
        taken_ms = step.outcome.duration_ms if step.outcome is not None else None
        if taken_ms is None or step.purpose == "delegate":
            self._unmeasured_calls += 1
            return 0.0
        return taken_ms

    # -- who did a delegated call's work ----------------------------------------------

    def _child_of(self, parent: ThreadCut, step: Step) -> ThreadCut | None:
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


def _quiet_end(main: ThreadCut) -> Cut:
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
