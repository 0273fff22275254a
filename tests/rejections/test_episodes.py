"""Episodes: intents, evidence, what closes them, and what they come to."""

import json
from pathlib import Path
from typing import Any

import pytest

from rejections.rejection_logs import (
    NO_FILE,
    NO_MATCH,
    NOT_READ,
    REFUSED,
    ClaudeLog,
    edit,
    episode_of,
    episodes_of,
    mini,
    swe,
)
from wayproof.evidence.rejection_records import Episode

_FILE = "/w/a.py"


def _episode(log: ClaudeLog, folder: Path, **settings: Any) -> Episode:
    return episode_of(log.write(folder / "a.jsonl"), **settings)


def _rejected(old: str = "x = 1", new: str = "x = 2\ny = 3") -> ClaudeLog:
    return ClaudeLog().no("Edit", NO_MATCH, **edit(_FILE, old, new))


# -- edits ------------------------------------------------------------------------------------


def test_edit_recovered_at_the_floor(tmp_path: Path) -> None:
    """The same lines accepted in the next call: the least possible cost."""
    log = _rejected().ok("Edit", **edit(_FILE, "x  =  1", "x = 2\n    y = 3")).say()
    found = _episode(log, tmp_path)
    assert (found.outcome, found.extra_calls, found.floor_calls) == ("recovered", 1, 1)
    assert (found.evidence, found.closed_by, found.first_failed_check) == (
        "accepted_edit", "goal", None,
    )  # fmt: skip
    assert (found.source.lines.rejection, found.source.lines.closing) == (2, 4)


def test_edit_recovered_later(tmp_path: Path) -> None:
    """A look first: reached, at more than the least possible cost."""
    log = _rejected().ok("Read", file_path=_FILE)
    found = _episode(log.ok("Edit", **edit(_FILE, "x=1", "x = 2\ny = 3")).say(), tmp_path)
    assert (found.outcome, found.extra_calls) == ("recovered_detour", 2)
    assert found.first_failed_check == "at_floor"


def test_edit_taken_together_and_by_any_tool(tmp_path: Path) -> None:
    """The lines of later edits count together, and a heredoc is an edit."""
    log = _rejected().ok("Edit", **edit(_FILE, "x=1", "x = 2"))
    log.ok("Bash", command=f"cat >> {_FILE} <<'EOF'\ny = 3\nEOF")
    found = _episode(log.say(), tmp_path)
    assert (found.outcome, found.extra_calls) == ("recovered_detour", 2)
    assert [one.match for one in found.lane] == ["near", "same"]


def test_edit_of_half_the_lines_is_undecided(tmp_path: Path) -> None:
    """Half of the lines, or another edit of the file: the log can't tell."""
    half = _rejected().ok("Edit", **edit(_FILE, "x=1", "x = 2")).say()
    other = _rejected().ok("Edit", **edit(_FILE, "q", "something")).say()
    elsewhere = _rejected().ok("Edit", **edit("/w/b.py", "q", "something")).say()
    assert _episode(half, tmp_path).outcome == "undecided"
    assert _episode(half, tmp_path).lane[0].match == "near"
    found = _episode(other, tmp_path)
    assert (found.outcome, found.lane[0].match) == ("undecided", "file")
    found = _episode(elsewhere, tmp_path)
    assert (found.outcome, found.lane[0].match) == ("not_reached", None)
    assert found.first_failed_check == "pursued"


def test_edit_in_another_file_is_not_it(tmp_path: Path) -> None:
    """The same lines in another file are near, and no recovery."""
    log = _rejected().ok("Edit", **edit("/w/b.py", "x=1", "x = 2\ny = 3")).say()
    assert _episode(log, tmp_path).outcome == "undecided"


def test_edit_lines_that_both_texts_have_are_no_goal(tmp_path: Path) -> None:
    """Only what the edit adds over what it removes must stand there later."""
    old, new = "def f():\n  pass", "def f():\n  return 1"
    log = ClaudeLog().no("Edit", NO_MATCH, **edit(_FILE, old, new))
    log.ok("Edit", **edit(_FILE, "pass", "return 1"))
    assert _episode(log.say(), tmp_path).outcome == "recovered"


def test_edit_escaped_line_feeds(tmp_path: Path) -> None:
    """A text whose line feeds were escaped as a whole is read as it was meant."""
    log = ClaudeLog().no("Edit", NO_MATCH, **edit(_FILE, "a\\nb", "a\\nnew line"))
    assert _episode(log.ok("Edit", **edit(_FILE, "b", "new line")).say(), tmp_path).outcome == (
        "recovered"
    )


