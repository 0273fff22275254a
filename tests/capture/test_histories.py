"""What belongs to a session: the live branch, once, and where it first happened."""

import json
from pathlib import Path
from typing import Any

import pytest

from capture.capture_logs import (
    WriteLog,
    claude_call,
    claude_line,
    claude_result,
    packet_of,
    packets_of,
)
from wayproof.capture import Problems, capture_logs


def read(number: int, name: str, **more: Any) -> list[dict[str, Any]]:
    """A Read with its result, as two lines that hang on each other."""
    call = claude_call(number, "Read", {"file_path": f"/repo/{name}"}, **more)
    return [call, claude_result(number + 1, number)]


def chained(*lines: dict[str, Any], first: str | None = None) -> list[dict[str, Any]]:
    """Hang each line on the one before."""
    parent = first
    chain = []
    for line in lines:
        chain.append(line | {"parentUuid": parent})
        parent = line["uuid"]
    return chain


def said(number: int, text: str) -> dict[str, Any]:
    return claude_line("assistant", [{"type": "text", "text": text}], number)


# -- Claude Code: branches, resumes, commands -----------------------------------------------


def test_an_abandoned_branch_does_not_count(write_log: WriteLog) -> None:
    """A person rewound behind an edit: the route is that of the branch that goes on."""
    edit = claude_call(3, "Edit", {"file_path": "/repo/wrong.py", "old_string": "a"})
    lines = chained(
        claude_line("user", "where?", 0), *read(1, "wrong.py"), edit, claude_result(4, 3)
    )
    live = chained(*read(6, "right.py"), said(8, "there"), first="u-0")
    packet = packet_of(write_log(*lines, *live))
    assert packet["selected_artifacts"] == ["right.py"]
    assert (packet["cut_reason"], packet["source"]["lines"]["cut"]) == ("answer", 8)


def test_a_prompt_that_was_written_anew(write_log: WriteLog) -> None:
    """The first prompt went another way at first; what follows its rewrite counts."""
    asked = [claude_line("user", "before", 0), said(1, "yes"), claude_line("user", "a?", 2)]
    lines = chained(*asked, *read(3, "a.py"), said(5, "a"))
    rewritten = chained(claude_line("user", "where is b?", 6), *read(7, "b.py"), first="u-0")
    packet = packet_of(write_log(*lines, *rewritten))
    assert packet["selected_artifacts"] == ["b.py"]


@pytest.mark.parametrize("first", [None, "note"])
def test_a_first_prompt_that_was_written_anew(write_log: WriteLog, first: str | None) -> None:
    """Its rewrite hangs where it did: on nothing, or on a note before it, even past an edit."""
    note = claude_line("system", "hook", 0, parentUuid=None, uuid="note", type="system")
    edit = claude_call(4, "Edit", {"file_path": "/repo/a.py", "old_string": "a"})
    asked = claude_line("user", "where is a?", 1)
    lines = chained(asked, *read(2, "a.py"), edit, claude_result(5, 4), said(6, "a"), first=first)
    again = claude_line("user", "where is b?", 7)
    rewritten = chained(again, *read(8, "b.py"), said(10, "b"), first=first)
    packet = packet_of(write_log(note, *lines, *rewritten))
    assert packet["selected_artifacts"] == ["b.py"]
    assert packet["source"]["lines"]["first_contact"] == 9


def test_prompts_of_a_log_without_links_are_no_branches(write_log: WriteLog) -> None:
    """Where nothing names a parent, nothing says that a branch was left."""
    lines = [claude_line("user", "where is a?", 1), *read(2, "a.py"), said(4, "a"),
             claude_line("user", "where is b?", 5), *read(6, "b.py"), said(8, "b")]  # fmt: skip
    packet = packet_of(write_log(*(line | {"parentUuid": None} for line in lines)))
    assert packet["selected_artifacts"] == ["a.py"]


def test_a_rewind_of_a_rewind(write_log: WriteLog) -> None:
    """What both abandoned branches share with the live one counts, and nothing else of them."""
    lines = chained(claude_line("user", "where?", 0), *read(1, "x.py"))
    second = chained(*read(3, "shared.py"), *read(5, "y.py"), first="u-0")
    live = chained(*read(7, "right.py"), said(9, "there"), first="u-4")
    packet = packet_of(write_log(*lines, *second, *live))
    assert packet["selected_artifacts"] == ["shared.py", "right.py"]


