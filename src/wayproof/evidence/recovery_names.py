"""The vocabulary of the benchmark: each word with its meaning, in one place.

Failure kinds, checks, controls, outcomes of outside agents, the limits that travel with
every result, and the names of a bundle's files. Documentation, summary and
command line read them from here.
"""

from typing import Final, Literal, NamedTuple

__all__ = [
    "AGENT_OUTCOMES",
    "BUNDLE_KIND",
    "CHECKS",
    "CONTROLS",
    "FAILURE_KINDS",
    "GRIDS_NAME",
    "INDEPENDENCE",
    "LIMITS",
    "PART_KIND",
    "PUBLISHED",
    "RESULTS_NAME",
    "SUITE_NAME",
    "SUITE_PART_KIND",
    "SUITE_RULES",
    "SUMMARY_NAME",
    "TRACES_NAME",
    "UNDETECTABLE",
    "AgentKind",
    "AgentOutcome",
    "Check",
    "CheckName",
    "Control",
    "EvidenceClass",
    "FailureKind",
    "Kind",
    "Outcome",
    "Phase",
    "SuiteRule",
    "SuiteRuleName",
    "Undetectable",
]

BUNDLE_KIND: Final = "recovery"
GRIDS_NAME: Final = "grids.jsonl"
PART_KIND: Final = "recovery-part"
RESULTS_NAME: Final = "results.jsonl"
SUITE_PART_KIND: Final = "suite-part"
SUITE_NAME: Final = "suite.jsonl"
SUMMARY_NAME: Final = "summary.json"
TRACES_NAME: Final = "traces.jsonl"

Kind = Literal["collision", "invalid_path", "premature_end"]
Phase = Literal["prefix", "injected", "policy"]
EvidenceClass = Literal["reference_control", "client_agent"]
AgentOutcome = Literal["ok", "crashed", "timed_out", "malformed", "protocol_error", "limit_reached"]
SuiteRuleName = Literal[
    "kinds_complete",
    "collision_blocked_neighbour",
    "invalid_path_free_cell",
    "prefix_shared",
    "grids_differ",
    "official_ids",
    "budget_suffices",
]
AgentKind = Literal["python", "stdio", "gymnasium", "inspect"]
CheckName = Literal[
    "prefix_valid",
    "injection_rejected",
    "state_unchanged",
    "transitions_valid",
    "within_budget",
    "finished_at_target",
    "optimum_certified",
    "cost_exact",
    "replay_identical",
]


class FailureKind(NamedTuple):
    """One way an action is rejected."""

    name: Kind
    meaning: str


class Check(NamedTuple):
    """One check of the verifier; they are made in the order of :data:`CHECKS`."""

    name: CheckName
    meaning: str


class Control(NamedTuple):
    """A reference policy, and why it is no competitor."""

    name: str
    meaning: str


class SuiteRule(NamedTuple):
    """One rule of the taxonomy that a suite obeys."""

    name: SuiteRuleName
    meaning: str


class Outcome(NamedTuple):
    """One way in which a trial may end for an agent itself."""

    name: AgentOutcome
    meaning: str


class Undetectable(NamedTuple):
    """One kind of forgery that a bundle can't betray."""

    name: str
    meaning: str


FAILURE_KINDS: Final = (
    FailureKind(
        "collision",
        "a move to a neighbouring cell that is blocked or off the grid; the state is unchanged",
    ),
    FailureKind(
        "invalid_path",
        "a move to a cell that is not one of the four neighbours (the same cell, a diagonal, "
        "one further away); it shares the failure state's prefix with the collision",
    ),
    FailureKind("premature_end", "a request to finish anywhere but on the target"),
)
"""In alphabetical order, which is also the order of a grid's scenarios in a suite."""

SUITE_RULES: Final = (
    SuiteRule("kinds_complete", "each grid has every failure kind exactly once"),
    SuiteRule(
        "collision_blocked_neighbour",
        "an injected collision names a blocked cell of the grid beside the failure state",
    ),
    SuiteRule(
        "invalid_path_free_cell",
        "an injected invalid path names a free cell of the grid that is neither the failure "
        "state's own nor beside it",
    ),
    SuiteRule("prefix_shared", "collision and invalid path share their prefix"),
    SuiteRule("grids_differ", "no two grids of a suite have the same rows, start and target"),
    SuiteRule(
        "official_ids",
        "ids that begin with an official suite's id and -g with a digit are that suite's alone",
    ),
    SuiteRule(
        "budget_suffices",
        "a budget lets some policy finish: the fewest moves to the target, and the finish",
    ),
)
"""What a suite obeys beyond its form and certificates.

``run``, ``verify`` and the page refuse what doesn't, naming the rule; ``budget_suffices``
is asked when a suite is made.
"""

