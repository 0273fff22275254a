"""Strata and kinds: each message of the tables, and what must not be taken for one."""

from pathlib import Path

import pytest

from rejections.rejection_logs import (
    NO_MATCH,
    REFUSED,
    ClaudeLog,
    edit,
    episode_of,
    episodes_of,
    mini,
    record_of,
    swe,
)
from wayproof.capture.session import Call, Outcome, Result
from wayproof.evidence.rejection_names import INVALID_KINDS
from wayproof.rejections.calls import Places, about
from wayproof.rejections.phrases import MESSAGES, bare_message, message_kind
from wayproof.rejections.strata import Judged, judged

_SAID: dict[str, list[tuple[str, str]]] = {
    "unknown_tool": [
        ("other", "Error: No such tool available: Frob"),
        ("delegate", "Agent type 'helper' not found. Available agents: Plan"),
        ("plan", "<tool_use_error>Unknown skill: tidy</tool_use_error>"),
        ("other", "Skill tidy not found"),
        ("other", 'Tool "frob" not found in registry.'),
        ("other", "unsupported call: frob"),
        ("other", "Model tried to call unavailable tool 'frob'"),
    ],
    "bad_arguments": [
        ("read", "<tool_use_error>InputValidationError: Read failed: x</tool_use_error>"),
        ("read", "ERROR:\nInvalid `view_range` parameter: [100, 150]. Too large."),
        ("mutation", "ERROR:\nParameter `old_str` is required for command: str_replace."),
        ("other", "Missing required parameter: path"),
        ("read", "params must have required property 'path'"),
        ("other", "Invalid arguments for tool frob"),
        ("read", "File content (34278 tokens) exceeds maximum allowed tokens (25000)."),
        ("mutation", "Usage: edit <start_line>:<end_line>"),
        ("read", "Invalid `path` parameter: a. Path should be absolute"),
    ],
    "not_read_first": [
        ("mutation", "<tool_use_error>File has not been read yet. Read it first</tool_use_error>"),
        ("mutation", "You must read the file /a before overwriting it."),
    ],
    "stale_read": [
        ("mutation", "File has been modified since read, either by the user or by a linter."),
        ("mutation", "File /w/a.py has been modified since it was last read."),
    ],
    "no_file_open": [("mutation", "No file open. Use the `open` command first.")],
    "edit_no_match": [
        ("mutation", NO_MATCH),
        ("mutation", "ERROR:\nNo replacement was performed, old_str `a` did not appear verbatim"),
        ("mutation", "Your edit was not applied (file not modified): Text 'a' not found"),
        ("mutation", "oldString not found in content"),
        ("mutation", "Could not find oldString in the file."),
        ("mutation", "Failed to edit, 0 occurrences found for old_string"),
        ("mutation", "apply_patch verification failed: Failed to find expected lines in a.py"),
        ("mutation", "The string to replace was not found in the file."),
        ("mutation", "No match found for old_str"),
    ],
    "edit_ambiguous": [
        ("mutation", "Found 2 matches of the string to replace, but replace_all is false."),
        ("mutation", "ERROR:\nNo replacement was performed. Multiple occurrences of old_str `a`"),
        ("mutation", "Your edit was not applied (file not modified): Found more than one"),
        ("mutation", "Found multiple matches for oldString."),
        ("mutation", "oldString found multiple times"),
        ("mutation", "Failed to edit, expected 1 occurrence but found 3."),
    ],
    "edit_guarded": [("mutation", "Your proposed edit has introduced new syntax error(s).")],
    "edit_noop": [
        ("mutation", "No changes to make: old_string and new_string are exactly the same."),
        ("mutation", ("ERROR:\nInvalid `new_str` parameter: a\nb. `new_str` and `old_str` must be "
                     "different.")),
        ("mutation", "No replacement was performed. `new_str` and `old_str` must be different."),
        ("mutation", "Your search and replace strings are the same. No changes were made."),
        ("mutation", "oldString and newString must be different"),
    ],
    "no_such_file": [
        ("read", "<tool_use_error>File does not exist. Did you mean b?</tool_use_error>"),
        ("matched", "<tool_use_error>Path does not exist: /w/a</tool_use_error>"),
        ("listed", "Directory does not exist: /w/a"),
        ("read", "ERROR:\nInvalid `path` parameter: /a. The path /a does not exist."),
        ("read", "File not found: /w/a"),
        ("read", "File a.py not found"),
        ("read", "Error: ENOENT: no such file or directory, open 'a'"),
        ("listed", "Path not found: /w/a"),
        ("listed", "Directory /w/a not found"),
    ],
    "is_a_directory": [
        ("read", "EISDIR: illegal operation on a directory, read"),
        ("read", "The path /w is a directory and only the `view` command can be used."),
        ("read", "Path is a directory, not a file: /w"),
        ("read", "Error: src is a directory. You can only open files"),
        ("read", "Cannot read directory: /w"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "purpose", "said"),
    [(kind, purpose, said) for kind, rows in _SAID.items() for purpose, said in rows],
)
def test_each_message_has_its_kind(kind: str, purpose: str, said: str) -> None:
    """What tools say when they did nothing is told apart, whatever stands around it."""
    assert message_kind(bare_message(said), purpose) == kind
    # The same words inside a tool's output are nobody's message.
    assert message_kind(bare_message(f"   1\t{said}"), purpose) is None
    assert message_kind(bare_message(f"ran fine\n{said}"), purpose) is None


def test_every_row_of_the_table_is_shown() -> None:
    """No kind is there without an example of its own."""
    assert {row.kind for row in MESSAGES} == set(_SAID)
    named = {kind.name for kind in INVALID_KINDS} - {"command_not_found"}
    assert named == set(_SAID)


def test_edit_messages_are_editors_only() -> None:
    """A tool of somebody else's that says an editor's words has failed, and nothing more."""
    assert message_kind(bare_message(NO_MATCH), "other") is None
    assert message_kind(bare_message("File does not exist."), "other") is None


def _of_command(command: str, said: str, exit_code: int | None) -> Judged:
    call = Call(call_id="1", tool="bash", arguments={"command": command}, line=1)
    outcome = Outcome(ok=False, exit_code=exit_code, error=said)
    result = Result(call_id="1", line=2, outcome=outcome, body=said)
    return judged(result, about(call, Places("/w")), "mini-swe-agent")


@pytest.mark.parametrize(
    ("command", "said", "code", "kind"),
    [
        ("pytest a.py", "bash: line 1: pytest: command not found", 127, "command_not_found"),
        ("pytest a.py", "zsh: command not found: pytest", 127, "command_not_found"),
        ("foo", "/bin/sh: 1: foo: not found", 127, "command_not_found"),
        ("foo -x", "(eval):1: command not found: foo", 127, "command_not_found"),
        ("sudo make", "bash: sudo: command not found", 127, "command_not_found"),
        ("sudo foo", "sudo: foo: command not found", 1, "command_not_found"),
        ("timeout 5 foo", "timeout: failed to run command 'foo': No such file or directory", 127,
         "command_not_found"),
        ("./run.sh", "bash: ./run.sh: No such file or directory", 127, "command_not_found"),
        ("uv run foo", "error: Failed to spawn: `foo`\n  Caused by: No such file", 2,
         "command_not_found"),
        ("python -m pytest a.py", "/usr/bin/python: No module named pytest", 1,
         "command_not_found"),
        ("cd /w && python3 -m a.b c", "python3: No module named a", 1, "command_not_found"),
        ("\x1bfoo", "\x1b[?2004lbash: foo: command not found\r\n\x1b[?2004h", 127, None),
        ("foo", "\x1b[?2004lbash: foo: command not found\r\n\x1b[?2004h", 127,
         "command_not_found"),
        ("cat a.py", "cat: a.py: No such file or directory", 1, "no_such_file"),
        ("cd /w && cat a.py", "cat: a.py: No such file or directory", 1, "no_such_file"),
        ("head -n 5 a b", ("head: cannot open 'a' for reading: No such file or directory\n"
         "head: cannot open 'b' for reading: No such file or directory"), 1, "no_such_file"),
        ("ls src/lib", "ls: cannot access 'src/lib': No such file or directory", 2,
         "no_such_file"),
        ("ls *.x", "ls: cannot access '*.x': No such file or directory", 2, "no_such_file"),
        ("grep -n foo a.py", "grep: a.py: No such file or directory", 2, "no_such_file"),
        ("sed -n '1,5p' a.py", "sed: can't read a.py: No such file or directory", 2,
         "no_such_file"),
        ("find lib -name a", "find: ‘lib’: No such file or directory", 1, "no_such_file"),
        ("cd nope && ls", "bash: line 1: cd: nope: No such file or directory", 1, "no_such_file"),
        ("cd nope", "(eval):cd:1: no such file or directory: nope", 1, "no_such_file"),
        ("python run.py", ("python: can't open file '/w/run.py': [Errno 2] No such file or "
         "directory"), 2, "no_such_file"),
        ("node run.js", "Error: Cannot find module '/w/run.js'", 1, "no_such_file"),
        ("bash run.sh", "bash: run.sh: No such file or directory", 127, "no_such_file"),
        ("pytest t/test_a.py -v", "ERROR: file or directory not found: t/test_a.py\n\n=== x",
         4, "no_such_file"),
        ("cat src", "cat: src: Is a directory", 1, "is_a_directory"),
        # What changed something, or may have: failed, not "did nothing".
        ("rm a.py", "rm: cannot remove 'a.py': No such file or directory", 1, None),
        ("cp a b", "cp: cannot stat 'a': No such file or directory", 1, None),
        ("mv a b", "mv: cannot stat 'a': No such file or directory", 1, None),
        ("touch a/b", "touch: cannot touch 'a/b': No such file or directory", 1, None),
        ("sed -i s/a/b/ a.py", "sed: can't read a.py: No such file or directory", 2, None),
        ("echo x > f && foo f", "bash: foo: command not found", 127, None),
        ("foo && ./t", "bash: foo: command not found", 127, None),
        ("make", "sh: 1: foo: not found\nmake: *** [all] Error 127", 2, None),
        ("python run.py", ("Traceback\nFileNotFoundError: [Errno 2] No such file or directory: "
         "'x'"), 1, None),
        ("python run.py", "Traceback\nModuleNotFoundError: No module named 'x'", 1, None),
        ("cat a.py b.py", "print(1)\ncat: b.py: No such file or directory", 1, None),
        ("grep -r foo lib", "grep: lib/broken: No such file or directory", 2, None),
        ("for f in a; do cat $f; done", "cat: a: No such file or directory", 1, None),
        ("awk '{print > \"x\"}' a; cat b", "cat: b: No such file or directory", 1, None),
    ],
)  # fmt: skip
def test_commands_that_did_nothing(command: str, said: str, code: int, kind: str | None) -> None:
    """A command is invalid only if the part named did nothing and the rest only looks."""
    found = _of_command(command, said, code)
    assert found.kind == kind
    assert found.verdict == ("failed" if kind is None else "invalid")


@pytest.mark.parametrize(
    ("command", "code", "verdict"),
    [
        ("grep foo a.py", 1, "verdict"),
        ("cd /w && grep foo a.py", 1, "verdict"),
        ("bash -c 'A=$(go env X) && grep foo \"$A/b\"'", 1, "verdict"),
        ("pytest a.py", 1, "verdict"),
        ("uv run pytest a.py", 1, "verdict"),
        ("python -m mypy src", 1, "verdict"),
        ("bin/test a.py", 1, "verdict"),
        ("git diff --exit-code", 1, "verdict"),
        ("test -f a", 1, "verdict"),
        ("pylint a.py", 4, "verdict"),
        ("pylint a.py", 20, "verdict"),
        ("pylint a.py", 32, "failed"),
        ("pylint a.py", 1, "failed"),
        ("pytest a.py", 2, "failed"),
        ("pytest a.py", 5, "failed"),
        ("git diff", 1, "failed"),
        ("python run.py", 1, "failed"),
        ("grep foo a.py | head; false", 1, "failed"),
        ("make test", 1, "failed"),
        ("pytest a.py | tail -5", 1, "failed"),
    ],
)
def test_a_checkers_no_is_a_verdict(command: str, code: int, verdict: str) -> None:
    """Exit status 1 of a known checker whose status it is; pylint's bits; nothing else."""
    assert _of_command(command, "x", code).verdict == verdict


def test_cancelled_before_everything(tmp_path: Path) -> None:
    """A call that never ran since a parallel one failed is no rejection."""
    log = ClaudeLog()
    log.no("Read", "<tool_use_error>Sibling tool call errored</tool_use_error>", file_path="/w/a")
    log.no("Read", "<tool_use_error>Cancelled: parallel tool call Read(b) errored</tool_use_error>",
           file_path="/w/b")  # fmt: skip
    record = record_of(log.say().write(tmp_path / "a.jsonl"))
    assert (record.strata.cancelled, record.strata.failed, record.episodes) == (2, 0, 0)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (REFUSED, "by_person"),
        ("[Request interrupted by user for tool use]", "by_person"),
        ("Claude requested permissions to use WebSearch, but you haven't granted it.", "by_policy"),
        ("This command requires approval", "by_policy"),
        ("ls in '/x' was blocked. For security, Claude Code may only list files in …", "by_policy"),
        ("Permission to use Bash with command x has been denied.", "by_policy"),
        ("Blocked by hook", "by_policy"),
    ],
)
def test_refusals_by_whom(said: str, kind: str, tmp_path: Path) -> None:
    """A person's no and a rule's no are kept apart."""
    log = ClaudeLog().no("Bash", said, command="make").say()
    episode = episode_of(log.write(tmp_path / "a.jsonl"))
    assert (episode.stratum, episode.kind) == ("refused", kind)


