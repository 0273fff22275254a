"""Which files a result's text names: the tools' own words are never files."""

from typing import Any

import pytest

from capture.capture_logs import WriteLog, claude_call, claude_line, claude_result, packet_of

BANNER = "Chunk ID: ab12\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n"


def _selected(write_log: WriteLog, tool: str, given: dict[str, Any], text: str) -> list[str]:
    path = write_log(
        claude_line("user", "find foo", 1),
        claude_call(2, tool, given),
        claude_result(3, 2, text),
    )
    found: list[str] = packet_of(path, select="listed", root="/repo")["selected_artifacts"]
    return found


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("rg -n foo src", f"{BANNER}src/a.py:1:foo", ["src/a.py"]),
        ("ls", f"{BANNER}a.py\nMakefile", ["a.py", "Makefile"]),
        ("rg --files", ("Command: rg --files\nDirectory: (root)\nOutput: \na.py\nError: (none)\n"
         "Exit Code: 0"), ["a.py"]),
        ("ls", "a.py\n[Current working directory: /repo]", ["a.py"]),
        ("ls", "New Terminal Output:\n\na.py", ["a.py"]),
        ("rg -n foo", "Command running in background with ID: b1. Output: /tmp/x", []),
        ("grep -rn foo .", "grep: ./no: Permission denied\n./a.py:1:foo", ["a.py"]),
        ("grep -rh foo src", "foo: bar\nsrc/a.py: foo", []),
        ("grep -h foo a.py b.py", "x.py: foo", []),
        ("rg -I foo", "x.py: foo", []),
        ("grep -r foo src", "src/a.py:Note: foo\nsrc/b.py:foo", ["src/a.py", "src/b.py"]),
        ("rg -n foo src/a.py", "1:foo\n9:foo", ["src/a.py"]),
        ("rg foo src/a.py", "Note: foo", ["src/a.py"]),
        ("rg -n foo src", "src/a.py:1:foo: src/c.py:3: x", ["src/a.py"]),
        ("rg --heading -n foo", "src/a.py\n1:foo\n\nsrc/b.py\n2:foo", ["src/a.py", "src/b.py"]),
        ("rg -c foo", "src/a.py:3\nsrc/b.py:0", ["src/a.py"]),
        ("rg -l foo", "src/a.py\nsrc/my file.py", ["src/a.py", "src/my file.py"]),
    ],
)  # fmt: skip
def test_printed_names(write_log: WriteLog, command: str, text: str, expected: list[str]) -> None:
    """A search's or listing's output gives exactly the files in it, banners taken off."""
    assert _selected(write_log, "Bash", {"command": command}, text) == expected


@pytest.mark.parametrize(
    ("tool", "given", "text", "expected"),
    [
        ("search_file_content", {"pattern": "foo"},
         'Found 1 match for pattern "foo" in path ".":\n---\nFile: src/a.py\nL1: foo\n---',
         ["src/a.py"]),
        ("search_dir", {"search_term": "foo"},
         ('Found 2 matches for "foo" in /repo/src:\n/repo/src/a.py (2 matches)\n'
         'End of matches for "foo" in /repo/src'), ["src/a.py"]),
        ("search_file", {"search_term": "foo"},
         'Found 1 matches for "foo" in /repo/src/a.py:\nLine 3:foo', ["src/a.py"]),
        ("Grep", {"pattern": "foo"}, "Found 2 files\nsrc/a.py\nMakefile",
         ["src/a.py", "Makefile"]),
        ("Grep", {"pattern": "foo", "output_mode": "count"},
         "src/a.py:3\nsrc/b.py:1\n\nFound 4 total occurrences across 2 files.",
         ["src/a.py", "src/b.py"]),
        ("Grep", {"pattern": "foo", "output_mode": "content", "-n": False},
         "src/a.py:foo = 1\nsrc/b.py:foo", ["src/a.py", "src/b.py"]),
        ("Grep", {"pattern": "foo", "output_mode": "content", "path": "src/a.py"},
         "1:foo\n2:foo", ["src/a.py"]),
        ("search", {"q": "foo"}, "Result: foo\nTitle: src", []),
    ],
)  # fmt: skip
def test_names_in_a_search_tools_text(
    write_log: WriteLog, tool: str, given: dict[str, Any], text: str, expected: list[str]
) -> None:
    """Each tool's own form is read; what fits none names no file."""
    assert _selected(write_log, tool, given, text) == expected


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("cd src && rg -n foo .", "./a.py:1:foo", ["src/a.py"]),
        ("bash -lc 'cd src && rg -n foo .'", "./a.py:1:foo", ["src/a.py"]),
        ("(cd src && ls)", "a.py", ["src/a.py"]),
        ("cd src && ls", "a.py", ["src/a.py"]),
        ("git -C lib grep -n foo", "a.py:1:foo", ["lib/a.py"]),
        ("cd src && git -C lib grep -n foo", "a.py:1:foo", ["src/lib/a.py"]),
        ("cd $HERE && ls", "a.py", []),
    ],
)
def test_names_are_relative_to_the_commands_folder(
    write_log: WriteLog, command: str, text: str, expected: list[str]
) -> None:
    """``cd`` and ``git -C`` move the names in the output; an unknown folder names nothing."""
    assert _selected(write_log, "Bash", {"command": command}, text) == expected


@pytest.mark.parametrize(
    ("command", "error"),
    [("grep foo a && echo y", None), ("grep foo a && make test", "oops"), ("echo y", "oops")],
)
def test_no_match_before_an_echo(write_log: WriteLog, command: str, error: str | None) -> None:
    """Exit 1 is "no match" where nothing behind the search can have failed."""
    path = write_log(
        claude_line("user", "find foo", 1),
        claude_call(2, "Bash", {"command": command}),
        claude_result(3, 2, "Exit code 1\noops", is_error=True),
    )
    assert packet_of(path)["error"] == error


def test_an_api_error_that_was_got_over(write_log: WriteLog) -> None:
    """A retried request that ends in an answer is no error; one that ends the log is."""
    lines = [
        claude_line("user", "read it", 1),
        claude_call(2, "Read", {"file_path": "/repo/a.py"}),
        claude_result(3, 2),
        claude_line("assistant", "API Error: 529", 4, isApiErrorMessage=True),
    ]
    assert packet_of(write_log(*lines))["error"] == "API Error: 529"
    packet = packet_of(write_log(*lines, claude_line("assistant", "It is a.", 5)))
    assert (packet["error"], packet["cut_reason"]) == (None, "answer")
