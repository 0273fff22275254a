"""What a policy is, what it sees, and how a run gets one.

A policy is made fresh for each trial, from a seed of its own. It is asked for one action
at a time. It sees the grid as its track shows it, where it stands, the target, what it
has spent, what was rejected and why, and how many proposals are left. It never sees the
optimum, the potentials or the reference path.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, NamedTuple, Protocol

import msgspec

from wayproof.errors import InputError
from wayproof.evidence.recovery_names import CONTROLS, AgentOutcome, EvidenceClass, Kind
from wayproof.evidence.recovery_records import (
    FINISH,
    IDENTIFIER_PATTERN,
    Action,
    AgentRecord,
    Cell,
    Step,
)
from wayproof.recovery.grid import Grid
from wayproof.stats.seeded import SplitMix64, stream_seed
from wayproof.text import quoted

__all__ = [
    "FINISH",
    "Action",
    "Factory",
    "Observation",
    "Policy",
    "PolicyFailedError",
    "PolicySource",
    "SplitMix64",
    "TellsPolicy",
    "client_agent",
    "client_source",
    "client_stream_seed",
    "policy_stream_seed",
]

_STREAM: Final = "wayproof.recovery.policy/1"
_CONTROL_NAMES: Final = frozenset(control.name for control in CONTROLS)
_CLIENT_STREAM: Final = "random-walk"
"""The stream that every client agent gets: that of the control which draws from its own.

So an agent's result doesn't depend on the name it is given, two agents meet the same
draws, and one that walks at random as the control does gives the control's records.
"""


class Observation(msgspec.Struct, frozen=True, gc=False):
    """All that a policy sees when it is asked for an action.

    Attributes
    ----------
    grid
        Rows, costs, start and target, as the track shows them.
    position
        Where it stands.
    spent
        Cost so far, the prefix included.
    rejected_action, rejection
        The latest action that was rejected, and why: the injected one at first.
    proposals_left
        How many proposals it may still make, this one included.
    """

    grid: Grid
    position: Cell
    spent: int
    rejected_action: Action
    rejection: Kind
    proposals_left: int

    @property
    def target(self) -> Cell:
        """The cell to finish on."""
        return self.grid.target


class Policy(Protocol):
    """Proposes one action at a time.

    A policy may also have ``close()``, which is called once when its trial is over,
    however it ended, the method of :class:`TellsPolicy`, and a text ``agent_log``, which
    is kept beside the bundle.
    """

    @property
    def name(self) -> str:
        """What the policy calls itself; a record bears the name of its source."""

    def propose(self, observation: Observation) -> Action:
        """Return the next action."""


class TellsPolicy(Policy, Protocol):
    """A policy that wants to hear what came of its proposals, the last one too."""

    def told(self, step: Step, proposals_left: int) -> None:
        """Take note of a proposal's outcome; ``proposals_left`` counts those after it."""


class PolicyFailedError(Exception):
    """An outside agent itself went wrong: its trial ends there, the run goes on.

    Parameters
    ----------
    outcome
        How; one of the agent outcomes other than ``ok``.
    log
        What a reader needs to find the cause: a traceback, what the agent wrote.
    """

    def __init__(self, outcome: AgentOutcome, log: str = "") -> None:
        super().__init__(outcome)
        self.outcome = outcome
        self.log = log


class PolicySource(NamedTuple):
    """Where a run gets a policy from.

    Attributes
    ----------
    name
        The ``policy`` of its records.
    evidence_class
        ``reference_control`` for the controls of the bench, else ``client_agent``.
    make
        Makes the policy of one trial from the 64-bit seed of the trial's stream.
    stream_name
        Part of the key of that stream.
    identity
        What the manifest says of a client agent; None for a control.
    session
        Entered by the run around all its trials.
    """

    name: str
    evidence_class: EvidenceClass
    make: Callable[[int], Policy]
    stream_name: str
    identity: AgentRecord | None = None
    session: Callable[[], AbstractContextManager[None]] | None = None


Factory = Callable[[SplitMix64], Policy]
"""Makes the policy of one trial; gets the trial's own stream of random numbers."""


def client_agent(name: str, factory: Factory, identity: AgentRecord | None = None) -> PolicySource:
    """Return the source of a policy of one's own.

    Parameters
    ----------
    name
        The ``policy`` of its records: an identifier that is not a control's name.
    factory
        Called once a trial, with the trial's stream. To run in worker processes of any
        kind it must be importable: a class or function of a module.
    identity
        What the manifest says of it; the factory's own name when omitted.

    Raises
    ------
    InputError
        When the name is not an identifier, or is a control's.
    """
    spelled = f"{getattr(factory, '__module__', '')}:{getattr(factory, '__qualname__', '')}"
    identity = identity or AgentRecord(details={"factory": spelled}, kind="python", policy=name)
    return client_source(name, partial(_from_stream, factory), identity)


def client_source(name: str, make: Callable[[int], Policy], identity: AgentRecord) -> PolicySource:
    """Return the source of a client agent, made from the seed of a trial's stream.

    Raises
    ------
    InputError
        When the name is not an identifier, or is a control's.
    """
    if IDENTIFIER_PATTERN.fullmatch(name) is None:
        raise InputError(
            "not a name for a policy",
            setting="policies",
            expected="1 to 128 of A-Z a-z 0-9 . _ -, a letter or digit first",
            found=quoted(name),
        )
    if name in _CONTROL_NAMES:
        raise InputError(
            "is the name of a reference control, which no other policy may bear",
            setting="policies",
            found=name,
            mend="give the agent a name of its own",
        )
    return PolicySource(
        name=name,
        evidence_class="client_agent",
        make=make,
        stream_name=_CLIENT_STREAM,
        identity=identity,
    )


def _from_stream(factory: Factory, seed: int) -> Policy:
    return factory(SplitMix64(seed))


def policy_stream_seed(suite_id: str, stream_id: str, stream_name: str, policy_seed: int) -> int:
    """64-bit seed of one trial's stream; keyed by ids, so order can't matter.

    Parameters
    ----------
    stream_id
        The scenario's id, or what the track puts in its place.
    stream_name
        The source's ``stream_name``.
    """
    return stream_seed(_STREAM, suite_id, stream_id, stream_name, policy_seed)


def client_stream_seed(suite_id: str, stream_id: str, policy_seed: int) -> int:
    """64-bit seed of a client agent's stream in one trial; the same whatever it is called."""
    return policy_stream_seed(suite_id, stream_id, _CLIENT_STREAM, policy_seed)