def test_edit_with_line_numbers_copied(tmp_path: Path) -> None:
    """Line numbers of a listing that were copied into the text are no part of it."""
    log = ClaudeLog().no("Edit", NO_MATCH, **edit(_FILE, "  7\ta", "  7\tlonger line"))
    assert _episode(log.ok("Edit", **edit(_FILE, "a", "longer line")).say(), tmp_path).outcome == (
        "recovered"
    )


def test_edit_only_deletes(tmp_path: Path) -> None:
    """A deletion is reached when the lines are removed, not when they are added."""
    log = ClaudeLog().no("Edit", NO_MATCH, **edit(_FILE, "keep\ndrop this", "keep"))
    found = _episode(log.ok("Edit", **edit(_FILE, "drop this\nmore", "more")).say(), tmp_path)
    assert found.outcome == "recovered"
    log = ClaudeLog().no("Edit", NO_MATCH, **edit(_FILE, "keep\ndrop this", "keep"))
    found = _episode(log.ok("Edit", **edit(_FILE, "q", "drop this")).say(), tmp_path)
    assert found.outcome == "undecided"


def test_edit_that_is_part_of_a_line(tmp_path: Path) -> None:
    """What a line has beside the old one may be put on a line of its own."""
    new = "check_the_value(result); return result"
    log = ClaudeLog().no("Edit", NO_MATCH, **edit(_FILE, "return result", new))
    log.ok("Edit", **edit(_FILE, "# here", "# here\ncheck_the_value(result);"))
    assert _episode(log.say(), tmp_path).outcome == "recovered"


def test_guarded_edit_needs_half_of_its_lines(tmp_path: Path) -> None:
    """A linter's guard wants a line changed: half of two or more lines are enough."""
    guard = "Your proposed edit has introduced new syntax error(s)."
    shows = "[File: /w/a.py (9 lines total)]\n1:a"
    first = "edit 1:2\nalpha = 1\nbeta = (\nend_of_edit"
    log = swe(tmp_path, ("open a.py", shows), (first, guard),
              ("edit 1:2\nalpha = 1\nbeta = 2\nend_of_edit", shows), ("submit", ""))  # fmt: skip
    assert episode_of(log).outcome == "recovered"
    one = "edit 1:1\nbeta = (\nend_of_edit"
    log = swe(tmp_path, ("open a.py", shows), (one, guard),
              ("edit 1:1\nbeta = 2\nend_of_edit", shows), ("submit", ""))  # fmt: skip
    assert episode_of(log).outcome == "undecided"  # another edit of the open file


def test_no_file_open_has_floor_two(tmp_path: Path) -> None:
    """Opening the file comes first: two calls are the least."""
    text = "edit 1:1\nalpha = 1\nend_of_edit"
    shows = "[File: /w/a.py (9 lines total)]\n1:a"
    log = swe(tmp_path, (text, "No file open. Use the `open` command first."),
              ("open a.py", shows), (text, shows), ("submit", ""))  # fmt: skip
    found = episode_of(log)
    assert (found.kind, found.floor_calls, found.outcome) == ("no_file_open", 2, "recovered")


def test_not_read_first_has_floor_two(tmp_path: Path) -> None:
    """Reading the file comes first: two calls are the least."""
    same = edit(_FILE, "x", "new line")
    log = ClaudeLog().no("Edit", NOT_READ, **same).ok("Read", file_path=_FILE).ok("Edit", **same)
    found = _episode(log.say(), tmp_path)
    assert (found.outcome, found.extra_calls, found.floor_calls) == ("recovered", 2, 2)


# -- void ---------------------------------------------------------------------------------------


def test_same_closing_is_void_when_the_call_comes_again(tmp_path: Path) -> None:
    """What seemed to reach the goal didn't, if the rejected call itself is needed again."""
    log = _rejected().ok("Edit", **edit(_FILE, "q", "x = 2\ny = 3"))
    log.ok("Edit", **edit(_FILE, "x = 1", "x = 2\ny = 3")).say()
    found = _episode(log, tmp_path)
    assert (found.outcome, found.extra_calls) == ("recovered_detour", 2)
    log = _rejected().ok("Edit", **edit(_FILE, "q", "x = 2\ny = 3"))
    log.no("Edit", NO_MATCH, **edit(_FILE, "x = 1", "x = 2\ny = 3")).say()
    found = _episode(log, tmp_path)
    assert (found.outcome, found.attempts, found.first_failed_check) == ("not_reached", 1, "kept")


