"""The cut of one thread: the calls between its first prompt and its end."""

from wayproof.capture.route.call import ReadCall, answer_text, read_call
from wayproof.capture.route.files import Files
from wayproof.capture.route.kinds import Verdict, judged
from wayproof.capture.route.records import TIERS, Cut, Step, Tier, Until
from wayproof.capture.route.selecting import selected, settled
from wayproof.capture.session import MAIN_THREAD, Answer, Call, Failure, Prompt, Result

__all__ = ["ThreadCut"]

_ENDS: dict[str, frozenset[str]] = {
    "write": frozenset({"edit", "creation"}),
    "answer": frozenset(),
}
_EDIT = frozenset({"edit"})


class ThreadCut:
    """Collect the route's calls of one thread; :mod:`.assembly` puts threads together.

    Attributes
    ----------
    steps
        The calls so far, the one that ended the route included.
    pending
        Calls whose result hasn't come yet, by id; a model may use an id again.
    answer
        The last answer that no call followed.
    mutation
        Where a change ended the thread's route, once one has.
    ended
        Nothing later belongs to the route: it was answered, and another prompt followed.
    failure
        The session's own word that it failed, unless the agent went on after it.
    file
        The log file of a delegated agent, where it has one of its own.
    """

    def __init__(self, name: str, files: Files, *, tier: Tier, until: Until) -> None:
        self.name = name
        self.file: str | None = None
        self._files = files
        self._wanted = TIERS[tier]
        self._ends = _ENDS.get(until.place, _EDIT)
        self.prompt: Prompt | None = None
        self.prompt_count = 0
        self._reset()

    def _reset(self) -> None:
        self.steps: list[Step] = []
        self.pending: dict[str, list[ReadCall]] = {}
        self._undecided: list[ReadCall] = []
        self.answer: Answer | None = None
        self.mutation: Cut | None = None
        self.ended = False
        self.failure: Failure | None = None
        self.last_line = 0
        self.last_at_ms: float | None = None
        self.first_at_ms: float | None = None
        self._batch = 0
        self._batch_name: str | None = None
        self._in_batch = False
        self._has_first = False

    @property
    def over(self) -> bool:
        """Whether nothing later in the thread can change the route."""
        if self.mutation is not None:
            return not self.pending
        return self.ended

    def _touch(self, line: int, at_ms: float | None) -> None:
        if self.mutation is None:
            self.last_line = line
            if at_ms is not None:
                self.last_at_ms = at_ms
                if self.first_at_ms is None:
                    self.first_at_ms = at_ms

    def on_prompt(self, event: Prompt, *, prompts_logged: bool) -> None:
        """Begin the route at the first prompt; a later one ends it, if it was answered."""
        self._in_batch = False
        if self.prompt is None and not prompts_logged and self.steps:
            return  # a later turn of a log that doesn't hold the first prompt
        self.prompt_count += 1
        if self.prompt is None:
            self._reset()  # what came before belongs to no task of this log
            self.prompt = event
            self._files.prompted(event.text)
        elif self.name == MAIN_THREAD and self.answer is not None and not self._undecided:
            self.ended = True  # an agent that was sent on is still at its first task
        if not self.ended:
            self._touch(event.line, event.at_ms)

    def on_answer(self, event: Answer) -> None:
        """Take what the agent said: the final answer, unless a call follows."""
        self._in_batch = False
        if self.mutation is None and not self.ended:
            self.answer = event
            self.failure = None  # the agent got over it
            self._touch(event.line, event.at_ms)

    def on_failure(self, event: Failure) -> None:
        """Take the log's word that the session failed."""
        if self.mutation is None and not self.ended:
            self.failure = event

    def on_call(self, event: Call, cwd: str | None, *, number: int) -> None:
        """Take a call; an edit ends the thread's route."""
        if self.mutation is not None or self.ended:
            return
        batch = self._batch_of(event)
        # Of calls after the first contact nothing is shown: their text is not worth making.
        call = read_call(
            event,
            cwd,
            with_text=not self._has_first,
            batch=batch,
            number=number,
        )
        self._settle(call, judged(call, self._files))
        purpose = call.tool.purpose
        if purpose == "answer":
            self.answer = Answer(
                text=answer_text(event.arguments), line=event.line, at_ms=event.at_ms, final=True
            )
        elif purpose != "plan":
            self.answer = None
            self.failure = None  # the agent went on
        self._touch(event.line, event.at_ms)
        self.steps.append(call.step)
        self.pending.setdefault(event.call_id, []).append(call)
        if call.step.kind is None:
            self._undecided.append(call)
        elif call.step.kind in self._ends and not self._undecided:
            self._end_at(call.step)

    def _settle(self, call: ReadCall, verdict: Verdict) -> None:
        """Write a verdict into the call's step."""
        step = call.step
        step.kind, step.assumed = verdict.kind, verdict.assumed
        step.looks = verdict.kind == "navigation" or verdict.looks
        call.until = verdict.until
        call.makes, call.outside, call.scripts = verdict.makes, verdict.outside, verdict.scripts
        if verdict.kind is None:
            return
        if verdict.first is not None and call.reading is not None and step.first is not None:
            text = call.reading.segments[verdict.first].text
            step.first = text or step.first
        elif verdict.kind not in {"navigation", "execution"}:
            step.first = None
        if self._has_first and step.first is not None:
            step.first, step.raw = "", None
        if step.looks and call.tool.purpose != "delegate":
            self._has_first = True

    def _end_at(self, step: Step) -> None:
        """End the route at a step; what was called after it is no part of it."""
        place = self.steps.index(step)
        self.steps = self.steps[: place + 1]
        kept = {id(one) for one in self.steps}
        for call_id, calls in list(self.pending.items()):
            calls[:] = [one for one in calls if id(one.step) in kept]
            if not calls:
                del self.pending[call_id]
        self._undecided = []
        self.mutation = Cut("mutation", step.line, step.at_ms)

    def _batch_of(self, event: Call) -> int:
        """Return the batch's number: batches are told by name, else by what came between."""
        same = event.batch == self._batch_name if event.batch is not None else self._in_batch
        if not same:
            self._batch += 1
        self._batch_name = event.batch
        self._in_batch = True
        return self._batch

    def on_result(self, event: Result) -> None:
        """Settle the call that the result belongs to."""
        self._in_batch = False
        calls = self.pending.get(event.call_id)
        if not calls:
            return
        call = calls.pop(0)
        if not calls:
            del self.pending[event.call_id]
        step = call.step
        step.outcome = settled(event.outcome, call.reading)
        step.result_line, step.result_at_ms = event.line, event.at_ms
        step.child = event.child if event.child is not None else step.child
        if not self.ended:
            self._touch(event.line, event.at_ms)
        if step.kind is None:
            self._settle(call, _decided(judged(call, self._files, result=event)))
            self._undecided.remove(call)
            self._end_if_decided()
        if step.outcome.ok is not False and not step.outcome.refused:
            if step.looks:
                step.selections = selected(call, event, wanted=self._wanted)
            self._files.remember(call)
            self._files.saw(call, event)

    def _end_if_decided(self) -> None:
        """End the route at the first call that ends it, once all before it are decided."""
        if self.mutation is not None:
            return
        for step in self.steps:
            if step.kind is None:
                return
            if step.kind in self._ends:
                self._end_at(step)
                return

    def finish(self) -> None:
        """Decide what no result has decided: the log has ended."""
        for call in list(self._undecided):
            self._settle(call, _decided(judged(call, self._files)))
        self._undecided = []
        self._end_if_decided()


def _decided(verdict: Verdict) -> Verdict:
    if verdict.kind is not None:
        return verdict
    return Verdict(kind="edit", assumed=True, until=0)