def test_malformed_message(tmp_path: Path) -> None:
    """Not exactly one action: nothing ran, and the lost command isn't judged."""
    said = "Please always provide EXACTLY ONE action in triple backticks, found 2 actions."
    log = mini(tmp_path, [("ls", None, said), ("ls", 0, "a")], submitted=True)
    episode = episode_of(log)
    assert (episode.stratum, episode.outcome, episode.extra_calls) == ("malformed", "recovered", 1)
    assert episode.evidence == "well_formed"


def test_no_outcome_is_unknown(tmp_path: Path) -> None:
    """A call without a result, or without a word on how it ended, is counted as unknown."""
    log = ClaudeLog()
    log.issue("Read", file_path="/w/a")
    assert record_of(log.write(tmp_path / "a.jsonl")).unknown == 1


def test_errors_without_a_status_where_others_have_one(tmp_path: Path) -> None:
    """The words of a person look the same: such an error is unknown, before and after."""
    log = ClaudeLog(version="1.0.60")
    log.no("Bash", "ValueError: bad", command="make a")
    log.no("Bash", "Exit code 2\nbad", command="make b")
    log.no("Bash", "ValueError: bad", command="make c")
    record = record_of(log.say().write(tmp_path / "a.jsonl"))
    assert (record.strata.failed, record.unknown) == (1, 2)