def test_same_closing_stands_beyond_the_window(tmp_path: Path) -> None:
    """The same call after the window voids nothing."""
    log = _rejected().ok("Edit", **edit(_FILE, "q", "x = 2\ny = 3"))
    for number in range(3):
        log.ok("Read", file_path=f"/w/{number}")
    log.no("Edit", NO_MATCH, **edit(_FILE, "x = 1", "x = 2\ny = 3")).say()
    first, second = episodes_of(log.write(tmp_path / "a.jsonl"), window_calls=3)
    assert (first.outcome, first.extra_calls) == ("recovered", 1)
    assert second.source.lines.rejection == 12


# -- reads, searches, commands ---------------------------------------------------------------


def test_read_by_base_name(tmp_path: Path) -> None:
    """The same base name in another folder, by any tool that reads a file."""
    log = ClaudeLog().no("Read", NO_FILE, file_path="/w/lib/a.py").ok("Glob", pattern="**/a.py")
    found = _episode(log.ok("Read", file_path="/w/src/a.py").say(), tmp_path)
    assert (found.kind, found.outcome, found.evidence) == (
        "no_such_file", "recovered_detour", "file_read",
    )  # fmt: skip
    log = ClaudeLog().no("Read", NO_FILE, file_path="/w/lib/a.py")
    found = _episode(log.ok("Bash", command="cat src/a.py").say(), tmp_path)
    assert (found.outcome, found.target) == ("recovered", "lib/a.py")


def test_read_of_the_proposed_name(tmp_path: Path) -> None:
    """The name in "Did you mean" is as good as the one that was asked for."""
    said = "<tool_use_error>File does not exist. Did you mean b.py?</tool_use_error>"
    log = ClaudeLog().no("Read", said, file_path=_FILE)
    assert _episode(log.ok("Read", file_path="/w/b.py").say(), tmp_path).outcome == "recovered"
    log = ClaudeLog().no("Read", NO_FILE, file_path=_FILE)
    assert _episode(log.ok("Read", file_path="/w/b.py").say(), tmp_path).outcome == "undecided"


def test_read_through_a_pipe_shows_nothing(tmp_path: Path) -> None:
    """Behind a pipe the status is another program's: no evidence, so undecided."""
    log = ClaudeLog().no("Read", NO_FILE, file_path="/w/lib/a.py")
    found = _episode(log.ok("Bash", command="cat src/a.py | head -50").say(), tmp_path)
    assert (found.outcome, found.first_failed_check) == ("undecided", "evidence")


def test_search_whatever_the_folder(tmp_path: Path) -> None:
    """The same pattern, by any searching tool; no match is an answer."""
    said = "<tool_use_error>Path does not exist: /w/lib</tool_use_error>"
    log = ClaudeLog().no("Grep", said, pattern="def f", path="/w/lib")
    found = _episode(log.ok("Grep", pattern="def f", path="/w/src").say(), tmp_path)
    assert (found.outcome, found.evidence) == ("recovered", "search_answered")
    log = ClaudeLog().no("Grep", said, pattern="def f", path="/w/lib")
    found = _episode(log.no("Bash", "Exit code 1", command='grep -rn "def f" src').say(), tmp_path)
    assert (found.outcome, found.evidence) == ("recovered", "search_answered")
    log = ClaudeLog().no("Grep", said, pattern="def f", path="/w/lib")
    found = _episode(log.ok("Grep", pattern="def g", path="/w/src").say(), tmp_path)
    assert found.outcome == "undecided"  # the kind: the folder may not exist


_LOST = ("pytest t/test_a.py -q", 127, "bash: line 1: pytest: command not found")


