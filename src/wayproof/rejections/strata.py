"""What a result is that is no success: exactly one stratum, tested in a stated order."""

import re
from typing import Final, Literal, NamedTuple

from wayproof.capture.results import body_text
from wayproof.capture.session import Outcome, Result
from wayproof.evidence.rejection_names import Evidence, Kind, Stratum
from wayproof.rejections.calls import About, Facet
from wayproof.rejections.commands import fault_of, said_by_command
from wayproof.rejections.phrases import (
    EDIT_DONE,
    bare_message,
    did_you_mean,
    is_by_policy,
    is_cancelled,
    is_malformed,
    message_kind,
)
from wayproof.rejections.programs import is_checker_verdict

__all__ = ["Judged", "evidence_of", "judged"]

Verdict = Literal["accepted", "unknown"] | Stratum

_STATUS_BY_ERROR: Final = frozenset({"claude-code"})
"""Formats that mark a command an error exactly when its exit status isn't 0."""
_UNSURE_EDITS: Final = frozenset({"swe-agent"})
"""Formats that say of an edit only in words whether it was made."""


class Judged(NamedTuple):
    """A call's result, judged.

    Attributes
    ----------
    verdict
        ``accepted``, ``unknown``, or a stratum.
    kind
        Of an ``invalid``, ``malformed`` or ``refused`` result: why.
    step
        Of an ``invalid`` command: the part that did nothing.
    meant
        The name that the tool proposed for the file that isn't there.
    exit_code
        The command's status, where the log has it.
    unclear_shell
        An error of a shell command without an exit status, which none of the tables knows.
    checked_by
        A test runner's own last line tells that it ran, in a log without exit statuses.
    """

    verdict: Verdict
    kind: Kind | None = None
    step: int | None = None
    meant: str | None = None
    exit_code: int | None = None
    unclear_shell: bool = False
    checked_by: bool = False


_TESTS_RAN = re.compile(
    r"^=+ (?=.*\b\d+ (?:failed|passed|errors?)\b).{0,200} in [\d.]+s(?: \([\d:]+\))? =+$"
    r"|^Ran \d+ tests? in [\d.]+s$",
    re.MULTILINE,
)


def judged(result: Result, read: About, format_name: str) -> Judged:
    """Judge a result.

    Parameters
    ----------
    result
        What came of the call.
    read
        What the call is about.
    format_name
        The log's format.
    """
    outcome = result.outcome
    in_words = read.purpose == "mutation" and format_name in _UNSURE_EDITS
    if outcome.ok is True and not in_words:
        return Judged("accepted", exit_code=outcome.exit_code)
    text = body_text(result.body) or outcome.error or ""
    message = bare_message(text)
    told = None if outcome.ok is True else _told(outcome, message)
    if told is not None:
        return told
    if outcome.ok is not False and not outcome.timed_out:
        done = read.purpose == "mutation" and EDIT_DONE.match(message) is not None
        return Judged("accepted" if done else "unknown")
    if read.purpose == "shell" and not outcome.timed_out:
        return _judged_command(outcome, text, message, read)
    kind = None if outcome.timed_out else message_kind(message, read.purpose)
    if kind is None:
        return Judged("failed", exit_code=outcome.exit_code)
    return Judged("invalid", kind=kind, meant=did_you_mean(message))


def _told(outcome: Outcome, message: str) -> Judged | None:
    """Return what is told before the call itself is looked at."""
    if is_cancelled(message):
        return Judged("cancelled")
    if outcome.refused:
        return Judged("refused", kind="by_policy" if is_by_policy(message) else "by_person")
    if is_malformed(message):
        return Judged("malformed", kind="not_one_action")
    return None


def _judged_command(outcome: Outcome, text: str, message: str, read: About) -> Judged:
    code = outcome.exit_code
    if code is None:
        kind = message_kind(message, "shell")
        if kind in {"unknown_tool", "bad_arguments"} and not message.startswith("Usage"):
            return Judged("invalid", kind=kind)
    if read.steps:
        said = said_by_command(text)
        fault = fault_of(read.steps, said, code)
        if fault is not None:
            return Judged("invalid", kind=fault.kind, step=fault.step, exit_code=code)
        last = read.steps[-1]
        if last.part.after == "" and last.simple is not None:
            if is_checker_verdict(last.simple, code):
                return Judged("verdict", exit_code=code)
            if code is None:
                ran = _TESTS_RAN.search(text[-4000:]) is not None
                return Judged("failed", unclear_shell=True, checked_by=ran)
    return Judged("failed", exit_code=code, unclear_shell=code is None)


def evidence_of(
    result: Judged, read: About, facet: Facet, format_name: str, *, goal: str
) -> Evidence | None:
    """Return what shows that a facet of a call was done; None: nothing does.

    Parameters
    ----------
    result
        The call's result, judged.
    read, facet
        The call, and the one thing that it asks for.
    format_name
        The log's format.
    goal
        What was wanted: ``edit``, ``read``, ``search``, ``command`` or ``other``.
    """
    accepted = result.verdict == "accepted"
    if facet.step is None:
        return _BY_GOAL.get(goal, "tool_accepted") if accepted else None
    if read.steps is None:
        return None
    behind = {one.part.after for one in read.steps[facet.step :]}
    if accepted:
        typed = result.exit_code == 0 or format_name in _STATUS_BY_ERROR
        return _BY_GOAL.get(goal, "exit_0") if typed and behind <= {"&&", ""} else None
    if facet.step == len(read.steps) - 1 and behind == {""} and _checked(result, read, facet):
        return "search_answered" if goal == "search" else "verdict"
    return None


def _checked(result: Judged, read: About, facet: Facet) -> bool:
    """Whether the last part of a command is a checker that ran and said no."""
    simple = read.steps[-1].simple if read.steps else None
    if simple is None:
        return False
    if result.verdict == "verdict":
        return is_checker_verdict(simple, result.exit_code)
    return result.checked_by and facet.program is not None and facet.program.runs_tests


_BY_GOAL: Final[dict[str, Evidence]] = {
    "edit": "accepted_edit",
    "read": "file_read",
    "search": "search_answered",
}