def test_swe_agent_edit_needs_its_word(tmp_path: Path) -> None:
    """SWE-agent's editor says in words whether it edited: anything else is unknown."""
    log = swe(
        tmp_path,
        ("edit 1:1\nx = 1\nend_of_edit", "something odd"),
        ("edit 1:1\nx = 1\nend_of_edit", "[File: a.py (3 lines total)]\n1:x = 1"),
        ("submit", ""),
    )
    record = record_of(log)
    assert (record.calls, record.unknown, record.episodes) == (2, 1, 0)


def test_plan_tools_and_answers_are_no_calls(tmp_path: Path) -> None:
    """Keeping a plan takes no call of an episode, and handing in ends the turn."""
    log = ClaudeLog()
    log.no("Edit", NO_MATCH, **edit("/w/a.py", "old", "new line"))
    log.ok("TodoWrite", todos=[]).ok("TaskUpdate", taskId="1")
    log.ok("Edit", **edit("/w/a.py", "old2", "new line"))
    episode, record = episode_of(log.say().write(tmp_path / "a.jsonl")), None
    assert (episode.outcome, episode.extra_calls) == ("recovered", 1)
    record = record_of(tmp_path / "a.jsonl")
    assert record.calls == 2


def test_no_rejections_no_episodes(tmp_path: Path) -> None:
    """A log in which everything was accepted has a session and nothing else."""
    log = ClaudeLog().ok("Read", file_path="/w/a").say()
    assert episodes_of(log.write(tmp_path / "a.jsonl")) == ()