@pytest.mark.parametrize(
    ("command", "status", "said", "outcome", "evidence"),
    [
        ("python -m pytest t/test_a.py", 0, "1 passed", "recovered", "exit_0"),
        ("cd /w && uv run pytest -v other/test_a.py", 0, "1 passed", "recovered", "exit_0"),
        ("bin/test t/test_a.py", 0, "ok", "recovered", "exit_0"),
        ("python -m pytest t/test_a.py", 1, "1 failed", "recovered", "verdict"),
        ("python -m pytest t/test_a.py && echo ok", 0, "1 passed", "recovered", "exit_0"),
        ("python -m pytest t/test_a.py || true", 0, "1 failed", "undecided", None),
        ("python -m pytest t/test_a.py | tail -5", 0, "1 passed", "undecided", None),
        ("python -m pytest t/test_a.py; echo done", 0, "done", "undecided", None),
        ("python -m pytest t/test_a.py", 2, "usage", "not_reached", None),
        ("python -m pytest t/test_a.py t/test_b.py", 0, "2 passed", "undecided", None),
        ("python -m pytest t/test_b.py", 0, "1 passed", "not_reached", None),
        ("python t/test_a.py", 0, "", "not_reached", None),
        ("ls t", 0, "test_a.py", "not_reached", None),
    ],
)
def test_command_by_program_and_operands(
    command: str, status: int, said: str, outcome: str, evidence: str | None, tmp_path: Path
) -> None:
    """Program, subcommand and operands; the status must be that command's own."""
    log = mini(tmp_path, [_LOST, (command, status, said)], submitted=True)
    found = episode_of(log)
    assert (found.outcome, found.evidence) == (outcome, evidence)
    assert found.target == "pytest"


def test_command_of_a_subcommand(tmp_path: Path) -> None:
    """``git log`` and ``git show`` are two intents; flags are none."""
    lost = ("git log a.py", 127, "bash: git: command not found")
    steps = [lost, ("git log --oneline -5 a.py", 0, "x")]
    assert episode_of(mini(tmp_path, steps, submitted=True)).outcome == "recovered"
    steps = [lost, ("git show a.py", 0, "x")]
    assert episode_of(mini(tmp_path, steps, submitted=True)).outcome == "not_reached"


def test_another_tools_call_only_exactly(tmp_path: Path) -> None:
    """Of a tool that nobody knows only the same call again is the same intent."""
    said = "Error: No such tool available: mcp__a__b"
    log = ClaudeLog().no("mcp__a__b", said, q=1).ok("mcp__a__b", q=2).say()
    assert _episode(log, tmp_path).outcome == "not_reached"
    log = ClaudeLog().no("mcp__a__b", said, q=1, description="x")
    found = _episode(log.ok("mcp__a__b", q=1, description="y", timeout=5).say(), tmp_path)
    assert (found.outcome, found.evidence) == ("recovered", "tool_accepted")


# -- what ends an episode ------------------------------------------------------------------


def test_window(tmp_path: Path) -> None:
    """The call at the window's end still counts; one later doesn't."""

    def log(between: int) -> ClaudeLog:
        made = _rejected()
        for number in range(between):
            made.ok("Read", file_path=f"/w/{number}")
        return made.ok("Edit", **edit(_FILE, "q", "x = 2\ny = 3")).say()

    assert _episode(log(4), tmp_path, window_calls=5).extra_calls == 5
    assert _episode(log(4), tmp_path, window_calls=5).outcome == "recovered_detour"
    found = _episode(log(5), tmp_path, window_calls=5)
    assert (found.outcome, found.closed_by, found.extra_calls) == ("not_reached", "window", 5)


def test_turns_end_is_decided(tmp_path: Path) -> None:
    """The agent answered: what it does for the next prompt is another thing."""
    log = _rejected().say().prompt("next").ok("Edit", **edit(_FILE, "q", "x = 2\ny = 3")).say()
    found = _episode(log, tmp_path)
    assert (found.outcome, found.closed_by, found.extra_calls) == ("not_reached", "turn_end", 0)


def test_prompt_before_the_answer_is_undecided(tmp_path: Path) -> None:
    """A person stepped in before the agent had answered."""
    log = _rejected().ok("Read", file_path=_FILE).prompt("stop").say()
    found = _episode(log, tmp_path)
    assert (found.outcome, found.closed_by) == ("undecided", "prompt")


def test_log_end_by_format(tmp_path: Path) -> None:
    """A conversation may go on; a run of an evaluation has ended."""
    found = _episode(_rejected().ok("Read", file_path="/w/b"), tmp_path)
    assert (found.outcome, found.closed_by) == ("undecided", "log_end")
    log = mini(tmp_path, [_LOST, ("ls", 0, "a")], submitted=False)
    found = episode_of(log)
    assert (found.outcome, found.closed_by) == ("not_reached", "log_end")


def test_refused_attempt_is_undecided(tmp_path: Path) -> None:
    """A person refused the mended call: nobody knows what would have come of it."""
    log = _rejected().no("Edit", REFUSED, **edit(_FILE, "q", "x = 2\ny = 3")).say()
    found = _episode(log, tmp_path)
    assert (found.outcome, found.closed_by, found.attempts) == ("undecided", "refused", 1)


