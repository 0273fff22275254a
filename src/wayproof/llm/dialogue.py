"""What a language model is told, and which actions its answers name.

Everything that a prompt says is in the observation that any policy gets: never the
optimum, the potentials or the reference path. Task and log reader share this module, so
that a log gives the very actions that the world carried out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from wayproof.canonical import MAX_SAFE_INTEGER
from wayproof.evidence.recovery_names import AgentOutcome
from wayproof.evidence.recovery_records import FINISH, Action, AgentRecord, Step
from wayproof.recovery.agents.policy import (
    Observation,
    Policy,
    PolicyFailedError,
    PolicySource,
    client_source,
)

__all__ = [
    "MAX_NUDGES",
    "PROTOCOLS",
    "LoggedTrial",
    "Protocol",
    "action_of_call",
    "action_of_text",
    "message_actions",
    "nudge_words",
    "opening_words",
    "outcome_words",
    "replaying_source",
    "system_words",
]

Protocol = Literal["tools", "text"]
PROTOCOLS: Final[tuple[Protocol, ...]] = ("tools", "text")
MAX_NUDGES: Final = 3
"""Messages in a row without an action that are answered with a reminder; the next is malformed."""

_RULES: Final = """\
You stand on a grid and have to reach the target at the lowest total cost, then finish.
Cells are named by row and column, both counted from 0 at the top left. A digit is the cost of \
entering that cell; # is blocked. A move goes to the cell directly above, below, left or right.
Finishing is accepted on the target only. A rejected action changes nothing and costs nothing, but \
it uses up a proposal. An action has already been rejected: go on from where you stand."""
_HOW: Final[Mapping[Protocol, str]] = {
    "tools": "Act by calling the tools: move(row, column) names the cell to enter, finish() ends. "
    "Several calls in one message are carried out in order.",
    "text": "Say exactly one action in each message, on a line of its own: ACTION: MOVE row column "
    "(the cell to enter), or ACTION: FINISH",
}
_LINE: Final = re.compile(
    r"^[ \t*`]*ACTION:[ \t]*(?:MOVE[ \t]+(-?[0-9]{1,9})[ \t,]+(-?[0-9]{1,9})|FINISH)[ \t*`.]*$",
    re.IGNORECASE | re.MULTILINE,
)


def system_words(protocol: Protocol) -> str:
    """Return the rules, and how to act."""
    return f"{_RULES}\n{_HOW[protocol]}"


def opening_words(seen: Observation) -> str:
    """Describe the state after the rejected action; digits are spaced, a token each."""
    grid = seen.grid
    rows = "\n".join(" ".join(row) for row in grid.rows)
    return (
        f"The grid, {grid.height} rows of {grid.width} columns:\n{rows}\n"
        f"Start: {_cell(grid.start)}\nTarget: {_cell(grid.target)}\n"
        f"Rejected action: {_action(seen.rejected_action)} ({seen.rejection})\n"
        f"{_state(seen.position, seen.spent, seen.proposals_left)}"
    )


def outcome_words(step: Step, proposals_left: int) -> str:
    """Say what came of an action."""
    how = "Accepted" if step.accepted else f"Rejected ({step.rejection})"
    return f"{how}: {_action(step.action)}\n{_state(step.position, step.spent, proposals_left)}"


def nudge_words(protocol: Protocol) -> str:
    """Remind of how to act, after a message without an action."""
    return f"That message names no action that can be read. {_HOW[protocol]}"


def _state(position: tuple[int, int], spent: int, left: int) -> str:
    return f"Position: {_cell(position)}\nCost so far: {spent}\nProposals left: {left}"


def _cell(cell: tuple[int, int]) -> str:
    return f"row {cell[0]}, column {cell[1]}"


def _action(action: Action) -> str:
    return "finish" if action.move is None else f"move to {_cell(action.move)}"


# -- answers ----------------------------------------------------------------------------


def action_of_text(text: str) -> Action | None:
    """Return the one action that a message names; None when it names none, or several."""
    found = list(_LINE.finditer(text))
    if len(found) != 1:
        return None
    row, column = found[0].groups()
    return FINISH if row is None else Action(move=(int(row), int(column)))


def action_of_call(function: str, arguments: Mapping[str, Any]) -> Action | None:
    """Return the action of a tool call; None for another tool, or other arguments."""
    if function == "finish" and not arguments:
        return FINISH
    if function != "move" or set(arguments) != {"row", "column"}:
        return None
    row, column = arguments["row"], arguments["column"]
    if any(type(part) is not int or abs(part) > MAX_SAFE_INTEGER for part in (row, column)):
        return None
    return Action(move=(row, column))


def message_actions(message: Any, protocol: Protocol) -> Iterator[Action | None]:
    """Yield what an assistant's message proposes, in order; None for what is no action.

    Parameters
    ----------
    message
        Inspect's ``ChatMessageAssistant``.
    """
    if protocol == "text":
        yield action_of_text(message.text)
        return
    for call in message.tool_calls or ():
        yield None if call.parse_error else action_of_call(call.function, call.arguments)


# -- the actions again ------------------------------------------------------------------


class LoggedTrial(NamedTuple):
    """What is taken from a dialogue.

    Attributes
    ----------
    actions
        In order; more than the trial has room for are left over.
    ending
        What became of the agent, should the actions not bring the trial to its own end.
    """

    actions: tuple[Action, ...]
    ending: AgentOutcome

    @classmethod
    def of(cls, messages: Iterable[Any], protocol: Protocol, ending: AgentOutcome) -> "LoggedTrial":
        """Gather the actions of all of the model's messages."""
        said = (message for message in messages if message.role == "assistant")
        found = (action for message in said for action in message_actions(message, protocol))
        return cls(tuple(action for action in found if action is not None), ending)


class _Again:
    """Proposes what was proposed."""

    name: Final = "inspect"

    def __init__(self, logged: LoggedTrial) -> None:
        self._actions = iter(logged.actions)
        self._ending = logged.ending

    def propose(self, observation: Observation) -> Action:
        """Return the next action of the log, whatever is seen now."""
        del observation
        action = next(self._actions, None)
        if action is None:
            raise PolicyFailedError(self._ending, "the log holds no further action")
        return action


def replaying_source(
    name: str, trials: Mapping[int, LoggedTrial], identity: AgentRecord
) -> PolicySource:
    """Return the source that proposes a log's actions again.

    Parameters
    ----------
    trials
        By the seed of the trial's stream, which no two trials share.
    """
    return client_source(name, partial(_again, trials), identity)


def _again(trials: Mapping[int, LoggedTrial], seed: int) -> Policy:
    return _Again(trials[seed])
