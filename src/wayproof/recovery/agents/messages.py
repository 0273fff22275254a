"""The messages between bench and agent: one JSON object a line, over stdin and stdout.

The bench speaks first::

    bench  hello                 agent  hello
    bench  trial                 agent  action
    bench  outcome               agent  action      (and so on)
    bench  end

``wayproof schema agent-protocol`` prints the JSON Schema of all of them.
"""

from typing import Annotated, Final

import msgspec

from wayproof.canonical import MAX_SAFE_INTEGER
from wayproof.evidence.recovery_names import Kind
from wayproof.evidence.recovery_records import Action, Cell
from wayproof.strict_json import has_duplicate_key

__all__ = [
    "MAX_LINE_BYTES",
    "PROTOCOL",
    "AgentAction",
    "AgentHello",
    "AgentLimits",
    "AgentProtocol",
    "BenchEnd",
    "BenchHello",
    "BenchOutcome",
    "BenchTrial",
    "FirstRejection",
    "agent_message",
    "line_of",
    "named_action",
]

PROTOCOL: Final = "wayproof.agent/1"
MAX_LINE_BYTES: Final = 1 << 20
"""Longest line of either side, its line feed included."""

_Name = Annotated[str, msgspec.Meta(max_length=256)]
_Step = Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]


class _Said(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """A message of either side; ``type`` tells which."""


class _Heard(_Said, frozen=True, forbid_unknown_fields=True):
    """A message of the agent: what no field is for is refused."""


class AgentLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent has to keep to.

    Attributes
    ----------
    hello_ms, move_ms, trial_ms
        Deadlines: for the answer to ``hello``, for each action, for a whole trial.
    line_bytes
        Longest line, its line feed included.
    """

    hello_ms: int
    line_bytes: int
    move_ms: int
    trial_ms: int


class BenchHello(_Said, frozen=True, kw_only=True, tag="hello"):
    """The bench's first line.

    Attributes
    ----------
    limits
        What the agent has to keep to.
    protocol
        Version of these messages.
    """

    limits: AgentLimits
    protocol: str


class FirstRejection(msgspec.Struct, frozen=True, kw_only=True):
    """What was rejected before the agent takes over.

    Attributes
    ----------
    action
        The action that was tried.
    kind
        Why it was rejected.
    """

    action: Action
    kind: Kind


class BenchTrial(_Said, frozen=True, kw_only=True, tag="trial"):
    """A trial begins: the state after a rejected action.

    Attributes
    ----------
    budget
        How many actions may be proposed.
    position
        Where the agent stands, as [row, column] from 0.
    rejection
        The action that was rejected, and why.
    rows
        The grid, a string a row: ``#`` is blocked, ``1`` to ``9`` the cost of entering.
    seed
        Seed of the trial's stream of random numbers, 16 hex digits.
    spent
        Cost so far.
    start, target
        Cells; a trial is finished on the target.
    trial
        Name of the trial; it means nothing and is echoed.
    """

    budget: int
    position: Cell
    rejection: FirstRejection
    rows: tuple[str, ...]
    seed: str
    spent: int
    start: Cell
    target: Cell
    trial: str


class BenchOutcome(_Said, frozen=True, kw_only=True, tag="outcome"):
    """What came of an action.

    Attributes
    ----------
    accepted
        Whether it was carried out.
    position, spent
        The state after it.
    proposals_left
        How many actions may still be proposed.
    rejection
        Why it was rejected; null when it was accepted.
    step
        Which action, from 0.
    trial
        Name of the trial.
    """

    accepted: bool
    position: Cell
    proposals_left: int
    rejection: Kind | None
    spent: int
    step: int
    trial: str


class BenchEnd(_Said, frozen=True, kw_only=True, tag="end"):
    """The trial is over; after the last one stdin closes.

    Attributes
    ----------
    trial
        Name of the trial.
    """

    trial: str


class AgentHello(_Heard, frozen=True, kw_only=True, tag="hello"):
    """The agent's first line.

    Attributes
    ----------
    name, version
        What the agent calls itself: kept in its log; records bear the name that the run
        was given.
    """

    name: _Name
    version: _Name


class AgentAction(_Heard, frozen=True, kw_only=True, tag="action"):
    """One proposal: either ``move`` or ``finish``.

    Attributes
    ----------
    finish
        True to ask for the end of the trial.
    move
        The cell to move to, as [row, column].
    step
        Which action it is, from 0.
    trial
        Name of the trial.
    """

    step: _Step
    trial: _Name
    finish: bool | msgspec.UnsetType = msgspec.UNSET
    move: Cell | msgspec.UnsetType = msgspec.UNSET


class AgentProtocol(msgspec.Struct, frozen=True, kw_only=True):
    """Every line is one of these messages; ``type`` tells which.

    Attributes
    ----------
    agent
        What an agent writes to its stdout.
    bench
        What it reads from its stdin.
    """

    agent: AgentHello | AgentAction
    bench: BenchHello | BenchTrial | BenchOutcome | BenchEnd


_encode: Final = msgspec.json.Encoder().encode
_decoder: Final[msgspec.json.Decoder[AgentHello | AgentAction]] = msgspec.json.Decoder(
    AgentHello | AgentAction
)


def line_of(message: BenchHello | BenchTrial | BenchOutcome | BenchEnd) -> bytes:
    """Return a message of the bench as a line."""
    return _encode(message) + b"\n"


def agent_message(line: bytes) -> AgentHello | AgentAction:
    """Read a line of the agent.

    Raises
    ------
    ValueError
        When it is no message of an agent: not JSON, wrong types, unknown fields, a field
        that stands twice.
    """
    try:
        message = _decoder.decode(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if isinstance(message, AgentHello):
        keys, texts = 3, message.name + message.version
    else:
        keys = 3 + (message.move is not msgspec.UNSET) + (message.finish is not msgspec.UNSET)
        texts = message.trial
    if has_duplicate_key(line, keys, lambda: texts):
        raise ValueError("a field stands twice")
    return message


def named_action(message: AgentAction) -> Action | None:
    """Return the action that a message names; None when it names none, or two."""
    if message.move is msgspec.UNSET:
        return Action(finish=True) if message.finish is True else None
    return Action(move=message.move) if message.finish is msgspec.UNSET else None