CHECKS: Final = (
    Check("prefix_valid", "the prefix is the reference path's first moves, each accepted"),
    Check("injection_rejected", "the injected action is rejected, with the scenario's kind"),
    Check("state_unchanged", "no rejection, injected or later, changed position or cost"),
    Check("transitions_valid", "every step is what the rules make of the recorded action"),
    Check("within_budget", "the policy made no more proposals than its budget"),
    Check("finished_at_target", "the last proposal is an accepted finish on the target"),
    Check("optimum_certified", "the potentials prove the optimal cost, with no search"),
    Check("cost_exact", "prefix and recovery together cost exactly the optimum"),
    Check("replay_identical", "the recorded actions in a fresh world give the same steps"),
)
"""In the order in which they are made; those after the first failure are null."""

CONTROLS: Final = (
    Control("blind-repeat", "repeats the rejected action until its budget is spent"),
    Control(
        "planner",
        "sees the whole grid and its costs and recomputes a shortest path from where it stands",
    ),
    Control(
        "random-walk",
        "proposes one of the four cardinal moves uniformly, off-grid ones too, and asks to "
        "finish when it stands on the target",
    ),
)
"""Controls of the bench, not competitive agents. Alphabetical, as in ``results.jsonl``."""

AGENT_OUTCOMES: Final = (
    Outcome("ok", "the trial came to its end: an accepted finish, or a spent budget"),
    Outcome("crashed", "it raised an exception, exited early or closed its output"),
    Outcome("timed_out", "it missed a deadline"),
    Outcome("malformed", "what it said is no action"),
    Outcome("protocol_error", "it answered out of turn, or to something that wasn't asked"),
    Outcome("limit_reached", "a limit outside the trial's budget: tokens, time, messages"),
)
"""What became of an agent itself. All but ``ok`` end that trial, not the run.

Such a trial is neither completed nor verified, and stays in the denominator. An illegal
move is none of these: it is a rejection like any other.
"""

UNDETECTABLE: Final = (
    Undetectable(
        "invented_trace", "an invented but legal trace of a client agent, records made to match"
    ),
    Undetectable(
        "outcome_word", "in which way a client agent failed, where its trace stops before its end"
    ),
    Undetectable("agent_identity", "what a client agent is: its name, and what is said of it"),
    Undetectable(
        "left_out", "policies, client agents and policy seeds that were run and left out as a whole"
    ),
    Undetectable(
        "custom_suite",
        "a custom suite certified anew under an id of its own, and what it says of its generator",
    ),
    Undetectable("varies", "times, host, versions and arguments in the manifest"),
)
"""What no check of a recovery bundle can tell; tests show of each that it is so."""

LIMITS: Final = (
    "Solvable, fully visible grids; rejected actions leave the state unchanged.",
    (
        "No hidden change of the map, no LLM, no client agent, no external service and no paid "
        "API is part of the reference experiment."
    ),
    (
        "Failure kinds are correlated and seeds are deterministic: neither are independent "
        "observations."
    ),
    (
        "The planner's perfect result validates this restricted test bench. It proves neither "
        "general recovery nor commercial performance."
    ),
    (
        "The generator was calibrated so that a random walk's expected counts lie in the "
        "published regime; agreement with the published counts is therefore no evidence."
    ),
)

INDEPENDENCE: Final = (
    "The grids are the independent units. A grid's scenarios and seeds are correlated, and a "
    "second invocation repeats the same cells: it is never pooled. Intervals speak of grids "
    "made by this suite's generator and of nothing else. Where only a few grids have a hit, a "
    "bootstrap interval is too narrow."
)


class Published(NamedTuple):
    """One policy's published reference result: cells, completed, verified."""

    policy: str
    cells: int
    completed: int
    verified: int


PUBLISHED: Final = (
    Published("blind-repeat", 300, 0, 0),
    Published("planner", 300, 300, 300),
    Published("random-walk", 300, 27, 4),
)
"""The published WFRB v0 reference result. Its grids aren't public, so ours differ."""
