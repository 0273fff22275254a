"""The words by which tools say that they did nothing: versioned tables, since they rot.

Each row has a fixture of its own in the tests. A message is matched where the tool puts it:
at its beginning, behind the tags and the words that harnesses put before it. What stands
inside a command's output is never looked at here; :mod:`wayproof.rejections.commands` reads
the messages of shells and programs.
"""

import re
from typing import Final, NamedTuple

from wayproof.evidence.rejection_names import Kind

__all__ = [
    "EDIT_DONE",
    "MESSAGES",
    "PHRASES_VERSION",
    "Message",
    "bare_message",
    "did_you_mean",
    "is_by_policy",
    "is_cancelled",
    "is_malformed",
    "message_kind",
]

PHRASES_VERSION: Final = "2026-11"
"""Changes with any row of the tables: results of two versions may differ."""

_HEAD_CHARS: Final = 4000

_BEFORE = re.compile(
    r"\A(?:\s|\x1b\[[0-9;?]*[A-Za-z]|<tool_use_error>|<error>|<system>|</?[a-z_]+>|\[ERROR\]"
    r"|(?:Tool|Command|Call|Edit) (?:call |execution )?(?:failed|error)(?: with error)?:"
    r"|(?:Error|ERROR|FunctionCallError|ToolError|Error executing tool [\w.-]{1,80}"
    r"|Error calling tool [\w.'-]{1,80}|apply_patch verification failed):)+"
)


def bare_message(text: str) -> str:
    """Return what a tool said, without what its harness put before it; bounded."""
    head = text[:_HEAD_CHARS]
    before = _BEFORE.match(head)
    return head[before.end() :] if before is not None else head


_CANCELLED = re.compile(
    r"Sibling tool call errored|Cancelled: parallel tool call\b|Tool call cancelled because a"
    r" (?:sibling|parallel) (?:tool )?call"
)


def is_cancelled(message: str) -> bool:
    """Whether a call was never run since a parallel one failed."""
    return _CANCELLED.match(message) is not None


_MALFORMED = re.compile(
    r"Please always provide EXACTLY ONE action"
    r"|Cannot execute multiple commands at once"
    r"|Your (?:output|response|command) was not formatted correctly"
    r"|(?:No|Multiple) tool calls? (?:was |were )?found in (?:the |your )(?:response|message)"
    r"|(?:failed|unable) to parse (?:function|tool(?: call)?) arguments"
    r"|Error parsing the following tool call arguments"
    r"|(?:The )?(?:tool call|function call) arguments (?:are|is) not valid JSON",
    re.IGNORECASE,
)


def is_malformed(message: str) -> bool:
    """Whether nothing ran since the message wasn't exactly one well-formed action."""
    return _MALFORMED.match(message) is not None


_BY_POLICY = re.compile(
    r"Claude requested permissions?|This command requires approval"
    r"|This Bash command contains multiple operations|[\w ]{0,40}requires (?:approval|permission)"
    r"|Permission (?:to use|for|to) |.{0,200} was blocked\.|Blocked by auto mode"
    r"|.{0,120}(?:denied|blocked|rejected) by (?:a |the |your )?"
    r"(?:policy|hook|permission|sandbox|admin|configuration|settings|rule)"
    r"|.{0,120}denied (?:permission )?by (?:your |the )?(?:permission|policy)"
    r"|.{0,120}is denied by your permission settings"
    r"|.{0,60}\bPreToolUse:|Hook PreToolUse:"
    r"|(?:Tool|Command) (?:execution |call )?(?:was )?(?:not allowed|not permitted|denied)\b",
    re.IGNORECASE,
)


def is_by_policy(message: str) -> bool:
    """Whether a refusal is a rule's and no person's."""
    return _BY_POLICY.match(message) is not None


class Message(NamedTuple):
    """A row: the kind, which tools may say it, and how it begins.

    Attributes
    ----------
    kind
        Why the call did nothing.
    purposes
        Purposes of tools (as capture has them) that say it; empty: any that is no shell.
    pattern
        How the message begins.
    """

    kind: Kind
    purposes: frozenset[str]
    pattern: re.Pattern[str]


_ANY: Final[frozenset[str]] = frozenset()
_EDITORS: Final = frozenset({"mutation"})
_FILES: Final = frozenset({"mutation", "read", "matched", "listed", "search"})


def _row(kind: Kind, purposes: frozenset[str], *patterns: str) -> Message:
    return Message(kind, purposes, re.compile("|".join(patterns), re.IGNORECASE))


