"""What a route is made of."""

from typing import Literal

import msgspec

from wayproof.capture.session import Outcome, SessionInfo

__all__ = ["MAX_TEXT_CHARS", "TIERS", "Cut", "Route", "Selection", "Step", "Tier", "clip"]

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
    """One call of the route: navigation, or the mutation that ended it.

    Attributes
    ----------
    number
        Which call of the session it is, from 1, threads counted together.
    purpose
        What its tool is for; see :data:`wayproof.capture.tools.Purpose`.
    asked
        What a delegating call asked of the other agent.
    first
        Its text as a first contact; None where it can't be one. Of later calls, whose
        text nobody needs, only that it is a text.
    raw
        The text as the log has it.
    reason
        Why ``first`` is None, where the log doesn't name what was called.
    child
        Thread of the agent that a delegating call handed its work to.
    file
        The log file it stands in, where that isn't the session's own.
    """

    call_id: str
    tool: str
    line: int
    thread: str
    batch: int
    purpose: str
    number: int = 0
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


class Route(msgspec.Struct, kw_only=True):
    """What was cut out of one session; :mod:`wayproof.capture.packet` makes the packet.

    Attributes
    ----------
    steps
        The route's calls in call order; a delegating call is replaced by its child's.
    children
        Thread of each delegated agent, by the number of the call that it stands for.
    """

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
    children: dict[int, str] = {}


def clip(text: str) -> str:
    """Keep the beginning of a text that is too long."""
    return text if len(text) <= MAX_TEXT_CHARS else text[:MAX_TEXT_CHARS]