@pytest.mark.parametrize("kind", ["no_such_file", "is_a_directory", "edit_noop"])
def test_goals_that_may_not_exist(kind: str, tmp_path: Path) -> None:
    """Not reached, and maybe there was nothing to reach: undecided."""
    log = ClaudeLog()
    if kind == "edit_noop":
        log.no("Edit", "No changes to make: both are the same.", **edit(_FILE, "a", "a"))
    else:
        said = NO_FILE if kind == "no_such_file" else "EISDIR: illegal operation on a directory"
        log.no("Read", said, file_path="/w/x")
    found = _episode(log.ok("Read", file_path="/w/other").say(), tmp_path)
    assert (found.kind, found.outcome) == (kind, "undecided")


# -- attempts --------------------------------------------------------------------------------


def test_blind_repeats(tmp_path: Path) -> None:
    """The same call again with nothing changed: blind, until something may have changed."""
    same = edit(_FILE, "x", "new line")
    log = ClaudeLog().no("Edit", NO_MATCH, **same).no("Edit", NO_MATCH, **same)
    log.ok("Read", file_path="/w/b").no("Edit", NO_MATCH, **same)
    found = _episode(log.say(), tmp_path)
    assert (found.outcome, found.attempts, found.blind_repeats) == ("blind_repeat", 2, 2)
    assert found.source.lines.attempts == (4, 8)
    log = ClaudeLog().no("Edit", NO_MATCH, **same).ok("Bash", command="make")
    log.no("Edit", NO_MATCH, **same)
    found = _episode(log.say(), tmp_path)
    assert (found.outcome, found.blind_repeats) == ("not_reached", 0)
    assert found.first_failed_check == "accepted"


def test_attempt_with_other_words_is_not_blind(tmp_path: Path) -> None:
    """Trying again in another way isn't blind."""
    log = _rejected().no("Edit", NO_MATCH, **edit(_FILE, "other", "x = 2\ny = 3")).say()
    found = _episode(log, tmp_path)
    assert (found.outcome, found.attempts, found.blind_repeats) == ("not_reached", 1, 0)


def test_each_rejection_may_open(tmp_path: Path) -> None:
    """For labels that were given call by call, attempts are episodes, too."""
    same = edit(_FILE, "x", "new line")
    log = ClaudeLog().no("Edit", NO_MATCH, **same).no("Edit", NO_MATCH, **same)
    path = log.ok("Edit", **edit(_FILE, "y", "new line")).say().write(tmp_path / "a.jsonl")
    assert [one.extra_calls for one in episodes_of(path)] == [2]
    assert [one.extra_calls for one in episodes_of(path, each_opens=True)] == [2, 1]


def test_parallel_siblings_dont_count(tmp_path: Path) -> None:
    """Calls of the same message were issued before the result; both rejected: in parallel."""
    log = ClaudeLog()
    first = log.issue("Edit", **edit(_FILE, "x", "new line"))
    second = log.issue("Edit", same_message=True, **edit("/w/b.py", "x", "other line"))
    third = log.issue("Read", same_message=True, file_path="/w/c.py")
    log.result(first, NOT_READ, error=True).result(second, NOT_READ, error=True)
    log.result(third, "fine", error=False)
    log.ok("Read", file_path=_FILE).ok("Edit", **edit(_FILE, "x", "new line")).say()
    one, two = episodes_of(log.write(tmp_path / "a.jsonl"))
    assert (one.outcome, one.extra_calls, one.in_parallel) == ("recovered", 2, True)
    assert (two.outcome, two.extra_calls, two.in_parallel) == ("not_reached", 2, True)


def test_extra_calls_when_the_closing_call_is_issued(tmp_path: Path) -> None:
    """A sibling issued behind the closing call doesn't make it dearer, whoever ends first."""
    log = _rejected()
    closing = log.issue("Edit", **edit(_FILE, "q", "x = 2\ny = 3"))
    sibling = log.issue("Read", same_message=True, file_path="/w/b")
    log.result(sibling, "fine", error=False).result(closing, "fine", error=False)
    assert _episode(log.say(), tmp_path).extra_calls == 1


# -- refused ---------------------------------------------------------------------------------


def test_refused_not_repeated(tmp_path: Path) -> None:
    """A prompt doesn't close it; the end of the turn after that prompt does."""
    log = ClaudeLog().no("Bash", REFUSED, command="npm install").prompt("use pnpm")
    log.ok("Bash", command="pnpm install").say().prompt("and now").ok("Bash", command="npm install")
    found = _episode(log.say(), tmp_path)
    assert (found.outcome, found.closed_by, found.extra_calls) == ("not_repeated", "turn_end", 1)