def test_lines_that_a_fork_says_it_copied_are_not_its_own(write_log: WriteLog) -> None:
    """A fork names the session of each copied line: with or without that session at hand."""
    old = chained(claude_line("user", "where is a?", 0), *read(1, "a.py"), said(3, "a"))
    copied = [
        line | {"sessionId": "f", "uuid": "f" + line["uuid"],
                "forkedFrom": {"sessionId": "s-1", "messageUuid": line["uuid"]}}
        for line in old
    ]  # fmt: skip
    own = chained(claude_line("user", "and b?", 4), *read(5, "b.py"), said(7, "b"), first="fu-3")
    fork = write_log(*copied, *(line | {"sessionId": "f"} for line in own), name="f.jsonl")
    assert packet_of(fork)["selected_artifacts"] == ["b.py"]
    both = packets_of(write_log(*old, name="s-1.jsonl"), fork)
    assert [one["selected_artifacts"] for one in both] == [["a.py"], ["b.py"]]


def test_parallel_calls_are_no_branches(write_log: WriteLog) -> None:
    """Results hang on their own calls, in any order, and the next turn on one of them."""
    calls = [
        claude_call(number, "Read", {"file_path": f"/repo/{number}.py"}) for number in (1, 2, 3)
    ]
    for call in calls:
        call["message"]["id"] = "m1"
    start = chained(claude_line("user", "where?", 0), *calls)
    results = [claude_result(4, 2, parentUuid="u-2"), claude_result(5, 3, parentUuid="u-3"),
               claude_result(6, 1, parentUuid="u-1")]  # fmt: skip
    after = chained(said(7, "there"), first="u-4")
    packet = packet_of(write_log(*start, *results, *after))
    assert packet["selected_artifacts"] == ["1.py", "2.py", "3.py"]
    assert packet["cut_reason"] == "answer"


def test_a_rewound_session_keeps_parallel_results_and_what_a_compaction_cut(
    write_log: WriteLog,
) -> None:
    """The live branch is more than a chain of parents: results and earlier roots belong to it."""
    one = claude_call(1, "Read", {"file_path": "/repo/1.py"}, parentUuid="u-0")
    two = claude_call(2, "Read", {"file_path": "/repo/2.py"}, parentUuid="u-1")
    for call in (one, two):
        call["message"]["id"] = "m1"
    lines = [
        claude_line("user", "where?", 0), one, two,
        claude_result(3, 1, parentUuid="u-1"), claude_result(4, 2, parentUuid="u-2"),
        claude_line("user", "go on", 5, isCompactSummary=True, parentUuid=None),
        *chained(*read(6, "wrong.py"), first="u-5"), *chained(*read(8, "right.py"), first="u-5"),
    ]  # fmt: skip
    packet = packet_of(write_log(*lines))
    assert packet["selected_artifacts"] == ["1.py", "2.py", "right.py"]


def test_bad_lines_of_a_rewound_session_are_counted_once(write_log: WriteLog) -> None:
    """It is read more than once, but its damage is named once."""
    lines = chained(claude_line("user", "where?", 0), *read(1, "wrong.py"))
    live = chained(*read(6, "right.py"), first="u-0")
    problems = Problems()
    log = write_log(*lines, "{broken", *live, "{broken")
    assert packet_of(log, problems=problems)["selected_artifacts"] == ["right.py"]
    assert [one.line for one in problems.named] == [4, 7]


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_resumed_session_has_its_own_questions_only(
    write_log: WriteLog, names: tuple[str, str]
) -> None:
    """The copied history belongs to the session in which it happened, in any order of files."""
    history = chained(claude_line("user", "where is foo?", 0), *read(1, "foo.py"), said(3, "foo"))
    more = chained(claude_line("user", "where is bar?", 4), *read(5, "bar.py"), said(7, "bar"),
                   first="u-3")  # fmt: skip
    old, new = names
    first = write_log(*history, name=f"{old}.jsonl")
    second = write_log(*(one | {"sessionId": "s-2"} for one in [*history, *more]),
                       name=f"{new}.jsonl")  # fmt: skip
    found = {one.session_id: one.packet for one in capture_logs([first, second]).sessions}
    assert found["s-1"]["selected_artifacts"] == ["foo.py"]
    assert found["s-2"]["selected_artifacts"] == ["bar.py"]
    assert found["s-2"]["source"]["lines"]["first_contact"] == 6
    assert packet_of(second)["selected_artifacts"] == ["foo.py"]  # alone, it holds all there is


