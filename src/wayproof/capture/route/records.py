"""What a route is made of."""

from typing import Literal

import msgspec

from wayproof.capture.session import Outcome, SessionInfo
from wayproof.errors import InputError

__all__ = [
    "MAX_TEXT_CHARS",
    "TIERS",
    "Cut",
    "Kind",
    "Route",
    "Selection",
    "Step",
    "Tier",
    "Until",
    "clip",
    "parse_until",
]

Tier = Literal["read", "matched", "listed"]
TIERS: dict[str, int] = {"read": 0, "matched": 1, "listed": 2}

Kind = Literal["navigation", "execution", "creation", "edit", "outside_write", "bookkeeping"]


class Until(msgspec.Struct, frozen=True):
    """Where a route ends at the latest: a place, and a number of calls for ``calls``."""

    place: Literal["edit", "write", "answer", "first-contact", "calls"] = "edit"
    calls: int = 0

    def __str__(self) -> str:
        """Return it as packets and the command line spell it."""
        return f"calls={self.calls}" if self.place == "calls" else self.place


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
    """One call of the route.

    Attributes
    ----------
    kind
        What kind of call it is; None while only its result can tell.
    assumed
        That it edits is assumed.
    looks
        It counts as navigation: it shows something, before it edits if it does.
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
    made
        Full paths of the files that it made.
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
    kind: Kind | None = None
    assumed: bool = False
    looks: bool = False
    unparsed: bool = False
    outcome: Outcome | None = None
    result_line: int | None = None
    result_at_ms: float | None = None
    at_ms: float | None = None
    child: str | None = None
    file: str | None = None
    selections: tuple[Selection, ...] = ()
    made: tuple[str, ...] = ()


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
    created
        Full paths of the files that the session made before the cut, in order.
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
    created: list[str] = []
    children: dict[int, str] = {}
    until: Until = Until()


def parse_until(text: str) -> Until:
    """Parse where a route ends: ``edit``, ``write``, ``answer``, ``first-contact``, ``calls=N``.

    Raises
    ------
    InputError
        For anything else.
    """
    place, equals, count = text.partition("=")
    if place == "calls" and equals and count.isascii() and count.isdigit() and int(count) > 0:
        return Until("calls", int(count))
    for known in ("edit", "write", "answer", "first-contact"):
        if text == known:
            return Until(known)
    raise InputError(
        "not a place where a route can end",
        field="until",
        expected="edit, write, answer, first-contact or calls=N",
        found=text,
    )


def clip(text: str) -> str:
    """Keep the beginning of a text that is too long."""
    return text if len(text) <= MAX_TEXT_CHARS else text[:MAX_TEXT_CHARS]
