"""The sink that cuts the route out of one session's events."""

from typing import cast

from wayproof.capture.route.assembly import assembled
from wayproof.capture.route.files import Files
from wayproof.capture.route.records import Route, Tier, Until
from wayproof.capture.route.thread import ThreadCut
from wayproof.capture.session import (
    MAIN_THREAD,
    Answer,
    Call,
    Event,
    Failure,
    Prompt,
    Result,
    SessionInfo,
    Spawn,
    Usage,
)

__all__ = ["RouteCutter"]


class RouteCutter:
    """Cut the route out of one session's events.

    Events come one at a time and only what a packet needs is kept, so a session costs
    memory by its calls, not by its bytes.

    Parameters
    ----------
    info
        Filled in by the adapter as the log names things.
    tier
        Selections beyond this tier are not looked for.
    until
        Where the route ends at the latest.
    """

    def __init__(
        self, info: SessionInfo, *, tier: Tier = "read", until: Until | None = None
    ) -> None:
        self._info = info
        self._tier: Tier = tier
        self._until = until or Until()
        self._files = Files(info)
        self._threads: dict[str, ThreadCut] = {}
        self._spawns: list[Spawn] = []
        self._calls = 0
        self._thread(MAIN_THREAD)

    def _thread(self, name: str) -> ThreadCut:
        thread = self._threads.get(name)
        if thread is None:
            thread = self._threads[name] = ThreadCut(
                name, self._files, tier=self._tier, until=self._until
            )
        return thread

    def take(self, event: Event) -> bool:
        """Take the next event; False once nothing later in its thread can change the route."""
        kind = type(event)
        if kind is Usage:
            return True
        thread = self._threads.get(event.thread) or self._thread(event.thread)
        if kind is Call:
            self._calls += 1
            thread.on_call(cast("Call", event), self._info.cwd, number=self._calls)
        elif kind is Result:
            thread.on_result(cast("Result", event))
        elif isinstance(event, Prompt):
            thread.on_prompt(event, prompts_logged=self._info.prompts_logged)
        elif isinstance(event, Answer):
            thread.on_answer(event)
        elif isinstance(event, Spawn):
            self._spawns.append(event)
            thread.file = event.file
        elif isinstance(event, Failure):
            thread.on_failure(event)
        if (thread.mutation is None and not thread.ended) or not thread.over:
            return True
        # A first prompt that still comes would begin the thread's route anew.
        return thread.prompt is None and self._info.prompts_logged

    def finish(self) -> Route:
        """Return the route; the log has ended."""
        for thread in self._threads.values():
            thread.finish()
        return assembled(self._info, self._threads, self._spawns, until=self._until)