def test_a_command_that_expands_to_a_prompt_is_the_task(write_log: WriteLog) -> None:
    """Its expanded text is the prompt; a built-in command asks nothing."""
    command = "<command-message>review</command-message>\n<command-name>/review</command-name>"
    expansion = [{"type": "text", "text": "Review the code in src."}]
    lines = chained(
        claude_line("user", command, 0),
        claude_line("user", expansion, 1, isMeta=True),
        *read(2, "src/a.py"), said(4, "fine"),
    )  # fmt: skip
    (session,) = capture_logs([write_log(*lines)]).sessions
    assert session.route.prompt == "Review the code in src."
    assert session.packet["selected_artifacts"] == ["src/a.py"]
    built_in = command.replace("review", "compact")
    expanded = claude_line("user", expansion, 1, isMeta=True)
    asked = claude_line("user", "where?", 2)
    other = chained(claude_line("user", built_in, 0), expanded, asked, *read(3, "b.py"))
    (session,) = capture_logs([write_log(*other)]).sessions
    assert session.route.prompt == "where?"


def test_sessions_that_ask_nothing_are_counted_and_left_out(write_log: WriteLog) -> None:
    """A warm-up is no prompt, and a session of nothing else is no session."""
    warm = write_log(claude_line("user", "Warmup", 0), said(1, "ready"), name="warm.jsonl")
    found = capture_logs([warm])
    assert found.sessions == []
    assert found.left_out == [f"{warm}: asks nothing and calls nothing"]


def test_a_notification_and_what_follows_it_is_injected(write_log: WriteLog) -> None:
    """The harness asks to read a task's output: nobody typed that."""
    path = "/tmp/claude/tasks/b1.output"  # noqa: S108 - a text in a log
    note = "<task-notification>\n<task-id>b1</task-id>\n</task-notification>"
    note += f"\nRead the output file to retrieve the result: {path}"
    lines = [claude_line("user", note, 0), *read(1, "x.py"), claude_line("user", "where?", 3),
             *read(4, "a.py")]  # fmt: skip
    assert packet_of(write_log(*lines))["selected_artifacts"] == ["a.py"]