MESSAGES: Final[tuple[Message, ...]] = (
    _row(
        "unknown_tool",
        _ANY,
        r"No such tool(?: available)?\b",
        r"Agent type '.{0,200}?' not found",
        r"Unknown (?:skill|tool|agent)\b",
        r"Skill .{1,200}? (?:not found|does not exist)",
        r"Tool [\"'`]?[\w.:/-]{1,120}[\"'`]? (?:not found|does not exist|is not available)",
        r"unsupported call: ",
        r"Model tried to call unavailable tool",
    ),
    _row(
        "not_read_first",
        _EDITORS,
        r"File has not been read yet",
        r"You must (?:first )?(?:read|use (?:the |your )?Read tool)",
    ),
    _row(
        "stale_read",
        _EDITORS,
        r"File has been (?:unexpectedly )?(?:modified|changed) since (?:it was )?(?:last )?read",
        r"File .{1,300}? has been modified since it was last read",
    ),
    _row("no_file_open", _FILES, r"No file open(?:ed)?\b"),
    _row(
        "edit_noop",
        _EDITORS,
        r"No changes to (?:make|apply)",
        r"Invalid `new_str` parameter: (?s:.{0,3500}?)`new_str` and `old_str` must be different",
        r"No replacement was performed\. `new_str` and `old_str` must be different",
        r"Your search and replace strings are the same",
        r"old_?String and new_?String (?:must be different|are (?:identical|the same))",
    ),
    _row(
        "edit_ambiguous",
        _EDITORS,
        r"Found \d+ matches of the string to replace",
        r"No replacement was performed\. Multiple occurrences of",
        r"Your edit was not applied \(file not modified\): Found more than one",
        r"Found multiple matches for old_?String",
        r"old_?String found multiple times",
        r"Failed to edit, expected \d+ occurrences? but found (?:[2-9]|\d\d+)",
    ),
    _row(
        "edit_no_match",
        _EDITORS,
        r"String to replace not found in file",
        r"No replacement was performed, old_str\b",
        r"Your edit was not applied \(file not modified\): Text ",
        r"old_?String not found in (?:content|file)",
        r"Could not find old_?String in the file",
        r"Failed to edit, (?:0 occurrences found|could not find the string)",
        r"Failed to find (?:expected lines|context)",
        r"The string to replace was not found",
        r"No match found for (?:the )?old_?str",
    ),
    _row("edit_guarded", _EDITORS, r"\[?Your proposed edit has introduced new syntax error"),
    _row(
        "is_a_directory",
        _FILES,
        r"EISDIR\b",
        r"The path .{1,300}? is a directory\b",
        r"(?:Path|File) is a directory",
        r"\S{1,300} is a directory\. You can only open files",
        r"Cannot read (?:a )?directory",
    ),
    _row(
        "no_such_file",
        _FILES,
        r"File does not exist\b",
        r"(?:Path|Directory|File) does not exist: ",
        r"(?:Invalid `path` parameter: .{1,300}? )?The path .{1,300}? does not exist",
        r"File not found\b",
        r"File .{1,300}? (?:not found|does not exist)",
        r"ENOENT\b",
        r"Path not found\b",
        r"Directory .{1,300}? (?:not found|does not exist)",
    ),
    _row(
        "bad_arguments",
        _ANY,
        r"InputValidationError\b",
        r"Invalid `?\w{1,40}`? (?:parameter|argument|value)",
        r"Parameter `?\w{1,40}`? is required",
        r"(?:Missing|Unexpected|Unknown) (?:required )?(?:parameter|argument|property)",
        r"params(?:/\w{1,40})? must\b",
        r"Invalid (?:arguments|parameters|input)\b",
        r"File content \(.{1,60}?\) exceeds maximum allowed",
        r"Usage: ",
        r"Invalid `path`",
    ),
)
"""In the order in which they are tried."""


def message_kind(message: str, purpose: str) -> Kind | None:
    """Return why a tool that is no shell did nothing; None where no row says it."""
    for row in MESSAGES:
        if (not row.purposes or purpose in row.purposes) and row.pattern.match(message):
            return row.kind
    return None


_MEANT = re.compile(r"Did you mean [`'\"]?([^\s?`'\"]{1,300})[`'\"]?\?")


def did_you_mean(message: str) -> str | None:
    """Return the name that a tool proposed in place of the one it didn't find."""
    found = _MEANT.search(message)
    return found[1] if found is not None else None


EDIT_DONE = re.compile(
    r"(?:The file|File) .{0,300}?(?:has been |was )?(?:updated|edited|created|written|overwritten)"
    r"|(?:File|Text) (?:updated|replaced|created)|Replaced \d+ occurrence|\[File: "
    r"|Successfully (?:created|modified|edited|wrote|updated|replaced|applied)"
    r"|Success\. Updated the following files|Applied \d+ edits?|Done!",
    re.IGNORECASE,
)
"""How editors say that they did it, for logs that have no typed outcome of it."""
