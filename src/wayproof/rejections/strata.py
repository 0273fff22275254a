"""What a result is that is no success: exactly one stratum, tested in a stated order."""

import re
from typing import Final, Literal, NamedTuple

from wayproof.capture.results import body_text
from wayproof.capture.session import Call, Outcome, Result
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


def judged(call: Call, result: Result, read: About, format_name: str) -> Judged:
    """Judge a result.

    Parameters
    ----------
    call, result
        The call and its result.
    read
        What the call is about.
    format_name
        The log's format.
    """
    outcome = result.outcome
    if outcome.ok is True and not (read.purpose == "mutation" and format_name in _UNSURE_EDITS):
        return Judged("accepted", exit_code=outcome.exit_code)
    text = body_text(result.body) or outcome.error or ""
    message = bare_message(text)
    if outcome.ok is True:
        done = EDIT_DONE.match(message) is not None
        return Judged("accepted" if done else "unknown")
    if is_cancelled(message):
        return Judged("cancelled")
    if outcome.refused:
        return Judged("refused", kind="by_policy" if is_by_policy(message) else "by_person")
    if is_malformed(message):
        return Judged("malformed", kind="not_one_action")
    if outcome.ok is None and not outcome.timed_out:
        done = read.purpose == "mutation" and EDIT_DONE.match(message) is not None
        return Judged("accepted" if done else "unknown")
    if outcome.timed_out:
        return Judged("failed", exit_code=outcome.exit_code)
    if read.purpose == "shell":
        return _judged_command(outcome, text, message, read)
    kind = message_kind(message, read.purpose)
    if kind is None:
        return Judged("failed")
    return Judged("invalid", kind=kind, meant=did_you_mean(message))


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
    if facet.step is None:
        if result.verdict != "accepted":
            return None
        return _BY_GOAL.get(goal, "tool_accepted")
    if read.steps is None:
        return None
    step = read.steps[facet.step]
    behind = [one.part.after for one in read.steps[facet.step :]]
    if result.verdict == "accepted":
        typed = result.exit_code == 0 or format_name in _STATUS_BY_ERROR
        if not typed or any(operator not in {"&&", ""} for operator in behind):
            return None
        return _BY_GOAL.get(goal, "exit_0")
    if behind != [""] or step.simple is None:
        return None
    checked = result.verdict == "verdict" and is_checker_verdict(step.simple, result.exit_code)
    ran = result.checked_by and facet.program is not None and facet.program.runs_tests
    if not (checked or ran):
        return None
    return "search_answered" if goal == "search" else "verdict"


_BY_GOAL: Final[dict[str, Evidence]] = {
    "edit": "accepted_edit",
    "read": "file_read",
    "search": "search_answered",
}