REFUSALS = [
    "This command requires approval",
    "Permission to use Bash with command rm x has been denied.",
    "Claude requested permissions to write to /repo/a.py, but you haven't granted it yet.",
    "Command rejected by policy",
    "PreToolUse:Bash hook error: no",
    "cat in '/etc' was blocked. For security, Claude Code may only read the working directories",
    "File is in a directory that is denied by your permission settings.",
    "The agent was denied permission by policy",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_by_policy_is_no_error(write_log: WriteLog, text: str) -> None:
    """Neither a person's nor a policy's no makes the route one that failed."""
    lines = [claude_line("user", "find it", 0), claude_call(1, "Bash", {"command": "x --y"}),
             claude_result(2, 1, text, is_error=True), said(3, "I can't.")]  # fmt: skip
    packet = packet_of(write_log(*lines))
    assert (packet["error"], packet.get("failed_calls")) == (None, None)


# -- ids that are used again ----------------------------------------------------------------


def test_an_id_that_is_used_again_is_no_copy(write_log: WriteLog) -> None:
    """Some models restart their ids each turn: a copy has the same name and input, too."""
    one, two = claude_call(1, "Read", {"file_path": "/repo/a.py"}), claude_call(
        3, "Read", {"file_path": "/repo/b.py"}
    )  # fmt: skip
    two["message"]["content"][0]["id"] = "t1"
    same = claude_call(5, "Read", {"file_path": "/repo/a.py"})
    same["message"]["content"][0]["id"] = "t1"
    lines = [claude_line("user", "where?", 0), one, claude_result(2, 1), two, claude_result(4, 1),
             same, claude_result(6, 1)]  # fmt: skip
    packet = packet_of(write_log(*lines))
    assert packet["selected_artifacts"] == ["a.py", "b.py"]
    assert packet["navigation_calls"] == 2


# -- Codex ----------------------------------------------------------------------------------


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-02-03T10:00:00Z", "type": kind, "payload": payload}


META = codex("session_meta", id="own", cwd="/repo")
ASKED = codex("response_item", type="message", role="user",
              content=[{"type": "input_text", "text": "where?"}])  # fmt: skip
ANSWERED = codex("response_item", type="message", role="assistant",
                 content=[{"type": "output_text", "text": "there"}])  # fmt: skip
WRAPPER = codex("response_item", type="custom_tool_call", name="exec", call_id="x1",
                input='await tools.exec_command({cmd: "cat a.py"})')  # fmt: skip
UNWRAPPED = codex("response_item", type="custom_tool_call_output", call_id="x1", output="ok")
RAN = {"id": "e1", "command": ["/bin/bash", "-lc", "cat a.py"], "cwd": "/repo", "exit_code": 0,
       "aggregated_output": "x", "duration": {"secs": 0, "nanos": 7_000_000}}  # fmt: skip


@pytest.mark.parametrize(
    "event",
    [
        codex("event_msg", type="exec_command_end", call_id="e1", **RAN),
        codex("event_msg", type="item_completed", item={"type": "CommandExecution", **RAN}),
    ],
)
def test_code_mode_is_read_from_the_events_beside_it(
    write_log: WriteLog, event: dict[str, Any]
) -> None:
    """The event names command, folder, status and time; without one the first contact is null."""
    packet = packet_of(write_log(META, ASKED, WRAPPER, event, UNWRAPPED, ANSWERED))
    assert packet["first_contact_command"] == "cat a.py"
    assert (packet["wall_ms"], packet["navigation_calls"]) == (7, 1)
    alone = packet_of(write_log(META, ASKED, WRAPPER, UNWRAPPED, ANSWERED))
    assert (alone["first_contact_reason"], alone["navigation_calls"]) == ("code_mode", 1)


CHANGES: list[tuple[Any, str]] = [
    ({"/repo/a.py": {"type": "update", "unified_diff": "@@"}}, "mutation"),
    ({"/repo/n.py": {"type": "add", "content": "x"}}, "answer"),
    ({"/repo/n.py": {"add": {"content": "x"}}}, "answer"),
]


@pytest.mark.parametrize(("changes", "reason"), CHANGES)
def test_a_change_of_files_is_told_by_its_kind(
    write_log: WriteLog, changes: Any, reason: str
) -> None:
    """An update ends the route, an added file doesn't."""
    item = {"type": "FileChange", "id": "f1", "changes": changes, "status": "completed"}
    question = {"type": "UserMessage", "content": [{"type": "text", "text": "where?"}]}
    answer = {"type": "AgentMessage", "content": [{"type": "Text", "text": "there"}]}
    items = [
        codex("event_msg", type="item_completed", item=one) for one in (question, item, answer)
    ]
    packet = packet_of(write_log(META, *items))
    assert packet["cut_reason"] == reason
    assert ("created_files" in packet) is (reason == "answer")


def test_a_forks_history_is_its_parents(write_log: WriteLog) -> None:
    """What stands before the fork's own settings is no part of its route."""
    look = codex("response_item", type="function_call", name="exec_command", call_id="q1",
                 arguments='{"cmd": "sed -i s/a/b/ parent.py"}')  # fmt: skip
    own = codex("response_item", type="function_call", name="exec_command", call_id="q2",
                arguments='{"cmd": "cat own.py"}')  # fmt: skip
    marker = codex("event_msg", type="thread_settings_applied", thread_id="own")
    fork = codex("session_meta", id="own", cwd="/repo", forked_from_id="parent")
    packet = packet_of(write_log(fork, ASKED, look, ANSWERED, marker, ASKED, own, ANSWERED))
    assert packet["first_contact_command"] == "cat own.py"
    assert packet["source"]["lines"]["first_contact"] == 7


def look(call_id: str, name: str) -> list[dict[str, Any]]:
    """A command of Codex with its output."""
    call = codex("response_item", type="function_call", name="exec_command", call_id=call_id,
                 arguments=json.dumps({"cmd": f"cat {name}"}))  # fmt: skip
    ended = codex("response_item", type="function_call_output", call_id=call_id, output="x")
    return [call, ended]


def test_a_fork_without_a_mark_is_told_by_its_parents_records(write_log: WriteLog) -> None:
    """A fork, and a fork of it, begin where they differ from the log that they repeat."""
    parent = [codex("session_meta", id="p", cwd="/repo"), ASKED, *look("c0", "a.py"), ANSWERED]
    meta = codex("session_meta", id="f", cwd="/repo", forked_from_id="p")
    other = codex("response_item", type="message", role="user",
                  content=[{"type": "input_text", "text": "and b?"}])  # fmt: skip
    # its own call repeats the parent's words: after its own start it counts
    fork = [meta, *parent, other, *look("c0", "b.py"), *look("c0", "a.py"), ANSWERED]
    meta = codex("session_meta", id="g", cwd="/repo", forked_from_id="f")
    second = [meta, *fork, ASKED, other, *look("c1", "c.py"), ANSWERED]
    logs = [
        write_log(*lines, name=name)
        for name, lines in (("3.jsonl", second), ("2.jsonl", fork), ("1.jsonl", parent))
    ]
    expected = {"p": ["a.py"], "f": ["b.py", "a.py"], "g": ["c.py"]}
    for order in (logs, logs[::-1]):
        found = packets_of(*order, until="answer")
        selected = {one["source"]["session_id"]: one["selected_artifacts"] for one in found}
        assert selected == expected


def test_ids_of_codex_exec_begin_anew_each_turn(write_log: WriteLog) -> None:
    """A finished item's id may be used again; started and completed are one call."""
    lines: list[dict[str, Any]] = [{"type": "thread.started", "thread_id": "t"}]
    for name in ("a.py", "b.py"):
        item = {"id": "item_0", "type": "command_execution", "command": f"cat {name}"}
        lines += [
            {"type": "item.started", "item": item | {"status": "in_progress"}},
            {"type": "item.completed", "item": item | {"status": "completed", "exit_code": 0}},
        ]
    packet = packet_of(write_log(*lines))
    assert packet["selected_artifacts"] == ["a.py", "b.py"]
    assert packet["navigation_calls"] == 2


def test_statuses_may_be_records(write_log: WriteLog) -> None:
    """A status that is an object is no damage."""
    event = codex("event_msg", type="collab_close_end", call_id="k", status={"completed": "done"})
    assert packet_of(write_log(META, ASKED, event, ANSWERED))["cut_reason"] == "answer"


# -- ATIF, Gemini, listings --------------------------------------------------------------------


def atif(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, start=1)]
    return {"schema_version": "ATIF-v1.5", "session_id": "one", "agent": {"name": "a"},
            "steps": numbered, **more}  # fmt: skip


