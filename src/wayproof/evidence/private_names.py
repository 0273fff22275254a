"""The vocabulary of a private evaluation: roles, clauses, files, and what it doesn't show."""

from typing import Final, Literal, NamedTuple

__all__ = [
    "ABANDONED",
    "AGREEMENT_NAME",
    "CLAUSES",
    "LEAVES_NAME",
    "PRIVATE_KIND",
    "PRIVATE_LIMITS",
    "RESULT_NAME",
    "ROLES",
    "STARTS_PATTERN",
    "TRIAL_KIND",
    "TRIAL_NAME",
    "Clause",
    "ClauseName",
    "Enforcement",
    "Receiver",
    "Role",
    "signature_name",
    "start_name",
]

PRIVATE_KIND: Final = "private"
TRIAL_KIND: Final = "private-trial"
AGREEMENT_NAME: Final = "agreement.toml"
RESULT_NAME: Final = "result.json"
LEAVES_NAME: Final = "leaves.jsonl"
TRIAL_NAME: Final = "trial.json"
STARTS_PATTERN: Final = "start-*.json"
ABANDONED: Final = "abandoned"
"""What a start says of a run before it that came to no result."""

Role = Literal["client", "evaluator"]
ROLES: Final[tuple[Role, ...]] = ("client", "evaluator")
Receiver = Literal["client", "evaluator", "public"]
Enforcement = Literal["required", "best_effort"]
ClauseName = Literal[
    "moves", "seconds", "memory_bytes", "processes", "file_bytes", "network", "isolation"
]


class Clause(NamedTuple):
    """One limit of an agreement, and what it means."""

    name: ClauseName
    meaning: str


CLAUSES: Final = (
    Clause("moves", "proposals that the agent may make in one trial"),
    Clause("seconds", "seconds that one trial may last, the start of the agent included"),
    Clause("memory_bytes", "bytes of memory that all processes of one trial may hold together"),
    Clause("processes", "processes and threads that may exist at once in one trial"),
    Clause("file_bytes", "bytes of the largest file, and of the whole temporary folder"),
    Clause("network", "no connection to anything outside the sandbox"),
    Clause("isolation", "no file, process or variable of the machine but those that are agreed"),
)

PRIVATE_LIMITS: Final = (
    (
        "The signatures show who agreed to what and who stands by which result. They don't show "
        "that the evaluator ran what it says: it runs the agent on its own machine."
    ),
    (
        "A run that was never published leaves no trace here. The starts limit what can be "
        "published, not how often an agent was tried."
    ),
    (
        "The interpreter, the libraries and the kernel under the agent are not covered by the "
        "hashes of the agent's files."
    ),
    (
        "The scenarios are those of one hidden suite of solvable, fully visible grids; a result "
        "says nothing about other tasks."
    ),
)
"""What a private result doesn't show; it travels with every one."""


def signature_name(name: str, role: Role) -> str:
    """Return the name of a role's detached signature of the file ``name``."""
    return f"{name.rpartition('.')[0]}.{role}.sig.json"


def start_name(run: int) -> str:
    """Return the name of the file of one start."""
    return f"start-{run:04d}.json"
