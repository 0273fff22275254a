"""The vocabulary of rejected calls: each word with its meaning, in one place.

Strata, kinds, outcomes, what an outcome rests on, the limits that travel with every result,
and the names of a bundle's files. Measuring, checking, pages, documentation and command line
read them from here.
"""

from typing import Final, Literal, NamedTuple

__all__ = [
    "BUNDLE_KIND",
    "CHECKED_FORMATS",
    "CHECKS",
    "CLOSINGS",
    "DEFAULT_WINDOW_CALLS",
    "EPISODES_NAME",
    "EPISODE_STRATA",
    "EVIDENCE",
    "FLOOR_CALLS",
    "GOAL_MAY_NOT_EXIST",
    "INVALID_KINDS",
    "KINDS_OF",
    "LIMITS",
    "MALFORMED_KINDS",
    "MAX_WINDOW_CALLS",
    "MIN_EPISODES",
    "MIN_SESSIONS",
    "NOT_DETECTABLE",
    "NO_OUTCOME_FORMATS",
    "OUTCOMES",
    "REACHED",
    "REFUSED_KINDS",
    "RESUMABLE_FORMATS",
    "SESSIONS_NAME",
    "STRATA",
    "SUMMARY_NAME",
    "Check",
    "ClosedBy",
    "EpisodeStratum",
    "Evidence",
    "Kind",
    "KindMeaning",
    "Match",
    "Outcome",
    "Rules",
    "Stratum",
    "Word",
    "is_resumable",
    "rules_of",
]

BUNDLE_KIND: Final = "rejections"
EPISODES_NAME: Final = "episodes.jsonl"
SESSIONS_NAME: Final = "sessions.jsonl"
SUMMARY_NAME: Final = "summary.json"

DEFAULT_WINDOW_CALLS: Final = 20
MAX_WINDOW_CALLS: Final = 1000
MIN_EPISODES: Final = 10
MIN_SESSIONS: Final = 5
"""Below either there is no rate: a handful of episodes, or of sessions, shows none."""

Stratum = Literal["cancelled", "refused", "malformed", "invalid", "verdict", "failed"]
EpisodeStratum = Literal["refused", "malformed", "invalid"]
Kind = Literal[
    "unknown_tool", "bad_arguments", "not_read_first", "stale_read", "no_file_open",
    "edit_no_match", "edit_ambiguous", "edit_guarded", "edit_noop", "no_such_file",
    "is_a_directory", "command_not_found", "by_person", "by_policy", "not_one_action",
]  # fmt: skip
Outcome = Literal[
    "recovered", "recovered_detour", "blind_repeat", "not_reached", "undecided",
    "not_repeated", "asked_again", "accepted_later",
]  # fmt: skip
Evidence = Literal[
    "accepted_edit", "file_read", "search_answered", "exit_0", "verdict", "tool_accepted",
    "well_formed",
]  # fmt: skip
ClosedBy = Literal["goal", "refused", "window", "turn_end", "prompt", "log_end"]
Check = Literal["pursued", "accepted", "evidence", "kept", "at_floor"]
Match = Literal["exact", "same", "near", "file"]


class Word(NamedTuple):
    """A word of the vocabulary and its meaning."""

    name: str
    meaning: str


class KindMeaning(NamedTuple):
    """A kind of rejection and its meaning."""

    name: Kind
    meaning: str


STRATA: Final[tuple[Word, ...]] = (
    Word("cancelled", "a parallel call failed, and this one was never run"),
    Word("refused", "a person or a policy said no"),
    Word("malformed", "nothing ran: the message wasn't exactly one well-formed action"),
    Word("invalid", "the tool did nothing, for a reason that its message names"),
    Word("verdict", "a known checker ran and said no, by its exit status"),
    Word("failed", "everything else; scripts of the agent's own, too"),
)
"""What a result is that is no success, in the order in which they are tested."""

EPISODE_STRATA: Final[tuple[EpisodeStratum, ...]] = ("invalid", "malformed", "refused")

INVALID_KINDS: Final[tuple[KindMeaning, ...]] = (
    KindMeaning("unknown_tool", "no such tool, agent type or skill"),
    KindMeaning("bad_arguments", "arguments against the tool's schema, usage or range"),
    KindMeaning("not_read_first", "an edit of a file that wasn't read (floor 2: read, edit)"),
    KindMeaning("stale_read", "an edit of a file that changed since it was read (floor 2)"),
    KindMeaning("no_file_open", "an editor's command without an open file (floor 2: open, edit)"),
    KindMeaning("edit_no_match", "the text to replace isn't there"),
    KindMeaning("edit_ambiguous", "the text to replace is there more than once"),
    KindMeaning("edit_guarded", "a linter guards the editor: the edit would break the file"),
    KindMeaning("edit_noop", "the edit would change nothing"),
    KindMeaning("no_such_file", "the file or folder isn't there"),
    KindMeaning("is_a_directory", "a folder where a file was asked for"),
    KindMeaning("command_not_found", "the program, or the module run, isn't there"),
)
FLOOR_CALLS: Final[dict[Kind, int]] = {"not_read_first": 2, "stale_read": 2, "no_file_open": 2}
"""The least number of calls that reaching the goal can take, where it isn't 1."""
GOAL_MAY_NOT_EXIST: Final[frozenset[Kind]] = frozenset(
    {"no_such_file", "is_a_directory", "edit_noop"}
)
"""Kinds of which "not reached" may mean that there was nothing to reach."""
RESUMABLE_FORMATS: Final[frozenset[str]] = frozenset(
    {"claude-code", "codex", "gemini", "copilot-cli", "opencode", "cursor", "openhands"}
)
"""Formats of conversations that a person can go on with: their log's end ends nothing."""