def typed(name: str, text: str, **more: Any) -> dict[str, Any]:
    call = {
        "tool_call_id": name,
        "function_name": "bash_command",
        "arguments": {"keystrokes": text},
    }
    return {"source": "agent", "message": "", "tool_calls": [call], **more}


def test_a_trajectory_in_parts_is_one_session(tmp_path: Path) -> None:
    """The parts are read together, what was copied along counts once, no part counts twice."""
    ask = {"source": "user", "message": "find"}
    first = atif(ask, typed("a1", "cat a.py\n"), continued_trajectory_ref="t.cont-1.json")
    copied = {"is_copied_context": True}
    second = atif(ask | copied, typed("a1", "cat a.py\n", **copied), typed("a2", "cat b.py\n"))
    (tmp_path / "t.json").write_text(json.dumps(first))
    (tmp_path / "t.cont-1.json").write_text(json.dumps(second))
    found = capture_logs([tmp_path])
    (packet,) = found.packets
    assert packet["navigation_calls"] == 2
    assert found.left_out == [f"{tmp_path / 't.cont-1.json'}: goes on with {tmp_path / 't.json'}"]
    (tmp_path / "t.json").write_text(json.dumps(first | {"continued_trajectory_ref": "t.json"}))
    assert packets_of(tmp_path / "t.json")[0]["navigation_calls"] == 1


def test_commands_in_a_raw_response_are_calls(tmp_path: Path) -> None:
    """Where a step has no calls its message may be the model's own JSON."""
    raw = json.dumps({"analysis": "x", "plan": "y", "commands": [{"keystrokes": "cat a.py\n"}]})
    log = tmp_path / "t.json"
    log.write_text(json.dumps(atif({"source": "user", "message": "find"},
                                   {"source": "agent", "message": raw})))  # fmt: skip
    assert packet_of(log)["first_contact_command"] == "cat a.py"


LISTINGS: list[tuple[str, dict[str, Any], str, list[str]]] = [
    ("list_dir", {"path": "/repo/src"}, "a.py\nb.py", ["src/a.py", "src/b.py"]),
    ("list_directory", {"dir_path": "/repo/src"},
     "Directory listing for /repo/src:\n[DIR] sub\na.py (100 bytes)", ["src/a.py"]),
    ("list_files", {"path": "src"}, "src/a.py", ["src/a.py"]),
    ("Glob", {"pattern": "*.py", "path": "/repo/src"}, "/repo/src/a.py", ["src/a.py"]),
    ("read_many_files", {"include": ["src/a.py", "src/*.md"]},
     "--- /repo/src/a.py ---\n\nx\n\n--- /repo/src/b.md ---\n\ny\n\n--- End of content ---",
     ["src/a.py", "src/b.md"]),
    ("Bash", {"command": "find . -name '*.py' | grep src | sort"}, "./src/a.py\n", ["src/a.py"]),
    ("Bash", {"command": "grep -rn foo . | grep -v node | head"}, "./src/a.py:3:x", ["src/a.py"]),
    ("Bash", {"command": "rg -n foo | grep -c x"}, "3", []),
    ("Bash", {"command": "pushd src && ls; popd"}, "a.py", ["src/a.py"]),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "body", "expected"), LISTINGS)
