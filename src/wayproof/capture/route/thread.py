"""The cut of one thread: the calls between its first prompt and its first mutation."""

from wayproof.capture.route.call import ReadCall, answer_text, read_call
from wayproof.capture.route.records import TIERS, Cut, Step, Tier
from wayproof.capture.route.selecting import selected, settled
from wayproof.capture.session import Answer, Call, Failure, Prompt, Result

__all__ = ["ThreadCut"]


class ThreadCut:
    """Collect the route's calls of one thread; :mod:`.assembly` puts threads together.

    Attributes
    ----------
    steps
        The calls so far, the mutation included.
    pending
        Calls whose result hasn't come yet.
    answer
        The last answer that no call followed.
    mutation
        Where the thread's route ended, once it has.
    failure
        The session's own word that it failed, unless the agent went on after it.
    file
        The log file of a delegated agent, where it has one of its own.
    """

    def __init__(self, name: str, tier: Tier) -> None:
        self.name = name
        self.file: str | None = None
        self._wanted = TIERS[tier]
        self.prompt: Prompt | None = None
        self.prompt_count = 0
        self._reset()

    def _reset(self) -> None:
        self.steps: list[Step] = []
        self.pending: dict[str, ReadCall] = {}
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

    def _touch(self, line: int, at_ms: float | None) -> None:
        if self.mutation is None:
            self.last_line = line
            if at_ms is not None:
                self.last_at_ms = at_ms
                if self.first_at_ms is None:
                    self.first_at_ms = at_ms

    def on_prompt(self, event: Prompt, *, prompts_logged: bool) -> None:
        """Begin the route at the first prompt."""
        self._in_batch = False
        if self.prompt is None and not prompts_logged and self.steps:
            return  # a later turn of a log that doesn't hold the first prompt
        self.prompt_count += 1
        if self.prompt is None:
            self._reset()  # what came before belongs to no task of this log
            self.prompt = event
        self._touch(event.line, event.at_ms)

    def on_answer(self, event: Answer) -> None:
        """Take what the agent said: the final answer, unless a call follows."""
        self._in_batch = False
        if self.mutation is None:
            self.answer = event
            self.failure = None  # the agent got over it
            self._touch(event.line, event.at_ms)

    def on_failure(self, event: Failure) -> None:
        """Take the log's word that the session failed."""
        if self.mutation is None:
            self.failure = event

    def on_call(self, event: Call, cwd: str | None, *, number: int) -> None:
        """Take a call; a mutation ends the thread's route."""
        if self.mutation is not None:
            return
        batch = self._batch_of(event)
        # Of calls after the first contact nothing is shown, so their text is not worth making;
        # a shell command's text is needed again to find the folder of names in its output.
        call = read_call(
            event,
            cwd,
            with_text=not self._has_first,
            keep_typed=bool(self._wanted),
            batch=batch,
            number=number,
        )
        step, purpose = call.step, call.tool.purpose
        if purpose == "plan":
            self._touch(event.line, event.at_ms)
            return
        if purpose == "answer":
            self.answer = Answer(
                text=answer_text(event.arguments), line=event.line, at_ms=event.at_ms, final=True
            )
            self._touch(event.line, event.at_ms)
            return
        self.answer = None
        self.failure = None  # the agent went on
        self._touch(event.line, event.at_ms)
        if self._has_first and step.navigates:
            step.first, step.raw = "", None
        if step.navigates and purpose != "delegate":
            self._has_first = True
        self.steps.append(step)
        self.pending[event.call_id] = call
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

    def on_result(self, event: Result) -> None:
        """Settle the call that the result belongs to."""
        self._in_batch = False
        call = self.pending.pop(event.call_id, None)
        if call is None:
            return
        step = call.step
        step.outcome = settled(event.outcome, call.reading)
        step.result_line = event.line
        step.child = event.child if event.child is not None else step.child
        self._touch(event.line, event.at_ms)
        if step.outcome.ok is not False and not step.outcome.refused:
            step.selections = tuple(selected(call, event, wanted=self._wanted))
