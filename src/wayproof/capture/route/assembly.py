"""The threads of a session put together: a delegated call stands for its child's calls."""

import msgspec

from wayproof.capture.route.records import Cut, Route, Step, clip
from wayproof.capture.route.thread import ThreadCut
from wayproof.capture.session import MAIN_THREAD, Outcome, SessionInfo, Spawn

__all__ = ["assembled"]

_MAX_DEPTH = 8


def assembled(info: SessionInfo, threads: dict[str, ThreadCut], spawns: list[Spawn]) -> Route:
    """Return the route of a session whose log has ended."""
    return _Assembly(info, threads, spawns).route()


class _Assembly:
    def __init__(
        self, info: SessionInfo, threads: dict[str, ThreadCut], spawns: list[Spawn]
    ) -> None:
        self._info = info
        self._threads = threads
        self._spawns = spawns
        self._taken: set[str] = set()
        self._steps: list[tuple[Step, bool]] = []
        self._cut: Cut | None = None
        self._unmeasured_calls = 0
        self._children: dict[int, str] = {}

    def route(self) -> Route:
        main = self._threads[MAIN_THREAD]
        wall_ms = self._walk(main, depth=0)
        cut = self._cut or _quiet_end(main)
        navigation = [(step, below) for step, below in self._steps if step.navigates]
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
            prompt=clip(main.prompt.text) if main.prompt is not None else None,
            prompt_count=main.prompt_count,
            steps=[step for step, _ in self._steps],
            cut=cut,
            first=first,
            first_reason=_first_reason(first, self._steps),
            via_subagent=below,
            wall_ms=None if self._unmeasured_calls or not self._any_measured() else wall_ms,
            measured_ms=wall_ms,
            unmeasured_calls=self._unmeasured_calls,
            elapsed_ms=_elapsed(start, cut.at_ms),
            timed_out=timed_out,
            error=error,
            answer=clip(answer.text) if answer is not None else None,
            answer_line=answer.line if answer is not None else None,
            failed_calls=sum(_failed(step) for step, _ in navigation),
            started_at_prompt=main.prompt is not None,
            children=self._children,
        )

    def _any_measured(self) -> bool:
        return any(
            step.outcome is not None and step.outcome.duration_ms is not None
            for step, _ in self._steps
            if step.navigates
        )

    def _walk(self, thread: ThreadCut, depth: int) -> float:
        """Append the thread's steps; return its measured wall time in ms."""
        batches: dict[int, float] = {}
        for step in thread.steps:
            step.file = thread.file
            child = self._child_of(thread, step) if step.purpose == "delegate" else None
            if child is not None and depth < _MAX_DEPTH:
                self._children[step.number] = child.name
                taken_ms = self._walk(child, depth + 1)
            else:
                if step.purpose == "delegate":
                    step.first, step.reason = None, "subagent_not_logged"
                self._steps.append((step, depth > 0))
                taken_ms = self._taken_ms(step)
            batches[step.batch] = max(batches.get(step.batch, 0.0), taken_ms)
            if self._cut is not None:
                break
        if self._cut is None and thread.mutation is not None:
            self._cut = msgspec.structs.replace(thread.mutation, file=thread.file)
        return sum(batches.values())

    def _taken_ms(self, step: Step) -> float:
        if not step.navigates or (step.outcome is not None and step.outcome.refused):
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


def _first_reason(first: Step | None, steps: list[tuple[Step, bool]]) -> str | None:
    if first is not None:
        return first.reason
    return "mutated_first" if any(step.mutates for step, _ in steps) else "no_navigation"


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