def test_names_in_a_result(
    write_log: WriteLog, tool: str, arguments: dict[str, Any], body: str, expected: list[str]
) -> None:
    """Relative to the folder that was asked about; filters let names through as they are."""
    lines = [claude_line("user", "where?", 0), claude_call(1, tool, arguments),
             claude_result(2, 1, body)]  # fmt: skip
    assert packet_of(write_log(*lines), select="listed")["selected_artifacts"] == expected


WINDOWS: list[tuple[str, str, dict[str, Any]]] = [
    ("c:\\Users\\kim\\shelf", "Read", {"file_path": "C:\\Users\\kim\\shelf\\src\\a.py"}),
    ("c:\\Users\\kim\\shelf", "Bash", {"command": "cat /c/Users/kim/shelf/src/a.py"}),
    ("C:\\Users\\kim\\shelf", "Bash", {"command": "cd /c/Users/kim/shelf/src && cat a.py"}),
    ("C:\\Users\\Kim\\shelf", "Read", {"file_path": "c:/users/kim/shelf/src/a.py"}),
    ("C:\\w", "PowerShell", {"command": "Get-Content -Raw src\\a.py"}),
    ("C:\\w", "shell_command", {"command": "type src\\x; Get-Content src\\a.py"}),
]


@pytest.mark.parametrize(("cwd", "tool", "arguments"), WINDOWS)
def test_windows_names(write_log: WriteLog, cwd: str, tool: str, arguments: dict[str, Any]) -> None:
    """Drives in either case and in a shell's spelling; backslashes are no escapes."""
    lines = [claude_line("user", "where?", 0, cwd=cwd), claude_call(1, tool, arguments, cwd=cwd),
             claude_result(2, 1)]  # fmt: skip
    assert packet_of(write_log(*lines))["selected_artifacts"][-1] == "src/a.py"


@pytest.mark.parametrize(
    "command",
    [
        ["powershell.exe", "-NoProfile", "-Command", "Get-Content src\\b.py"],
        ["C:\\Windows\\System32\\PowerShell.EXE", "-c", "cat src\\b.py"],
        ["cmd.exe", "/c", "type src\\b.py"],
        'powershell -Command "Get-Content src\\b.py"',
        'pwsh.exe -c "gc src\\b.py"',
        'cmd //c "type src\\b.py"',
        "cmd.exe /d /c 'type src\\b.py | more'",
    ],
)
def test_shells_of_windows(write_log: WriteLog, command: str | list[str]) -> None:
    """What is given to them keeps its backslashes, from whatever shell they are started."""
    lines = [claude_line("user", "where?", 0), claude_call(1, "Bash", {"command": command}),
             claude_result(2, 1)]  # fmt: skip
    packet = packet_of(write_log(*lines))
    assert packet["selected_artifacts"] == ["src/b.py"]


def test_a_new_file_that_takes_the_place_of_an_old_one(write_log: WriteLog) -> None:
    """Moved over a file that was seen it is an edit; into a folder, or to a new name, it isn't."""

    def cut(*commands: str) -> tuple[str, list[str]]:
        lines = [claude_line("user", "fix it", 0)]
        for number, command in enumerate(("cat src/a.py", *commands)):
            call = claude_call(2 * number + 1, "Bash", {"command": command})
            lines += [call, claude_result(2 * number + 2, 2 * number + 1)]
        packet = packet_of(write_log(*lines))
        return packet["cut_reason"], packet.get("created_files", [])

    assert cut("sed s/x/y/ src/a.py > new && mv new src/a.py", "cat b.py") == ("mutation", [])
    assert cut("sed s/x/y/ src/a.py > new", "mv new src/a.py") == ("mutation", ["new"])
    assert cut("echo x > new", "mv new src") == ("end_of_log", ["new", "src"])
    assert cut("echo x > new", "mv new other") == ("end_of_log", ["new", "other"])