def test_refused_asked_again_and_accepted(tmp_path: Path) -> None:
    """The same command again: refused once more, or accepted."""
    log = ClaudeLog().no("Bash", REFUSED, command="git push origin main")
    log.no("Bash", REFUSED, command="git push --force origin main").say()
    found = _episode(log, tmp_path)
    assert (found.outcome, found.attempts) == ("asked_again", 1)
    log = ClaudeLog().no("Bash", REFUSED, command="git push origin main").prompt("go on")
    found = _episode(log.ok("Bash", command="git push origin main").say(), tmp_path)
    assert (found.outcome, found.extra_calls) == ("accepted_later", 1)


def test_refused_at_the_logs_end(tmp_path: Path) -> None:
    """The log ends before anything was said: undecided."""
    log = ClaudeLog().no("Bash", REFUSED, command="make")
    assert _episode(log, tmp_path).outcome == "undecided"


# -- malformed, threads, beside ours -----------------------------------------------------------


def test_malformed_again_and_again(tmp_path: Path) -> None:
    """Calls until the next well-formed one, which the program may reject."""
    bad = "Please always provide EXACTLY ONE action in triple backticks, found 3 actions."
    steps: list[tuple[str, int | None, str]] = [("a", None, bad), ("b", None, bad), ("c", 1, "no")]
    found = episode_of(mini(tmp_path, steps, submitted=True))
    assert (found.outcome, found.extra_calls, found.attempts) == ("recovered_detour", 2, 1)
    found = episode_of(mini(tmp_path, steps[:2], submitted=False))
    assert (found.outcome, found.closed_by) == ("not_reached", "log_end")


def test_threads_apart(tmp_path: Path) -> None:
    """What a sub-agent does is no recovery of its parent's call."""
    log = _rejected()
    path = log.say().write(tmp_path / "a.jsonl")
    rows = path.read_text().splitlines()
    child = {"sessionId": "s-1", "cwd": "/w", "isSidechain": True, "agentId": "k", "uuid": "c1"}
    use = {"type": "tool_use", "id": "k1", "name": "Edit"}
    use["input"] = edit(_FILE, "q", "x = 2\ny = 3")  # type: ignore[assignment]
    done = {"type": "tool_result", "tool_use_id": "k1", "content": "fine"}
    side = [
        child | {"type": "assistant", "message": {"role": "assistant", "content": [use]}},
        child | {"type": "user", "uuid": "c2", "parentUuid": "c1",
                 "message": {"role": "user", "content": [done]}},
    ]  # fmt: skip
    path.write_text("\n".join([*rows[:3], *map(json.dumps, side), *rows[3:]]) + "\n")
    assert episode_of(path).outcome == "not_reached"


def test_same_tool_success_stands_beside(tmp_path: Path) -> None:
    """The rule that others use says recovered where the log shows no such thing."""
    found = _episode(_rejected().ok("Edit", **edit("/w/z.py", "a", "b")).say(), tmp_path)
    assert (found.outcome, found.same_tool_success) == ("not_reached", True)
    found = _episode(_rejected().ok("Read", file_path="/w/z.py").say(), tmp_path)
    assert not found.same_tool_success


def test_text_only_when_asked_for(tmp_path: Path) -> None:
    """Nothing that was typed or said is kept, unless it is asked for; then it is bounded."""
    log = _rejected("x" * 9000).ok("Edit", **edit(_FILE, "q", "x = 2\ny = 3")).say()
    path = log.write(tmp_path / "a.jsonl")
    assert episode_of(path).text is None
    text = episode_of(path, with_text=True).text
    assert text is not None
    assert text.call.startswith('{"file_path":"/w/a.py"')
    assert len(text.call) < 2100
    assert text.closing is not None
    assert "String to replace not found" in text.said


def test_path_maps(tmp_path: Path) -> None:
    """Two spellings of one folder are one folder, where a mapping says so."""
    from wayproof.capture.ids import PathMap

    log = _rejected().ok("Edit", **edit("/mnt/w/a.py", "q", "x = 2\ny = 3")).say()
    path = log.write(tmp_path / "a.jsonl")
    assert episode_of(path).outcome == "undecided"
    assert episode_of(path, maps=(PathMap("/mnt/w", "/w"),)).outcome == "recovered"
