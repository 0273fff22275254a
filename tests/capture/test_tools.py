"""What a tool is for is told by a stated list of names."""

import pytest

from wayproof.capture.session import Named
from wayproof.capture.tools import command_of, folder_of, named_files, tool_of

NAMES = [
    ("Read", "read"), ("read_file", "read"), ("get_file", "read"), ("ReadFile", "read"),
    ("mcp__filesystem__read_text_file", "read"), ("functions.read_file", "read"),
    ("Grep", "matched"), ("code_search", "matched"), ("search_file_content", "matched"),
    ("Glob", "listed"), ("LS", "listed"), ("list_directory", "listed"),
    ("Bash", "shell"), ("functions.exec_command", "shell"), ("run_in_terminal", "shell"),
    ("container.exec", "shell"),
    ("Edit", "mutation"), ("MultiEdit", "mutation"), ("apply_patch", "mutation"),
    ("replace_string_in_file", "mutation"), ("NotebookEdit", "mutation"),
    ("TodoWrite", "plan"), ("update_plan", "plan"), ("ExitPlanMode", "plan"),
    ("AskUserQuestion", "plan"), ("task_tracker", "plan"),
    ("Task", "delegate"), ("Agent", "delegate"), ("spawn_agent", "delegate"),
    ("finish", "answer"),
    # an MCP tool is what its name says only on a server known to work on files
    ("mcp__ctx__explore", "other"), ("mcp__slack__submit", "remote"),
    ("mcp__tasks__todo_write", "other"), ("mcp__slack__search", "other"),
    ("mcp__wiki__read_file", "other"), ("mcp__cms__edit_file", "remote"),
    ("mcp__crm__task", "other"), ("mcp__x__str_replace_editor", "other"),
    ("mcp_ctx_delegate_task", "other"), ("functions.mcp__ctx__explore", "other"),
    ("mcp__filesystem__submit", "other"), ("mcp__filesystem__explore", "other"),
    ("mcp__explore", "other"), ("slack.submit", "other"), ("ctx/explore", "other"),
    ("mcp__filesystem__write_file", "mutation"), ("mcp__filesystem__edit_file", "mutation"),
    ("mcp_filesystem_write_file", "mutation"), ("mcp__filesystem__search_files", "matched"),
    ("mcp__filesystem__list_directory", "listed"), ("mcp__desktop-commander__read_file", "read"),
    ("mcp__plugin_tools_serena__find_file", "listed"), ("mcp__acp__Read", "read"),
    ("functions.spawn_agent", "delegate"), ("functions.update_plan", "plan"),
    ("mcp__tracker__lookup", "other"), ("WebFetch", "other"), ("run_build", "run"), ("", "other"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "purpose"), NAMES)
def test_purposes(name: str, purpose: str) -> None:
    """Namespaces, case, underscores and hyphens don't matter; the unknown navigates."""
    assert tool_of(name).purpose == purpose


def test_an_editor_is_told_by_its_verb() -> None:
    """One tool with several verbs reads or writes by what it was asked."""
    assert tool_of("str_replace_editor", {"command": "view"}).purpose == "read"
    assert tool_of("str_replace_editor", {"command": "create"}).purpose == "mutation"
    assert tool_of("file_editor", None).purpose == "other"


def test_remote_writes_are_told_from_writes_to_files() -> None:
    """A tool of an unknown server that names a path may write into the repository."""
    assert tool_of("mcp__hub__create_issue", {"title": "x"}).purpose == "remote"
    assert tool_of("mcp__hub__create_file", {"path": "a.py"}).purpose == "mutation"
    assert tool_of("mcp__hub__get_file", {"path": "a.py"}).purpose == "other"


def test_files_in_an_input() -> None:
    """Paths and line ranges come from the input's own fields."""
    assert list(named_files({"file_path": "a", "offset": 11, "limit": 20})) == [
        Named("read", "a", (11, 30))
    ]
    assert list(named_files({"path": "a", "start_line": 3, "end_line": 9})) == [
        Named("read", "a", (3, 9))
    ]
    assert list(named_files({"path": "a", "view_range": [1, -1]})) == [Named("read", "a")]
    assert list(named_files({"paths": ["a", {"path": "b"}, 3]})) == [
        Named("read", "a"), Named("read", "b"),
    ]  # fmt: skip
    assert list(named_files({"query": "x"})) == []
    assert list(named_files(None)) == []


def test_commands_in_an_input() -> None:
    """A command is a text or a list under one of the known names."""
    assert command_of({"cmd": "ls"}) == "ls"
    assert command_of({"command": ["bash", "-lc", "ls"]}) == ["bash", "-lc", "ls"]
    assert command_of({"keystrokes": "ls\n"}) == "ls\n"
    assert command_of({"command": 7}) is None
    assert folder_of({"workdir": "/x"}) == "/x"
