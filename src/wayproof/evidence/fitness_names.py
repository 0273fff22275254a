"""The vocabulary of navigation fitness: each word with its meaning, in one place.

Rungs of the sufficiency ladder, latency statuses, the limits that travel with every
result, and the names of a bundle's files. Scoring, checking, pages, documentation and
command line read them from here.
"""

from typing import Final, Literal, NamedTuple

__all__ = [
    "BUNDLE_KIND",
    "DEBTS_NAME",
    "DEBT_CLASSES",
    "FAILURE_KINDS",
    "FIRST_SUITE_SCHEMA_VERSION",
    "LATENCY_STATUSES",
    "LATENCY_STATUS_NAMES",
    "LATENCY_WORDS",
    "LIMITS",
    "LIMITS_LINE",
    "PART_KIND",
    "PART_LINES_NAME",
    "PART_RECORDS_NAME",
    "RESULTS_NAME",
    "RUNGS",
    "SUFFICIENT",
    "SUITE_SCHEMA_VERSION",
    "SUMMARY_NAME",
    "DebtClass",
    "FactName",
    "LatencyStatus",
    "Rung",
    "StatusMeaning",
]

BUNDLE_KIND: Final = "fitness"
PART_KIND: Final = "fitness-part"
"""What scoring a shard of the packets writes, to be merged."""
PART_RECORDS_NAME: Final = "records.bin"
PART_LINES_NAME: Final = "lines.bin"
RESULTS_NAME: Final = "results.jsonl"
DEBTS_NAME: Final = "debts.jsonl"
SUMMARY_NAME: Final = "summary.json"

SUITE_SCHEMA_VERSION: Final = "wayproof.fitness/2"
"""Form of a suite's record, its results and its debts."""

FIRST_SUITE_SCHEMA_VERSION: Final = "wayproof.fitness/1"
"""The form before: bundles of it are read and checked, and lack what /2 added."""

SUFFICIENT: Final = "sufficient"
"""The matrix's row of the results that no rung failed."""

LatencyStatus = Literal["pass", "fail", "timeout", "unmeasured"]
DebtClass = Literal["sufficiency_debt", "latency_debt"]
FactName = Literal["timed_out", "error", "missing", "weak", "forbidden"]

DEBT_CLASSES: Final[tuple[DebtClass, ...]] = ("sufficiency_debt", "latency_debt")


class Rung(NamedTuple):
    """One check of the sufficiency ladder."""

    failure_kind: str
    fact: FactName
    """The fact that makes this rung fail."""
    meaning: str
    why_here: str
    mend: str


RUNGS: Final[tuple[Rung, ...]] = (
    Rung(
        "route_timeout",
        "timed_out",
        "The route was cut off before it returned (`timed_out` is true).",
        "A packet that was cut off may hold anything or nothing: what it lacks says nothing "
        "about the surface's aim, so no later rung may name the failure.",
        "Find out what the route waited for: an index built on demand, an unbounded search, a "
        "network call. Raise the time limit only if a slow answer is still useful to an agent.",
    ),
    Rung(
        "route_error",
        "error",
        "The route reported an error (`error` is a non-empty text or object), or no packet was "
        "captured for the task.",
        "A broken route has no aim to judge. It stands after the timeout because a route that is "
        "cut off often reports an error too, and the cause is the time.",
        "Read the error. `no packet captured` means that the capture lost the session or that "
        "the ids of tasks and packets don't match.",
    ),
    Rung(
        "missing_id",
        "missing",
        "At least one expected stable id was not selected.",
        "From here on the route worked and its aim is judged. Pointing at the wrong rows is the "
        "costly defect, so it comes before how well the rows are described.",
        "Look at what was selected instead (extra ids): a near neighbour asks for better ranking "
        "or aliases; nothing near asks for the id to be indexed at all.",
    ),
    Rung(
        "weak_scent",
        "weak",
        "Every expected id was selected, but the packet's text lacks at least one scent term.",
        "The right rows are there, but an agent that reads the packet would not see that they "
        "are right (Pirolli & Card 1999: a forager follows the scent, not the food).",
        "Put the missing terms where the agent reads: title, summary or reason of the row, or the "
        "route hint. If the term is not natural there, the task's term may be wrong.",
    ),
    Rung(
        "forbidden_route",
        "forbidden",
        "The first command contains a text that the task forbids as a first route.",
        "Last, because it can only be the only thing that is wrong once everything else is "
        "right: a correct id does not rescue a banned first move.",
        "Make the allowed route the one an agent finds first: in its instructions, in the name of "
        "the command, in the help text. Or lift the ban, if the route has become acceptable.",
    ),
)
"""The ladder, in its order: the first rung that fails names the failure."""

FAILURE_KINDS: Final[tuple[str, ...]] = tuple(rung.failure_kind for rung in RUNGS)


class StatusMeaning(NamedTuple):
    """A latency status, what it means, whether it makes a latency debt, and what people read."""

    status: LatencyStatus
    meaning: str
    word: str
    is_debt: bool


LATENCY_STATUSES: Final[tuple[StatusMeaning, ...]] = (
    StatusMeaning("pass", "Wall time is within the budget.", "in time", is_debt=False),
    StatusMeaning("fail", "Wall time is over the budget.", "late", is_debt=True),
    StatusMeaning(
        "timeout", "The route was cut off, whatever its wall time.", "timed out", is_debt=True
    ),
    StatusMeaning(
        "unmeasured",
        "Nobody recorded a wall time. It makes no debt, stands outside pass and fail counts and "
        "percentiles, and is counted: unmeasured time never passes for fast.",
        "no time",
        is_debt=False,
    ),
)
LATENCY_STATUS_NAMES: Final[tuple[LatencyStatus, ...]] = tuple(
    row.status for row in LATENCY_STATUSES
)
"""In the order of the matrix's columns."""

LATENCY_WORDS: Final[dict[str, str]] = {row.status: row.word for row in LATENCY_STATUSES}
"""What pages and terminal call each status."""

LIMITS: Final[tuple[str, ...]] = (
    "An evaluator of captured packets, not a live route run: nothing was called or generated.",
    "Not an embedding benchmark: stable ids are compared, similarity is not.",
    "Not a universal navigation benchmark: it speaks of these tasks and these packets only.",
    "A pass means that these packets met these tasks' expectations; it gives no release authority.",
    "It admits no component and unblocks no owner.",
    "Unmeasured time and unknown first commands are counted, never taken for good.",
)

LIMITS_LINE: Final = (
    "captured packets, not live runs; stable ids, not embeddings; these tasks only; "
    "no release authority; admits no component, unblocks no owner"
)
"""The limits in one line, for a terminal."""