def is_resumable(format_name: str, session_id: str | None, thread: str) -> bool:
    """Whether a log's end may not be the end: OpenHands' evaluations name their sessions."""
    if format_name == "openhands" and session_id is not None:
        return False
    return format_name in RESUMABLE_FORMATS and thread == ""


MALFORMED_KINDS: Final[tuple[KindMeaning, ...]] = (
    KindMeaning("not_one_action", "several actions, none, or one that can't be parsed"),
)
REFUSED_KINDS: Final[tuple[KindMeaning, ...]] = (
    KindMeaning("by_person", "a person refused or interrupted the call"),
    KindMeaning("by_policy", "a permission, a hook or a sandbox refused it"),
)

KINDS_OF: Final[dict[EpisodeStratum, tuple[Kind, ...]]] = {
    "invalid": tuple(kind.name for kind in INVALID_KINDS),
    "malformed": tuple(kind.name for kind in MALFORMED_KINDS),
    "refused": tuple(kind.name for kind in REFUSED_KINDS),
}
"""The kinds of each stratum that has episodes."""

OUTCOMES: Final[tuple[Word, ...]] = (
    Word("recovered", "the goal was reached in the least number of calls"),
    Word("recovered_detour", "the goal was reached later"),
    Word(
        "blind_repeat",
        "not reached; every attempt was the same call again with nothing changed in between",
    ),
    Word("not_reached", "decided, and not seen reached"),
    Word("undecided", "the log can't tell"),
    Word("not_repeated", "the refused call wasn't made again (another may do the same)"),
    Word("asked_again", "the refused call was made again and not accepted"),
    Word("accepted_later", "the refused call was made again and accepted"),
)
REACHED: Final[frozenset[str]] = frozenset({"recovered", "recovered_detour"})

EVIDENCE: Final[tuple[Word, ...]] = (
    Word("accepted_edit", "an editor, or a command that writes, accepted the lines"),
    Word("file_read", "the file was read"),
    Word("search_answered", "a search with the same pattern was answered"),
    Word("exit_0", "the command ended with status 0"),
    Word("verdict", "the command is a checker, it ran, and said no"),
    Word("tool_accepted", "the tool accepted the same call"),
    Word("well_formed", "the next action was well formed"),
)
CLOSINGS: Final[tuple[Word, ...]] = (
    Word("goal", "the goal was reached"),
    Word("refused", "a person refused or interrupted an attempt"),
    Word("window", "the window of calls is over"),
    Word("turn_end", "the agent's turn ended"),
    Word("prompt", "a prompt came before the agent had answered"),
    Word("log_end", "the log ended"),
)
CHECKS: Final[tuple[Word, ...]] = (
    Word("pursued", "a later call has the same intent"),
    Word("accepted", "such a call was accepted"),
    Word("evidence", "the log shows how it ended"),
    Word("kept", "the rejected call wasn't sent once more after that"),
    Word("at_floor", "it took no more calls than the least possible number"),
)
"""What must hold for a recovery at the least cost, in this order."""

CHECKED_FORMATS: Final[frozenset[str]] = frozenset(
    {"claude-code", "openhands", "swe-agent", "mini-swe-agent"}
)
"""Formats whose outcomes were compared with labels that people gave."""
NO_OUTCOME_FORMATS: Final[frozenset[str]] = frozenset({"atif"})
"""Formats that don't log how a call ended."""


class Rules(NamedTuple):
    """How far the rates of a format can be trusted, and why."""

    name: Literal["checked", "unchecked", "no_outcomes"]
    meaning: str


def rules_of(format_name: str) -> Rules:
    """Return whether a format's outcomes were compared with labels."""
    if format_name in CHECKED_FORMATS:
        return Rules("checked", "compared with labels of real logs")
    if format_name in NO_OUTCOME_FORMATS:
        return Rules("no_outcomes", "the format doesn't log how a call ended")
    return Rules("unchecked", "no openly licensed log with rejections to compare with was found")


LIMITS: Final[tuple[str, ...]] = (
    (
        "Calls are matched by text, not by meaning. A person sees more: of the goals reached by "
        "the same means about one in five wasn't found, so the rates are 'at least'."
    ),
    "Recovery by other means isn't seen, and 'at most' doesn't bound it.",
    "An edit that was accepted in a wrong place and undone later counts from its first acceptance.",
    "extra_calls includes calls that repair a parallel sibling.",
    (
        "'Did nothing' is the tool's word. Failures behind '|| true', behind pipes or with an "
        "unlogged status aren't seen."
    ),
    (
        "Compared with labels: Claude Code, OpenHands, SWE-agent, mini-swe-agent. The rates of "
        "every other format are unchecked."
    ),
    "Rates compare only over the same tasks and the same format; none says that a task succeeded.",
)

NOT_DETECTABLE: Final = (
    "Not detectable without the logs: episodes and sessions that were invented, left out or "
    "changed as a whole, where episodes, counts and summary agree with each other; the digests "
    "and sizes of the logs; times, host and versions in the manifest."
)
